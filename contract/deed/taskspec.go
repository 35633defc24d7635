package deed

import "encoding/json"

// A TaskSpec carries deed's own fields of a task, in the intent's `deed` object. It is pinned and hashed at claim.
type TaskSpec struct {
	Schema              string          `json:"schema,omitempty"`
	DedupeKey           string          `json:"dedupe_key,omitempty"`            // unique while its task lives, or for the window
	DedupeWindowSeconds int64           `json:"dedupe_window_seconds,omitempty"` // 0: while the task lives
	MaxAttempts         int             `json:"max_attempts,omitempty"`          // 0: the configured default
	TimeoutSeconds      int64           `json:"timeout_seconds,omitempty"`       // 0: the adapter's timeout_ms
	Workspace           *Workspace      `json:"workspace,omitempty"`             // absent: an empty directory
	WriteScope          []string        `json:"write_scope,omitempty"`           // globs; empty: the whole workspace
	ProtectedPaths      []string        `json:"protected_paths,omitempty"`       // globs that must not change
	Checks              []Check         `json:"checks,omitempty"`                // run in a clean room, all must pass
	RequireChanges      *bool           `json:"require_changes,omitempty"`       // nil: the task type decides
	RequireArtifacts    bool            `json:"require_artifacts,omitempty"`     // at least one artifact must be declared
	AcceptEmptyOutput   *bool           `json:"accept_empty_output,omitempty"`   // nil: the task type decides; true: exit 0 with no output is a result
	Adapter             json.RawMessage `json:"adapter,omitempty"`               // an adapter.config for this task alone; from trusted callers only
	Isolation           string          `json:"isolation,omitempty"`             // none, process, namespace or container
	SecretEnv           []string        `json:"secret_env,omitempty"`            // names only; values come from the runner's environment
}

// A Workspace says what the agent's directory starts from. deed copies; the source is never written.
type Workspace struct {
	Source string `json:"source"`        // an absolute directory; a git work tree is taken as it stands, uncommitted work included
	Ref    string `json:"ref,omitempty"` // with a git source: this commit instead of the work tree
}

// A Check is a command that must exit 0 in a clean room made of the base and the agent's patch.
type Check struct {
	Name           string            `json:"name,omitempty"`
	Command        []string          `json:"command,omitempty"` // an argument vector
	Shell          string            `json:"shell,omitempty"`   // or a line for /bin/sh -c
	Dir            string            `json:"dir,omitempty"`     // below the workspace
	Env            map[string]string `json:"env,omitempty"`
	TimeoutSeconds int64             `json:"timeout_seconds,omitempty"`
}

// A TypeSpec carries deed's own fields of a task type, in its `deed` object.
type TypeSpec struct {
	Schema            string          `json:"schema,omitempty"`
	AcceptEmptyOutput bool            `json:"accept_empty_output,omitempty"` // exit 0 with no output is a result
	RequireChanges    bool            `json:"require_changes,omitempty"`     // an empty change set is refused
	MaxAttempts       int             `json:"max_attempts,omitempty"`
	ProtectedPaths    []string        `json:"protected_paths,omitempty"`
	Checks            []Check         `json:"checks,omitempty"`
	PayloadSchema     json.RawMessage `json:"payload_schema,omitempty"` // a JSON Schema for payload_schema_id, in place
}
