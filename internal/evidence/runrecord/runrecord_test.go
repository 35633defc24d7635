package runrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
)

const secret = "correct-horse-battery"

type testBundle struct {
	*Recorder
	dir string
	out *bytes.Buffer
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &testBundle{
		Recorder: &Recorder{Store: st, Clock: clock.System, RunnerID: "me", Home: h, BeatEvery: time.Millisecond},
		dir:      filepath.Join(t.TempDir(), "artifacts", "runs"), out: &bytes.Buffer{},
	}
}

func (b *testBundle) create(t *testing.T, n New) *Run {
	t.Helper()
	n.Dir = b.dir
	r, err := b.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// agree asserts that the file says what the store says, and returns it.
func (b *testBundle) agree(t *testing.T, id string) evidence.RunRegistryEntry {
	t.Helper()
	row, err := b.Store.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, id+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := schema.Decode[evidence.RunRegistryEntry](evidence.SchemaRunRegistryEntry, text)
	if err != nil {
		t.Fatalf("the file is not a valid record:\n%v", err)
	}
	want, err := json.Marshal(row.Record)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("file and store differ (-store +file):\n%s", d)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", fi, err)
	}
	return rec
}

func TestARunFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	stream := NewStream(b.out, clock.System)
	r := b.create(t, New{
		TaskID: "t", AttemptID: "a", SessionID: "s", Redactor: redact.New(map[string]string{"KEY": secret}), Streams: []*Stream{stream},
		Metadata: map[string]any{"note": "with " + secret, "api_key": "x"},
	})
	b.agree(t, r.ID())
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	boot := r.Phase(evidence.PhaseNameStartup)
	r.Started()
	boot(nil)
	step(r.To(ctx, evidence.RunRunning))
	work := r.Phase(evidence.PhaseNameWorkloads)
	r.Progress("turn", "the key is "+secret)
	_, err := r.Beat(ctx)
	step(err)
	b.agree(t, r.ID())
	work(nil)
	step(r.To(ctx, evidence.RunCollecting))

	bundle := b.Home.Bundle("a")
	step(os.MkdirAll(filepath.Join(bundle, "files"), 0o755))
	step(os.WriteFile(filepath.Join(bundle, "files", "x"), make([]byte, 1000), 0o644))
	step(os.Symlink("/etc/passwd", filepath.Join(bundle, "link")))
	leftover := filepath.Join(t.TempDir(), "left")
	step(os.WriteFile(leftover, nil, 0o600))
	tries := 1
	step(r.Finish(ctx, Outcome{
		Status: evidence.RunSucceeded, Bundle: bundle, BundleID: "b", Retries: &tries, Refs: []evidence.RunArtifactRef{{Kind: "artifact-bundle", Directory: bundle}},
		Exits:   []proc.Exit{{MaxRSS: 5 << 20, UserTime: 30 * time.Millisecond}, {MaxRSS: 3 << 20, UserTime: 12 * time.Millisecond, SystemTime: time.Millisecond, Killed: 2}},
		Cleanup: func(context.Context) error { return os.Remove(leftover) },
	}))
	step(stream.Close())

	rec := b.agree(t, r.ID())
	row, err := b.Store.Run(ctx, r.ID())
	step(err)
	if row.Live || row.BundleDir != "bundles/a" || row.ArtifactBytes != 1000 || rec.Status != evidence.RunSucceeded || rec.Lifecycle.Cleanup.Status != evidence.CleanupSucceeded || rec.Lifecycle.Cleanup.Attempts != 1 {
		t.Errorf("row %+v, lifecycle %+v", row, rec.Lifecycle)
	}
	ev := evidenceOf(t, rec)
	value := func(m evidence.RunMetric) float64 {
		if !m.Available {
			return -1
		}
		return *m.Value
	}
	if value(ev.Resources.RuntimeMemory) != 5<<20 || value(ev.Resources.RuntimeUserTime) != 42 || value(ev.Resources.RuntimeSystemTime) != 1 ||
		value(ev.Resources.LeftoverProcesses) != 2 || ev.Resources.RuntimeProcessCount.Available || *ev.Artifacts.Bytes != 1000 || value(ev.Reliability.RetryCount) != 1 ||
		!ev.Timing.Startup.Available || !ev.Timing.Cleanup.Available || value(ev.Timing.Startup) > value(ev.Timing.Duration) || len(ev.Phases) != 2 ||
		ev.Reliability.FailureClassification.Value != evidence.RunFailureNone || ev.Resources.HostProcess.RSSBytes <= 0 {
		t.Errorf("evidence %+v", ev)
	}

	text, err := os.ReadFile(filepath.Join(b.dir, r.ID()+".json"))
	step(err)
	if strings.Contains(string(text)+b.out.String(), secret) {
		t.Error("the secret is in the file or in the stream")
	}
	lines := readLines(t, b.out.Bytes())
	last := lines[len(lines)-1]
	if !last.Terminal || last.Status != "succeeded" || last.AttemptID != "a" {
		t.Errorf("the last line is %+v", last)
	}
	if i := strings.Index(b.out.String(), `"step":"turn"`); i < 0 || !strings.Contains(b.out.String(), `"phase":"run_workloads"`) {
		t.Errorf("stream:\n%s", b.out)
	}
}

func evidenceOf(t *testing.T, rec evidence.RunRegistryEntry) evidence.RunResourceEvidence {
	t.Helper()
	text, err := json.Marshal(rec.Metadata[evidence.MetaResourceEvidence])
	if err != nil {
		t.Fatal(err)
	}
	ev, err := schema.Decode[evidence.RunResourceEvidence](evidence.SchemaRunResourceEvidence, text)
	if err != nil {
		t.Fatalf("evidence is not valid:\n%v", err)
	}
	return ev
}

// readLines demands that every line is a valid record, and that seq grows.
func readLines(t *testing.T, data []byte) []deed.Progress {
	t.Helper()
	var out []deed.Progress
	for line := range bytes.Lines(data) {
		p, err := schema.Decode[deed.Progress](deed.SchemaProgress, bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatalf("line %s:\n%v", line, err)
		}
		if n := len(out); n > 0 && (p.Seq <= out[n-1].Seq || out[n-1].Terminal) {
			t.Fatalf("line %d comes after %+v", p.Seq, out[n-1])
		}
		out = append(out, p)
	}
	return out
}

func TestFailureClassification(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  evidence.RunStatus
		phase   string
		started bool
		class   string
		want    string
	}{
		"never started": {evidence.RunFailed, "", false, "", evidence.RunFailureStartup},
		"in a phase":    {evidence.RunFailed, evidence.PhaseNameMount, false, "", evidence.RunFailurePluginMount},
		"while running": {evidence.RunFailed, "", true, "", evidence.RunFailureExecution},
		"own phase":     {evidence.RunFailed, "something else", true, "", evidence.RunFailureExecution},
		"collecting":    {evidence.RunFailed, evidence.PhaseNameCollect, true, "", evidence.RunFailureArtifactCollection},
		"timeout":       {evidence.RunTimedOut, evidence.PhaseNameWorkloads, true, "", evidence.RunFailureTimeout},
		"cancelled":     {evidence.RunCancelled, "", true, "", evidence.RunFailureCancelled},
		"said":          {evidence.RunFailed, "", true, evidence.RunFailureProbe, evidence.RunFailureProbe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := b.create(t, New{})
			if c.started {
				r.Started()
			}
			if c.phase != "" {
				r.Phase(c.phase)(errors.New("broken"))
			}
			if err := r.Finish(t.Context(), Outcome{Status: c.status, Class: c.class, Error: &evidence.RunError{Name: "E", Message: "m", Code: "x"}}); err != nil {
				t.Fatal(err)
			}
			got := evidenceOf(t, b.agree(t, r.ID())).Reliability.FailureClassification
			if got.Value != c.want || got.Code != "x" || got.Phase != c.phase {
				t.Errorf("classification %+v, want %s", got, c.want)
			}
		})
	}
}

func TestWatchBeatsAndHearsACancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.create(t, New{})
	if err := r.To(t.Context(), evidence.RunRunning); err != nil {
		t.Fatal(err)
	}
	before := r.Record().HeartbeatAt
	ctx, stop := r.Watch(t.Context())
	defer stop()
	await(t, "a heartbeat in the file", func() bool {
		text, err := os.ReadFile(filepath.Join(b.dir, r.ID()+".json"))
		var rec evidence.RunRegistryEntry
		return err == nil && json.Unmarshal(text, &rec) == nil && rec.HeartbeatAt > before
	})
	if _, err := b.Store.CancelRun(t.Context(), r.ID(), "not needed"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the request was not heard")
	}
	if err := context.Cause(ctx); !errors.Is(err, ErrCancelRequested) || !strings.Contains(err.Error(), "not needed") {
		t.Errorf("cause %v", err)
	}
	stop()
	if err := r.Finish(ctx, Outcome{Status: evidence.RunCancelled}); err != nil { // the context has ended, the record is written
		t.Fatal(err)
	}
	if rec := b.agree(t, r.ID()); rec.Lifecycle.Cancellation.Reason != "not needed" || !rec.Lifecycle.Cancelled {
		t.Errorf("lifecycle %+v", rec.Lifecycle)
	}
}

func TestARunThatWasTakenOverStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.create(t, New{})
	ctx, stop := r.Watch(t.Context())
	defer stop()
	row, err := b.Store.Run(t.Context(), r.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Bury(t.Context(), row, Outcome{Status: evidence.RunFailed, Class: evidence.RunFailureUnknown, Code: "lost", Error: &evidence.RunError{Name: "RunLost", Message: "gone", Code: "lost"}}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrTakenOver) {
		t.Errorf("cause %v", err)
	}
	if err := r.Finish(t.Context(), Outcome{Status: evidence.RunSucceeded}); !errors.Is(err, store.ErrRunEnded) {
		t.Errorf("Finish = %v, want ErrRunEnded", err)
	}
	if rec := b.agree(t, r.ID()); rec.Status != evidence.RunFailed {
		t.Errorf("the run is %s", rec.Status)
	}
}

// A clean-up that fails leaves the run live, with evidence, so that a sweep tries again.
func TestACleanupThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.create(t, New{Redactor: redact.New(map[string]string{"KEY": secret})})
	if err := r.To(t.Context(), evidence.RunRunning); err != nil {
		t.Fatal(err)
	}
	busy := errors.New("busy: " + secret)
	if err := r.Finish(t.Context(), Outcome{Status: evidence.RunSucceeded, Cleanup: func(context.Context) error { return busy }}); !errors.Is(err, busy) {
		t.Fatalf("Finish = %v", err)
	}
	rec := b.agree(t, r.ID())
	c := rec.Lifecycle.Cleanup
	if c.Status != evidence.CleanupFailed || c.Error == nil || strings.Contains(c.Error.Message, secret) || evidenceOf(t, rec).Reliability.FailureClassification.Value != evidence.RunFailureCleanup {
		t.Errorf("clean-up %+v", c)
	}
	live, err := b.Store.LiveRuns(t.Context())
	if err != nil || len(live) != 1 {
		t.Fatalf("%d live runs, %v", len(live), err)
	}
	if _, err := b.Bury(t.Context(), live[0], Outcome{Cleanup: func(context.Context) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	rec = b.agree(t, r.ID())
	if c := rec.Lifecycle.Cleanup; rec.Status != evidence.RunSucceeded || c.Status != evidence.CleanupSucceeded || c.Attempts != 2 || c.Error != nil {
		t.Errorf("%s, clean-up %+v", rec.Status, c)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Create(t.Context(), New{Dir: "relative"}); err == nil {
		t.Error("a relative directory: no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), New{RunID: "nofile", Dir: file}); err == nil {
		t.Error("a file in place of the directory: no error")
	}
	if row, err := b.Store.Run(t.Context(), "nofile"); err != nil || row.Live || row.Record.Status != evidence.RunFailed {
		t.Errorf("the run without a file is %+v, %v", row, err)
	}
	if _, err := b.Create(t.Context(), New{RunID: "../x"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an unsafe id: %v", err)
	}
}

// await polls a condition on the outside world.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}
