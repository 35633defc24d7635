package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/store"
)

// A live fanout is deed in the foreground, with what it prints.
type liveFanout struct {
	*site
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	id        string
}

// startFanout runs a plan whose first task waits until the file "go" is there.
func startFanout(t *testing.T, s *site) *liveFanout {
	t.Helper()
	l := &liveFanout{site: s}
	l.cmd = s.command(nil, append(fanoutArgs, "--concurrency", "1")...)
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.errs
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	s.until("the first task runs", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "ran"))
		return err == nil
	})
	l.id = s.fanoutID()
	return l
}

// end waits for the command and returns its exit code.
func (l *liveFanout) end() int {
	l.t.Helper()
	err := l.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return l.cmd.ProcessState.ExitCode()
}

func (l *liveFanout) status() (d fanoutDoc) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.ok("fanout", "status", l.id, "--json")), &d); err != nil {
		l.t.Fatal(err)
	}
	return d
}

// Edge case 98: a live owner refuses a second start. A signal stops it, it says how to resume, and what was running
// is resumed then.
func TestFanoutIsStoppedAndResumed(t *testing.T) {
	t.Parallel()
	s := newFanoutSite(t, store.SQLite, []string{"wait-1", "ok-1"}, `{}`)
	l := startFanout(t, s)
	if d := l.status(); d.Status != store.FanoutIncomplete || d.Alive == nil || !*d.Alive || d.Running != 1 || d.Pending != 1 {
		t.Errorf("while it runs: %+v", d)
	}
	if o := s.deed(nil, "fanout", "resume", l.id); o.code != ExitUsage || !strings.Contains(o.stderr, "is run by") {
		t.Errorf("a second start: exit %d\n%s", o.code, o.stderr)
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := l.end(); code != ExitInterrupted || !strings.Contains(l.errs.String(), "deed fanout resume "+l.id) {
		t.Errorf("stopped: exit %d\n%s", code, l.errs.String())
	}
	s.noProcess()
	if d := l.status(); d.Status != store.FanoutIncomplete || d.Alive == nil || *d.Alive || d.State != fanoutInterrupted {
		t.Errorf("after the signal: %+v", d)
	}
	writeFile(t, filepath.Join(s.dir, "go"), "")
	if o := s.deed(nil, "fanout", "resume", l.id); o.code != ExitDone {
		t.Fatalf("resumed: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	run := s.checkRun([]string{"wait-1", "ok-1"})
	if tries := triesIn(t, run.Records[0]); len(tries) != 1 {
		t.Errorf("a try that was only interrupted is told %d times", len(tries))
	}
	// Over is over.
	if o := s.deed(nil, "fanout", "resume", l.id); o.code != ExitDone {
		t.Errorf("resumed again: exit %d\n%s", o.code, o.stderr)
	}
	s.tidy()
}

// Edge case 96: a cancel from outside stops what runs, once, and starts nothing more.
func TestFanoutIsCancelled(t *testing.T) {
	t.Parallel()
	s := newFanoutSite(t, store.SQLite, []string{"wait-1", "ok-1", "ok-2"}, `{}`)
	l := startFanout(t, s)
	o := s.deed(nil, "fanout", "cancel", l.id, "--reason", "enough")
	if o.code != ExitNotDone || !strings.Contains(o.stdout, "cancellation_requested") {
		t.Fatalf("cancel: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if code := l.end(); code != ExitNotDone {
		t.Fatalf("the run: exit %d\n%s%s", code, l.out.String(), l.errs.String())
	}
	s.noProcess()
	data, err := os.ReadFile(filepath.Join(s.dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run homeboy.FanoutRun
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	for _, r := range run.Records {
		var out homeboy.Outcome
		if err := json.Unmarshal(r.Outcome, &out); err != nil || out.Status != homeboy.Cancelled {
			t.Errorf("%s is %s (%v)", r.ID, out.Status, err)
		}
	}
	if ran := s.executions(); len(ran) != 1 || len(run.Records) != 3 {
		t.Errorf("%v ran, %d records", ran, len(run.Records))
	}
	s.tidy()
}

// What a killed process ran is reported as interrupted, because the process is not there; and its exclusive keys are free
// for another fanout, even if the fanout is never resumed. Edge cases 88 and 98.
func TestFanoutThatWasKilled(t *testing.T) {
	t.Parallel()
	s := newFanoutSite(t, store.SQLite, []string{"wait-1", "ok-1"}, `{}`)
	file := filepath.Join(s.dir, "plan.json")
	plan, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.ReplaceAll(string(plan), `"limits": {`, `"limits": {"exclusive_resource_keys": ["db"], `))
	writeFile(t, filepath.Join(s.dir, "other.json"), strings.ReplaceAll(`{"schema": "homeboy/fanout-reconcile-plan/v1", "task_requests": [
		{"id": "ok-9", "group_key": "g", "instructions": "go", "executor": {"backend": "chaos", "config": {}}, "limits": {"exclusive_resource_keys": ["db"]}}]}`, "\n", " "))
	l := startFanout(t, s)
	other := s.command(nil, "fanout", "run", "other.json", "--isolation", "process")
	var errs bytes.Buffer
	other.Stderr = &errs
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill() })
	var waits fanoutDoc
	s.until("the other one waits for the key", func() bool {
		list, err := s.open().Fanouts(t.Context(), store.FanoutFilter{})
		if err != nil || len(list) < 2 {
			return false
		}
		if err := json.Unmarshal([]byte(s.ok("fanout", "status", list[0].ID, "--json")), &waits); err != nil {
			t.Fatal(err)
		}
		return len(waits.Waits) == 1
	})
	if w := waits.Waits[0]; w.Key != "db" || w.Fanout != l.id || waits.State != fanoutRuns {
		t.Errorf("it waits: %+v", waits)
	}
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l.end()
	if d := l.status(); d.State != fanoutInterrupted || d.Running != 0 || d.Lost != 1 || len(d.Stopped) != 1 || len(d.Runs) != 0 {
		t.Errorf("after the kill: %+v", d)
	}
	o := s.deed(nil, "fanout", "status", l.id)
	if !strings.Contains(o.stdout, "incomplete, interrupted") || !strings.Contains(o.stderr, "deed fanout resume "+l.id) {
		t.Errorf("after the kill:\n%s%s", o.stdout, o.stderr)
	}
	if err := other.Wait(); err != nil {
		t.Fatalf("the other fanout: %v\n%s", err, errs.String())
	}
	writeFile(t, filepath.Join(s.dir, "go"), "")
	if o := s.deed(nil, "fanout", "resume", l.id); o.code != ExitDone {
		t.Fatalf("resumed: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	s.checkRun([]string{"wait-1", "ok-1"})
	s.tidy()
}

// Edge case 98: the pid of the process that ran a fanout belongs to another process now. That one gets no signal, and does not
// keep the fanout from being resumed.
func TestFanoutOwnerIsAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newFanoutSite(t, store.SQLite, []string{"wait-1", "ok-1"}, `{}`)
	l := startFanout(t, s)
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l.end()
	bystander := exec.Command("sleep", "600")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bystander.Wait() }()
	t.Cleanup(func() {
		_ = bystander.Process.Kill()
		<-ended
	})
	st := s.open()
	f, err := st.Fanout(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	list, err := st.Runners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(r store.Runner) bool { return r.ID == f.Owner })
	if i < 0 || list[i].PID != l.cmd.Process.Pid {
		t.Fatalf("the owner is %q of %+v", f.Owner, list)
	}
	list[i].PID = bystander.Process.Pid
	if err := st.PutRunner(t.Context(), list[i]); err != nil {
		t.Fatal(err)
	}
	if d := l.status(); d.State != fanoutInterrupted || d.Alive == nil || *d.Alive {
		t.Errorf("it is told as %+v", d)
	}
	if o := s.deed(nil, "fanout", "cancel", l.id, "--reason", "never mind"); o.code != ExitDone && o.code != ExitNotDone {
		t.Errorf("cancel: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := s.deed(nil, "fanout", "resume", l.id); o.code != ExitNotDone {
		t.Errorf("resumed: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	select {
	case err := <-ended:
		ended <- err
		t.Errorf("somebody else's process was ended: %v", err)
	default:
	}
	s.tidy()
}

// Edge case 93: a task that ran out of time spoils its own workspace and no other: neither that of a task that runs at the same
// time, nor that of its own next try, nor the directory that all of them are copies of.
func TestFanoutTimeoutSpoilsItsOwnWorkspace(t *testing.T) {
	t.Parallel()
	s := newFanoutSite(t, store.SQLite, nil, `{}`)
	writeFile(t, filepath.Join(s.dir, "agent-runtimes", "chaos", "run.sh"), `
id=$(sed 's/.*"task_id": *"\([^"]*\)".*/\1/')
[ -e left ] && echo "$id found what another left" >> `+s.dir+`/ran
echo "$id $(cat source.txt)" >> `+s.dir+`/ran
echo "$id" > left
case "$id" in slow-*) [ -e `+s.dir+`/late ] || { touch `+s.dir+`/late; sleep 60; } ;; esac
printf '{"schema": "homeboy/agent-task-outcome/v1", "task_id": "%s", "status": "succeeded", "summary": "said"}\n' "$id"
`)
	work := filepath.Join(s.dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "source.txt"), "clean")
	task := func(id string) string {
		return `{"id": "` + id + `", "group_key": "g", "instructions": "go", "executor": {"backend": "chaos", "config": {}}, "limits": {"timeout_ms": 10000}, "workspace": {"mode": "existing", "root": "` + work + `"}}`
	}
	writeFile(t, filepath.Join(s.dir, "plan.json"), `{"schema": "homeboy/fanout-reconcile-plan/v1", "options": {"rotation": {"entries": [{"model": "other"}]}}, "task_requests": [`+task("slow-1")+`, `+task("ok-1")+`, `+task("ok-2")+`]}`)
	if o := s.deed(nil, append(fanoutArgs, "--concurrency", "1")...); o.code != ExitDone {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	ran, err := os.ReadFile(filepath.Join(s.dir, "ran"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(string(ran)), "\n"); len(got) != 4 || strings.Contains(string(ran), "found") {
		t.Errorf("what ran: %q", got)
	}
	if _, err := os.Stat(filepath.Join(work, "left")); err == nil {
		t.Error("the directory of the caller was written to")
	}
	s.tidy()
}
