package codex

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/agentcli/agentclitest"
	"github.com/deedrun/deed/internal/base/failure"
)

var adapter = agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{AdapterID: "codex", Kind: "codex", Command: "codex", TimeoutMS: 1000, Model: "fake-model"}}

func TestRecordedStreams(t *testing.T) { agentclitest.Golden(t, Dialect{}, adapter) }

func FuzzStream(f *testing.F) { agentclitest.Fuzz(f, Dialect{}, adapter) }

func read(t *testing.T, state agentcli.State, lines ...string) agentclitest.Reading {
	t.Helper()
	r := agentclitest.Read(t, Dialect{}, adapter, state, []byte(strings.Join(lines, "\n")))
	r.Check(t)
	return r
}

// usages are the usage events of a stream.
func usages(r agentclitest.Reading) []agentruntime.Usage {
	var out []agentruntime.Usage
	for _, e := range r.Events {
		if u, ok := e.Detail.(agentruntime.Usage); ok {
			out = append(out, u)
		}
	}
	return out
}

const thread = `{"type":"thread.started","thread_id":"T"}`

// Codex tells running totals of the thread, across processes too.
func TestUsageIsADifference(t *testing.T) {
	t.Parallel()
	turn := func(in, out int) string {
		return fmt.Sprintf(`{"type":"turn.completed","usage":{"input_tokens":%d,"output_tokens":%d}}`, in, out)
	}
	first := read(t, agentcli.State{}, thread, turn(3300, 63))
	second := read(t, first.State, thread, turn(4400, 84))
	other := read(t, second.State, `{"type":"thread.started","thread_id":"U"}`, turn(5000, 90))
	for name, tc := range map[string]struct {
		r       agentclitest.Reading
		in, out int64
	}{"first": {first, 3300, 63}, "goes on": {second, 1100, 21}, "another thread": {other, 5000, 90}} {
		want := []agentruntime.Usage{{Model: "fake-model", InputTokens: tc.in, OutputTokens: tc.out}}
		if d := cmp.Diff(want, usages(tc.r)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	failed := func(msg string) string { return `{"type":"turn.failed","error":{"message":"` + msg + `"}}` }
	for name, tc := range map[string]struct {
		lines []string
		ok    bool
		class failure.Class
		after string
	}{
		"nothing":                    {nil, false, failure.None, "0s"},
		"only a message":             {[]string{thread, `{"type":"item.completed","item":{"type":"agent_message","text":"done"}}`}, false, failure.None, "0s"},
		"completed without usage":    {[]string{thread, `{"type":"turn.completed"}`}, true, failure.None, "0s"},
		"an error that was overcome": {[]string{`{"type":"error","message":"Reconnecting... 1/5 (x)"}`, `{"type":"error","message":"x"}`, `{"type":"turn.completed"}`}, true, failure.None, "0s"},
		"failed after completion":    {[]string{`{"type":"turn.completed"}`, failed("boom")}, false, failure.Provider, "0s"},
		"failed without a reason":    {[]string{`{"type":"turn.failed"}`}, false, failure.Provider, "0s"},
		"a refused key":              {[]string{failed("unexpected status 401 Unauthorized: no")}, false, failure.Config, "0s"},
		"an unknown model":           {[]string{failed("unexpected status 404 Not Found: no such model")}, false, failure.Config, "0s"},
		"rate limited":               {[]string{failed("exceeded retry limit, last status: 429 Too Many Requests. Please try again in 1.5s")}, false, failure.RateLimited, "1.5s"},
		"a usage limit":              {[]string{failed("You've hit your usage limit. Try again in 3 hours.")}, false, failure.RateLimited, "3h0m0s"},
		"overloaded":                 {[]string{failed("unexpected status 529")}, false, failure.RateLimited, "0s"},
		"a server's error":           {[]string{failed("unexpected status 500 Internal Server Error")}, false, failure.Provider, "0s"},
		"an error and then silence":  {[]string{`{"type":"error","message":"stream disconnected"}`}, false, failure.Provider, "0s"},
	} {
		r := read(t, agentcli.State{}, tc.lines...)
		class, after := failure.None, "0s"
		if f := r.Outcome.Failure; f != nil {
			class, after = f.Class, f.RetryAfter.String()
		}
		if r.Outcome.Succeeded != tc.ok || class != tc.class || after != tc.after {
			t.Errorf("%s: %v, %s after %s: %v", name, r.Outcome.Succeeded, class, after, r.Outcome.Failure)
		}
	}
}

// What a version that is not recorded may write: unknown types, missing members, members of another type, rubbish.
func TestStrangeLinesAreSurvived(t *testing.T) {
	t.Parallel()
	r := read(t, agentcli.State{}, thread,
		`Reading additional input from stdin...`, `{"type":"item.completed"`, `[]`, `null`, `{"type":7}`, `{"typ":"x"}`, "\x00\xff", `{"type":"thread.renamed"}`,
		`{"type":"item.completed","item":{"id":"a","type":"new_thing"}}`, `{"type":"item.completed","item":[1]}`, `{"type":"item.completed","item":{"type":{"a":1}}}`,
		`{"type":"item.completed","item":{"id":"b","type":"command_execution","command":["ls"],"exit_code":"0","aggregated_output":7,"status":"completed"}}`,
		`{ "item": {"text": "spaced", "type": "agent_message"}, "type" : "item.completed" }`,
		`{"type":"turn.completed","usage":{"input_tokens":"many","output_tokens":5}}`)
	if !r.Outcome.Succeeded || r.Outcome.Message != "spaced" {
		t.Errorf("%+v", r.Outcome)
	}
	n := 0
	for _, e := range r.Events {
		if e.Kind == driver.EventStrange {
			n++
		}
	}
	if n < 10 {
		t.Errorf("%d strange events: %s", n, r)
	}
	if u := usages(r); len(u) != 1 || u[0].OutputTokens != 5 {
		t.Errorf("usage: %+v", u)
	}
}

// TestAnIDThatIsAnOption: what the program calls its conversation comes back to it on a command line.
func TestAnIDThatIsAnOption(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "--yolo", "-s", "a b", "a\\nb"} {
		if r := read(t, agentcli.State{}, `{"type":"thread.started","thread_id":"`+id+`"}`, `{"type":"turn.completed"}`); r.State.ID != "" {
			t.Errorf("%q is taken", id)
		}
	}
}

func TestTurnsAreCounted(t *testing.T) {
	t.Parallel()
	stream, err := os.ReadFile("testdata/ok.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := agentclitest.Read(t, Dialect{}, adapter, agentcli.State{}, stream)
	if r.State.Turns != 3 { // two tool calls and the last word: what the model was asked
		t.Errorf("%d turns", r.State.Turns)
	}
}
