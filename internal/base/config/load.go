package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// FileName is the name of the configuration file.
const FileName = "deed.yaml"

// Limits against files that are small and need much: deed.yaml is found upwards from where a person stands, so that a
// cloned repository can bring one.
const (
	maxFile  = 1 << 20
	maxDepth = 100
)

// Options say where to look.
type Options struct {
	Explicit string // --config or DEED_CONFIG: must exist, and nothing else is read
	Home     string // the home's own file; may be absent
	Dir      string // the project: the nearest deed.yaml from here upwards; empty: none
	Path     string // where the commands of known agents are looked for, a PATH value; empty: nowhere
}

// Load finds, reads and joins the files: what deed ships, then the home's, then the project's. Known agents that are
// installed and have no adapter get one.
func Load(o Options) (*Config, error) {
	c := Default()
	if o.Explicit != "" {
		if err := c.add(o.Explicit, false, true); err != nil {
			return nil, err
		}
		c.addBuiltin(o.Path)
		return c, c.check()
	}
	if err := c.add(o.Home, false, false); err != nil {
		return nil, err
	}
	if p := Find(o.Dir); p != "" && p != o.Home {
		if err := c.add(p, true, true); err != nil {
			return nil, err
		}
	}
	c.addBuiltin(o.Path)
	return c, c.check()
}

// Find returns the nearest deed.yaml from dir upwards, or "".
func Find(dir string) string {
	for dir != "" {
		p := filepath.Join(dir, FileName)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
			return p
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func (c *Config) add(path string, project, must bool) error {
	if path == "" {
		return nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("config %s: %w", path, err)
	}
	fi, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read config: %w", err)
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxFile {
		return fmt.Errorf("config %s is not a regular file of at most %d bytes", abs, maxFile)
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return fmt.Errorf("read config: %w", err)
	}
	s, tree, err := parse(abs, data)
	if err != nil {
		return err
	}
	c.sources = append(c.sources, source{abs, tree})
	if s.Checks != nil && !project && !must { // the home's own: nothing would read it
		var l fault.List
		l.Add("$.checks", fault.NotAllowed, "checks are a component's own", "put them into the deed.yaml of the component's directory")
		return locateIn(abs, tree, l.Err())
	}
	if project {
		if err := c.projectOnly(abs, tree, s); err != nil {
			return err
		}
	}
	c.join(s, abs, project)
	return nil
}

// projectOnly refuses what a project's file may not say: it is found by standing in a directory, and a cloned
// repository must not be able to move the queue elsewhere, change how it is run, or put something else behind a name
// that the operator gave.
func (c *Config) projectOnly(file string, tree *ast.File, s settings.Config) error {
	var l fault.List
	refuse := func(path string, set bool) {
		if set {
			l.Add(path, fault.NotAllowed, "a project's file may not set this", "put it into the home's deed.yaml, or name this file with --config")
		}
	}
	refuse("$.database", s.Database != "")
	refuse("$.agent", s.Agent != "")
	refuse("$.publish", s.Publish != nil)
	refuse("$.outbox", s.Outbox != nil)
	refuse("$.notify", s.Notify != nil)
	refuse("$.sensors", s.Sensors != nil)
	refuse("$.retry", s.Retry != nil)
	refuse("$.components", s.Components != nil)
	refuse("$.retention", s.Retention != nil)
	refuse("$.prices", len(s.Prices) > 0)
	if b := s.Budgets; b != nil {
		refuse("$.budgets.day", b.Day != nil)
		if b.Task != nil {
			raised(&l, *b.Task, c.Budgets.Task)
		}
	}
	refuse("$.policies", s.Policies != nil)
	refuse("$.secrets", s.Secrets != nil)
	if r := s.Runtimes; r != nil {
		refuse("$.runtimes.dirs", r.Dirs != nil)
		refuse("$.runtimes.backends", r.Backends != nil)
	}
	if p := s.Policy; p != nil { // its rules narrow, and its commands would be run by deed
		refuse("$.policy.hooks", p.Hooks != nil)
		refuse("$.policy.ask", p.Ask != nil)
		refuse("$.policy.unattended_default", p.UnattendedDefault != "")
	}
	if d := s.Defaults; d != nil {
		refuse("$.defaults.lease_seconds", d.LeaseSeconds != 0)
		refuse("$.defaults.isolation", d.Isolation != "")
		refuse("$.defaults.ageing_seconds", d.AgeingSeconds != 0)
	}
	for path := range defined(s) {
		if c.own[path] {
			l.Add(path, fault.Conflict, "the operator's own file defines it", "give it another name")
		}
	}
	for id, a := range s.Adapters {
		guest(&l, filepath.Dir(file), id, a)
	}
	for id, t := range s.TaskTypes {
		if t.Deed == nil {
			continue
		}
		for i, check := range t.Deed.Checks {
			if check.Files != "" {
				at := fault.Index(fault.Field("$.task_types", id)+".deed.checks", i)
				l.Add(at+".files", fault.NotAllowed, "a project's file may not lay files of the machine over a tree", "put the task type into the home's deed.yaml")
			}
		}
	}
	for _, shipped := range []struct {
		list  string
		names []string
		taken func(string) bool
	}{
		{"$.task_types", keys(s.TaskTypes), func(n string) bool { _, ok := c.types[n]; return ok }},
		{"$.profiles", keys(s.Profiles), func(n string) bool { _, ok := c.profiles[n]; return ok }},
	} {
		for _, name := range shipped.names {
			if at := fault.Field(shipped.list, name); shipped.taken(name) && !c.own[at] {
				l.Add(at, fault.Conflict, "deed ships it, and a project must not make it ask for less", "give it another name, or put it into the home's deed.yaml")
			}
		}
	}
	if l.Err() == nil {
		return nil
	}
	return locateIn(file, tree, l.Err())
}

// guest refuses an adapter of a project's file that takes the name of an agent that deed knows by itself, or that has deed
// read files outside the project: they would be handed to an agent that sees nothing of the machine else.
func guest(l *fault.List, dir, id string, a agentruntime.AdapterConfig) {
	at := fault.Field("$.adapters", id)
	if _, known := builtin()[id]; known {
		l.Add(at, fault.Conflict, "it is the name of an agent that deed knows by itself", "give it another name, or put it into the home's deed.yaml")
	}
	inside := func(path, value string) {
		if value != "" && !within(dir, value) {
			l.Add(path, fault.NotAllowed, fmt.Sprintf("%q leads out of the project", value), "name a file below it, or put the adapter into the home's deed.yaml")
		}
	}
	common := a.Common()
	if common.Profile == agentruntime.AutonomyTrustedVM {
		l.Add(at+".autonomy.profile", fault.NotAllowed, "that the machine is a trusted VM is the operator's to declare", "put the adapter into the home's deed.yaml")
	}
	inside(at+".env_file", common.EnvFile)
	inside(at+".working_dir", common.WorkingDir)
	for i, file := range common.SettingsFiles {
		inside(fault.Index(at+".autonomy.required_settings_files", i), file)
	}
	if m := a.Packaged; m != nil {
		for i, dir := range m.RuntimeDirs {
			inside(fault.Index(at+".runtime_dirs", i), dir)
		}
	}
}

// within reports whether a path of a project's file stays below its directory, links followed as far as there are any.
func within(dir, value string) bool {
	full := absolute(value, dir)
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		real = full // it is not there: then nothing is read
	}
	if top, err := filepath.EvalSymlinks(dir); err == nil && real != full {
		dir = top
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(rel)
}

// raised refuses each bound of a project's budget that is higher than the operator's own.
func raised(l *fault.List, project, own deed.Budget) {
	for _, b := range []struct {
		name         string
		project, own float64
	}{
		{"turns", float64(project.Turns), float64(own.Turns)},
		{"tool_calls", float64(project.ToolCalls), float64(own.ToolCalls)},
		{"tokens", float64(project.Tokens), float64(own.Tokens)},
		{"cost_usd", project.CostUSD, own.CostUSD},
		{"wall_seconds", float64(project.WallSeconds), float64(own.WallSeconds)},
	} {
		if b.own > 0 && b.project > b.own {
			l.Add("$.budgets.task."+b.name, fault.NotAllowed, fmt.Sprintf("%v is more than the %v of the operator's own file", b.project, b.own), "lower it, or raise it in the home's deed.yaml")
		}
	}
}

// An Error is every fault of one file, each with its line.
type Error struct {
	File   string
	Faults []LineFault
}

// A LineFault is a fault and where it stands; Line is 0 when that is not known.
type LineFault struct {
	fault.Fault
	File   string `json:"file,omitempty"` // when it is another than the error's
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		at := e.File
		if f.File != "" {
			at = f.File
		}
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d:%d", at, f.Line, f.Column)
		}
		lines[i] = at + ": " + f.String()
	}
	return strings.Join(lines, "\n")
}

// A source is a file that was read.
type source struct {
	name string
	tree *ast.File // nil for an empty file
}

// Parse reads one file's text. JSON is YAML, so both are read the same way.
func Parse(name string, data []byte) (settings.Config, error) {
	s, _, err := parse(name, data)
	return s, err
}

// ReadYAML turns a file that a person wrote, YAML or JSON, into JSON. locate gives the faults that are found in that JSON the
// lines of the file. An empty file is an empty object.
func ReadYAML(name string, data []byte) (raw []byte, locate func(error) error, err error) {
	raw, file, err := document(name, data)
	if err != nil {
		return nil, nil, err
	}
	if file == nil {
		raw = []byte("{}")
	}
	return raw, func(err error) error {
		if file == nil {
			file = &ast.File{}
		}
		return locateIn(name, file, err)
	}, nil
}

// document reads one YAML document. The tree is nil when the file is empty.
func document(name string, data []byte) ([]byte, *ast.File, error) {
	if f, bad := tooDeep(data); bad {
		return nil, nil, &Error{File: name, Faults: []LineFault{f}}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, nil, syntaxError(name, err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return nil, nil, nil
	}
	if len(file.Docs) > 1 {
		return nil, nil, &Error{File: name, Faults: []LineFault{{Fault: fault.Fault{Path: fault.Root, Code: fault.TrailingData, Message: "more than one YAML document in the file"}}}}
	}
	if f, bad := alias(file); bad {
		return nil, nil, &Error{File: name, Faults: []LineFault{f}}
	}
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, nil, syntaxError(name, err)
	}
	return raw, file, nil
}

func parse(name string, data []byte) (settings.Config, *ast.File, error) {
	var none settings.Config
	raw, file, err := document(name, data)
	if err != nil || file == nil {
		return none, nil, err // an empty file asks for nothing
	}
	raw, err = nameAdapters(raw)
	if err != nil {
		return none, nil, &Error{File: name, Faults: []LineFault{{Fault: fault.Fault{Path: fault.Root, Code: fault.WrongType, Message: err.Error()}}}}
	}
	s, err := schema.Decode[settings.Config](settings.Schema, raw)
	if err != nil {
		return none, nil, locateIn(name, file, err)
	}
	return s, file, nil
}

// tooDeep refuses brackets nested beyond reason before anything parses them. Brackets inside of texts count too: a
// settings file has no use for a hundred of them.
func tooDeep(data []byte) (LineFault, bool) {
	depth, line := 0, 1
	for _, c := range data {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > maxDepth {
			return LineFault{Fault: fault.Fault{Path: fault.Root, Code: fault.OutOfRange, Message: fmt.Sprintf("brackets are nested more than %d deep", maxDepth)}, Line: line}, true
		}
	}
	return LineFault{}, false
}

// alias refuses anchors and aliases: a few lines of them stand for gigabytes.
func alias(file *ast.File) (LineFault, bool) {
	var found []ast.Node
	for _, doc := range file.Docs {
		found = slices.Concat(found, ast.Filter(ast.AliasType, doc.Body), ast.Filter(ast.AnchorType, doc.Body))
	}
	if len(found) == 0 {
		return LineFault{}, false
	}
	f := LineFault{Fault: fault.Fault{Path: fault.Root, Code: fault.NotAllowed, Message: "YAML anchors and aliases are not accepted", Remedy: "write the value out"}}
	if t := found[0].GetToken(); t != nil {
		f.Line, f.Column = t.Position.Line, t.Position.Column
	}
	return f, true
}

// nameAdapters copies the key of each entry into the id that its record requires, so that users need not write it twice.
func nameAdapters(raw []byte) ([]byte, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, errors.New("the file is not a mapping of settings")
	}
	for section, field := range map[string]string{"adapters": "adapter_id", "profiles": "profile_id", "task_types": "task_type"} {
		var entries map[string]map[string]json.RawMessage
		if top[section] == nil || json.Unmarshal(top[section], &entries) != nil {
			continue // a wrong type is reported by the strict reading that follows
		}
		for id, e := range entries {
			if e == nil {
				continue
			}
			if _, ok := e[field]; !ok {
				name, _ := json.Marshal(id)
				e[field] = name
			}
		}
		text, err := json.Marshal(entries)
		if err != nil {
			return nil, err
		}
		top[section] = text
	}
	return json.Marshal(top)
}

func syntaxError(name string, err error) error {
	f := LineFault{Fault: fault.Fault{Path: fault.Root, Code: fault.InvalidJSON, Message: firstLine(err.Error())}}
	var y yaml.Error
	if errors.As(err, &y) {
		f.Message = y.GetMessage()
		if t := y.GetToken(); t != nil {
			f.Line, f.Column = t.Position.Line, t.Position.Column
		}
	}
	return &Error{File: name, Faults: []LineFault{f}}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// locateIn gives each fault the line of the node at its path, or of the nearest node above it.
func locateIn(name string, file *ast.File, err error) error {
	faults := fault.Of(err)
	if faults == nil {
		return fmt.Errorf("config %s: %w", name, err)
	}
	out := &Error{File: name}
	for _, f := range faults {
		lf := LineFault{Fault: f}
		for path := f.Path; path != ""; path = parent(path) {
			if tok := tokenAt(file, path); tok != nil {
				lf.Line, lf.Column = tok.Position.Line, tok.Position.Column
				break
			}
		}
		out.Faults = append(out.Faults, lf)
	}
	return out
}

// tokenAt returns where a path stands: the key of a mapping's entry, the first token of anything else.
func tokenAt(file *ast.File, path string) *token.Token {
	up := parent(path)
	if name, ok := strings.CutPrefix(path, up+"."); ok && up != "" {
		var entries []*ast.MappingValueNode
		switch n := nodeAt(file, up).(type) {
		case *ast.MappingNode:
			entries = n.Values
		case *ast.MappingValueNode:
			entries = []*ast.MappingValueNode{n}
		}
		for _, e := range entries {
			if t := e.Key.GetToken(); t != nil && t.Value == name {
				return t
			}
		}
	}
	if n := nodeAt(file, path); n != nil {
		return n.GetToken()
	}
	return nil
}

func nodeAt(file *ast.File, path string) ast.Node {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	n, err := p.FilterFile(file)
	if err != nil {
		return nil
	}
	return n
}

func parent(path string) string {
	i := strings.LastIndexAny(path, ".[")
	if i <= 0 {
		return ""
	}
	return path[:i]
}

// WriteYAML turns JSON into YAML that ReadYAML takes. Members come in the order of their names.
func WriteYAML(raw []byte) ([]byte, error) {
	canon, err := canonjson.Canonicalize(raw)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(canon)
}
