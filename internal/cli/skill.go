package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/base/filetree"
)

// skills finds skills: those of the project here, then the home's. The home is named.
func (a *app) skills() *skill.Catalog {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	return skill.For(a.h, dir)
}

// skillDoc is a skill as --json shows it; list has the first members.
type skillDoc struct {
	Schema        string                      `json:"schema,omitempty"`
	SkillID       string                      `json:"skill_id"`
	Version       string                      `json:"version,omitempty"`
	Digest        string                      `json:"digest,omitempty"`
	From          string                      `json:"from,omitempty"`
	Path          string                      `json:"path,omitempty"`
	Description   string                      `json:"description,omitempty"`
	Commands      []string                    `json:"commands,omitempty"`
	Sensors       []string                    `json:"sensors,omitempty"`
	Error         string                      `json:"error,omitempty"`
	Faults        []fault.Fault               `json:"faults,omitempty"`
	Notes         []fault.Fault               `json:"notes,omitempty"`
	Manifest      *agentruntime.SkillManifest `json:"manifest,omitempty"`
	License       string                      `json:"license,omitempty"`
	Compatibility string                      `json:"compatibility,omitempty"`
	Metadata      map[string]string           `json:"metadata,omitempty"`
	AllowedTools  []string                    `json:"allowed_tools,omitempty"`
	Files         []filetree.Entry            `json:"files,omitempty"`
}

func newSkillDoc(f skill.Found) skillDoc {
	d := skillDoc{SkillID: f.ID, From: f.From, Path: f.Dir}
	if f.Err != nil {
		d.Error, d.Faults = f.Err.Error(), fault.Of(f.Err)
	}
	s := f.Skill
	if s == nil {
		return d
	}
	d.Version, d.Digest, d.Description, d.Notes = s.Version, s.Digest, s.Manifest.Description, s.Notes
	for _, c := range s.Commands {
		d.Commands = append(d.Commands, c.Name)
	}
	d.Sensors = slices.Sorted(maps.Keys(s.Sensors))
	return d
}

func (a *app) skillCmd() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the skills of the project here and of the home", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.skillList() },
	}
	show := &cobra.Command{
		Use: "show SKILL", Short: "Show a skill: what it is, what it brings, and its files", Args: names("SKILL"),
		RunE: func(_ *cobra.Command, args []string) error { return a.skillShow(args[0]) },
	}
	lint := &cobra.Command{
		Use: "lint DIR...", Short: "Check folders, and say all that is wrong with them", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.skillLint(args) },
	}
	remove := &cobra.Command{
		Use: "remove SKILL", Aliases: []string{"rm"}, Short: "Take a skill out of the home; tasks keep the version that they were admitted with", Args: names("SKILL"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.peek(); err != nil {
				return err
			}
			err := skill.Remove(a.h, args[0])
			if errors.Is(err, skill.ErrUnknown) {
				return usage(fmt.Errorf("%w (`deed skill list` shows what there is)", err))
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"schema": "deed/skill-removal/v1", "skill_id": args[0]})
			}
			a.hint("skill %s is removed", args[0])
			return nil
		},
	}
	return group("skill", "Give agents capabilities: folders with instructions, commands, sensors and schemas", a.skillAddCmd(), list, show, lint, a.skillRunCmd(), remove)
}

func (a *app) skillAddCmd() *cobra.Command {
	var opt skill.AddOptions
	c := &cobra.Command{
		Use: "add DIR|ARCHIVE", Short: "Install a skill into the home", Args: names("DIR or ARCHIVE"),
		Long: `Install a skill from its folder, or from a tar, tar.gz or zip file of it, into the home: whole or not at all. Links, special files and
names that lead out of the folder are refused, and nothing of the skill is run. A skill that brings sensors needs your word
(--sensors): deed serve runs them as its own user, outside of any sandbox.`,
		Example: "  deed skill add ./links\n  deed skill add links.tar.gz --replace",
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.openHome(); err != nil {
				return err
			}
			s, err := skill.Pick(args[0])
			if err != nil {
				return skillFault(err)
			}
			if err := a.checkSensors(s); err != nil {
				return err
			}
			got, err := skill.Install(c.Context(), a.h, s, opt)
			switch {
			case errors.Is(err, skill.ErrSensors):
				return usage(fmt.Errorf("skill %s brings sensors: %s (read them, then add it with --sensors)", s.ID(), strings.Join(slices.Sorted(maps.Keys(s.Sensors)), ", ")))
			case errors.Is(err, skill.ErrTaken):
				return usage(fmt.Errorf("%w, by another version (--replace takes its place)", err))
			case err != nil:
				return err
			}
			return a.skillAdded(got)
		},
	}
	c.Flags().BoolVar(&opt.Replace, "replace", false, "take the place of another version")
	c.Flags().BoolVar(&opt.Sensors, "sensors", false, "let deed serve run the sensors that it brings")
	return c
}

func (a *app) skillAdded(got skill.Added) error {
	s := got.Skill
	word := "added"
	switch {
	case got.Same:
		word = "there already"
	case got.Replaced:
		word = "replaced"
	}
	if a.json {
		d := newSkillDoc(skill.Found{ID: s.ID(), Dir: filepath.Join(a.h.Skills(), s.ID()), From: skill.FromHome, Skill: s})
		d.Schema = "deed/skill/v1"
		return a.emit(struct {
			skillDoc
			Result string `json:"result"`
		}{d, strings.ReplaceAll(word, " ", "_")})
	}
	a.hint("skill %s %s is %s", s.ID(), clean(s.Version), word)
	for _, n := range s.Notes {
		a.hint("  %s", clean(n.String()))
	}
	return nil
}

// skillFault marks what the author of a skill can fix.
func skillFault(err error) error {
	var e *skill.Error
	if errors.As(err, &e) || errors.Is(err, filetree.ErrRefused) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, skill.ErrUnknown) {
		return usage(err)
	}
	return err
}

// checkSensors refuses a skill whose sensors have names that others have.
func (a *app) checkSensors(s *skill.Skill) error {
	list, err := skill.For(a.h, "").List()
	if err != nil {
		return err
	}
	taken := map[string]string{}
	for name := range a.cfg.Sensors {
		taken[name] = "deed.yaml"
	}
	for _, f := range list {
		if f.Skill == nil || f.ID == s.ID() {
			continue // the version that this one replaces
		}
		for name := range f.Skill.Sensors {
			taken[name] = "skill " + f.ID
		}
	}
	var l fault.List
	for _, name := range slices.Sorted(maps.Keys(s.Sensors)) {
		if by := taken[name]; by != "" {
			l.Add(fault.Field("$.sensors", name), fault.Conflict, fmt.Sprintf("there is a sensor of that name in %s", by), "give it another name, such as "+s.ID()+"-"+name)
		}
	}
	if l.Len() > 0 {
		return usage(fmt.Errorf("skill %s: %w", s.ID(), l.Err()))
	}
	return nil
}

// joinSensors adds the sensors of the home's skills to the settings. A folder that cannot be read, or whose sensors have names that
// others have, brings none; `deed skill list` and `deed skill add` say so.
func (a *app) joinSensors() {
	list, err := skill.For(a.h, "").List()
	if err != nil {
		return // the folder of skills is not readable, and no task can name one
	}
	for _, f := range list {
		if f.Skill == nil {
			continue
		}
		taken := false
		for name := range f.Skill.Sensors {
			_, there := a.cfg.Sensors[name]
			taken = taken || there
		}
		if !taken {
			a.cfg.AddSensors(f.Dir, f.Skill.Sensors)
		}
	}
}

func (a *app) skillList() error {
	if err := a.peek(); err != nil {
		return err
	}
	list, err := a.skills().List()
	if err != nil {
		return err
	}
	docs := []skillDoc{}
	rows := [][]string{}
	for _, f := range list {
		d := newSkillDoc(f)
		docs = append(docs, d)
		about := d.Description
		if d.Error != "" {
			about = a.color.Red("cannot be used: ") + clean(strings.ReplaceAll(d.Error, "\n", "; "))
		} else {
			about = clean(about)
		}
		rows = append(rows, []string{f.ID, clean(d.Version), f.From, shorten(strings.Join(strings.Fields(about), " "), 100)})
	}
	switch {
	case a.json:
		return a.emit(map[string]any{"schema": "deed/skills/v1", "skills": docs})
	case len(rows) == 0:
		a.hint("there is no skill (`deed skill add DIR` installs one)")
	default:
		a.table([]string{"SKILL", "VERSION", "FROM", "ABOUT"}, rows)
	}
	return nil
}

// oneSkill finds a skill that can be used.
func (a *app) oneSkill(id string) (skill.Found, error) {
	if err := a.peek(); err != nil {
		return skill.Found{}, err
	}
	f, err := a.skills().Find(id)
	if err != nil {
		return f, usage(err)
	}
	return f, nil
}

func (a *app) skillShow(id string) error {
	f, err := a.oneSkill(id)
	if err != nil {
		return err
	}
	d, s := newSkillDoc(f), f.Skill
	if a.json {
		d.Schema, d.Manifest, d.License, d.Compatibility = "deed/skill/v1", &s.Manifest, s.License, s.Compatibility
		d.Metadata, d.AllowedTools, d.Files = s.Metadata, s.AllowedTools, s.Tree.Manifest().Files
		return a.emit(d)
	}
	lines := [][2]string{
		{"skill", d.SkillID},
		{"version", d.Version},
		{"about", d.Description},
		{"digest", d.Digest},
		{"from", showPath(d.Path)},
		{"licence", s.License},
		{"needs", s.Compatibility},
		{"tools", strings.Join(s.AllowedTools, " ")},
		{"input", s.Manifest.InputSchemaID},
		{"output", s.Manifest.OutputSchemaID},
		{"sensors", strings.Join(d.Sensors, ", ")},
	}
	for _, c := range s.Commands {
		lines = append(lines, [2]string{"command", strings.TrimSuffix(c.Name+": "+c.Description, ": ")})
	}
	for _, e := range s.Tree.Manifest().Files {
		lines = append(lines, [2]string{"file", e.Path})
	}
	for _, line := range lines {
		if line[1] != "" {
			a.field(line[0], clean(line[1]))
		}
	}
	return nil
}

func (a *app) skillLint(dirs []string) error {
	docs := make([]skillDoc, len(dirs))
	bad := false
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		f := skill.Found{ID: filepath.Base(abs), Dir: abs}
		f.Skill, f.Err = skill.Open(abs)
		if errors.Is(f.Err, fs.ErrNotExist) {
			return usage(f.Err)
		}
		docs[i] = newSkillDoc(f)
		bad = bad || f.Err != nil
		switch {
		case a.json:
		case f.Err != nil:
			a.printf("%s\n", cleanLines(f.Err.Error()))
		default:
			a.printf("%s %s: skill %s %s\n", a.color.Green("✓"), showPath(dir), f.ID, clean(f.Skill.Version))
			for _, n := range f.Skill.Notes {
				a.printf("  %s\n", clean(n.String()))
			}
		}
	}
	if a.json {
		if err := a.emit(map[string]any{"schema": "deed/skill-lint/v1", "skills": docs}); err != nil {
			return err
		}
	}
	if bad {
		return errNotDone
	}
	return nil
}

// skillFlag lets a task name its skills.
func skillFlag(c *cobra.Command, to *[]string) {
	c.Flags().StringArrayVar(to, "skill", nil, "`SKILL` that the agent works by; repeatable (`deed skill list`)")
}
