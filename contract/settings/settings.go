// Package settings holds the record of deed's configuration file, deed.yaml. It owns the names and the limits of
// single values; finding, reading and joining files belongs to internal/base/config.
package settings

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// Schema is the id of the configuration's schema.
const Schema = "deed/config/v1"

// A Config is one deed.yaml.
type Config struct {
	Schema    string                                  `json:"schema,omitempty"`
	Name      string                                  `json:"name,omitempty" jsonschema:"description=the name of this runtime: agents see it as AGENT_RUNTIME_NAME"`
	Agent     string                                  `json:"agent,omitempty" jsonschema:"maxLength=512,description=the internal name of the agent that this runtime is; absent: none"`
	Database  string                                  `json:"database,omitempty" jsonschema:"description=a postgres:// address; absent: the database in the home"`
	Defaults  *Defaults                               `json:"defaults,omitempty"`
	Retry     *Retry                                  `json:"retry,omitempty"`
	Retention *Retention                              `json:"retention,omitempty"`
	Budgets   *Budgets                                `json:"budgets,omitempty"`
	Prices    map[string]Price                        `json:"prices,omitempty" jsonschema:"description=by the name of a model or a glob over names: what its tokens cost"`
	Adapters  map[string]agentruntime.AdapterConfig   `json:"adapters,omitempty"`
	Profiles  map[string]agentruntime.SubagentProfile `json:"profiles,omitempty"`
	TaskTypes map[string]agentruntime.TaskTypeSpec    `json:"task_types,omitempty"`
	// Components are the runtimes that a run can have beside its workspace.
	Components *Components `json:"components,omitempty"`
	// Publish says how the change of a runner's workspace is published.
	Publish *Publish `json:"publish,omitempty"`
	// Outbox says where the messages of agents may go.
	Outbox *Outbox `json:"outbox,omitempty"`
	// Notify has a person told of what happens.
	Notify []NotifyRule `json:"notify,omitempty"`
	// Sensors push what they see into the queue, by the name that their events bear, in the home's file alone.
	Sensors map[string]Sensor `json:"sensors,omitempty"`
	// Policy says what agents may do. A project's file can narrow it and no more.
	Policy *Policy `json:"policy,omitempty"`
	// Policies are lists of rules that a task can be narrowed by, by name.
	Policies map[string]PolicyRules `json:"policies,omitempty"`
	// Checks is what the component in the file's directory says of itself.
	Checks *Checks `json:"checks,omitempty"`
	// Runtimes is about runtime packages. A project's file may say which backend is its default, and no more.
	Runtimes *Runtimes `json:"runtimes,omitempty"`
	// Secrets say where values are that tasks and runtime packages ask for by name, in the home's file alone.
	Secrets map[string]Secret `json:"secrets,omitempty"`
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
	// RequireGrade is the least that accepted work has to prove, of every task. Absent: nothing.
	RequireGrade string `json:"require_grade,omitempty" jsonschema:"enum=passing,enum=fixed"`
	// AgeingSeconds lets an old task overtake: one priority step is worth this much waiting. 0: strict priority.
	AgeingSeconds int64 `json:"ageing_seconds,omitempty" jsonschema:"minimum=0,maximum=31536000"`
}

// Retention is how long the bundles and the records of what has ended are kept. What is absent is no limit: without any
// of them everything is kept for ever. Oldest goes first; what belongs to a task that has not ended never goes. Versions of skills that
// nobody needs go by MaxAgeDays alone.
type Retention struct {
	MaxAgeDays int   `json:"max_age_days,omitempty" jsonschema:"minimum=1,maximum=36500"`
	MaxCount   int   `json:"max_count,omitempty" jsonschema:"minimum=1,maximum=1000000000"`
	MaxBytes   int64 `json:"max_bytes,omitempty" jsonschema:"minimum=1"`
	// KeepFailedDays protects what did not succeed from the other limits for this long.
	KeepFailedDays int `json:"keep_failed_days,omitempty" jsonschema:"minimum=1,maximum=36500"`
	// SensorEventDays is how long what sensors saw is kept, once its task has ended and its dedupe window is over. An event that comes
	// again after that is a new one, also where its key had no window.
	SensorEventDays int `json:"sensor_event_days,omitempty" jsonschema:"minimum=1,maximum=36500"`
}

// Budgets bound what agents may use.
type Budgets struct {
	Task *deed.Budget `json:"task,omitempty"` // of each task, where it does not say otherwise
	Day  *deed.Budget `json:"day,omitempty"`  // of all tasks together, from midnight to midnight in UTC
}

// A Price is what the tokens of a model cost, in dollars for a million of them. It replaces the one in deed's own table,
// whole. All 0 is a model that costs nothing, such as one on a machine of one's own.
type Price struct {
	Input       float64  `json:"input_per_mtok_usd" jsonschema:"minimum=0,maximum=1000000"`
	CachedInput *float64 `json:"cached_input_per_mtok_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"` // absent: as input
	CacheWrite  *float64 `json:"cache_write_per_mtok_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`  // absent: as input
	Output      float64  `json:"output_per_mtok_usd" jsonschema:"minimum=0,maximum=1000000"`
}

// Validate returns the faults that reading alone does not find.
func (c Config) Validate() error {
	var l fault.List
	c.validatePolicies(&l)
	c.validateRuntimes(&l)
	validateSensors(&l, c.Sensors)
	validateNotify(&l, c.Notify)
	l.OptionalName("$.agent", c.Agent)
	for _, id := range slices.Sorted(maps.Keys(c.Profiles)) {
		l.Within(fault.Field("$.profiles", id), c.Profiles[id].Validate())
	}
	for _, id := range slices.Sorted(maps.Keys(c.TaskTypes)) {
		l.Within(fault.Field("$.task_types", id), c.TaskTypes[id].Validate())
	}
	if c.Checks != nil {
		l.Within("$.checks", c.Checks.Validate())
	}
	if b := c.Budgets; b != nil {
		if b.Task != nil {
			l.Within("$.budgets.task", b.Task.Validate())
		}
		if b.Day != nil {
			l.Within("$.budgets.day", b.Day.Validate())
		}
	}
	if c.Outbox != nil {
		l.Within("$.outbox", c.Outbox.Validate())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		at := fault.Field("$.prices", name)
		l.Name(at, name)
		if _, err := path.Match(strings.ReplaceAll(name, "/", "_"), ""); err != nil {
			l.Add(at, fault.BadFormat, "is not a valid pattern", "close every [ and put no \\ at the end")
		}
	}
	return l.Err()
}

// Retry is the waiting rule between attempts: base doubled with every attempt, up to max, spread by jitter.
type Retry struct {
	BaseSeconds *float64 `json:"base_seconds,omitempty" jsonschema:"minimum=0,maximum=86400"`
	MaxSeconds  *float64 `json:"max_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`
	// RetryAfterCapSeconds limits how long a service's own Retry-After can make a task wait.
	RetryAfterCapSeconds *float64 `json:"retry_after_cap_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"`
	Jitter               *float64 `json:"jitter,omitempty" jsonschema:"minimum=0,maximum=1"`
}
