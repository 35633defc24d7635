package process

import (
	"errors"
	"fmt"
	"maps"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// DefaultPath is the PATH of an agent when Job.BaseEnv has none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxPayloadVar bounds the payload that goes into a variable: the kernel takes no single string of 128 KiB, and all of
// arguments and environment share a few MiB. A larger payload is in its file and on stdin only.
const maxPayloadVar = 96 << 10

// Names below Dirs.Exchange, where the agent reads and writes, and below Dirs.Run, which is deed's record.
const (
	payloadFile = "payload.json"
	briefFile   = "brief.md"
	resultFile  = "result.json" // in the exchange: the agent's; in Run: what deed took over

	messageFile = "last-message.txt"
)

// A Variable is one entry of an agent's environment, with what may be recorded of it.
type Variable struct {
	Value  string
	Hidden string // recorded instead of the value; empty: the redacted value
}

// Vars is an environment, by name.
type Vars map[string]Variable

// List returns the environment as a process takes it, in the order of names.
func (v Vars) List() []string {
	out := make([]string, 0, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, name+"="+v[name].Value)
	}
	return out
}

// Recorded is the environment as the evidence has it: values are left out where they could be a secret, and redacted
// elsewhere.
func (v Vars) Recorded(r *redact.Redactor) map[string]string {
	out := make(map[string]string, len(v))
	for name, value := range v {
		if out[name] = value.Hidden; value.Hidden == "" {
			out[name] = r.String(value.Value)
		}
	}
	return out
}

// With returns a copy that has more variables, with values that may be recorded.
func (v Vars) With(more map[string]string) Vars {
	out := maps.Clone(v)
	for name, value := range more {
		out[name] = Variable{Value: value}
	}
	return out
}

// Environ returns the complete environment of an agent, as the package documentation lists it. It takes nothing from the
// environment of deed itself.
func Environ(j driver.Job, c Config) (Vars, error) {
	vars := Vars{}
	set := func(name, value, hidden string) { vars[name] = Variable{value, hidden} }
	for name, value := range map[string]string{
		"PATH": DefaultPath, "HOME": j.Inside(j.Dirs.Home), "TMPDIR": j.Inside(j.Dirs.Tmp), "SHELL": "/bin/sh",
		"USER": userName(), "LOGNAME": userName(), "LANG": "C.UTF-8", "TZ": "UTC",
	} {
		set(name, value, "")
	}
	add := func(what string, from map[string]string, hidden string) error {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			err := Settable(name)
			if err == nil && strings.IndexByte(from[name], 0) >= 0 {
				err = fmt.Errorf("the value of %s holds a NUL byte", name)
			}
			if err != nil {
				return failure.New(failure.Config, "make the environment from "+what, err, "rename or remove the variable")
			}
			set(name, from[name], hidden)
		}
		return nil
	}
	if err := add("the base environment", j.BaseEnv, ""); err != nil {
		return nil, err
	}
	if c.EnvFile != "" {
		fromFile, err := readEnvFile(c.EnvFile)
		if err != nil {
			return nil, err
		}
		// The file is where people keep credentials: what is in it is never recorded.
		if err := add("env_file "+c.EnvFile, fromFile, "[from env_file]"); err != nil {
			return nil, err
		}
	}
	if err := add("the adapter's env", c.Env, ""); err != nil {
		return nil, err
	}
	if err := add("the task's secrets", j.Secrets, "[secret]"); err != nil {
		return nil, err
	}

	exchange := j.Inside(j.Dirs.Exchange)
	name := j.Runtime
	if name == "" {
		name = "deed"
	}
	for name, value := range map[string]string{
		"DEED_TASK_ID":      j.TaskID,
		"DEED_ATTEMPT_ID":   j.AttemptID,
		"DEED_WORKSPACE":    j.Inside(j.Dirs.Workspace),
		"DEED_ARTIFACTS":    j.Inside(j.Dirs.Artifacts),
		"DEED_PAYLOAD_FILE": filepath.Join(exchange, payloadFile),
		"DEED_BRIEF_FILE":   filepath.Join(exchange, briefFile),
		"DEED_RESULT_FILE":  filepath.Join(exchange, resultFile),

		"AGENT_RUNTIME_NAME":         name,
		"AGENT_RUNTIME_TASK_ID":      j.TaskID,
		"AGENT_RUNTIME_ATTEMPT_ID":   j.AttemptID,
		"AGENT_RUNTIME_ARTIFACT_DIR": j.Inside(j.Dirs.Artifacts),
		"AGENT_RUNTIME_STATE_DIR":    j.Inside(j.Dirs.Home),
	} {
		set(name, value, "")
	}
	if j.Dirs.Skills != "" {
		set("DEED_SKILLS", j.Inside(j.Dirs.Skills), "")
	}
	if j.Dirs.Commands != "" { // at the end: no skill takes the place of a program that is there
		v := vars["PATH"]
		v.Value += string(filepath.ListSeparator) + j.Inside(j.Dirs.Commands)
		vars["PATH"] = v
	}
	if j.Bundles != "" {
		set("DEED_BUNDLES", j.Bundles, "")
	}
	if p := payload(j); len(p) <= maxPayloadVar && !slices.Contains(p, 0) {
		set("AGENT_RUNTIME_TASK_PAYLOAD_JSON", string(p), "[the payload]")
	}
	return vars, nil
}

// payload returns the task's payload; a task without one has an empty object.
func payload(j driver.Job) []byte {
	if len(j.Payload) == 0 {
		return []byte("{}")
	}
	return j.Payload
}

// Settable says why a variable is not for others than deed to set, or returns nil.
func Settable(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if reserved(name) {
		return fmt.Errorf("%s is deed's own name", name)
	}
	return nil
}

// reserved reports names that only deed sets: they identify the owner of a process.
func reserved(name string) bool {
	return strings.HasPrefix(name, "DEED_") || strings.HasPrefix(name, "AGENT_RUNTIME_")
}

func checkName(name string) error {
	if name == "" {
		return errors.New("the name of a variable is empty")
	}
	for i, c := range []byte(name) {
		switch {
		case c == '_', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', i > 0 && c >= '0' && c <= '9':
		default:
			return fmt.Errorf("%.60q is not the name of a variable (letters, digits and _, not a digit first)", name)
		}
	}
	return nil
}

var userName = sync.OnceValue(func() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "deed"
})
