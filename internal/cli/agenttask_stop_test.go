package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/store"
)

// An asking is an agent-task-run under way.
type asking struct {
	s        *site
	cmd      *exec.Cmd
	out, err bytes.Buffer
	progress string
	bundle   string // artifacts_path
}

// workRequest writes a request whose workspace has main.txt to fix, and whose bundle has a place of its own.
func (s *site) workRequest(members map[string]any) string {
	s.t.Helper()
	req := map[string]any{
		"agent": "work", "allowed_tools": []string{"workspace.read", "workspace.write"}, "artifacts_path": filepath.Join(s.dir, "out", "bundle"),
	}
	maps.Copy(req, members)
	file := s.request("work", req)
	writeFile(s.t, filepath.Join(s.dir, "src", "main.txt"), "broken\n")
	return file
}

// ask starts an agent-task-run.
func (s *site) ask(env []string, members map[string]any) *asking {
	s.t.Helper()
	q := &asking{s: s, progress: filepath.Join(s.dir, "progress.jsonl"), bundle: filepath.Join(s.dir, "out", "bundle")}
	q.cmd = s.command(env, "agent-task-run", "--input-file="+s.workRequest(members), "--json", "--progress-file="+q.progress)
	q.start()
	return q
}

func (q *asking) start() {
	q.s.t.Helper()
	q.cmd.Stdout, q.cmd.Stderr = &q.out, &q.err
	if err := q.cmd.Start(); err != nil {
		q.s.t.Fatal(err)
	}
	q.s.t.Cleanup(func() { _ = q.cmd.Process.Kill() })
}

// wait waits for the end and returns the envelope, which must be the only thing on standard output.
func (q *asking) wait(code int) codebox.AgentTaskRun {
	q.s.t.Helper()
	err := q.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		q.s.t.Fatal(err)
	}
	env := envelope(q.s.t, q.out.String())
	if got := q.cmd.ProcessState.ExitCode(); got != code {
		q.s.t.Fatalf("exit %d, want %d: %s", got, code, env.AgentTaskRunResult.Summary)
	}
	return env
}

// reached waits until the run has reported a step.
func (q *asking) reached(step string) {
	q.s.t.Helper()
	q.s.until("the step "+step, func() bool {
		text, err := os.ReadFile(q.progress)
		return err == nil && strings.Contains(string(text), `"step":"`+step+`"`)
	})
}

// running waits until a process has a variable.
func (s *site) running(name, value string) {
	s.t.Helper()
	s.until("a process with "+name, func() bool {
		pids, err := proc.FindByEnv(name, value)
		return err == nil && len(pids) > 0
	})
}

// clean asserts that nothing of any run is left but bundles and records.
func (s *site) clean() {
	s.t.Helper()
	s.noProcess()
	for _, d := range []string{"attempts", "tmp"} {
		if left, _ := os.ReadDir(filepath.Join(s.home, d)); len(left) != 0 {
			s.t.Errorf("%s holds %v", d, left)
		}
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil && strings.Contains(string(text), s.home) {
		s.t.Errorf("something is mounted below the home:\n%s", text)
	}
	left, _ := os.ReadDir(filepath.Join(s.dir, "out"))
	for _, e := range left {
		if e.Name() != "bundle" && !(strings.HasPrefix(e.Name(), "run_") && strings.HasSuffix(e.Name(), ".json")) {
			s.t.Errorf("%s is left beside the bundle", e.Name())
		}
	}
}

// runStatus returns the states of the recorded runs.
func (s *site) runStatus() []evidence.RunStatus {
	s.t.Helper()
	var doc struct {
		Runs []struct {
			Status evidence.RunStatus `json:"status"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(s.ok("runs", "list", "--json")), &doc); err != nil {
		s.t.Fatal(err)
	}
	var out []evidence.RunStatus
	for _, r := range doc.Runs {
		out = append(out, r.Status)
	}
	return out
}

const (
	sleepyAgent = `trap '' TERM; (setsid sleep 300 >/dev/null 2>&1 &); sleep 300`
	quickAgent  = `echo fixed > main.txt`
)

// If the place for the bundle is taken while the run is under way, the run fails: what is there belongs to somebody
// else.
func TestArtifactsPathIsTaken(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": "sleep 8; " + quickAgent})
	q := s.ask(nil, nil)
	q.reached("started")
	if err := os.MkdirAll(q.bundle, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(q.bundle, "theirs"), "x")
	env := q.wait(ExitInfra)
	if env.Success || env.Artifacts == q.bundle || env.RunMetadata.RunStatus != evidence.RunFailed ||
		!slices.ContainsFunc(env.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == "deed.artifacts_path" }) {
		t.Errorf("%+v", env)
	}
	if text, err := os.ReadFile(filepath.Join(q.bundle, "theirs")); err != nil || string(text) != "x" {
		t.Errorf("what was there is gone: %v", err)
	}
	s.ok("verify", env.Artifacts)
}

// A signal is answered with one envelope, in whatever phase it comes, and nothing is left.
func TestAgentTaskSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run("waiting/"+sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"work": quickAgent})
			q := &asking{s: s}
			q.cmd = s.command(nil, "agent-task-run", "--input-file=-", "--json")
			in, err := q.cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			q.start()
			// More than a pipe holds: when it is written, deed reads, and reacts to signals.
			if _, err := io.WriteString(in, strings.Repeat(" ", 1<<20)); err != nil {
				t.Fatal(err)
			}
			send(t, q, sig)
			cancelled(t, q.wait(ExitInterrupted))
			if _, err := os.Lstat(s.home); err == nil {
				t.Error("a home was made for a request that never came")
			}
		})
		for phase, members := range map[string]map[string]any{
			"agent": nil,
			"check": {"agent": "quick", "verify_steps": []any{map[string]any{"name": "slow", "shell": "trap '' TERM; setsid sleep 300 & sleep 300"}}},
		} {
			t.Run(phase+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, map[string]string{"work": sleepyAgent, "quick": quickAgent})
				q := s.ask(nil, members)
				if phase == "check" {
					q.reached("check")
				} else {
					s.running("MARK", s.mark)
				}
				send(t, q, sig)
				env := q.wait(ExitInterrupted)
				cancelled(t, env)
				s.clean()
				if got := s.runStatus(); !slices.Equal(got, []evidence.RunStatus{evidence.RunCancelled}) {
					t.Errorf("the run is recorded as %v", got)
				}
				onlyTask(t, s, agentruntime.TaskOperatorCanceled)
				if env.Artifacts != q.bundle {
					t.Errorf("the bundle is %q, want %q", env.Artifacts, q.bundle)
				}
				s.ok("verify", q.bundle)
			})
		}
	}
}

func send(t *testing.T, q *asking, sig syscall.Signal) {
	t.Helper()
	if err := q.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func cancelled(t *testing.T, env codebox.AgentTaskRun) {
	t.Helper()
	if env.Success || env.Session.Status != evidence.SessionCancelled || env.RunMetadata.RunStatus != evidence.RunCancelled ||
		env.AgentTaskRunResult.FailureClassification != "cancelled" {
		t.Errorf("session %s, run %s, classification %s: want cancelled", env.Session.Status, env.RunMetadata.RunStatus, env.AgentTaskRunResult.FailureClassification)
	}
}

// onlyTask asserts that there is one task, in a state in which it is not run again.
func onlyTask(t *testing.T, s *site, want ...agentruntime.TaskStatus) {
	t.Helper()
	tasks, err := s.open().Tasks(t.Context(), store.TaskFilter{Limit: 10})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	if got := tasks[0].Record.Status; !slices.Contains(want, got) {
		t.Errorf("the task is %s, want one of %s", got, want)
	}
}

// Another process cancels the run.
func TestAgentTaskCancelledFromOutside(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": sleepyAgent})
	q := s.ask(nil, nil)
	s.running("MARK", s.mark)
	text, err := os.ReadFile(q.progress)
	if err != nil {
		t.Fatal(err)
	}
	var line struct {
		RunID string `json:"run_id"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&line); err != nil {
		t.Fatal(err)
	}
	s.ok("runs", "cancel", line.RunID, "--reason", "not needed")
	env := q.wait(ExitNotDone)
	cancelled(t, env)
	if env.RunMetadata.RunID != line.RunID {
		t.Errorf("the envelope is of run %s, want %s", env.RunMetadata.RunID, line.RunID)
	}
	s.clean()
	onlyTask(t, s, agentruntime.TaskOperatorCanceled)
	if got := s.runStatus(); !slices.Equal(got, []evidence.RunStatus{evidence.RunCancelled}) {
		t.Errorf("the run is recorded as %v", got)
	}
}

// After kill -9 at any step, `deed cleanup` leaves nothing, closes the record, and the task is not run again.
func TestAgentTaskKilled(t *testing.T) {
	t.Parallel()
	var points []crashpoint.Point
	for _, p := range slices.Concat(crashpoint.All, crashpoint.Runs) {
		// One transaction enqueues and claims, nothing is delivered, and the record ends with nothing left to clean up.
		if !strings.HasPrefix(string(p), "enqueue.") && !strings.HasPrefix(string(p), "deliver.") && p != crashpoint.RunEnded {
			points = append(points, p)
		}
	}
	for _, p := range append(points, "agent", "check") {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"work": crashAgent, "sleepy": sleepyAgent})
			members := map[string]any{}
			switch p {
			case "agent":
				members["agent"] = "sleepy"
			case "check":
				members["verify_steps"] = []any{map[string]any{"shell": "setsid sleep 300 & sleep 300"}}
			}
			q := s.ask([]string{"DEED_CRASHPOINT=" + string(p)}, members)
			switch p {
			case "agent":
				s.running("MARK", s.mark)
				send(t, q, syscall.SIGKILL)
			case "check":
				q.reached("check")
				send(t, q, syscall.SIGKILL)
			}
			_ = q.cmd.Wait()
			if ws, ok := q.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
				t.Fatalf("it was not killed: %s\n%s%s", q.cmd.ProcessState, q.out.String(), q.err.String())
			}
			s.noProcess()
			if p == "agent" {
				if o := s.deed(nil, "runs", "list"); !strings.Contains(o.stdout, ", gone") || !strings.Contains(o.stderr, "settles it") {
					t.Errorf("deed runs list:\n%s%s", o.stdout, o.stderr)
				}
			}
			s.ok("cleanup")
			s.clean()
			if o := s.deed(nil, "runs", "list"); strings.Contains(o.stdout+o.stderr, "gone") {
				t.Errorf("deed runs list:\n%s%s", o.stdout, o.stderr)
			}
			for _, st := range s.runStatus() {
				if !slices.Contains([]evidence.RunStatus{evidence.RunSucceeded, evidence.RunFailed, evidence.RunCancelled, evidence.RunTimedOut}, st) {
					t.Errorf("the run is recorded as %s", st)
				}
			}
			if out := s.ok("dispatch"); strings.TrimSpace(out) != "" {
				t.Errorf("a dispatcher did something behind the caller's back: %s", out)
			}
			onlyTask(t, s, agentruntime.TaskCompleted, agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled)
			s.tidy()
			if again := s.ok("cleanup", "--dry-run"); strings.Contains(again, "planned") {
				t.Errorf("something is left to clean up: %s", again)
			}
		})
	}
}
