package loop_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got\n%s", path, got)
	}
}

// big is an answer whose usage fills the window.
func big(r model.Response, tokens int64) model.Response {
	r.Usage = agentruntime.Usage{InputTokens: tokens, OutputTokens: 10}
	return r
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		calls(tool.Todo, `{"items": [{"text": "find it", "status": "done"}, {"text": "fix it", "status": "in_progress"}]}`),
		calls(tool.Shell, `{"command": "make test"}`),
		says("done"),
		calls(tool.Read, `{"path": "old"}`),
		calls(tool.Edit, `{"path": "a", "old": "x", "new": "y"}`),
		big(calls(tool.Read, `{"path": "recent"}`), 900),
		says("really done"),
	)
	defer b.close()
	b.cfg.Bounds.Window, b.cfg.Bounds.MaxTurns, b.cfg.Bounds.CompactAt = 1000, 50, 0.8
	b.hands.say[tool.Shell] = func(string) (string, tool.Outcome, error) {
		return "--- FAIL: TestX\nexit status 1", tool.Outcome{Failed: true, ErrorType: tool.TypeExit}, nil
	}
	b.hands.say[tool.Read] = func(in string) (string, tool.Outcome, error) {
		if strings.Contains(in, "old") {
			return "the old file" + strings.Repeat(".", 800), tool.Outcome{}, nil
		}
		return "the recent file", tool.Outcome{}, nil
	}
	var asked model.Request
	b.script.aside = func(req model.Request) (model.Response, error) {
		asked = req
		return says("It read old, and changed x to y in a."), nil
	}
	b.turn(t.Context(), "")
	if y := b.turn(t.Context(), "Not done:\n- check test: exit 1"); !y.Completed || y.Summary != "really done" {
		t.Fatalf("%+v", y)
	}
	last := b.script.reqs[len(b.script.reqs)-1]
	var all strings.Builder
	for _, m := range last.Messages {
		fmt.Fprintf(&all, "== %s\n%s", m.Role, text(m))
	}
	golden(t, "compacted.txt", all.String())
	mustContain(t, text(asked.Messages[0]), "[call] shell", "[failed] --- FAIL: TestX", "[result] the old file")
	if strings.Contains(text(asked.Messages[0]), "recent") {
		t.Error("what is kept was summed up too")
	}
	k := details[agentruntime.ContextCompaction](b, driver.EventCompaction)
	if len(k) != 1 || k[0].Reason != "share_reached" || k[0].TokensBefore < 900 || k[0].TokensAfter >= k[0].TokensBefore || k[0].SummarySHA == "" ||
		strings.Join(k[0].Carried, " ") != "goal open_requirements plan failed_calls budgets" {
		t.Errorf("%+v", k)
	}
	b.reopen()
	b.script.items = []any{says("again")}
	b.turn(t.Context(), "And now?")
	resumed := b.script.reqs[len(b.script.reqs)-1]
	if len(resumed.Messages) != len(last.Messages)+2 || text(resumed.Messages[0]) != text(last.Messages[0]) {
		t.Error("the conversation is another after it was read again")
	}
}

func TestCompactionOnError(t *testing.T) {
	t.Parallel()
	tooLong := &model.Error{Kind: model.KindContextTooLong}
	read := func(n int) model.Response { return calls(tool.Read, fmt.Sprintf(`{"path": "%d"}`, n)) }
	for name, tc := range map[string]struct {
		items       []any
		aside       error
		class       failure.Class
		compactions int
	}{
		"helps":               {[]any{read(1), tooLong, read(2), says("done")}, nil, failure.None, 1},
		"helps twice":         {[]any{read(1), tooLong, read(2), tooLong, read(3), says("done")}, nil, failure.None, 2},
		"nobody sums up":      {[]any{read(1), read(2), tooLong, says("done")}, tooLong, failure.None, 1},
		"sums up and fails":   {[]any{read(1), tooLong, says("done")}, errors.New("odd"), failure.None, 1},
		"does not help":       {[]any{read(1), tooLong, tooLong, says("never")}, nil, failure.Provider, 1},
		"nothing to shorten":  {[]any{tooLong, says("never")}, nil, failure.Provider, 0},
		"no progress between": {[]any{read(1), tooLong, cut("planning"), tooLong, says("never")}, nil, failure.Provider, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.items...)
			defer b.close()
			b.script.aside = func(model.Request) (model.Response, error) { return says("summary"), tc.aside }
			y := b.turn(t.Context(), "")
			if tc.class == failure.None && !y.Completed || tc.class != failure.None && (y.Err == nil || y.Err.Class != tc.class) {
				t.Errorf("%+v", y)
			}
			if tc.class == failure.Provider {
				mustContain(t, y.Err.Error(), "the context does not fit")
			}
			if n := len(details[agentruntime.ContextCompaction](b, driver.EventCompaction)); n != tc.compactions {
				t.Errorf("%d compactions", n)
			}
		})
	}
}

// TestCompactionAgainAndAgain runs a long conversation in a small window. The script checks every request.
func TestCompactionAgainAndAgain(t *testing.T) {
	t.Parallel()
	var items []any
	for i := range 200 {
		items = append(items, func(req model.Request) (model.Response, error) {
			var n int64
			for _, m := range req.Messages {
				n += int64(len(text(m))) / 4
			}
			return big(calls(tool.Read, fmt.Sprintf(`{"path": "%d"}`, i), tool.List, fmt.Sprintf(`{"path": "%d"}`, i)), n), nil
		})
	}
	b := newBench(t, append(items, says("done"))...)
	defer b.close()
	b.cfg.Bounds.Window = 3000
	b.hands.say[tool.Read] = func(in string) (string, tool.Outcome, error) { return strings.Repeat(in, 30), tool.Outcome{}, nil }
	b.script.aside = func(req model.Request) (model.Response, error) {
		if n := len(text(req.Messages[0])); n > 3000*4 {
			t.Errorf("the record of %d bytes does not fit", n)
		}
		return says("summary"), nil
	}
	if y := b.turn(t.Context(), ""); !y.Completed {
		t.Fatalf("%+v", y)
	}
	if n := len(details[agentruntime.ContextCompaction](b, driver.EventCompaction)); n < 5 || n > 100 {
		t.Errorf("%d compactions", n)
	}
	for _, r := range b.script.reqs {
		if len(r.Messages) > 60 {
			t.Errorf("%d messages", len(r.Messages))
		}
		mustContain(t, text(r.Messages[0]), "Fix it.")
	}
}

func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tools  []string
		helper bool
	}{
		"system.txt":        {tool.Names(), false},
		"system-helper.txt": {[]string{tool.Read, tool.List, tool.Search, tool.Shell}, true},
		"system-plain.txt":  {[]string{tool.Read, tool.Write}, false},
	} {
		golden(t, name, loop.SystemPrompt("/workspace", tc.tools, tc.helper))
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{
		"claude-sonnet-4-5": 200_000, "anthropic/claude-opus": 200_000, "gpt-5-codex": 272_000, "gpt-4.1-mini": 1_000_000, "gpt-4-turbo": 128_000, "my-own": 100_000, "": 100_000, "Qwen3": 32_000,
	} {
		if got := loop.DefaultWindow(name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
