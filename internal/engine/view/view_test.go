package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/storetest"
)

// A desk is a home with a real store whose clock moves only when it is set.
type desk struct {
	*testing.T
	clock *storetest.Clock
	h     *home.Home
	st    *store.Store
	r     *Reader
}

func sit(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, clock: storetest.NewClock()}
	var err error
	d.h, err = home.Open(filepath.Join(t.TempDir(), "home"))
	d.ok(err)
	d.st, err = store.Open(t.Context(), d.h.DB(), store.Options{Clock: d.clock.Now})
	d.ok(err)
	cfg, err := config.Load(config.Options{})
	d.ok(err)
	cfg.Budgets.Day = deed.Budget{CostUSD: 10}
	d.r = New(Source{Store: d.st, Home: d.h, Config: cfg, Clock: d.clock.Now})
	t.Cleanup(func() { d.ok(d.r.Close()); d.ok(d.st.Close()) })
	return d
}

func (d *desk) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) add(subject string) string {
	d.Helper()
	out, err := d.st.Enqueue(d.Context(), store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "demo", Source: "t", Subject: subject, Deed: &deed.TaskSpec{TimeoutSeconds: 60, Budget: &deed.Budget{CostUSD: 2}}}, ProfileID: "default", MaxAttempts: 2,
	})
	d.ok(err)
	return out[0].TaskID
}

func (d *desk) begin(id string) store.Ref {
	d.Helper()
	c, err := d.st.Claim(d.Context(), store.ClaimOptions{RunnerID: "r1", Lease: time.Minute, TaskID: id})
	d.ok(err)
	d.ok(d.st.Begin(d.Context(), c.Ref, store.Begin{AdapterID: "fixer", AdapterKind: "codex"}))
	return c.Ref
}

func (d *desk) end(ref store.Ref, s store.Settlement) {
	d.Helper()
	d.ok(d.st.Settle(d.Context(), ref, s))
}

func (d *desk) home() Home {
	d.Helper()
	h, err := d.r.Home(d.Context())
	d.ok(err)
	return h
}

// note writes the journal of an attempt.
func (d *desk) note(attemptID string, entries ...any) {
	d.Helper()
	d.ok(os.MkdirAll(d.h.Attempt(attemptID), 0o700))
	j, err := journal.Open(filepath.Join(d.h.Attempt(attemptID), "journal.jsonl"), journal.Options{Clock: d.clock.Now})
	d.ok(err)
	for i := 0; i < len(entries); i += 2 {
		d.ok(j.Append(entries[i].(string), entries[i+1]))
	}
	d.ok(j.Close())
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func accepted(files ...string) store.Settlement {
	return store.Settlement{
		State: "completed", Status: agentruntime.TaskCompleted, Class: string(failure.None), BundleID: "b1",
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, FileChanges: files},
		Verdict: raw(deed.Verdict{Schema: deed.SchemaVerdict, Accepted: true, Checks: []deed.CheckResult{{Name: "test", Status: deed.CheckPassed}}}),
		Usage:   []store.UsagePart{{Day: "2026-01-31", Model: "m", Usage: store.Usage{Turns: 2, InputTokens: 90, OutputTokens: 10, CostMicroUSD: 500}}},
	}
}

func rejected(status agentruntime.TaskStatus) store.Settlement {
	v := deed.Verdict{Schema: deed.SchemaVerdict}
	for i := range 5 {
		v.Reasons = append(v.Reasons, deed.Reason{Code: "check_failed", Message: fmt.Sprint("reason ", i)})
	}
	return store.Settlement{State: "failed_terminal", Status: status, Class: string(failure.Rejected), LastError: "no", Verdict: raw(v)}
}

func TestAHomeTellsWhatRunsWhatWaitsAndWhatEnded(t *testing.T) {
	t.Parallel()
	d := sit(t)
	day := d.clock.Now().Format(time.DateOnly)
	done := d.add("fix the parser\nand more")
	s := accepted("a.go", "b.go")
	s.Usage[0].Day = day
	d.end(d.begin(done), s)
	d.clock.Advance(time.Second)
	bad := d.add("cheat")
	ref := d.begin(bad)
	d.end(ref, rejected(agentruntime.TaskPermanentFailure))
	d.clock.Advance(time.Second)
	run := d.add("go on")
	live := d.begin(run)
	d.add("later")
	d.note(live.AttemptID,
		history.KindTurn, agentruntime.Turn{ID: "t3", Index: 3},
		history.KindText, map[string]string{"text": "I look \x1b[31maround"},
		history.KindToolCall, agentruntime.ToolCall{CallID: "c1", Tool: "bash", Turn: 4, Input: raw(map[string]string{"command": "make test"})})
	d.ok(d.st.UpdateUsage(d.Context(), live, []store.UsagePart{{Day: day, Model: "m", Usage: store.Usage{Turns: 3, CostMicroUSD: 250_000}}}))
	_, err := d.st.OpenAction(d.Context(), live, store.NewAction{Kind: "permission", Prompt: "may I push?"})
	d.ok(err)
	d.ok(d.st.Pause(d.Context(), "lunch", "ann"))
	d.clock.Advance(5 * time.Second)

	h := d.home()
	if len(h.Running) != 1 || len(h.Accepted) != 1 || len(h.Refused) != 1 || len(h.Waiting) != 1 {
		t.Fatalf("running %d, accepted %d, refused %d, waiting %d", len(h.Running), len(h.Accepted), len(h.Refused), len(h.Waiting))
	}
	r := h.Running[0]
	if r.TaskID != run || r.Turn != 4 || r.ToolCalls != 1 || r.Tool == nil || r.Tool.Subject != "make test" || r.Tool.Status != "" || r.Phase != PhaseAgent {
		t.Errorf("running: %+v %+v", r, r.Tool)
	}
	if r.ElapsedMS != 5000 || r.TimeoutMS != 60_000 || r.BudgetMicroUSD != 2_000_000 || r.CostMicroUSD != 250_000 || r.Agent != "fixer" || r.Number != 1 {
		t.Errorf("running: %+v", r)
	}
	if p := h.Accepted[0]; p.TaskID != done || p.Subject != "fix the parser" || p.FilesChanged != 2 || len(p.ChecksPassed) != 1 || p.CostMicroUSD != 500 {
		t.Errorf("accepted: %+v", p)
	}
	if x := h.Refused[0]; x.TaskID != bad || len(x.Reasons) != maxFirst || x.MoreWhy != 2 || x.Status != "permanent_failure" || x.About == "" {
		t.Errorf("refused: %+v", x)
	}
	if w := h.Waiting[0]; w.Action == nil || w.Action.Prompt != "may I push?" || !strings.HasPrefix(w.Command, "deed action approve ") {
		t.Errorf("waiting: %+v", w)
	}
	if h.Paused == nil || h.Paused.Reason != "lunch" || h.Counts["completed"] != 1 || h.Counts["pending"] != 1 || h.Queue.Ready != 1 {
		t.Errorf("home: %+v", h)
	}
	if h.Today.CountedMicroUSD != 250_500 || h.Today.BudgetMicroUSD != 10_000_000 {
		t.Errorf("today: %+v", h.Today)
	}
	last := h.Hours[len(h.Hours)-1]
	if len(h.Hours) != 24 || len(h.Days) != 30 || last.Completed != 1 || last.Failed != 1 || last.Attempts != 2 || last.Refused != 1 {
		t.Errorf("the last hour of %d: %+v", len(h.Hours), last)
	}
	// The result comes: the reader continues where it was.
	d.note(live.AttemptID, history.KindToolResult, agentruntime.ToolResult{CallID: "c1", Status: agentruntime.ToolFailure, ErrorType: "exit", DurationMS: 7})
	if r := d.home().Running[0]; r.Tool.Status != string(agentruntime.ToolFailure) || r.Entries != 4 {
		t.Errorf("after the result: %+v %+v", r.Tool, r.Entries)
	}
	d.end(live, accepted())
	if h := d.home(); len(h.Running) != 0 || len(d.r.follow) != 0 {
		t.Errorf("a settled attempt is still followed: %+v", h.Running)
	}
}

// An attempt that was refused and then got through is no news any more.
func TestOnlyTheNewestAttemptOfATaskIsRefused(t *testing.T) {
	t.Parallel()
	d := sit(t)
	id := d.add("x")
	d.end(d.begin(id), rejected(agentruntime.TaskRetryableFailure))
	d.clock.Advance(time.Minute)
	d.ok(d.st.Retry(d.Context(), id, "", ""))
	d.end(d.begin(id), accepted())
	if h := d.home(); len(h.Refused) != 0 || len(h.Accepted) != 1 {
		t.Errorf("refused %+v, accepted %+v", h.Refused, h.Accepted)
	}
}

func TestAHomeWithNothingInIt(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(sit(t).home())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"running", "waiting", "accepted", "refused", "runners"} {
		if !strings.Contains(string(b), `"`+name+`":[]`) {
			t.Errorf("%s is not an empty list in %s", name, b)
		}
	}
}

func TestATaskStandsSomewhereOnItsPath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(d *desk, id string)
		want string
	}{
		"queued":  {func(*desk, string) {}, "intake done, queue now, dispatch ahead, attempt ahead, gate ahead, settle ahead, delivery ahead"},
		"running": {func(d *desk, id string) { d.begin(id) }, "intake done, queue done, dispatch done, attempt now, gate ahead, settle ahead, delivery ahead"},
		"judged": {func(d *desk, id string) {
			d.note(d.begin(id).AttemptID, history.KindCompletion, agentruntime.CompletionAttempt{ID: "c", Number: 1})
		}, "intake done, queue done, dispatch done, attempt done, gate now, settle ahead, delivery ahead"},
		"done":     {func(d *desk, id string) { d.end(d.begin(id), accepted()) }, "intake done, queue done, dispatch done, attempt done, gate done, settle done, delivery none"},
		"refused":  {func(d *desk, id string) { d.end(d.begin(id), rejected(agentruntime.TaskPermanentFailure)) }, "intake done, queue done, dispatch done, attempt done, gate failed, settle failed, delivery none"},
		"again":    {func(d *desk, id string) { d.end(d.begin(id), rejected(agentruntime.TaskRetryableFailure)) }, "intake done, queue waiting, dispatch done, attempt done, gate failed, settle ahead, delivery ahead"},
		"canceled": {func(d *desk, id string) { _, err := d.st.Cancel(d.Context(), id, "", ""); d.ok(err) }, "intake done, queue done, dispatch none, attempt none, gate none, settle failed, delivery none"},
		"crashed": {func(d *desk, id string) {
			d.end(d.begin(id), store.Settlement{State: "failed_terminal", Status: agentruntime.TaskPermanentFailure, Class: string(failure.Timeout)})
		}, "intake done, queue done, dispatch done, attempt failed, gate none, settle failed, delivery none"},
		"blocked": {func(d *desk, id string) {
			d.end(d.begin(id), store.Settlement{State: "resumable", Status: agentruntime.TaskBlocked, Class: string(failure.Blocked), Action: &store.NewAction{Kind: "question", Prompt: "?"}})
		}, "intake done, queue done, dispatch done, attempt waiting, gate none, settle waiting, delivery ahead"},
		"delivering": {func(d *desk, id string) {
			s := accepted()
			s.Outbox = []store.OutboxItem{{Kind: "external_message", Body: raw(map[string]string{"target": "chat"})}}
			d.end(d.begin(id), s)
		}, "intake done, queue done, dispatch done, attempt done, gate done, settle done, delivery now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sit(t)
			id := d.add("x")
			tc.make(d, id)
			m, err := d.r.Task(t.Context(), id[:13])
			d.ok(err)
			var got []string
			for _, s := range m.Path {
				got = append(got, s.Name+" "+s.State)
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("%s:\n got %s\nwant %s", name, s, tc.want)
			}
			if len(m.Events) == 0 {
				t.Error("no events")
			}
		})
	}
}

func TestATaskHasItsAttemptsWithClaimAndFacts(t *testing.T) {
	t.Parallel()
	d := sit(t)
	id := d.add("x")
	ref := d.begin(id)
	dir := d.h.Bundle(ref.AttemptID)
	d.ok(os.MkdirAll(filepath.Join(dir, "files"), 0o700))
	d.ok(os.WriteFile(filepath.Join(dir, evidence.PathChangedFiles), raw(evidence.ChangedFiles{Files: []evidence.ChangedFile{{RelativePath: "a.go", Status: "modified", PatchPath: "x"}, {RelativePath: "b.tmp", Status: "added", Class: "ignored"}}}), 0o600))
	d.ok(os.WriteFile(filepath.Join(dir, evidence.PathPatch), []byte("diff\n"), 0o600))
	s := accepted("a.go")
	rel, err := d.h.Rel(dir)
	d.ok(err)
	s.BundleDir = rel
	s.Attempt.Diagnostics = raw(map[string]any{"claim": map[string]any{"status": "completed", "summary": "all done", "file_changes": []string{"a.go", "c.go"}}})
	d.end(ref, s)
	m, err := d.r.Task(t.Context(), id)
	d.ok(err)
	a := m.Attempts[0]
	if a.Claim == nil || a.Claim.Summary != "all done" || len(a.Claim.FileChanges) != 2 {
		t.Errorf("claim %+v", a.Claim)
	}
	if a.Changes == nil || a.Changes.Total != 2 || a.Changes.Files[0] != (Changed{Path: "a.go", Status: "modified", InPatch: true}) || a.Changes.PatchSize != 5 {
		t.Errorf("changes %+v", a.Changes)
	}
	if a.Verdict == nil || !a.Verdict.Accepted || a.Usage.Turns != 2 || a.Number != 1 || a.Bundle != dir {
		t.Errorf("attempt %+v", a)
	}
	d.ok(os.RemoveAll(dir)) // as retention does
	if m, err = d.r.Task(t.Context(), id); err != nil || m.Attempts[0].Changes != nil {
		t.Errorf("without its bundle: %+v %v", m.Attempts, err)
	}
	if _, err := d.r.Task(t.Context(), "ffffffff-0000"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown task: %v", err)
	}
}

func TestATimelineIsReadPageByPage(t *testing.T) {
	t.Parallel()
	d := sit(t)
	ref := d.begin(d.add("x"))
	var entries []any
	for i := range 25 {
		entries = append(entries, history.KindText, map[string]string{"text": fmt.Sprintf("word %d", i)})
	}
	d.note(ref.AttemptID, entries...)
	d.note(ref.AttemptID, history.KindToolCall, agentruntime.ToolCall{CallID: "c", Tool: "bash", Turn: 2, Input: raw(map[string]string{"command": strings.Repeat("x", 2*maxDetail)})})
	cursor, seen := "", 0
	for range 10 {
		p, err := d.r.Timeline(t.Context(), ref.AttemptID, cursor, 10)
		d.ok(err)
		for _, it := range p.Items {
			seen++
			if it.Seq != int64(seen) {
				t.Fatalf("entry %d has number %d", seen, it.Seq)
			}
		}
		cursor = p.Next
		if !p.More {
			if it := p.Items[len(p.Items)-1]; !it.Cut || it.Detail != nil || it.Tool == nil || it.Turn != 2 || len(it.Text) > maxLine+8 {
				t.Errorf("a large call: %+v", it)
			}
			break
		}
	}
	if seen != 26 {
		t.Fatalf("%d entries were seen", seen)
	}
	d.note(ref.AttemptID, history.KindText, map[string]string{"text": "news"})
	if p, err := d.r.Timeline(t.Context(), ref.AttemptID, cursor, 10); err != nil || len(p.Items) != 1 || p.Items[0].Text != "news" {
		t.Errorf("after the news: %+v %v", p, err)
	}
	// A place by its number holds in another copy of the journal too.
	if p, err := d.r.Timeline(t.Context(), ref.AttemptID, "p.1", 10); err != nil || len(p.Items) != 2 || p.Items[0].Seq != 26 {
		t.Errorf("by its number: %+v %v", p, err)
	}
	for _, bad := range []string{"x", "1", "-1.0", "zzzz.1", "1.zzzzzzzzzzzzzzzzz", "1.1.1"} {
		if _, err := d.r.Timeline(t.Context(), ref.AttemptID, bad, 10); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

func TestALogIsReadInStretches(t *testing.T) {
	t.Parallel()
	d := sit(t)
	ref := d.begin(d.add("x"))
	if l, err := d.r.Log(t.Context(), ref.AttemptID, Stdout, 0, 10); err != nil || l.Size != 0 || l.Text != "" {
		t.Errorf("before it printed: %+v %v", l, err)
	}
	run := filepath.Join(d.h.Attempt(ref.AttemptID), "run")
	d.ok(os.MkdirAll(run, 0o700))
	path, secret := filepath.Join(run, "stdout.log"), filepath.Join(t.TempDir(), "secret")
	d.ok(os.WriteFile(secret, []byte("key"), 0o600))
	for offset, want := range map[int64]string{0: "one ", 4: "two", -3: "two", 99: ""} {
		d.ok(os.WriteFile(path, []byte("one two"), 0o600))
		if l, err := d.r.Log(t.Context(), ref.AttemptID, Stdout, offset, 4); err != nil || l.Text != want || l.Size != 7 {
			t.Errorf("from %d: %+v %v", offset, l, err)
		}
	}
	d.ok(os.Remove(path))
	d.ok(os.Symlink(secret, path)) // the agent may be able to write there
	if l, err := d.r.Log(t.Context(), ref.AttemptID, Stdout, 0, 10); err == nil {
		t.Errorf("a link was followed: %+v", l)
	}
}
