package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
)

// AgentOwner is what the actions of an agent belong to.
const AgentOwner = "agent"

// An Agent is an identity with what only the engine needs.
type Agent struct {
	Record       agentruntime.AgentIdentity
	Constitution int64 // the number of the version that holds; 0: none
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Damaged
}

// A WalletKey is what tells wallets apart: an address on a chain belongs to one agent.
type WalletKey struct{ Address, Chain, Network string }

func keyOf(w agentruntime.WalletIdentity) WalletKey { return WalletKey{w.Address, w.Chain, w.Network} }

func (k WalletKey) String() string {
	return strings.TrimSpace(k.Address + " on " + strings.TrimSpace(k.Chain+" "+k.Network))
}

// A WalletFilter selects wallets. The zero value selects all.
type WalletFilter struct {
	AgentID string
	Address string // alone
	After   int64  // only wallets that were written after this one
	Limit   int    // 0: 1000
}

// A Wallet is a wallet with its place in the list.
type Wallet struct {
	Record agentruntime.WalletIdentity
	Seq    int64
	Damaged
}

// lockAgent takes the row of an agent_id, which is there also while the agent itself is not: agents and wallets are written in any
// order, and two that do not fit must meet. The record is nil while there is no agent.
func lockAgent(ctx context.Context, t tx, id string, now int64) (Agent, bool, error) {
	if _, err := t.exec(ctx, `INSERT INTO agents (id, created_at, updated_at) VALUES ($1, $2, $2) ON CONFLICT (id) DO NOTHING`, id, now); err != nil {
		return Agent{}, false, err
	}
	return scanAgent(t.row(ctx, `SELECT `+agentColumns+` FROM agents WHERE id = $1 `+forUpdate, id))
}

const agentColumns = `id, record, constitution, created_at, updated_at`

// scanAgent reports false when only the row is there, and no agent.
func scanAgent(row scanner) (Agent, bool, error) {
	var a Agent
	var id string
	var record *string
	var created, updated int64
	if err := row.Scan(&id, &record, &a.Constitution, &created, &updated); err != nil {
		return a, false, err
	}
	a.CreatedAt, a.UpdatedAt = fromMicros(created), fromMicros(updated)
	if record == nil {
		return a, false, nil
	}
	err := decodePart("agent", id, "record", *record, &a.Record)
	a.Record.AgentID = id
	return a, true, err
}

// AddAgent writes an agent that is not there yet. It returns ErrExists when it is, and fault.Faults when the record is bad or does
// not fit a wallet that names the agent.
func (s *Store) AddAgent(ctx context.Context, r agentruntime.AgentIdentity, by string) (Agent, error) {
	if err := r.Validate(); err != nil {
		return Agent{}, fmt.Errorf("agent: %w", err)
	}
	return s.writeAgent(ctx, r.AgentID, by, newAgent(r))
}

// newAgent writes an agent only where none is.
func newAgent(r agentruntime.AgentIdentity) func(*agentruntime.AgentIdentity) (agentruntime.AgentIdentity, error) {
	return func(old *agentruntime.AgentIdentity) (agentruntime.AgentIdentity, error) {
		if old != nil {
			return r, ErrExists
		}
		return r, nil
	}
}

// ChangeAgent rewrites an agent. The id stays: it is the internal name, and nothing overrides that. change may be called more than
// once.
func (s *Store) ChangeAgent(ctx context.Context, id, by string, change func(*agentruntime.AgentIdentity) error) (Agent, error) {
	return s.writeAgent(ctx, id, by, func(old *agentruntime.AgentIdentity) (agentruntime.AgentIdentity, error) {
		if old == nil {
			return agentruntime.AgentIdentity{}, ErrNotFound
		}
		r := *old
		if err := change(&r); err != nil {
			return r, err
		}
		if r.AgentID != id {
			var l fault.List
			l.Add("$.agent_id", fault.Conflict, fmt.Sprintf("%q is not the agent %q", r.AgentID, id), "an agent keeps its internal name: add another agent instead")
			return r, l.Err()
		}
		return r, nil
	})
}

func (s *Store) writeAgent(ctx context.Context, id, by string, make func(old *agentruntime.AgentIdentity) (agentruntime.AgentIdentity, error)) (out Agent, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) (err error) {
		out, err = writeAgentIn(ctx, t, id, by, micros(s.now()), make)
		return err
	})
	if err != nil {
		return Agent{}, fmt.Errorf("agent %s: %w", id, err)
	}
	return out, nil
}

func writeAgentIn(ctx context.Context, t tx, id, by string, now int64, make func(old *agentruntime.AgentIdentity) (agentruntime.AgentIdentity, error)) (Agent, error) {
	old, there, err := lockAgent(ctx, t, id, now)
	if err != nil {
		return Agent{}, err
	}
	before := &old.Record
	if !there {
		before = nil
	}
	r, err := make(before)
	if err != nil {
		return Agent{}, err
	}
	r.Schema = agentruntime.SchemaAgentIdentity
	if err := r.Validate(); err != nil {
		return Agent{}, err
	}
	if err := fitsWallets(ctx, t, r); err != nil {
		return Agent{}, err
	}
	text, err := encode(r)
	if err != nil {
		return Agent{}, err
	}
	if _, err := t.exec(ctx, `UPDATE agents SET record = $1, updated_at = $2 WHERE id = $3`, text, now, id); err != nil {
		return Agent{}, err
	}
	out := Agent{Record: r, Constitution: old.Constitution, CreatedAt: old.CreatedAt, UpdatedAt: fromMicros(now)}
	return out, agentEvent(ctx, t, EventAgentChanged, now, map[string]any{"agent_id": id, "by": clean(by), "new": !there})
}

// fitsWallets refuses an agent that contradicts a wallet of it: the two are joined by agent_id, and are never merged.
func fitsWallets(ctx context.Context, t tx, r agentruntime.AgentIdentity) error {
	list, err := walletsOf(ctx, t, r.AgentID)
	if err != nil {
		return err
	}
	var bad []error
	for _, w := range list {
		if err := agentruntime.CheckWallet(w.Record, r); err != nil {
			bad = append(bad, fmt.Errorf("its wallet %s: %w", keyOf(w.Record), err))
		}
	}
	return errors.Join(bad...)
}

func agentEvent(ctx context.Context, t tx, event string, now int64, detail map[string]any) error {
	text, err := encode(detail)
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, event, now, "", "", text)
}

// Agent returns one agent.
func (s *Store) Agent(ctx context.Context, id string) (Agent, error) {
	a, there, err := scanAgent(s.eng.read().row(ctx, `SELECT `+agentColumns+` FROM agents WHERE id = $1`, id))
	if err == nil && !there {
		err = sql.ErrNoRows
	}
	if err != nil {
		return Agent{}, missing("agent", id, err)
	}
	return a, nil
}

// Agents returns agents by their names, at most limit after the given one.
func (s *Store) Agents(ctx context.Context, after string, limit int) ([]Agent, error) {
	scan := func(row scanner) (Agent, error) {
		a, _, err := scanAgent(row)
		return a, err
	}
	return every(ctx, s.eng.read(), "agents", shown(scan), `SELECT `+agentColumns+` FROM agents WHERE id > $1 AND record IS NOT NULL ORDER BY id LIMIT $2`, after, limit)
}

// DropAgent forgets an agent. It is refused while wallets name it. Versions of its constitution stay on record; proposals that
// wait are rejected.
func (s *Store) DropAgent(ctx context.Context, id, by string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		now := micros(s.now())
		_, there, err := lockAgent(ctx, t, id, now)
		switch {
		case err != nil:
			return err
		case !there:
			return ErrNotFound
		}
		list, err := walletsOf(ctx, t, id)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return invalid("wallet %s belongs to it (remove its wallets first)", keyOf(list[0].Record))
		}
		if err := dismissOwned(ctx, t, AgentOwner+"/"+id, clean(by), now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE proposals SET state = $1, reason = 'the agent was removed', decided_by = $2, decided_at = $3
			WHERE agent_id = $4 AND state = 'open'`, ProposalRejected, clean(by), now, id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE agents SET record = NULL, constitution = 0, updated_at = $1 WHERE id = $2`, now, id); err != nil {
			return err
		}
		return agentEvent(ctx, t, EventAgentDropped, now, map[string]any{"agent_id": id, "by": clean(by)})
	})
	if err != nil {
		return fmt.Errorf("agent %s: %w", id, err)
	}
	return nil
}

// AddWallet writes a wallet that is not there yet, also before its agent. It returns ErrExists when the address has an agent, and
// fault.Faults when the record is bad or contradicts its agent.
func (s *Store) AddWallet(ctx context.Context, w agentruntime.WalletIdentity, by string) (agentruntime.WalletIdentity, error) {
	if err := w.Validate(); err != nil {
		return w, fmt.Errorf("wallet: %w", err)
	}
	return s.writeWallet(ctx, keyOf(w), w.AgentID, by, newWallet(w))
}

// newWallet writes a wallet only where none is.
func newWallet(w agentruntime.WalletIdentity) func(*agentruntime.WalletIdentity) (agentruntime.WalletIdentity, error) {
	return func(old *agentruntime.WalletIdentity) (agentruntime.WalletIdentity, error) {
		if old != nil {
			return w, fmt.Errorf("it belongs to agent %s: %w", old.AgentID, ErrExists)
		}
		return w, nil
	}
}

// ChangeWallet rewrites a wallet. Its address, its chain and its agent stay. change may be called more than once.
func (s *Store) ChangeWallet(ctx context.Context, of agentruntime.WalletIdentity, by string, change func(*agentruntime.WalletIdentity) error) (agentruntime.WalletIdentity, error) {
	key := keyOf(of)
	return s.writeWallet(ctx, key, of.AgentID, by, func(old *agentruntime.WalletIdentity) (agentruntime.WalletIdentity, error) {
		if old == nil || old.AgentID != of.AgentID {
			return agentruntime.WalletIdentity{}, ErrNotFound
		}
		w := *old
		if err := change(&w); err != nil {
			return w, err
		}
		if keyOf(w) != key || w.AgentID != old.AgentID {
			var l fault.List
			l.Add("$.address", fault.Conflict, fmt.Sprintf("wallet %s of agent %q is not %s of agent %q", keyOf(w), w.AgentID, key, old.AgentID), "a wallet keeps its address, its chain and its agent: remove it and add another")
			return w, l.Err()
		}
		return w, nil
	})
}

func (s *Store) writeWallet(ctx context.Context, key WalletKey, agentID, by string, make func(old *agentruntime.WalletIdentity) (agentruntime.WalletIdentity, error)) (out agentruntime.WalletIdentity, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) (err error) {
		out, err = writeWalletIn(ctx, t, key, agentID, by, micros(s.now()), make)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("wallet %s: %w", key, err)
	}
	return out, nil
}

func writeWalletIn(ctx context.Context, t tx, key WalletKey, agentID, by string, now int64, make func(old *agentruntime.WalletIdentity) (agentruntime.WalletIdentity, error)) (agentruntime.WalletIdentity, error) {
	var none agentruntime.WalletIdentity
	owner, there, err := lockAgent(ctx, t, agentID, now)
	if err != nil {
		return none, err
	}
	old, err := scanWallet(t.row(ctx, oneWallet+forUpdate, key.Address, key.Chain, key.Network))
	before := &old.Record
	if errors.Is(err, sql.ErrNoRows) {
		before, err = nil, nil
	}
	if err != nil {
		return none, err
	}
	w, err := make(before)
	if err != nil {
		return none, err
	}
	w.Schema = agentruntime.SchemaWalletIdentity
	if err := w.Validate(); err != nil {
		return none, err
	}
	if there {
		if err := agentruntime.CheckWallet(w, owner.Record); err != nil {
			return none, err
		}
	}
	text, err := encode(w)
	if err != nil {
		return none, err
	}
	res, err := t.exec(ctx, `INSERT INTO wallets (agent_id, address, chain, network, record, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT (address, chain, network) DO UPDATE SET record = excluded.record, updated_at = excluded.updated_at
		WHERE wallets.agent_id = excluded.agent_id`, w.AgentID, w.Address, w.Chain, w.Network, text, now)
	if err != nil {
		return none, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return none, errors.Join(err, ErrExists) // another agent was as fast
	}
	return w, agentEvent(ctx, t, EventWalletChanged, now, map[string]any{"agent_id": w.AgentID, "chain": w.Chain, "address": w.Address, "by": clean(by), "new": before == nil})
}

// DropWallet forgets a wallet.
func (s *Store) DropWallet(ctx context.Context, w agentruntime.WalletIdentity, by string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		now := micros(s.now())
		res, err := t.exec(ctx, `DELETE FROM wallets WHERE address = $1 AND chain = $2 AND network = $3 AND agent_id = $4`, w.Address, w.Chain, w.Network, w.AgentID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNotFound)
		}
		return agentEvent(ctx, t, EventWalletDropped, now, map[string]any{"agent_id": w.AgentID, "chain": w.Chain, "address": w.Address, "by": clean(by)})
	})
	if err != nil {
		return fmt.Errorf("wallet %s: %w", keyOf(w), err)
	}
	return nil
}

const (
	walletColumns = `seq, record, address, chain, network, agent_id`
	oneWallet     = `SELECT ` + walletColumns + ` FROM wallets WHERE address = $1 AND chain = $2 AND network = $3 `
)

func scanWallet(row scanner) (Wallet, error) {
	var w Wallet
	var record string
	var k agentruntime.WalletIdentity
	if err := row.Scan(&w.Seq, &record, &k.Address, &k.Chain, &k.Network, &k.AgentID); err != nil {
		return w, err
	}
	err := decodePart("wallet", keyOf(k).String(), "record", record, &w.Record)
	if err != nil {
		w.Record.Address, w.Record.Chain, w.Record.Network, w.Record.AgentID = k.Address, k.Chain, k.Network, k.AgentID
	}
	return w, err
}

// Wallets returns the wallets of the selection in the order in which they were written.
func (s *Store) Wallets(ctx context.Context, f WalletFilter) ([]Wallet, error) {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	q, args := `SELECT `+walletColumns+` FROM wallets WHERE seq > $1`, []any{f.After, f.Limit}
	switch {
	case f.Address != "":
		return every(ctx, s.eng.read(), "wallets", shown(scanWallet), `SELECT `+walletColumns+` FROM wallets WHERE address = $1 ORDER BY chain, network`, f.Address)
	case f.AgentID != "":
		q, args = q+` AND agent_id = $3`, append(args, f.AgentID)
	}
	return every(ctx, s.eng.read(), "wallets", shown(scanWallet), q+` ORDER BY seq LIMIT $2`, args...)
}

// walletsOf are all wallets that name an agent.
func walletsOf(ctx context.Context, c conn, agentID string) ([]Wallet, error) {
	return every(ctx, c, "wallets", scanWallet, `SELECT `+walletColumns+` FROM wallets WHERE agent_id = $1 ORDER BY seq`, agentID)
}
