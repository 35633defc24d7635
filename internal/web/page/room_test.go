package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/page"
)

// csp is the policy that the server sends with every answer.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// token is what a form of this session must bring along.
const token = "the-session-token"

// A room is a home with a page, behind a server that lets everybody in as one person.
type room struct {
	testing.TB
	h   *home.Home
	st  *store.Store
	url string

	mu   sync.Mutex
	who  access.Principal // guarded by mu
	news chan struct{}    // guarded by mu; closed when the stream has something to say
}

func enter(tb testing.TB) *room {
	tb.Helper()
	h, err := home.Open(filepath.Join(tb.TempDir(), "home"))
	r := &room{TB: tb, h: h, who: access.Principal{Name: "ada", Role: access.Operate, How: access.BySession}, news: make(chan struct{})}
	r.ok(err)
	return r.open(h)
}

// open mounts the page of a home.
func (r *room) open(h *home.Home) *room {
	r.Helper()
	var err error
	r.st, err = store.Open(r.Context(), h.DB(), store.Options{Clock: clock.System})
	r.ok(err)
	cfg, err := config.Load(config.Options{})
	r.ok(err)
	cfg.Budgets.Day = deed.Budget{CostUSD: 10}
	reader := view.New(view.Source{Store: r.st, Home: h, Config: cfg})
	mux := &mux{room: r}
	page.Mount(mux, page.Options{
		Store: r.st, Home: h, Config: cfg, View: reader, Log: slog.New(slog.NewTextHandler(r.Output(), nil)), Events: "/api/v1/events", Files: "/api/v1", Version: "test",
		Desk: &answer.Desk{
			Store: r.st, Home: h, Config: cfg, Applier: &apply.Applier{Home: h, Clock: clock.System},
			Workflows: &workflow.Engine{Store: r.st, Clock: clock.System, Root: h.Root(), Catalog: func() *workflow.Catalog { return workflow.Load(workflow.Options{}) }},
			Keys:      func() ([]bundle.PublicKey, error) { return bundle.TrustedKeys(h.Keys()) },
		},
	})
	mux.serve.HandleFunc("GET /api/v1/events", r.stream)
	srv := httptest.NewServer(&mux.serve)
	r.url = srv.URL
	r.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		r.ok(reader.Close())
		r.ok(r.st.Close())
	})
	return r
}

// A mux takes the place of package server: it lets in the callers that the room allows.
type mux struct {
	room  *room
	serve http.ServeMux
}

func (m *mux) Handle(rt access.Route) {
	m.serve.HandleFunc(rt.Pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", csp)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, "the request comes from "+origin, http.StatusForbidden)
			return
		}
		m.room.mu.Lock()
		who := m.room.who
		m.room.mu.Unlock()
		if !who.May(rt.Need) {
			http.Error(w, "role", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost && r.PostFormValue("csrf_token") != token {
			http.Error(w, "csrf", http.StatusForbidden)
			return
		}
		rt.Handler.ServeHTTP(w, r.WithContext(access.WithCSRF(access.With(r.Context(), who), token)))
	})
}

// as changes who is asking.
func (r *room) as(role access.Role) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.who.Role = role
}

// stream sends an event whenever notify is called.
func (r *room) stream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	next := func() chan struct{} {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.news
	}
	news := next() // before the page knows that it is connected
	_, _ = fmt.Fprint(w, ": hello\n\n")
	_ = out.Flush()
	for {
		select {
		case <-news:
			news = next()
			_, _ = fmt.Fprint(w, "event: task_finished\ndata: {}\n\n")
			_ = out.Flush()
		case <-req.Context().Done():
			return
		}
	}
}

func (r *room) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.news)
	r.news = make(chan struct{})
}

func (r *room) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// add queues a task.
func (r *room) add(subject string, change ...func(*store.NewTask)) string {
	r.Helper()
	n := store.NewTask{
		Intent: agentruntime.TaskIntent{
			TaskType: "agent-task", Source: "cli", Subject: subject, Description: subject + ".\n\nThe test says what is expected.", Payload: json.RawMessage(`{}`),
			Deed: &deed.TaskSpec{
				TimeoutSeconds: 1800, Budget: &deed.Budget{CostUSD: 2, Turns: 40}, WriteScope: []string{"stats.go"}, ProtectedPaths: []string{"**/*_test.go"}, Isolation: "namespace",
				Checks: []deed.Check{{Name: "go test", Command: []string{"go", "test", "./..."}}}, Workspace: &deed.Workspace{Source: "/srv/stats"},
			},
		},
		ProfileID: "default", AdapterID: "fixer", MaxAttempts: 2,
	}
	for _, f := range change {
		f(&n)
	}
	out, err := r.st.Enqueue(r.Context(), n)
	r.ok(err)
	return out[0].TaskID
}

// begin claims a task and starts its attempt.
func (r *room) begin(id string) store.Ref {
	r.Helper()
	c, err := r.st.Claim(r.Context(), store.ClaimOptions{RunnerID: "build-1:4711", Lease: time.Hour, TaskID: id})
	r.ok(err)
	r.ok(r.st.Begin(r.Context(), c.Ref, store.Begin{AdapterID: "fixer", AdapterKind: "codex", Model: "gpt-6-codex", BriefHash: strings.Repeat("98", 32), SpecHash: strings.Repeat("5a", 32)}))
	return c.Ref
}

func (r *room) settle(ref store.Ref, s store.Settlement) {
	r.Helper()
	if s.BundleDir == "" {
		s.BundleDir = filepath.Join("bundles", ref.AttemptID)
	}
	if len(s.Usage) == 0 {
		s.Usage = []store.UsagePart{{Day: clock.System().UTC().Format(time.DateOnly), Model: "gpt-6-codex", Usage: store.Usage{Turns: 7, ToolCalls: 12, InputTokens: 48_200, CachedInputTokens: 31_000, OutputTokens: 2_900, CostMicroUSD: 214_300, AgentMS: 41_000}}}
	}
	s.Attempt.StdoutPath, s.Attempt.StderrPath = bundle.PathStdout, bundle.PathStderr
	r.ok(r.st.Settle(r.Context(), ref, s))
}

// put writes a file of the home.
func (r *room) put(path, text string) {
	r.Helper()
	path = filepath.Join(r.h.Root(), path)
	r.ok(os.MkdirAll(filepath.Dir(path), 0o700))
	r.ok(os.WriteFile(path, []byte(text), 0o600))
}

// evidence writes what the page reads of a bundle.
func (r *room) evidence(attemptID, patch string, changed ...evidence.ChangedFile) {
	r.Helper()
	dir := filepath.Join("bundles", attemptID)
	r.put(filepath.Join(dir, evidence.PathPatch), patch)
	r.put(filepath.Join(dir, evidence.PathManifest), string(raw(evidence.Manifest{Files: []evidence.ManifestFile{
		{Path: evidence.PathPatch, Kind: "patch", ContentType: "text/x-diff"}, {Path: "files/artifacts/a report?#%2e.html", Kind: "artifact", ContentType: "text/html"},
	}})))
	r.put(filepath.Join(dir, evidence.PathChangedFiles), string(raw(evidence.ChangedFiles{Files: changed})))
	r.put(filepath.Join(dir, bundle.PathPrompt), "# Make the failing test pass\n\n## Rules\n\n- Change files only under: stats.go\n")
	r.put(filepath.Join(dir, "files/attempt/brief.json"), `{"agent":"deed"}`)
	r.put(filepath.Join(dir, bundle.PathStdout), "reading stats.go\n\x1b[32mok\x1b[0m  example.com/stats\t0.004s\n")
	j, err := journal.Open(filepath.Join(r.h.Root(), dir, evidence.PathEvents), journal.Options{})
	r.ok(err)
	for _, e := range story() {
		r.ok(j.Append(e.kind, e.detail))
	}
	r.ok(j.Close())
}

type journaled struct {
	kind   string
	detail any
}

// story is what a small attempt notes.
func story() []journaled {
	call := func(n int, tool string, input any) journaled {
		return journaled{history.KindToolCall, agentruntime.ToolCall{CallID: fmt.Sprint("c", n), Turn: n, Tool: tool, Input: raw(input)}}
	}
	result := func(n int, status agentruntime.ToolStatus, out string) journaled {
		return journaled{history.KindToolResult, agentruntime.ToolResult{CallID: fmt.Sprint("c", n), Status: status, Output: out, DurationMS: int64(40 * n)}}
	}
	return []journaled{
		{history.KindClaimed, map[string]any{"attempt": 1, "runner_id": "build-1:4711"}},
		{history.KindBegun, map[string]any{"adapter_id": "fixer"}},
		{history.KindTurn, agentruntime.Turn{ID: "t1", Index: 1, Model: "gpt-6-codex", StopReason: "tools"}},
		{history.KindText, map[string]string{"text": "The mean is computed with an integer division. I look at the file first."}},
		call(1, "read", map[string]string{"path": "stats.go"}), result(1, agentruntime.ToolSuccess, "package stats\n\nfunc Mean(xs []int) float64 {\n"),
		{history.KindTurn, agentruntime.Turn{ID: "t2", Index: 2, Model: "gpt-6-codex", StopReason: "tools"}},
		call(2, "bash", map[string]string{"command": "go test ./..."}), result(2, agentruntime.ToolFailure, "--- FAIL: TestMean (0.00s)\n    Mean(1, 2) = 1, want 1.5\nFAIL"),
		{history.KindCompletion, agentruntime.CompletionAttempt{Number: 1, Turn: 2, Claim: "Mean is fixed and all tests pass.", Decision: &agentruntime.CompletionDecision{Reasons: []string{"no file changed, and the task asks for a change", `check "go test" ended with exit code 1 in the clean room`}}}},
		{history.KindRecovery, agentruntime.RecoveryAttempt{Number: 1, Limit: 3, SameConversation: true, Reasons: []string{"no file changed, and the task asks for a change"}}},
		{history.KindTurn, agentruntime.Turn{ID: "t3", Index: 3, Model: "gpt-6-codex", StopReason: "tools"}},
		call(3, "edit", map[string]string{"path": "stats.go", "old": "float64(sum / len(xs))", "new": "float64(sum) / float64(len(xs))"}), result(3, agentruntime.ToolSuccess, "1 replacement"),
		{history.KindCompletion, agentruntime.CompletionAttempt{Number: 2, Turn: 3, Claim: "Now it is: Mean divides floats.", Decision: &agentruntime.CompletionDecision{Accepted: true}}},
	}
}

const smallPatch = `diff --git a/stats.go b/stats.go
index 1111111..2222222 100644
--- a/stats.go
+++ b/stats.go
@@ -3,12 +3,12 @@ package stats
 // Mean returns the arithmetic mean of xs, or 0 for none.
 func Mean(xs []int) float64 {
 	if len(xs) == 0 {
 		return 0
 	}
 	sum := 0
 	for _, x := range xs {
 		sum += x
 	}
-	return float64(sum / len(xs))
+	// The division is of floats: 1 and 2 have the mean 1.5.
+	return float64(sum) / float64(len(xs))
 }
`

func modified(path string) evidence.ChangedFile {
	return evidence.ChangedFile{Path: "/workspace/" + path, RelativePath: path, Status: "modified", PatchPath: path}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func claim(summary string, files ...string) json.RawMessage {
	return raw(map[string]any{"claim": map[string]any{"status": "completed", "machine_status": "ok", "summary": summary, "file_changes": files}})
}

func accepted(summary string, files ...string) store.Settlement {
	return store.Settlement{
		State: "completed", Status: agentruntime.TaskCompleted, Class: string(failure.None), BundleID: "artifact-bundle-sha256-" + strings.Repeat("ab", 32),
		Attempt: agentruntime.TaskAttempt{ExitStatus: agentruntime.ExitOK, Diagnostics: claim(summary, files...)},
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: summary, FileChanges: files},
		Verdict: raw(deed.Verdict{Schema: deed.SchemaVerdict, Accepted: true, Reasons: []deed.Reason{}, Checks: []deed.CheckResult{{
			Name: "go test", Command: []string{"go", "test", "./..."}, Status: deed.CheckPassed, DurationMS: 1840, BaseStatus: "failed", Tail: "ok  \texample.com/stats\t0.004s",
			Comparison: &deed.CheckComparison{Base: &runner.TestResults{Total: 14, Passed: 13, Failed: 1}, After: &runner.TestResults{Total: 14, Passed: 14}, Counts: map[string]int{"fixed": 1}, Fixed: []string{"example.com/stats.TestMean"}},
		}}}),
	}
}

func refused(status agentruntime.TaskStatus, summary string, files ...string) store.Settlement {
	return store.Settlement{
		State: "failed_terminal", Status: status, Class: string(failure.Rejected), LastError: "the gate refused the work",
		Attempt: agentruntime.TaskAttempt{ExitStatus: agentruntime.ExitOK, RetryClass: agentruntime.RetryPermanent, Diagnostics: claim(summary, files...)},
		Outcome: outcomeOf(status, summary),
		Verdict: raw(deed.Verdict{Schema: deed.SchemaVerdict, Reasons: []deed.Reason{
			{Code: "claimed_not_changed", Message: "the agent says that it changed stats.go, and it is as it was", Path: "stats.go"},
			{Code: "protected_path", Message: "stats_test.go is protected and was changed", Path: "stats_test.go"},
			{Code: "check_failed", Message: `check "go test" ended with exit code 1 in the clean room`, Check: "go test"},
		}, Checks: []deed.CheckResult{{
			Name: "go test", Command: []string{"go", "test", "./..."}, Status: deed.CheckFailed, ExitCode: 1, DurationMS: 2210, BaseStatus: "failed",
			Tail:       "--- FAIL: TestMean (0.00s)\n    stats_test.go:7: Mean(1, 2) = 1, want 1.5\nFAIL\nFAIL\texample.com/stats\t0.003s",
			Comparison: &deed.CheckComparison{Base: &runner.TestResults{Total: 14, Passed: 13, Failed: 1}, After: &runner.TestResults{Total: 11, Passed: 10, Failed: 1}, Counts: map[string]int{"vanished": 3, "still_failing": 1}, Vanished: []string{"example.com/stats.TestMedian", "example.com/stats.TestMode", "example.com/stats.TestSum"}, StillFailing: []string{"example.com/stats.TestMean"}},
		}}}),
	}
}

func outcomeOf(status agentruntime.TaskStatus, summary string) *agentruntime.TaskOutcome {
	if status == agentruntime.TaskRetryableFailure {
		return nil
	}
	return &agentruntime.TaskOutcome{Status: status, MachineStatus: agentruntime.MachineFailed, OperatorSummary: summary}
}

// A furnished is what a room holds after furnish, by what it is an example of.
type furnished struct {
	proven, refused, running, blocked, retried, queued, flow, action string
}

// furnish puts one of everything into a room.
func (r *room) furnish() furnished {
	r.Helper()
	ctx := r.Context()
	var f furnished
	r.ok(r.st.PutRunner(ctx, store.Runner{ID: "build-1:4711", Host: "build-1", PID: 4711, BootID: "b", StartedAt: clock.System().Add(-26 * time.Hour), SeenAt: clock.System(), Version: "0.8.0"}))

	f.proven = r.add("Make Mean return fractions")
	ref := r.begin(f.proven)
	r.evidence(ref.AttemptID, smallPatch, modified("stats.go"))
	done := accepted("Mean divides floats now; go test passes.", "stats.go")
	done.Artifacts = []agentruntime.ArtifactRecord{{Role: agentruntime.RoleOutput, RelativePath: "report.md", ContentType: "text/markdown"}}
	r.settle(ref, done)

	f.refused = r.add("Repair the failing median test", func(n *store.NewTask) { n.MaxAttempts = 1 })
	ref = r.begin(f.refused)
	r.evidence(ref.AttemptID, strings.ReplaceAll(smallPatch, "stats.go", "stats_test.go"), modified("stats_test.go"))
	r.settle(ref, refused(agentruntime.TaskPermanentFailure, "All 14 tests pass, the median is repaired.", "stats.go"))

	f.retried = r.add("Speed the parser up by a third")
	ref = r.begin(f.retried)
	r.evidence(ref.AttemptID, smallPatch, modified("stats.go"))
	r.settle(ref, refused(agentruntime.TaskRetryableFailure, "The parser is 40 % faster.", "parser.go"))
	r.ok(r.st.Retry(ctx, f.retried, "again", "ada"))
	ref = r.begin(f.retried)
	r.evidence(ref.AttemptID, smallPatch, modified("stats.go"))
	r.settle(ref, accepted("The scanner keeps its buffer; the benchmark shows 38 %.", "stats.go"))

	f.blocked = r.add("Publish the release notes")
	ref = r.begin(f.blocked)
	r.evidence(ref.AttemptID, "")
	r.settle(ref, store.Settlement{
		State: "resumable", Status: agentruntime.TaskBlocked, Class: string(failure.Blocked), LastError: "a person is asked", Attempt: agentruntime.TaskAttempt{ExitStatus: agentruntime.ExitOK},
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskBlocked, MachineStatus: agentruntime.MachineBlocked, OperatorSummary: "waits for a permission"},
		Action: &store.NewAction{
			Kind: action.KindPermission, Prompt: "The agent wants to run git push origin release/0.8", Why: "Pushing changes what others see.", Rule: "ask-before-push", ContextDigest: "d1",
			Subject: raw(action.Subject{Tool: "shell.run", Agent: "bash", Subject: "git push origin release/0.8", Input: raw(map[string]string{"command": "git push origin release/0.8"}), Digest: "x"}),
		},
	})
	open, err := r.st.Actions(ctx, store.ActionFilter{TaskID: f.blocked})
	r.ok(err)
	f.action = open[0].ID

	f.running = r.add("Add a dark theme to the settings dialog")
	ref = r.begin(f.running)
	r.run(ref)
	f.queued = r.add("Update the copyright year")
	r.add("Weekly dependency review", func(n *store.NewTask) { n.AvailableAt = clock.System().Add(3 * time.Hour) })

	_, _, err = r.st.PutSchedule(ctx, agentruntime.RecurringScheduleRecord{
		Schema: agentruntime.SchemaRecurringSchedule, ScheduleID: store.NewID(), Name: "nightly-review", Enabled: true, IntervalSeconds: 86400, NextRunAt: agentruntime.At(clock.System().Add(9 * time.Hour)),
		Task: agentruntime.TaskIntent{TaskType: "agent-task", Source: "schedule", Subject: "Review what changed today"}, CreatedAt: agentruntime.At(clock.System()), UpdatedAt: agentruntime.At(clock.System()),
	}, store.OverlapSkip, "ada")
	r.ok(err)
	_, err = r.st.SensorFailed(ctx, "ci-builds", "connection refused", time.Hour, func(store.Sensor) store.NewAction { return store.NewAction{Kind: "sensor"} })
	r.ok(err)
	f.flow = r.flow()
	return f
}

// run lets an attempt look as if its agent works.
func (r *room) run(ref store.Ref) {
	r.Helper()
	dir := r.h.Attempt(ref.AttemptID)
	r.put(filepath.Join("attempts", ref.AttemptID, "run", "stdout.log"), "building…\nready\n")
	j, err := journal.Open(filepath.Join(dir, "journal.jsonl"), journal.Options{})
	r.ok(err)
	for _, e := range story()[:9] {
		r.ok(j.Append(e.kind, e.detail))
	}
	r.ok(j.Append(history.KindToolCall, agentruntime.ToolCall{CallID: "c9", Turn: 4, Tool: "bash", Input: raw(map[string]string{"command": "npm test -- settings"})}))
	r.ok(j.Close())
	r.ok(r.st.UpdateUsage(r.Context(), ref, []store.UsagePart{{Day: clock.System().UTC().Format(time.DateOnly), Model: "gpt-6-codex", Usage: store.Usage{Turns: 4, InputTokens: 90_000, OutputTokens: 4_000, CostMicroUSD: 1_720_000}}}))
}

// note adds to the journal of an attempt.
func (r *room) note(attemptID, kind string, detail any) {
	r.Helper()
	j, err := journal.Open(filepath.Join(r.h.Attempt(attemptID), "journal.jsonl"), journal.Options{})
	r.ok(err)
	r.ok(j.Append(kind, detail))
	r.ok(j.Close())
}

// flow starts a workflow of those that deed brings along.
func (r *room) flow() string {
	r.Helper()
	d := workflow.Load(workflow.Options{}).List()[0]
	out, err := r.st.StartWorkflow(r.Context(), store.NewWorkflow{
		Type: d.WorkflowType, InstanceKey: "release-0.8", Definition: d.Body, Hash: d.Hash, State: d.InitialState, Cause: store.CauseStart, By: "ada",
		Action: &store.NewAction{Kind: workflow.ActionKind, Prompt: "How does it go on?", Subject: raw(workflow.Question{Type: d.WorkflowType, State: d.InitialState, Signals: d.Signals(d.InitialState), Retry: true})},
	})
	r.ok(err)
	return out.WorkflowID
}

// get fetches a page.
func (r *room) get(path string) (int, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+path, http.NoBody)
	r.ok(err)
	return r.send(req)
}

// zipped fetches compressed, and returns the text and how many bytes came over the wire.
func (r *room) zipped(path string) (text string, size int) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+path, http.NoBody)
	r.ok(err)
	req.Header.Set("Accept-Encoding", "gzip") // set here, so that the client leaves it packed
	res, err := http.DefaultClient.Do(req)
	r.ok(err)
	defer func() { _ = res.Body.Close() }()
	packed, err := io.ReadAll(res.Body)
	r.ok(err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	r.ok(err)
	plain, err := io.ReadAll(z)
	r.ok(err)
	return string(plain), len(packed)
}

// post sends a form, and follows to the page that it leads to.
func (r *room) post(path, form string) (int, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.url+path, strings.NewReader(form+"&csrf_token="+token))
	r.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.send(req)
}

func (r *room) send(req *http.Request) (int, string) {
	r.Helper()
	res, err := http.DefaultClient.Do(req)
	r.ok(err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	r.ok(err)
	return res.StatusCode, string(body)
}
