package settings

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

// Checks is what a component says of its own lint, test, build and audit, in the deed.yaml of its directory. The names are
// those of homeboy.json, which may stand beside it: what is said here wins over what is said there.
type Checks struct {
	ID string `json:"id,omitempty" jsonschema:"maxLength=128"` // absent: made from the directory's name
	// Extensions are those that serve the component, by id. Without any, deed's own serve that the files call for.
	Extensions           map[string]CheckExtension `json:"extensions,omitempty"`
	CapabilityExtensions map[string]string         `json:"capability_extensions,omitempty"` // by capability: which of several extensions has it
	Scripts              map[string][]string       `json:"scripts,omitempty"`               // by capability: commands of the component's own, run instead of an extension
	Hooks                map[string][]string       `json:"hooks,omitempty"`                 // by event, as in pre:test: commands
	BuildArtifact        string                    `json:"build_artifact,omitempty" jsonschema:"maxLength=4096"`
	VersionTargets       []VersionTarget           `json:"version_targets,omitempty"`
	Env                  map[string]string         `json:"env,omitempty"`        // of the scripts, below the variables of the runner contract
	Scopes               map[string]CheckScope     `json:"scopes,omitempty"`     // by capability, or defaults: which files
	TestDrift            *TestDrift                `json:"test_drift,omitempty"` // which files are production code, and which are tests
	Audit                json.RawMessage           `json:"audit,omitempty"`
	AuditRules           json.RawMessage           `json:"audit_rules,omitempty"`
}

// A CheckExtension links an extension to a component.
type CheckExtension struct {
	Version  string          `json:"version,omitempty" jsonschema:"maxLength=128"` // a constraint, as in ^1.2; absent: any
	Settings json.RawMessage `json:"settings,omitempty"`
}

// A VersionTarget is a file that names the component's version. The pattern has one group; without one deed knows the usual
// manifests.
type VersionTarget struct {
	File    string `json:"file" jsonschema:"minLength=1,maxLength=4096"`
	Pattern string `json:"pattern,omitempty" jsonschema:"maxLength=1024"`
}

// A CheckScope selects files by globs over paths below the component.
type CheckScope struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// TestDrift says which files are compared when production code and tests drift apart.
type TestDrift struct {
	SourceDirs     []string `json:"source_dirs,omitempty"`
	TestDirs       []string `json:"test_dirs,omitempty"`
	FileExtensions []string `json:"file_extensions,omitempty"`
	InlineTests    bool     `json:"inline_tests,omitempty"`
}

// scriptCapabilities are those that a command can serve; an audit is deed's own.
var scriptCapabilities = []string{runner.Lint, runner.Test, runner.Build}

// Validate returns every fault of the record.
func (c Checks) Validate() error {
	var l fault.List
	if c.ID != "" {
		l.Name("$.id", c.ID)
	}
	for _, id := range sorted(c.Extensions) {
		at := fault.Field("$.extensions", id)
		l.Name(at, id)
		l.OptionalObject(at+".settings", c.Extensions[id].Settings)
	}
	for _, capability := range sorted(c.CapabilityExtensions) {
		at := fault.Field("$.capability_extensions", capability)
		fault.OneOf(&l, at, capability, scriptCapabilities...)
		l.Name(at, c.CapabilityExtensions[capability])
	}
	for _, capability := range sorted(c.Scripts) {
		at := fault.Field("$.scripts", capability)
		fault.OneOf(&l, at, capability, scriptCapabilities...)
		says(&l, at, c.Scripts[capability])
	}
	for _, event := range sorted(c.Hooks) {
		says(&l, fault.Field("$.hooks", event), c.Hooks[event])
	}
	for i, v := range c.VersionTargets {
		l.Within(fault.Index("$.version_targets", i), v.Validate())
	}
	l.Env("$.env", c.Env)
	for _, name := range sorted(c.Scopes) {
		at := fault.Field("$.scopes", name)
		globs(&l, at+".include", c.Scopes[name].Include)
		globs(&l, at+".exclude", c.Scopes[name].Exclude)
	}
	l.OptionalObject("$.audit", c.Audit)
	l.OptionalObject("$.audit_rules", c.AuditRules)
	return l.Err()
}

// Validate returns every fault of the record.
func (v VersionTarget) Validate() error {
	var l fault.List
	l.RelativePath("$.file", v.File)
	if v.Pattern == "" {
		return l.Err()
	}
	re, err := regexp.Compile(v.Pattern)
	switch {
	case err != nil:
		l.Add("$.pattern", fault.BadFormat, "is not a regular expression: "+err.Error(), `write one with one group, as in version = "([^"]+)"`)
	case re.NumSubexp() != 1:
		l.Add("$.pattern", fault.BadFormat, "has not exactly one group", `write one with one group, as in version = "([^"]+)"`)
	}
	return l.Err()
}

func says(l *fault.List, at string, commands []string) {
	for i, c := range commands {
		l.Say(fault.Index(at, i), c)
	}
}

func globs(l *fault.List, at string, list []string) {
	for i, g := range list {
		l.Glob(fault.Index(at, i), g)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
