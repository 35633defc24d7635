package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The states of a proposal.
const (
	ProposalOpen     = "open"
	ProposalAccepted = "accepted"
	ProposalRejected = "rejected"
)

// A Constitution is one accepted version: the hashes of the two documents, and who accepted them.
type Constitution struct {
	AgentID     string
	Number      int64 // from 1
	SoulHash    string
	PurposeHash string
	ProposalID  string
	AcceptedBy  string
	RevisedAt   time.Time
}

// A NewProposal is a drafted revision: both complete documents, by their hashes.
type NewProposal struct {
	ID          string // made by NewID
	AgentID     string
	Base        int64 // the version that it was drafted from; 0: the first
	SoulHash    string
	PurposeHash string
	Note        string
	By          string
	TaskID      string    // whose outcome it is; "": a person's
	Ask         NewAction // what a person is asked while it waits
}

// A Proposal is a revision and what became of it.
type Proposal struct {
	ID, AgentID           string
	Base, Number          int64 // the version that it was drafted from, and the one that it became
	SoulHash, PurposeHash string
	Note, By, TaskID      string
	ActionID              string
	State                 string
	Reason, DecidedBy     string
	CreatedAt             time.Time
	DecidedAt             time.Time // zero while it is open
}

// Propose records a revision and asks a person, in one transaction. The same revision, while it waits, is the same proposal. It
// returns ErrStale when the constitution is not the one that it was drafted from.
func (s *Store) Propose(ctx context.Context, n NewProposal) (p Proposal, fresh bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		fresh = false
		now := micros(s.now())
		if err := lockAt(ctx, t, n.AgentID, n.Base, now); err != nil {
			return err
		}
		p, err = scanProposal(t.row(ctx, `SELECT `+proposalColumns+` FROM proposals WHERE agent_id = $1 AND state = 'open' AND base = $2
			AND soul_hash = $3 AND purpose_hash = $4 ORDER BY seq LIMIT 1`, n.AgentID, n.Base, n.SoulHash, n.PurposeHash))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		fresh = true
		ask, err := openOwned(ctx, t, AgentOwner+"/"+n.AgentID, n.Ask, now)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO proposals (id, agent_id, base, soul_hash, purpose_hash, note, proposed_by, task_id, action_id, state, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10)`,
			n.ID, n.AgentID, n.Base, n.SoulHash, n.PurposeHash, clean(n.Note), clean(n.By), n.TaskID, ask, now); err != nil {
			return err
		}
		if p, err = scanProposal(t.row(ctx, oneProposal, n.ID)); err != nil {
			return err
		}
		return agentEvent(ctx, t, EventRevisionProposed, now, map[string]any{"agent_id": n.AgentID, "proposal_id": n.ID, "by": clean(n.By), "soul_hash": n.SoulHash, "purpose_hash": n.PurposeHash})
	})
	if err != nil {
		return Proposal{}, false, fmt.Errorf("propose for agent %s: %w", n.AgentID, err)
	}
	return p, fresh, nil
}

// lockAt locks an agent whose constitution must be the one that was seen.
func lockAt(ctx context.Context, t tx, agentID string, base, now int64) error {
	a, there, err := lockAgent(ctx, t, agentID, now)
	switch {
	case err != nil:
		return err
	case !there:
		return ErrNotFound
	case a.Constitution != base:
		return fmt.Errorf("version %d of its constitution was seen, and version %d holds: %w", base, a.Constitution, ErrStale)
	}
	return nil
}

// DecideProposal accepts or rejects a proposal that waits: the version, the proposal, its action and the event about them, in
// one transaction. It returns ErrClosed when it was decided, and ErrStale when another version was accepted since it was drafted.
func (s *Store) DecideProposal(ctx context.Context, id string, accept bool, reason, by string) (Proposal, error) {
	var out Proposal
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		var agentID string
		if err := t.row(ctx, `SELECT agent_id FROM proposals WHERE id = $1`, id).Scan(&agentID); err != nil {
			return missing("proposal", id, err)
		}
		now := micros(s.now())
		a, _, err := lockAgent(ctx, t, agentID, now)
		if err != nil {
			return err
		}
		p, err := scanProposal(t.row(ctx, oneProposal, id)) // the agent's row is locked, so that no other decision can come in between
		switch {
		case err != nil:
			return err
		case p.State != ProposalOpen:
			return fmt.Errorf("it is %s by %s: %w", p.State, p.DecidedBy, ErrClosed)
		case accept && a.Constitution != p.Base:
			return fmt.Errorf("it was drafted from version %d, and version %d holds: reject it and propose it anew: %w", p.Base, a.Constitution, ErrStale)
		}
		event, state, number := EventRevisionRejected, ProposalRejected, int64(0)
		if accept {
			event, state = EventRevisionAccepted, ProposalAccepted
			if number, err = acceptVersion(ctx, t, p, clean(by), now); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, `UPDATE proposals SET state = $1, number = $2, reason = $3, decided_by = $4, decided_at = $5 WHERE id = $6`,
			state, number, clean(reason), clean(by), now, id); err != nil {
			return err
		}
		if err := closeProposalAction(ctx, t, p.ActionID, state, clean(reason), clean(by), now); err != nil {
			return err
		}
		if out, err = scanProposal(t.row(ctx, oneProposal, id)); err != nil {
			return err
		}
		return agentEvent(ctx, t, event, now, map[string]any{"agent_id": agentID, "proposal_id": id, "by": clean(by), "number": number, "reason": clean(reason)})
	})
	if err != nil {
		return Proposal{}, fmt.Errorf("proposal %s: %w", id, err)
	}
	return out, nil
}

// acceptVersion makes a proposal the next version, and the one that holds. Numbers go on also after the agent was removed.
func acceptVersion(ctx context.Context, t tx, p Proposal, by string, now int64) (int64, error) {
	var last int64
	err := t.row(ctx, `SELECT number FROM constitutions WHERE agent_id = $1 ORDER BY number DESC LIMIT 1`, p.AgentID).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	number := last + 1
	if _, err := t.exec(ctx, `INSERT INTO constitutions (agent_id, number, soul_hash, purpose_hash, proposal_id, accepted_by, revised_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, p.AgentID, number, p.SoulHash, p.PurposeHash, p.ID, by, now); err != nil {
		return 0, err
	}
	_, err = t.exec(ctx, `UPDATE agents SET constitution = $1, updated_at = $2 WHERE id = $3`, number, now, p.AgentID)
	return number, err
}

func closeProposalAction(ctx context.Context, t tx, id, state, reason, by string, now int64) error {
	x, err := scanAction(t.row(ctx, oneAction, id))
	if err != nil || x.State != ActionOpen {
		return err
	}
	answer, err := encode(map[string]string{"decision": state, "reason": reason})
	if err != nil {
		return err
	}
	return closeAction(ctx, t, x, EventActionAnswered, answer, by, now)
}

const (
	proposalColumns = `id, agent_id, base, number, soul_hash, purpose_hash, note, proposed_by, task_id, action_id, state, reason, decided_by, created_at, decided_at`
	oneProposal     = `SELECT ` + proposalColumns + ` FROM proposals WHERE id = $1`
)

func scanProposal(row scanner) (Proposal, error) {
	var p Proposal
	var created int64
	var decided *int64
	err := row.Scan(&p.ID, &p.AgentID, &p.Base, &p.Number, &p.SoulHash, &p.PurposeHash, &p.Note, &p.By, &p.TaskID, &p.ActionID, &p.State,
		&p.Reason, &p.DecidedBy, &created, &decided)
	p.CreatedAt = fromMicros(created)
	if decided != nil {
		p.DecidedAt = fromMicros(*decided)
	}
	return p, err
}

// Proposal returns one proposal, by id or by a prefix of it.
func (s *Store) Proposal(ctx context.Context, id string) (Proposal, error) {
	full, err := resolve(ctx, s.eng.read(), "proposals", id)
	if err != nil {
		return Proposal{}, fmt.Errorf("proposal %w", err)
	}
	p, err := scanProposal(s.eng.read().row(ctx, oneProposal, full))
	if err != nil {
		return Proposal{}, missing("proposal", full, err)
	}
	return p, nil
}

// Proposals returns the proposals of an agent, oldest first; without an agent those of all that wait.
func (s *Store) Proposals(ctx context.Context, agentID string, limit int) ([]Proposal, error) {
	q, args := `SELECT `+proposalColumns+` FROM proposals WHERE state = 'open' ORDER BY seq LIMIT $1`, []any{limit}
	if agentID != "" {
		q, args = `SELECT `+proposalColumns+` FROM proposals WHERE agent_id = $2 ORDER BY seq LIMIT $1`, append(args, agentID)
	}
	return every(ctx, s.eng.read(), "proposals", scanProposal, q, args...)
}

// Constitution returns one version of an agent's constitution.
func (s *Store) Constitution(ctx context.Context, agentID string, number int64) (Constitution, error) {
	c := Constitution{AgentID: agentID, Number: number}
	var at int64
	err := s.eng.read().row(ctx, `SELECT soul_hash, purpose_hash, proposal_id, accepted_by, revised_at FROM constitutions WHERE agent_id = $1 AND number = $2`,
		agentID, number).Scan(&c.SoulHash, &c.PurposeHash, &c.ProposalID, &c.AcceptedBy, &at)
	if err != nil {
		return Constitution{}, missing("constitution", fmt.Sprintf("%d of agent %s", number, agentID), err)
	}
	c.RevisedAt = fromMicros(at)
	return c, nil
}
