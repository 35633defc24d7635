package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/command"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
)

func TestMain(m *testing.M) { drivertest.Main(m, func(m *testing.M) { os.Exit(m.Run()) }) }

func harness(change func(*agentruntime.CommandAdapter)) drivertest.Harness {
	return drivertest.Harness{
		Driver:  command.New(),
		Prelude: `ended() { :; }; say() { printf '%s\n' "$*"; }; finish() { printf '%s' "$1" >"$DEED_RESULT_FILE"; }`,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			a := &agentruntime.CommandAdapter{AdapterID: "c", Kind: agentruntime.KindCommand, Command: path, TimeoutMS: timeout.Milliseconds()}
			if change != nil {
				change(a)
			}
			return agentruntime.AdapterConfig{Command: a}
		},
	}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness(nil)) }

// show writes what the program was given to the workspace, and says something.
const show = `printf '%s|' "$@" >>"$DEED_WORKSPACE/args"; echo >>"$DEED_WORKSPACE/args"; cat >>"$DEED_WORKSPACE/stdin"; say "session: abc-1."; say done`

func lines(b *drivertest.Bench, name string) []string {
	return strings.Split(strings.TrimSuffix(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, name)), "\n"), "\n")
}

func take(t *testing.T, b *drivertest.Bench, texts ...string) {
	t.Helper()
	s, err := b.H.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	for i, text := range texts {
		y, err := s.Turn(t.Context(), driver.Input{Turn: i + 1, Text: text}, b)
		if err != nil || y.Kind != driver.YieldCompletion {
			t.Fatal(err, y.Kind, y.Err)
		}
		if y.Claim.Source != driver.SourceStream || y.Claim.Summary != "session: abc-1.\ndone" {
			t.Errorf("claim: %+v", y.Claim)
		}
	}
}

func TestThePromptIsOnStdinOrInAFile(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(func(a *agentruntime.CommandAdapter) {
		a.Args, a.Model, a.ExtraArgs = []string{"-C", "{workspace}", "--model={model}"}, "m1", []string{"{kept}"}
	}), show)
	take(t, b, "", "it fails")
	if got, want := lines(b, "args"), "-C|"+b.Job.Dirs.Workspace+"|--model=m1|{kept}|"; len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("arguments %q, want %q", got, want)
	}
	// If the conversation cannot be resumed, the second turn gets everything again.
	if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "stdin")); got != "Do the work.\nDo the work.\n\n\nit fails" {
		t.Errorf("stdin %q", got)
	}

	b = drivertest.New(t, harness(func(a *agentruntime.CommandAdapter) {
		a.Prompt, a.Args = agentruntime.PromptFile, []string{"--file", "{prompt_file}"}
	}), `cat "$2" >"$DEED_WORKSPACE/prompt"; `+show)
	take(t, b, "")
	if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "prompt")); got != "Do the work.\n" {
		t.Errorf("prompt %q", got)
	}
	if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "stdin")); got != "" {
		t.Errorf("stdin %q", got)
	}
}

func TestTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*agentruntime.CommandAdapter)
		second func(first string) string
	}{
		"by the id that it told": {
			func(a *agentruntime.CommandAdapter) {
				a.SessionPattern, a.ResumeArgs = `session: ([a-z0-9-]+)`, []string{"resume", "{session}"}
			}, func(string) string { return "resume|abc-1|" },
		},
		"by the id that deed gave": {
			func(a *agentruntime.CommandAdapter) {
				a.Args, a.ResumeArgs = []string{"--id={session}"}, []string{"--again={session}"}
			}, func(first string) string { return strings.Replace(first, "--id=", "--again=", 1) },
		},
		"as its last one": {
			func(a *agentruntime.CommandAdapter) { a.ResumeArgs = []string{"--continue"} },
			func(string) string { return "--continue|" },
		},
	} {
		b := drivertest.New(t, harness(tc.change), show)
		take(t, b, "", "it fails")
		got := lines(b, "args")
		if len(got) != 2 || got[1] != tc.second(got[0]) {
			t.Errorf("%s: arguments %q", name, got)
		}
		if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "stdin")); got != "Do the work.\nit fails" {
			t.Errorf("%s: stdin %q", name, got)
		}
	}
}

func TestAnIDThatIsAnOptionIsNotTaken(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(func(a *agentruntime.CommandAdapter) {
		a.SessionPattern, a.ResumeArgs = `id=(.*)`, []string{"--resume", "{session}"}
	}), `say id=--dangerously-skip-permissions`)
	s, err := b.H.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	if _, err := s.Turn(t.Context(), driver.Input{Turn: 1}, b); err != nil || s.Ref() != "" {
		t.Errorf("got %q, %v", s.Ref(), err)
	}
}

func TestHowItEnds(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]failure.Class{
		`say fixed`:                       failure.None,
		`say fixed; exit 7`:               failure.AgentFailed,
		`:`:                               failure.InvalidWord,
		`finish '{"status":"completed"}'`: failure.None,
		`say fixed; finish '{"status":"blocked"}'`: failure.Blocked,
	} {
		b := drivertest.New(t, harness(nil), script)
		if y := b.Turn(t.Context()); y.Class != want {
			t.Errorf("%s: got %s, %v", script, y.Class, y.Err)
		}
	}
	b := drivertest.New(t, harness(nil), `:`)
	b.Job.AcceptEmptyOutput = true
	if y := b.Turn(t.Context()); y.Kind != driver.YieldCompletion {
		t.Errorf("a task type that takes no output: got %s, %v", y.Class, y.Err)
	}
}

func TestAdaptersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agentruntime.CommandAdapter){
		"no model":      func(a *agentruntime.CommandAdapter) { a.Args = []string{"{model}"} },
		"a danger flag": func(a *agentruntime.CommandAdapter) { a.Args = []string{"--dangerously-skip-permissions"} },
		"no id":         func(a *agentruntime.CommandAdapter) { a.ResumeArgs = []string{"{session}"} },
		"a bad pattern": func(a *agentruntime.CommandAdapter) { a.SessionPattern = "(" },
		"a NUL byte":    func(a *agentruntime.CommandAdapter) { a.ExtraArgs = []string{"a\x00b"} },
	} {
		b := drivertest.New(t, harness(change), "say x")
		if _, err := b.H.Driver.Start(t.Context(), b.Job); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Programs that speak as Claude Code or Codex do, by streams that these printed.
func TestEventsOfOtherAgentsAreRead(t *testing.T) {
	t.Parallel()
	for events, file := range map[string]string{
		agentruntime.EventsCodexJSON: "../codex/testdata/ok.jsonl", agentruntime.EventsClaudeStreamJSON: "../claudecode/testdata/ok.jsonl",
	} {
		stream, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		b := drivertest.New(t, harness(func(a *agentruntime.CommandAdapter) {
			a.Events, a.ResumeArgs = events, []string{"--resume", "{session}"}
		}), `printf '%s|' "$@" >>"$DEED_WORKSPACE/args"; echo >>"$DEED_WORKSPACE/args"; cat `+stream)
		s, err := b.H.Driver.Start(t.Context(), b.Job)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close(t.Context()) }()
		for n := 1; n <= 2; n++ {
			y, err := s.Turn(t.Context(), driver.Input{Turn: n, Text: "again"}, b)
			if err != nil || y.Kind != driver.YieldCompletion || y.Claim.Summary != "Done: fixed add() in calc.py; test passes." {
				t.Fatalf("%s: %v, %s, %v, %+v", events, err, y.Kind, y.Err, y.Claim)
			}
		}
		if got := lines(b, "args"); len(got) != 2 || got[0] != "|" || !strings.HasPrefix(got[1], "--resume|") || len(got[1]) < 20 {
			t.Errorf("%s: arguments %q", events, got)
		}
		for _, kind := range []string{driver.EventSession, driver.EventToolCall, driver.EventToolResult, driver.EventUsage, driver.EventTurn} {
			if !slices.Contains(b.Kinds(), kind) {
				t.Errorf("%s: no event %s in %v", events, kind, b.Kinds())
			}
		}
	}
}

func TestASuccessThatIsAFailureIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(func(a *agentruntime.CommandAdapter) { a.Events = agentruntime.EventsClaudeStreamJSON }),
		`say '{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool"}}'
say '{"type":"result","subtype":"success","is_error":false,"result":"[API Error: 401 status code: 401 no key]"}'`)
	if y := b.Turn(t.Context()); y.Kind != driver.YieldEnd || y.Class != failure.Config {
		t.Errorf("got %s, %s, %v", y.Kind, y.Class, y.Err)
	}
	if !slices.Contains(b.Kinds(), driver.EventStrange) {
		t.Errorf("the question was not told: %v", b.Kinds())
	}
}
