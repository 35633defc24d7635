// Package script owns the driver for adapters of kind script: a command that takes one turn. It does not judge what
// the command did.
//
// # What a script is given
//
// The command is started with extra_args and then the strings of the payload's "args" as arguments, with the task's
// payload on stdin. Its environment and its files are those of every agent: see package process.
//
// # What a script hands back
//
// The result is the file at DEED_RESULT_FILE, else the last JSON object on stdout (see driver.ParseClaim). It is the
// agent's claim. What follows from a run, first match:
//
//	the time limit passed                   failure.Timeout
//	the context ended                       failure.Canceled, failure.Interrupted, or the class of its cause
//	a limit of the sandbox was reached      failure.Limit
//	a non-zero exit                         failure.AgentFailed, whatever the result says
//	no result, or one that cannot be read   failure.InvalidWord
//	retryable_failure                       failure.AskedRetry, with retry_after_seconds; or the class that failure_class
//	                                        names: provider_error, rate_limited, max_turns
//	permanent_failure                       failure.AskedFail
//	blocked                                 failure.Blocked
//	completed                               a completion, for the gate to judge
//
// Where the task type takes exit 0 without output, a run without a result is a claim of completion made by the exit
// code.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Driver runs scripts. It holds nothing.
type Driver struct{}

// New makes the driver.
func New() *Driver { return &Driver{} }

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.Credentialed = (*Driver)(nil)
)

// Kind returns "script".
func (*Driver) Kind() string { return agentruntime.KindScript }

// Credentials returns the variables of the adapter's own environment that look like credentials.
func (*Driver) Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	return process.Credentials(a)
}

// Ready looks for the command and for the environment file.
func (*Driver) Ready(ctx context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	c, _ := process.Of(a)
	if a.Script == nil {
		return driver.Readiness{Missing: []driver.Missing{{Name: "adapter", Reason: "it is not of kind script", Remedy: "name a script adapter"}}}
	}
	return process.Ready(ctx, c, "")
}

// Start checks everything that can be wrong before a process is started, and writes the files for the agent.
func (*Driver) Start(_ context.Context, j driver.Job) (driver.Session, error) {
	a := j.Adapter.Script
	switch {
	case a == nil:
		return nil, failure.New(failure.Config, "start script", fmt.Errorf("adapter %q is of kind %q", j.Adapter.ID(), j.Adapter.Kind()), "")
	case j.Resume != "":
		return nil, failure.New(failure.Config, "start script", errors.New("a script has no conversation to go on with"), "start it anew")
	}
	more, err := payloadArgs(j.Payload)
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, a.ExtraArgs...), more...)
	for i, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, failure.New(failure.Config, "start script", fmt.Errorf("argument %d holds a NUL byte", i+1), "take it out")
		}
	}
	agent, err := process.Prepare(j, "the script", "")
	if err != nil {
		return nil, err
	}
	return &session{agent: agent, args: args}, nil
}

// payloadArgs returns payload.args, which are strings or not at all.
func payloadArgs(payload []byte) ([]string, error) {
	if len(payload) == 0 {
		return nil, nil
	}
	bad := func(format string, args ...any) error {
		return failure.New(failure.Config, "read the payload", fmt.Errorf(format, args...), "make payload.args a list of strings")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, bad("payload is not a JSON object: %w", err)
	}
	raw, ok := fields["args"]
	if !ok {
		return nil, nil
	}
	var items []any
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, bad("payload.args is not a list")
	}
	out := make([]string, len(items))
	for i, item := range items {
		if out[i], ok = item.(string); !ok {
			return nil, bad("payload.args[%d] is not a string", i)
		}
	}
	return out, nil
}
