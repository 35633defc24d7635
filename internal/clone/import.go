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
	"github.com/deedrun/deed/internal/atomicfile"
	"github.com/deedrun/deed/internal/canonjson"
	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/config"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/home"
	"github.com/deedrun/deed/internal/identity"
	"github.com/deedrun/deed/internal/parcel"
	"github.com/deedrun/deed/internal/plainfile"
	"github.com/deedrun/deed/internal/schedule"
	"github.com/deedrun/deed/internal/skill"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/task"
	"github.com/deedrun/deed/internal/workflow"
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

	KeepSettings bool // the home's deed.yaml stays as it is
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
	versions int // of the constitution that the home has already
	l        fault.List
}

// Check says everything that keeps the archive from being imported, and writes nothing.
func (t Target) Check(ctx context.Context, a *Archive) error {
	s, done, err := t.stage(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	return s.l.Err()
}

// Import takes an agent into the home. Everything is checked first: a conflict changes nothing. What is there already, and the same, is
// left, so that an import that was cut short is finished by the next one.
func (t Target) Import(ctx context.Context, a *Archive) error {
	s, done, err := t.stage(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	if err := s.l.Err(); err != nil {
		return err
	}
	// The settings say that the runtime is this agent, so they come when all of it is there; schedules make tasks, so they come last.
	for _, write := range []func(context.Context) error{s.writeSkills, s.writeWorkflows, s.writeAgent, s.writeConstitution, s.writeSettings, s.writeSchedules} {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) stage(ctx context.Context, a *Archive) (*staged, func(), error) {
	dir, err := os.MkdirTemp(t.Home.Tmp(), "import-*")
	if err != nil {
		return nil, nil, atomicfile.Explain("import the agent", err)
	}
	done := func() { _ = os.RemoveAll(dir) } // nothing that was published lies in it
	s := &staged{Target: t, a: a, dir: dir}
	for _, check := range []func(context.Context) error{s.checkSkills, s.checkSettings, s.checkWorkflows, s.checkAgent, s.checkConstitution, s.checkSchedules} {
		if err := check(ctx); err != nil {
			done()
			return nil, nil, err
		}
	}
	return s, done, nil
}

// conflict is something that the home has, and has otherwise.
func (s *staged) conflict(what, remedy string) {
	s.l.Add(what, fault.Conflict, "is in this home already, and is another", remedy)
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
		there, err := parcel.Read(filepath.Join(s.Home.Skills(), k.ID()), skill.Bounds)
		if err == nil && there.Digest() != k.Digest || err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.conflict("skill "+k.ID(), "`deed skill remove "+k.ID()+"` first, or rename one")
		}
	}
	s.catalog.Places = append([]skill.Place{{Dir: place, From: skill.FromHome}}, s.catalog.Places...)
	return nil
}

// checkSettings loads the archive's settings as the home's, from a file beside them, so that relative paths mean what they will mean.
func (s *staged) checkSettings(context.Context) error {
	s.cfg = s.Config
	if s.a.Settings == nil || s.KeepSettings {
		return nil
	}
	there, err := plainfile.Read(s.Home.Config(), maxSettings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !sameYAML(there, s.a.Settings) {
		s.conflict(settingsFile, "merge them by hand and import with --keep-settings, or import into a fresh home")
	}
	beside, err := os.CreateTemp(s.Home.Root(), ".import-*.yaml")
	if err != nil {
		return atomicfile.Explain("import the agent", err)
	}
	defer func() { _ = os.Remove(beside.Name()) }() // nobody reads it by this name
	_, err = beside.Write(s.a.Settings)
	if err = errors.Join(err, beside.Close()); err != nil {
		return err
	}
	cfg, err := config.Load(config.Options{Explicit: beside.Name(), Path: s.Path})
	if err != nil {
		s.l.Add(settingsFile, fault.BadFormat, strings.ReplaceAll(err.Error(), beside.Name(), settingsFile), "")
		return nil
	}
	s.cfg = cfg
	if cfg.Agent != "" && cfg.Agent != s.a.Identity.AgentID {
		s.l.Add(settingsFile+" $.agent", fault.Conflict, fmt.Sprintf("%q is not the agent of the archive, %q", cfg.Agent, s.a.Identity.AgentID), "")
	}
	for _, id := range cfg.ProfileIDs() {
		p, err := cfg.Profile(id)
		if err != nil {
			return err
		}
		for _, k := range p.SkillIDs {
			if _, err := s.catalog.Find(k); err != nil {
				s.l.Add(fault.Field(settingsFile+" $.profiles", id), fault.Dangling, err.Error(), "")
			}
		}
	}
	return nil
}

// sameYAML reports whether two files say the same, however they are written.
func sameYAML(x, y []byte) bool {
	if bytes.Equal(x, y) {
		return true
	}
	var raw [2][]byte
	for i, text := range [][]byte{x, y} {
		r, _, err := config.ReadYAML(settingsFile, text)
		if err == nil {
			raw[i], err = canonjson.Canonicalize(r)
		}
		if err != nil {
			return false
		}
	}
	return bytes.Equal(raw[0], raw[1])
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
		if err == nil && !bytes.Equal(there, f.Data) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.conflict(name, "rename one of them")
		}
	}
	return nil
}

func (s *staged) checkAgent(ctx context.Context) error {
	id := s.a.Identity.AgentID
	g, err := s.Store.Agent(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case !same(machineless(g.Record), machineless(s.a.Identity)):
		s.conflict("agent "+id, "give it another name with --as NAME")
	}
	for _, w := range s.a.Wallets {
		list, err := s.Store.Wallets(ctx, store.WalletFilter{Address: w.Address})
		if err != nil {
			return err
		}
		for _, o := range list {
			if o.Record.Chain == w.Chain && o.Record.Network == w.Network && !same(o.Record, w) {
				s.conflict("wallet "+w.Address, "an address belongs to one agent: take it out of one of them")
			}
		}
	}
	return nil
}

// machineless is an agent without the machine that it lives on.
func machineless(r agentruntime.AgentIdentity) agentruntime.AgentIdentity {
	r.Schema, r.Host, r.User, r.RuntimeInstanceID = "", "", "", ""
	return r
}

// same compares records by what they say on the wire.
func same(x, y any) bool {
	a, aerr := canonjson.Hash(x)
	b, berr := canonjson.Hash(y)
	return aerr == nil && berr == nil && a == b
}

func (s *staged) checkConstitution(ctx context.Context) error {
	for i, v := range s.a.Versions {
		for _, text := range [][]byte{v.Soul, v.Purpose} {
			if len(text) > identity.MaxDocument || len(bytes.TrimSpace(text)) == 0 {
				s.l.Add(fmt.Sprintf("%s/%d", versionsDir, i+1), fault.OutOfRange, fmt.Sprintf("a document has %d bytes", len(text)), "documents have 1 to 65536 bytes")
			}
		}
	}
	g, err := s.Store.Agent(ctx, s.a.Identity.AgentID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.versions = int(g.Constitution)
	for n := 1; n <= s.versions; n++ {
		c, err := s.Store.Constitution(ctx, g.Record.AgentID, int64(n))
		if err != nil {
			return err
		}
		if n > len(s.a.Versions) || c.SoulHash != parcel.Sum(s.a.Versions[n-1].Soul) || c.PurposeHash != parcel.Sum(s.a.Versions[n-1].Purpose) {
			s.conflict(fmt.Sprintf("version %d of the constitution of %s", n, g.Record.AgentID), "give the agent another name with --as NAME")
			return nil
		}
	}
	return nil
}

// schedules is the engine of schedules with the settings of the archive.
func (s *staged) schedules() *schedule.Engine {
	adm := &task.Admission{Store: s.Store, Config: s.cfg, Clock: s.Clock, Drivers: s.Drivers, Skills: s.catalog}
	return &schedule.Engine{Store: s.Store, Admission: adm, Clock: s.Clock}
}

func (s *staged) checkSchedules(ctx context.Context) error {
	for i, c := range s.a.Schedules {
		at := fault.Index(schedulesFile, i)
		if c.IntervalSeconds < 1 {
			s.l.Add(at+".interval_seconds", fault.OutOfRange, fmt.Sprintf("%d is less than a second", c.IntervalSeconds), "")
		}
		in := c.Task
		if in.Source == "" {
			in.Source = schedule.Source(c.Name)
		}
		if _, err := s.schedules().Admission.Prepare(in, task.Caller{Trusted: true}); err != nil {
			s.l.Add(at+".task", fault.BadFormat, strings.ReplaceAll(err.Error(), "\n", "; "), "")
		}
		there, err := s.Store.Schedule(ctx, c.Name)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if there.Record.IntervalSeconds != c.IntervalSeconds || !same(there.Record.Task.Payload, c.Task.Payload) || there.Record.Task.TaskType != c.Task.TaskType {
			s.conflict("schedule "+c.Name, "`deed schedule remove "+c.Name+"` first, or rename one")
		}
	}
	return nil
}

func (s *staged) writeSkills(ctx context.Context) error {
	for _, k := range s.a.Skills {
		if _, err := skill.Install(ctx, s.Home, k, skill.AddOptions{Sensors: true}); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) writeWorkflows(context.Context) error {
	for _, f := range s.a.Workflows {
		final := filepath.Join(s.Home.Workflows(), filepath.FromSlash(f.Path))
		if err := atomicfile.MkdirAll(filepath.Dir(final), 0o700); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(final, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) writeAgent(ctx context.Context) error {
	if _, err := s.Store.AddAgent(ctx, s.a.Identity, s.By); err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	for _, w := range s.a.Wallets {
		if _, err := s.Store.AddWallet(ctx, w, s.By); err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
	}
	return nil
}

// writeConstitution makes the versions that are missing hold, one after the other: the operator who imports an agent accepts them.
func (s *staged) writeConstitution(ctx context.Context) error {
	book := identity.Book{Store: s.Store, Home: s.Home}
	for i, v := range s.a.Versions {
		if i < s.versions {
			continue
		}
		p, _, err := book.Propose(ctx, identity.Draft{AgentID: s.a.Identity.AgentID, Soul: v.Soul, Purpose: v.Purpose, Note: fmt.Sprintf("version %d of an archive", i+1), By: s.By})
		if err != nil {
			return err
		}
		if _, err := book.Decide(ctx, p.ID, true, "imported", s.By); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) writeSettings(context.Context) error {
	if s.a.Settings == nil || s.KeepSettings {
		return nil
	}
	if _, err := os.Lstat(s.Home.Config()); err == nil {
		return nil // it says the same
	}
	return atomicfile.WriteFile(s.Home.Config(), s.a.Settings, 0o600)
}

func (s *staged) writeSchedules(ctx context.Context) error {
	for _, c := range s.a.Schedules {
		if _, err := s.Store.Schedule(ctx, c.Name); err == nil {
			continue
		}
		_, _, err := s.schedules().Put(ctx, schedule.Plan{
			Name: c.Name, Every: time.Duration(c.IntervalSeconds) * time.Second, Disabled: c.Disabled, Overlap: c.Overlap, Task: c.Task,
		}, s.By)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", c.Name, err)
		}
	}
	return nil
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}
