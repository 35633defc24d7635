// Package drivertest owns the conformance suite of package driver: what every driver must do whatever agent it runs.
// It has no driver of its own.
package drivertest

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A Part is what a script of the suite plays.
type Part string

// The parts.
const (
	// Program is the agent's program, or a stand-in for it.
	Program Part = "program"
	// Command is a command that the agent's model has its tool run. The model then says that it is done.
	Command Part = "command"
	// Model is the model at an endpoint: what it prints is what the agent says, and nothing of it runs on this machine.
	Model Part = "model"
	// Provider is a program whose standard output is its answer, and nothing else: what it says otherwise goes to the other
	// stream.
	Provider Part = "provider"
)

// A Harness makes a driver run a shell script: see Part.
//
// The suite's scripts use these, which the harness defines in Prelude as shell functions:
//
//	finish JSON     hand back a result, and end
//	ended           end as an agent does that has said all in its result file
//	say TEXT        write a line to the agent's own output
type Harness struct {
	Driver  driver.Driver
	Part    Part // empty: Program
	Prelude string
	// Adapter returns the configuration that runs the executable file at path, with a timeout. An agent whose brief is Mute
	// ends without a word.
	Adapter func(path string, timeout time.Duration) agentruntime.AdapterConfig
	Light   bool // leave out what takes seconds; for a second harness of the same driver
}

// Secret is what an agent of the suite lets slip, in all ways that it has.
const Secret = "hunter2-hunter2-hunter2"

// SilentBrief is the brief of an agent that says nothing at all.
const SilentBrief = "Do not say a word."

// Main is the TestMain of a package that runs the suite: it makes the test binary its own supervisor, and the
// inner half of its own sandboxes.
func Main(m *testing.M, run func(*testing.M)) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	run(m)
}

// A Bench is one job with its directories, ready to run.
type Bench struct {
	T   testing.TB
	H   Harness
	Job driver.Job

	agent string // the script's file

	mu     sync.Mutex
	events []event // guarded by mu
}

type event struct {
	kind   string
	detail any
}

// New makes a bench for a script.
func New(t testing.TB, h Harness, script string) *Bench {
	t.Helper()
	dir := t.TempDir()
	h.Part = cmp.Or(h.Part, Program)
	b := &Bench{T: t, H: h}
	mk := func(name string) string {
		p := filepath.Join(dir, name)
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
		return p
	}
	b.agent = filepath.Join(dir, "agent")
	b.script(script)
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
	})
	b.Job = driver.Job{
		TaskID: uuid.NewString(), AttemptID: uuid.NewString(), TaskType: "test",
		Adapter: h.Adapter(b.agent, time.Minute),
		Payload: json.RawMessage(`{"n": 9007199254740993}`), Brief: "Do the work.\n",
		Dirs:       driver.Dirs{Workspace: mk("workspace"), Home: mk("home"), Tmp: mk("tmp"), Artifacts: mk("artifacts"), Exchange: mk("exchange"), Run: mk("run")},
		Grace:      100 * time.Millisecond,
		Supervisor: sup,
	}
	return b
}

func (b *Bench) script(text string) {
	b.T.Helper()
	if err := os.WriteFile(b.agent, []byte("#!/bin/sh\n"+b.H.Prelude+"\n"+text+"\n"), 0o700); err != nil {
		b.T.Fatal(err)
	}
}

// contain puts the job into a sandbox, as an attempt does, with what the spec adds.
func (b *Bench) contain(spec sandbox.Spec) {
	b.T.Helper()
	if testing.Short() {
		b.T.Skip("short: needs a sandbox")
	}
	d := b.Job.Dirs
	spec.Kind = sandbox.Namespace
	spec.Mounts = append(spec.Mounts,
		sandbox.Mount{Source: d.Workspace, Target: "/workspace", Writable: true}, sandbox.Mount{Source: d.Home, Target: "/home/agent", Writable: true},
		sandbox.Mount{Source: d.Artifacts, Target: "/run/deed/artifacts", Writable: true},
		sandbox.Mount{Source: d.Exchange, Target: "/run/deed/exchange", Writable: true})
	box, err := sandbox.New(b.T.Context(), spec)
	if failure.ClassOf(err) == failure.Isolation {
		b.T.Skipf("missing tool: bwrap: apt-get install bubblewrap: %v", err)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	b.Job.Sandbox, b.Job.BaseEnv = box, box.Env()
}

// Secrets gives the job secrets and the redactor that goes with them.
func (b *Bench) Secrets(secrets map[string]string) {
	b.Job.Secrets, b.Job.Redactor = secrets, redact.New(secrets)
}

// Event keeps what the driver reports.
func (b *Bench) Event(kind string, detail any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event{kind, detail})
}

// Kinds returns the kinds of the events so far.
func (b *Bench) Kinds() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]string, len(b.events))
	for i, e := range b.events {
		out[i] = e.kind
	}
	return out
}

// Turn runs the job's first turn, closes the session, and checks what holds for every turn: no process is left, and
// every path that is given names a regular file of deed's record.
func (b *Bench) Turn(ctx context.Context) driver.Yield {
	b.T.Helper()
	s, err := b.H.Driver.Start(ctx, b.Job)
	if err != nil {
		b.T.Fatal(err)
	}
	y, err := s.Turn(ctx, driver.Input{Turn: 1}, b)
	if err != nil {
		b.T.Fatal(err)
	}
	for range 2 {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			b.T.Error(err)
		}
	}
	b.MustBeGone()
	for _, p := range []string{y.StdoutPath, y.StderrPath, y.ResultPath, y.LastMessagePath} {
		if p == "" {
			continue
		}
		st, err := os.Lstat(p)
		if err != nil || !st.Mode().IsRegular() {
			b.T.Errorf("%s: %v, %v", p, st, err)
		}
		if rel, err := filepath.Rel(b.Job.Dirs.Run, p); err != nil || !filepath.IsLocal(rel) {
			b.T.Errorf("%s is not below %s", p, b.Job.Dirs.Run)
		}
	}
	if (y.Err == nil) != (y.Class == "none") {
		b.T.Errorf("class %s with error %v", y.Class, y.Err)
	}
	if y.ExitStatus != y.Class.Rule().Exit {
		b.T.Errorf("class %s with exit status %s", y.Class, y.ExitStatus)
	}
	return y
}

// MustBeGone asserts that no process of the attempt is left.
func (b *Bench) MustBeGone() {
	b.T.Helper()
	left, err := proc.FindByEnv("DEED_ATTEMPT_ID", b.Job.AttemptID)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, pid := range left {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
		b.T.Errorf("process left: %d %q", pid, cmdline)
	}
}

// ReadFile reads a file that must be there.
func (b *Bench) ReadFile(path string) string {
	b.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.T.Fatal(err)
	}
	return string(data)
}
