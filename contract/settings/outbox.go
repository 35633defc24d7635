package settings

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"

	"github.com/deedrun/deed/contract/fault"
)

// An Outbox says where the messages of agents may go. Only the operator's own file has one.
type Outbox struct {
	Targets     map[string]Target `json:"targets,omitempty" jsonschema:"description=by the name that a message gives as its target"`
	MaxAttempts int               `json:"max_attempts,omitempty" jsonschema:"minimum=1,maximum=1000"` // of one message; absent: 10
}

// The kinds of a Target.
const (
	TargetTask    = "task"    // the message becomes a task
	TargetFile    = "file"    // the message becomes a file in a directory
	TargetCommand = "command" // a command reads the message
	TargetWebhook = "webhook" // the message is posted, signed
)

// A Target takes messages. Nothing is sent to a name that is not here.
type Target struct {
	Kind           string   `json:"kind" jsonschema:"enum=task,enum=file,enum=command,enum=webhook"`
	TaskType       string   `json:"task_type,omitempty" jsonschema:"maxLength=512"`               // task: of the task that is made
	Directory      string   `json:"directory,omitempty" jsonschema:"maxLength=4096"`              // file: where; a relative path is taken from this file's directory
	Command        []string `json:"command,omitempty"`                                            // command: the program and its arguments, without a shell
	URL            string   `json:"url,omitempty" jsonschema:"maxLength=4096"`                    // webhook
	SecretEnv      string   `json:"secret_env,omitempty" jsonschema:"maxLength=512"`              // webhook: the variable of deed's environment with the key that signs; command: one that it gets
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=600"` // absent: 30
	Profiles       []string `json:"profiles,omitempty"`                                           // whose messages it takes; absent: those of every profile that may send any
	TaskTypes      []string `json:"task_types,omitempty"`                                         // of which tasks; absent: of all
	Supervised     bool     `json:"supervised,omitempty"`                                         // a person agrees to each message first: `deed outbox retry`
}

// Validate returns every fault of the targets.
func (o Outbox) Validate() error {
	var l fault.List
	for _, name := range slices.Sorted(maps.Keys(o.Targets)) {
		at := fault.Field("$.targets", name)
		l.Name(at, name)
		l.Within(at, o.Targets[name].Validate())
	}
	return l.Err()
}

// Validate returns every fault of the target.
func (t Target) Validate() error {
	var l fault.List
	fault.OneOf(&l, "$.kind", t.Kind, TargetTask, TargetFile, TargetCommand, TargetWebhook)
	for _, f := range []struct {
		name, kind string
		set        bool
		needed     bool
	}{
		{"task_type", TargetTask, t.TaskType != "", true},
		{"directory", TargetFile, t.Directory != "", true},
		{"command", TargetCommand, len(t.Command) > 0, true},
		{"url", TargetWebhook, t.URL != "", true},
	} {
		switch {
		case f.set && f.kind != t.Kind:
			l.Add("$."+f.name, fault.Conflict, "has no meaning for a target of kind "+t.Kind, "leave it out")
		case !f.set && f.needed && f.kind == t.Kind:
			l.Add("$."+f.name, fault.MissingField, "is missing", "a target of kind "+t.Kind+" needs it")
		}
	}
	if t.SecretEnv != "" && t.Kind != TargetWebhook && t.Kind != TargetCommand {
		l.Add("$.secret_env", fault.Conflict, "has no meaning for a target of kind "+t.Kind, "leave it out")
	}
	if t.URL != "" {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			l.Add("$.url", fault.BadFormat, fmt.Sprintf("%.100q is not the address of a web service", t.URL), "write https://host/path")
		case u.User != nil:
			l.Add("$.url", fault.NotAllowed, "holds a password", "leave it out: messages are signed with the key of secret_env")
		}
	}
	if t.Kind == TargetWebhook && t.SecretEnv == "" {
		l.Add("$.secret_env", fault.MissingField, "is missing", "name the variable with the key that signs: the receiver knows by it that a message is from here")
	}
	if len(t.Command) > 0 && path.Clean(t.Command[0]) == "." {
		l.Add("$.command[0]", fault.Blank, "is no program", "name the program first")
	}
	return l.Err()
}
