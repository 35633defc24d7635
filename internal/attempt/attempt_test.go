package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	os.Exit(m.Run())
}

// A testBundle is a runner on a home of its own.
type testBundle struct {
	t testing.TB
	*Runner
	sup *proc.Supervisor
}

func setup(t testing.TB) *testBundle {
	t.Helper()
	return setupAt(t, filepath.Join(t.TempDir(), "home"))
}

func setupAt(t testing.TB, dir string) *testBundle {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(sup.Close(), st.Close()) })
	return &testBundle{t: t, sup: sup, Runner: &Runner{
		Home: h, Store: st, Config: config.Default(), Clock: clock.System, RunnerID: "runner", Version: "test",
		Lease: time.Minute, Environ: os.Environ(), Drivers: driver.NewSet(script.New()), Key: key,
	}}
}

// claim queues a task for a shell script and claims it.
func (b *testBundle) claim(text string, edit func(*store.NewTask)) *store.Claim {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "agent.sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		b.t.Fatal(err)
	}
	adapter, err := json.Marshal(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
		AdapterID: "agent", Kind: agentruntime.KindScript, Command: file, TimeoutMS: 60_000,
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	row := store.NewTask{
		Intent: agentruntime.TaskIntent{
			TaskType: "t", Source: "test", Payload: json.RawMessage(`{}`), Deed: &deed.TaskSpec{Adapter: adapter},
		},
		ProfileID: config.DefaultProfile, AdapterID: "agent", MaxAttempts: 3,
	}
	if edit != nil {
		edit(&row)
	}
	c, err := b.Store.EnqueueClaimed(b.t.Context(), row, store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *testBundle) task(id string) store.Task {
	b.t.Helper()
	t, err := b.Store.Task(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

const done = `echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done"}'`

func TestAnAttemptLeavesItsEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.claim(`echo talk >&2; echo made > new.txt; echo report > "$DEED_ARTIFACTS/r.md"; `+done, nil)
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("settled as %s: %s", res.Settlement.Status, res.Settlement.LastError)
	}
	bundletest.Check(t, res.BundleDir)
	at, err := b.Store.Attempt(t.Context(), c.Ref.AttemptID)
	if err != nil {
		t.Fatal(err)
	}
	r := at.Record
	for name, p := range map[string]string{"prompt": r.PromptPath, "stdout": r.StdoutPath, "stderr": r.StderrPath, "result": r.ResultPath, "last message": r.LastMessagePath} {
		if fi, err := os.Stat(filepath.Join(b.Home.Root(), at.BundleDir, p)); p == "" || err != nil || fi.IsDir() {
			t.Errorf("the attempt's %s is %q: %v", name, p, err)
		}
	}
	task := b.task(c.Ref.TaskID)
	if o := task.Record.Outcome; o == nil || len(o.FileChanges) != 1 || o.FileChanges[0] != "new.txt" || len(o.ArtifactPaths) != 1 {
		t.Errorf("outcome is %+v", o)
	} else if _, err := os.Stat(filepath.Join(b.Home.Root(), o.ArtifactPaths[0])); err != nil {
		t.Errorf("a declared artifact does not resolve: %v", err)
	}
	if o := task.Record.Outcome; o != nil && strings.Contains(o.OperatorSummary, "done") {
		t.Errorf("the agent's words became the outcome: %q", o.OperatorSummary)
	}
	if _, err := os.Stat(b.Home.Attempt(c.Ref.AttemptID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the attempt's directory is left: %v", err)
	}
}

// A task that cannot be read ends with a bundle that says so, and nothing of it is run.
func TestADamagedTaskIsNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mark := filepath.Join(t.TempDir(), "mark")
	c := b.claim("touch "+mark, nil)
	c.Task.Damage = "intent of task " + c.Ref.TaskID + " cannot be read: unexpected end of JSON input"
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil || res.Settlement.Class != "config" || !strings.Contains(res.Settlement.LastError, c.Task.Damage) {
		t.Fatalf("%s: %s (%v)", res.Settlement.Class, res.Settlement.LastError, err)
	}
	bundletest.Check(t, res.BundleDir)
	if _, err := os.Stat(mark); err == nil {
		t.Error("it was run")
	}
}

func TestEveryEntryIsHeardRedacted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const value = "s3cr3t-of-the-run-0123456789"
	b.Environ = append(b.Environ, "FAKE_TOKEN="+value)
	var heard []journal.Entry
	b.OnEntry = func(ref store.Ref, e journal.Entry) { heard = append(heard, e) }
	c := b.claim(`echo made > new.txt; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "'$FAKE_TOKEN'"}'`, func(n *store.NewTask) {
		n.Intent.Deed.SecretEnv = []string{"FAKE_TOKEN"}
		n.Intent.Deed.Checks = []deed.Check{{Name: "look", Shell: "echo $PWD; test -e new.txt"}}
	})
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("settled as %s %s: %v", res.Settlement.Status, res.Settlement.LastError, err)
	}
	kinds := map[string]int{}
	for i, e := range heard {
		kinds[e.Kind]++
		if e.Seq != int64(i+1) {
			t.Errorf("entry %d has the number %d", i+1, e.Seq)
		}
		if strings.Contains(string(e.Detail), value) {
			t.Errorf("%s tells the secret: %s", e.Kind, e.Detail)
		}
	}
	for _, k := range []string{history.KindClaimed, history.KindBegun, history.KindCompletion, history.KindJudging, history.KindCheck, history.KindVerdict, history.KindSettling} {
		if kinds[k] == 0 {
			t.Errorf("nothing was heard of %s; heard %v", k, kinds)
		}
	}
}

// A secret that the agent prints is replaced as it comes, and more than one file repeats what it printed: the bundle says so of each.
func TestTheBundleCountsWhatWasRedactedAsItCame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const value, label = "s3cr3t-of-the-run-0123456789", "[REDACTED:FAKE_TOKEN]"
	b.Environ = append(b.Environ, "FAKE_TOKEN="+value)
	c := b.claim(`echo made > new.txt; echo "on stderr: $FAKE_TOKEN $FAKE_TOKEN" >&2; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "'$FAKE_TOKEN'"}'`, func(n *store.NewTask) {
		n.Intent.Deed.SecretEnv = []string{"FAKE_TOKEN"}
	})
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("settled as %s %s: %v", res.Settlement.Status, res.Settlement.LastError, err)
	}
	bundletest.Check(t, res.BundleDir)
	var m evidence.Manifest
	var md evidence.Metadata
	var review evidence.Review
	for name, v := range map[string]any{evidence.PathManifest: &m, evidence.PathMetadata: &md, evidence.PathReview: &review} {
		text, err := os.ReadFile(filepath.Join(res.BundleDir, name))
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	total, got, want := 0, map[string]int{}, map[string]int{}
	for _, f := range m.Files {
		text, err := os.ReadFile(filepath.Join(res.BundleDir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(text), label)
		if n > 0 {
			want[f.Path] = n
		}
		if total += n; (f.Redaction != nil) != (n > 0) {
			t.Errorf("%s has %d labels, and the manifest says %+v", f.Path, n, f.Redaction)
		}
	}
	for _, f := range md.Redaction.Artifacts {
		got[f.Path] = f.Count
	}
	if diff := cmp.Diff(want, got); diff != "" || want[bundle.PathStderr] != 2 || want[bundle.PathStdout] != 1 {
		t.Errorf("what was redacted (-in the files +in the summary):\n%s", diff)
	}
	if md.Redaction.Status != evidence.RedactionRedacted || md.Redaction.Total != total || !cmp.Equal(md.Redaction.ByKind, map[string]int{"FAKE_TOKEN": total}) {
		t.Errorf("of %d labels the metadata says %+v", total, md.Redaction)
	}
	if !cmp.Equal(review.Redaction, &md.Redaction) || !slices.Contains(review.RiskFlags, evidence.RiskSecretsRedacted) {
		t.Errorf("the review says %+v and %v", review.Redaction, review.RiskFlags)
	}
}

type panicking struct{ driver.Driver }

func (panicking) Kind() string { return agentruntime.KindScript }
func (panicking) Start(context.Context, driver.Job) (driver.Session, error) {
	panic("the driver is broken")
}

func TestAPanicIsEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Drivers = driver.NewSet(panicking{script.New()})
	c := b.claim(done, nil)
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != "panic" || res.Settlement.Status != agentruntime.TaskRetryableFailure || !strings.Contains(res.Settlement.LastError, "the driver is broken") {
		t.Errorf("settled as %+v", res.Settlement)
	}
	bundletest.Check(t, res.BundleDir)
}

// A fault in writing the evidence is caught as well, and a bundle says so.
func TestAPanicInTheEvidenceIsEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Observe = func(p Progress) {
		if p.Step == StepVerdict {
			b.Observe = nil
			b.Version = "after the verdict"
		}
	}
	c := b.claim(`echo x > new.txt; `+done, nil)
	c.Task.Record.TaskType = "t"
	clock := b.Clock
	calls := 0
	b.Clock = func() time.Time {
		if b.Version == "after the verdict" {
			if calls++; calls == 2 {
				panic("the evidence is broken")
			}
		}
		return clock()
	}
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != "panic" || res.Settlement.Status == agentruntime.TaskCompleted || res.Verdict != nil {
		t.Errorf("settled as %+v with verdict %+v", res.Settlement, res.Verdict)
	}
	bundletest.Check(t, res.BundleDir)
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, class string
		status              agentruntime.TaskStatus
		edit                func(*store.NewTask)
	}{
		{"asked to try again", `echo '{"status": "retryable_failure", "machine_status": "needs_retry", "operator_summary": "later", "retry_after_seconds": 120}'`, "asked_retry", agentruntime.TaskRetryableFailure, nil},
		{"gave up", `echo '{"status": "permanent_failure", "machine_status": "failed", "operator_summary": "cannot"}'`, "declared_failed", agentruntime.TaskPermanentFailure, nil},
		{"waits for a person", `echo '{"status": "blocked", "machine_status": "blocked", "operator_summary": "which one?"}'`, "blocked", agentruntime.TaskBlocked, nil},
		{"claims to be cancelled", `echo '{"status": "operator_canceled", "machine_status": "canceled", "operator_summary": "x"}'`, "invalid_result", agentruntime.TaskRetryableFailure, nil},
		{"a sandbox that is not there", done, "isolation_unavailable", agentruntime.TaskPermanentFailure, func(n *store.NewTask) {
			n.Intent.Deed.Isolation, n.Intent.Deed.Sandbox = "container", &deed.Sandbox{Network: []string{"example.com"}}
		}},
		{"time is up", `sleep 1000`, "timeout", agentruntime.TaskRetryableFailure, func(n *store.NewTask) { n.Intent.Deed.TimeoutSeconds = 1 }},
		{"an unknown adapter", done, "config", agentruntime.TaskPermanentFailure, func(n *store.NewTask) { n.Intent.Deed.Adapter, n.AdapterID = nil, "gone" }},
		{"a source that is not there", done, "config", agentruntime.TaskPermanentFailure, func(n *store.NewTask) {
			n.Intent.Deed.Workspace = &deed.Workspace{Source: "/no/such/directory"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			res, err := b.Run(t.Context(), b.sup, b.claim(c.script, c.edit))
			if err != nil {
				t.Fatal(err)
			}
			if res.Settlement.Class != c.class || res.Settlement.Status != c.status {
				t.Errorf("class %s, status %s (%s), want %s, %s", res.Settlement.Class, res.Settlement.Status, res.Settlement.LastError, c.class, c.status)
			}
			bundletest.Check(t, res.BundleDir)
			if got := b.task(res.Ref.TaskID).Record.Status; got != c.status {
				t.Errorf("the store says %s", got)
			}
			if c.class == "asked_retry" {
				if wait := res.Settlement.AvailableAt.Sub(b.Clock()); wait < 100*time.Second {
					t.Errorf("the wait is %s, want the 120 s that were asked for", wait)
				}
			}
			if c.class == "blocked" {
				acts, err := b.Store.Actions(t.Context(), store.ActionFilter{TaskID: res.Ref.TaskID, State: store.ActionOpen})
				if err != nil || len(acts) != 1 || !strings.Contains(acts[0].Prompt, "which one?") {
					t.Errorf("open actions are %+v, %v", acts, err)
				}
			}
		})
	}
}

// A runner whose claim was taken over must not settle, and leaves what it did to its new owner, who leaves nothing.
func TestAFencedAttemptStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Lease = 3 * time.Second
	c := b.claim(`touch up; while :; do sleep 0.05; done`, nil)
	ended := make(chan error, 1)
	go func() {
		_, err := b.Run(t.Context(), b.sup, c)
		ended <- err
	}()
	up := filepath.Join(b.Home.Attempt(c.Ref.AttemptID), "workspace", "up")
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-look.C {
		if _, err := os.Stat(up); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent does not start")
		}
	}
	lost, err := b.Store.Lost(t.Context(), []string{"runner"})
	if err != nil || len(lost) != 1 {
		t.Fatalf("Lost = %v, %v", lost, err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, store.ErrFenced) {
			t.Errorf("Run = %v, want ErrFenced", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the fenced attempt goes on")
	}
	if _, err := os.Stat(filepath.Join(b.Home.Attempt(c.Ref.AttemptID), "journal.jsonl")); err != nil {
		t.Errorf("whoever took the claim over needs the journal: %v", err)
	}
	other := *b.Runner
	other.RunnerID = "sweeper"
	if adopted, err := other.Salvage(t.Context(), lost[0]); err != nil || adopted {
		t.Errorf("Salvage = %v, %v", adopted, err)
	}
	if got := b.task(c.Ref.TaskID).Record.Status; got != agentruntime.TaskRetryableFailure {
		t.Errorf("the task is %s", got)
	}
	bundletest.Check(t, b.Home.Bundle(c.Ref.AttemptID))
	if _, err := os.Lstat(b.Home.Attempt(c.Ref.AttemptID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

// Two sweepers at work on one attempt settle it once, with its evidence, whatever the one removes while the other reads.
func TestSalvageTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 20 {
		c := b.claim(`true`, nil)
		dir := b.Home.Attempt(c.Ref.AttemptID)
		files := map[string]string{
			filepath.Join(dir, "run", driver.TurnFile(driver.StdoutFile, 0)): strings.Repeat("said\n", 1000),
			filepath.Join(dir, "run", driver.TurnFile(driver.StderrFile, 0)): "also said\n",
		}
		if i%2 == 1 {
			files[filepath.Join(b.Home.Bundle(c.Ref.AttemptID), "manifest.json")] = "not a bundle"
		}
		for name, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		var both []store.Lost
		for range 2 {
			lost, err := b.Store.Lost(t.Context(), []string{"runner"})
			if err != nil || len(lost) != 1 {
				t.Fatalf("Lost = %v, %v", lost, err)
			}
			both = append(both, lost[0])
		}
		errs := make(chan error, 2)
		for _, l := range both {
			go func() {
				_, err := b.Salvage(t.Context(), l)
				errs <- err
			}()
		}
		if err := errors.Join(<-errs, <-errs); !errors.Is(err, store.ErrFenced) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Salvage = %v, want that one of the two is fenced off", err)
		}
		at, err := b.Store.Attempt(t.Context(), c.Ref.AttemptID)
		if err != nil || at.Live || at.Class != "lost" || at.BundleDir == "" {
			t.Errorf("the attempt is %q, in %q, %v, want it settled as lost with its bundle", at.Class, at.BundleDir, err)
		}
		out, err := os.ReadFile(filepath.Join(b.Home.Bundle(c.Ref.AttemptID), bundle.PathStdout))
		if err != nil || len(out) != 5000 {
			t.Errorf("the bundle has %d bytes of output, %v", len(out), err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
	}
}

// If a slower sweeper cannot write something because a faster one has copied and removed it, that is no failure of
// the attempt: the bundle of the faster one exists. A sweeper that has lost the claim meanwhile does not write a
// bundle of its own.
func TestSalvageOfWhatIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, fence := range []int{0, 1} { // of the sweeper that is slower
		b := setup(t)
		c := b.claim(`true`, nil)
		dir := b.Home.Attempt(c.Ref.AttemptID)
		out := filepath.Join(dir, "run", driver.TurnFile(driver.StdoutFile, 0))
		if err := errors.Join(os.MkdirAll(filepath.Dir(out), 0o755), os.WriteFile(out, []byte("said\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		var both []store.Lost
		for range 2 {
			lost, err := b.Store.Lost(t.Context(), []string{"runner"})
			if err != nil || len(lost) != 1 {
				t.Fatalf("Lost = %v, %v", lost, err)
			}
			both = append(both, lost[0])
		}
		l := both[fence]
		slow := &run{
			Runner: b.Runner, claim: &store.Claim{Task: l.Task, Attempt: l.Attempt, Ref: l.Ref}, dir: dir, owner: "runner", started: b.Clock(), redactor: redact.New(nil),
		}
		why := failure.New(failure.Lost, "run attempt", errors.New("reason: lost"), "")
		slow.recoverOutput(why, 0)
		if err := slow.collect(); err != nil { // it is in the middle of its bundle
			t.Fatal(err)
		}
		_, err := b.Salvage(t.Context(), both[1-fence])
		if errors.Is(err, store.ErrFenced) != (fence == 1) || err != nil && fence == 0 {
			t.Fatalf("Salvage = %v", err)
		}
		if fence == 0 { // and retention gave the bundle up already
			if err := os.RemoveAll(b.Home.Bundle(c.Ref.AttemptID)); err != nil {
				t.Fatal(err)
			}
		}
		if err := slow.evidence.Abort(); err != nil { // nothing more can be added to it
			t.Fatal(err)
		}
		_, err = slow.finish(t.Context(), end{class: failure.Lost, err: why})
		if errors.Is(err, store.ErrFenced) != (fence == 0) || err != nil && fence == 1 {
			t.Errorf("the slower one with fence %d: %v", fence, err)
		}
		at, err := b.Store.Attempt(t.Context(), c.Ref.AttemptID)
		if err != nil || at.Live || at.Class != "lost" || at.BundleDir == "" {
			t.Errorf("the attempt is %q, in %q, %v, want it settled as lost with its bundle", at.Class, at.BundleDir, err)
		}
		if fence == 1 {
			bundletest.Check(t, b.Home.Bundle(c.Ref.AttemptID))
		} else if _, err := os.Lstat(b.Home.Bundle(c.Ref.AttemptID)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a bundle was written in place of the one that was given up: %v", err)
		}
	}
}

// A bundle that was published before its runner died is adopted; one that somebody made up is put aside.
func TestAdoption(t *testing.T) {
	t.Parallel()
	for _, forged := range []bool{false, true} {
		b := setup(t)
		c := b.claim(`echo x > new.txt; `+done, nil)
		runner := *b.Runner
		if forged {
			var err error
			if runner.Key, err = bundle.LoadOrCreateKey(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		a := &run{Runner: &runner, sup: b.sup, claim: c, dir: b.Home.Attempt(c.Ref.AttemptID), started: b.Clock()}
		if err := a.execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := a.classify(t.Context(), nil)
		s := a.settlement(e)
		if _, err := a.publish(t.Context(), &s, e); err != nil {
			t.Fatal(err)
		}
		lost, err := b.Store.Lost(t.Context(), []string{"runner"})
		if err != nil || len(lost) != 1 {
			t.Fatalf("Lost = %v, %v", lost, err)
		}
		adopted, err := b.Salvage(t.Context(), lost[0])
		if err != nil || adopted == forged {
			t.Fatalf("forged %v: Salvage = %v, %v", forged, adopted, err)
		}
		want := agentruntime.TaskCompleted
		if forged {
			want = agentruntime.TaskRetryableFailure
		}
		if got := b.task(c.Ref.TaskID).Record.Status; got != want {
			t.Errorf("forged %v: the task is %s, want %s", forged, got, want)
		}
		bundletest.Check(t, b.Home.Bundle(c.Ref.AttemptID))
	}
}

// Builds find what is installed; what they write is deed's, and agents and checks do not share it.
func TestToolchain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mod := filepath.Join(dir, "go", "pkg", "mod")
	if err := os.MkdirAll(mod, 0o755); err != nil {
		t.Fatal(err)
	}
	env := inherited([]string{"HOME=" + dir, "GOPROXY=off", "AWS_SECRET_ACCESS_KEY=x", "GOCACHE=/operator"}, "/cache")
	want := map[string]string{"GOMODCACHE": mod, "GOPROXY": "off", "GOCACHE": "/cache/go-build"}
	for k, v := range want {
		if env[k] != v {
			t.Errorf("%s = %q, want %q", k, env[k], v)
		}
	}
	if _, ok := env["AWS_SECRET_ACCESS_KEY"]; ok {
		t.Error("an unrelated variable is passed on")
	}
}
