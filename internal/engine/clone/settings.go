package clone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/truncate"
)

// A settingsChange is what becomes of the home's deed.yaml.
type settingsChange struct {
	before, after []byte // before is nil where the home has none
	added         []config.Addition
}

// checkSettings decides what the home's settings will be, and loads them from a file next to the real one, so that relative paths
// keep their meaning.
func (s *staged) checkSettings(context.Context) error {
	s.cfg = s.Config
	if s.a.Settings == nil || s.KeepSettings {
		return nil
	}
	if c, err := config.Parse(settingsFile, s.a.Settings); err == nil && c.Database != "" {
		s.l.Add(settingsFile+" $.database", fault.NotAllowed, "an agent that is imported brings no database of its own", "take it out, and set DEED_DATABASE or the home's own deed.yaml")
	}
	if err := s.changeSettings(); err != nil || s.settings == nil {
		return err
	}
	cfg, err := s.load(s.settings.after)
	if err != nil {
		s.l.Add(settingsFile, fault.BadFormat, err.Error(), "")
		return nil
	}
	s.cfg = cfg
	if cfg.Agent != "" && cfg.Agent != s.a.Identity.AgentID {
		s.l.Add(settingsFile+" $.agent", fault.Conflict, fmt.Sprintf("%q is not the agent of the archive, %q", cfg.Agent, s.a.Identity.AgentID), "import it into a home of its own, or leave this one's settings with --keep-settings")
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

// changeSettings compares the archive's settings with the home's. What is of the machine or a secret is in no archive, so that it is
// no difference either.
func (s *staged) changeSettings() error {
	before, err := plainfile.Read(s.Home.Config(), maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		s.settings = &settingsChange{after: s.a.Settings}
		return nil
	}
	if err != nil {
		return err
	}
	before = append([]byte{}, before...) // an empty file exists, and nil means that there is none
	here, _, err := config.ReadYAML(s.Home.Config(), before)
	if err != nil {
		return err
	}
	there, _, err := config.ReadYAML(settingsFile, s.a.Settings)
	if err != nil {
		return err
	}
	added, differ, err := compare(here, there)
	if err != nil {
		return err
	}
	for _, d := range differ {
		s.l.Add(settingsFile+" "+d.Path, fault.Conflict, d.String(), "make them the same or rename one, or leave this home's settings with --keep-settings")
	}
	if len(added) == 0 || len(differ) > 0 && s.MergeSettings {
		return nil
	}
	if !s.MergeSettings {
		for _, a := range added {
			s.l.Add(settingsFile+" "+a.Path(), fault.Conflict, Difference{There: string(a.Value)}.String(), "--merge-settings adds it, --keep-settings leaves this home's settings")
		}
		return nil
	}
	after, err := config.Amend(s.Home.Config(), before, added)
	if err != nil {
		return err
	}
	s.settings = &settingsChange{before: before, after: after, added: added}
	return nil
}

// load reads settings as if they were the home's.
func (s *staged) load(text []byte) (*config.Config, error) {
	tmp, release, err := atomicfile.Temp(filepath.Join(s.Home.Root(), "import"))
	if err != nil {
		return nil, atomicfile.Explain("import the agent", err)
	}
	defer release()
	defer func() { _ = os.Remove(tmp.Name()) }() // nothing else reads it under this name
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Options{Explicit: tmp.Name(), Path: s.Path})
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), tmp.Name(), settingsFile))
	}
	return cfg, nil
}

// compare finds what the archive's settings have and the home's have not, and where the two contradict each other. A named thing,
// such as a profile, is added whole or not at all: a mixture of two would be a third that no one wrote.
func compare(here, there []byte) (added []config.Addition, differ []Difference, err error) {
	mine, _, err := public(here)
	if err != nil {
		return nil, nil, err
	}
	theirs, _, err := public(there)
	if err != nil {
		return nil, nil, err
	}
	add := func(within, name string, v any) error {
		raw, err := json.Marshal(v)
		added = append(added, config.Addition{Within: within, Name: name, Value: raw})
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		have, known := mine[name]
		inner, isObject := theirs[name].(map[string]any)
		outer, bothObjects := have.(map[string]any)
		switch {
		case !known:
			err = add("", name, theirs[name])
		case isObject && bothObjects:
			for _, key := range slices.Sorted(maps.Keys(inner)) {
				if old, there := outer[key]; there {
					differ = append(differ, differencesOf(fault.Field(fault.Field(fault.Root, name), key), old, inner[key])...)
				} else if err = add(name, key, inner[key]); err != nil {
					return nil, nil, err
				}
			}
		default:
			differ = append(differ, differencesOf(fault.Field(fault.Root, name), have, theirs[name])...)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return added, differ, nil
}

// A Difference is a member in which the home and an archive differ. A value is JSON, and empty where there is none.
type Difference struct{ Path, Here, There string }

// shown bounds a value in a sentence.
const shown = 120

func (d Difference) String() string {
	say := func(v string) string {
		if v == "" {
			return "nothing"
		}
		return truncate.Head(v, shown)
	}
	return "this home has " + say(d.Here) + ", the archive " + say(d.There)
}

// differences compares two documents, and names the smallest members that differ.
func differences(at string, here, there []byte) ([]Difference, error) {
	var x, y any
	for _, in := range []struct {
		text []byte
		to   *any
	}{{here, &x}, {there, &y}} {
		d := json.NewDecoder(bytes.NewReader(in.text))
		d.UseNumber()
		if err := d.Decode(in.to); err != nil {
			return nil, err
		}
	}
	return differencesOf(at, x, y), nil
}

func differencesOf(at string, here, there any) []Difference {
	x, isObject := here.(map[string]any)
	y, bothObjects := there.(map[string]any)
	if !isObject || !bothObjects {
		a, b := text(here), text(there)
		if a == b {
			return nil
		}
		return []Difference{{at, a, b}}
	}
	var out []Difference
	names := slices.Collect(maps.Keys(x))
	for name := range y {
		if _, both := x[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		in := fault.Field(at, name)
		a, mine := x[name]
		b, theirs := y[name]
		switch {
		case !mine:
			out = append(out, Difference{Path: in, There: text(b)})
		case !theirs:
			out = append(out, Difference{Path: in, Here: text(a)})
		default:
			out = append(out, differencesOf(in, a, b)...)
		}
	}
	return out
}

// text is a value as it is compared and shown.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if canon, err := canonjson.Canonicalize(raw); err == nil {
		raw = canon
	}
	return string(raw)
}
