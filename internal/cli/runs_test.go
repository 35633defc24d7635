package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/gc"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// A run that is under way has taken until now, one whose process is gone until it was last seen, and one that ended until then, unless its record knows better.
func TestRunTook(t *testing.T) {
	t.Parallel()
	at := clock.System().Add(-time.Hour)
	r := store.Run{CreatedAt: at, HeartbeatAt: at.Add(time.Second)}
	r.Record.RunID = "r"
	if took, err := time.ParseDuration(runTook(r, nil)); err != nil || took < time.Hour {
		t.Errorf("under way: %v, %v", took, err)
	}
	if took := runTook(r, map[string]bool{"r": true}); took != "1s" {
		t.Errorf("gone: %s", took)
	}
	r.EndedAt = at.Add(2 * time.Second)
	if took := runTook(r, nil); took != "2s" {
		t.Errorf("ended: %s", took)
	}
	// What was killed is ended later, by others: it took as long as its record says.
	took := 1250.0
	r.Record.Metadata = map[string]any{evidence.MetaResourceEvidence: evidence.RunResourceEvidence{
		Schema: evidence.SchemaRunResourceEvidence, Timing: evidence.RunTiming{Duration: evidence.RunMetric{Available: true, Value: &took, Unit: "ms"}},
	}}
	if took := runTook(r, nil); took != "1.25s" {
		t.Errorf("cleared away: %s", took)
	}
}

// makeRun records a run as its owner does, and takes it to a state.
func makeRun(root, id string, status evidence.RunStatus, artifacts string) error {
	ctx := context.Background()
	h, err := home.Open(root)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, h.DB(), store.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	reg := &runrecord.Recorder{Store: st, Clock: clock.System, RunnerID: "library", Home: h}
	r, err := reg.Create(ctx, runrecord.New{RunID: id, Dir: filepath.Join(root, "runs"), Metadata: map[string]any{"api_key": "hunter2"}})
	if err != nil {
		return err
	}
	r.Started()
	r.Progress("turn", "the \x1b[31magent\x1b[0m works")
	if err := r.To(ctx, evidence.RunRunning); err != nil || status == evidence.RunRunning {
		return err
	}
	o := runrecord.Outcome{Status: status}
	if artifacts != "" {
		o.Bundle = artifacts
		o.Refs = []evidence.RunArtifactRef{{Kind: "artifact-bundle", Directory: artifacts}, {Kind: "log", Path: "/nowhere/log"}}
	}
	if status != evidence.RunSucceeded {
		o.Error = &evidence.RunError{Name: "Error", Message: "it broke"}
	}
	return r.Finish(ctx, o)
}

// A watcher in another process follows a run to its end, and gets it as lines of the protocol.
func TestRunsWatchFollows(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	if err := makeRun(s.home, "watched", evidence.RunRunning, ""); err != nil {
		t.Fatal(err)
	}
	st := s.open()
	c := s.command(nil, "runs", "watch", "watched", "--json", "--timeout", "60s")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(out)
	next := func() deed.Progress {
		t.Helper()
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		p, err := schema.Decode[deed.Progress](deed.SchemaProgress, raw)
		if err != nil {
			t.Fatalf("%s:\n%v", raw, err)
		}
		return p
	}
	var p deed.Progress
	for p = next(); p.Status != "running"; p = next() { // earlier states come first
	}
	if _, err := st.UpdateRun(t.Context(), "watched", store.RunUpdate{To: evidence.RunCollecting}); err != nil {
		t.Fatal(err)
	}
	if p = next(); p.Status != "collecting_artifacts" || p.Terminal {
		t.Errorf("line %+v", p)
	}
	if _, err := st.UpdateRun(t.Context(), "watched", store.RunUpdate{To: evidence.RunFailed, Error: &evidence.RunError{Name: "E", Message: "it broke"}}); err != nil {
		t.Fatal(err)
	}
	if p = next(); p.Status != "failed" || !p.Terminal || !strings.Contains(p.Text, "it broke") {
		t.Errorf("the last line is %+v", p)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != ExitNotDone {
		t.Errorf("exit %d", code)
	}
}

// Wherever deed is killed, one `deed cleanup` leaves nothing behind but whole bundles.
func TestCleanupAfterSIGKILL(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.All {
		if strings.HasPrefix(string(p), "enqueue.") || strings.HasPrefix(string(p), "deliver.") {
			continue // nothing runs there
		}
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"work": crashAgent, "quiet": "exit 0"})
			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "run", "--no-workspace", "--agent", "work", "--type", "operator", "--attempts", "2", "go")
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			s.noProcess()
			dry := s.report("cleanup", "--dry-run", "--json")
			for _, f := range dry.Findings {
				if f.Result != gc.ResultPlanned {
					t.Errorf("dry run: %+v", f)
				}
			}
			for _, f := range s.report("cleanup", "--json").Findings {
				if f.Result != gc.ResultDone || f.Reason == "" {
					t.Errorf("cleanup: %+v", f)
				}
			}
			if again := s.report("cleanup", "--json"); len(again.Findings) != 0 {
				t.Errorf("a second cleanup finds %+v", again.Findings)
			}
			for _, dir := range []string{"attempts", "tmp", "runs"} {
				if left, _ := filepath.Glob(filepath.Join(s.home, dir, "*")); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			}
			for _, pattern := range []string{".*.tmp", "*/.*.tmp"} {
				if left, _ := filepath.Glob(filepath.Join(s.home, pattern)); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			}
			s.tidy()
			if faults, err := s.open().Audit(t.Context()); err != nil || len(faults) > 0 {
				t.Errorf("audit: %v %v", faults, err)
			}
		})
	}
}

// report runs a command that prints a report of reclaim.
func (s *site) report(args ...string) gc.Report {
	s.t.Helper()
	var rep gc.Report
	if err := json.Unmarshal([]byte(s.ok(args...)), &rep); err != nil {
		s.t.Fatal(fmt.Errorf("deed %v: %w", args, err))
	}
	return rep
}

func TestCleanupWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	s.ok("pause")
	h := home.At(s.home)
	lock, err := h.Lock(home.Holder{PID: 1, RunnerID: "another"})
	if err != nil {
		t.Fatal(err)
	}
	if o := s.deed(nil, "cleanup"); o.code != ExitLocked || !strings.Contains(o.stderr, "another") {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	s.ok("cleanup", "--dry-run") // takes no lock
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
