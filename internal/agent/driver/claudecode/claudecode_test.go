package claudecode_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

// standIn speaks Claude Code's stream around the suite's scripts.
const standIn = `say() { printf '%s\n' "$1"; }
finish() { printf %s "$1" >"$DEED_RESULT_FILE"; ended; }
ended() { printf '\n%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"it is done","session_id":"S-1"}'; }
event() { printf '%s\n' "$1"; }`

func harness() drivertest.Harness {
	return drivertest.Harness{
		Driver:  claudecode.New(),
		Prelude: standIn,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{
				AdapterID: "test", Kind: agentruntime.KindClaudeCode, Command: path, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }

// A conversation whose process died in the middle of a turn is known by the name that the agent reported, and resumes by it. A
// name that Claude Code would take for an option is none.
func TestNamesOfConversations(t *testing.T) {
	t.Parallel()
	h := harness()
	h.Prelude = strings.Replace(h.Prelude, `,"session_id":"S-1"`, "", 1)
	drivertest.Names(t, h, func(id string) string {
		return `{"type":"system","subtype":"init","session_id":` + id + "}\n" + `{"type":"result","subtype":"success","result":"x","session_id":` + id + `}`
	})
}

func start(t *testing.T, b *drivertest.Bench) driver.Session {
	t.Helper()
	s, err := b.H.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

// The command line of a first turn and of a later one, with the prompt nowhere in it.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `{ for a in "$@"; do printf '[%s]\n' "$a"; done; echo "HOME $CLAUDE_CONFIG_DIR $IS_SANDBOX $DISABLE_AUTOUPDATER"; head -n 2; } >"$DEED_WORKSPACE/seen"; ended`)
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"permissions":{"deny":["WebFetch"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := b.Job.Adapter.ClaudeCode
	c.Model, c.ExtraArgs = "m-1", []string{"--allowedTools", "Bash(go test *)"}
	c.Autonomy = &agentruntime.ClaudeCodeAutonomy{Profile: "restricted", RequiredArgs: []string{"--allowedTools"}, RequiredSettingsFiles: []string{settings}}
	b.Job.MaxTurns = 30
	s := start(t, b)
	y, err := s.Turn(t.Context(), driver.Input{Turn: 1}, b)
	if err != nil || y.Kind != driver.YieldCompletion || y.Claim.Source != driver.SourceStream || y.Claim.Summary != "it is done" {
		t.Fatalf("%v, %+v", err, y)
	}
	head := []string{
		"[-p]", "[--input-format]", "[stream-json]", "[--output-format]", "[stream-json]", "[--verbose]", "[--permission-mode]", "[acceptEdits]",
		"[--setting-sources]", "[user]", "[--strict-mcp-config]", "[--model]", "[m-1]", "[--max-turns]", "[30]", "[--settings]", `[{"permissions":{"deny":["WebFetch"]}}]`,
	}
	tail := []string{
		"[--add-dir]", "[" + b.Job.Dirs.Exchange + "]", "[" + b.Job.Dirs.Artifacts + "]", "[--allowedTools]", "[Bash(go test *)]",
		"HOME " + filepath.Join(b.Job.Dirs.Home, ".claude-code") + "  1", `{"type":"control_request","request_id":"deed-initialize","request":{"subtype":"initialize"}}`,
	}
	prompt := func(text string) []string {
		return []string{`{"message":{"content":"` + text + `","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`}
	}
	seen := func() []string {
		return strings.Split(strings.TrimSpace(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "seen"))), "\n")
	}
	if d := cmp.Diff(slices.Concat(head, tail, prompt(`Do the work.\n`)), seen()); d != "" {
		t.Error(d)
	}
	if y, err = s.Turn(t.Context(), driver.Input{Turn: 2, Text: "The test still fails."}, b); err != nil || y.Kind != driver.YieldCompletion {
		t.Fatalf("%v, %+v", err, y)
	}
	if d := cmp.Diff(slices.Concat(head, []string{"[--resume]", "[S-1]"}, tail, prompt("The test still fails.")), seen()); d != "" {
		t.Error(d)
	}
}

// Claude Code does not know a conversation if it was killed before it wrote it down. The conversation then starts over, with the
// whole brief.
func TestAnUnknownConversationBeginsAnew(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `case " $* " in *" --resume "*)
	printf '%s\n' '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: S-0"],"session_id":"S-0"}'
	exit 1 ;;
esac
head -n 2 >"$DEED_WORKSPACE/seen"; ended`)
	b.Job.Resume = `{"id":"S-0"}`
	y, err := start(t, b).Turn(t.Context(), driver.Input{Turn: 2, Text: "You were interrupted."}, b)
	if err != nil || y.Kind != driver.YieldCompletion || y.Diagnostics["conversation"] != "restarted" {
		t.Fatalf("%v, %s, %v", err, y.Kind, y.Err)
	}
	seen := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "seen"))
	if !strings.Contains(seen, "Do the work.") || !strings.Contains(seen, "You were interrupted.") {
		t.Errorf("it was told: %s", seen)
	}
	if !slices.Contains(b.Kinds(), driver.EventRestart) {
		t.Errorf("events: %v", b.Kinds())
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"bypass.json": `{"permissions":{"defaultMode":"bypassPermissions"}}`, "rubbish.json": "oops"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type claude = agentruntime.ClaudeCodeAdapter
	files := func(names ...string) *agentruntime.ClaudeCodeAutonomy {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		return &agentruntime.ClaudeCodeAutonomy{Profile: "restricted", RequiredSettingsFiles: names}
	}
	for name, tc := range map[string]struct {
		change func(*claude)
		want   string
	}{
		"a danger flag":      {func(c *claude) { c.ExtraArgs = []string{"--dangerously-skip-permissions"} }, "lifts the agent's own guards"},
		"its other spelling": {func(c *claude) { c.ExtraArgs = []string{"--allow-dangerously-skip-permissions"} }, "lifts the agent's own guards"},
		"a mode that lifts":  {func(c *claude) { c.ExtraArgs = []string{"--permission-mode=bypassPermissions"} }, "lifts"},
		"another mode":       {func(c *claude) { c.ExtraArgs = []string{"--permission-mode", "plan"} }, "deed's to set"},
		"settings that lift": {func(c *claude) {
			c.ExtraArgs = []string{"--settings", `{"permissions":{"defaultMode":"bypassPermissions"}}`}
		}, "lifts"},
		"other settings":           {func(c *claude) { c.ExtraArgs = []string{"--settings", "/x.json"} }, "deed's to set"},
		"another conversation":     {func(c *claude) { c.ExtraArgs = []string{"--continue"} }, "deed's to set"},
		"another prompt":           {func(c *claude) { c.ExtraArgs = []string{"-p"} }, "deed's to set"},
		"full access, undeclared":  {func(c *claude) { c.Sandbox = "danger-full-access" }, "trusted-vm"},
		"a settings file":          {func(c *claude) { c.Autonomy = files("absent.json") }, "required_settings_files[0]"},
		"a settings file of words": {func(c *claude) { c.Autonomy = files("rubbish.json") }, "write a JSON object"},
		"a settings file's mode":   {func(c *claude) { c.Autonomy = files("bypass.json") }, "bypassPermissions"},
		"another home":             {func(c *claude) { c.Env = map[string]string{"CLAUDE_CONFIG_DIR": "/root/.claude"} }, "CLAUDE_CONFIG_DIR is deed's to set"},
		"no command":               {func(c *claude) { c.Command = "no-such-claude" }, "npm install"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := drivertest.New(t, harness(), "")
			tc.change(b.Job.Adapter.ClaudeCode)
			_, err := b.H.Driver.Start(t.Context(), b.Job)
			if c := failure.ClassOf(err); (c != failure.Config && c != failure.Spawn) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s: %v", c, err)
			}
		})
	}
}

func TestWhatTheStreamSaysCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		class  failure.Class
		want   string
	}{
		"exit 0 and silence":   {`exit 0`, failure.InvalidWord, "without an event"},
		"is_error and exit 0":  {`event '{"type":"result","subtype":"success","is_error":true,"api_error_status":500}'`, failure.Provider, "500"},
		"exit 1 after success": {`ended; exit 1`, failure.AgentFailed, "its last event says success"},
		"a long wait":          {`event '{"type":"system","subtype":"api_retry","retry_delay_ms":3600000,"error_status":429,"error":"rate_limit"}'; sleep 1000`, failure.RateLimited, "rate_limit"},
		"one that stays":       {`ended; sleep 1000`, failure.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := drivertest.New(t, harness(), tc.script).Turn(t.Context())
			if y.Class != tc.class || (y.Err != nil && !strings.Contains(y.Err.Error(), tc.want)) {
				t.Errorf("got %s, %v", y.Class, y.Err)
			}
			if name == "a long wait" && y.RetryAfter != time.Hour {
				t.Errorf("retry after %v", y.RetryAfter)
			}
		})
	}
}

// A guard that never answers.
type silent struct{}

func (silent) Before(ctx context.Context, _ agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	<-ctx.Done()
	return agentruntime.PolicyDecision{}, context.Cause(ctx)
}

func (silent) After(context.Context, agentruntime.ToolCall, agentruntime.ToolResult) (string, error) {
	return "", nil
}

func (silent) Ask(context.Context, string) (string, error) { return "", driver.ErrAsked }

// A program that asks without waiting for answers is ended before it fills deed's memory with its questions.
func TestQuestionsWithoutEnd(t *testing.T) {
	t.Parallel()
	ask := `event '{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","callback_id":"before","input":{"tool_name":"Bash","tool_input":{"command":"'"$x"'"}}}}'`
	for name, script := range map[string]string{
		"many":  `x=; i=0; while [ $i -lt 1000 ]; do i=$((i+1)); ` + ask + `; done; sleep 1000`,
		"large": `x=$(head -c 4000000 /dev/zero | tr '\0' x); i=0; while [ $i -lt 100 ]; do i=$((i+1)); ` + ask + `; done; sleep 1000`,
	} {
		b := drivertest.New(t, harness(), script)
		b.Job.Guard = silent{}
		if y := b.Turn(t.Context()); y.Class != failure.AgentFailed || !strings.Contains(y.Err.Error(), "it asked more than") {
			t.Errorf("%s: %s, %v", name, y.Class, y.Err)
		}
	}
}

func TestHostsAndProgram(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"": "api.anthropic.com:443", "http://127.0.0.1:8080": "127.0.0.1:8080", "https://gateway.example/x": "gateway.example:443"} {
		a := agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{Command: "claude"}}
		if url != "" {
			a.ClaudeCode.Env = map[string]string{"ANTHROPIC_BASE_URL": url}
		}
		if got, err := claudecode.New().Hosts(a); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, %v", url, got, err)
		}
	}
	name, ok := map[string]string{"amd64": "claude-code-linux-x64", "arm64": "claude-code-linux-arm64"}[runtime.GOARCH]
	if !ok {
		t.Skip("there is no native program for this machine")
	}
	dir := t.TempDir()
	launcher, native := filepath.Join(dir, "@anthropic-ai/claude-code/bin/claude.exe"), filepath.Join(dir, "@anthropic-ai", name, "claude")
	for _, file := range []string{launcher, native} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := claudecode.New().Mounts(agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{Command: launcher}})
	if d := cmp.Diff([]sandbox.Mount{{Source: native, Target: "/run/deed/agent/claude"}}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}
