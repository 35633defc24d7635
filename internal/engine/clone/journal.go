package clone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/store"
)

// journalSchema is the id of the record of an import.
const journalSchema = "deed/agent-import-journal/v1"

// A journal is what an import writes down before it changes anything: the files that it makes, with their content, and one row
// that shows whether its transaction was committed.
type journal struct {
	Schema    string            `json:"schema"`
	AgentID   string            `json:"agent_id"`
	Skills    map[string]string `json:"skills,omitempty"`    // the digest of each folder that is new
	Workflows map[string]string `json:"workflows,omitempty"` // the digest of each file that is new
	Settings  *journalSettings  `json:"settings,omitempty"`
	Row       journalRow        `json:"row"`
}

type journalSettings struct {
	Before []byte `json:"before"` // null: there was no deed.yaml
	After  string `json:"after"`  // its digest
}

// A journalRow names a row that the transaction makes, by the first of these that is set. Without any, the import has no rows.
type journalRow struct {
	Agent    bool             `json:"agent,omitempty"`
	Wallet   *store.WalletKey `json:"wallet,omitempty"`
	Over     *int64           `json:"over,omitempty"` // the version of the constitution that a new one follows
	Schedule string           `json:"schedule,omitempty"`
}

// begin writes the journal.
func (s *staged) begin() (*journal, error) {
	j := &journal{Schema: journalSchema, AgentID: s.a.Identity.AgentID, Skills: map[string]string{}, Workflows: map[string]string{}}
	for _, k := range s.skills {
		j.Skills[k.ID()] = k.Digest
	}
	for _, f := range s.flows {
		j.Workflows[f.Path] = filetree.Sum(f.Data)
	}
	if s.settings != nil {
		j.Settings = &journalSettings{s.settings.before, filetree.Sum(s.settings.after)}
	}
	switch r := s.rows; {
	case r.Identity != nil:
		j.Row.Agent = true
	case len(r.Wallets) > 0:
		w := r.Wallets[0]
		j.Row.Wallet = &store.WalletKey{Address: w.Address, Chain: w.Chain, Network: w.Network}
	case len(r.Versions) > 0:
		j.Row.Over = &r.Base
	case len(r.Schedules) > 0:
		j.Row.Schedule = r.Schedules[0].Record.Name
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	return j, atomicfile.WriteFile(s.Home.Import(), text, 0o600)
}

// Recover ends an import that was cut short: when its transaction was committed it is complete, else its files are taken back. It
// waits for an import that is still running. Without any it is cheap.
func Recover(ctx context.Context, h *home.Home, open func() (*store.Store, error)) error {
	if _, err := os.Lstat(h.Import()); err != nil {
		return nil // there is no import to end
	}
	unlock, err := atomicfile.LockDir(h.Root())
	if err != nil {
		return fmt.Errorf("an agent is being imported: %w", err)
	}
	defer unlock()
	if _, err := os.Lstat(h.Import()); err != nil {
		return nil // it ended meanwhile
	}
	st, err := open()
	if err != nil {
		return fmt.Errorf("end the import that was cut short: %w", err)
	}
	defer func() { _ = st.Close() }()
	return recoverLocked(ctx, h, st)
}

func recoverLocked(ctx context.Context, h *home.Home, st *store.Store) error {
	text, err := plainfile.Read(h.Import(), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var j journal
	if err := json.Unmarshal(text, &j); err != nil || j.Schema != journalSchema {
		return fmt.Errorf("%s is no %s (move it away; it was the record of an import)", h.Import(), journalSchema)
	}
	whole, err := j.committed(ctx, st)
	if err == nil && !whole {
		err = j.takeBack(h)
	}
	if err != nil {
		return fmt.Errorf("end the import of agent %s that was cut short: %w", j.AgentID, err)
	}
	return j.discard(h)
}

// maxJournal bounds the record of an import; deed.yaml is in it.
const maxJournal = 16 << 20

// committed looks for the row. One transaction makes all rows, so that this one stands for all.
func (j *journal) committed(ctx context.Context, st *store.Store) (bool, error) {
	var err error
	switch r := j.Row; {
	case r.Agent:
		_, err = st.Agent(ctx, j.AgentID)
	case r.Wallet != nil:
		list, err := st.Wallets(ctx, store.WalletFilter{Address: r.Wallet.Address})
		return slices.ContainsFunc(list, func(w store.Wallet) bool {
			return w.Record.Chain == r.Wallet.Chain && w.Record.Network == r.Wallet.Network
		}), err
	case r.Over != nil:
		g, err := st.Agent(ctx, j.AgentID)
		return err == nil && g.Constitution > *r.Over, err
	case r.Schedule != "":
		_, err = st.Schedule(ctx, r.Schedule)
	default:
		return false, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// takeBack removes what the import wrote. What somebody has changed since is theirs, and stays.
func (j *journal) takeBack(h *home.Home) error {
	var faults []error
	for id, digest := range j.Skills {
		if there, err := filetree.Read(filepath.Join(h.Skills(), id), skill.Bounds); err == nil && there.Digest() == digest {
			faults = append(faults, skill.Remove(h, id))
			crashpoint.Hit(crashpoint.ImportTakenBack)
		}
	}
	for name, digest := range j.Workflows {
		file := filepath.Join(h.Workflows(), filepath.FromSlash(name))
		if there, err := plainfile.Read(file, maxSettings); err == nil && filetree.Sum(there) == digest {
			faults = append(faults, os.Remove(file), atomicfile.SyncDir(filepath.Dir(file)))
		}
	}
	if s := j.Settings; s != nil {
		if there, err := plainfile.Read(h.Config(), maxSettings); err == nil && filetree.Sum(there) == s.After {
			faults = append(faults, s.restore(h))
		}
	}
	return errors.Join(faults...)
}

func (s *journalSettings) restore(h *home.Home) error {
	if s.Before != nil {
		return atomicfile.WriteFile(h.Config(), s.Before, 0o600)
	}
	return errors.Join(os.Remove(h.Config()), atomicfile.SyncDir(h.Root()))
}

func (j *journal) discard(h *home.Home) error {
	return errors.Join(os.Remove(h.Import()), atomicfile.SyncDir(h.Root()))
}
