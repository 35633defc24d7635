package gc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// childEnv makes the test binary the owner of a run that dies; see crash_test.go.
const childEnv = "DEED_RECLAIM_TEST_HOME"

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

type testBundle struct {
	*Collector
	now time.Time
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{now: time.Now().UTC().Truncate(time.Microsecond)}
	clock := func() time.Time { return b.now }
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	self, err := proc.SelfIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b.Collector = &Collector{
		Home: h, Store: st, RunnerID: "me", Self: self, Clock: clock, Log: slog.New(slog.DiscardHandler),
		Runner: &attempt.Runner{
			Home: h, Store: st, Config: config.Default(), Clock: clock, RunnerID: "me", Lease: time.Minute,
			Drivers: driver.NewSet(script.New()), Key: key,
		},
	}
	return b
}

// claim makes a live attempt of a runner.
func (b *testBundle) claim(t *testing.T, runner string) store.Ref {
	t.Helper()
	c, err := b.Store.EnqueueClaimed(t.Context(), store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)},
		ProfileID: config.DefaultProfile, AdapterID: "a", MaxAttempts: 1,
	}, store.ClaimOptions{RunnerID: runner, Lease: 1000 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return c.Ref
}

// settled makes an attempt that is over, with a bundle of so many bytes.
func (b *testBundle) settled(t *testing.T, size int, completed bool) store.Ref {
	t.Helper()
	ref := b.claim(t, "me")
	in := store.Settlement{State: "failed_terminal", Class: "config", Status: agentruntime.TaskPermanentFailure, BundleDir: "bundles/" + ref.AttemptID}
	if completed {
		in = store.Settlement{
			State: "completed", Class: "none", Status: agentruntime.TaskCompleted, BundleDir: in.BundleDir,
			Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
		}
		if err := b.Store.Begin(t.Context(), ref, store.Begin{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Store.Settle(t.Context(), ref, in); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.Home.Bundle(ref.AttemptID), "files", "x"), strings.Repeat("x", size))
	return ref
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *testBundle) sweep(t *testing.T, o Options) Report {
	t.Helper()
	rep, err := b.Sweep(t.Context(), o)
	if err != nil {
		t.Fatalf("Sweep: %v", err)
	}
	return rep
}

// brief lists findings as "result action kind name".
func brief(rep Report) []string {
	out := []string{}
	for _, f := range rep.Findings {
		what := filepath.Base(f.Path)
		if f.Path == "" {
			what = f.Owner
		}
		if f.PID != 0 {
			what = "pid"
		}
		out = append(out, strings.Join([]string{f.Result, f.Action, f.Kind, what}, " "))
	}
	return out
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// dead registers a runner whose process is gone.
func (b *testBundle) dead(t *testing.T, id string) {
	t.Helper()
	c := exec.Command("/bin/true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	b.put(t, id, b.Self.Host, c.Process.Pid, 1)
}

func (b *testBundle) put(t *testing.T, id, host string, pid int, start uint64) {
	t.Helper()
	if err := b.Store.PutRunner(t.Context(), store.Runner{ID: id, Host: host, PID: pid, BootID: b.Self.BootID + "|" + b.Self.Namespace, ProcStart: int64(start)}); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingOfADeadRunnerGoes(t *testing.T) {
	t.Parallel()
	for _, dry := range []bool{true, false} {
		t.Run(fmt.Sprintf("dry=%v", dry), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.dead(t, "gone")
			lost, mine, old := b.claim(t, "gone"), b.claim(t, "me"), b.settled(t, 1, true)
			for _, ref := range []store.Ref{lost, mine, old} {
				write(t, filepath.Join(b.Home.Attempt(ref.AttemptID), "workspace", "f"), "x")
				write(t, filepath.Join(b.Home.Tmp(), "rooms-"+ref.AttemptID+"-1", "f"), "x")
			}
			if err := os.Chmod(filepath.Join(b.Home.Attempt(old.AttemptID), "workspace"), 0); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(b.Home.Bundles(), "."+old.AttemptID+".123.tmp", "f"), "half")
			write(t, filepath.Join(b.Home.Keys(), ".key.1.tmp"), "half")
			if _, err := b.Store.InsertRun(t.Context(), store.NewRun{RunID: "lost-run", Status: evidence.RunBooting, RunnerID: "gone", AttemptID: lost.AttemptID}); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, b.Home.Root())
			rep := b.sweep(t, Options{Deep: true, DryRun: dry})
			result := map[bool]string{true: "planned", false: "done"}[dry]
			want := []string{
				result + " settle attempt " + lost.AttemptID,
				"left leave directory " + mine.AttemptID,
				result + " remove directory " + old.AttemptID,
				"left leave directory rooms-" + mine.AttemptID + "-1",
				result + " remove directory rooms-" + old.AttemptID + "-1",
				result + " remove partial_bundle ." + old.AttemptID + ".123.tmp",
				result + " remove temp .key.1.tmp",
			}
			want = append(want, result+" remove directory "+lost.AttemptID, result+" remove directory rooms-"+lost.AttemptID+"-1", result+" end run lost-run")
			if d := cmp.Diff(sorted(want), sorted(brief(rep))); d != "" {
				t.Errorf("findings differ (-want +got):\n%s", d)
			}
			// Two directories and two rooms with a byte each, of which one cannot be read, and two halves of something.
			if got := map[bool]int64{true: rep.Planned, false: rep.Bytes}[dry]; got != 3+4+4+unread(t) {
				t.Errorf("%d bytes", got)
			}
			if dry {
				if d := cmp.Diff(before, snapshot(t, b.Home.Root())); d != "" {
					t.Errorf("a dry run changed the home:\n%s", d)
				}
				return
			}
			at, err := b.Store.Attempt(t.Context(), lost.AttemptID)
			if err != nil || at.Live || at.Class != "lost" {
				t.Errorf("the lost attempt is %+v, %v", at, err)
			}
			r, err := b.Store.Run(t.Context(), "lost-run")
			if err != nil || r.Live || r.Record.Status != evidence.RunFailed || r.Record.Error.Code != "lost" || r.Record.Lifecycle.Cleanup.Status != evidence.CleanupSucceeded {
				t.Errorf("the lost run is %+v, %v", r.Record, err)
			}
			if runners, err := b.Store.Runners(t.Context()); err != nil || len(runners) != 0 {
				t.Errorf("the dead runner is still registered: %v %v", runners, err)
			}
			again := b.sweep(t, Options{Deep: true})
			if d := cmp.Diff(sorted([]string{"left leave directory " + mine.AttemptID, "left leave directory rooms-" + mine.AttemptID + "-1"}), sorted(brief(again))); d != "" {
				t.Errorf("a second sweep finds (-want +got):\n%s", d)
			}
			if !there(filepath.Join(b.Home.Attempt(mine.AttemptID), "workspace", "f")) {
				t.Error("what is alive was removed")
			}
		})
	}
}

func sorted(in []string) string {
	out := append([]string{}, in...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return strings.Join(out, "\n")
}

// unread is what is counted of a file in a directory without permissions: root reads it all the same.
func unread(t *testing.T) int64 {
	t.Helper()
	if os.Geteuid() == 0 {
		return 1
	}
	return 0
}

// The directory of an attempt whose conversation continues stays, and a dry run says so.
func TestADirectoryThatIsGoneOnFromStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "gone")
	lost := b.claim(t, "gone")
	if err := errors.Join(b.Store.Begin(t.Context(), lost, store.Begin{}), b.Store.Checkpoint(t.Context(), lost, json.RawMessage(`{"schema": "deed/checkpoint/v1"}`))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.Home.Attempt(lost.AttemptID), "workspace", "f"), "x")
	for _, dry := range []bool{true, false} {
		rep := b.sweep(t, Options{Deep: true, DryRun: dry})
		result := map[bool]string{true: "planned", false: "done"}[dry]
		want := []string{result + " settle attempt " + lost.AttemptID, "left leave directory " + lost.AttemptID}
		if d := cmp.Diff(sorted(want), sorted(brief(rep))); d != "" || rep.Planned+rep.Bytes != 0 {
			t.Errorf("dry %v: %d bytes, findings differ (-want +got):\n%s", dry, rep.Planned+rep.Bytes, d)
		}
	}
}

// The processes of a lost attempt are killed before it is settled, and reported.
func TestProcessesOfALostAttemptAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "gone")
	lost := b.claim(t, "gone")
	c := exec.Command("sleep", "600")
	c.Env = []string{attemptEnv + "=" + lost.AttemptID}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }() // the sweep waits until it is gone
	rep := b.sweep(t, Options{Deep: true})
	<-ended
	if d := cmp.Diff(sorted([]string{"done settle attempt " + lost.AttemptID, "done kill process pid"}), sorted(brief(rep))); d != "" {
		t.Errorf("findings differ (-want +got):\n%s", d)
	}
}

// snapshot lists every file of a home but the database's own.
func snapshot(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a directory without permissions is listed, not entered
		}
		if !strings.Contains(p, "deed.db") {
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A home in which an agent put links must not lead the sweep elsewhere.
func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"attempts", "tmp", "bundles", "keys"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Retention = config.Retention{MaxCount: 1, MaxAge: time.Nanosecond}
			ref := b.settled(t, 1, true)
			precious := filepath.Join(t.TempDir(), "precious")
			for _, victim := range []string{ref.AttemptID, "plain", ".x.tmp"} {
				write(t, filepath.Join(precious, victim, "f"), "x")
			}
			write(t, filepath.Join(precious, ".y.tmp"), "x")
			dir := filepath.Join(b.Home.Root(), name)
			if err := errors.Join(os.RemoveAll(dir), os.Symlink(precious, dir)); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, precious)
			b.now = b.now.Add(48 * time.Hour)
			rep, err := b.Sweep(t.Context(), Options{Deep: true})
			if err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("Sweep = %v, want a fault that names %s", err, dir)
			}
			if d := cmp.Diff(before, snapshot(t, precious)); d != "" {
				t.Errorf("the sweep went through the link: %v\n%s", brief(rep), d)
			}
		})
	}
	t.Run("entry", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		ref := b.settled(t, 1, true)
		precious := filepath.Join(t.TempDir(), "precious")
		write(t, filepath.Join(precious, "f"), "x")
		link := b.Home.Attempt(ref.AttemptID)
		if err := os.Symlink(precious, link); err != nil {
			t.Fatal(err)
		}
		b.sweep(t, Options{Deep: true})
		if there(link) || !there(filepath.Join(precious, "f")) {
			t.Error("want the link gone and what it points to there")
		}
	})
}

func TestProcessesOfSettledAttemptsAreKilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over, alive := b.settled(t, 1, true), b.claim(t, "me")
	start := func(id string) *exec.Cmd {
		t.Helper()
		c := exec.Command("sleep", "600")
		c.Env = []string{attemptEnv + "=" + id}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		return c
	}
	victim := start(over.AttemptID)
	spared, foreign := start(alive.AttemptID), start(store.NewID())
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	rep := b.sweep(t, Options{Deep: true})
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if ws, ok := errorAs(err, &exit); !ok || ws.Signal() != syscall.SIGKILL {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the process of a settled attempt lives")
	}
	pids := map[int]string{}
	for _, f := range rep.Findings {
		if f.Kind == KindProcess {
			pids[f.PID] = f.Result
		}
	}
	if d := cmp.Diff(map[int]string{victim.Process.Pid: ResultDone, spared.Process.Pid: ResultLeft}, pids); d != "" {
		t.Errorf("processes (-want +got):\n%s", d)
	}
	for _, c := range []*exec.Cmd{spared, foreign} {
		if err := c.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("a process that is not ours to kill is gone: %v", err)
		}
	}
}

func errorAs(err error, exit **exec.ExitError) (syscall.WaitStatus, bool) {
	if !errors.As(err, exit) {
		return 0, false
	}
	ws, ok := (*exit).Sys().(syscall.WaitStatus)
	return ws, ok && ws.Signaled()
}

// What another process may be writing is left, and named.
func TestWhatIsFreshIsLeftToALiveRunner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(t, "other", b.Self.Host, b.Self.PID, b.Self.StartTime)
	fresh, old := filepath.Join(b.Home.Root(), ".fresh.1.tmp"), filepath.Join(b.Home.Root(), ".old.1.tmp")
	probe, ancient := filepath.Join(b.Home.Tmp(), "probe-1"), filepath.Join(b.Home.Tmp(), "probe-2")
	look, looked := filepath.Join(b.Home.Tmp(), ".git-1.tmp"), filepath.Join(b.Home.Tmp(), ".git-2.tmp")
	// The journal of an apply has an id that is no attempt's.
	const id = "01999999-0000-7000-8000-00000000000"
	apply, dropped := filepath.Join(b.Home.Tmp(), "apply-"+id+"1"), filepath.Join(b.Home.Tmp(), "apply-"+id+"2")
	for _, p := range []string{fresh, old, probe, ancient, filepath.Join(apply, "f"), filepath.Join(dropped, "f"), filepath.Join(look, "f"), filepath.Join(looked, "f")} {
		write(t, p, "x")
	}
	slow, release, err := atomicfile.TempDir(b.Home.Tmp(), "rerun-") // a rerun that takes its time
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for p, age := range map[string]time.Duration{old: 2 * time.Minute, ancient: 2 * time.Hour, dropped: 2 * time.Hour, apply: time.Minute, slow: 2 * time.Hour, look: time.Second, looked: 2 * time.Minute} {
		when := b.now.Add(-age)
		if err := os.Chtimes(p, when, when); err != nil {
			t.Fatal(err)
		}
	}
	rep := b.sweep(t, Options{Deep: true})
	want := []string{
		"left leave temp .fresh.1.tmp", "done remove temp .old.1.tmp", "left leave temp probe-1", "done remove temp probe-2",
		"left leave temp " + filepath.Base(apply), "done remove temp " + filepath.Base(dropped), "left leave temp " + filepath.Base(slow),
		"left leave temp .git-1.tmp", "done remove temp .git-2.tmp",
	}
	if d := cmp.Diff(sorted(want), sorted(brief(rep))); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	if rep.Bytes != 4 {
		t.Errorf("%d bytes reclaimed", rep.Bytes)
	}
}

// A process that only admits a task is no runner: what it writes while a dispatcher sweeps is its own.
func TestWhatIsBeingWrittenIsLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	blobs := filetree.Blobs(b.Home.Blobs())
	var done atomic.Bool
	var g errgroup.Group
	for w := range 2 {
		g.Go(func() error {
			defer done.Store(true)
			for i := range 100 {
				if _, err := blobs.Put(fmt.Appendf(nil, "%d %d", w, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for !done.Load() {
		b.sweep(t, Options{Deep: true})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	half := filepath.Join(b.Home.Blobs(), ".x.1.tmp")
	write(t, half, "half")
	if b.sweep(t, Options{Deep: true}); there(half) {
		t.Error("what a dead writer left is still there")
	}
}

// Several sweepers at once, as of commands that are started together, do no harm and find no fault.
func TestSweepTogether(t *testing.T) {
	t.Parallel()
	for range 4 {
		b := setup(t)
		b.Retention = config.Retention{MaxCount: 2, MaxAge: 24 * time.Hour}
		var lost []store.Ref
		for i := range 4 {
			gone := fmt.Sprintf("gone%d", i)
			b.dead(t, gone)
			ref, old := b.claim(t, gone), b.settled(t, 10, i%2 == 0)
			lost = append(lost, ref)
			for _, ref := range []store.Ref{ref, old} {
				write(t, filepath.Join(b.Home.Attempt(ref.AttemptID), "workspace", "f"), "x")
				write(t, filepath.Join(b.Home.Attempt(ref.AttemptID), "run", "stdout.log"), "said")
				write(t, filepath.Join(b.Home.Tmp(), "rooms-"+ref.AttemptID+"-1", "f"), "x")
			}
			write(t, filepath.Join(b.Home.Bundles(), "."+old.AttemptID+".123.tmp", "files", "f"), "half")
			write(t, filepath.Join(b.Home.Keys(), fmt.Sprintf(".key.%d.tmp", i)), "half")
			run := store.NewRun{RunID: "run" + gone, Status: evidence.RunBooting, RunnerID: gone, AttemptID: ref.AttemptID, Dir: filepath.Join(b.Home.Root(), "runs")}
			if _, err := b.Store.InsertRun(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			digest, err := filetree.Blobs(b.Home.Blobs()).Put([]byte(gone))
			if err != nil {
				t.Fatal(err)
			}
			long := b.now.Add(-1000 * time.Hour)
			if err := os.Chtimes(filepath.Join(b.Home.Blobs(), strings.TrimPrefix(digest, "sha256:")), long, long); err != nil {
				t.Fatal(err)
			}
		}
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				_, err := b.Sweep(t.Context(), Options{Deep: true})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, ref := range lost {
			at, err := b.Store.Attempt(t.Context(), ref.AttemptID)
			if err != nil || at.Live || at.Class != "lost" {
				t.Errorf("attempt %s is live: %v, of class %q, %v", ref.AttemptID, at.Live, at.Class, err)
			}
		}
		for _, dir := range []string{b.Home.Attempts(), b.Home.Tmp(), b.Home.Blobs()} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v, %v", dir, left, err)
			}
		}
		if live, err := b.Store.LiveRuns(t.Context()); err != nil || len(live) > 0 {
			t.Errorf("%d runs have no end, %v", len(live), err)
		}
	}
}

func TestWhichRunsAreDead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "dead")
	b.put(t, "here", b.Self.Host, b.Self.PID, b.Self.StartTime)
	b.put(t, "elsewhere", "another-host", 1, 1)
	for runner, silence := range map[string]time.Duration{
		"dead": 0, "here": time.Hour, "elsewhere": 5 * time.Minute, "me": time.Hour, "stranger": 10 * time.Second,
	} {
		now := b.now
		b.now = now.Add(-silence)
		if _, err := b.Store.InsertRun(t.Context(), store.NewRun{RunID: "of-" + runner, Status: evidence.RunQueued, RunnerID: runner}); err != nil {
			t.Fatal(err)
		}
		b.now = now
	}
	ended := func() string {
		var out []string
		for _, f := range b.sweep(t, Options{}).Findings {
			out = append(out, f.Owner)
		}
		return sorted(out)
	}
	if got := ended(); got != "of-dead" {
		t.Errorf("ended %s", got)
	}
	ref := b.claim(t, "stranger")
	write(t, filepath.Join(b.Home.Attempt(ref.AttemptID), "workspace", "f"), "x")
	said := map[string]string{}
	for _, f := range b.sweep(t, Options{Deep: true, DryRun: true}).Findings {
		said[f.Owner] = f.Reason
	}
	if d := cmp.Diff(map[string]string{
		"of-here": "its owner here is alive", "of-me": "its owner me is alive",
		"of-elsewhere": "its owner elsewhere, which cannot be seen from here, was heard of 5m0s ago; it counts as gone after 10m0s without a word",
		ref.AttemptID:  "its owner stranger cannot be seen from here, and holds it until its lease runs out at " + b.now.Add(1000*time.Hour).Format(time.RFC3339),
		"of-stranger":  "its owner stranger is not on record and was heard of 10s ago; it counts as gone after 1m0s without a word",
	}, said); d != "" {
		t.Errorf("what is said of those that are left (-want +got):\n%s", d)
	}
	b.now = b.now.Add(6 * time.Minute)
	if got := ended(); got != "of-elsewhere\nof-stranger" {
		t.Errorf("ended later: %s", got)
	}
}

// A process that could not end its run stays on record when it ends itself, so that the run is ended at once.
func TestARunOfAProcessThatEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "ended")
	if _, err := b.Store.InsertRun(t.Context(), store.NewRun{RunID: "left", Status: evidence.RunQueued, RunnerID: "ended"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.DropRunner(t.Context(), "ended"); err != nil { // as it does at its end
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"done end run left"}, brief(b.sweep(t, Options{Deep: true}))); d != "" {
		t.Errorf("findings differ (-want +got):\n%s", d)
	}
	if runners, err := b.Store.Runners(t.Context()); err != nil || len(runners) != 0 {
		t.Errorf("the runner is still on record: %v %v", runners, err)
	}
}

// A run ends as its attempt did, when that is known.
func TestARunEndsAsItsAttemptDid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "dead")
	dir := filepath.Join(t.TempDir(), "runs [1]")
	run := func(id, attemptID string, status evidence.RunStatus) {
		t.Helper()
		reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "dead", Home: b.Home}
		r, err := reg.Create(t.Context(), runrecord.New{RunID: id, AttemptID: attemptID, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if status != "" {
			if err := r.To(t.Context(), status); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := b.settled(t, 100, true)
	run("completed", done.AttemptID, evidence.RunCollecting)
	run("too-early", b.settled(t, 1, true).AttemptID, "")
	run("failed", b.settled(t, 1, false).AttemptID, evidence.RunRunning)
	run("alive", b.claim(t, "me").AttemptID, evidence.RunRunning)
	run("asked", "", evidence.RunRunning)
	if _, err := b.Store.CancelRun(t.Context(), "asked", "enough"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".failed.json.77.tmp"), "half")
	outside := filepath.Join(t.TempDir(), "artifacts")
	write(t, filepath.Join(filepath.Dir(outside), ".artifacts.1.tmp", "f"), "half")
	write(t, filepath.Join(filepath.Dir(outside), ".callers-own.tmp", "f"), "x")
	if _, err := b.Store.UpdateRun(t.Context(), "asked", store.RunUpdate{BundleDir: outside}); err != nil {
		t.Fatal(err)
	}
	b.sweep(t, Options{})
	for id, want := range map[string]evidence.RunStatus{
		"completed": evidence.RunSucceeded, "too-early": evidence.RunFailed, "failed": evidence.RunFailed, "alive": evidence.RunRunning, "asked": evidence.RunCancelled,
	} {
		r, err := b.Store.Run(t.Context(), id)
		if err != nil || r.Record.Status != want || r.Live != (id == "alive") {
			t.Errorf("run %s is %s, live %v, %v; want %s", id, r.Record.Status, r.Live, err, want)
		}
		text, err := os.ReadFile(runrecord.FilePath(r))
		var rec evidence.RunRegistryEntry
		if err != nil || json.Unmarshal(text, &rec) != nil || rec.Status != want {
			t.Errorf("the file of %s says %s, %v", id, rec.Status, err)
		}
	}
	r, err := b.Store.Run(t.Context(), "completed")
	if err != nil || len(r.Record.ArtifactRefs) != 1 || r.Record.ArtifactRefs[0].Directory != b.Home.Bundle(done.AttemptID) {
		t.Errorf("refs %+v, %v", r.Record.ArtifactRefs, err)
	}
	if there(filepath.Join(dir, ".failed.json.77.tmp")) {
		t.Error("a half-written file of the run is left")
	}
	if there(filepath.Join(filepath.Dir(outside), ".artifacts.1.tmp")) || !there(filepath.Join(filepath.Dir(outside), ".callers-own.tmp")) {
		t.Error("want the run's half-written bundle gone, and nothing else beside it")
	}
}
