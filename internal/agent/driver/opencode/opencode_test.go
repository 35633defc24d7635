package opencode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/opencode"
	"github.com/deedrun/deed/internal/base/failure"
)

func TestMain(m *testing.M) { drivertest.Main(m, func(m *testing.M) { os.Exit(m.Run()) }) }

// standIn ends as opencode does when its model is done, after a result was left.
const standIn = `
say() { printf '%s\n' "$*"; }
ended() {
	say '{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}'
	say '{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"That is all."}}'
	say '{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":10,"output":2},"cost":0.00001}}'
}
finish() { printf '%s' "$1" >"$DEED_RESULT_FILE"; echo; ended; }
`

func adapter(command string, timeout time.Duration) agentruntime.AdapterConfig {
	return agentruntime.AdapterConfig{Opencode: &agentruntime.OpencodeAdapter{
		AdapterID: "oc", Kind: agentruntime.KindOpencode, Command: command, TimeoutMS: timeout.Milliseconds(), Model: "fake-model",
		Provider: &agentruntime.OpencodeProvider{ID: "fake", BaseURL: "http://127.0.0.1:1/v1", KeyEnv: "FAKE_KEY"},
	}}
}

func harness() drivertest.Harness {
	return drivertest.Harness{Driver: opencode.New(), Prelude: standIn, Adapter: adapter}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }

func TestTheAgentIsToldInItsOwnWay(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `printf '%s\n' "$@" >"$DEED_WORKSPACE/args"; cat >"$DEED_WORKSPACE/prompt"; env >"$DEED_WORKSPACE/env"; ended`)
	b.Job.Brief = "Do the work.\n--not an option"
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion || y.Claim == nil || y.Claim.Source != driver.SourceStream || y.Claim.Summary != "That is all." {
		t.Fatalf("got %s, %v, %+v", y.Kind, y.Err, y.Claim)
	}
	in := func(name string) string { return b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, name)) }
	if got := in("prompt"); got != b.Job.Brief {
		t.Errorf("the prompt is %q", got)
	}
	args := "\n" + in("args")
	for _, want := range []string{"\nrun\n--format\njson\n--pure\n", "\n-m\nfake/fake-model\n", "\n--dir\n" + b.Job.Dirs.Workspace + "\n"} {
		if !strings.Contains(args, want) {
			t.Errorf("no %q in the arguments %q", want, args)
		}
	}
	if strings.Contains(args, "Do the work") || strings.Contains(args, "\n-s\n") {
		t.Errorf("the arguments are %q", args)
	}
	env := "\n" + in("env")
	for _, want := range []string{"\nXDG_DATA_HOME=" + b.Job.Dirs.Home + "/", "\nOPENCODE_DISABLE_PROJECT_CONFIG=1\n", "\nnpm_config_offline=true\n", `"apiKey":"{env:FAKE_KEY}"`} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in the environment", want)
		}
	}
}

func TestTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `printf '%s ' "$@" >>"$DEED_WORKSPACE/args"; echo >>"$DEED_WORKSPACE/args"; cat >>"$DEED_WORKSPACE/prompts"; echo >>"$DEED_WORKSPACE/prompts"; ended`)
	s, err := b.H.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	turn := func(s driver.Session, in driver.Input) {
		t.Helper()
		y, err := s.Turn(t.Context(), in, b)
		if err != nil || y.Kind != driver.YieldCompletion {
			t.Fatal(err, y.Kind, y.Err)
		}
	}
	turn(s, driver.Input{Turn: 1})
	turn(s, driver.Input{Turn: 2, Text: "the test fails"})
	b.Job.Resume = s.Ref()
	later, err := b.H.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = later.Close(t.Context()) }()
	turn(later, driver.Input{Turn: 3, Text: "it still does"})
	lines := strings.Split(strings.TrimSpace(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "args"))), "\n")
	if len(lines) != 3 || strings.Contains(lines[0], " -s ") || !strings.Contains(lines[1], " -s ses_1") || !strings.Contains(lines[2], " -s ses_1") {
		t.Errorf("got %q", lines)
	}
	if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "prompts")); got != "Do the work.\n\nthe test fails\nit still does\n" {
		t.Errorf("prompts are %q", got)
	}
}

func TestAdaptersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*agentruntime.OpencodeAdapter)
		want   string
	}{
		"no model":                {func(a *agentruntime.OpencodeAdapter) { a.Model = "" }, "has no model"},
		"nobody's model":          {func(a *agentruntime.OpencodeAdapter) { a.Provider = nil }, "whose it is"},
		"auto":                    {func(a *agentruntime.OpencodeAdapter) { a.ExtraArgs = []string{"--auto"} }, "extra_args"},
		"another session":         {func(a *agentruntime.OpencodeAdapter) { a.ExtraArgs = []string{"-s", "ses_2"} }, "extra_args"},
		"another session, joined": {func(a *agentruntime.OpencodeAdapter) { a.ExtraArgs = []string{"--session=ses_2"} }, "extra_args"},
		"a prompt":                {func(a *agentruntime.OpencodeAdapter) { a.ExtraArgs = []string{"--thinking", "rm -rf"} }, "part of the prompt"},
		"the end of options":      {func(a *agentruntime.OpencodeAdapter) { a.ExtraArgs = []string{"--", "x"} }, "deed's to set"},
		"full access":             {func(a *agentruntime.OpencodeAdapter) { a.Sandbox = "danger-full-access" }, "trusted-vm"},
		"isolation that it lacks": {func(a *agentruntime.OpencodeAdapter) { a.Sandbox = "workspace-write" }, "isolation namespace"},
		"its configuration":       {func(a *agentruntime.OpencodeAdapter) { a.Env = map[string]string{"OPENCODE_CONFIG_CONTENT": "{}"} }, "deed's to set"},
		"required": {func(a *agentruntime.OpencodeAdapter) {
			a.Autonomy = &agentruntime.HarnessAutonomy{Profile: "restricted", RequiredArgs: []string{"--thinking"}}
		}, "--thinking"},
	} {
		b := drivertest.New(t, harness(), "ended")
		tc.change(b.Job.Adapter.Opencode)
		_, err := b.H.Driver.Start(t.Context(), b.Job)
		if failure.ClassOf(err) != failure.Config || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOptionsThatAreLeftToTheAdapter(t *testing.T) {
	t.Parallel()
	b := drivertest.New(t, harness(), `printf '%s ' "$@" >"$DEED_WORKSPACE/args"; ended`)
	b.Job.Adapter.Opencode.ExtraArgs = []string{"--thinking", "--variant", "high"}
	if y := b.Turn(t.Context()); y.Kind != driver.YieldCompletion {
		t.Fatal(y.Err)
	}
	if got := b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "args")); !strings.HasSuffix(got, " --thinking --variant high ") {
		t.Errorf("arguments %q", got)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/v1": "127.0.0.1:8080", "https://models.example.com/v1": "models.example.com:443", "http://[::1]/v1": "[::1]:80",
	} {
		a := adapter("opencode", time.Minute)
		a.Opencode.Provider.BaseURL = url
		if got, err := opencode.New().Hosts(a); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %v, %v", url, got, err)
		}
	}
	a := adapter("opencode", time.Minute)
	a.Opencode.Provider, a.Opencode.Model = nil, "anthropic/some-model"
	if got, err := opencode.New().Hosts(a); err != nil || len(got) != 1 || got[0] != "api.anthropic.com:443" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReadinessNamesTheRemedy(t *testing.T) {
	t.Parallel()
	r := opencode.New().Ready(t.Context(), adapter("no-such-opencode", time.Minute))
	if r.Ready || len(r.Missing) != 1 || !strings.Contains(r.Missing[0].Remedy, "npm install -g opencode-ai") {
		t.Errorf("got %+v", r)
	}
}

func TestTheNativeProgramIsFoundBehindNpmsStandIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mk := func(path string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stub := mk("node_modules/opencode-ai/bin/opencode.exe")
	if got := (opencode.Dialect{}).Locate(stub); got.File != stub {
		t.Errorf("alone: got %+v", got)
	}
	var native []string
	for _, arch := range []string{"x64", "arm64"} {
		native = append(native, mk("node_modules/opencode-linux-"+arch+"/bin/opencode"))
	}
	if got := (opencode.Dialect{}).Locate(stub); got.File != native[0] && got.File != native[1] {
		t.Errorf("got %+v", got)
	}
	if got := (opencode.Dialect{}).Locate("/usr/bin/opencode"); got.File != "/usr/bin/opencode" {
		t.Errorf("got %+v", got)
	}
}
