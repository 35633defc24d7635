package clone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
)

// A Source is the home that an agent is exported from.
type Source struct {
	Home    *home.Home
	Store   *store.Store
	Config  *config.Config
	Environ []string // deed's own: no secret of it may be in an archive
}

// An Export is an archive, and what of the home is not in it.
type Export struct {
	Archive *Archive
	Tree    filetree.Tree
	Left    []string // settings that were left out, and have to be set again where the archive is imported
}

// maxSettings bounds deed.yaml.
const maxSettings = 1 << 20

// Export reads an agent out of a home. It fails rather than write a secret.
func (s Source) Export(ctx context.Context, agentID string) (*Export, error) {
	g, err := s.Store.Agent(ctx, agentID)
	if err != nil {
		return nil, err
	}
	x := &Export{Archive: &Archive{Identity: g.Record}}
	x.Archive.Identity.Host, x.Archive.Identity.User, x.Archive.Identity.RuntimeInstanceID = "", "", "" // of the machine, not of the agent
	for _, read := range []func(context.Context, *Export) error{s.wallets, s.constitution, s.settings, s.skills, s.workflows, s.schedules} {
		if err := read(ctx, x); err != nil {
			return nil, err
		}
	}
	if x.Tree, err = x.Archive.Tree(); err != nil {
		return nil, err
	}
	return x, s.noSecrets(x.Tree)
}

func (s Source) wallets(ctx context.Context, x *Export) error {
	for after := int64(0); ; {
		some, err := s.Store.Wallets(ctx, store.WalletFilter{AgentID: x.Archive.Identity.AgentID, After: after})
		if err != nil {
			return err
		}
		for _, w := range some {
			if w.Damage != "" {
				return errors.New(w.Damage)
			}
			x.Archive.Wallets, after = append(x.Archive.Wallets, w.Record), w.Seq
		}
		if len(some) < 1000 {
			return nil
		}
	}
}

func (s Source) constitution(ctx context.Context, x *Export) error {
	id := x.Archive.Identity.AgentID
	g, err := s.Store.Agent(ctx, id)
	if err != nil {
		return err
	}
	book := identity.Book{Store: s.Store, Home: s.Home}
	for n := int64(1); n <= g.Constitution; n++ {
		p, err := book.Pin(ctx, id, n)
		if err != nil {
			return err
		}
		x.Archive.Versions = append(x.Archive.Versions, Version{[]byte(p.Documents.Soul), []byte(p.Documents.Purpose)})
	}
	return nil
}

// settings takes the home's file without what belongs to the machine or is a secret.
func (s Source) settings(_ context.Context, x *Export) error {
	data, err := plainfile.Read(s.Home.Config(), maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	raw, _, err := config.ReadYAML(s.Home.Config(), data)
	if err != nil {
		return err
	}
	all, left, err := public(raw)
	if err != nil {
		return err
	}
	x.Left = append(x.Left, left...)
	all["agent"] = x.Archive.Identity.AgentID
	if raw, err = json.Marshal(all); err != nil {
		return err
	}
	x.Archive.Settings, err = config.WriteYAML(raw)
	return err
}

// public is what settings say without what belongs to the machine or is a secret, and what was left out.
func public(raw []byte) (all map[string]any, left []string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"database", "secrets"} {
		if _, there := all[name]; there {
			delete(all, name)
			left = append(left, "$."+name)
		}
	}
	adapters, _ := all["adapters"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(adapters)) {
		left = append(left, dropCredentials(id, adapters[id])...)
	}
	return all, left, nil
}

// dropCredentials takes the credentials out of an adapter.
func dropCredentials(id string, adapter any) (left []string) {
	a, ok := adapter.(map[string]any)
	if !ok {
		return nil
	}
	if _, there := a["env_file"]; there {
		delete(a, "env_file")
		left = append(left, "$.adapters."+id+".env_file")
	}
	env, _ := a["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if value, _ := env[name].(string); redact.LooksSecret(name, value) {
			delete(env, name)
			left = append(left, "$.adapters."+id+".env."+name)
		}
	}
	return left
}

func (s Source) skills(_ context.Context, x *Export) error {
	list, err := skill.For(s.Home, "").List()
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Err != nil {
			return fmt.Errorf("%w (fix it, or take it out with `deed skill remove %s`)", f.Err, f.ID)
		}
		x.Archive.Skills = append(x.Archive.Skills, f.Skill)
	}
	return nil
}

func (s Source) workflows(_ context.Context, x *Export) error {
	t, err := filetree.Read(s.Home.Workflows(), Bounds)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	x.Archive.Workflows = t
	return err
}

func (s Source) schedules(ctx context.Context, x *Export) error {
	for after := ""; ; {
		some, err := s.Store.Schedules(ctx, after, 1000)
		if err != nil {
			return err
		}
		for _, c := range some {
			if c.Damage != "" {
				return errors.New(c.Damage)
			}
			r := c.Record
			x.Archive.Schedules = append(x.Archive.Schedules, Schedule{r.Name, r.IntervalSeconds, c.Overlap, !r.Enabled, r.Task})
			after = r.Name
		}
		if len(some) < 1000 {
			return nil
		}
	}
}

// noSecrets looks for every secret that this home knows of, in all forms in which it could be written.
func (s Source) noSecrets(t filetree.Tree) error {
	known := map[string]string{}
	for _, kv := range s.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && redact.LooksSecret(name, value) {
			known["the variable "+name] = value
		}
	}
	for _, id := range s.Config.AdapterIDs() {
		a, err := s.Config.Adapter(id)
		if err != nil {
			return err
		}
		found, err := process.Credentials(a.AdapterConfig)
		if err != nil {
			return fmt.Errorf("look for the secrets of adapter %s: %w", id, err)
		}
		for name, value := range found {
			known["adapter "+id+"'s "+name] = value
		}
	}
	keys, err := filepath.Glob(filepath.Join(s.Home.Keys(), "*"))
	if err != nil {
		return err
	}
	for _, file := range keys {
		text, err := plainfile.Read(file, maxSettings)
		if err != nil || strings.Contains(filepath.Base(file), ".pub") {
			continue // a directory of keys that are trusted, or a public key
		}
		for i, line := range strings.Fields(string(text)) {
			if len(line) > 30 { // the body of a PEM file
				known[fmt.Sprintf("the key %s (%d)", filepath.Base(file), i)] = line
			}
		}
	}
	for name, value := range known {
		r := redact.New(map[string]string{name: value})
		for _, f := range t {
			if r.Contains(f.Data) {
				return fmt.Errorf("%s holds %s, and an archive holds no secret (take it out; tasks name secrets, and get their values where they run)", f.Path, name)
			}
		}
	}
	return nil
}
