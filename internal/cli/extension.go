package cli

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/project"
)

// extensionList is what `deed extension list --json` prints.
type extensionList struct {
	Schema       string                   `json:"schema"`
	Component    string                   `json:"component"`
	Path         string                   `json:"component_path"`
	Files        []string                 `json:"files,omitempty"` // how the component describes itself
	Notes        []string                 `json:"notes,omitempty"`
	Capabilities map[string]capabilityDoc `json:"capabilities"`
	Extensions   []extensionDoc           `json:"extensions"`
}

// capabilityDoc says who serves a capability of the component here.
type capabilityDoc struct {
	Extensions []string `json:"extensions,omitempty"`
	Scripts    []string `json:"scripts,omitempty"`
	Why        string   `json:"why,omitempty"`
	Skipped    string   `json:"not_applicable,omitempty"`
	Error      string   `json:"error,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// extensionDoc is one extension; show has all of it, list the first lines.
type extensionDoc struct {
	Schema       string                     `json:"schema,omitempty"`
	ID           string                     `json:"id"`
	Name         string                     `json:"name,omitempty"`
	Version      string                     `json:"version,omitempty"`
	From         string                     `json:"from,omitempty"`
	Path         string                     `json:"path,omitempty"`
	Digest       string                     `json:"digest,omitempty"`
	Capabilities []string                   `json:"capabilities"`
	Serves       []string                   `json:"serves"` // those that it serves of the component here
	Hides        []string                   `json:"hides,omitempty"`
	Error        string                     `json:"error,omitempty"`
	Commands     map[string]string          `json:"commands,omitempty"`
	Steps        map[string][]string        `json:"steps,omitempty"`
	Settings     []extension.SettingSpec    `json:"settings,omitempty"`
	Effective    json.RawMessage            `json:"effective_settings,omitempty"`
	Hooks        map[string][]string        `json:"hooks,omitempty"`
	Requires     map[string]string          `json:"requires,omitempty"`
	Here         map[string]capabilityDoc   `json:"component_capabilities,omitempty"`
	Manifest     map[string]json.RawMessage `json:"manifest,omitempty"`
}

func (a *app) extensionCmd() *cobra.Command {
	var dir string
	var named []string
	list := &cobra.Command{
		Use: "list", Short: "List the extensions that can be used here, and who serves lint, test and build", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.extensionList(dir, named) },
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show where an extension is from, what it can do and the settings that it gets here", Args: names("ID"),
		RunE: func(_ *cobra.Command, args []string) error { return a.extensionShow(dir, named, args[0]) },
	}
	for _, c := range []*cobra.Command{list, show} {
		c.Flags().StringVar(&dir, "path", "", "the component's `DIR` (default: the one that the current directory belongs to)")
		c.Flags().StringArrayVar(&named, "extension", nil, "an `ID` that serves in place of the component's own, or the path of one more extension; repeatable")
	}
	c := group("extension", "See which extensions there are and what they do", list, show)
	c.Long = `Extensions lint, test and build components. They are looked for in this order, and the first of a name counts: paths
given with --extension, .deed/extensions of the component and of its repository, extensions in deed's home, and those
that deed brings. docs/CHECKS.md has the rules.`
	return c
}

// componentDir is the component that a command is about: the named directory, else the component of the current
// directory.
func componentDir(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	wd, err := os.Getwd()
	if err != nil {
		return "."
	}
	return extension.Locate(wd)
}

// extensions finds the extensions for a component, and the ids of those that the user named.
func (a *app) extensions(dir string, named []string) (*extension.Set, []string, error) {
	places := extension.PlacesOf(a.h, dir)
	var use []string
	for _, n := range named {
		id, err := places.Use(n)
		if err != nil {
			return nil, nil, usage(err)
		}
		use = append(use, id)
	}
	set, err := extension.Find(places)
	if err != nil {
		return nil, nil, usage(err)
	}
	for _, dir := range set.Odd() {
		a.hint("%s is not an extension: there is no %s.json in it (the manifest has the directory's name)", showPath(dir), filepath.Base(dir))
	}
	return set, use, nil
}

// surroundings loads the component and the extensions for it.
func (a *app) surroundings(dir string, named []string) (c project.Component, set *extension.Set, use []string, err error) {
	var args []string
	if dir != "" {
		args = []string{dir}
	}
	if c, err = a.component(componentDir(args)); err != nil {
		return c, nil, nil, err
	}
	if a.h, err = a.makeHome(); err != nil {
		return c, nil, nil, err
	}
	set, use, err = a.extensions(c.Path, named)
	return c, set, use, err
}

// servants says who serves each capability.
func servants(c project.Component, set *extension.Set, use []string) map[string]capabilityDoc {
	out := map[string]capabilityDoc{}
	for _, capability := range []string{runner.Lint, runner.Test, runner.Build} {
		p, err := set.Resolve(c, capability, extension.Options{Use: use, Version: Version()})
		var d capabilityDoc
		var none *extension.NotApplicable
		switch {
		case errors.As(err, &none):
			d.Skipped = err.Error()
		case err != nil:
			d.Error = err.Error()
		default:
			d = capabilityDoc{Scripts: p.Scripts, Why: p.Why, Notes: p.Notes}
			for _, e := range p.Extensions {
				d.Extensions = append(d.Extensions, e.ID)
			}
		}
		out[capability] = d
	}
	return out
}

func describeExtension(set *extension.Set, id string, here map[string]capabilityDoc) (extensionDoc, extension.Extension) {
	d := extensionDoc{ID: id, Capabilities: []string{}, Serves: []string{}}
	e, err := set.Get(id)
	if err != nil {
		d.Error = err.Error()
		return d, e
	}
	d.Name, d.Version, d.From, d.Path, d.Digest, d.Hides = e.Manifest.Name, e.Manifest.Version, e.From, e.Path, e.Digest, e.Hides
	d.Capabilities = append(d.Capabilities, e.Manifest.Capabilities()...)
	for _, capability := range runner.Capabilities {
		if slices.Contains(here[capability].Extensions, id) {
			d.Serves = append(d.Serves, capability)
		}
	}
	return d, e
}

func (a *app) extensionList(dir string, named []string) error {
	c, set, use, err := a.surroundings(dir, named)
	if err != nil {
		return err
	}
	doc := extensionList{Schema: "deed/extension.list/v1", Component: c.ID, Path: c.Path, Files: c.Files, Notes: c.Notes, Capabilities: servants(c, set, use), Extensions: []extensionDoc{}}
	for _, id := range set.IDs() {
		d, _ := describeExtension(set, id, doc.Capabilities)
		doc.Extensions = append(doc.Extensions, d)
	}
	if a.json {
		return a.emit(doc)
	}
	rows := make([][]string, len(doc.Extensions))
	for i, d := range doc.Extensions {
		where := d.Path
		if d.From == extension.FromBuiltIn {
			where = d.From
		}
		rows[i] = []string{clean(d.ID), clean(d.Version), strings.Join(d.Capabilities, ","), strings.Join(d.Serves, ","), showPath(where)}
		if d.Error != "" {
			rows[i] = []string{clean(d.ID), "?", a.color.Red("cannot be used"), "", clean(d.Error)}
		}
	}
	a.table([]string{"EXTENSION", "VERSION", "CAN", "SERVES HERE", "FROM"}, rows)
	a.printf("\n%s %s\n", clean(c.ID), showPath(c.Path))
	a.showServants(doc.Capabilities)
	return nil
}

// showServants says in a line who serves each capability.
func (a *app) showServants(here map[string]capabilityDoc) {
	var rows [][]string
	for _, capability := range runner.Capabilities {
		d, ok := here[capability]
		if !ok {
			continue
		}
		who, why := strings.Join(d.Extensions, " and "), d.Why
		switch {
		case d.Error != "":
			who, why = a.color.Red("nobody"), d.Error
		case d.Skipped != "":
			who, why = a.color.Dim("nobody"), d.Skipped
		case len(d.Scripts) > 0:
			who = strings.Join(d.Scripts, "; ")
		}
		rows = append(rows, []string{"  " + capability, cleanLines(who), clean(why)})
		for _, n := range d.Notes {
			rows = append(rows, []string{"", "", clean(n)})
		}
	}
	a.table([]string{"  CAPABILITY", "SERVED BY", "BECAUSE"}, rows)
}

func (a *app) extensionShow(dir string, named []string, id string) error {
	c, set, use, err := a.surroundings(dir, named)
	if err != nil {
		return err
	}
	if _, err := set.Get(id); err != nil {
		return usage(err)
	}
	here := servants(c, set, use)
	d, e := describeExtension(set, id, here)
	d.Schema, d.Here = "deed/extension/v1", here
	m := e.Manifest
	d.Settings, d.Hooks = m.Settings, m.Hooks
	if d.Effective, err = e.Settings(c, nil); err != nil {
		return usage(err)
	}
	d.Commands, d.Steps, d.Requires = map[string]string{}, map[string][]string{}, map[string]string{}
	for _, capability := range m.Capabilities() {
		cmd, err := e.Command(c, capability, nil)
		d.Commands[capability] = cmd.Line
		if err != nil {
			d.Commands[capability] = ""
			d.Error = err.Error()
		}
		if s := e.Steps(capability); len(s) > 0 {
			d.Steps[capability] = s
		}
	}
	for host, want := range map[string]string{"homeboy": m.Requires.Homeboy, "deed": m.Requires.Deed} {
		if want != "" {
			d.Requires[host] = want
		}
	}
	if a.json {
		if err := json.Unmarshal(m.Raw, &d.Manifest); err != nil {
			return usage(err)
		}
		return a.emit(d)
	}
	a.showExtension(d)
	return nil
}

func (a *app) showExtension(d extensionDoc) {
	a.printf("%s  %s %s\n", a.color.Bold(clean(d.ID)), clean(d.Name), clean(d.Version))
	line := func(what, value string) {
		if value != "" {
			a.printf("  %-9s %s\n", what, cleanLines(value))
		}
	}
	line("from", d.From+", "+showPath(d.Path))
	line("digest", d.Digest)
	for _, h := range d.Hides {
		line("hides", h)
	}
	for _, capability := range d.Capabilities {
		steps := ""
		if s := d.Steps[capability]; len(s) > 0 {
			steps = "  (steps " + strings.Join(s, ", ") + ")"
		}
		line(capability, d.Commands[capability]+steps)
	}
	for _, host := range slices.Sorted(maps.Keys(d.Requires)) {
		line("requires", host+" "+d.Requires[host])
	}
	for _, event := range slices.Sorted(maps.Keys(d.Hooks)) {
		line("hook", event+": "+strings.Join(d.Hooks[event], "; "))
	}
	for _, s := range d.Settings {
		text := s.ID
		if s.Type != "" {
			text += " (" + s.Type + ")"
		}
		if len(s.Default) > 0 {
			text += " default " + string(s.Default)
		}
		if s.Label != "" {
			text += ": " + s.Label
		}
		line("setting", text)
	}
	line("gets here", string(d.Effective))
	line("problem", d.Error)
	a.printf("\n")
	a.showServants(d.Here)
}
