package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// built is this test's binary without the race detector, which would make each of a thousand starts of the adversary slow.
var built = sync.OnceValues(func() (string, error) {
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".cache", "test", "conform"))
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "test", "-c", "-o", file, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the adversary: %w\n%s", err, out)
	}
	return file, nil
})

func adversaryFile(t *testing.T) string {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// manifestText is the manifest of the adversary, which breaks exactly one rule by its mode.
func manifestText(t *testing.T, id, mode string) map[string]any {
	t.Helper()
	exe := adversaryFile(t)
	text := `{
	  "schema": "homeboy/agent-runtime-manifest/v1", "id": "` + id + `", "name": "Adversary", "version": "1.0.0", "description": "Breaks one rule.",
	  "agent_task_executors": [{
	    "schema": "homeboy/agent-task-executor-provider/v1", "id": "` + id + `.run", "label": "Adversary", "backend": "adversary",
	    "command": "adversary", "request_schema": "homeboy/agent-task-request/v1", "outcome_schema": "homeboy/agent-task-outcome/v1",
	    "request_required_fields": ["task_id", "executor.backend", "instructions"],
	    "outcome_statuses": ["succeeded", "failed", "provider_error", "timeout", "cancelled"],
	    "failure_classifications": ["provider", "timeout", "invalid_input", "execution_failed", "unknown"],
	    "redacted_metadata_keys": ["secrets"], "capabilities": ["structured_outcome"],
	    "runner_readiness": [{"id": "shell", "executable": {"candidates": ["sh"]}}],
	    "role_aliases": {"artifact_kinds": {"report": ["x"]}},
	    "workspace_materialization": {"cwd": "git_checkout", "requires_git": true, "write_scope": "artifacts", "artifact_paths": [".homeboy/adversary"]},
	    "secret_requirements": [{"name": "ADVERSARY_TOKEN", "required": true, "purpose": "Is planted."}],
	    "secret_env_requirements": [], "provider_defaults": {}, "diagnostics": {"outcome_fields": ["diagnostics"], "artifact_kinds": ["report"]},
	    "status": "active", "integration_contract": "adversary/v1"
	  }]
	}`
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	x := doc["agent_task_executors"].([]any)[0].(map[string]any)
	x["command_argv"] = []any{exe, "adversary", mode}
	return doc
}

// make1 writes a package.
func make1(t *testing.T, mode string, change func(doc, provider map[string]any)) string {
	t.Helper()
	const id = "adversary"
	doc := manifestText(t, id, mode)
	if change != nil {
		change(doc, doc["agent_task_executors"].([]any)[0].(map[string]any))
	}
	dir := filepath.Join(t.TempDir(), id)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, id+".json"), text, 0o600), os.WriteFile(filepath.Join(dir, "README.md"), []byte("# It\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func conform(t *testing.T, dir string, opt Options) deed.ConformReport {
	t.Helper()
	opt.Environ = os.Environ()
	if opt.Isolation == "" {
		opt.Isolation = sandbox.Process // it shows more of what a command does wrong
	}
	if opt.Patience == 0 {
		opt.Patience = 2 * time.Second
	}
	if opt.settle == 0 {
		opt.settle = 100 * time.Millisecond
	}
	r, err := Run(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Errorf("the report: %v", err)
	}
	text, err := json.Marshal(r)
	if err != nil || plantedValue.Match(text) {
		t.Errorf("a planted secret is in the report: %v %s", err, text)
	}
	return r
}

var plantedValue = regexp.MustCompile(`conform-[0-9a-f]{32}`)

// notPassed lists what did not pass, by id and result.
func notPassed(r deed.ConformReport) []string {
	var out []string
	for _, c := range r.Checks {
		if c.Result == deed.ConformFail || c.Result == deed.ConformWarn {
			out = append(out, c.ID+" "+c.Result)
		}
	}
	return out
}

func TestConforming(t *testing.T) {
	t.Parallel()
	r := conform(t, make1(t, "good", nil), Options{})
	if got := notPassed(r); len(got) > 0 || !r.Passed {
		t.Errorf("%v\n%+v", got, r.Checks)
	}
	var skipped []string
	for _, c := range r.Checks {
		if c.Result == deed.ConformSkip {
			skipped = append(skipped, c.ID)
		}
	}
	if want := []string{"outcome.classification"}; !slices.Equal(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
}

// TestAdversaries has a package for each rule that breaks it and no other.
func TestAdversaries(t *testing.T) {
	t.Parallel()
	refusals := []string{"request.not_json", "request.empty", "request.none", "request.schema", "request.task_id", "request.backend", "request.field:instructions"}
	tests := map[string][]string{ // by mode
		"outcome.document":        {"outcome.document fail"},
		"outcome.alone":           {"outcome.alone fail"},
		"outcome.alone:twice":     {"outcome.alone fail"},
		"outcome.schema":          {"outcome.schema fail"},
		"outcome.task_id":         {"outcome.task_id fail"},
		"outcome.task_id:null":    {"outcome.task_id fail"},
		"outcome.status":          {"outcome.status fail"},
		"outcome.classification":  {"outcome.classification fail"},
		"outcome.strict":          {"outcome.strict fail"},
		"outcome.exit":            {"outcome.exit fail"},
		"secrets:stderr":          {"secrets.hidden fail"},
		"secrets:stdout":          {"secrets.hidden fail"},
		"secrets:artifact":        {"secrets.hidden fail"},
		"secrets:base64":          {"secrets.hidden fail"},
		"artifacts.exist":         {"artifacts.exist fail"},
		"artifacts.inside":        {"artifacts.inside fail"},
		"artifacts.inside:link":   {"artifacts.inside fail"},
		"artifacts.digest":        {"artifacts.digest fail"},
		"artifacts.digest:size":   {"artifacts.digest fail"},
		"workspace.scope":         {"workspace.scope fail"},
		"processes.none_left":     {"processes.none_left fail"},
		"command.declaration":     {"command.declaration fail"},
		"package.unchanged":       {"package.unchanged fail"},
		"request.unknown_members": {"request.unknown_members fail"},
		"request.large":           {"request.large fail"},
		"paths.workspace":         {"paths.workspace fail"},
		"stop.signal":             {"stop.signal fail"},
		"stop.limit":              {"stop.limit warn"},
		"stop.limit:deaf":         {"stop.limit fail"},
	}
	for _, rule := range refusals {
		tests["accept:"+rule] = []string{rule + " fail"}
		tests["crash:"+rule] = []string{rule + " warn"}
	}
	tests["vague:request.schema"] = []string{"request.schema warn"}
	tests["silent:request.schema"] = []string{"request.schema fail"}
	for mode, want := range tests {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			opt := Options{}
			if mode == "stop.signal" {
				opt.settle = time.Minute // it says when it is deaf
			}
			r := conform(t, make1(t, mode, nil), opt)
			if diff := cmp.Diff(want, notPassed(r)); diff != "" {
				t.Fatalf("(-want +got)\n%s\n%s", diff, dump(r))
			}
			broken := strings.HasSuffix(want[0], " fail")
			for _, c := range r.Checks {
				if c.ID+" "+c.Result == want[0] && broken && r.Passed != (c.Level == deed.ConformShould) {
					t.Errorf("passed is %v, and %s of level %s failed", r.Passed, c.ID, c.Level)
				}
			}
		})
	}
}

func dump(r deed.ConformReport) string {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.Result != deed.ConformPass {
			fmt.Fprintf(&b, "%s %s: %s\n%s\n", c.ID, c.Result, c.Reason, c.Evidence)
		}
	}
	return b.String()
}

func TestManifests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(doc, provider map[string]any)
		want   []string
	}{
		"incomplete": {func(doc, _ map[string]any) { delete(doc, "description") }, []string{"manifest.complete fail"}},
		"a provider without a command": {func(doc, x map[string]any) {
			y := map[string]any{}
			for k, v := range x {
				y[k] = v
			}
			delete(y, "command")
			delete(y, "command_argv")
			y["id"] = "adversary.other"
			doc["agent_task_executors"] = []any{x, y}
		}, []string{"manifest.usable fail", "manifest.complete fail", "command.found fail"}},
		"a program that is not there": {func(_, x map[string]any) { x["command_argv"] = []any{"no-such-program-here"} }, []string{"command.found fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := conform(t, make1(t, "good", tt.change), Options{})
			if diff := cmp.Diff(tt.want, notPassed(r)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, dump(r))
			}
		})
	}
	t.Run("not ready", func(t *testing.T) {
		t.Parallel()
		r := conform(t, make1(t, "good", func(_, x map[string]any) {
			x["runner_readiness"] = []any{map[string]any{"id": "x", "executable": map[string]any{"candidates": []any{"no-such-program-here"}}}}
		}), Options{})
		if len(notPassed(r)) > 0 || !r.Passed || r.Totals.Skip != 2 {
			t.Errorf("%s", dump(r))
		}
	})
}

// TestUnquoted has a script that does not quote its own path. Edge cases 18 and 20.
func TestUnquoted(t *testing.T) {
	t.Parallel()
	exe := adversaryFile(t)
	dir := make1(t, "", func(_, x map[string]any) {
		delete(x, "command_argv")
		x["command"] = "sh {{runtime_path}}/run.sh"
	})
	script := "dir=$(dirname $0) || exit 1\ncat $dir/README.md > /dev/null || exit 1\nexec '" + exe + "' adversary good \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	r := conform(t, dir, Options{})
	if diff := cmp.Diff([]string{"paths.package fail"}, notPassed(r)); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, dump(r))
	}
}

func TestNotAPackage(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"nothing there": filepath.Join(t.TempDir(), "x"), "no manifest": t.TempDir()} {
		if _, err := Run(t.Context(), dir, Options{Environ: os.Environ()}); !errors.Is(err, ErrNotPackage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Run(t.Context(), make1(t, "good", nil), Options{Provider: "other", Environ: os.Environ()}); !errors.Is(err, ErrNotPackage) {
		t.Error(err)
	}
	dir := make1(t, "good", nil)
	if err := os.WriteFile(filepath.Join(dir, "adversary.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), dir, Options{Environ: os.Environ()}); !errors.Is(err, ErrNotPackage) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, make1(t, "good", nil), Options{Environ: os.Environ()}); err == nil || errors.Is(err, ErrNotPackage) {
		t.Error(err)
	}
}

// TestBaseRequest gives the request that the others are made of.
func TestBaseRequest(t *testing.T) {
	t.Parallel()
	doc, err := runtimepkg.ReadDocument([]byte(`{"task_id":"mine","instructions":"Say it","executor":{"backend":"other","config":{"fail":true}},"limits":{"timeout_ms":30000}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := conform(t, make1(t, "good", nil), Options{Request: doc})
	if got := notPassed(r); len(got) > 0 {
		t.Errorf("%v\n%s", got, dump(r))
	}
	if slices.ContainsFunc(r.Checks, func(c deed.ConformCheck) bool {
		return c.ID == "outcome.classification" && c.Result != deed.ConformPass
	}) {
		t.Error("the request was not used")
	}
	if b, _ := doc.At("executor.backend"); b != "other" {
		t.Error("the caller's request was changed")
	}
}

// An untrusted command runs in a sandbox where there is one: it sees nothing of the caller's, and the report says so.
func TestContained(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace}); err != nil {
		t.Skipf("missing tool: bwrap: %v", err)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(kept, []byte("of the caller"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := make1(t, "good", func(_, x map[string]any) {
		argv := x["command_argv"].([]any)
		x["command_argv"] = []any{"{{runtime_path}}/look.sh", argv[0], argv[1], argv[2]}
		x["runner_readiness"] = []any{map[string]any{"id": "self", "executable": map[string]any{"env": []string{"SELF_BIN"}, "candidates": []string{argv[0].(string)}}}}
	})
	look := "#!/bin/sh\ncat " + kept + " >&2 && echo SEEN >&2\nrm -f " + kept + "\nexec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "look.sh"), []byte(look), 0o755); err != nil {
		t.Fatal(err)
	}
	r := conform(t, dir, Options{Isolation: sandbox.Namespace, Patience: 20 * time.Second, settle: time.Second})
	if !r.Passed || r.Walls != string(sandbox.Namespace) {
		t.Errorf("behind %q: %v\n%+v", r.Walls, notPassed(r), r.Checks)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a file of the caller: %v", err)
	}
	for _, c := range r.Checks {
		if strings.Contains(c.Evidence, "SEEN") || strings.Contains(c.Evidence, "of the caller") {
			t.Errorf("%s: %s", c.ID, c.Evidence)
		}
	}
}
