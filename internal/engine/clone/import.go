package clone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

// A Target is the home that an agent is taken into.
type Target struct {
	Home    *home.Home
	Store   *store.Store
	Config  *config.Config // of the home as it is
	Drivers driver.Set
	Clock   clock.Clock
	Path    string // where the commands of known agents are looked for
	By      string

	KeepSettings  bool // the home's deed.yaml stays as it is
	MergeSettings bool // it is given what it has not
}

// Rename gives the agent another internal name.
func (a *Archive) Rename(name string) error {
	a.Identity.AgentID, a.Identity.InternalName = name, name
	for i := range a.Wallets {
		a.Wallets[i].AgentID = name
	}
	if a.Settings != nil {
		s, err := named(a.Settings, name)
		if err != nil {
			return err
		}
		a.Settings = s
	}
	return a.Identity.Validate()
}

// named says in a deed.yaml which agent the runtime is. Where the file says it on a line of its own, the rest stays as it was written.
func named(text []byte, name string) ([]byte, error) {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "agent:") {
			lines[i] = "agent: " + name
			return []byte(strings.Join(lines, "\n")), nil
		}
	}
	raw, _, err := config.ReadYAML(settingsFile, text)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	all["agent"], _ = json.Marshal(name)
	if raw, err = json.Marshal(all); err != nil {
		return nil, err
	}
	return config.WriteYAML(raw)
}

// A staged import was checked against the home, and has written nothing that anybody sees.
type staged struct {
	Target
	a        *Archive
	dir      string // in the home's temporary directory
	cfg      *config.Config
	catalog  *skill.Catalog
	skills   []*skill.Skill    // that the home has not
	flows    filetree.Tree     // that the home has not
	settings *settingsChange   // nil: deed.yaml stays as it is
	rows     store.AgentImport // that the store has not
	l        fault.List
}

// A Plan is what an import writes: what the home has not.
type Plan struct {
	Identity  bool
	Wallets   int
	Versions  int
	Skills    []string
	Workflows []string
	Schedules []string
	Settings  []config.Addition // that deed.yaml is given
	Whole     bool              // deed.yaml is written: the home has none
}

// Writes reports whether there is anything to write: the home has not all of it.
func (p Plan) Writes() bool {
	return p.Identity || p.Whole || p.Wallets+p.Versions+len(p.Skills)+len(p.Workflows)+len(p.Schedules)+len(p.Settings) > 0
}

func (s *staged) plan() Plan {
	p := Plan{Identity: s.rows.Identity != nil, Wallets: len(s.rows.Wallets), Versions: len(s.rows.Versions)}
	for _, k := range s.skills {
		p.Skills = append(p.Skills, k.ID())
	}
	for _, f := range s.flows {
		p.Workflows = append(p.Workflows, f.Path)
	}
	for _, c := range s.rows.Schedules {
		p.Schedules = append(p.Schedules, c.Record.Name)
	}
	if s.settings != nil {
		p.Settings, p.Whole = s.settings.added, s.settings.before == nil
	}
	return p
}

// Check says what an import would write, or everything that keeps it from being done. It writes nothing.
func (t Target) Check(ctx context.Context, a *Archive) (Plan, error) {
	s, done, err := t.stage(ctx, a)
	if err != nil {
		return Plan{}, err
	}
	defer done()
	return s.plan(), s.l.Err()
}

// Import takes an agent into the home, all or nothing. Everything is checked first: a conflict changes nothing. What is already
// there and the same is left. Files come first, under a record by which they can be taken back, then all rows in one transaction,
// which decides: after a crash, the next process keeps everything or nothing (see Recover).
func (t Target) Import(ctx context.Context, a *Archive) (Plan, error) {
	unlock, err := atomicfile.LockDir(t.Home.Root())
	if err != nil {
		return Plan{}, err
	}
	defer unlock()
	if err := recoverLocked(ctx, t.Home, t.Store); err != nil {
		return Plan{}, err
	}
	s, done, err := t.stage(ctx, a)
	if err != nil {
		return Plan{}, err
	}
	defer done()
	if err := s.l.Err(); err != nil {
		return Plan{}, err
	}
	if s.nothing() {
		return s.plan(), nil
	}
	j, err := s.begin()
	if err != nil {
		return Plan{}, err
	}
	crashpoint.Hit(crashpoint.ImportBegun)
	if err = s.publish(ctx); err == nil {
		crashpoint.Hit(crashpoint.ImportPublished)
		err = s.Store.ImportAgent(ctx, s.rows)
	}
	if err != nil {
		return Plan{}, errors.Join(err, j.takeBack(t.Home), j.discard(t.Home))
	}
	crashpoint.Hit(crashpoint.ImportCommitted)
	return s.plan(), j.discard(t.Home)
}

// nothing reports whether the home has all of it.
func (s *staged) nothing() bool {
	return s.rows.Empty() && len(s.skills)+len(s.flows) == 0 && s.settings == nil
}

// publish writes the files. Documents are kept by their content, and nothing names them yet.
func (s *staged) publish(ctx context.Context) error {
	blobs := filetree.Blobs(s.Home.Blobs())
	for _, v := range s.a.Versions {
		for _, text := range [][]byte{v.Soul, v.Purpose} {
			if _, err := blobs.Put(text); err != nil {
				return err
			}
		}
	}
	for _, k := range s.skills {
		if _, err := skill.Install(ctx, s.Home, k, skill.AddOptions{Sensors: true}); err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.ImportHalf)
	}
	for _, f := range s.flows {
		final := filepath.Join(s.Home.Workflows(), filepath.FromSlash(f.Path))
		if err := atomicfile.MkdirAll(filepath.Dir(final), 0o700); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(final, f.Data, 0o600); err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.ImportHalf)
	}
	if s.settings == nil {
		return nil
	}
	return atomicfile.WriteFile(s.Home.Config(), s.settings.after, 0o600)
}

func (t Target) stage(ctx context.Context, a *Archive) (*staged, func(), error) {
	dir, release, err := atomicfile.TempDir(t.Home.Tmp(), "import-*")
	if err != nil {
		return nil, nil, atomicfile.Explain("import the agent", err)
	}
	done := func() {
		_ = os.RemoveAll(dir) // nothing that was published is in it
		release()
	}
	s := &staged{Target: t, a: a, dir: dir, rows: store.AgentImport{AgentID: a.Identity.AgentID, By: t.By}}
	for _, check := range []func(context.Context) error{s.checkSkills, s.checkSettings, s.checkWorkflows, s.checkAgent, s.checkConstitution, s.checkSchedules} {
		if err := check(ctx); err != nil {
			done()
			return nil, nil, err
		}
	}
	return s, done, nil
}

// conflicts says in what a thing of the home is another, with both values.
func (s *staged) conflicts(what string, here, there any, remedy string) error {
	x, err := json.Marshal(here)
	if err != nil {
		return err
	}
	y, err := json.Marshal(there)
	if err != nil {
		return err
	}
	diffs, err := differences(fault.Root, x, y)
	for _, d := range diffs {
		s.l.Add(what+" "+d.Path, fault.Conflict, d.String(), remedy)
	}
	return err
}

// checkSkills puts the skills where the rest can be checked against them.
func (s *staged) checkSkills(context.Context) error {
	s.catalog = skill.For(s.Home, "")
	place := filepath.Join(s.dir, skillsDir)
	for _, k := range s.a.Skills {
		dir := filepath.Join(place, k.ID())
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := k.Tree.Write(dir, false); err != nil {
			return err
		}
		there, err := filetree.Read(filepath.Join(s.Home.Skills(), k.ID()), skill.Bounds)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.skills = append(s.skills, k)
		case err != nil:
			s.l.Add("skill "+k.ID(), fault.Conflict, "is in this home already, and cannot be read: "+err.Error(), "`deed skill remove "+k.ID()+"` first")
		case there.Digest() != k.Digest:
			s.l.Add("skill "+k.ID(), fault.Conflict, difference(k.Tree.Manifest().Files, there.Manifest().Files)+": this home has "+there.Digest()+", the archive "+k.Digest,
				"`deed skill remove "+k.ID()+"` first, or rename one")
		}
	}
	s.catalog.Places = append([]skill.Place{{Dir: place, From: skill.FromHome}}, s.catalog.Places...)
	return nil
}

func (s *staged) checkWorkflows(context.Context) error {
	known := workflow.Known{
		Type:    func(n string) error { _, err := s.cfg.Type(n); return err },
		Profile: func(n string) error { _, err := s.cfg.Profile(n); return err },
		Skill:   func(n string) error { _, err := s.catalog.Find(n); return err },
	}
	for _, f := range s.a.Workflows {
		name := filepath.Join(workflowsDir, f.Path)
		if _, err := workflow.Parse(name, f.Data, known); err != nil {
			s.l.Add(name, fault.BadFormat, err.Error(), "")
		}
		there, err := plainfile.Read(filepath.Join(s.Home.Workflows(), f.Path), maxSettings)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.flows = append(s.flows, f)
		case err != nil:
			s.l.Add(name, fault.Conflict, "is in this home already, and cannot be read: "+err.Error(), "move it away")
		case !bytes.Equal(there, f.Data):
			s.l.Add(name, fault.Conflict, "is in this home already, and is another: this home has "+filetree.Sum(there)+", the archive "+filetree.Sum(f.Data), "rename one of them")
		}
	}
	return nil
}

func (s *staged) checkAgent(ctx context.Context) error {
	id := s.a.Identity.AgentID
	g, err := s.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.rows.Identity = &s.a.Identity
	case err != nil:
		return err
	default:
		if err := s.conflicts("agent "+id, machineless(g.Record), machineless(s.a.Identity), "`deed agent set "+id+"`, or give it another name with --as NAME"); err != nil {
			return err
		}
	}
	for _, w := range s.a.Wallets {
		list, err := s.Store.Wallets(ctx, store.WalletFilter{Address: w.Address})
		if err != nil {
			return err
		}
		have := false
		for _, o := range list {
			if o.Record.Chain != w.Chain || o.Record.Network != w.Network {
				continue
			}
			have = true
			o.Record.Schema, w.Schema = "", ""
			if err := s.conflicts("wallet "+w.Address, o.Record, w, "an address belongs to one agent: take it out of one of them"); err != nil {
				return err
			}
		}
		if !have {
			s.rows.Wallets = append(s.rows.Wallets, w)
		}
	}
	return nil
}

// machineless is an agent without the machine that it lives on.
func machineless(r agentruntime.AgentIdentity) agentruntime.AgentIdentity {
	r.Schema, r.Host, r.User, r.RuntimeInstanceID = "", "", "", ""
	return r
}

// checkConstitution finds the version of the archive that holds here. What follows it is accepted: by the operator who imports.
func (s *staged) checkConstitution(ctx context.Context) error {
	for i, v := range s.a.Versions {
		for _, text := range [][]byte{v.Soul, v.Purpose} {
			if len(text) > identity.MaxDocument || len(bytes.TrimSpace(text)) == 0 {
				s.l.Add(fmt.Sprintf("%s/%d", versionsDir, i+1), fault.OutOfRange, fmt.Sprintf("a document has %d bytes", len(text)), "documents have 1 to 65536 bytes")
			}
		}
	}
	have, err := s.holds(ctx)
	if err != nil {
		return err
	}
	for i, v := range s.a.Versions[have:] {
		s.rows.Versions = append(s.rows.Versions, store.NewRevision{
			SoulHash: filetree.Sum(v.Soul), PurposeHash: filetree.Sum(v.Purpose), Note: fmt.Sprintf("version %d of an archive", have+i+1), Reason: "imported",
		})
	}
	return nil
}

// holds is how many versions of the archive the home has.
func (s *staged) holds(ctx context.Context) (int, error) {
	g, err := s.Store.Agent(ctx, s.a.Identity.AgentID)
	if errors.Is(err, store.ErrNotFound) || err == nil && g.Constitution == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	s.rows.Base = g.Constitution
	c, err := s.Store.Constitution(ctx, g.Record.AgentID, g.Constitution)
	if err != nil {
		return 0, err
	}
	for n := len(s.a.Versions); n > 0; n-- {
		if v := s.a.Versions[n-1]; c.SoulHash == filetree.Sum(v.Soul) && c.PurposeHash == filetree.Sum(v.Purpose) {
			return n, nil
		}
	}
	s.l.Add("constitution of "+g.Record.AgentID, fault.Conflict, fmt.Sprintf("this home holds version %d (soul %s, purpose %s), and the archive has no such version", c.Number, c.SoulHash, c.PurposeHash),
		"give the agent another name with --as NAME")
	return len(s.a.Versions), nil
}

func (s *staged) checkSchedules(ctx context.Context) error {
	adm := &task.Admission{Store: s.Store, Config: s.cfg, Clock: s.Clock, Drivers: s.Drivers, Skills: s.catalog}
	engine := &schedule.Engine{Store: s.Store, Admission: adm, Clock: s.Clock}
	for i, c := range s.a.Schedules {
		n, err := engine.Check(schedule.Plan{Name: c.Name, Every: time.Duration(c.IntervalSeconds) * time.Second, Disabled: c.Disabled, Overlap: c.Overlap, Task: c.Task})
		if err != nil {
			s.l.Within(fault.Index(schedulesFile, i), err)
			if fault.Of(err) == nil {
				s.l.Add(fault.Index(schedulesFile, i), fault.BadFormat, err.Error(), "")
			}
			continue
		}
		there, err := s.Store.Schedule(ctx, c.Name)
		if errors.Is(err, store.ErrNotFound) {
			s.rows.Schedules = append(s.rows.Schedules, n)
			continue
		}
		if err != nil {
			return err
		}
		// Whether it is switched on is the home's to say.
		here := Schedule{Name: c.Name, IntervalSeconds: there.Record.IntervalSeconds, Overlap: there.Overlap, Task: there.Record.Task}
		if err := s.conflicts("schedule "+c.Name, here, Schedule{Name: c.Name, IntervalSeconds: c.IntervalSeconds, Overlap: n.Overlap, Task: n.Record.Task}, "`deed schedule remove "+c.Name+"` first, or rename one"); err != nil {
			return err
		}
	}
	return nil
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
