package attempt

import (
	"context"
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
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// A talker is a driver whose agent is a function: it is called once for each turn. It stands for an agent with a
// knowConversation of its own, so that each bound can be met exactly.
type talker struct {
	turn   func(ctx context.Context, j driver.Job, in driver.Input, sink driver.Sink) driver.Yield
	inputs []driver.Input
	resume []string
	ref    string
}

func (*talker) Kind() string { return agentruntime.KindNative }
func (*talker) Ready(context.Context, agentruntime.AdapterConfig) driver.Readiness {
	return driver.Readiness{Ready: true}
}

func (d *talker) Start(_ context.Context, j driver.Job) (driver.Session, error) {
	d.resume = append(d.resume, j.Resume)
	return &dialogue{d, j}, nil
}

type dialogue struct {
	*talker
	job driver.Job
}

func (s *dialogue) Ref() string                 { return s.ref }
func (s *dialogue) Close(context.Context) error { return nil }
func (s *dialogue) Turn(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	s.inputs = append(s.inputs, in)
	if s.ref != "" {
		sink.Event(driver.EventSession, driver.SessionInfo{ID: s.ref})
	}
	y := s.turn(ctx, s.job, in, sink)
	if cause := context.Cause(ctx); cause != nil && y.Kind == "" {
		y.Kind = driver.YieldEnd
		var f *failure.Error
		if !errors.As(cause, &f) {
			f = failure.New(failure.Interrupted, "talk", cause, "")
		}
		y.Class, y.Err = f.Class, f
	}
	y.ExitStatus = y.Class.Rule().Exit
	out := filepath.Join(s.job.Dirs.Run, driver.TurnFile(driver.StdoutFile, in.Turn))
	if err := os.WriteFile(out, []byte(fmt.Sprintf("turn %d\n", in.Turn)), 0o600); err != nil {
		return y, err
	}
	y.StdoutPath = out
	return y, nil
}

func says(text string) driver.Yield {
	return driver.Yield{Kind: driver.YieldCompletion, Class: failure.None, Claim: &driver.Claim{
		Source: "test", Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: text,
	}}
}

// talking is a task for the talker, with a check that wants the file answer to say 42.
func (b *testBundle) talking(d *talker, edit func(*deed.TaskSpec)) *store.Claim {
	b.t.Helper()
	b.Drivers = driver.NewSet(d)
	adapter, err := json.Marshal(agentruntime.AdapterConfig{Native: &agentruntime.NativeAdapter{
		AdapterID: "talker", Kind: agentruntime.KindNative, Model: "m", TimeoutMS: 60_000,
		Provider: agentruntime.NativeProvider{API: "ollama", BaseURL: "http://127.0.0.1:1"},
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.claim("", func(n *store.NewTask) {
		n.AdapterID = "talker"
		s := &deed.TaskSpec{Adapter: adapter, Checks: []deed.Check{{Name: "answer", Shell: "grep -qx 42 answer || { echo wrong answer; exit 1; }"}}}
		if edit != nil {
			edit(s)
		}
		n.Intent.Deed = s
	})
}

func writes(t *testing.T, j driver.Job, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.Dirs.Workspace, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// kinds counts the events of a bundle by kind.
func kinds(t *testing.T, dir string) (map[string]int, []journal.Entry) {
	t.Helper()
	list, err := journal.Read(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range list {
		out[e.Kind]++
	}
	return out, list
}

func TestARefusalIsAnsweredInTheSameConversation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "conversation-1"}
	d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
		if in.Turn == 1 {
			writes(t, j, "answer", "41\n")
			return says("the answer is there")
		}
		writes(t, j, "answer", "42\n")
		return says("now it is")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted || !res.Verdict.Accepted {
		t.Fatalf("settled %s: %s", res.Settlement.Status, res.Settlement.LastError)
	}
	if len(d.inputs) != 2 || len(d.resume) != 1 {
		t.Fatalf("inputs %v, sessions %v", d.inputs, d.resume)
	}
	for _, want := range []string{"not accepted", "answer", "wrong answer", "refusal 1 of at most 3"} {
		if !strings.Contains(d.inputs[1].Text, want) {
			t.Errorf("the refusal does not say %q:\n%s", want, d.inputs[1].Text)
		}
	}
	n, _ := kinds(t, res.BundleDir)
	if n["completion_attempt"] != 2 || n["recovery_attempt"] != 1 || n["verdict"] != 2 {
		t.Errorf("events: %v", n)
	}
	for _, f := range []string{"stdout.log", "stdout-2.log"} {
		if _, err := os.Stat(filepath.Join(res.BundleDir, "files/attempt", f)); err != nil {
			t.Error(err)
		}
	}
	rep, err := bundle.Verify(res.BundleDir, bundle.VerifyOptions{Keys: []bundle.PublicKey{b.Key.Public()}, RequireSignature: true})
	if err != nil || !rep.Valid {
		t.Errorf("the bundle does not verify: %v %+v", err, rep)
	}
	if got := res.Settlement.Attempt.StdoutPath; got != "files/attempt/stdout-2.log" {
		t.Errorf("stdout of the attempt: %s", got)
	}
}

func TestTheGateCannotBeOutlasted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limit *int
		turns int
	}{{nil, 4}, {ptr(0), 1}, {ptr(2), 3}} {
		b := setup(t)
		d := &talker{ref: "c"}
		d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
			writes(t, j, "answer", fmt.Sprintln(in.Turn))
			return says("done")
		}
		res, err := b.Run(t.Context(), b.sup, b.talking(d, func(s *deed.TaskSpec) { s.MaxRecoveries = tc.limit }))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.inputs) != tc.turns || res.Settlement.Class != string(failure.Rejected) || res.Settlement.Status != agentruntime.TaskRetryableFailure {
			t.Errorf("limit %v: %d turns, %s %s", tc.limit, len(d.inputs), res.Settlement.Class, res.Settlement.Status)
		}
		if _, err := os.Stat(b.Home.Attempt(res.Ref.AttemptID)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a refused attempt leaves its directory: %v", err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestAnAgentThatDoesNothingAboutARefusalIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	d.turn = func(context.Context, driver.Job, driver.Input, driver.Sink) driver.Yield {
		return says("I am done, I say")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, func(s *deed.TaskSpec) { s.MaxRecoveries = ptr(50) }))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.inputs) != 2 || res.Settlement.Class != string(failure.Stuck) {
		t.Errorf("%d turns, %s: %s", len(d.inputs), res.Settlement.Class, res.Settlement.LastError)
	}
}

func TestAnAgentInCirclesIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	calls := 0
	d.turn = func(ctx context.Context, _ driver.Job, _ driver.Input, sink driver.Sink) driver.Yield {
		for ; ctx.Err() == nil && calls < 1000; calls++ {
			id := fmt.Sprint(calls)
			sink.Event(driver.EventToolCall, agentruntime.ToolCall{CallID: id, Tool: "shell", Input: json.RawMessage(`{"command":"ls"}`)})
			sink.Event(driver.EventToolResult, agentruntime.ToolResult{CallID: id, Status: agentruntime.ToolSuccess, Output: "a\n"})
		}
		return driver.Yield{}
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
	if err != nil {
		t.Fatal(err)
	}
	if calls != maxRepeats || res.Settlement.Class != string(failure.Loop) {
		t.Errorf("%d calls, %s: %s", calls, res.Settlement.Class, res.Settlement.LastError)
	}
}

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	n := 0
	d.turn = func(ctx context.Context, _ driver.Job, _ driver.Input, sink driver.Sink) driver.Yield {
		for ; ctx.Err() == nil && n < 100; n++ {
			sink.Event(driver.EventTurn, agentruntime.Turn{ID: fmt.Sprint(n), Index: n + 1})
		}
		return driver.Yield{}
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, func(s *deed.TaskSpec) { s.MaxTurns = 7 }))
	if err != nil {
		t.Fatal(err)
	}
	if n != 8 || res.Settlement.Class != string(failure.Turns) {
		t.Errorf("%d turns, %s", n, res.Settlement.Class)
	}
}

// An attempt that was cut short leaves its directory to the next, which goes on with the conversation in the workspace as
// the agent left it, with the refusals that it had.
func TestAConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "conversation-7"}
	ctx, interrupt := context.WithCancelCause(t.Context())
	d.turn = func(ctx context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
		switch in.Turn {
		case 1:
			writes(t, j, "answer", "41\n")
			return says("done")
		case 2:
			writes(t, j, "half", "half of it\n")
			interrupt(driver.ErrInterrupted)
			<-ctx.Done()
			return driver.Yield{}
		}
		half, err := os.ReadFile(filepath.Join(j.Dirs.Workspace, "half"))
		if err != nil || string(half) != "half of it\n" {
			t.Errorf("the workspace is not as it was: %q %v", half, err)
		}
		writes(t, j, "answer", "42\n")
		return says("done")
	}
	c := b.talking(d, func(s *deed.TaskSpec) { s.MaxRecoveries = ptr(1) })
	res, err := b.Run(ctx, b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != string(failure.Interrupted) || res.Settlement.Status != agentruntime.TaskRetryableFailure {
		t.Fatalf("%s %s", res.Settlement.Class, res.Settlement.Status)
	}
	next, err := b.Store.Claim(t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	res2, err := b.Run(t.Context(), b.sup, next)
	if err != nil {
		t.Fatal(err)
	}
	if res2.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s", res2.Settlement.Status, res2.Settlement.LastError)
	}
	if len(d.resume) != 2 || d.resume[0] != "" || d.resume[1] != "conversation-7" {
		t.Errorf("resumed: %q", d.resume)
	}
	if last := d.inputs[len(d.inputs)-1]; last.Turn != 3 || !strings.Contains(last.Text, "interrupted") {
		t.Errorf("the agent was told: %+v", last)
	}
	if got := b.task(c.Ref.TaskID).Record.AttemptCount; got != 1 {
		t.Errorf("the break used up an attempt: %d", got)
	}
	n, _ := kinds(t, res2.BundleDir)
	if n["resumed"] != 1 || n["seeded"] != 0 {
		t.Errorf("events %v", n)
	}
	for _, id := range []string{res.Ref.AttemptID, res2.Ref.AttemptID} {
		if _, err := os.Stat(b.Home.Attempt(id)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("directory of %s: %v", id, err)
		}
	}
}

// What a killed runner left is settled as lost, and its conversation goes on too.
func TestALostConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c-lost"}
	c := b.talking(d, nil)
	d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
		if in.Turn == 1 {
			writes(t, j, "answer", "42\n")
			panic(errKilled) // stands for SIGKILL: what follows in the runner is skipped below
		}
		return says("done")
	}
	a := &run{Runner: b.Runner, sup: b.sup, claim: c, dir: b.Home.Attempt(c.Ref.AttemptID), owner: "runner", started: b.Clock()}
	if err := guard(func() error { return a.execute(t.Context()) }); failure.ClassOf(err) != failure.Panic {
		t.Fatal(err)
	}
	lost, err := b.Store.Lost(t.Context(), []string{"runner"})
	if err != nil || len(lost) != 1 {
		t.Fatalf("%v %v", lost, err)
	}
	if _, err := b.Salvage(t.Context(), lost[0]); err != nil {
		t.Fatal(err)
	}
	if err := b.Store.Retry(t.Context(), c.Ref.TaskID, "", "test"); err != nil {
		t.Fatal(err)
	}
	next, err := b.Store.Claim(t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Run(t.Context(), b.sup, next)
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%v %s %s", err, res.Settlement.Status, res.Settlement.LastError)
	}
	if last := d.inputs[len(d.inputs)-1]; d.resume[1] != "c-lost" || !strings.Contains(last.Text, "gone") {
		t.Errorf("%q %+v", d.resume, last)
	}
}

var errKilled = errors.New("killed")

// The calls of an agent are in the transcript of the contract, and whole outputs are in files next to it.
func TestToolCallsAreEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	d.turn = func(_ context.Context, j driver.Job, _ driver.Input, sink driver.Sink) driver.Yield {
		writes(t, j, "answer", "42\n")
		if err := os.MkdirAll(filepath.Join(j.Dirs.Run, "tools"), 0o700); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(j.Dirs.Run, "tools", "1.txt"), []byte("all of it"), 0o600); err != nil {
			t.Error(err)
		}
		sink.Event(driver.EventToolCall, agentruntime.ToolCall{CallID: "x", Tool: "shell", Input: json.RawMessage(`{"command":"make"}`)})
		sink.Event(driver.EventToolResult, agentruntime.ToolResult{CallID: "x", Status: agentruntime.ToolFailure, ErrorType: "exit", Output: "of it", OutputRef: "tools/1.txt"})
		sink.Event(driver.EventToolCall, agentruntime.ToolCall{CallID: "y", Tool: "read"})
		return says("done")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatal(res.Settlement.LastError)
	}
	if n, _ := kinds(t, res.BundleDir); n["agent_state"] != 2 || n["agent_state_unwritten"] != 0 { // streaming, and back
		t.Errorf("events: %v", n)
	}
	data, err := os.ReadFile(filepath.Join(res.BundleDir, evidence.PathToolCallTranscript))
	if err != nil {
		t.Fatal(err)
	}
	var got evidence.ToolCallTranscript
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got.ToolCalls {
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(c.CallID, c.ToolName, c.Status, c.Metadata["output"])))
	}
	want := "agent-1 shell failed files/attempt/tools/1.txt|agent-2 read started <nil>|check-0 deed.check succeeded <nil>"
	if s := strings.Join(lines, "|"); s != want {
		t.Errorf("calls:\n%s\nwant\n%s", s, want)
	}
	if data, err := os.ReadFile(filepath.Join(res.BundleDir, "files/attempt/tools/1.txt")); err != nil || string(data) != "all of it" {
		t.Errorf("%q %v", data, err)
	}
}

// A repository's instructions to agents are in the brief, as the base has them; a script gets none of them.
func TestTheRepositorysInstructionsAreInTheBrief(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Use tabs.\n", "CLAUDE.md": "Not this one.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told string
	d := &talker{ref: "c"}
	d.turn = func(_ context.Context, j driver.Job, _ driver.Input, _ driver.Sink) driver.Yield {
		told = j.Brief
		writes(t, j, "answer", "42\n")
		return says("done")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, func(s *deed.TaskSpec) { s.Workspace = &deed.Workspace{Source: dir} }))
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%v %s", err, res.Settlement.LastError)
	}
	if !strings.Contains(told, "(AGENTS.md)") || !strings.Contains(told, "Use tabs.") || strings.Contains(told, "Not this one") {
		t.Errorf("the brief:\n%s", told)
	}
}

// An agent that was refused and then ends in another way is shown as it ended: no verdict, and the change as it is then.
func TestARefusalDoesNotOutliveItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	d.turn = func(_ context.Context, j driver.Job, in driver.Input, _ driver.Sink) driver.Yield {
		if in.Turn == 1 {
			writes(t, j, "first", "1\n")
			return says("done")
		}
		writes(t, j, "second", "2\n")
		f := failure.New(failure.Provider, "talk", errors.New("the service is gone"), "")
		return driver.Yield{Kind: driver.YieldEnd, Class: f.Class, Err: f}
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != string(failure.Provider) || res.Verdict != nil || res.Settlement.Verdict != nil {
		t.Errorf("%s, verdict %+v", res.Settlement.Class, res.Verdict)
	}
	data, err := os.ReadFile(filepath.Join(res.BundleDir, evidence.PathChangedFiles))
	if err != nil || !strings.Contains(string(data), `"second"`) || !strings.Contains(string(data), `"first"`) {
		t.Errorf("the change in the bundle is not the one at the end: %v\n%s", err, data)
	}
	rep, err := bundle.Verify(res.BundleDir, bundle.VerifyOptions{Keys: []bundle.PublicKey{b.Key.Public()}, RequireSignature: true})
	if err != nil || !rep.Valid {
		t.Errorf("the bundle does not verify: %v %+v", err, rep)
	}
}
