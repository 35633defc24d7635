package loop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func TestAConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		calls(tool.Read, `{"path": "a"}`, tool.Shell, `{"command": "make test"}`),
		calls(tool.Edit, `{"path": "a", "old": "x", "new": "y"}`, tool.TaskComplete, `{"summary": "done", "files": ["a"]}`, tool.List, `{}`),
		calls(tool.Shell, `{"command": "make test"}`),
		says("now it is done"),
		completes("at last"),
	)
	defer b.close()
	b.hands.say[tool.Shell] = func(string) (string, tool.Outcome, error) {
		return "1 test failed", tool.Outcome{Failed: true, ErrorType: tool.TypeExit}, nil
	}
	y := b.turn(t.Context(), "")
	if !y.Completed || y.Summary != "done" || len(y.Files) != 1 || y.Err != nil {
		t.Fatalf("%+v", y)
	}
	mustContain(t, b.last(), "[c0 false] read done\n[c1 true] 1 test failed\n")
	if got := strings.Join(b.hands.done, "; "); got != `read {"path": "a"}; shell {"command": "make test"}; edit {"path": "a", "old": "x", "new": "y"}; list {}` {
		t.Errorf("carried out: %s", got)
	}

	b.reopen() // between the turns, and after a yield that was not answered yet
	if y := b.turn(t.Context(), ""); !y.Completed || y.Summary != "done" || len(b.script.reqs) != 2 {
		t.Errorf("the claim was lost: %+v", y)
	}
	y = b.turn(t.Context(), "Not done: the check fails.")
	if !y.Completed || y.Summary != "now it is done" {
		t.Fatalf("%+v", y)
	}
	third := b.script.reqs[2].Messages
	// The ids of the second answer were taken.
	mustContain(t, text(third[len(third)-1]), "edit done", "true] not accepted; the reasons follow", "list done", "\nNot done: the check fails.")
	b.reopen()
	y = b.turn(t.Context(), "Still not.")
	if !y.Completed || y.Summary != "at last" {
		t.Fatalf("%+v", y)
	}
	mustContain(t, b.last(), "Still not.")

	var kinds []string
	for _, e := range b.events {
		kinds = append(kinds, e.kind)
	}
	mustContain(t, strings.Join(kinds, " "), "agent_text usage turn tool_call tool_result tool_call tool_result agent_text usage turn")
	turns := details[agentruntime.Turn](b, driver.EventTurn)
	if len(turns) != 5 || turns[4].Index != 5 || turns[0].ToolCalls != 2 || turns[0].Model != "m-1" {
		t.Errorf("turns: %+v", turns)
	}
	results := details[agentruntime.ToolResult](b, driver.EventToolResult)
	if len(results) != 5 || results[1].Status != agentruntime.ToolFailure || results[1].ErrorType != tool.TypeExit {
		t.Errorf("results: %+v", results)
	}
	mustContain(t, b.log.String(), "agent: now it is done", `agent: [shell {"command": "make test"}]`, "result (exit_code): 1 test failed", "user: Still not.")
}

func TestWaitsForTheService(t *testing.T) {
	t.Parallel()
	fault := func(kind model.Kind, after time.Duration) error {
		return &model.Error{Kind: kind, Message: "no", RetryAfter: after}
	}
	repeat := func(err error, n int) (out []any) {
		for range n {
			out = append(out, err)
		}
		return out
	}
	for name, tc := range map[string]struct {
		items    []any
		class    failure.Class // None: it comes to its end
		min, max time.Duration
		faults   int
	}{
		"asks to wait":          {[]any{fault(model.KindRateLimited, 40*time.Second), says("ok")}, failure.None, 40 * time.Second, 40 * time.Second, 1},
		"asks to wait too long": {[]any{fault(model.KindRateLimited, time.Hour)}, failure.RateLimited, 0, 0, 1},
		"limited for ever":      {repeat(fault(model.KindRateLimited, time.Second), 9), failure.RateLimited, 6 * time.Second, 6 * time.Second, 7},
		"comes back":            {append(repeat(fault(model.KindServer, 0), 3), says("ok")), failure.None, 3500 * time.Millisecond, 7 * time.Second, 3},
		"never comes back":      {repeat(fault(model.KindOverloaded, 0), 9), failure.Provider, 30 * time.Second, 62 * time.Second, 7},
		"cut":                   {[]any{fault(model.KindCut, 0), fault(model.KindGarbage, 0), fault(model.KindUnreachable, 0), says("ok")}, failure.None, 3 * time.Second, 7 * time.Second, 3},
		"no key":                {[]any{fault(model.KindAuth, 0)}, failure.Config, 0, 0, 1},
		"bad request":           {[]any{fault(model.KindBadRequest, 0)}, failure.Provider, 0, 0, 1},
		"no such model":         {[]any{&model.Error{Kind: model.KindBadRequest, Status: 404}}, failure.Config, 0, 0, 1},
		"no money":              {[]any{&model.Error{Kind: model.KindAuth, Status: 402}}, failure.RateLimited, 0, 0, 1},
		"quota":                 {[]any{&model.Error{Kind: model.KindRateLimited, Final: true}}, failure.RateLimited, 0, 0, 1},
		"fault of deed":         {[]any{errors.New("odd")}, failure.Infra, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.items...)
			defer b.close()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				y := b.turn(t.Context(), "")
				if took := time.Since(start); took < tc.min || took > tc.max {
					t.Errorf("took %v", took)
				}
				class := failure.None
				if y.Err != nil {
					class = y.Err.Class
				}
				if class != tc.class || y.Completed != (tc.class == failure.None) {
					t.Errorf("got %s: %+v", class, y)
				}
				if tc.class == failure.RateLimited && name == "asks to wait too long" && y.Err.RetryAfter != time.Hour {
					t.Errorf("retry after %v", y.Err.RetryAfter)
				}
			})
			if got := details[driver.Fault](b, driver.EventFault); len(got) != tc.faults || tc.faults > 0 && got[len(got)-1].Final != (tc.class != failure.None) {
				t.Errorf("faults: %+v", got)
			}
		})
	}
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	budget := failure.New(failure.Budget, "meter", errors.New("used up"), "")
	for name, tc := range map[string]struct {
		cause error
		class failure.Class
	}{
		"operator": {driver.ErrCanceled, failure.Canceled}, "deed": {driver.ErrInterrupted, failure.Interrupted}, "bare": {context.Canceled, failure.Interrupted}, "classed": {budget, failure.Budget},
	} {
		for where, items := range map[string]func(stop func()) []any{
			"while the model answers": func(stop func()) []any {
				return []any{func(model.Request) (model.Response, error) {
					stop()
					return model.Response{}, errors.New("cut off")
				}}
			},
			"while deed waits": func(stop func()) []any {
				return []any{func(model.Request) (model.Response, error) {
					stop()
					return model.Response{}, &model.Error{Kind: model.KindRateLimited, RetryAfter: time.Minute}
				}}
			},
			"while a tool runs": func(func()) []any { return []any{calls(tool.Shell, `{"command": "stop"}`)} },
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := func() { cancel(tc.cause) }
				b := newBench(t, items(stop)...)
				defer b.close()
				b.hands.say[tool.Shell] = func(string) (string, tool.Outcome, error) {
					stop()
					return "", tool.Outcome{}, context.Cause(ctx)
				}
				if y := b.turn(ctx, ""); y.Completed || y.Err == nil || y.Err.Class != tc.class {
					t.Errorf("%+v", y)
				}
			})
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	list := calls(tool.List, `{}`)
	mute := model.Response{Stop: model.StopEnd}
	for name, tc := range map[string]struct {
		items []any
		turns int
		class failure.Class
	}{
		"turns":           {[]any{calls(tool.List, `{"depth": 1}`), calls(tool.List, `{"depth": 2}`), says("never")}, 2, failure.Turns},
		"last turn":       {[]any{list, says("in time")}, 2, failure.None},
		"repetition":      {[]any{list, list, list, list, list, list, says("never")}, 0, failure.Loop},
		"cut answers":     {[]any{cut("a"), cut("b"), cut("c"), says("never")}, 0, failure.Provider},
		"one cut answer":  {[]any{cut("a"), list, cut("b"), cut("c"), says("ok")}, 0, failure.None},
		"refusal":         {[]any{model.Response{Stop: model.StopRefused, Blocks: []model.Block{{Text: "I will not"}}}}, 0, failure.AskedFail},
		"nothing said":    {[]any{mute, mute, mute, says("never")}, 0, failure.InvalidWord},
		"one mute answer": {[]any{mute, list, mute, mute, says("ok")}, 0, failure.None},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.items...)
			defer b.close()
			b.cfg.Bounds.MaxTurns = tc.turns
			y := b.turn(t.Context(), "")
			if tc.class == failure.None && (!y.Completed || y.Err != nil) || tc.class != failure.None && (y.Completed || y.Err == nil || y.Err.Class != tc.class) {
				t.Errorf("%+v", y)
			}
		})
	}
}

func cut(text string) model.Response {
	r := says(text)
	r.Stop = model.StopLength
	return r
}

func TestRepetitionIsToldOnce(t *testing.T) {
	t.Parallel()
	edit := calls(tool.Edit, `{"path": "a", "old": "x", "new": "y"}`)
	back := calls(tool.Edit, `{"new": "x", "old": "y", "path": "a"}`)
	test := calls(tool.Shell, `{"command": "make test"}`)
	// A new edit between makes the same command worth running again; the same two edits over and over do not.
	b := newBench(t, test, test, edit, test, test, back, test, test, test, edit, test, back, test, edit, test, says("done"))
	defer b.close()
	y := b.turn(t.Context(), "")
	if y.Err == nil || y.Err.Class != failure.Loop || len(b.script.reqs) != 15 {
		t.Errorf("%d requests, %+v", len(b.script.reqs), y)
	}
	told := 0
	for _, r := range b.script.reqs {
		if m := r.Messages[len(r.Messages)-1]; strings.Contains(text(m), "has now given the same result") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestFailuresAreToldBack(t *testing.T) {
	t.Parallel()
	many := calls()
	for i := range 40 {
		many.Blocks = append(many.Blocks, calls(tool.Read, fmt.Sprintf(`{"path": "%d"}`, i)).Blocks...)
	}
	b := newBench(t,
		calls("nope", `{}`, tool.Read, `{"pth": "a"}`, tool.Read, `{"deed_malformed_arguments": "{\"pa"}`, tool.Ask, `{"question": "which?"}`, tool.TaskComplete, `{}`),
		many,
		says("done"))
	defer b.close()
	if y := b.turn(t.Context(), ""); !y.Completed {
		t.Fatalf("%+v", y)
	}
	second := b.script.reqs[1].Messages
	mustContain(t, text(second[len(second)-1]), `there is no tool "nope"`, `"pth" is not known`, "not a JSON object", "nobody is there to answer", "summary is missing")
	if n := strings.Count(b.last(), "make this one again"); n != 8 || len(b.hands.done) != 32 {
		t.Errorf("%d refused, %d carried out", n, len(b.hands.done))
	}
}

// A guard decides by a function.
type guard struct {
	before func(agentruntime.ToolCall) (agentruntime.PolicyDecision, error)
	after  func(agentruntime.ToolCall, agentruntime.ToolResult) (string, error)
	ask    func(string) (string, error)
	asked  int
}

func (g *guard) Before(_ context.Context, c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	g.asked++
	if g.before == nil {
		return agentruntime.PolicyDecision{Effect: agentruntime.PolicyAllow}, nil
	}
	return g.before(c)
}

func (g *guard) After(_ context.Context, c agentruntime.ToolCall, r agentruntime.ToolResult) (string, error) {
	if g.after == nil {
		return "", nil
	}
	return g.after(c, r)
}

func (g *guard) Ask(_ context.Context, q string) (string, error) { return g.ask(q) }

func TestGuard(t *testing.T) {
	t.Parallel()
	b := newBench(t, calls(tool.Shell, `{"command": "rm -rf /"}`, tool.List, `{}`), says("done"))
	defer b.close()
	b.guard = &guard{
		before: func(c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
			if c.Tool == tool.Shell {
				return agentruntime.PolicyDecision{Effect: agentruntime.PolicyDeny, Reason: "not that"}, nil
			}
			return agentruntime.PolicyDecision{Effect: agentruntime.PolicyAllow}, nil
		},
		after: func(c agentruntime.ToolCall, r agentruntime.ToolResult) (string, error) {
			if c.Tool == tool.List && r.Status == agentruntime.ToolSuccess {
				return "mind the step", nil
			}
			return "", nil
		},
	}
	if y := b.turn(t.Context(), ""); !y.Completed || len(b.hands.done) != 1 {
		t.Fatalf("%+v, %v", y, b.hands.done)
	}
	mustContain(t, b.last(), "[c0 true] the policy does not allow it: not that", "[c1 false] list done\n[mind the step]")
}

func TestAPersonIsAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t, calls(tool.Write, `{"path": "a", "content": "x"}`, tool.Shell, `{"command": "deploy"}`, tool.Ask, `{"question": "which?"}`), says("done"))
	defer b.close()
	open := true
	g := &guard{
		before: func(c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
			if c.Tool == tool.Shell && open {
				return agentruntime.PolicyDecision{}, driver.ErrAsked
			}
			return agentruntime.PolicyDecision{Effect: agentruntime.PolicyAllow}, nil
		},
		ask: func(q string) (string, error) {
			if open {
				return "", driver.ErrAsked
			}
			return "the blue one", nil
		},
	}
	b.guard = g
	for range 2 { // asking twice changes nothing
		if y := b.turn(t.Context(), ""); y.Completed || y.Err == nil || y.Err.Class != failure.Blocked || len(b.hands.done) != 1 {
			t.Fatalf("%+v, %v", y, b.hands.done)
		}
		b.reopen()
	}
	open = false
	if y := b.turn(t.Context(), "The answers are there."); !y.Completed {
		t.Fatalf("%+v", y)
	}
	if len(b.hands.done) != 2 || len(b.script.reqs) != 2 {
		t.Errorf("%v, %d requests", b.hands.done, len(b.script.reqs))
	}
	mustContain(t, b.last(), "write done", "shell done", "the blue one", "The answers are there.")
	if n := len(details[agentruntime.ToolCall](b, driver.EventToolCall)); n != 3 {
		t.Errorf("%d calls were told", n)
	}
}

func TestSecretsReachNobody(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2"
	b := newBench(t, calls(tool.Shell, `{"command": "echo `+secret+`"}`), says("it is "+secret))
	defer b.close()
	b.cfg.Redactor = redact.New(map[string]string{"TOKEN": secret})
	b.hands.say[tool.Shell] = func(string) (string, tool.Outcome, error) {
		return secret + strings.Repeat(" "+secret, 3000), tool.Outcome{}, nil
	}
	if y := b.turn(t.Context(), "Mind "+secret); !y.Completed || strings.Contains(y.Summary, secret) {
		t.Errorf("%+v", y)
	}
	for _, r := range b.script.reqs {
		for _, m := range r.Messages {
			if strings.Contains(text(m), secret) {
				t.Errorf("the model was told: %.200s", text(m))
			}
		}
	}
	err := filepath.WalkDir(b.cfg.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("it is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLongOutputIsInTheEvidence(t *testing.T) {
	t.Parallel()
	b := newBench(t, calls(tool.Shell, `{"command": "a"}`, tool.List, `{}`), calls(tool.Shell, `{"command": "b"}`), says("done"))
	defer b.close()
	long := "begin" + strings.Repeat("0123456789", 10_000) + "end"
	b.hands.say[tool.Shell] = func(string) (string, tool.Outcome, error) { return long, tool.Outcome{}, nil }
	b.cfg.Bounds.Evidence = 150_000
	if y := b.turn(t.Context(), ""); !y.Completed {
		t.Fatalf("%+v", y)
	}
	results := details[agentruntime.ToolResult](b, driver.EventToolResult)
	if len(results) != 3 || results[0].OutputRef != "tools/001.txt" || results[0].OutputBytes != int64(len(long)) || results[1].OutputRef != "" {
		t.Fatalf("%+v", results)
	}
	mustContain(t, results[0].Output, "begin012", "[deed: 70008 of 100008 bytes are left out here]", "789end")
	if got, err := os.ReadFile(filepath.Join(b.cfg.Dir, results[0].OutputRef)); err != nil || string(got) != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if st, err := os.Stat(filepath.Join(b.cfg.Dir, results[2].OutputRef)); err != nil || st.Size() > 51_000 {
		t.Errorf("the bound on all of them does not hold: %v, %v", st, err)
	}
}

func TestWhatCannotGoOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, says("done"))
	b.turn(t.Context(), "")
	b.close()
	if _, err := loop.Begin(b.cfg, "other", "x"); failure.ClassOf(err) != failure.Infra {
		t.Errorf("over another: %v", err)
	}
	if _, err := loop.Resume(b.cfg, "other"); failure.ClassOf(err) != failure.Config {
		t.Errorf("another's: %v", err)
	}
	path := filepath.Join(b.cfg.Dir, loop.LogFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "no beginning": strings.SplitAfter(string(data), "\n")[1],
		"a result without its call": string(data) + `{"seq":3,"at":"2026-01-01T00:00:00Z","kind":"result","detail":{"call":"x"}}` + "\n",
		"of no known kind":          string(data) + `{"seq":3,"at":"2026-01-01T00:00:00Z","kind":"dream"}` + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loop.Resume(b.cfg, "conv"); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(path, append(data, `{"seq":3,"at`...), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := loop.Resume(b.cfg, "conv") // a torn line was never acknowledged
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
