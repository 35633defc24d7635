// Package process owns one process of an agent, whatever agent it is: the program, its environment, the files that deed
// and the agent hand each other, the record of its output, and what follows from how it ended. It knows no agent's words
// and does not judge what the agent did.
//
// # What an agent is given
//
// It starts in the workspace, or in working_dir below it. Its environment is complete; nothing is inherited from deed:
//
//	PATH                 from the base environment, else DefaultPath
//	HOME, TMPDIR         directories of the attempt
//	USER, LOGNAME        the user that runs deed; in a sandbox the one there
//	SHELL, LANG, TZ      /bin/sh, C.UTF-8, UTC
//	DEED_TASK_ID, DEED_ATTEMPT_ID
//	DEED_WORKSPACE       the agent's working copy
//	DEED_ARTIFACTS       where declared artifacts go
//	DEED_PAYLOAD_FILE    the payload, JSON
//	DEED_BUNDLES         the bundles of earlier steps, in a workflow
//	DEED_BRIEF_FILE      the brief, text
//	DEED_RESULT_FILE     where the result goes, JSON; there is no such file yet
//	DEED_SKILLS          a folder for each skill of the task, when it has any; their commands are at the end of PATH
//	AGENT_RUNTIME_NAME, _TASK_ID, _ATTEMPT_ID, _ARTIFACT_DIR, _STATE_DIR
//	AGENT_RUNTIME_TASK_PAYLOAD_JSON   unless the payload is larger than 96 KiB
//
// In this order, and a later one wins: the fixed names, the base environment, env_file, env, the task's secrets. Names
// that begin with DEED_ or AGENT_RUNTIME_ are deed's own and are refused from anywhere else.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Config is what every adapter that starts a process says of it, and what every agent CLI adds.
type Config struct {
	Command    string
	WorkingDir string
	EnvFile    string
	Env        map[string]string
	ExtraArgs  []string
	TimeoutMS  int64

	Model        string
	Sandbox      string // read-only, workspace-write or danger-full-access; empty: the driver's default
	Profile      string // of its autonomy; empty: none is declared
	RequiredArgs []string
}

// Of returns what an adapter says of its process; ok is false for one that starts none.
func Of(a agentruntime.AdapterConfig) (c Config, ok bool) {
	switch a.Kind() {
	case "", agentruntime.KindOllamaGenerate, agentruntime.KindNative:
		return Config{}, false
	}
	m := a.Common()
	return Config{
		Command: m.Command, WorkingDir: m.WorkingDir, EnvFile: m.EnvFile, Env: m.Env, ExtraArgs: m.ExtraArgs, TimeoutMS: m.TimeoutMS,
		Model: m.Model, Sandbox: m.Sandbox, Profile: m.Profile, RequiredArgs: m.RequiredArgs,
	}, true
}

// An Agent is the program of one attempt, ready to be run: found, with its environment, its directory and its files.
type Agent struct {
	Job     driver.Job
	Config  Config
	Name    string // for messages: "the script", "codex"
	Program string // the file to execute, on this machine
	Dir     string // where it starts, on this machine
	Direct  bool   // the program goes by its own name, links and all: what it lies in is seen whole
	Vars    Vars
	Timeout time.Duration

	// Opened before the agent runs, so that what it does to the names does not matter.
	run, exchange, artifacts *os.Root
}

// Prepare checks everything that can be wrong before a process is started, and writes the files for the agent. Without a
// program, the adapter's command is looked up on the PATH of its environment.
func Prepare(j driver.Job, name, program string) (*Agent, error) {
	op := "start " + name
	c, ok := Of(j.Adapter)
	switch {
	case !ok:
		return nil, failure.New(failure.Config, op, fmt.Errorf("adapter %q of kind %q starts no process", j.Adapter.ID(), j.Adapter.Kind()), "")
	case j.Supervisor == nil:
		return nil, failure.New(failure.Infra, op, errors.New("there is no supervisor"), "")
	}
	a := &Agent{Job: j, Config: c, Name: name, Program: program, Timeout: j.Timeout}
	if a.Timeout <= 0 {
		a.Timeout = time.Duration(c.TimeoutMS) * time.Millisecond
	}
	if a.Timeout <= 0 {
		return nil, failure.New(failure.Config, op, fmt.Errorf("timeout_ms is %d", c.TimeoutMS), "give the adapter a timeout_ms above 0")
	}
	var err error
	if a.Vars, err = Environ(j, c); err != nil {
		return nil, err
	}
	if a.Dir, err = workingDir(j.Dirs.Workspace, c.WorkingDir); err != nil {
		return nil, err
	}
	if a.Program == "" {
		if a.Program, err = FindCommand(c.Command, a.Vars["PATH"].Value, a.Dir); err != nil {
			return nil, err
		}
	}
	if err := a.open(); err != nil {
		_ = a.Close()
		return nil, failure.New(failure.Infra, "prepare the agent's files", err, "")
	}
	return a, nil
}

// open makes what the agent finds in the exchange directory.
func (a *Agent) open() (err error) {
	if a.run, err = os.OpenRoot(a.Job.Dirs.Run); err != nil {
		return err
	}
	if a.artifacts, err = os.OpenRoot(a.Job.Dirs.Artifacts); err != nil {
		return err
	}
	if a.exchange, err = os.OpenRoot(a.Job.Dirs.Exchange); err != nil {
		return err
	}
	for _, name := range []string{payloadFile, briefFile, resultFile} { // an earlier session's
		if err = a.exchange.RemoveAll(name); err != nil {
			return err
		}
	}
	if err = driver.WriteFile(a.exchange, payloadFile, payload(a.Job)); err != nil {
		return err
	}
	return driver.WriteFile(a.exchange, briefFile, []byte(a.Job.Brief))
}

// Payload opens the task's payload for reading.
func (a *Agent) Payload() (*os.File, error) { return a.exchange.Open(payloadFile) }

// Close closes what the agent holds. No process is left after a run.
func (a *Agent) Close() error {
	var errs []error
	for _, r := range []*os.Root{a.exchange, a.artifacts, a.run} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// Model is the one that is asked for: the job's, else the adapter's; empty: the agent's own default.
func (a *Agent) Model() string { return cmp.Or(a.Job.Model, a.Config.Model) }

// Ready looks for a command and for the environment file. A bare command is looked up on deed's own PATH, which is the
// base environment's unless an operator says otherwise. install, when given, says how to get the command.
func Ready(_ context.Context, c Config, install string) driver.Readiness {
	var r driver.Readiness
	if _, err := FindCommand(c.Command, OwnPath(c), "/"); err != nil {
		m := driver.MissingFor("command", err)
		if install != "" && failure.ClassOf(err) == failure.Spawn {
			m.Remedy = install
		}
		r.Missing = append(r.Missing, m)
	}
	if c.EnvFile != "" {
		if _, err := readEnvFile(c.EnvFile); err != nil {
			r.Missing = append(r.Missing, driver.MissingFor("env_file", err))
		}
	}
	r.Ready = len(r.Missing) == 0
	return r
}

// OwnPath is the PATH on which deed itself finds an adapter's command: the adapter's, else deed's own.
func OwnPath(c Config) string {
	if p := c.Env["PATH"]; p != "" {
		return p
	}
	return os.Getenv("PATH")
}
