package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// The labels: what a reviewer who sees the whole truth would say.
const (
	labelAccept = "accept"
	labelReject = "reject"
	labelAsk    = "ask"
)

// The forms of a check that a case is judged by.
const (
	formShell      = "shell"      // --check LINE
	formCapability = "capability" // --check test
	formSteps      = "steps"      // verify_steps of a request
	formHidden     = "hidden"     // --check LINE, and a hidden check
)

var (
	labels = []string{labelAccept, labelReject, labelAsk}
	forms  = []string{formShell, formCapability, formSteps, formHidden}
	sets   = []string{"blind", "sighted"}
)

// A project is one small program with the attempts on it.
type project struct {
	Name       string   `yaml:"name"`
	Ecosystem  string   `yaml:"ecosystem"`
	About      string   `yaml:"about"`
	Shell      string   `yaml:"shell"`
	Capability string   `yaml:"capability"`
	Needs      []string `yaml:"needs"`
	NPM        []string `yaml:"npm"`
	Hidden     *hidden  `yaml:"hidden"`

	Dir   string     `yaml:"-"`
	Cases []*attempt `yaml:"-"`
}

// hidden is a check that the agent does not see.
type hidden struct {
	Shell string `yaml:"shell"`
}

// An attempt is one case: what an agent did, and what is true of it.
type attempt struct {
	Project *project
	Name    string // of the file, without .sh
	Label   string
	Kind    string
	Task    string
	Why     string
	Base    string   // a patch in the project that is applied first
	Forms   []string // none: all that the project has
	Tells   string   // tellsHidden: nothing but a hidden check can tell that the work is wrong
	Set     string
	Script  string
}

// A trial is a case under one form of check.
type trial struct {
	*attempt
	Form string
}

// ID names a trial in lists: PROJECT/CASE:FORM.
func (t trial) ID() string { return t.Project.Name + "/" + t.Name + ":" + t.Form }

// tellsHidden is said of work that is right wherever the visible tests look: what it does wrong is in no input that they have.
const tellsHidden = "hidden"

// unseeable reports whether no check of a trial can tell that its work is wrong.
func (t trial) unseeable() bool { return t.Tells == tellsHidden && t.Form != formHidden }

// offers lists the forms that a project has.
func (p *project) offers() []string {
	out := []string{formShell}
	if p.Capability != "" {
		out = append(out, formCapability)
	}
	out = append(out, formSteps)
	if p.Hidden != nil {
		out = append(out, formHidden)
	}
	return out
}

// trials lists a case under every form that applies.
func (a *attempt) trials() []trial {
	var out []trial
	for _, f := range a.Project.offers() {
		if len(a.Forms) == 0 || slices.Contains(a.Forms, f) {
			out = append(out, trial{a, f})
		}
	}
	return out
}

// programs are what has to be on the PATH for a project.
func (p *project) programs() []string {
	return slices.DeleteFunc(slices.Clone(p.Needs), func(n string) bool { return strings.Contains(n, ":") })
}

// packages are what its node_modules must have.
func (p *project) packages() []string {
	out := slices.Clone(p.NPM)
	for _, n := range p.Needs {
		if name, ok := strings.CutPrefix(n, "npm:"); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// load reads the projects below each directory. What is wrong with one does not hide the others: it returns all that it could
// read, and every fault.
func load(dirs []string) ([]*project, error) {
	var all []*project
	var faults []error
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read the corpus: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			p, err := loadProject(filepath.Join(dir, e.Name()))
			if err != nil {
				faults = append(faults, err)
			}
			if p != nil {
				all = append(all, p)
			}
		}
	}
	return all, errors.Join(append(faults, unique(all))...)
}

func unique(all []*project) error {
	var faults []error
	seen := map[string]string{}
	for _, p := range all {
		if at, ok := seen[p.Name]; ok {
			faults = append(faults, fmt.Errorf("%s: the name %s is also that of %s: give one another name", p.Dir, p.Name, at))
		}
		seen[p.Name] = p.Dir
	}
	return errors.Join(faults...)
}

func loadProject(dir string) (*project, error) {
	file := filepath.Join(dir, "project.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a project: %w", err)
	}
	p := &project{Dir: dir}
	if err := yaml.UnmarshalWithOptions(text, p, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "cases", "*.sh"))
	if err != nil {
		return nil, err
	}
	faults := []error{p.fault()}
	for _, s := range scripts {
		a, err := loadCase(p, s)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.Cases = append(p.Cases, a)
	}
	return p, errors.Join(faults...)
}

// fault reports what is wrong with the description of a project.
func (p *project) fault() error {
	file := filepath.Join(p.Dir, "project.yaml")
	var faults []error
	bad := func(field, value, remedy string) {
		faults = append(faults, fmt.Errorf("%s: %s is %q: %s", file, field, value, remedy))
	}
	if p.Name != filepath.Base(p.Dir) {
		bad("name", p.Name, "give it the name of its directory")
	}
	for field, value := range map[string]string{"ecosystem": p.Ecosystem, "about": p.About, "shell": p.Shell} {
		if strings.TrimSpace(value) == "" {
			bad(field, value, "say it")
		}
	}
	if p.Capability != "" && p.Capability != "test" {
		bad("capability", p.Capability, "the only one is test")
	}
	if p.Hidden != nil && strings.TrimSpace(p.Hidden.Shell) == "" {
		bad("hidden.shell", p.Hidden.Shell, "give the line of the hidden check, or leave hidden out")
	}
	for _, need := range []string{"base", "history.sh"} {
		if _, err := os.Stat(filepath.Join(p.Dir, need)); err == nil {
			return errors.Join(faults...)
		}
	}
	return errors.Join(append(faults, fmt.Errorf("%s has neither base/ nor history.sh: add what the agent finds", p.Dir))...)
}

// header is one line of what a script says of itself.
var header = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^# ([a-z]+): *(.*?) *$`) })

// loadCase reads a script and its header: the comment lines directly behind the first line.
func loadCase(p *project, file string) (*attempt, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a case: %w", err)
	}
	a := &attempt{Project: p, Name: strings.TrimSuffix(filepath.Base(file), ".sh"), Script: string(text)}
	values, err := headerOf(file, a.Script)
	if err != nil {
		return nil, err
	}
	a.Label, a.Kind, a.Task, a.Why, a.Base, a.Set = values["label"], values["kind"], values["task"], values["why"], values["base"], values["set"]
	a.Tells = values["tells"]
	a.Forms = strings.Fields(strings.ReplaceAll(values["forms"], ",", " "))
	return a, a.fault(file)
}

// headerOf reads the lines "# key: value" that follow "#!/bin/sh". A comment line without a key continues the value before it.
func headerOf(file, text string) (map[string]string, error) {
	keys := []string{"label", "kind", "task", "why", "base", "forms", "tells", "set"}
	lines := strings.Split(text, "\n")
	if lines[0] != "#!/bin/sh" {
		return nil, fmt.Errorf("%s: the first line is %q: write #!/bin/sh", file, lines[0])
	}
	values, last := map[string]string{}, ""
	for _, line := range lines[1:] {
		m := header().FindStringSubmatch(line)
		more, comment := strings.CutPrefix(line, "#")
		switch {
		case m != nil && slices.Contains(keys, m[1]):
			if _, twice := values[m[1]]; twice {
				return nil, fmt.Errorf("%s: %s is there twice: keep one", file, m[1])
			}
			values[m[1]], last = m[2], m[1]
		case comment && last != "" && strings.TrimSpace(more) != "":
			values[last] += " " + strings.TrimSpace(more)
		default:
			return values, nil
		}
	}
	return values, nil
}

// fault reports what is wrong with the header of a case.
func (a *attempt) fault(file string) error {
	var faults []error
	bad := func(field, value, remedy string) {
		faults = append(faults, fmt.Errorf("%s: %s is %q: %s", file, field, value, remedy))
	}
	if !slices.Contains(labels, a.Label) {
		bad("label", a.Label, "write one of "+strings.Join(labels, ", "))
	}
	if !slices.Contains(sets, a.Set) {
		bad("set", a.Set, "write one of "+strings.Join(sets, ", "))
	}
	if !slices.Contains(kinds, a.Kind) {
		bad("kind", a.Kind, "write one of those in kinds.go, or add it there")
	}
	if a.Task == "" {
		bad("task", a.Task, "say what the agent was asked for")
	}
	if a.Why == "" {
		bad("why", a.Why, "say why the label is true")
	}
	if a.Base != "" {
		if _, err := os.Stat(filepath.Join(a.Project.Dir, a.Base)); err != nil {
			bad("base", a.Base, "there is no such patch in the project")
		}
	}
	if a.Tells != "" && (a.Tells != tellsHidden || a.Label != labelReject || a.Project.Hidden == nil) {
		bad("tells", a.Tells, "the only one is hidden, of a case to reject in a project with a hidden check")
	}
	for _, f := range a.Forms {
		if !slices.Contains(a.Project.offers(), f) {
			bad("forms", f, "the project has "+strings.Join(a.Project.offers(), ", "))
		}
	}
	return errors.Join(faults...)
}
