package store

import (
	"context"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
)

// An AgentImport is what the store does not have yet of an agent that comes from elsewhere.
type AgentImport struct {
	AgentID   string
	Identity  *agentruntime.AgentIdentity // nil: the agent is there
	Wallets   []agentruntime.WalletIdentity
	Base      int64         // the version of the constitution that holds; 0: none
	Versions  []NewRevision // that follow it, each accepted
	Schedules []NewSchedule
	By        string
}

// A NewRevision is a version of a constitution that needs no decision any more.
type NewRevision struct{ SoulHash, PurposeHash, Note, Reason string }

// A NewSchedule is a schedule that is not there yet.
type NewSchedule struct {
	Record  agentruntime.RecurringScheduleRecord
	Overlap string
}

// Empty reports whether the store has all of it.
func (n AgentImport) Empty() bool {
	return n.Identity == nil && len(n.Wallets)+len(n.Versions)+len(n.Schedules) == 0
}

// ImportAgent writes an agent with all that belongs to it, in one transaction, so that no reader ever sees a part of it. It returns
// ErrExists when any of it is there, and ErrStale when another version of its constitution holds.
func (s *Store) ImportAgent(ctx context.Context, n AgentImport) error {
	if n.Empty() {
		return nil
	}
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		now := micros(s.now())
		if n.Identity != nil {
			if _, err := writeAgentIn(ctx, t, n.AgentID, n.By, now, newAgent(*n.Identity)); err != nil {
				return err
			}
		}
		for _, w := range n.Wallets {
			if _, err := writeWalletIn(ctx, t, keyOf(w), w.AgentID, n.By, now, newWallet(w)); err != nil {
				return fmt.Errorf("wallet %s: %w", keyOf(w), err)
			}
		}
		if err := importVersions(ctx, t, n, now); err != nil {
			return err
		}
		for _, sc := range n.Schedules {
			_, fresh, err := s.putScheduleIn(ctx, t, sc.Record, sc.Overlap, n.By)
			if err == nil && !fresh {
				err = ErrExists
			}
			if err != nil {
				return fmt.Errorf("schedule %s: %w", sc.Record.Name, err)
			}
		}
		return agentEvent(ctx, t, EventAgentImported, now, map[string]any{
			"agent_id": n.AgentID, "by": clean(n.By), "wallets": len(n.Wallets), "versions": len(n.Versions), "schedules": len(n.Schedules),
		})
	})
	if err != nil {
		return fmt.Errorf("import agent %s: %w", n.AgentID, err)
	}
	return nil
}

// importVersions puts the versions into force one after the other. Each has a proposal like every other version, which did not wait for a
// decision.
func importVersions(ctx context.Context, t tx, n AgentImport, now int64) error {
	if err := lockAt(ctx, t, n.AgentID, n.Base, now); err != nil {
		return err
	}
	base, by := n.Base, clean(n.By)
	for _, v := range n.Versions {
		p := Proposal{ID: NewID(), AgentID: n.AgentID, Base: base, SoulHash: v.SoulHash, PurposeHash: v.PurposeHash}
		var err error
		if p.Number, err = acceptVersion(ctx, t, p, by, now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO proposals (id, agent_id, base, number, soul_hash, purpose_hash, note, proposed_by, task_id, action_id, state, reason, decided_by, created_at, decided_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', '', $9, $10, $8, $11, $11)`,
			p.ID, p.AgentID, p.Base, p.Number, p.SoulHash, p.PurposeHash, clean(v.Note), by, ProposalAccepted, clean(v.Reason), now); err != nil {
			return err
		}
		detail := map[string]any{"agent_id": n.AgentID, "proposal_id": p.ID, "by": by, "number": p.Number, "reason": clean(v.Reason)}
		if err := agentEvent(ctx, t, EventRevisionAccepted, now, detail); err != nil {
			return err
		}
		base = p.Number
	}
	return nil
}
