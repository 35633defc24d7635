package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// A stage is a home with one task whose attempts a test writes itself.
type stage struct {
	*testing.T
	h     *home.Home
	st    *store.Store
	task  string
	claim *store.Claim
	j     *journal.Journal
	now   time.Time
}

func newStage(t *testing.T) *stage {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, h: h, now: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)}
	if s.st, err = store.Open(t.Context(), h.DB(), store.Options{Clock: s.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.st.Close() })
	out, err := s.st.Enqueue(t.Context(), store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "agent-task", Source: "test", Subject: "fix the tests", Payload: json.RawMessage(`{}`)},
		ProfileID: "default", MaxAttempts: 3,
	})
	s.ok(err)
	s.task = out[0].TaskID
	s.begin()
	return s
}

// clock moves on a little with each look.
func (s *stage) clock() time.Time {
	s.now = s.now.Add(time.Millisecond)
	return s.now
}

func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// begin starts the next attempt.
func (s *stage) begin() {
	s.Helper()
	var err error
	s.claim, err = s.st.Claim(s.Context(), store.ClaimOptions{RunnerID: "r1", Lease: time.Hour, TaskID: s.task})
	s.ok(err)
	s.ok(s.st.Begin(s.Context(), s.claim.Ref, store.Begin{AdapterID: "cx", AdapterKind: "codex"}))
	s.ok(os.MkdirAll(s.dir(), 0o755))
	s.j, err = journal.Open(filepath.Join(s.dir(), "journal.jsonl"), journal.Options{Clock: s.clock})
	s.ok(err)
}

func (s *stage) dir() string { return s.h.Attempt(s.claim.Ref.AttemptID) }

// note writes lines of a kind and a detail to the journal.
func (s *stage) note(lines ...string) {
	s.Helper()
	for _, l := range lines {
		kind, detail, _ := strings.Cut(l, " ")
		s.ok(s.j.Append(kind, json.RawMessage(detail)))
	}
}

// settle ends the attempt as a runner does: the journal goes into the bundle, and the directory is removed.
func (s *stage) settle(status agentruntime.TaskStatus, end string) {
	s.Helper()
	s.ok(s.j.Close())
	rel := filepath.Join("bundles", s.claim.Ref.AttemptID)
	s.ok(os.MkdirAll(filepath.Join(s.h.Root(), rel), 0o755))
	data, err := os.ReadFile(filepath.Join(s.dir(), "journal.jsonl"))
	s.ok(err)
	s.ok(os.WriteFile(filepath.Join(s.h.Root(), rel, evidence.PathEvents), data, 0o644))
	in := store.Settlement{State: end, Class: "x", Status: status, BundleDir: rel}
	if status == agentruntime.TaskCompleted {
		in.Outcome = &agentruntime.TaskOutcome{Status: status, MachineStatus: agentruntime.MachineOK}
	}
	s.ok(s.st.Settle(s.Context(), s.claim.Ref, in))
	s.ok(os.RemoveAll(s.dir()))
}

// deed runs a command line against the home.
func (s *stage) deed(args ...string) (string, int) {
	s.Helper()
	var out, errs bytes.Buffer
	code := Main(args, s.environ(), Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != 0 {
		return errs.String(), code
	}
	return out.String(), code
}

func (s *stage) environ() []string {
	return []string{"DEED_HOME=" + s.h.Root(), "HOME=" + s.h.Root(), "USER=tester", "PATH=" + os.Getenv("PATH")}
}

// play runs a command line and returns its lines as they come, and its exit code.
func (s *stage) play(args ...string) (lines *bufio.Scanner, exit chan int) {
	s.Helper()
	r, w := io.Pipe()
	exit = make(chan int, 1)
	go func() {
		exit <- Main(args, s.environ(), Stdio{In: strings.NewReader(""), Out: w, Err: io.Discard})
		_ = w.Close()
	}()
	s.Cleanup(func() { _ = r.Close() })
	return bufio.NewScanner(r), exit
}

// until reads lines up to one that contains a text.
func (s *stage) until(lines *bufio.Scanner, text string) []string {
	s.Helper()
	var seen []string
	for lines.Scan() {
		seen = append(seen, lines.Text())
		if strings.Contains(lines.Text(), text) {
			return seen
		}
	}
	s.Fatalf("the output ended before %q:\n%s", text, strings.Join(seen, "\n"))
	return nil
}

var story = []string{
	`claimed {"attempt": 1}`,
	`session {"id": "s-9", "requested_model": "m", "served_model": "m-1", "agent_version": "1.2"}`,
	`agent_text {"text": "I look\nfirst"}`,
	`tool_call {"callId": "c1", "tool": "shell", "input": {"command": ["go", "test", "./..."]}}`,
	`tool_result {"callId": "c1", "status": "failure", "errorType": "exit_status", "output": "FAIL", "durationMs": 1200}`,
	`usage {"inputTokens": 1000, "cachedInputTokens": 900, "outputTokens": 50, "reasoningTokens": 10, "costMicroUsd": 1500}`,
	`turn {"id": "t1", "index": 1, "model": "m-1", "stopReason": "tool_use", "startedAt": "2026-01-31T08:00:00Z", "endedAt": "2026-01-31T08:00:02.5Z", "usage": {"inputTokens": 1000, "outputTokens": 50}}`,
	`tool_call {"callId": "c2", "tool": "edit", "input": {"file_path": "internal/x.go"}}`,
	`tool_result {"callId": "c2", "status": "success"}`,
	`policy_decision {"id": "p1", "boundary": "tool", "tool": "edit", "effect": "allow", "rule": "go"}`,
	`policy_decision {"id": "p2", "boundary": "tool", "tool": "shell", "subject": "git push", "effect": "deny", "rule": "push", "reason": "nothing leaves"}`,
	`agent_state {"from": "running", "to": "waiting_for_input", "cause": "the agent asked"}`,
	`required_action {"id": "q1", "kind": "question", "prompt": "Which one?"}`,
	`context_compaction {"id": "k1", "reason": "share_reached", "tokensBefore": 1000, "tokensAfter": 100}`,
	`subagent_run {"id": "s1", "goal": "read the docs", "depth": 1, "state": "running"}`,
	`tool_call {"callId": "c3", "tool": "read", "subagentId": "s1", "input": {"path": "README.md"}}`,
	`provider_fault {"status": 429, "message": "slow down"}`,
	`budget {"name": "turns", "limit": 2, "used": 2, "exhausted": true}`,
	`bound_reached {"class": "turns", "why": "it took more than 2 turns"}`,
	`strange_event {"what": "not JSON"}`,
	`completion_attempt {"id": "x-c1", "number": 1, "claim": "all good", "decision": {"accepted": false, "reasons": ["check unit failed"]}}`,
	`recovery_attempt {"id": "x-r1", "completionAttemptId": "x-c1", "number": 1, "limit": 3, "reasons": ["check unit failed"], "sameConversation": true}`,
	`tomorrow {"a": 1}`,
}

const shown = `session    s-9 1.2
model      m-1 (asked for m)
turns      1, with 3 tool calls, of which 1 failed
usage      1000 tokens in (900 from a cache), 50 out (10 of them reasoning), $0.0015
budget     turns 2 of 2 used up
waits for  question q1 “Which one?”
faults     1 of the model's service
strange    1 lines of the agent's stream made no sense

turn 1     m-1  tool_use  2.5s  1000 tokens in, 50 out
           “I look first”
           ✗ shell        go test ./...                                                    failure exit_status 1.2s
turn 2
           ✓ edit         internal/x.go                                                    success
policy     deny  shell  git push  by push  nothing leaves
state      running → waiting_for_input: the agent asked
action     open  question  q1  Which one?
compaction share_reached  1000 → 100 tokens
subagent   running  s1  read the docs
           … s1/read      README.md                                                        no result
model      HTTP 429 slow down
budget     turns 2 of 2, used up
bound      turns: it took more than 2 turns
strange    not JSON
completion 1 refused  “all good”
           ✗ check unit failed
recovery   1 of 3, in the same conversation: check unit failed
`

// What an agent did is shown while it runs and after its end, from the journal alone.
func TestAttemptShow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.note(story...)
	id := s.claim.Ref.AttemptID
	check := func(state string) {
		t.Helper()
		got, code := s.deed("attempt", "show", id)
		if code != 0 || !strings.Contains(got, "state      "+state+"\n") {
			t.Fatalf("exit %d:\n%s", code, got)
		}
		_, got, ok := strings.Cut(got, "session    ")
		if d := cmp.Diff(shown, "session    "+got); !ok || d != "" {
			t.Error(d)
		}
		text, code := s.deed("attempt", "show", id, "--json")
		var doc struct {
			State   string          `json:"state"`
			Runtime json.RawMessage `json:"runtime"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || code != 0 {
			t.Fatalf("%v:\n%s", err, text)
		}
		r, err := schema.Decode[agentruntime.RuntimeTask](agentruntime.SchemaRuntimeTask, doc.Runtime)
		if err != nil {
			t.Fatal(err)
		}
		if r.ID != s.task || r.AttemptID != id || r.Goal != "fix the tests" || string(r.State) != state || doc.State != state ||
			len(r.Journal) != len(story) || len(r.ToolCalls) != 3 || len(r.OpenRequirements) != 1 {
			t.Errorf("%+v", r)
		}
	}
	check("running")
	s.settle(agentruntime.TaskRetryableFailure, "failed_terminal")
	check("failed_terminal")
	if err := os.RemoveAll(s.h.Bundles()); err != nil {
		t.Fatal(err)
	}
	if got, code := s.deed("attempt", "show", id); code != 0 || strings.Contains(got, "turn") {
		t.Errorf("without its evidence: exit %d\n%s", code, got)
	}
	if got, code := s.deed("attempt", "show", "0192f0c1-0000-7000-8000-000000000000"); code != ExitUsage || !strings.Contains(got, "no attempt") {
		t.Errorf("exit %d: %s", code, got)
	}
}

// What an agent wrote does not control the viewer's terminal.
func TestAttemptShowIsSafe(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const (
		evil   = `\u001b[31m\u001b]0;title\u0007\u202e\u202d\u202b\u2067\u200f\u061c\u009b31m\u007f\u2028\r\n`
		drives = "\x1b\x07\r\x7f\u202e\u202d\u202b\u2067\u200f\u061c\u009b\u2028"
	)
	s.note(
		`agent_text {"text": "`+evil+`"}`, `agent_text {"text": "`+strings.Repeat("x", 100_000)+`"}`,
		`tool_call {"callId": "`+strings.Repeat("c", 500)+`", "tool": "a`+evil+`", "input": {"command": "`+evil+strings.Repeat("y", 5000)+`"}}`,
		`tool_result {"callId": "unknown", "status": "failure", "errorType": "`+evil+`x"}`,
		`policy_decision {"id": "p", "boundary": "tool", "effect": "deny", "rule": "`+evil+`x", "reason": "`+evil+`"}`,
		`completion_attempt {"id": "x", "number": 1, "claim": "`+evil+`", "decision": {"accepted": false, "reasons": ["`+evil+`"]}}`,
		`session {"id": "`+evil+`", "served_model": "`+evil+`"}`, `turn "torn"`, `tool_call {"tool": 5}`, `bound_reached {"class": "`+evil+`"}`,
		`budget {"name": "`+evil+`", "limit": 1, "used": 1, "exhausted": true}`,
	)
	for _, args := range [][]string{
		{"attempt", "show", s.claim.Ref.AttemptID},
		{"task", "events", s.task},
		{"--json", "attempt", "show", s.claim.Ref.AttemptID},
		{"--json", "task", "events", s.task},
	} {
		got, code := s.deed(args...)
		if code != 0 || strings.ContainsAny(got, drives) {
			t.Errorf("%v: exit %d\n%q", args, code, got)
		}
		if args[0] == "--json" {
			continue
		}
		for _, line := range strings.Split(got, "\n") {
			if len([]rune(line)) > 300 {
				t.Errorf("%v: a line of %d characters", args, len(line))
			}
		}
	}
	s.settle(agentruntime.TaskPermanentFailure, "failed_terminal")
	if got, code := s.deed("attempt", "show", s.claim.Ref.AttemptID, "--follow"); code != 0 || strings.ContainsAny(got, drives) {
		t.Errorf("exit %d\n%q", code, got)
	}
}

// A person who follows sees a call before its result, and the end.
func TestAttemptFollow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	lines, exit := s.play("attempt", "show", s.claim.Ref.AttemptID, "--follow")
	s.until(lines, "codex")
	s.note(`tool_call {"callId": "c1", "tool": "shell", "input": {"command": "go test"}}`)
	s.until(lines, "→ shell")
	s.note(`tool_result {"callId": "c1", "status": "success", "durationMs": 5}`)
	if got := s.until(lines, "✓ shell"); !strings.Contains(got[len(got)-1], "go test") || !strings.Contains(got[len(got)-1], "5ms") {
		t.Errorf("%q", got)
	}
	s.note(`completion_attempt {"id": "x", "number": 1, "decision": {"accepted": true, "reasons": []}}`)
	s.settle(agentruntime.TaskCompleted, "completed")
	got := s.until(lines, "state      completed")
	if !strings.Contains(strings.Join(got, "\n"), "completion 1 accepted") {
		t.Errorf("%q", got)
	}
	if lines.Scan(); <-exit != 0 {
		t.Error("it did not end well")
	}
}

// The events of a task are those of the store and those of its agents, in one order, over every attempt.
func TestTaskEventsFollow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.note(`first {"n": 1}`)
	lines, exit := s.play("task", "events", s.task, "--follow", "--json")
	var seen []string
	read := func(event string) {
		t.Helper()
		for _, l := range s.until(lines, `"event":"`+event+`"`) {
			var d eventDoc
			if err := json.Unmarshal([]byte(l), &d); err != nil || d.TaskID != s.task || d.Source == "" {
				t.Fatalf("%v: %s", err, l)
			}
			seen = append(seen, d.Source+" "+d.Event)
		}
	}
	read("first")
	s.note(`tool_call {"callId": "c", "tool": "x"}`)
	read("tool_call")
	s.note(`last_of_one {}`)
	s.settle(agentruntime.TaskRetryableFailure, "failed_terminal")
	s.begin()
	s.note(`first_of_two {}`)
	read("first_of_two")
	if _, err := s.st.SetAttemptState(t.Context(), s.claim.Ref, agentruntime.StateStreaming, "it answers"); err != nil {
		t.Fatal(err)
	}
	read("agent_state")
	s.note(`last_of_two {}`)
	s.settle(agentruntime.TaskCompleted, "completed")
	read("task_finished")
	if lines.Scan() || <-exit != 0 {
		t.Errorf("more came, or it did not end well: %s", lines.Text())
	}
	want := []string{
		"store task_enqueued", "store task_claimed", "store bundle_compiled", "store task_started", "journal first",
		"journal tool_call", "journal last_of_one", "store task_attempt_finished", "store task_retry_scheduled",
		"store task_claimed", "store bundle_compiled", "store task_started", "journal first_of_two", "store agent_state",
		"journal last_of_two", "store task_attempt_finished", "store task_finished",
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
}

// Without --follow the newest events are printed, and --since and --limit leave out the older ones.
func TestTaskEventsSelection(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 30 {
		s.note(`tick {}`)
	}
	s.settle(agentruntime.TaskPermanentFailure, "failed_terminal")
	events := func(args ...string) []string {
		t.Helper()
		text, code := s.deed(append([]string{"task", "events", s.task, "--json"}, args...)...)
		var doc struct {
			Events []eventDoc `json:"events"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || code != 0 {
			t.Fatalf("exit %d, %v: %s", code, err, text)
		}
		var out []string
		for _, e := range doc.Events {
			out = append(out, e.Event)
		}
		return out
	}
	if got := events(); len(got) != 36 || got[0] != "task_enqueued" || got[35] != "task_finished" {
		t.Errorf("%d: %v", len(got), got)
	}
	if d := cmp.Diff([]string{"tick", "task_attempt_finished", "task_finished"}, events("--limit", "3")); d != "" {
		t.Error(d)
	}
	if got := events("--since", "2026-01-31T08:00:00.010Z"); len(got) == 0 || len(got) >= 32 || got[0] != "tick" {
		t.Errorf("%v", got)
	}
	if got := events("--since", "1m"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for _, bad := range [][]string{{"--since", "yesterday"}, {"--since", "-5m"}, {"--limit", "0"}} {
		if got, code := s.deed(append([]string{"task", "events", s.task}, bad...)...); code != ExitUsage || !strings.Contains(got, bad[1]) {
			t.Errorf("%v: exit %d, %s", bad, code, got)
		}
	}
}
