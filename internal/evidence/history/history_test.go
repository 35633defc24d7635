package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
)

// written makes a journal from lines of a kind and a detail.
func written(lines ...string) []journal.Entry {
	var out []journal.Entry
	for i, l := range lines {
		kind, detail, _ := strings.Cut(l, " ")
		out = append(out, journal.Entry{
			Seq: int64(i + 1), At: agentruntime.Timestamp(fmt.Sprintf("2026-01-31T08:00:%02d.000000Z", i%60)), Kind: kind, Detail: json.RawMessage(detail),
		})
	}
	return out
}

// guarded is an attempt that stopped too early, got the reasons, and repaired its work.
var guarded = written(
	`claimed {"task_id": "t-1", "attempt_id": "a-1", "fence": 1}`,
	`seeded {"entries": 3}`,
	`begun {"adapter_id": "cx"}`,
	`process_started {"pid": 7}`,
	`session {"id": "s-9", "requested_model": "m", "served_model": "m-1", "agent_version": "1.2"}`,
	`agent_text {"text": "I look first"}`,
	`tool_call {"callId": "c1", "turn": 1, "tool": "shell", "input": {"command": ["go", "test", "./..."]}}`,
	`policy_decision {"id": "p1", "boundary": "tool", "callId": "c1", "tool": "shell", "subject": "go test", "effect": "allow", "rule": "go"}`,
	`tool_result {"callId": "c1", "status": "failure", "errorType": "exit_status", "output": "FAIL", "durationMs": 1200}`,
	`usage {"inputTokens": 1000, "cachedInputTokens": 900, "outputTokens": 50, "costMicroUsd": 1500}`,
	`turn {"id": "t1", "index": 1, "model": "m-1", "stopReason": "tool_use", "usage": {"inputTokens": 1000, "outputTokens": 50}}`,
	`agent_state {"from": "running", "to": "waiting_for_permission", "cause": "rule push asks"}`,
	`required_action {"id": "q1", "kind": "permission", "prompt": "May it push?"}`,
	`required_action {"id": "q1", "kind": "permission", "prompt": "May it push?", "state": "answered", "answer": {"allow": true}}`,
	`required_action {"id": "q2", "kind": "question", "prompt": "Which?"}`,
	`agent_state {"from": "waiting_for_permission", "to": "running", "cause": "ana allowed it"}`,
	`completion_attempt {"id": "a-1-c1", "number": 1, "claim": "done", "decision": {"accepted": false, "reasons": ["check unit failed"]}}`,
	`recovery_attempt {"id": "a-1-r1", "completionAttemptId": "a-1-c1", "number": 1, "limit": 3, "reasons": ["check unit failed"], "sameConversation": true}`,
	`context_compaction {"id": "k1", "reason": "share_reached", "tokensBefore": 1000, "tokensAfter": 100}`,
	`subagent_run {"id": "s1", "goal": "read", "depth": 1, "state": "running"}`,
	`subagent_run {"id": "s1", "goal": "read", "depth": 1, "state": "completed", "summary": "42", "usage": {"inputTokens": 3, "cachedInputTokens": 9, "outputTokens": 1}}`,
	`usage {"inputTokens": 500, "cachedInputTokens": 9000, "outputTokens": 5, "costMicroUsd": 500}`,
	`budget {"name": "turns", "limit": 40, "used": 20}`,
	`budget {"name": "turns", "limit": 40, "used": 40, "exhausted": true}`,
	`provider_fault {"status": 429, "message": "slow down"}`,
	`strange_event {"what": "not JSON", "sample": "<html>"}`,
	`a_kind_of_tomorrow [1, 2]`,
	`completion_attempt {"id": "a-1-c2", "number": 2, "decision": {"accepted": true, "reasons": []}}`,
	`settling {"status": "completed", "class": "none"}`,
)

func TestFold(t *testing.T) {
	t.Parallel()
	got := history.Of(history.Options{Goal: "fix the tests", Journal: true}, guarded)
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(got.Journal) != len(guarded) || string(got.Journal[26].Detail) != `{"value":[1, 2]}` {
		t.Errorf("journal: %d entries, %s", len(got.Journal), got.Journal[26].Detail)
	}
	got.Journal = nil
	cost := int64(2000)
	want := agentruntime.RuntimeTask{
		Schema: agentruntime.SchemaRuntimeTask, ID: "t-1", AttemptID: "a-1", Goal: "fix the tests", State: agentruntime.StateCompleted,
		OpenRequirements:   []agentruntime.RequiredAction{{ID: "q2", Kind: "question", Prompt: "Which?"}},
		ClosedRequirements: []agentruntime.RequiredAction{{ID: "q1", Kind: "permission", Prompt: "May it push?", State: "answered", Answer: json.RawMessage(`{"allow": true}`)}},
		States: []agentruntime.AgentStateChange{
			{From: "running", To: "waiting_for_permission", Cause: "rule push asks", At: "2026-01-31T08:00:11.000000Z"},
			{From: "waiting_for_permission", To: "running", Cause: "ana allowed it", At: "2026-01-31T08:00:15.000000Z"},
		},
		Turns:       []agentruntime.Turn{{ID: "t1", Index: 1, Model: "m-1", StopReason: "tool_use", Usage: &agentruntime.Usage{InputTokens: 1000, OutputTokens: 50}}},
		ToolCalls:   []agentruntime.ToolCall{{CallID: "c1", Turn: 1, Tool: "shell", Input: json.RawMessage(`{"command": ["go", "test", "./..."]}`)}},
		ToolResults: []agentruntime.ToolResult{{CallID: "c1", Status: "failure", ErrorType: "exit_status", Output: "FAIL", DurationMS: 1200}},
		CompletionAttempts: []agentruntime.CompletionAttempt{
			{ID: "a-1-c1", Number: 1, Claim: "done", Decision: &agentruntime.CompletionDecision{Reasons: []string{"check unit failed"}}},
			{ID: "a-1-c2", Number: 2, Decision: &agentruntime.CompletionDecision{Accepted: true, Reasons: []string{}}},
		},
		RecoveryAttempts: []agentruntime.RecoveryAttempt{{ID: "a-1-r1", CompletionAttemptID: "a-1-c1", Number: 1, Limit: 3, Reasons: []string{"check unit failed"}, SameConversation: true}},
		Compactions:      []agentruntime.ContextCompaction{{ID: "k1", Reason: "share_reached", TokensBefore: 1000, TokensAfter: 100}},
		Subagents:        []agentruntime.SubagentRun{{ID: "s1", Goal: "read", Depth: 1, State: "completed", Summary: "42", Usage: &agentruntime.Usage{InputTokens: 3, CachedInputTokens: 3, OutputTokens: 1}}},
		Decisions:        []agentruntime.PolicyDecision{{ID: "p1", Boundary: "tool", CallID: "c1", Tool: "shell", Subject: "go test", Effect: "allow", Rule: "go"}},
		Usage:            &agentruntime.Usage{InputTokens: 1500, CachedInputTokens: 1500, OutputTokens: 55, CostMicroUSD: &cost},
		Budgets:          []agentruntime.Budget{{Name: "turns", Limit: 40, Used: 40, Exhausted: true}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	f := history.New(history.Options{TaskID: "t"})
	for _, e := range guarded {
		f.Add(e)
	}
	f.Add(guarded[0]) // seen before
	f.Add(journal.Entry{Seq: 100, At: "2026-01-31T08:00:00Z", Kind: "tool_call", Detail: json.RawMessage(`{"tool": 3}`)})
	f.Add(journal.Entry{Seq: 101, At: "2026-01-31T08:00:00Z", Kind: "resumed", Detail: json.RawMessage(`{"from_attempt": "a-0"}`)})
	want := history.Facts{
		SessionID: "s-9", RequestedModel: "m", ServedModel: "m-1", AgentVersion: "1.2", Resumed: true, Faults: 1, Strange: 1, Unread: 1, Entries: len(guarded) + 2,
	}
	if d := cmp.Diff(want, f.Facts()); d != "" {
		t.Error(d)
	}
	if f.Task().ID != "t" {
		t.Error("the journal changed the task's id")
	}
}

// A view is of its moment: what comes later does not change it.
func TestTaskIsACopy(t *testing.T) {
	t.Parallel()
	f := history.New(history.Options{Journal: true})
	var views []agentruntime.RuntimeTask
	var texts []string
	for _, e := range guarded {
		f.Add(e)
		v := f.Task()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		views, texts = append(views, v), append(texts, string(b))
	}
	for i, v := range views {
		if b, _ := json.Marshal(v); string(b) != texts[i] {
			t.Fatalf("the view after entry %d changed:\n%s\n%s", i+1, texts[i], b)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		want  agentruntime.AgentState
	}{
		{nil, agentruntime.StateIdle},
		{[]string{`claimed {}`, `seeded {}`}, agentruntime.StateIdle},
		{[]string{`begun {}`}, agentruntime.StateRunning},
		{[]string{`begun {}`, `agent_state {"from": "running", "to": "flying", "cause": "x"}`}, agentruntime.StateRunning},
		{[]string{`begun {}`, `settling {"status": "blocked"}`}, agentruntime.StateResumable},
		{[]string{`begun {}`, `settling {"status": "retryable_failure"}`}, agentruntime.StateFailedTerminal},
		{[]string{`begun {}`, `lost {}`}, agentruntime.StateFailedTerminal},
	} {
		if got := history.Of(history.Options{}, written(c.lines...)).State; got != c.want {
			t.Errorf("%v: %s, want %s", c.lines, got, c.want)
		}
	}
}

func TestMaxText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1000)
	got := history.Of(history.Options{MaxText: 99}, written(
		`tool_call {"callId": "c", "tool": "x", "input": {"a": "`+long+`"}}`,
		`tool_result {"callId": "c", "status": "success", "output": "`+long+`"}`,
	))
	if got.ToolCalls[0].Input != nil || got.ToolResults[0].Output != strings.Repeat("é", 49)+"…" {
		t.Errorf("%+v", got)
	}
}

// The kinds of drivers are spelled in one way.
func TestKindsOfDrivers(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[string]string{
		history.KindSession: driver.EventSession, history.KindTurn: driver.EventTurn, history.KindText: driver.EventText,
		history.KindToolCall: driver.EventToolCall, history.KindToolResult: driver.EventToolResult, history.KindUsage: driver.EventUsage,
		history.KindPolicy: driver.EventPolicy, history.KindCompaction: driver.EventCompaction, history.KindSubagent: driver.EventSubagent,
		history.KindFault: driver.EventFault, history.KindStrange: driver.EventStrange,
	} {
		if ours != theirs {
			t.Errorf("%s is %s in package driver", ours, theirs)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command": "go test"}`:                                    "go test",
		`{"timeout": 3, "cmd": ["ls", "-l"]}`:                       "ls -l",
		`{"file_path": "a.go", "content": "x"}`:                     "a.go",
		`{"path": "src", "pattern": "x"}`:                           "x",
		`{"input": "*** Begin Patch\n*** Update File: a/b.go\n@@"}`: "a/b.go",
		`{"changes": [{"path": "a"}, {"path": "b"}]}`:               "a and 1 more",
		`{"other": 1}`:                       `{"other": 1}`,
		`{}`:                                 "",
		``:                                   "",
		`[1]`:                                "",
		`{"command": {"a": 1}, "name": "n"}`: "n",
	} {
		if got := history.Subject(agentruntime.ToolCall{Input: json.RawMessage(input)}); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"tool_call": "shell  go test ./...", "tool_result": "failure  exit_status  1.2s  FAIL", "turn": "turn 1  m-1  tool_use  1000 tokens in, 50 out",
		"agent_text": "I look first", "policy_decision": "allow  shell  go test  by go", "context_compaction": "share_reached  1000 → 100 tokens",
		"provider_fault": "HTTP 429 slow down", "strange_event": "not JSON  <html>", "a_kind_of_tomorrow": "[1, 2]",
		"recovery_attempt": "1 of 3, in the same conversation: check unit failed", "process_started": `{"pid": 7}`,
	}
	for _, e := range guarded {
		if w, ok := want[e.Kind]; ok && history.Summary(e) != w {
			t.Errorf("%s: %q, want %q", e.Kind, history.Summary(e), w)
		}
		if history.Summary(journal.Entry{Kind: e.Kind, Detail: json.RawMessage(`"torn`)}) != `"torn` {
			t.Errorf("%s with a detail that cannot be read", e.Kind)
		}
	}
}

// Whatever a journal holds, the view of it keeps the rules of its record and says the same at once or bit by bit.
func FuzzFold(f *testing.F) {
	for _, e := range guarded {
		f.Add(e.Kind, []byte(e.Detail), e.Seq)
	}
	f.Add("usage", []byte(`{"inputTokens": 9223372036854775807, "outputTokens": -4}`), int64(3))
	f.Add("tool_call", []byte(`{"callId": "c", "tool": "x", "input": {"a": "\u0000", "b": "\ud800", "a": 1e999}}`), int64(3))
	f.Add("tool_result", []byte(`{"callId": "c\ud800", "status": "success", "output": "\ud800\u0000"}`), int64(3))
	f.Add("strange_event", []byte("{\"what\": \"\xff\"}"), int64(3))
	f.Fuzz(func(t *testing.T, kind string, detail []byte, seq int64) {
		if len(detail) > 0 && !json.Valid(detail) {
			detail = nil // a journal holds nothing else
		}
		strange := journal.Entry{Seq: seq, At: "2026-01-31T08:00:00Z", Kind: kind, Detail: detail}
		entries := append([]journal.Entry{strange, strange}, guarded...)
		for i := range guarded {
			entries[i+2].Seq = max(seq, 0) + int64(i) + 1
		}
		entries = append(entries, strange)
		for _, o := range []history.Options{{TaskID: "t", Journal: true}, {TaskID: "t", Goal: "g", MaxText: 5}} {
			fold := history.New(o)
			for _, e := range entries {
				fold.Add(e)
				_ = history.Summary(e)
			}
			got := fold.Task()
			if err := got.Validate(); err != nil {
				t.Fatalf("%v", err)
			}
			b, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			_, err = schema.Decode[agentruntime.RuntimeTask](agentruntime.SchemaRuntimeTask, b)
			for _, fa := range fault.Of(err) {
				if fa.Code != fault.DuplicateKey { // a member that an agent named twice stays as it is
					t.Fatalf("%v\n%s", fa, b)
				}
			}
			if d := cmp.Diff(got, history.Of(o, entries)); d != "" {
				t.Fatal(d)
			}
		}
	})
}
