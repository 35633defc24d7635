package policy

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
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// engineWith makes an engine with one hook for every event, and returns what it notes.
func engineWith(t *testing.T, rules Ruleset, matcher, command string, seconds int) (*Engine, *[]HookRun) {
	t.Helper()
	dir := t.TempDir()
	list := []settings.HookMatcher{{Matcher: matcher, Hooks: []settings.Hook{{Type: "command", Command: command, Timeout: seconds}}}}
	var runs []HookRun
	return New(Options{
		Rules: rules, Hooks: &settings.PolicyHooks{PreToolUse: list, PostToolUse: list, Stop: list, SubagentStop: list},
		Places: Places{Root: "/workspace", Places: []Place{{"/workspace", dir}}}, ProjectDir: dir, Session: "attempt", Environ: os.Environ(),
		Redactor: redact.New(map[string]string{"TOKEN": "hunter2-hunter2-hunter2"}),
		Note:     func(_ string, d any) { runs = append(runs, d.(HookRun)) },
	}), &runs
}

func TestHooksBeforeACall(t *testing.T) {
	t.Parallel()
	say := func(s string) string { return "cat >/dev/null; printf '%s' '" + s + "'" }
	for _, c := range []struct {
		name, matcher, command string
		want                   agentruntime.PolicyEffect
		reason, fault          string // parts of them
	}{
		{"silent", "", "true", "allow", "", ""},
		{"does not read its input", "", "exit 0", "allow", "", ""},
		{"says allow", "*", say(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`), "allow", "", ""},
		{"says deny", "Bash", say(`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not on Sunday"}}`), "deny", "not on Sunday", ""},
		{"says ask", "Write|Bash", say(`{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}`), "ask", "sure?", ""},
		{"old block", "", say(`{"decision":"block","reason":"old"}`), "deny", "old", ""},
		{"old approve", "", say(`{"decision":"approve"}`), "allow", "", ""},
		{"exit 2", "", "echo 'no way' >&2; exit 2", "deny", "no way", ""},
		{"exit 2 in silence", "", "exit 2", "deny", "no reason", ""},
		{"another exit", "", "echo oops >&2; exit 7", "allow", "", "exit 7"},
		{"garbage", "", "head -c 2000 /dev/urandom", "allow", "", ""},
		{"broken JSON", "", "echo '{\"decision\": '", "allow", "", "JSON"},
		{"an unknown word", "", say(`{"hookSpecificOutput":{"permissionDecision":"maybe"}}`), "allow", "", "maybe"},
		{"other input", "", say(`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"x"}}}`), "deny", "other input", "updatedInput"},
		{"ends all", "", say(`{"continue":false,"stopReason":"enough"}`), "deny", "enough", ""},
		{"hangs", "", "sleep 1000", "deny", "no answer", "time limit"},
		{"hangs with children", "", "sleep 1000 & sleep 1000 & wait", "deny", "no answer", "time limit"},
		{"writes without end", "", "yes", "deny", "no answer", "output limit"},
		{"is not there", "", "/no/such/hook", "allow", "", "exit 127"},
		{"for another tool", "Write", "exit 2", "allow", "", ""},
		{"deed's name", "shell", "exit 2", "deny", "", ""},
		{"half a name", "Ba", "exit 2", "allow", "", ""},
		{"tells a secret", "", "echo hunter2-hunter2-hunter2 >&2; exit 2", "deny", "TOKEN", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seconds := 60
			if strings.HasPrefix(c.name, "hangs") {
				seconds = 1
			}
			e, runs := engineWith(t, Ruleset{}, c.matcher, c.command, seconds)
			d, err := e.Decide(t.Context(), agentruntime.ToolCall{CallID: "1", Turn: 3, Tool: "exec_command", Input: input(t, "cmd", "git status")})
			if err != nil {
				t.Fatal(err)
			}
			if d.Effect != c.want || !strings.Contains(d.Reason, c.reason) || strings.Contains(d.Reason, "hunter2") || d.Rule == "" || d.ID == "" {
				t.Errorf("decision is %+v", d)
			}
			if c.want != "allow" && d.Rule != "hook:PreToolUse" || d.CallID != "1" || d.Turn != 3 || d.Tool != ToolShell || d.Subject != "git status" || d.Boundary != "tool" {
				t.Errorf("decision is %+v", d)
			}
			if got := fmt.Sprint(*runs); c.fault != "" && !strings.Contains(got, c.fault) || c.fault == "" && len(*runs) > 0 && (*runs)[0].Fault != "" {
				t.Errorf("runs are %s, want a fault with %q", got, c.fault)
			}
		})
	}
}

func TestRulesComeBeforeHooks(t *testing.T) {
	t.Parallel()
	for effect, want := range map[string]struct {
		effect agentruntime.PolicyEffect
		ran    int
	}{"deny": {"deny", 0}, "ask": {"ask", 1}, "allow": {"allow", 1}} {
		e, runs := engineWith(t, home(rule(effect, "", "")), "", `echo '{"decision":"approve"}'`, 0)
		d, err := e.Decide(t.Context(), agentruntime.ToolCall{CallID: "1", Tool: "Bash", Input: input(t, "command", "x")})
		if err != nil || d.Effect != want.effect || d.Rule != "home/1" || len(*runs) != want.ran {
			t.Errorf("%s: %+v, %d runs, %v", effect, d, len(*runs), err)
		}
	}
}

// A hook that was written for Claude Code finds what it looks for, whichever agent asks.
func TestHooksSeeClaudesNames(t *testing.T) {
	t.Parallel()
	e, _ := engineWith(t, Ruleset{}, "", `cat >> "$CLAUDE_PROJECT_DIR/seen"; echo >> "$CLAUDE_PROJECT_DIR/seen"; pwd > "$CLAUDE_PROJECT_DIR/pwd"; env > "$CLAUDE_PROJECT_DIR/env"`, 0)
	e.o.Environ = append(e.o.Environ, "AWS_SECRET_ACCESS_KEY=x")
	for _, c := range []agentruntime.ToolCall{
		{CallID: "1", Tool: "shell", Input: input(t, "command", []string{"bash", "-lc", "git status"})},
		{CallID: "2", Tool: "write", Input: input(t, "path", "a.go", "content", "x")},
		{CallID: "3", Tool: "mcp__x__y", Input: input(t, "q", 1)},
		{CallID: "4", Tool: "Edit", Input: input(t, "file_path", "/workspace/b.go", "old_string", "x")},
		{CallID: "5", Tool: "Bash", Input: json.RawMessage(`{"comm`)},
	} {
		if _, err := e.Decide(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(e.o.ProjectDir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Session string         `json:"session_id"`
		Event   string         `json:"hook_event_name"`
		Cwd     string         `json:"cwd"`
		Tool    string         `json:"tool_name"`
		Input   map[string]any `json:"tool_input"`
	}
	var got []seen
	for line := range strings.Lines(string(data)) {
		var s seen
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	if len(got) != 5 || got[0].Session != "attempt" || got[0].Event != "PreToolUse" || got[0].Cwd != e.o.ProjectDir {
		t.Fatalf("hooks saw %+v", got)
	}
	for i, want := range []string{"Bash", "Write", "mcp__x__y", "Edit", "Bash"} {
		if got[i].Tool != want {
			t.Errorf("call %d is %s, want %s", i, got[i].Tool, want)
		}
	}
	if got[0].Input["command"] != "bash -lc 'git status'" || got[1].Input["file_path"] != filepath.Join(e.o.ProjectDir, "a.go") ||
		got[3].Input["file_path"] != filepath.Join(e.o.ProjectDir, "b.go") || got[3].Input["old_string"] != "x" || got[4].Input["raw"] != `{"comm` {
		t.Errorf("inputs are %+v", got)
	}
	env, err := os.ReadFile(filepath.Join(e.o.ProjectDir, "env"))
	if err != nil || strings.Contains(string(env), "AWS") || !strings.Contains(string(env), "DEED_ATTEMPT_ID=attempt") {
		t.Errorf("environment is %s, %v", env, err)
	}
}

func TestHooksAfterACallAndAtAStop(t *testing.T) {
	t.Parallel()
	e, _ := engineWith(t, Ruleset{}, "", `in=$(cat); case $in in
		*'"tool_response":{'*'"output":"boom"'*) echo '{"decision":"block","reason":"format it","hookSpecificOutput":{"additionalContext":"with gofmt"}}';;
		*'"stop_hook_active":false'*) echo '{"decision":"block","reason":"run the tests"}';;
		*SubagentStop*) echo 'the subagent is lazy' >&2; exit 2;;
		esac`, 0)
	if got, err := e.After(t.Context(), agentruntime.ToolCall{CallID: "1", Tool: "Edit"}, agentruntime.ToolResult{CallID: "1", Output: "boom"}); err != nil || got != "format it\nwith gofmt" {
		t.Errorf("After = %q, %v", got, err)
	}
	if got, err := e.After(t.Context(), agentruntime.ToolCall{CallID: "1", Tool: "Edit"}, agentruntime.ToolResult{CallID: "1"}); err != nil || got != "" {
		t.Errorf("After = %q, %v", got, err)
	}
	d, err := e.Stop(t.Context(), Stopping{Turn: 4, Claim: "done"})
	if err != nil || d.Effect != "deny" || d.Reason != "run the tests" || d.Boundary != "stop" || d.Turn != 4 {
		t.Errorf("first stop: %+v %v", d, err)
	}
	if d, err = e.Stop(t.Context(), Stopping{Round: 1}); err != nil || d.Effect != "allow" {
		t.Errorf("second stop: %+v %v", d, err)
	}
	if d, err = e.Stop(t.Context(), Stopping{Round: 1, Subagent: &agentruntime.SubagentRun{ID: "s"}}); err != nil || d.Effect != "deny" || d.Reason != "the subagent is lazy" {
		t.Errorf("subagent: %+v %v", d, err)
	}
	hang, runs := engineWith(t, Ruleset{}, "", "sleep 1000", 1)
	if d, err := hang.Stop(t.Context(), Stopping{}); err != nil || d.Effect != "allow" || (*runs)[0].Fault == "" {
		t.Errorf("a stop hook that hangs: %+v %v", d, err)
	}
	if d, err := New(Options{}).Stop(t.Context(), Stopping{}); err != nil || d.Effect != "allow" {
		t.Errorf("no hooks: %+v %v", d, err)
	}
}

func TestACancelledHookIsNoDecision(t *testing.T) {
	t.Parallel()
	e, _ := engineWith(t, Ruleset{}, "", "sleep 1000", 0)
	why := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if _, err := e.Decide(ctx, agentruntime.ToolCall{CallID: "1", Tool: "Bash", Input: input(t, "command", "x")}); !errors.Is(err, why) {
		t.Errorf("Decide: %v", err)
	}
}
