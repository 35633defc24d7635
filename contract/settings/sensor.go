package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/deedrun/deed/contract/fault"
)

// The kinds of a Sensor.
const (
	SensorCommand   = "command"   // a program prints events, one JSON document a line
	SensorGit       = "git"       // new commits on the refs of a repository
	SensorDirectory = "directory" // new and changed files
	SensorMailbox   = "mailbox"   // a directory whose files are events
	SensorHTTP      = "http"      // an address whose content changes
	SensorPush      = "push"      // it is not run: others send its events
)

// A Sensor looks at something and pushes what is new into the queue. Only the operator's own file has sensors.
type Sensor struct {
	Kind           string   `json:"kind" jsonschema:"enum=command,enum=git,enum=directory,enum=mailbox,enum=http,enum=push"`
	Command        []string `json:"command,omitempty"`                                // command: the program and its arguments, without a shell
	Watch          bool     `json:"watch,omitempty"`                                  // command: it goes on for ever, and prints events as they happen
	Repository     string   `json:"repository,omitempty" jsonschema:"maxLength=4096"` // git: a path or an address
	Refs           []string `json:"refs,omitempty"`                                   // git: full names or globs, such as refs/heads/*; absent: HEAD
	Directory      string   `json:"directory,omitempty" jsonschema:"maxLength=4096"`  // directory, mailbox; a relative path is taken from this file's directory
	Pattern        string   `json:"pattern,omitempty" jsonschema:"maxLength=512"`     // directory, mailbox: a glob over the names; absent: all, without those that begin with a dot
	MoveTo         string   `json:"move_to,omitempty" jsonschema:"maxLength=4096"`    // directory: where a file goes once its event is taken
	URL            string   `json:"url,omitempty" jsonschema:"maxLength=4096"`        // http
	SecretEnv      string   `json:"secret_env,omitempty" jsonschema:"maxLength=512"`  // http: the variable with a bearer token; command: one that it gets; push: the one with the key that signs what is sent over HTTP
	Events         bool     `json:"events,omitempty"`                                 // http: what is answered are events, and not something to tell of
	FromStart      bool     `json:"from_start,omitempty"`                             // git, directory, http: what is there at the first look is new
	EverySeconds   int      `json:"every_seconds,omitempty" jsonschema:"minimum=1,maximum=604800"`
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=3600"`
	MaxEvents      int      `json:"max_events,omitempty" jsonschema:"minimum=1,maximum=10000"` // new ones in a run, the rest waits; absent: 100

	DedupeWindowSeconds   int `json:"dedupe_window_seconds,omitempty" jsonschema:"minimum=1,maximum=315360000"`  // how long a key is held; absent: for ever
	FreshnessSeconds      int `json:"freshness_seconds,omitempty" jsonschema:"minimum=1,maximum=315360000"`      // of events that name no deadline; absent: they do not grow stale
	UnhealthyAfterSeconds int `json:"unhealthy_after_seconds,omitempty" jsonschema:"minimum=1,maximum=31536000"` // of failures, until a person is asked; absent: an hour

	Task     *SensorTask     `json:"task,omitempty"`     // what an event that proposes nothing makes
	Workflow *SensorWorkflow `json:"workflow,omitempty"` // what such an event starts or wakes
}

// A SensorTask says which task an event makes. Its texts may name parts of the event: ${event_id}, ${source_ref}, ${type},
// ${sensor_id}, ${dedupe_key}, ${payload.NAME}. The task's payload is the event's, with this one laid over it.
type SensorTask struct {
	TaskType    string          `json:"task_type" jsonschema:"minLength=1,maxLength=512"`
	Subject     string          `json:"subject,omitempty" jsonschema:"maxLength=512"`
	Description string          `json:"description,omitempty" jsonschema:"maxLength=65536"`
	ProfileID   string          `json:"profile_id,omitempty" jsonschema:"maxLength=512"`
	AdapterID   string          `json:"adapter_id,omitempty" jsonschema:"maxLength=512"`
	Model       string          `json:"model,omitempty" jsonschema:"maxLength=512"`
	SkillIDs    []string        `json:"skill_ids,omitempty"`
	Priority    *int64          `json:"priority,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// A SensorWorkflow says which workflow an event starts or wakes. The context is the event's payload, with this one laid over it;
// its texts may name parts of the event too.
type SensorWorkflow struct {
	Template    string          `json:"template" jsonschema:"minLength=1,maxLength=512"`
	InstanceKey string          `json:"instance_key" jsonschema:"minLength=1,maxLength=512"` // may name parts of the event, as a task's texts
	State       string          `json:"state,omitempty" jsonschema:"maxLength=512"`
	Context     json.RawMessage `json:"context,omitempty"`
}

func validateSensors(l *fault.List, sensors map[string]Sensor) {
	for _, name := range slices.Sorted(maps.Keys(sensors)) {
		at := fault.Field("$.sensors", name)
		l.Name(at, name)
		l.Within(at, sensors[name].Validate())
	}
}

// Validate returns every fault of the sensor.
func (s Sensor) Validate() error {
	var l fault.List
	fault.OneOf(&l, "$.kind", s.Kind, SensorCommand, SensorGit, SensorDirectory, SensorMailbox, SensorHTTP, SensorPush)
	for _, f := range []struct {
		name   string
		set    bool
		needed []string // by these kinds
		also   []string // allowed for these
	}{
		{"command", len(s.Command) > 0, []string{SensorCommand}, nil},
		{"watch", s.Watch, nil, []string{SensorCommand}},
		{"repository", s.Repository != "", []string{SensorGit}, nil},
		{"refs", len(s.Refs) > 0, nil, []string{SensorGit}},
		{"directory", s.Directory != "", []string{SensorDirectory, SensorMailbox}, nil},
		{"pattern", s.Pattern != "", nil, []string{SensorDirectory, SensorMailbox}},
		{"move_to", s.MoveTo != "", nil, []string{SensorDirectory}},
		{"url", s.URL != "", []string{SensorHTTP}, nil},
		{"secret_env", s.SecretEnv != "", nil, []string{SensorHTTP, SensorCommand, SensorPush}},
		{"events", s.Events, nil, []string{SensorHTTP}},
		{"from_start", s.FromStart, nil, []string{SensorGit, SensorDirectory, SensorHTTP}},
	} {
		needed := slices.Contains(f.needed, s.Kind)
		switch {
		case f.set && !needed && !slices.Contains(f.also, s.Kind):
			l.Add("$."+f.name, fault.Conflict, "has no meaning for a sensor of kind "+s.Kind, "leave it out")
		case !f.set && needed:
			l.Add("$."+f.name, fault.MissingField, "is missing", "a sensor of kind "+s.Kind+" needs it")
		}
	}
	if s.URL != "" {
		l.HTTPURL("$.url", s.URL)
	}
	if len(s.Command) > 0 && path.Clean(s.Command[0]) == "." {
		l.Add("$.command[0]", fault.Blank, "is no program", "name the program first")
	}
	if s.SecretEnv != "" {
		l.EnvName("$.secret_env", s.SecretEnv)
	}
	if _, err := path.Match(s.Pattern, ""); err != nil {
		l.Add("$.pattern", fault.BadFormat, fmt.Sprintf("%.100q is not a valid pattern", s.Pattern), "close every [ and put no \\ at the end")
	}
	for i, ref := range s.Refs {
		if ref == "" || ref[0] == '-' {
			l.Add(fault.Index("$.refs", i), fault.BadFormat, fmt.Sprintf("%.100q is no ref", ref), "write refs/heads/main")
		}
	}
	if s.Repository != "" && s.Repository[0] == '-' {
		l.Add("$.repository", fault.BadFormat, fmt.Sprintf("%.100q is no repository", s.Repository), "write a path or an address")
	}
	if t := s.Task; t != nil {
		l.Name("$.task.task_type", t.TaskType)
		l.Names("$.task.skill_ids", t.SkillIDs)
		l.OptionalObject("$.task.payload", t.Payload)
	}
	if w := s.Workflow; w != nil {
		l.Name("$.workflow.template", w.Template)
		l.Name("$.workflow.instance_key", w.InstanceKey)
		l.OptionalObject("$.workflow.context", w.Context)
	}
	return l.Err()
}
