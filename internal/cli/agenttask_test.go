package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
)

// request writes a request for an agent of the site and returns its file.
func (s *site) request(agent string, more map[string]any) string {
	s.t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		s.t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	src := filepath.Join(s.dir, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "a.txt"), []byte("broken\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	r := map[string]any{
		"schema": codebox.SchemaTaskInput, "goal": "fix it", "agent": agent, "sandbox_session_id": "session-1",
		"workspaces": []any{map[string]any{"target": "/workspace/src", "seed": map[string]any{"type": "directory", "source": src}}},
	}
	for k, v := range more {
		r[k] = v
	}
	text, err := json.Marshal(r)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.dir, "request.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// envelope reads the one document that standard output must be.
func envelope(t *testing.T, stdout string) codebox.AgentTaskRun {
	t.Helper()
	env, err := schema.Decode[codebox.AgentTaskRun](codebox.SchemaAgentTaskRun, []byte(stdout)) // also refuses a second document
	if err != nil {
		t.Fatalf("standard output is not one envelope: %v\n%s", err, stdout)
	}
	return env
}

// The answer to the caller, the bundle, the record and the exit code of the command agree.
func TestAgentTaskRunTellsOneStory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		more   map[string]any
		exit   int
		status string
		run    evidence.RunStatus
		failed string // the phase
	}{
		"accepted":  {"echo fixed >a.txt", map[string]any{"verify_steps": []any{map[string]any{"shell": "grep -q fixed a.txt"}}}, ExitDone, evidence.StatusSucceeded, evidence.RunSucceeded, ""},
		"unchanged": {"exit 0", nil, ExitDone, evidence.StatusNoOp, evidence.RunSucceeded, ""},
		"rejected":  {"exit 0", map[string]any{"expected_artifacts": []any{"patch"}}, ExitNotDone, evidence.StatusFailed, evidence.RunFailed, evidence.PhaseNameProbes},
		"crashed":   {"echo boom >&2; exit 7", nil, ExitNotDone, evidence.StatusFailed, evidence.RunFailed, evidence.PhaseNameWorkloads},
		"late":      {"exec sleep 60", map[string]any{"task_timeout_seconds": 5}, ExitNotDone, evidence.StatusTimeout, evidence.RunTimedOut, evidence.PhaseNameWorkloads},
		"blocked":   {`echo '{"status": "blocked", "machine_status": "blocked", "operator_summary": "which one?"}'`, nil, ExitNotDone, evidence.StatusUnable, evidence.RunFailed, evidence.PhaseNameWorkloads},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"agent": c.script})
			out := filepath.Join(s.dir, "made", "for", "it", "out")
			more := map[string]any{"artifacts_path": out}
			for k, v := range c.more {
				more[k] = v
			}
			o := s.deed(nil, "agent-task-run", "--input-file="+s.request("agent", more), "--json")
			env := envelope(t, o.stdout)
			if o.code != c.exit || env.AgentTaskRunResult.Status != c.status || env.RunMetadata.RunStatus != c.run {
				t.Errorf("exit %d, %s, run %s; want %d, %s, %s\n%s", o.code, env.AgentTaskRunResult.Status, env.RunMetadata.RunStatus, c.exit, c.status, c.run, o.stdout)
			}
			s.sameAccount(env, out)
			phases := ""
			for _, p := range s.record(env).phases {
				if p.Status == evidence.PhaseFailed {
					phases += p.Name
				}
			}
			if phases != c.failed {
				t.Errorf("failed phases: %q, want %q", phases, c.failed)
			}
			s.tidy()
		})
	}
}

// A runRecord is what a caller reads of a run afterwards.
type runRecord struct {
	evidence.RunRegistryEntry
	phases []evidence.RunPhaseEvidence
}

func (s *site) record(env codebox.AgentTaskRun) runRecord {
	s.t.Helper()
	var r runRecord
	if err := json.Unmarshal([]byte(s.ok("runs", "show", env.RunMetadata.RunID, "--json")), &r.RunRegistryEntry); err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(r.Metadata[evidence.MetaResourceEvidence])
	var ev evidence.RunResourceEvidence
	if err == nil {
		err = json.Unmarshal(text, &ev)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r.phases = ev.Phases
	return r
}

// sameAccount compares the envelope with the bundle where the caller wants it, and with the run's record.
func (s *site) sameAccount(env codebox.AgentTaskRun, dir string) {
	s.t.Helper()
	if env.Artifacts != dir {
		s.t.Errorf("the bundle is %q, not %q", env.Artifacts, dir)
	}
	s.ok("artifacts", "verify", dir)
	var outcome evidence.CompletionOutcome
	text, err := os.ReadFile(filepath.Join(dir, evidence.PathCompletionOutcome))
	if err == nil {
		err = json.Unmarshal(text, &outcome)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if e := env.CompletionOutcome; outcome.Status != e.Status || outcome.NextAction != e.NextAction || outcome.Summary != e.Summary {
		s.t.Errorf("the bundle says %s, %s, %q and the envelope %s, %s, %q", outcome.Status, outcome.NextAction, outcome.Summary, e.Status, e.NextAction, e.Summary)
	}
	r := s.record(env)
	if r.Status != env.RunMetadata.RunStatus {
		s.t.Errorf("the record says %s and the envelope %s", r.Status, env.RunMetadata.RunStatus)
	}
	if len(r.ArtifactRefs) != 1 || r.ArtifactRefs[0].Directory != dir || r.ArtifactRefs[0].ID != env.Session.Artifacts.BundleID {
		s.t.Errorf("references of the record: %+v", r.ArtifactRefs)
	}
	if left := s.ok("runs", "artifacts", r.RunID); !strings.Contains(left, dir) {
		s.t.Errorf("runs artifacts does not name the bundle:\n%s", left)
	}
}

// A signal ends the run, and all its records say so.
func TestAgentTaskRunIsToldToStop(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exec sleep 60"})
	out, progress := filepath.Join(s.dir, "out"), filepath.Join(s.dir, "progress.jsonl")
	c := s.command(nil, "agent-task-run", "--input-file="+s.request("agent", map[string]any{"artifacts_path": out}), "--json", "--progress-file="+progress)
	var stdout bytes.Buffer
	c.Stdout = &stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.until("the agent runs", func() bool {
		text, err := os.ReadFile(progress)
		return err == nil && strings.Contains(string(text), `"step":"started"`)
	})
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != ExitInterrupted {
		t.Errorf("exit %d (%v), want %d", c.ProcessState.ExitCode(), err, ExitInterrupted)
	}
	env := envelope(t, stdout.String())
	if env.Session.Status != evidence.SessionCancelled || env.CompletionOutcome.NextAction != evidence.NextRetry || strings.Contains(stdout.String(), "operator") {
		t.Errorf("session %s, next %s:\n%s", env.Session.Status, env.CompletionOutcome.NextAction, stdout.String())
	}
	s.sameAccount(env, out)
	s.noProcess()
	s.tidy()
}

// A signal takes effect also while a command waits for input.
func TestCommandsAreStoppedWhileTheyRead(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"agent-task-run", "--input-file=-", "--json"}, {"ability-run", "--input-file=-", "--json"}, {"schema", "validate", codebox.SchemaTaskInput, "-"}} {
		s := newSite(t, map[string]string{"agent": "exit 0"})
		c := s.command(nil, args...)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		c.Stdout = &stdout
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, deed reads, and has set up its signals long since.
		if _, err := in.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); c.ProcessState.ExitCode() != ExitInterrupted {
			t.Errorf("%v: exit %d (%v), want %d", args, c.ProcessState.ExitCode(), err, ExitInterrupted)
		}
		if args[0] != "agent-task-run" {
			continue
		}
		if env := envelope(t, stdout.String()); env.AgentTaskRunResult.FailureClassification != "cancelled" {
			t.Errorf("classified as %q", env.AgentTaskRunResult.FailureClassification)
		}
	}
}

// A place for the bundle that cannot be made refuses the request before there is a task.
func TestAgentTaskRunHasNoPlaceForItsBundle(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	for _, place := range []string{"/proc/none/out", "/proc/none"} { // which claims that root may write to it
		o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": place}))
		env := envelope(t, o.stdout)
		if got := env.AgentTaskRunResult.FailureClassification; o.code != ExitUsage || got != "invalid_request" || len(env.Diagnostics) != 1 || env.Diagnostics[0].Path != "$.artifacts_path" {
			t.Errorf("%s: exit %d, %s, %+v", place, o.code, got, env.Diagnostics)
		}
	}
	if list := s.ok("task", "list", "--json"); strings.Contains(list, "agent-task") {
		t.Errorf("a refused request was queued:\n%s", list)
	}
}

// What a request names and the machine does not have is reported by its path in the request, all of it at once, before there is a
// task.
func TestAgentTaskRunRefusesSources(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	repo := filepath.Join(s.dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	file := filepath.Join(s.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	part := func(target string, seed map[string]any) any { return map[string]any{"target": target, "seed": seed} }
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"workspaces": []any{
		part("/a", map[string]any{"type": "directory", "source": file}),
		part("/b", map[string]any{"type": "git", "source": repo, "ref": "nowhere"}),
		part("/c", map[string]any{"type": "git", "source": filepath.Join(s.dir, "src"), "ref": "main"}),
		part("/d", map[string]any{"type": "git", "source": repo, "ref": "HEAD"}),
	}}))
	var paths []string
	for _, d := range envelope(t, o.stdout).Diagnostics {
		paths = append(paths, d.Path)
	}
	want := []string{"$.workspaces[0].seed.source", "$.workspaces[1].seed.ref", "$.workspaces[2].seed.source"}
	if o.code != ExitUsage || !slices.Equal(paths, want) {
		t.Errorf("exit %d, %v\n%s", o.code, paths, o.stdout)
	}
	if list := s.ok("task", "list", "--json"); strings.Contains(list, "agent-task") {
		t.Errorf("a refused request was queued:\n%s", list)
	}
}

// A directory cannot be mounted on a file of the workspace. That is the request's fault, not the machine's.
func TestAgentTaskRunCannotMountThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	dir := t.TempDir()
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"mounts": []any{
		map[string]any{"source": dir, "target": "/workspace/src/a.txt", "mode": "readonly"},
	}}))
	at := func(d evidence.Diagnostic) bool {
		return d.Path == "$.mounts[0].target" && strings.Contains(d.Message, "is a directory")
	}
	if env := envelope(t, o.stdout); o.code != ExitUsage || !slices.ContainsFunc(env.Diagnostics, at) {
		t.Errorf("exit %d\n%s", o.code, o.stdout)
	}
}

// A request that is refused when its components are looked at leaves the place of its bundle free: the corrected one has it.
func TestAgentTaskRunRefusedLeavesItsPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	out := filepath.Join(s.dir, "out", "bundle")
	component := t.TempDir() // without an entry file
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{
		"artifacts_path": out, "component_contracts": []any{map[string]any{"slug": "c1", "path": component}},
	}))
	if _, err := os.Lstat(out); o.code != ExitUsage || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("exit %d, %v\n%s", o.code, err, o.stdout)
	}
	if env := envelope(t, o.stdout); env.Artifacts == out {
		t.Errorf("the envelope names %s", env.Artifacts)
	}
	if o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": out})); o.code != ExitDone {
		t.Errorf("exit %d\n%s", o.code, o.stdout)
	}
}

// What an agent did before it was ended is evidence, whatever ended it: the time limit of the request, that of its adapter, or a
// signal.
func TestAgentTaskRunKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		adapter string // further settings
		request map[string]any
		signal  bool
		status  string
	}{
		"time limit":   {"timeout_ms: 600000", map[string]any{"task_timeout_seconds": 2}, false, evidence.StatusTimeout},
		"of its own":   {"timeout_ms: 2000", nil, false, evidence.StatusTimeout},
		"interruption": {"timeout_ms: 600000", nil, true, evidence.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"agent": `echo changed >>a.txt; echo art >"$DEED_ARTIFACTS/report.md"; echo on the way; sleep 600`})
			settings := filepath.Join(s.dir, "deed.yaml")
			text, err := os.ReadFile(settings)
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`timeout_ms: \d+`).ReplaceAll(text, []byte(c.adapter))
			if err := os.WriteFile(settings, text, 0o600); err != nil {
				t.Fatal(err)
			}
			progress := filepath.Join(s.dir, "progress.jsonl")
			cmd := s.command(nil, "agent-task-run", "--json", "--progress=jsonl", "--progress-file="+progress, "--input-file="+s.request("agent", c.request))
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.signal {
				s.until("the agent works", func() bool {
					found, _ := filepath.Glob(filepath.Join(s.home, "attempts", "*", "artifacts", "report.md"))
					return len(found) == 1
				})
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
			_ = cmd.Wait()
			env := envelope(t, out.String())
			if env.AgentTaskRunResult.Status != c.status || env.AgentResult.ChangedFiles.Count != 1 {
				t.Fatalf("%s", out.String())
			}
			if got, err := os.ReadFile(filepath.Join(env.Artifacts, evidence.PathPatch)); err != nil || !strings.Contains(string(got), "+changed") {
				t.Errorf("the patch is %q, %v", got, err)
			}
			if found, _ := filepath.Glob(filepath.Join(env.Artifacts, "files", "artifacts", "*report.md")); len(found) != 1 {
				t.Errorf("the artifact is not in %s", env.Artifacts)
			}
			s.ok("artifacts", "verify", env.Artifacts)
		})
	}
}

// A caller finds its runs by the session that it named.
func TestRunsOfASession(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	for range 2 {
		s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"sandbox_session_id": "job-7"}))
	}
	s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", nil))
	var list struct{ Runs []evidence.RunRegistryEntry }
	if err := json.Unmarshal([]byte(s.ok("runs", "list", "--session", "job-7", "--json")), &list); err != nil || len(list.Runs) != 2 {
		t.Fatalf("%d runs, %v", len(list.Runs), err)
	}
	if got := s.ok("runs", "show", "job-7"); !strings.Contains(got, list.Runs[0].RunID) || !strings.Contains(got, "job-7") {
		t.Errorf("the newest is %s, not\n%s", list.Runs[0].RunID, got)
	}
	if o := s.deed(nil, "runs", "list", "--session", "job-7", "--task", "t"); o.code != ExitUsage {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}

// The answer says what of the agent's result could not be taken over.
func TestAgentTaskRunTellsWhatItDropped(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `echo '{"status": "completed", "odd": 1, "structured_artifacts": [5, {"name": "a", "type": "t"}, {"name": "b", "type": "t", "provenance": "me"}]}' >"$DEED_RESULT_FILE"`})
	o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", nil))
	env := envelope(t, o.stdout)
	var said []string
	for _, d := range env.Diagnostics {
		said = append(said, d.Class+" "+d.Message)
	}
	const left = "deed.result.dropped left out of the agent's result: "
	want := []string{left + "structured_artifacts[0]: not an object with a name and a type", left + "structured_artifacts[2].provenance: of the wrong type: string", left + `"odd": unknown field`}
	if o.code != ExitDone || !slices.Equal(said, want) || len(env.StructuredArtifacts) != 1 || env.StructuredArtifacts[0].Name != "a" {
		t.Errorf("exit %d, %q\n%s", o.code, said, o.stdout)
	}
}

// An envelope is in its file even when no one reads standard output.
func TestAgentTaskRunKeepsItsResult(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	result := filepath.Join(s.dir, "made", "result.json")
	c := s.command(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", nil), "--result-file="+result)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("missing tool: /dev/full: mount a devtmpfs")
	}
	defer full.Close()
	c.Stdout = full
	if err := c.Run(); c.ProcessState.ExitCode() != ExitInfra {
		t.Errorf("exit %d (%v), want %d: standard output is full", c.ProcessState.ExitCode(), err, ExitInfra)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	if env := envelope(t, string(text)); env.AgentTaskRunResult.Status != evidence.StatusNoOp {
		t.Errorf("the result is %s", env.AgentTaskRunResult.Status)
	}
}

// A result in the place of the bundle would spoil it: nothing is begun, and nothing is written there.
func TestAgentTaskRunKeepsItsResultApart(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "exit 0"})
	out := filepath.Join(s.dir, "out")
	for _, result := range []string{filepath.Join(out, "result.json"), out} {
		o := s.deed(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": out}), "--result-file="+result)
		if env := envelope(t, o.stdout); o.code != ExitUsage || env.Success || !strings.Contains(o.stdout, "name a file beside it") {
			t.Errorf("%s: exit %d\n%s", result, o.code, o.stdout)
		}
		if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was written: %v", result, err)
		}
	}
}

// The bundle says of each workspace whether the agent could write it.
func TestAgentTaskRunRecordsWhatIsReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": "touch /workspace/one/new; touch /workspace/two/new 2>/dev/null && exit 9; exit 0"})
	seed := map[string]any{"type": "directory", "source": filepath.Join(s.dir, "src")}
	out := filepath.Join(s.dir, "out")
	file := s.request("agent", map[string]any{"artifacts_path": out, "workspaces": []any{
		map[string]any{"target": "/workspace/one", "seed": seed}, map[string]any{"target": "/workspace/two", "mode": "readonly", "seed": seed},
	}})
	s.ok("agent-task-run", "--input-file="+file)
	text, err := os.ReadFile(filepath.Join(out, evidence.PathMetadata))
	var doc evidence.Metadata
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, m := range doc.Mounts {
		got[m.Target] = m.Mode
		if m.Index != i {
			t.Errorf("mount %d has the index %d", i, m.Index)
		}
	}
	if got["/workspace/one"] != codebox.ModeReadwrite || got["/workspace/two"] != codebox.ModeReadonly {
		t.Errorf("mounts: %v", got)
	}
}
