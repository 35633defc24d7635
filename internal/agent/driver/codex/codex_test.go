package codex_test

import (
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
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

// standIn speaks codex's stream around the suite's scripts. Lines that a script says are no events, as those of a codex
// that warns of something.
const standIn = `say() { printf '%s\n' "$1"; }
finish() { printf %s "$1" >"$DEED_RESULT_FILE"; ended; }
ended() { printf '\n%s\n' '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'; }
event() { printf '%s\n' "$1"; }`

func harness() drivertest.Harness {
	return drivertest.Harness{
		Driver:  codex.New(),
		Prelude: standIn,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{
				AdapterID: "test", Kind: agentruntime.KindCodex, Command: path, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }

// The command line of a first turn and of a later one, with the prompt nowhere in it.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `event '{"type":"thread.started","thread_id":"T-1"}'
{ for a in "$@"; do printf '[%s]\n' "$a"; done; echo "HOME $CODEX_HOME"; echo "STDIN $(cat)"; } >"$DEED_WORKSPACE/seen"
event '{"type":"item.completed","item":{"type":"agent_message","text":"I did it"}}'; ended`)
	c := b.Job.Adapter.Codex
	c.Model, c.Provider = "m-1", &agentruntime.CodexProvider{ID: "my.own", BaseURL: "http://127.0.0.1:1/v1"}
	c.Env = map[string]string{"OPENAI_API_KEY": "sk-0123456789"}
	c.ExtraArgs = []string{"-c", `model_reasoning_effort="low"`}
	s := start(t, b)
	y, err := s.Turn(t.Context(), driver.Input{Turn: 1}, b)
	if err != nil || y.Kind != driver.YieldCompletion || y.Claim.Source != driver.SourceStream || y.Claim.Summary != "I did it" {
		t.Fatalf("%v, %+v", err, y)
	}
	settings := func(projects string) []string {
		return []string{
			"[--json]", "[--skip-git-repo-check]", "[--model]", "[m-1]", `[-c]`, `[sandbox_mode="workspace-write"]`, `[-c]`, `[approval_policy="never"]`,
			`[-c]`, projects, "[-c]", "[check_for_update_on_startup=false]", "[-c]", "[analytics.enabled=false]", "[-c]", "[feedback.enabled=false]",
			"[-c]", "[features.plugins=false]", "[-c]", "[features.apps=false]", "[-c]", "[features.unbounded_connection_retries=false]",
			"[-c]", `[sandbox_workspace_write.writable_roots=["` + b.Job.Dirs.Exchange + `","` + b.Job.Dirs.Artifacts + `"]]`, "[-c]", "[sandbox_workspace_write.exclude_slash_tmp=true]",
			"[-c]", `[model_provider="my.own"]`, "[-c]", `[model_providers={"my.own"={name="my.own",base_url="http://127.0.0.1:1/v1",wire_api="responses",request_max_retries=2,stream_max_retries=2,env_key="OPENAI_API_KEY"}}]`,
			"[-c]", `[model_reasoning_effort="low"]`,
		}
	}
	w := b.Job.Dirs.Workspace
	want := slices.Concat([]string{"[exec]"}, settings(`[projects={"`+w+`"={trust_level="untrusted"}}]`), []string{"[-]", "HOME " + filepath.Join(b.Job.Dirs.Home, ".codex"), "STDIN Do the work."})
	if d := cmp.Diff(want, strings.Split(strings.TrimSpace(b.ReadFile(filepath.Join(w, "seen"))), "\n")); d != "" {
		t.Error(d)
	}
	if y, err = s.Turn(t.Context(), driver.Input{Turn: 2, Text: "The test still fails."}, b); err != nil || y.Kind != driver.YieldCompletion {
		t.Fatalf("%v, %+v", err, y)
	}
	want = slices.Concat([]string{"[exec]", "[resume]"}, settings(`[projects={"`+w+`"={trust_level="untrusted"}}]`), []string{"[T-1]", "[-]", "HOME " + filepath.Join(b.Job.Dirs.Home, ".codex"), "STDIN The test still fails."})
	if d := cmp.Diff(want, strings.Split(strings.TrimSpace(b.ReadFile(filepath.Join(w, "seen"))), "\n")); d != "" {
		t.Error(d)
	}
	if y.StdoutPath != filepath.Join(b.Job.Dirs.Run, "stdout-2.log") {
		t.Errorf("stdout of the second turn: %s", y.StdoutPath)
	}
	// A later process goes on with the same conversation.
	b.Job.Resume = s.Ref()
	if y, err = start(t, b).Turn(t.Context(), driver.Input{Turn: 3, Text: "Go on."}, b); err != nil || y.Kind != driver.YieldCompletion {
		t.Fatalf("%v, %+v", err, y)
	}
	if got := b.ReadFile(filepath.Join(w, "seen")); !strings.Contains(got, "[resume]") || !strings.Contains(got, "[T-1]") {
		t.Error(got)
	}
}

// A conversation whose process died in the middle of a turn is known by the name that the agent reported, and resumes by it. A
// name that Codex would take for an option is none.
func TestNamesOfConversations(t *testing.T) {
	t.Parallel()
	drivertest.Names(t, harness(), func(id string) string { return `{"type":"thread.started","thread_id":` + id + `}` })
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

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	type codexAdapter = agentruntime.CodexAdapter
	trusted := &agentruntime.HarnessAutonomy{Profile: agentruntime.AutonomyTrustedVM}
	for name, tc := range map[string]struct {
		change func(*codexAdapter)
		want   string
	}{
		"a danger flag":            {func(c *codexAdapter) { c.ExtraArgs = []string{"--dangerously-bypass-approvals-and-sandbox"} }, "lifts the agent's own guards"},
		"its short name":           {func(c *codexAdapter) { c.ExtraArgs = []string{"--yolo"} }, "lifts the agent's own guards"},
		"full-auto":                {func(c *codexAdapter) { c.ExtraArgs = []string{"--full-auto"} }, "--full-auto"},
		"full access in a setting": {func(c *codexAdapter) { c.ExtraArgs = []string{"-c", "sandbox_mode=danger-full-access"} }, "lifts"},
		"a sandbox in extra_args":  {func(c *codexAdapter) { c.ExtraArgs = []string{"-s", "read-only"} }, "deed's to set"},
		"a sandbox in a setting":   {func(c *codexAdapter) { c.ExtraArgs = []string{"-c", `sandbox_mode="read-only"`} }, "deed's to set"},
		"the same, attached":       {func(c *codexAdapter) { c.ExtraArgs = []string{`--config=sandbox_mode="read-only"`} }, "deed's to set"},
		"the same, short":          {func(c *codexAdapter) { c.ExtraArgs = []string{`-csandbox_mode="read-only"`} }, "deed's to set"},
		"the same, quoted":         {func(c *codexAdapter) { c.ExtraArgs = []string{"-c", `"sandbox_mode" = "read-only"`} }, "deed's to set"},
		"escaped in TOML":          {func(c *codexAdapter) { c.ExtraArgs = []string{"-c", `sandbox_mode="danger\u002dfull-access"`} }, "deed's to set"},
		"through a profile":        {func(c *codexAdapter) { c.ExtraArgs = []string{"-c", `profiles.x.sandbox_mode="y"`} }, "deed's to set"},
		"a short option attached":  {func(c *codexAdapter) { c.ExtraArgs = []string{"-sread-only"} }, "deed's to set"},
		"another directory":        {func(c *codexAdapter) { c.ExtraArgs = []string{"-C", "/"} }, "deed's to set"},
		"full access, undeclared":  {func(c *codexAdapter) { c.Sandbox = "danger-full-access" }, "trusted-vm"},
		"a required argument": {func(c *codexAdapter) {
			c.Autonomy = &agentruntime.HarnessAutonomy{Profile: "restricted", RequiredArgs: []string{"--search"}}
		}, `"--search" is not on the command line`},
		"another home":              {func(c *codexAdapter) { c.Env = map[string]string{"CODEX_HOME": "/root/.codex"} }, "CODEX_HOME is deed's to set"},
		"a directory outside":       {func(c *codexAdapter) { c.WorkingDir = "../x" }, "working_dir"},
		"no command":                {func(c *codexAdapter) { c.Command = "no-such-codex" }, "npm install"},
		"a NUL byte in an argument": {func(c *codexAdapter) { c.ExtraArgs = []string{"a\x00b"}; c.Autonomy = trusted }, "$.extra_args[0]"},
		"a required danger argument": {func(c *codexAdapter) {
			c.Autonomy = &agentruntime.HarnessAutonomy{Profile: "trusted-vm", RequiredArgs: []string{"--yolo"}}
		}, "not on the command line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := drivertest.New(t, harness(), "")
			tc.change(b.Job.Adapter.Codex)
			_, err := b.H.Driver.Start(t.Context(), b.Job)
			if c := failure.ClassOf(err); (c != failure.Config && c != failure.Spawn) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s: %v", c, err)
			}
		})
	}
	b := drivertest.New(t, harness(), "ended")
	b.Job.Adapter.Codex.Sandbox, b.Job.Adapter.Codex.Autonomy = "danger-full-access", trusted
	if y := b.Turn(t.Context()); y.Kind != driver.YieldCompletion || !strings.Contains(y.Diagnostics["posture"].(string), "trusted VM") {
		t.Errorf("a declared trusted VM: %+v", y)
	}
	b.Job.Resume = "--rubbish"
	if _, err := b.H.Driver.Start(t.Context(), b.Job); failure.ClassOf(err) != failure.Config {
		t.Errorf("a reference that is none: %v", err)
	}
}

func TestWhatTheStreamSaysCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		class  failure.Class
		want   string
	}{
		"exit 0 and silence":          {`exit 0`, failure.InvalidWord, "without an event"},
		"exit 0 after a failed turn":  {`event '{"type":"turn.failed","error":{"message":"unexpected status 500"}}'`, failure.Provider, "500"},
		"exit 1 after success":        {`ended; exit 1`, failure.AgentFailed, "its last event says success"},
		"exit 1 with words on stderr": {`echo 'Error: thread not found' >&2; exit 1`, failure.AgentFailed, "thread not found"},
		"a result without the event":  {`printf '{"status":"completed"}' >"$DEED_RESULT_FILE"`, failure.InvalidWord, "without an event"},
		"an unreadable result":        {`printf oops >"$DEED_RESULT_FILE"; ended`, failure.InvalidWord, "not a JSON object"},
		"a cut stream":                {`printf '{"type":"turn.comp'`, failure.InvalidWord, "without an event"},
		"a last line without an end":  {`printf '{"type":"turn.completed"}'`, failure.None, ""},
		"CRLF":                        {`printf '{"type":"turn.completed"}\r\n'`, failure.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := drivertest.New(t, harness(), tc.script).Turn(t.Context())
			if y.Class != tc.class || (y.Err != nil && !strings.Contains(y.Err.Error(), tc.want)) {
				t.Errorf("got %s, %v", y.Class, y.Err)
			}
		})
	}
}

// The time limit is the session's: what a turn used is missing for the next.
func TestTimeLimitIsTheSessions(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `[ -e "$DEED_WORKSPACE/x" ] && sleep 1000; : >"$DEED_WORKSPACE/x"; sleep 2; ended`)
	b.Job.Timeout = 8 * time.Second
	s := start(t, b)
	if y, err := s.Turn(t.Context(), driver.Input{Turn: 1}, b); err != nil || y.Kind != driver.YieldCompletion {
		t.Fatalf("%v, %+v", err, y)
	}
	y, err := s.Turn(t.Context(), driver.Input{Turn: 2, Text: "more"}, b)
	if err != nil || y.Class != failure.Timeout || y.Proc.Duration > 7900*time.Millisecond {
		t.Errorf("%v, %s after %v", err, y.Class, y.Proc.Duration)
	}
}

func TestProgramBehindTheLauncher(t *testing.T) {
	t.Parallel()
	names := map[string][2]string{"amd64": {"codex-linux-x64", "x86_64-unknown-linux-musl"}, "arm64": {"codex-linux-arm64", "aarch64-unknown-linux-musl"}}
	n, ok := names[runtime.GOARCH]
	if !ok {
		t.Skip("there is no native codex for this machine")
	}
	for name, native := range map[string]string{
		"beside": filepath.Join("node_modules/@openai", n[0]),
		"below":  filepath.Join("node_modules/@openai/codex/node_modules/@openai", n[0]),
	} {
		dir := t.TempDir()
		root := filepath.Join(dir, native, "vendor", n[1])
		launcher := filepath.Join(dir, "node_modules/@openai/codex/bin/codex.js")
		for _, file := range []string{launcher, filepath.Join(root, "bin/codex")} {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		command := filepath.Join(dir, "codex")
		if err := os.Symlink(launcher, command); err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{command, filepath.Join(root, "bin/codex")} {
			got, err := codex.New().Mounts(agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{Command: c}})
			want := []sandbox.Mount{{Source: root, Target: "/run/deed/agent/" + n[1]}}
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %v\n%s", name, err, d)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][]string{
		"":                         {"api.openai.com:443", "chatgpt.com:443"},
		"http://127.0.0.1:8080/v1": {"127.0.0.1:8080"},
		"https://llm.example/v1":   {"llm.example:443"},
		"http://[::1]/v1":          {"[::1]:80"},
	} {
		a := agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{Command: "codex"}}
		if url != "" {
			a.Codex.Provider = &agentruntime.CodexProvider{ID: "p", BaseURL: url}
		}
		if got, err := codex.New().Hosts(a); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", url, got, err)
		}
	}
}
