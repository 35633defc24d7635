// Package settings holds the record of deed's configuration file, deed.yaml. It owns the names and the limits of
// single values; finding, reading and joining files belongs to internal/config.
package settings

import "github.com/deedrun/deed/contract/agentruntime"

// Schema is the id of the configuration's schema.
const Schema = "deed/config/v1"

// A Config is one deed.yaml.
type Config struct {
	Schema    string                                  `json:"schema,omitempty"`
	Name      string                                  `json:"name,omitempty" jsonschema:"description=the name of this runtime: agents see it as AGENT_RUNTIME_NAME"`
	Database  string                                  `json:"database,omitempty" jsonschema:"description=a postgres:// address; absent: the database in the home"`
	Defaults  *Defaults                               `json:"defaults,omitempty"`
	Retry     *Retry                                  `json:"retry,omitempty"`
	Retention *Retention                              `json:"retention,omitempty"`
	Adapters  map[string]agentruntime.AdapterConfig   `json:"adapters,omitempty"`
	Profiles  map[string]agentruntime.SubagentProfile `json:"profiles,omitempty"`
	TaskTypes map[string]agentruntime.TaskTypeSpec    `json:"task_types,omitempty"`
	// Components are the runtimes that a run can have beside its workspace.
	Components *Components `json:"components,omitempty"`
	// Publish says how the change of a runner's workspace is published.
	Publish *Publish `json:"publish,omitempty"`
}

// Publish configures publication.
type Publish struct {
	PullRequest *PullRequestHook `json:"pull_request,omitempty"`
}

// A PullRequestHook is the command that opens a pull request for a branch that deed wrote. It gets the publication request
// on its standard input, DEED_BRANCH, DEED_COMMIT, DEED_BASE_SHA and DEED_REMOTE in its environment, and answers
// {"number", "url", "reused", "opened"} on its standard output. A relative command is taken from the file's directory.
type PullRequestHook struct {
	Command []string `json:"command" jsonschema:"minItems=1"`
}

// Components says where the runtimes are that deed does not bring.
type Components struct {
	WordPress *WordPress `json:"wordpress,omitempty"`
}

// WordPress says where an installed WordPress is. Without it a run that needs one is refused.
type WordPress struct {
	Archive string `json:"archive" jsonschema:"minLength=1,maxLength=4096"` // a zip file or a directory; a relative path is taken from this file's directory
	SQLite  string `json:"sqlite,omitempty" jsonschema:"maxLength=4096"`    // the sqlite-database-integration plugin; absent: the archive's own
	PHP     string `json:"php,omitempty" jsonschema:"maxLength=4096"`       // the interpreter; absent: php
}

// Defaults fill what a task leaves open.
type Defaults struct {
	AdapterID    string `json:"adapter_id,omitempty"`
	ProfileID    string `json:"profile_id,omitempty"`
	MaxAttempts  int    `json:"max_attempts,omitempty" jsonschema:"minimum=1,maximum=1000"`
	LeaseSeconds int    `json:"lease_seconds,omitempty" jsonschema:"minimum=3,maximum=86400"`
	// Isolation contains the tasks that ask for none of their own. Absent: process.
	Isolation string `json:"isolation,omitempty" jsonschema:"enum=none,enum=process,enum=namespace,enum=container"`
	// AgeingSeconds lets an old task overtake: one priority step is worth this much waiting. 0: strict priority.
	AgeingSeconds int64 `json:"ageing_seconds,omitempty" jsonschema:"minimum=0,maximum=31536000"`
}

// Retention is how long the bundles and the records of what has ended are kept. What is absent is no limit: without any
// of them everything is kept for ever. Oldest goes first; what belongs to a task that has not ended never goes.
type Retention struct {
	MaxAgeDays int   `json:"max_age_days,omitempty" jsonschema:"minimum=1,maximum=36500"`
	MaxCount   int   `json:"max_count,omitempty" jsonschema:"minimum=1,maximum=1000000000"`
	MaxBytes   int64 `json:"max_bytes,omitempty" jsonschema:"minimum=1"`
	// KeepFailedDays protects what did not succeed from the other limits for this long.
	KeepFailedDays int `json:"keep_failed_days,omitempty" jsonschema:"minimum=1,maximum=36500"`
}

// Retry is the waiting rule between attempts: base doubled with every attempt, up to max, spread by jitter.
type Retry struct {
	BaseSeconds *float64 `json:"base_seconds,omitempty" jsonschema:"minimum=0,maximum=86400"`
	MaxSeconds  *float64 `json:"max_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`
	// RetryAfterCapSeconds limits how long a service's own Retry-After can make a task wait.
	RetryAfterCapSeconds *float64 `json:"retry_after_cap_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`
	Jitter               *float64 `json:"jitter,omitempty" jsonschema:"minimum=0,maximum=1"`
}
