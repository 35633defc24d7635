// Package config owns deed's settings: it finds deed.yaml, reads it strictly, joins the home's file with the
// project's and adds what deed ships. Faults name file, line and field. It knows nothing of tasks.
package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/settings"
)

// A Config is the joined and checked result. It is read-only after Load.
type Config struct {
	Files []string // the files it came from, lowest precedence first

	Name           string
	Agent          string // the internal name of the agent that this runtime is; empty: none
	Database       string // empty: the database in the home
	AdapterID      string // default adapter; may be empty
	ProfileID      string
	MaxAttempts    int
	Lease          time.Duration
	RequireGrade   string // the least that accepted work has to prove; empty: nothing
	Isolation      string // of tasks that ask for none; empty: process
	AgeingStep     time.Duration
	Retry          Retry
	Retention      Retention
	Budgets        Budgets
	Prices         map[string]settings.Price  // what the operator says of models, by name or glob
	WordPress      *settings.WordPress        // the runtime component, paths absolute; nil: none is configured
	Targets        map[string]settings.Target // where messages of agents may go, by name; paths absolute
	OutboxAttempts int                        // deliveries of one message before it is given up
	Notify         []settings.NotifyRule      // which events a person is notified of
	Sensors        map[string]settings.Sensor // what pushes work into the queue, by name; paths absolute
	PullRequest    []string                   // the hook that opens pull requests; empty: none
	Runtimes       Runtimes
	Secrets        map[string]settings.Secret // by name: where values are, paths absolute
	Policy         *settings.Policy           // the operator's; nil: none is configured
	Project        []deed.Rule                // rules of the project's file: they narrow, and travel with its tasks
	sources        []source                   // of Files, to find the line of a fault
	own            map[string]bool            // what the operator's files define, by its path: a project may not redefine it
	adapters       map[string]Adapter
	profiles       map[string]agentruntime.SubagentProfile
	types          map[string]agentruntime.TaskTypeSpec
	policies       map[string]settings.PolicyRules
}

// An Adapter is a configured adapter and whether it came from a project's file: such an adapter travels with the
// task, because the process that runs the task may not see that file.
type Adapter struct {
	agentruntime.AdapterConfig
	FromProject bool
}

// Retention is how long what has ended is kept. Zero is no limit.
type Retention struct {
	MaxAge     time.Duration
	MaxCount   int
	MaxBytes   int64
	KeepFailed time.Duration // protects what did not succeed from the other limits

	SensorEvents time.Duration // how long what sensors saw is kept
}

// Budgets bound what agents may use; see settings.Budgets.
type Budgets struct{ Task, Day deed.Budget }

// Limited reports whether there is any limit.
func (r Retention) Limited() bool { return r.MaxAge > 0 || r.MaxCount > 0 || r.MaxBytes > 0 }

// The names of what deed ships.
const (
	TypeAgentTask  = "agent-task" // a goal for an agent in a workspace; an empty change is refused
	TypeScript     = "script"     // deterministic work; exit 0 is a result
	TypeOperator   = "operator"   // a request of a person; the others are in tasktypes.json
	DefaultProfile = "default"

	// AnyPayload is the payload_schema_id of task types that take any object.
	AnyPayload = "deed/payload.any/v1"
)

// Default returns the settings without any file.
func Default() *Config {
	return &Config{
		Name: "deed", ProfileID: DefaultProfile, MaxAttempts: 3, Lease: 60 * time.Second,
		Retry:    Retry{Base: 10 * time.Second, Max: time.Hour, RetryAfterCap: 6 * time.Hour, Jitter: 0.2},
		Prices:   map[string]settings.Price{},
		Runtimes: Runtimes{Backends: map[string]settings.RuntimeBackend{}}, Secrets: map[string]settings.Secret{},
		Targets: map[string]settings.Target{}, OutboxAttempts: 10, Sensors: map[string]settings.Sensor{},
		adapters: map[string]Adapter{}, own: map[string]bool{}, policies: map[string]settings.PolicyRules{},
		profiles: map[string]agentruntime.SubagentProfile{DefaultProfile: {
			ProfileID: DefaultProfile, Style: "claude-like", Role: "engineer", PromptParts: []string{}, SkillIDs: []string{},
			ContextPolicy: agentruntime.ContextPolicy{MaxPromptChars: 100_000},
			ResultPolicy:  agentruntime.ResultPolicy{AllowFollowUpTasks: true},
		}},
		types: shippedTypes(),
	}
}

// typesFile holds the task types that deed ships, as anybody would write their own.
//
//go:embed tasktypes.json
var typesFile []byte

// shippedTypes returns a fresh copy of the task types that deed ships. A test holds the file against its schema.
func shippedTypes() map[string]agentruntime.TaskTypeSpec {
	var list []agentruntime.TaskTypeSpec
	if err := json.Unmarshal(typesFile, &list); err != nil {
		panic(fmt.Sprintf("tasktypes.json: %v", err)) // a fault of the build
	}
	out := make(map[string]agentruntime.TaskTypeSpec, len(list))
	for _, t := range list {
		out[t.TaskType] = t
	}
	return out
}

// Adapter returns a configured adapter. The error lists what there is.
func (c *Config) Adapter(id string) (Adapter, error) {
	if a, ok := c.adapters[id]; ok {
		return a, nil
	}
	remedy := "add it under `adapters:` in deed.yaml"
	switch b, known := builtin()[id]; {
	case known:
		remedy = fmt.Sprintf("its program, %s, is not on the PATH: install it, or %s with its path", b.Common().Command, remedy)
	case slices.Contains(agentruntime.Kinds, id):
		remedy = fmt.Sprintf("%s is a kind of adapter: add one of that kind under `adapters:` in deed.yaml", id)
	}
	return Adapter{}, unknown("adapter", id, c.AdapterIDs(), remedy)
}

// Profile returns a profile.
func (c *Config) Profile(id string) (agentruntime.SubagentProfile, error) {
	if p, ok := c.profiles[id]; ok {
		return p, nil
	}
	return agentruntime.SubagentProfile{}, unknown("profile", id, keys(c.profiles), "add it under `profiles:` in deed.yaml")
}

// Type returns a task type.
func (c *Config) Type(name string) (agentruntime.TaskTypeSpec, error) {
	if t, ok := c.types[name]; ok {
		return t, nil
	}
	return agentruntime.TaskTypeSpec{}, unknown("task type", name, c.TypeNames(), "add it under `task_types:` in deed.yaml")
}

// Rules returns the rules that the operator's file has under a name.
func (c *Config) Rules(name string) ([]deed.Rule, error) {
	if p, ok := c.policies[name]; ok {
		return p.Rules, nil
	}
	return nil, unknown("policy", name, keys(c.policies), "add it under `policies:` in the home's deed.yaml")
}

// AdapterIDs lists the configured adapters.
func (c *Config) AdapterIDs() []string { return keys(c.adapters) }

// ProfileIDs lists the profiles.
func (c *Config) ProfileIDs() []string { return keys(c.profiles) }

// TypeNames lists the task types.
func (c *Config) TypeNames() []string { return keys(c.types) }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func unknown(what, name string, known []string, remedy string) error {
	have := "none is configured"
	if len(known) > 0 {
		have = "there are: " + strings.Join(known, ", ")
	}
	return fmt.Errorf("unknown %s %q; %s (%s)", what, name, have, remedy)
}

// AddSensors adds sensors whose paths are taken from a directory.
func (c *Config) AddSensors(dir string, sensors map[string]settings.Sensor) {
	for name, x := range sensors {
		x.Directory, x.MoveTo = absolute(x.Directory, dir), absolute(x.MoveTo, dir)
		if !strings.Contains(x.Repository, ":") {
			x.Repository = absolute(x.Repository, dir)
		}
		if len(x.Command) > 0 {
			x.Command = slices.Clone(x.Command)
			x.Command[0] = command(x.Command[0], dir)
		}
		c.Sensors[name] = x
	}
}

// join lays one file's settings over c.
func (c *Config) join(s settings.Config, file string, project bool) {
	c.Files = append(c.Files, file)
	if s.Name != "" {
		c.Name = s.Name
	}
	set(&c.Agent, s.Agent)
	if s.Database != "" {
		c.Database = s.Database
	}
	if d := s.Defaults; d != nil {
		set(&c.AdapterID, d.AdapterID)
		set(&c.ProfileID, d.ProfileID)
		set(&c.MaxAttempts, d.MaxAttempts)
		set(&c.Lease, time.Duration(d.LeaseSeconds)*time.Second)
		set(&c.Isolation, d.Isolation)
		c.RequireGrade = deed.StrongestGrade(c.RequireGrade, d.RequireGrade)
		set(&c.AgeingStep, time.Duration(d.AgeingSeconds)*time.Second)
	}
	if r := s.Retry; r != nil {
		for dst, v := range map[*time.Duration]*float64{&c.Retry.Base: r.BaseSeconds, &c.Retry.Max: r.MaxSeconds, &c.Retry.RetryAfterCap: r.RetryAfterCapSeconds} {
			if v != nil {
				*dst = seconds(*v)
			}
		}
		if r.Jitter != nil {
			c.Retry.Jitter = *r.Jitter
		}
	}
	if r := s.Retention; r != nil {
		const day = 24 * time.Hour
		set(&c.Retention.MaxAge, time.Duration(r.MaxAgeDays)*day)
		set(&c.Retention.MaxCount, r.MaxCount)
		set(&c.Retention.MaxBytes, r.MaxBytes)
		set(&c.Retention.KeepFailed, time.Duration(r.KeepFailedDays)*day)
		set(&c.Retention.SensorEvents, time.Duration(r.SensorEventDays)*day)
	}
	if b := s.Budgets; b != nil {
		if b.Task != nil {
			c.Budgets.Task = b.Task.Over(c.Budgets.Task)
		}
		if b.Day != nil {
			c.Budgets.Day = b.Day.Over(c.Budgets.Day)
		}
	}
	maps.Copy(c.Prices, s.Prices)
	dir := filepath.Dir(file)
	if p := s.Publish; p != nil && p.PullRequest != nil {
		c.PullRequest = slices.Clone(p.PullRequest.Command)
		c.PullRequest[0] = command(c.PullRequest[0], dir)
	}
	if o := s.Outbox; o != nil {
		set(&c.OutboxAttempts, o.MaxAttempts)
		for name, t := range o.Targets {
			t.Directory = absolute(t.Directory, dir)
			if len(t.Command) > 0 {
				t.Command = slices.Clone(t.Command)
				t.Command[0] = command(t.Command[0], dir)
			}
			c.Targets[name] = t
		}
	}
	c.Notify = append(c.Notify, s.Notify...)
	c.AddSensors(dir, s.Sensors)
	if k := s.Components; k != nil && k.WordPress != nil {
		c.WordPress = &settings.WordPress{
			Archive: absolute(k.WordPress.Archive, dir), SQLite: absolute(k.WordPress.SQLite, dir), PHP: command(k.WordPress.PHP, dir),
		}
	}
	c.joinRuntimes(s, file, project)
	switch {
	case project && s.Policy != nil:
		c.Project = s.Policy.Rules
	case s.Policy != nil:
		c.Policy = s.Policy
	}
	maps.Copy(c.policies, s.Policies)
	if !project {
		for path := range defined(s) {
			c.own[path] = true
		}
	}
	for id, a := range s.Adapters {
		c.adapters[id] = Adapter{AdapterConfig: anchor(a, dir), FromProject: project}
	}
	maps.Copy(c.profiles, s.Profiles)
	maps.Copy(c.types, s.TaskTypes)
}

// defined yields the paths of what a file defines by name.
func defined(s settings.Config) iter.Seq[string] {
	return func(yield func(string) bool) {
		for list, names := range map[string][]string{"$.adapters": keys(s.Adapters), "$.profiles": keys(s.Profiles), "$.task_types": keys(s.TaskTypes)} {
			for _, name := range names {
				if !yield(fault.Field(list, name)) {
					return
				}
			}
		}
	}
}

func set[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// anchor makes the paths of an adapter absolute, against the directory of the file that declares them. A bare
// command name stays as it is and is looked up on PATH.
func anchor(a agentruntime.AdapterConfig, dir string) agentruntime.AdapterConfig {
	return a.WithPaths(agentruntime.Paths{
		Command:    func(p string) string { return command(p, dir) },
		EnvFile:    func(p string) string { return absolute(p, dir) },
		RuntimeDir: func(p string) string { return absolute(p, dir) },
	})
}

// absolute takes a path of a file from the file's directory.
func absolute(p, dir string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

// command is absolute for a command: a bare name is looked up on PATH.
func command(p, dir string) string {
	if strings.Contains(p, "/") {
		return absolute(p, dir)
	}
	return p
}
