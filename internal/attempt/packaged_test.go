package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// provide claims a task of a runtime package, which the operator installed, on a git repository.
func (b *testBundle) provide(script, materialization string, edit func(*store.NewTask)) *store.Claim {
	b.t.Helper()
	b.Drivers = driver.NewSet(packaged.New(packaged.Options{Home: b.Home.AgentRuntimes(), Environ: b.Environ}))
	dir := filepath.Join(b.Home.AgentRuntimes(), "fake")
	manifest := fmt.Sprintf(`{"schema": %q, "id": "fake", "name": "Fake", "version": "1.0.0", "description": "A test.", "agent_task_executors": [{
		"schema": %q, "id": "fake.agent", "label": "Fake", "backend": "fake", "command": "{{runtime_path}}/run", "workspace_materialization": %s,
		"secret_requirements": [{"name": "FAKE_TOKEN", "required": false}],
		"immediate_failure_patterns": [{"id": "gone", "error_contains_any": ["model is gone"], "retryable": true}]}]}`, homeboy.SchemaManifest, homeboy.SchemaProvider, materialization)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "fake.json"), []byte(manifest), 0o644),
		os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\ncat >/dev/null\nanswer() { printf '{\"schema\":\"homeboy/agent-task-outcome/v1\",\"task_id\":\"t1\",\"status\":\"%s\",\"summary\":\"%s\"}' \"$1\" \"$2\"; }\n"+script+"\n"), 0o755)); err != nil {
		b.t.Fatal(err)
	}
	return b.claim("", func(n *store.NewTask) {
		adapter, err := json.Marshal(agentruntime.AdapterConfig{Packaged: &agentruntime.PackagedAdapter{AdapterID: "fake", Kind: agentruntime.KindPackaged, Backend: "fake", TimeoutMS: 60_000}})
		if err != nil {
			b.t.Fatal(err)
		}
		n.Intent.Payload = json.RawMessage(`{"schema": "homeboy/agent-task-request/v1", "task_id": "t1", "instructions": "Say hello.", "executor": {"backend": "fake", "config": {}}, "limits": {"timeout_ms": 20000}}`)
		n.Intent.Deed = &deed.TaskSpec{Adapter: adapter, Isolation: string(sandbox.Process), Workspace: &deed.Workspace{Source: repository(b.t)}}
		n.AdapterID = "fake"
		if edit != nil {
			edit(n)
		}
	})
}

// repository makes a git repository with one commit and a change that is not committed.
func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, argv := range [][]string{
		{"git", "init", "-q"},
		{"sh", "-c", "echo one >a.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo a line that moves; done >moved.txt"},
		{"git", "add", "."},
		{"git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "one"},
		{"sh", "-c", "echo dirty >>a.txt; echo new >untracked.txt"},
	} {
		r, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: argv, Dir: dir, Env: os.Environ(), MaxOutput: 1 << 20})
		if err == nil {
			err = r.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// applied is what a patch makes of a copy of a repository: every file, and what it holds.
func applied(t testing.TB, source, patch string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	r, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"git", "apply", "-"}, Dir: dir, Env: os.Environ(), Stdin: strings.NewReader(patch), MaxOutput: 1 << 20})
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			data, rerr := os.ReadFile(filepath.Join(dir, e.Name()))
			out[e.Name()], err = string(data), errors.Join(err, rerr)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// listing is every file of a directory with its content.
func listing(t testing.TB, dir string) string {
	t.Helper()
	r, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"sh", "-c", "find . -type f | sort | xargs sha256sum"}, Dir: dir, Env: os.Environ(), MaxOutput: 1 << 20})
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Stdout)
}

// Edge cases 62, 92 and 97: a provider works on a copy and cannot push from it; committed and untracked changes, renames and
// binary files are in the patch, which makes the same files of the same base; what it leaves for artifacts is not, and the caller's checkout is as it was. Its outcome and its request are in the bundle.
func TestAPackagedAttempt(t *testing.T) {
	t.Parallel()
	for _, walls := range []sandbox.Kind{sandbox.Process, sandbox.Namespace} {
		t.Run(string(walls), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Environ = append(b.Environ, "FAKE_TOKEN=a-token-of-the-operator")
			var source string
			edit := func(n *store.NewTask) {
				source = n.Intent.Deed.Workspace.Source
				n.Intent.Deed.SecretEnv = []string{"FAKE_TOKEN"}
			}
			if walls == sandbox.Namespace {
				inner := edit
				edit = contained(t, func(*deed.TaskSpec) {})
				outer := edit
				edit = func(n *store.NewTask) { inner(n); outer(n) }
			}
			c := b.provide(`echo two >>a.txt; git mv moved.txt renamed.txt; git add a.txt; git -c user.name=p -c user.email=p@example.com commit -qm two; echo made >b.txt; printf '\000\001' >c.bin
git push -q origin HEAD:refs/heads/pushed 2>/dev/null
echo "token $FAKE_TOKEN" >&2; echo '{}' >.homeboy/fake/report.json; answer succeeded "done with $FAKE_TOKEN"`,
				`{"cwd": "git_checkout", "requires_git": true, "write_scope": "workspace", "artifact_paths": [".homeboy/fake"]}`, edit)
			before := listing(t, source)
			res, err := b.Run(t.Context(), b.sup, c)
			if err != nil {
				t.Fatal(err)
			}
			if res.Settlement.Status != agentruntime.TaskCompleted {
				t.Fatalf("%s: %s\n%s", res.Settlement.Class, res.Settlement.LastError, read(t, res, "files/attempt/stderr.log"))
			}
			bundletest.Check(t, res.BundleDir)
			if listing(t, source) != before {
				t.Error("the caller's checkout was changed")
			}
			patch := read(t, res, evidence.PathPatch)
			for _, want := range []string{"+two", "b.txt", "c.bin"} {
				if !strings.Contains(patch, want) {
					t.Errorf("no %q in the patch:\n%s", want, patch)
				}
			}
			want := map[string]string{"a.txt": "one\ndirty\ntwo\n", "untracked.txt": "new\n", "b.txt": "made\n", "c.bin": "\x00\x01", "renamed.txt": strings.Repeat("a line that moves\n", 20)}
			if diff := cmp.Diff(want, applied(t, source, patch)); diff != "" {
				t.Errorf("what the patch makes differs (-want +got):\n%s", diff)
			}
			if strings.Contains(patch, ".homeboy") {
				t.Errorf("an artifact is in the patch:\n%s", patch)
			}
			if read(t, res, "files/artifacts/workspace/.homeboy/fake/report.json") != "{}\n" {
				t.Error("no artifact")
			}
			var o homeboy.Outcome
			if err := json.Unmarshal([]byte(read(t, res, "files/attempt/result.json")), &o); err != nil || o.Status != homeboy.Succeeded || o.TaskID != "t1" {
				t.Errorf("%+v, %v", o, err)
			}
			for _, name := range []string{"files/attempt/" + packaged.RequestFile, "files/attempt/" + packaged.EvidenceFile, "files/attempt/stderr.log", "files/attempt/result.json"} {
				if text := read(t, res, name); text == "" || strings.Contains(text, "a-token-of") {
					t.Errorf("%s: %q", name, text)
				}
			}
		})
	}
}

// Edge case 63: no two attempts share a directory for temporary files or for artifacts, whether of one task or of two.
func TestDirectoriesOfAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(t.TempDir(), "seen")
	script := `mkdir "$TMPDIR/mine" "$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/mine" || exit 9; echo "$TMPDIR $HOMEBOY_AGENT_TASK_ARTIFACTS_DIR" >>` + file + `; answer provider_error "the line broke"`
	first := b.provide(script, `{"cwd": "request_workspace"}`, func(n *store.NewTask) { n.MaxAttempts = 5 })
	runs := 0
	run := func(c *store.Claim) {
		t.Helper()
		runs++
		if res, err := b.Run(t.Context(), b.sup, c); err != nil || res.Settlement.Class != string(failure.Provider) {
			t.Fatalf("%+v, %v", res.Settlement, err)
		}
	}
	run(first)
	run(b.again(first))
	run(b.provide(script, `{"cwd": "request_workspace"}`, nil))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dir := range strings.FieldsSeq(string(data)) {
		seen[dir] = true
	}
	if len(seen) != 2*runs {
		t.Errorf("%d directories of %d attempts:\n%s", len(seen), runs, data)
	}
}

// A provider that declares that it changes nothing is held to that: by the sandbox, else by the gate.
func TestAReadOnlyProvider(t *testing.T) {
	t.Parallel()
	const artifacts = `{"cwd": "request_workspace", "write_scope": "artifacts", "artifact_paths": [".homeboy/fake"]}`
	script := `echo x >b.txt; echo '{}' >.homeboy/fake/report.json; answer succeeded done`
	b := setup(t)
	res, err := b.Run(t.Context(), b.sup, b.provide(script, artifacts, func(n *store.NewTask) { n.Intent.Deed.MaxRecoveries = new(int) }))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != string(failure.Rejected) || !strings.Contains(res.Settlement.LastError, "write_scope") {
		t.Errorf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
	}
	if !strings.Contains(string(res.Settlement.Verdict), gate.CodeOutOfScope) || !strings.Contains(read(t, res, "files/attempt/"+packaged.EvidenceFile), `"held": "declared"`) {
		t.Errorf("%s", res.Settlement.Verdict)
	}
	b = setup(t)
	res, err = b.Run(t.Context(), b.sup, b.provide(script, artifacts, contained(t, func(d *deed.TaskSpec) {})))
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted || len(res.Files) != 0 || read(t, res, "files/artifacts/workspace/.homeboy/fake/report.json") != "{}\n" {
		t.Errorf("%s: %s, %v", res.Settlement.Class, res.Settlement.LastError, res.Files)
	}
}

// Edge case 85: a timeout still leaves the patch and the artifacts.
func TestATimeoutLeavesTheWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.provide(`echo half >b.txt; echo '{}' >.homeboy/fake/report.json; sleep 1000`, `{"artifact_paths": [".homeboy/fake"]}`, func(n *store.NewTask) {
		n.Intent.Payload = json.RawMessage(strings.Replace(string(n.Intent.Payload), "20000", "700", 1))
	})
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Class != string(failure.Timeout) || !strings.Contains(read(t, res, evidence.PathPatch), "+half") || read(t, res, "files/artifacts/workspace/.homeboy/fake/report.json") != "{}\n" {
		t.Errorf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
	}
}

// A refusal says by its code what was wrong, for programs to read.
func TestARefusalIsInTheDiagnostics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.provide(`answer succeeded done`, `{"cwd": "git_checkout"}`, func(n *store.NewTask) { n.Intent.Deed.Workspace = nil })
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Refusal struct{ Code, Class, Message string }
	}
	if err := json.Unmarshal(res.Settlement.Attempt.Diagnostics, &d); err != nil || d.Refusal.Code != packaged.CodeGitRequired || d.Refusal.Class != string(homeboy.ClassInvalidInput) || d.Refusal.Message == "" {
		t.Errorf("%s, %v", res.Settlement.Attempt.Diagnostics, err)
	}
	if res.Settlement.Class != string(failure.Config) || res.Settlement.Status != agentruntime.TaskPermanentFailure {
		t.Errorf("%s, %s", res.Settlement.Class, res.Settlement.Status)
	}
}

// A refusal of the gate is answered by another run of the provider.
func TestAProviderIsToldWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.provide(`n=$(cat n.txt 2>/dev/null || echo 0); echo $((n+1)) >n.txt; answer succeeded done`, `{}`, func(n *store.NewTask) {
		n.Intent.Deed.Checks = []deed.Check{{Shell: `test "$(cat n.txt)" = 2`}}
	})
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s: %s", res.Settlement.Class, res.Settlement.LastError)
	}
	if q := read(t, res, "files/attempt/provider-request-2.json"); !strings.Contains(q, "gate_feedback") {
		t.Errorf("%s", q)
	}
}

// Edge case 57: a failure that the package knows by name, at once and for the second time in a row, ends the tries of this
// task; another failure, and the first of its kind, do not.
func TestTheSameFailureTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   []agentruntime.TaskStatus
	}{
		"known":   {`answer provider_error "the model is gone"`, []agentruntime.TaskStatus{agentruntime.TaskRetryableFailure, agentruntime.TaskPermanentFailure}},
		"unknown": {`answer provider_error "the line broke"`, []agentruntime.TaskStatus{agentruntime.TaskRetryableFailure, agentruntime.TaskRetryableFailure}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			claim := b.provide(c.script, `{"cwd": "request_workspace"}`, func(n *store.NewTask) { n.MaxAttempts = 5 })
			for i, want := range c.want {
				if i > 0 {
					claim = b.again(claim)
				}
				res, err := b.Run(t.Context(), b.sup, claim)
				if err != nil {
					t.Fatal(err)
				}
				if res.Settlement.Status != want {
					t.Fatalf("attempt %d: %s, %s: %s", i+1, res.Settlement.Status, res.Settlement.Class, res.Settlement.LastError)
				}
			}
		})
	}
}

// again claims a task that waits for its next attempt, as an operator has it run now.
func (b *testBundle) again(c *store.Claim) *store.Claim {
	b.t.Helper()
	if err := b.Store.Retry(b.t.Context(), c.Ref.TaskID, "now", "me"); err != nil {
		b.t.Fatal(err)
	}
	next, err := b.Store.Claim(b.t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: time.Minute, TaskID: c.Ref.TaskID})
	if err != nil {
		b.t.Fatal(err)
	}
	return next
}

// Edge case 44: a secret that is too short to be found in what is written is refused before anything starts. A yes or
// a no next to the secrets is not a secret.
func TestSecretsThatCannotBeHidden(t *testing.T) {
	t.Parallel()
	for value, status := range map[string]agentruntime.TaskStatus{
		"abc": agentruntime.TaskPermanentFailure, "12345": agentruntime.TaskPermanentFailure, "false": agentruntime.TaskCompleted, "true": agentruntime.TaskCompleted, "abcd-1234": agentruntime.TaskCompleted,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Environ = append(b.Environ, "FAKE_TOKEN="+value)
			ran := filepath.Join(t.TempDir(), "ran")
			c := b.provide(`printf %s "$FAKE_TOKEN" >`+ran+`; answer no_op done`, `{"cwd": "request_workspace"}`, func(n *store.NewTask) { n.Intent.Deed.SecretEnv = []string{"FAKE_TOKEN"} })
			res, err := b.Run(t.Context(), b.sup, c)
			if err != nil || res.Settlement.Status != status {
				t.Fatalf("%+v, %v", res.Settlement, err)
			}
			got, _ := os.ReadFile(ran)
			if refused := status != agentruntime.TaskCompleted; refused == (string(got) == value) || refused != strings.Contains(res.Settlement.LastError, "FAKE_TOKEN") {
				t.Errorf("it has %q: %s", got, res.Settlement.LastError)
			}
		})
	}
}
