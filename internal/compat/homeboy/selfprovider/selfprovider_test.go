package selfprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/provider"
)

// A bench is one run of a provider.
type bench struct {
	dir, artifacts string
	environ        []string
	stderr         bytes.Buffer
}

func newBench(t *testing.T, environ ...string) *bench {
	t.Helper()
	b := &bench{dir: filepath.Join(t.TempDir(), "work"), artifacts: filepath.Join(t.TempDir(), "artifacts")}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}, environ...)
	return b
}

func (b *bench) serve(ctx context.Context, t *testing.T, id string, config map[string]any, change func(q map[string]any)) homeboy.Outcome {
	t.Helper()
	q := map[string]any{
		"schema": homeboy.SchemaRequest, "task_id": "t1", "instructions": "The program calc is wrong. Repair it so that `sh check` passes.",
		"executor": map[string]any{"backend": id, "config": config}, "artifacts_path": b.artifacts, "limits": map[string]any{"timeout_ms": 240_000},
	}
	if change != nil {
		change(q)
	}
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code, err := Serve(ctx, id, provider.Stdio{Environ: b.environ, Dir: b.dir, In: bytes.NewReader(text), Out: &out, Err: &b.stderr})
	var o homeboy.Outcome
	if err != nil || code != 0 || json.Unmarshal(out.Bytes(), &o) != nil || o.Validate() != nil {
		t.Fatalf("%d %v %s\n%s", code, err, out.String(), b.stderr.String())
	}
	return o
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	if _, err := Serve(t.Context(), "nobody", provider.Stdio{}); err == nil || !strings.Contains(err.Error(), "codex") {
		t.Error(err)
	}
}

func TestLocalShell(t *testing.T) {
	t.Parallel()
	type row struct {
		config map[string]any
		status homeboy.OutcomeStatus
		class  homeboy.FailureClass
		stdout string
	}
	for name, tt := range map[string]row{
		"nothing":          {map[string]any{}, homeboy.NoOp, "", ""},
		"a program":        {map[string]any{"command": "echo", "args": []string{"$HOME", "a b"}}, homeboy.Succeeded, "", "$HOME a b\n"},
		"a list":           {map[string]any{"command": []string{"echo", "*"}, "command_args": []string{";"}}, homeboy.Succeeded, "", "* ;\n"},
		"a line, no shell": {map[string]any{"command": "echo hello"}, homeboy.ProviderError, homeboy.ClassProvider, ""},
		"a shell":          {map[string]any{"command": `echo "$1" && exit 3`, "shell": true, "args": []string{"it's"}}, homeboy.Failed, homeboy.ClassExecutionFailed, "it's\n"},
		"variables":        {map[string]any{"command": []string{"sh", "-c", `echo "$A$AWS_SECRET"`}, "env": map[string]string{"A": "b"}}, homeboy.Succeeded, "", "b\n"},
		"a failure":        {map[string]any{"command": "false"}, homeboy.Failed, homeboy.ClassExecutionFailed, ""},
		"not there":        {map[string]any{"command": "no-such-program-here"}, homeboy.ProviderError, homeboy.ClassProvider, ""},
		"a number":         {map[string]any{"command": 1}, homeboy.ProviderError, homeboy.ClassInvalidInput, ""},
		"an empty list":    {map[string]any{"command": []string{}}, homeboy.ProviderError, homeboy.ClassInvalidInput, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "AWS_SECRET=not for it")
			o := b.serve(t.Context(), t, "local-shell", tt.config, nil)
			if o.Status != tt.status || o.FailureClassification != tt.class {
				t.Errorf("%s/%s %+v", o.Status, o.FailureClassification, o)
			}
			if got, _ := os.ReadFile(filepath.Join(b.artifacts, "stdout.txt")); string(got) != tt.stdout {
				t.Errorf("%q", got)
			}
			if name == "a line, no shell" && !strings.Contains(o.Summary, "set shell to true") {
				t.Errorf("what to do is not said: %s", o.Summary)
			}
		})
	}
	t.Run("time limit", func(t *testing.T) {
		t.Parallel()
		o := newBench(t).serve(t.Context(), t, "local-shell", map[string]any{"command": "sleep 1000 & sleep 1000", "shell": true}, func(q map[string]any) {
			q["limits"] = map[string]any{"timeout_ms": 300}
		})
		if o.Status != homeboy.Timeout {
			t.Errorf("%+v", o)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o := newBench(t).serve(ctx, t, "local-shell", map[string]any{"command": "sleep", "args": []string{"1000"}}, nil); o.Status != homeboy.Cancelled {
			t.Errorf("%+v", o)
		}
	})
	t.Run("a secret", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, "MY_TOKEN=open sesame")
		o := b.serve(t.Context(), t, "local-shell", map[string]any{"command": []string{"sh", "-c", `echo "$MY_TOKEN"; echo "$MY_TOKEN" >&2`}}, func(q map[string]any) {
			q["executor"].(map[string]any)["secret_env"] = []string{"MY_TOKEN"}
		})
		got, _ := os.ReadFile(filepath.Join(b.artifacts, "stdout.txt"))
		if o.Status != homeboy.Succeeded || string(got) != "[redacted]\n" || strings.Contains(b.stderr.String(), "sesame") {
			t.Errorf("%+v %q %q", o, got, b.stderr.String())
		}
	})
}

// TestAgentsNotSetUp has agents whose program is not there, and options that make no sense.
func TestAgentsNotSetUp(t *testing.T) {
	t.Parallel()
	for id := range agents {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.serve(t.Context(), t, id, map[string]any{"command": "/no/such/program"}, nil)
			if o.Status != homeboy.ProviderError || o.Diagnostics[0].Class != provider.DiagnosticSetup || o.Retryable == nil || *o.Retryable {
				t.Errorf("%+v", o)
			}
			for name, config := range map[string]map[string]any{
				"sandbox":  {"sandbox": "none"},
				"env":      {"env": map[string]any{"A": 1}},
				"provider": {"provider": []int{1}},
			} {
				if o := b.serve(t.Context(), t, id, config, nil); o.FailureClassification != homeboy.ClassInvalidInput || o.Diagnostics[0].Class != provider.DiagnosticRequest {
					t.Errorf("%s: %+v", name, o)
				}
			}
		})
	}
}

const script = `
schema: deed/model-script/v1
usage: {input: 1100, cached: 100, output: 21, reasoning: 7}
scenarios:
  fix: {steps: [{tool: shell, command: "sed -i 's/a - b/a + b/' calc && sh check"}, {text: "Repaired calc; the check passes."}]}
  key: {steps: [{error: 401}, {text: "x"}]}
`

// TestRealAgents runs the agents themselves against a scripted model, in a workspace with a broken program.
func TestRealAgents(t *testing.T) {
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.New(s)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	const key = "sk-scripted-0123456789"
	for id, a := range map[string]struct {
		tool, variable, secret string
		config                 func(url string) map[string]any
	}{
		"codex": {"codex", "CODEX_BIN", "OPENAI_API_KEY", func(url string) map[string]any {
			return map[string]any{"model": "fake-model", "provider": "scripted", "base_url": url + "/v1"}
		}},
		"claude-code": {"claude", "CLAUDE_BIN", "ANTHROPIC_API_KEY", func(url string) map[string]any {
			return map[string]any{"model": "claude-sonnet-4-5", "base_url": url, "extra_args": []string{"--allowedTools", "Bash"}}
		}},
		"opencode": {"opencode", "OPENCODE_BIN", "OPENAI_API_KEY", func(url string) map[string]any {
			return map[string]any{"model": "fake-model", "provider": map[string]any{"id": "scripted", "base_url": url + "/v1", "key_env": "OPENAI_API_KEY"}}
		}},
	} {
		t.Run(id, func(t *testing.T) {
			program := drivertest.Agent(t, a.tool)
			prepare := func() *bench {
				b := newBench(t, a.variable+"="+program, a.secret+"="+key)
				for name, text := range map[string]string{
					"calc":  "#!/bin/sh\na=$1 b=$2\necho $((a - b))\n",
					"check": "[ \"$(sh calc 2 3)\" = 5 ] || { echo 'calc 2 3 is not 5'; exit 1; }\necho ok\n",
				} {
					if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return b
			}
			b := prepare()
			o := b.serve(t.Context(), t, id, a.config(server.URL("fix~"+id)), nil)
			if o.Status != homeboy.Succeeded || o.Summary != "Repaired calc; the check passes." {
				t.Fatalf("%+v\n%s", o, b.stderr.String())
			}
			if text, err := os.ReadFile(filepath.Join(b.dir, "calc")); err != nil || !strings.Contains(string(text), "a + b") {
				t.Errorf("not repaired: %s %v", text, err)
			}
			var meta struct {
				Usage agentruntime.Usage `json:"usage"`
				Tools int                `json:"tool_calls"`
			}
			if err := json.Unmarshal(o.Metadata, &meta); err != nil || meta.Usage.InputTokens != 2200 || meta.Usage.OutputTokens != 42 || meta.Tools != 1 {
				t.Errorf("%s %v", o.Metadata, err)
			}
			transcript, err := os.ReadFile(filepath.Join(b.artifacts, "transcript.jsonl"))
			if err != nil || len(transcript) == 0 || o.Artifacts[0].Kind != "transcript" {
				t.Errorf("%v %+v", err, o.Artifacts)
			}
			whole := fmt.Sprintf("%+v%s%s", o, transcript, b.stderr.String())
			if strings.Contains(whole, key) || !strings.Contains(b.stderr.String(), "HOMEBOY_PROGRESS tool ") {
				t.Errorf("%s", whole)
			}
			if left, err := os.ReadDir(tmpOf(b)); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}

			b = prepare()
			o = b.serve(t.Context(), t, id, a.config(server.URL("key~"+id)), nil)
			got := []string{string(o.Status), string(o.FailureClassification), o.Diagnostics[0].Class}
			if diff := cmp.Diff([]string{"provider_error", "provider", provider.DiagnosticSetup}, got); diff != "" {
				t.Errorf("a refused key: %s\n%+v", diff, o)
			}
		})
	}
}

// tmpOf is the directory for temporary files.
func tmpOf(b *bench) string { return strings.TrimPrefix(b.environ[2], "TMPDIR=") }
