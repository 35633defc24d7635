package deed

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/fault"
)

// Isolations lists the kinds of containment that a task can ask for, from none to the strongest.
var Isolations = []string{"none", "process", "namespace", "container"}

// Bounds of the numbers in these records.
const (
	MaxAttemptsLimit       = 1000
	MaxTimeoutSeconds      = 7 * 24 * 3600
	MaxDedupeWindowSeconds = 10 * 365 * 24 * 3600
)

// What may become of a change after the run.
const (
	ApplyBackDisabled = "disabled" // it is evidence only
	ApplyBackReviewed = "reviewed" // whoever reviewed it may apply it; the same as saying nothing
)

// A TaskSpec carries deed's own fields of a task, in the intent's `deed` object. It is pinned and hashed at claim.
type TaskSpec struct {
	Schema              string                     `json:"schema,omitempty"`
	DedupeKey           string                     `json:"dedupe_key,omitempty" jsonschema:"maxLength=512"`                                       // unique while its task lives, or for the window
	DedupeWindowSeconds int64                      `json:"dedupe_window_seconds,omitempty" jsonschema:"minimum=0,maximum=315360000"`              // 0: while the task lives
	MaxAttempts         int                        `json:"max_attempts,omitempty" jsonschema:"minimum=0,maximum=1000"`                            // 0: the configured default
	TimeoutSeconds      int64                      `json:"timeout_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`                       // 0: the adapter's timeout_ms
	Workspace           *Workspace                 `json:"workspace,omitempty"`                                                                   // absent: an empty directory
	WriteScope          []string                   `json:"write_scope,omitempty"`                                                                 // globs; empty: the whole workspace
	ProtectedPaths      []string                   `json:"protected_paths,omitempty"`                                                             // globs that must not change
	AllowSecrets        []string                   `json:"allow_secrets,omitempty"`                                                               // globs of files that may hold what looks like a secret
	Checks              []Check                    `json:"checks,omitempty"`                                                                      // run in a clean room, all must pass
	RequireGrade        string                     `json:"require_grade,omitempty" jsonschema:"enum=passing,enum=fixed"`                          // an accepted verdict needs at least this grade; absent: the task type decides, then the home
	AllowBrokenBase     bool                       `json:"allow_broken_base,omitempty"`                                                           // start the agent although a check cannot be run on the base
	RequireChanges      *bool                      `json:"require_changes,omitempty"`                                                             // absent: the task type decides
	RequireArtifacts    bool                       `json:"require_artifacts,omitempty"`                                                           // at least one artifact must be declared
	RequireTests        bool                       `json:"require_tests,omitempty"`                                                               // a check must be seen to run tests
	ArtifactSchemas     map[string]json.RawMessage `json:"artifact_schemas,omitempty"`                                                            // by artifact: a JSON Schema (2020-12) that its JSON must pass
	AcceptEmptyOutput   *bool                      `json:"accept_empty_output,omitempty"`                                                         // absent: the task type decides; true: exit 0 with no output is a result
	Adapter             json.RawMessage            `json:"adapter,omitempty"`                                                                     // an adapter.config for this task alone; from trusted callers only
	Depth               int                        `json:"depth,omitempty"`                                                                       // set by deed: how many follow-up tasks stand between this one and a person
	Isolation           string                     `json:"isolation,omitempty" jsonschema:"enum=none,enum=process,enum=namespace,enum=container"` // none, process, namespace or container
	SecretEnv           []string                   `json:"secret_env,omitempty"`                                                                  // names only; values come from the runner's environment
	Workspaces          []Workspace                `json:"workspaces,omitempty"`                                                                  // instead of workspace: several directories, each with its target
	Sandbox             *Sandbox                   `json:"sandbox,omitempty"`                                                                     // what a contained agent can reach
	ApplyBack           string                     `json:"apply_back,omitempty" jsonschema:"enum=disabled,enum=reviewed"`                         // disabled: `deed apply` refuses the bundle
	MaxRecoveries       *int                       `json:"max_recoveries,omitempty" jsonschema:"minimum=0,maximum=100"`                           // how often a refusal is answered in the same conversation; absent: 3
	MaxTurns            int                        `json:"max_turns,omitempty" jsonschema:"minimum=0,maximum=10000"`                              // 0: as many as the agent takes
	Budget              *Budget                    `json:"budget,omitempty"`                                                                      // over all attempts; absent: the configured one
	Policy              *TaskPolicy                `json:"policy,omitempty"`                                                                      // narrows what the agent may do
	Skills              []SkillPin                 `json:"skills,omitempty"`                                                                      // set by deed: the versions that the task was admitted with
}

// Kinds of Workspace.Type.
const (
	SeedDirectory      = "directory"       // a copy of the files as they stand; a git work tree keeps its history
	SeedGit            = "git"             // a commit of a repository
	SeedBundle         = "bundle"          // source with the patch of a bundle applied
	SeedEmpty          = "empty"           // nothing
	SeedPluginScaffold = "plugin_scaffold" // a minimal WordPress plugin
	SeedThemeScaffold  = "theme_scaffold"  // a minimal WordPress theme
	SeedFile           = "file"            // one file
)

// How much of a repository's history an agent gets: Workspace.History.
const (
	HistoryFull = "full" // what the base commit reaches, and nothing newer
	HistoryNone = "none" // one commit with the same tree
)

// A Workspace says what the agent's directory starts from. deed copies; the source is never written.
type Workspace struct {
	Type     string   `json:"type,omitempty" jsonschema:"enum=directory,enum=git,enum=bundle,enum=empty,enum=plugin_scaffold,enum=theme_scaffold,enum=file"` // absent: directory, or git with a ref
	Source   string   `json:"source,omitempty" jsonschema:"maxLength=4096"`                                                                                  // an absolute directory; a git work tree is taken as it stands, uncommitted work included
	Ref      string   `json:"ref,omitempty" jsonschema:"maxLength=512"`                                                                                      // with a git source: this commit instead of the work tree
	Bundle   string   `json:"bundle,omitempty" jsonschema:"maxLength=4096"`                                                                                  // with type bundle: the absolute directory of the bundle
	Earlier  []string `json:"earlier,omitempty"`                                                                                                             // with type bundle: absolute directories of bundles that are applied before it, in their order
	Exclude  []string `json:"exclude,omitempty"`                                                                                                             // paths below the source that are left out: exact, a directory, or with a trailing *
	Slug     string   `json:"slug,omitempty" jsonschema:"maxLength=128"`                                                                                     // of a scaffold
	Name     string   `json:"name,omitempty" jsonschema:"maxLength=512"`                                                                                     // of a scaffold, for people
	ReadOnly bool     `json:"read_only,omitempty"`                                                                                                           // the agent may look and not change
	Mode     string   `json:"mode,omitempty" jsonschema:"enum=repo-backed,enum=site-backed"`                                                                 // recorded only
	History  string   `json:"history,omitempty" jsonschema:"enum=full,enum=none"`                                                                            // how much of a repository's history the agent gets: absent or full: what the base commit reaches; none: one commit
	Target   string   `json:"target,omitempty" jsonschema:"maxLength=4096"`                                                                                  // where the agent sees it in a sandbox; absent: /workspace
}

// Kind is the type of the workspace, also where it is not spelled out.
func (w Workspace) Kind() string {
	switch {
	case w.Type != "":
		return w.Type
	case w.Ref != "":
		return SeedGit
	}
	return SeedDirectory
}

var slugPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

// Validate returns every fault of the record.
func (w Workspace) Validate() error {
	var l fault.List
	if w.Type != "" {
		fault.OneOf(&l, "$.type", w.Type, SeedDirectory, SeedGit, SeedBundle, SeedEmpty, SeedPluginScaffold, SeedThemeScaffold, SeedFile)
	}
	kind := w.Kind()
	scaffold := kind == SeedPluginScaffold || kind == SeedThemeScaffold
	for _, f := range []struct {
		name, value string
		wanted      bool
	}{
		{"source", w.Source, kind == SeedDirectory || kind == SeedGit || kind == SeedBundle || kind == SeedFile},
		{"bundle", w.Bundle, kind == SeedBundle},
		{"slug", w.Slug, scaffold},
	} {
		switch {
		case f.value == "" && f.wanted:
			l.Add("$."+f.name, fault.Blank, "is empty", "a workspace of type "+kind+" needs it")
		case f.value != "" && !f.wanted:
			l.Add("$."+f.name, fault.Conflict, "has no meaning with type "+kind, "leave it out")
		case f.value != "" && f.name != "slug":
			l.Path("$."+f.name, f.value)
			if !path.IsAbs(f.value) {
				l.Add("$."+f.name, fault.BadFormat, fmt.Sprintf("%q is not absolute", clip(f.value)), "write the whole path of the directory")
			}
		case f.value != "" && !slugPattern().MatchString(f.value):
			l.Add("$.slug", fault.BadFormat, fmt.Sprintf("%q is not a slug", clip(f.value)), "use letters, digits, - and _, a letter or digit first")
		}
	}
	for i, p := range w.Earlier {
		absolute(&l, fault.Index("$.earlier", i), p)
	}
	if len(w.Earlier) > 0 && kind != SeedBundle {
		l.Add("$.earlier", fault.Conflict, "has no meaning with type "+kind, "leave it out")
	}
	l.OptionalName("$.ref", w.Ref)
	if w.Ref != "" && kind != SeedGit && kind != SeedBundle {
		l.Add("$.ref", fault.Conflict, "has no meaning with type "+kind, "use type git")
	}
	if strings.HasPrefix(w.Ref, "-") {
		l.Add("$.ref", fault.BadFormat, fmt.Sprintf("%q begins with a dash", clip(w.Ref)), "name a commit, a tag or a branch")
	}
	if w.History != "" {
		fault.OneOf(&l, "$.history", w.History, HistoryFull, HistoryNone)
		if kind != SeedDirectory && kind != SeedGit && kind != SeedBundle {
			l.Add("$.history", fault.Conflict, "has no meaning with type "+kind, "leave it out")
		}
	}
	for i, p := range w.Exclude {
		l.RelativePath(fault.Index("$.exclude", i), strings.TrimSuffix(strings.TrimSuffix(p, "*"), "/"))
	}
	if w.Mode != "" {
		fault.OneOf(&l, "$.mode", w.Mode, "repo-backed", "site-backed")
	}
	if w.Target != "" {
		absolute(&l, "$.target", w.Target)
	}
	return l.Err()
}

// workspaces checks that several have a target each, and that no two share one.
func workspaces(l *fault.List, ws []Workspace) {
	for i, w := range ws {
		at := fault.Index("$.workspaces", i)
		if err := w.Validate(); err != nil {
			l.Within(at, err)
		}
		if w.Target == "" && len(ws) > 1 {
			l.Add(at+".target", fault.Blank, "is empty", "where there are several workspaces each needs its own")
		}
		for _, o := range ws[:i] {
			if w.Target != "" && o.Target != "" && (w.Target == o.Target || strings.HasPrefix(w.Target, o.Target+"/") || strings.HasPrefix(o.Target, w.Target+"/")) {
				l.Add(at+".target", fault.Conflict, fmt.Sprintf("%q and %q lie in one another", clip(o.Target), clip(w.Target)), "give each workspace a place of its own")
			}
		}
	}
}

// Validate returns every fault of the record. The adapter, whose record is another package's, must be an object
// here; agentruntime.TaskIntent checks what it says.
func (t TaskSpec) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTaskSpec)
	l.OptionalName("$.dedupe_key", t.DedupeKey)
	l.Between("$.dedupe_window_seconds", t.DedupeWindowSeconds, 0, MaxDedupeWindowSeconds)
	if t.DedupeWindowSeconds > 0 && t.DedupeKey == "" {
		l.Add("$.dedupe_window_seconds", fault.Conflict, "is set and dedupe_key is not", "name the key, or leave the window out")
	}
	l.Between("$.max_attempts", int64(t.MaxAttempts), 0, MaxAttemptsLimit)
	l.Between("$.timeout_seconds", t.TimeoutSeconds, 0, MaxTimeoutSeconds)
	if t.Workspace != nil {
		if err := t.Workspace.Validate(); err != nil {
			l.Within("$.workspace", err)
		}
		if len(t.Workspaces) > 0 {
			l.Add("$.workspaces", fault.Conflict, "is set beside workspace", "put them all into workspaces")
		}
	}
	workspaces(&l, t.Workspaces)
	if t.Sandbox != nil {
		if err := t.Sandbox.Validate(); err != nil {
			l.Within("$.sandbox", err)
		}
	}
	if t.RequireGrade != "" {
		fault.OneOf(&l, "$.require_grade", t.RequireGrade, GradePassing, GradeFixed)
	}
	if t.ApplyBack != "" {
		fault.OneOf(&l, "$.apply_back", t.ApplyBack, ApplyBackDisabled, ApplyBackReviewed)
	}
	l.Between("$.max_turns", int64(t.MaxTurns), 0, 10000)
	if t.Policy != nil {
		l.Within("$.policy", t.Policy.Validate())
	}
	if t.MaxRecoveries != nil {
		l.Between("$.max_recoveries", int64(*t.MaxRecoveries), 0, 100)
	}
	if t.Budget != nil {
		if err := t.Budget.Validate(); err != nil {
			l.Within("$.budget", err)
		}
	}
	globs(&l, "$.write_scope", t.WriteScope)
	globs(&l, "$.protected_paths", t.ProtectedPaths)
	globs(&l, "$.allow_secrets", t.AllowSecrets)
	checks(&l, "$.checks", t.Checks)
	l.OptionalObject("$.adapter", t.Adapter)
	if t.Isolation != "" {
		fault.OneOf(&l, "$.isolation", t.Isolation, Isolations...)
	}
	for i, s := range t.Skills {
		l.Within(fault.Index("$.skills", i), s.Validate())
	}
	for i, name := range t.SecretEnv {
		at := fault.Index("$.secret_env", i)
		l.EnvName(at, name)
		if slices.Contains(t.SecretEnv[:i], name) {
			l.Add(at, fault.Duplicate, fmt.Sprintf("%q is there twice", clip(name)), "name it once")
		}
	}
	return l.Err()
}

// A TypeSpec carries deed's own fields of a task type, in its `deed` object.
type TypeSpec struct {
	Schema            string                     `json:"schema,omitempty"`
	AcceptEmptyOutput bool                       `json:"accept_empty_output,omitempty"`                                // exit 0 with no output is a result
	RequireGrade      string                     `json:"require_grade,omitempty" jsonschema:"enum=passing,enum=fixed"` // the least that accepted work has to prove
	RequireChanges    bool                       `json:"require_changes,omitempty"`                                    // an empty change set is refused
	MaxAttempts       int                        `json:"max_attempts,omitempty" jsonschema:"minimum=0,maximum=1000"`
	ProtectedPaths    []string                   `json:"protected_paths,omitempty"`
	Checks            []Check                    `json:"checks,omitempty"`
	ArtifactSchemas   map[string]json.RawMessage `json:"artifact_schemas,omitempty"` // by artifact: a JSON Schema (2020-12) that its JSON must pass
	PayloadSchema     json.RawMessage            `json:"payload_schema,omitempty"`   // a JSON Schema for payload_schema_id, in place
}

// Validate returns every fault of the record. Whether payload_schema is a JSON Schema is for schema.CompilePayload.
func (t TypeSpec) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTypeSpec)
	l.Between("$.max_attempts", int64(t.MaxAttempts), 0, MaxAttemptsLimit)
	if t.RequireGrade != "" {
		fault.OneOf(&l, "$.require_grade", t.RequireGrade, GradePassing, GradeFixed)
	}
	globs(&l, "$.protected_paths", t.ProtectedPaths)
	checks(&l, "$.checks", t.Checks)
	l.OptionalObject("$.payload_schema", t.PayloadSchema)
	return l.Err()
}

func globs(l *fault.List, at string, patterns []string) {
	for i, p := range patterns {
		l.Glob(fault.Index(at, i), p)
	}
}

func schemaIs(l *fault.List, got, want string) {
	if got != "" && got != want {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(got)), fmt.Sprintf("write %q or leave it out", want))
	}
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64]
	}
	return s
}
