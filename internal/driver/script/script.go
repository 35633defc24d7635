// Package script owns the driver for adapters of kind script: a command that takes one turn. It does not judge what
// the command did.
//
// # What a script is given
//
// The command is started in the workspace, or in working_dir below it, with extra_args and then the strings of the
// payload's "args" as arguments. The task's payload is on stdin and in a file. Its environment is complete; nothing is
// inherited from deed:
//
//	PATH                 from the base environment, else DefaultPath
//	HOME, TMPDIR         directories of the attempt
//	USER, LOGNAME        the user that runs deed; in a sandbox the one there
//	SHELL, LANG, TZ      /bin/sh, C.UTF-8, UTC
//	DEED_TASK_ID, DEED_ATTEMPT_ID
//	DEED_WORKSPACE       the agent's working copy
//	DEED_ARTIFACTS       where declared artifacts go
//	DEED_PAYLOAD_FILE    the payload, JSON
//	DEED_BRIEF_FILE      what the agent is told, text
//	DEED_RESULT_FILE     where the result goes, JSON; there is no such file yet
//	AGENT_RUNTIME_NAME, _TASK_ID, _ATTEMPT_ID, _ARTIFACT_DIR, _STATE_DIR
//	AGENT_RUNTIME_TASK_PAYLOAD_JSON   unless the payload is larger than 96 KiB
//
// In this order, and a later one wins: the fixed names, the base environment, env_file, env, the task's secrets. Names
// that begin with DEED_ or AGENT_RUNTIME_ are deed's own and are refused from anywhere else.
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
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/proc"
)

// A Driver runs scripts. It holds nothing.
type Driver struct{}

// New makes the driver.
func New() *Driver { return &Driver{} }

var _ driver.Driver = (*Driver)(nil)

// Kind returns "script".
func (*Driver) Kind() string { return agentruntime.KindScript }

// Ready looks for the command and for the environment file. A bare command is looked up on deed's own PATH, which is
// the base environment's unless an operator says otherwise.
func (*Driver) Ready(_ context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	s := a.Script
	if s == nil {
		return driver.Readiness{Missing: []driver.Missing{{Name: "adapter", Reason: "it is not of kind script", Remedy: "name a script adapter"}}}
	}
	var r driver.Readiness
	miss := func(name string, err error) {
		m := driver.Missing{Name: name, Reason: err.Error()}
		var f *failure.Error
		if errors.As(err, &f) {
			m.Reason, m.Remedy = fmt.Sprintf("%s: %v", f.Op, f.Err), f.Remedy
		}
		r.Missing = append(r.Missing, m)
	}
	path := s.Env["PATH"]
	if path == "" {
		path = os.Getenv("PATH")
	}
	if _, err := findCommand(s.Command, path, "/"); err != nil {
		miss("command", err)
	}
	if s.EnvFile != "" {
		if _, err := readEnvFile(s.EnvFile); err != nil {
			miss("env_file", err)
		}
	}
	r.Ready = len(r.Missing) == 0
	return r
}

// Start checks everything that can be wrong before a process is started, and writes the files for the agent.
func (*Driver) Start(_ context.Context, j driver.Job) (_ driver.Session, err error) {
	a := j.Adapter.Script
	switch {
	case a == nil:
		return nil, failure.New(failure.Config, "start script", fmt.Errorf("adapter %q is of kind %q", j.Adapter.ID(), j.Adapter.Kind()), "")
	case j.Supervisor == nil:
		return nil, failure.New(failure.Infra, "start script", errors.New("there is no supervisor"), "")
	case j.Resume != "":
		return nil, failure.New(failure.Config, "start script", errors.New("a script has no conversation to go on with"), "start it anew")
	}
	s := &session{job: j, timeout: j.Timeout}
	if s.timeout <= 0 {
		s.timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
	if s.timeout <= 0 {
		return nil, failure.New(failure.Config, "start script", fmt.Errorf("timeout_ms is %d", a.TimeoutMS), "give the adapter a timeout_ms above 0")
	}
	args, err := payloadArgs(payload(j))
	if err != nil {
		return nil, err
	}
	s.argv = append(append([]string{a.Command}, a.ExtraArgs...), args...)
	for i, arg := range s.argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, failure.New(failure.Config, "start script", fmt.Errorf("argument %d holds a NUL byte", i), "take it out")
		}
	}
	if s.vars, err = environ(j); err != nil {
		return nil, err
	}
	if s.cwd, err = workingDir(j.Dirs.Workspace, a.WorkingDir); err != nil {
		return nil, err
	}
	if s.path, err = findCommand(a.Command, s.vars["PATH"].value, s.cwd); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		_ = s.Close(context.Background())
		return nil, failure.New(failure.Infra, "prepare the script's files", err, "")
	}
	return s, nil
}

// payloadArgs returns payload.args, which are strings or not at all.
func payloadArgs(payload []byte) ([]string, error) {
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

// workingDir returns the directory to start in. A relative one is below the workspace, and no symbolic link may lead
// out; an absolute one was the source of the workspace, and the script starts at the workspace's top.
func workingDir(workspace, dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return workspace, nil
	}
	bad := func(err error) error {
		return failure.New(failure.Config, fmt.Sprintf("enter working_dir %q", dir), err, "name a directory that is in the workspace")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", failure.New(failure.Infra, "open the workspace", err, "")
	}
	defer root.Close()
	st, err := root.Stat(dir)
	if err != nil {
		return "", bad(err)
	}
	if !st.IsDir() {
		return "", bad(errors.New("it is not a directory"))
	}
	return filepath.Join(workspace, dir), nil
}

func findCommand(command, path, dir string) (string, error) {
	if command == "" {
		return "", failure.New(failure.Config, "find the command", errors.New("command is empty"), "give the adapter a command")
	}
	if strings.Contains(command, "/") && !filepath.IsAbs(command) {
		return "", failure.New(failure.Config, "find the command", fmt.Errorf("%q is a relative path", command), "give an absolute path, a bare name, or one that the configuration resolves")
	}
	file, err := proc.LookPath(command, path, dir)
	if err != nil {
		return "", spawnFault(command, err)
	}
	return file, nil
}

// spawnFault makes the failure of a command that cannot be started, with what to do about it.
func spawnFault(command string, err error) error {
	remedy := "check the adapter's command"
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		remedy = "begin the script with a #! line"
	case errors.Is(err, syscall.E2BIG):
		remedy = "pass large input by the payload, which is on stdin, not by arguments or variables"
	case errors.Is(err, fs.ErrPermission):
		remedy = "make it executable: chmod +x"
	case errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(command):
		remedy = "check the path, and the interpreter that a script's #! line names"
	case errors.Is(err, fs.ErrNotExist):
		remedy = "install it, or give its absolute path"
	}
	return failure.New(failure.Spawn, "start "+command, err, remedy)
}
