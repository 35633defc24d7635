package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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

// Edge case 98: a live owner refuses a second start. A signal stops it, says how to go on, and what ran goes on then.
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
	if d := l.status(); d.Status != store.FanoutIncomplete || d.Alive == nil || *d.Alive {
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
