package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
)

// labScript is a provider that does what its instructions say.
const labScript = `
request=$(cat)
id=$(printf '%s' "$request" | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
say() { printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"%s","status":"%s","summary":"%s"%s}\n' "$id" "$1" "$2" "$3"; }
case "$request" in
*'"instructions":"change'*) echo new > greeting.txt; say succeeded "it is done" ;;
*'"instructions":"nothing'*) say no_op "nothing to do" ;;
*'"instructions":"give up'*) say unable_to_remediate "cannot" ;;
*'"instructions":"refuse'*) say failed "wrong question" ',"failure_classification":"invalid_input"' ;;
*'"instructions":"crash'*) echo "it broke" >&2; exit 3 ;;
*'"instructions":"chatter'*) echo hello ;;
*'"instructions":"leak'*) echo "$LAB_TOKEN" >&2; say succeeded "token $LAB_TOKEN" ',"metadata":{"x":"'"$LAB_TOKEN"'"}'; printf '%s' "$LAB_TOKEN" | wc -c > length.txt ;;
*'"instructions":"litter'*) i=0; while [ $i -lt 1100 ]; do : > "$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/$i"; i=$((i+1)); done; say succeeded "it is done" ;;
*'"instructions":"hang'*) touch "$HOMEBOY_AGENT_TASK_ARTIFACTS_DIR/hangs"; echo '{"progress":"hanging"}' >&2; exec sleep 300 ;;
*) say succeeded "$request" ;;
esac
`

// put writes a file and the directories above it.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, text)
}

// lab makes a site with the packages lab (sh), picky and twin, and a repository to work on.
func lab(t *testing.T, config string) *site {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	s := newSite(t, nil)
	writeFile(t, filepath.Join(s.dir, "deed.yaml"), "defaults: {lease_seconds: 30}\n"+config)
	s.pack("lab", labScript, map[string]any{"id": "lab.run", "backend": "lab", "capabilities": []string{"structured_outcome"}})
	s.pack("picky", labScript,
		map[string]any{"id": "picky.fields", "backend": "fields", "request_required_fields": []string{"task_id", "inputs.target"}},
		map[string]any{"id": "picky.secret", "backend": "secret", "secret_requirements": []any{map[string]any{"name": "LAB_TOKEN"}}},
		map[string]any{"id": "picky.program", "backend": "program", "runner_readiness": []any{map[string]any{"id": "p", "executable": map[string]any{"candidates": []string{"no-such-program"}}}}},
		map[string]any{"id": "picky.flow", "backend": "flow", "capabilities": []string{"workflow_execution"}, "runtime_execution_contracts": map[string]any{
			"workflow": map[string]any{"ability_field": "runtime_workflow_ability", "required_capabilities": []string{"workflow_execution"}},
			"bundle":   map[string]any{"ability_field": "runtime_bundle_ability", "required_capabilities": []string{"agent_bundle_execution"}},
		}})
	s.pack("twin", labScript, map[string]any{"id": "twin.a", "backend": "twin", "default_backend": true}, map[string]any{"id": "twin.b", "backend": "twin"})
	s.repository("src")
	return s
}

func (s *site) pack(id, script string, providers ...map[string]any) {
	s.t.Helper()
	for _, p := range providers {
		if p["command"] == nil {
			p["command"] = "sh {{runtime_path}}/run.sh"
		}
	}
	text, err := json.Marshal(map[string]any{"schema": homeboy.SchemaManifest, "id": id, "version": "1.2.3", "agent_task_executors": providers})
	if err != nil {
		s.t.Fatal(err)
	}
	put(s.t, filepath.Join(s.dir, "packages", id, id+".json"), string(text))
	put(s.t, filepath.Join(s.dir, "packages", id, "run.sh"), script)
}

func (s *site) repository(name string) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	put(s.t, filepath.Join(dir, "greeting.txt"), "old\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	return dir
}

// taskRequest writes a request with some members in the place of the usual ones.
func (s *site) taskRequest(instructions string, members map[string]any) string {
	s.t.Helper()
	q := map[string]any{
		"schema": homeboy.SchemaRequest, "task_id": "t-1", "instructions": instructions, "executor": map[string]any{"backend": "lab", "config": map[string]any{}},
		"workspace": map[string]any{"mode": "existing", "root": filepath.Join(s.dir, "src")}, "limits": map[string]any{"timeout_ms": 60000},
	}
	maps.Copy(q, members)
	text, err := json.Marshal(q)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "request.json")
	writeFile(s.t, file, string(text))
	return file
}

// provided runs deed and reads the one outcome that is on standard output, whatever happened.
func (s *site) provided(env []string, code int, args ...string) homeboy.Outcome {
	s.t.Helper()
	o := s.deed(env, append(args, "--json", "--runtime-dir", filepath.Join(s.dir, "packages"))...)
	return s.parsed(o, code)
}

func (s *site) parsed(o outcome, code int) homeboy.Outcome {
	s.t.Helper()
	var out homeboy.Outcome
	d := json.NewDecoder(strings.NewReader(o.stdout))
	if err := d.Decode(&out); err != nil || d.More() {
		s.t.Fatalf("standard output is not one outcome: %v\n%s\n%s", err, o.stdout, o.stderr)
	}
	if err := out.Validate(); err != nil {
		s.t.Errorf("the outcome breaks the contract: %v\n%s", err, o.stdout)
	}
	if o.code != code {
		s.t.Errorf("exit %d, want %d\n%s\n%s", o.code, code, o.stdout, o.stderr)
	}
	return out
}

// deedSays is metadata.deed of an outcome.
func deedSays(t *testing.T, o homeboy.Outcome) (d struct {
	TaskID    string `json:"task_id"`
	AttemptID string `json:"attempt_id"`
	Bundle    string `json:"bundle"`
	Verdict   string `json:"verdict"`
	Said      string `json:"provider_status"`
	Isolation string `json:"isolation"`
},
) {
	t.Helper()
	var md struct {
		Deed json.RawMessage `json:"deed"`
	}
	if err := json.Unmarshal(o.Metadata, &md); err != nil {
		t.Fatalf("metadata %s: %v", o.Metadata, err)
	}
	if err := json.Unmarshal(md.Deed, &d); err != nil {
		t.Fatalf("metadata.deed %s: %v", md.Deed, err)
	}
	return d
}

// patchOf is the one patch of an outcome, and what it holds.
func patchOf(t *testing.T, o homeboy.Outcome) (a homeboy.Artifact, data []byte) {
	t.Helper()
	found := 0
	for _, x := range o.Artifacts {
		if x.Kind == homeboy.KindPatch {
			a = x
			found++
		}
	}
	if found != 1 {
		t.Fatalf("%d patches in %+v", found, o.Artifacts)
	}
	data, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	return a, data
}

func classes(o homeboy.Outcome) (list []string) {
	for _, d := range o.Diagnostics {
		list = append(list, d.Class)
	}
	return list
}

// A success comes with deed's own patch, the caller's directory stays unchanged, and a later request gets the same
// answer.
func TestRuntimeRunSucceeds(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	result := filepath.Join(s.dir, "out", "outcome.json")
	o := s.provided(nil, 0, "runtime", "run", s.taskRequest("change it", nil), "--check", "grep -q new greeting.txt", "--result-file", result)
	if o.Status != homeboy.Succeeded || o.TaskID != "t-1" {
		t.Fatalf("%+v", o)
	}
	d := deedSays(t, o)
	if d.Verdict != "accepted" || d.Said != "succeeded" {
		t.Errorf("%+v", d)
	}
	patch, data := patchOf(t, o)
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != patch.SHA256 || patch.SizeBytes == nil || *patch.SizeBytes != int64(len(data)) || !bytes.Contains(data, []byte("+new")) {
		t.Errorf("%+v\n%s", patch, data)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "src", "greeting.txt")); err != nil || string(text) != "old\n" {
		t.Errorf("the caller's file is %q, %v", text, err)
	}
	kept, err := os.ReadFile(result)
	fi, ferr := os.Stat(result)
	if err != nil || ferr != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v %v", err, ferr, fi)
	}
	var again homeboy.Outcome
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, again); diff != "" {
		t.Error(diff)
	}
	rebuilt, err := providertask.OutcomeOf(t.Context(), s.open(), home.At(s.home), d.AttemptID)
	if err != nil {
		t.Fatal(err)
	}
	want, werr := canonjson.Hash(o)
	if got, err := canonjson.Hash(rebuilt); err != nil || werr != nil || got != want {
		t.Errorf("rebuilt: %v %v\n%s", err, werr, cmp.Diff(o, rebuilt))
	}
	for _, kind := range []string{"deed-bundle", "deed-journal", "agent-task-request"} {
		if !slices.ContainsFunc(o.EvidenceRefs, func(e homeboy.EvidenceRef) bool { return e.Kind == kind }) {
			t.Errorf("no %s among %+v", kind, o.EvidenceRefs)
		}
	}
	s.tidy()
}

// How each end of a provider is reported.
func TestRuntimeRunEnds(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	for name, c := range map[string]struct {
		instructions string
		args         []string
		want         homeboy.OutcomeStatus
		code         int
		said         string
		diagnostic   string
	}{
		"no_op":                       {"nothing to do", nil, homeboy.NoOp, 0, "no_op", ""},
		"it lies":                     {"change it", []string{"--check", "false"}, homeboy.Failed, 1, "succeeded", ""},
		"it leaves its scope":         {"change it", []string{"--protect", "greeting.txt"}, homeboy.Failed, 1, "succeeded", ""},
		"it gives up":                 {"give up", nil, homeboy.UnableToRemediate, 1, "unable_to_remediate", ""},
		"it fails for the request":    {"refuse", nil, homeboy.Failed, 1, "failed", ""},
		"it crashes":                  {"crash", nil, homeboy.ProviderError, 1, "provider_error", "agent_task.provider_empty_stdout"},
		"it answers with chatter":     {"chatter", nil, homeboy.ProviderError, 1, "provider_error", "agent_task.provider_malformed_json"},
		"as deed's user, and it says": {"nothing to do", []string{"--isolation", "process"}, homeboy.NoOp, 0, "no_op", providertask.NotContained},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := *s
			s.t = t
			o := s.provided(nil, c.code, append([]string{"runtime", "run", s.taskRequest(c.instructions, nil)}, c.args...)...)
			if o.Status != c.want || deedSays(t, o).Said != c.said {
				t.Errorf("%s %s: %s", o.Status, o.Summary, o.Metadata)
			}
			if c.diagnostic != "" && !slices.Contains(classes(o), c.diagnostic) {
				t.Errorf("%v lacks %s", classes(o), c.diagnostic)
			}
			if !homeboy.IsSuccess(o.Status) && o.FailureClassification == "" {
				t.Errorf("a failure without a class: %+v", o)
			}
		})
	}
}

// A provider can leave too much to be judged at all, and the outcome says so.
func TestRuntimeRunTellsWhyNobodyJudged(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	o := s.provided(nil, 1, "runtime", "run", s.taskRequest("litter", nil))
	i := slices.IndexFunc(o.Diagnostics, func(d homeboy.Diagnostic) bool { return d.Class == "deed.gate_missing" })
	if o.Status != homeboy.Failed || i < 0 || !strings.Contains(o.Diagnostics[i].Message, "1100 artifacts") {
		t.Errorf("%s: %+v", o.Status, o.Diagnostics)
	}
}

// What cannot be run is refused with its code before anything is queued. Cases 24, 25, 38, 53, 92, 119.
func TestRuntimeRunRefuses(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	dirty := s.repository("dirty")
	writeFile(t, filepath.Join(dirty, "greeting.txt"), "half done\n")
	writeFile(t, filepath.Join(dirty, "new file.txt"), "new\n")
	before := treeOf(t, dirty)
	executor := func(backend string, more map[string]any) map[string]any {
		e := map[string]any{"backend": backend, "config": map[string]any{}}
		maps.Copy(e, more)
		return map[string]any{"executor": e}
	}
	work := func(members map[string]any) map[string]any { return map[string]any{"workspace": members} }
	for name, c := range map[string]struct {
		members map[string]any
		args    []string
		code    string
		class   homeboy.FailureClass
		says    string
	}{
		"no backend (case 25)":      {executor("", nil), nil, "agent_task.backend_selection_required", "invalid_input", "there is no default"},
		"an unknown backend":        {executor("nobody", nil), nil, "agent_task.provider_missing", "invalid_input", "nobody"},
		"two providers":             {executor("twin", nil), nil, "agent_task.provider_ambiguous", "invalid_input", "twin.a, twin.b"},
		"a wrong selector":          {executor("twin", map[string]any{"selector": "twin.c"}), nil, "agent_task.provider_selector_mismatch", "invalid_input", "twin.c"},
		"a capability":              {executor("lab", map[string]any{"required_capabilities": []string{"browser_runtime"}}), nil, "agent_task.provider_capability_unavailable", "capability_missing", "browser_runtime"},
		"a capability of deed's":    {map[string]any{"metadata": map[string]any{"capability_requirements": map[string]any{"runner": []string{"gpu"}}}}, nil, providertask.RunnerCapability, "capability_missing", "gpu"},
		"a tool's capability":       {map[string]any{"metadata": map[string]any{"capability_requirements": map[string]any{"attached_tools": []any{map[string]any{"id": "x", "contributes": []string{"y"}}}}}}, nil, providertask.ToolCapability, "capability_missing", "y"},
		"malformed requirements":    {map[string]any{"metadata": map[string]any{"capability_requirements": "all"}}, nil, providertask.RequirementsInvalid, "invalid_input", "capability_requirements"},
		"a field of the provider":   {executor("fields", nil), nil, "agent_task.request_invalid", "invalid_input", "$.inputs.target"},
		"a secret (case 38)":        {executor("secret", nil), nil, "agent_task.secret_env_missing", "invalid_input", "LAB_TOKEN"},
		"a program":                 {executor("program", nil), nil, "agent_task.provider_executable_missing", "provider", "no-such-program"},
		"a tool":                    {map[string]any{"runtime_tools": []any{map[string]any{"id": "x", "command": []string{"x"}}}}, nil, "agent_task.runtime_tool_unavailable", "capability_missing", "attaches no tools"},
		"no instructions":           {map[string]any{"instructions": " "}, nil, "agent_task.request_invalid", "invalid_input", "$.instructions"},
		"a negative limit":          {map[string]any{"limits": map[string]any{"timeout_ms": -1}}, nil, "agent_task.request_invalid", "invalid_input", "timeout_ms"},
		"too late (case 53)":        {map[string]any{"limits": map[string]any{"execution_deadline_unix_ms": 1000}}, nil, "agent_task.execution_deadline_exceeded", "timeout", "past"},
		"no such directory":         {work(map[string]any{"mode": "existing", "root": filepath.Join(s.dir, "none")}), nil, providertask.WorkspaceUnavailable, "invalid_input", "none"},
		"a file":                    {work(map[string]any{"root": filepath.Join(s.dir, "src", "greeting.txt")}), nil, providertask.WorkspaceUnavailable, "invalid_input", "not a directory"},
		"part of a repository":      {work(map[string]any{"root": filepath.Join(s.dir, "src", ".git")}), nil, providertask.WorkspaceUnavailable, "invalid_input", "a whole one"},
		"a component without place": {work(map[string]any{"kind": "component-worktree", "component_id": "c", "branch": "b"}), nil, providertask.WorkspaceUnavailable, "invalid_input", "workspace.root"},
		"a ref that is not there":   {work(map[string]any{"root": filepath.Join(s.dir, "src"), "base_ref": "nowhere"}), nil, providertask.WorkspaceUnavailable, "invalid_input", "nowhere"},
		"dirty (case 92)":           {work(map[string]any{"root": dirty}), nil, providertask.WorkspaceDirty, "invalid_input", "greeting.txt, new file.txt"},
		"an unknown execution":      {with(executor("flow", nil), "runtime_execution", map[string]any{"kind": "dance"}), nil, providertask.ExecutionUnavailable, "capability_missing", "dance"},
		"an execution without it":   {with(executor("flow", nil), "runtime_execution", map[string]any{"kind": "bundle"}), nil, providertask.ExecutionUnavailable, "capability_missing", "agent_bundle_execution"},
		"an unknown isolation":      {nil, []string{"--isolation", "strong"}, "agent_task.request_invalid", "invalid_input", "strong"},
		"a host that is none":       {nil, []string{"--allow-host", "http://x/"}, "agent_task.request_invalid", "invalid_input", "--allow-host"},
		"a result that cannot be":   {nil, []string{"--result-file", s.dir}, "agent_task.request_invalid", "invalid_input", "--result-file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := *s
			s.t = t
			o := s.provided(nil, 2, append([]string{"runtime", "run", s.taskRequest("change it", c.members)}, c.args...)...)
			if homeboy.IsSuccess(o.Status) || c.code != "" && (!slices.Contains(classes(o), c.code) || o.FailureClassification != c.class) {
				t.Errorf("%s %s %v, want %s %s", o.Status, o.FailureClassification, classes(o), c.code, c.class)
			}
			if text := fmt.Sprint(o.Summary, o.Diagnostics); !strings.Contains(text, c.says) {
				t.Errorf("%q is not said: %s", c.says, text)
			}
			want := homeboy.ProviderError
			switch c.class { // case 24: what a provider cannot do is failed
			case homeboy.ClassCapabilityMissing:
				want = homeboy.Failed
			case homeboy.ClassTimeout:
				want = homeboy.Timeout
			}
			if o.Status != want {
				t.Errorf("status %s, want %s", o.Status, want)
			}
		})
	}
	t.Cleanup(func() {
		if diff := cmp.Diff(before, treeOf(t, dirty)); diff != "" {
			t.Errorf("the dirty checkout was changed:\n%s", diff)
		}
		if dirs, err := filepath.Glob(filepath.Join(s.home, "attempts", "*")); err != nil || len(dirs) > 0 {
			t.Errorf("something was materialised: %v, %v", dirs, err)
		}
	})
}

func with(m map[string]any, name string, v any) map[string]any {
	m[name] = v
	return m
}

// treeOf is every file below a directory and what it holds.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is no request is reported as an outcome too.
func TestRuntimeRunReadsStrictlyOne(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	for name, text := range map[string]string{
		"nothing": "", "a list": "[]", "two": "{} {}", "cut": `{"task_id":`, "another schema": `{"schema":"x/v1","task_id":"t"}`, "text": "hello",
	} {
		c := s.command(nil, "runtime", "run", "-", "--json")
		c.Stdin = strings.NewReader(text)
		var out bytes.Buffer
		c.Stdout = &out
		err := c.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if o := s.parsed(outcome{stdout: out.String(), code: exit.ExitCode()}, 2); o.TaskID != "unknown-task" && o.TaskID != "t" || o.Status == homeboy.Succeeded {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// The operator's file says what the default backend is and where secrets are, and select says so (cases 25 and 26).
func TestRuntimeConfiguration(t *testing.T) {
	t.Parallel()
	s := lab(t, `
runtimes:
  default_backend: secret
  dirs: [packages]
  backends: {secret: {isolation: process}}
secrets:
  LAB_TOKEN: {command: [sh, -c, "echo sesame-$USER-opens-it"]}
`)
	req := s.taskRequest("leak it", map[string]any{"executor": map[string]any{"config": map[string]any{}}})
	o := s.parsed(s.deed(nil, "runtime", "run", req, "--json"), 0)
	text, err := json.Marshal(o)
	if err != nil || o.Status != homeboy.Succeeded || strings.Contains(string(text), "sesame-tester") {
		t.Errorf("%v %s", err, text)
	}
	if d := deedSays(t, o); d.Isolation != "process" || !slices.Contains(classes(o), providertask.BackendByDefault) {
		t.Errorf("%+v %v", d, classes(o))
	}
	if _, patch := patchOf(t, o); !strings.Contains(string(patch), fmt.Sprintf("+%d", len("sesame-tester-opens-it"))) {
		t.Errorf("the provider did not get the secret:\n%s", patch)
	}
	files := treeOf(t, s.home)
	for name, data := range files {
		if strings.Contains(data, "sesame-tester") {
			t.Errorf("%s holds the secret", name)
		}
	}
	out := s.ok("runtime", "select", "--explain")
	if !strings.Contains(out, "backend  secret (by default, from "+filepath.Join(s.dir, "deed.yaml")) {
		t.Error(out)
	}
	if out := s.ok("runtime", "check", "--backend", "secret"); !strings.Contains(out, "ok secret LAB_TOKEN: from deed.yaml") || strings.Contains(out, "sesame") {
		t.Error(out)
	}
}

// A package of a project runs no probe and gets no secret that the request does not name. A request that holds the value of a
// secret is refused, because the queue keeps its text.
func TestRuntimeRunTrustsNoProject(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	probe := filepath.Join(s.dir, "probed")
	s.pack("ours", labScript, map[string]any{
		"id": "ours.run", "backend": "ours", "secret_requirements": []any{map[string]any{"name": "LAB_TOKEN"}},
		"runner_readiness": []any{map[string]any{"id": "p", "invocation": map[string]any{"argv": []string{"touch", probe}}}},
	})
	project := s.repository("project")
	if err := os.MkdirAll(filepath.Join(project, "agent-runtimes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(s.dir, "packages", "ours"), filepath.Join(project, "agent-runtimes", "ours")); err != nil {
		t.Fatal(err)
	}
	run := func(code int, instructions string, executor map[string]any) homeboy.Outcome {
		return s.parsed(s.deed([]string{"LAB_TOKEN=open-sesame-now"}, "runtime", "run", s.taskRequest(instructions, map[string]any{"executor": executor}), "--json", "--path", project), code)
	}
	if o := run(2, "nothing", map[string]any{"backend": "ours"}); !slices.Contains(classes(o), "agent_task.secret_env_missing") {
		t.Errorf("%+v", o)
	}
	if o := run(0, "nothing", map[string]any{"backend": "ours", "secret_env": []string{"LAB_TOKEN"}}); o.Status != homeboy.NoOp {
		t.Errorf("%+v", o)
	}
	if o := run(2, "nothing but open-sesame-now", map[string]any{"backend": "ours", "secret_env": []string{"LAB_TOKEN"}}); !strings.Contains(o.Summary, "LAB_TOKEN") || strings.Contains(o.Summary, "sesame") {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(probe); err == nil {
		t.Error("a probe of the project's package ran")
	}
}

// A package of a project that is called like another is not taken for it: it gets neither what is configured for the backend
// nor the secrets that a request names for the package that deed ships.
func TestRuntimeRunTakesNoProjectForAnother(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	secrets := filepath.Join(s.dir, "shell.env")
	writeFile(t, secrets, "SHELL_SETTING=open-sesame-now\n")
	writeFile(t, filepath.Join(s.dir, "deed.yaml"), "defaults: {lease_seconds: 30}\nruntimes: {backends: {local-shell: {env_file: "+secrets+", isolation: process}}}\n")
	s.pack("local-shell", `
id=$(sed 's/.*"task_id":"\([^"]*\)".*/\1/')
printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"%s","status":"no_op","summary":"%s has %s"}\n' "$id" "$HOMEBOY_AGENT_TASK_PROVIDER_ID" "${SHELL_SETTING:-nothing}"
`, map[string]any{"id": "local-shell.ours", "backend": "local-shell"})
	ours, project := filepath.Join(s.dir, "packages", "local-shell"), s.repository("project")
	theirs := filepath.Join(project, "agent-runtimes", "local-shell")
	run := func(code int, env []string, args ...string) homeboy.Outcome {
		executor := map[string]any{"backend": "local-shell"}
		if env != nil {
			executor["secret_env"] = []string{"LAB_TOKEN"}
		}
		return s.parsed(s.deed(env, append([]string{"runtime", "run", s.taskRequest("nothing", map[string]any{"executor": executor}), "--json", "--path", project}, args...)...), code)
	}
	// A variable that the request does not name reaches the provider, and no sink.
	if o := run(0, nil, "--runtime-dir", filepath.Dir(ours)); strings.Contains(o.Summary, "nothing") || strings.Contains(o.Summary, "open-sesame") || !strings.HasPrefix(o.Summary, "local-shell.ours has ") {
		t.Errorf("the operator's own package: %s", o.Summary)
	}
	if err := os.MkdirAll(filepath.Dir(theirs), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ours, theirs); err != nil {
		t.Fatal(err)
	}
	if o := run(0, nil); o.Summary != "local-shell.ours has nothing" || slices.Contains(classes(o), providertask.NotContained) {
		t.Errorf("the project's: %s %v", o.Summary, classes(o))
	}
	for name, o := range map[string]homeboy.Outcome{
		"a secret by its name": run(2, []string{"LAB_TOKEN=open-sesame-now"}), "a file of secrets": run(2, nil, "--env-file", secrets),
	} {
		if !slices.Contains(classes(o), providertask.ProjectPackage) || strings.Contains(o.Summary, "has nothing") {
			t.Errorf("%s: %s %v", name, o.Summary, classes(o))
		}
	}
}

// An inline request, and one in another language.
func TestRuntimeRunInline(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("missing tool: node: apt-get install nodejs")
	}
	s := lab(t, "")
	s.pack("js", "", map[string]any{"id": "js.run", "backend": "js", "command": "node {{runtime_path}}/run.cjs"})
	put(t, filepath.Join(s.dir, "packages", "js", "run.cjs"), `
const q = JSON.parse(require('fs').readFileSync(0, 'utf8'));
require('fs').writeFileSync('greeting.txt', q.instructions + '\n');
console.log(JSON.stringify({schema: 'homeboy/agent-task-outcome/v1', task_id: q.task_id, status: 'succeeded', summary: 'written'}));
`)
	o := s.deed(nil, "runtime", "run", "--runtime-dir", filepath.Join(s.dir, "packages"), "--backend", "js", "--instructions", "bonjour", "--workspace", filepath.Join(s.dir, "src"), "--check", "grep -qx bonjour greeting.txt")
	if o.code != 0 || !strings.Contains(o.stdout, "succeeded: written") || !strings.Contains(o.stdout, "verdict    accepted") || !strings.Contains(o.stdout, "patch ") {
		t.Errorf("exit %d\n%s\n%s", o.code, o.stdout, o.stderr)
	}
}

// Arguments of a runtime command reach the provider as they were written; only a provider that declares it gets one.
func TestRuntimeExec(t *testing.T) {
	t.Parallel()
	s := lab(t, "")
	s.pack("tool", "cp /dev/stdin request.json\n"+`printf '{"task_id":"%s","status":"succeeded"}' "$(sed 's/.*"task_id":"\([^"]*\)".*/\1/' request.json)"`,
		map[string]any{"id": "tool.agent", "backend": "tool-agent"},
		map[string]any{"id": "tool.command", "backend": "tool-command", "capabilities": []string{homeboy.CapabilityRuntimeCommand}})
	args := `{"a":"$(touch /tmp/x); $HOME","list":["*"],"n":12345678901234567890}`
	o := s.provided([]string{"TOOL_TOKEN=open-sesame-now"}, 0, "runtime", "exec", "tool", "site.export", "--args", args, "--env", "TOOL_TOKEN", "--package-version", "1.2.3")
	if o.Status != homeboy.Succeeded || !strings.HasPrefix(o.TaskID, "exec-") {
		t.Fatalf("%+v", o)
	}
	_, patch := patchOf(t, o)
	line := string(patch[bytes.Index(patch, []byte("+{"))+1:])
	line, _, _ = strings.Cut(line, "\n")
	var q homeboy.Request
	if err := json.Unmarshal([]byte(line), &q); err != nil {
		t.Fatal(err)
	}
	var in struct {
		Command struct {
			Args json.RawMessage `json:"args"`
			ID   string          `json:"command_id"`
			Env  []string        `json:"env_names"`
		} `json:"runtime_command"`
	}
	if err := json.Unmarshal(q.Inputs, &in); err != nil || string(in.Command.Args) != args || in.Command.ID != "site.export" || !slices.Equal(in.Command.Env, []string{"TOOL_TOKEN"}) {
		t.Errorf("%v %s", err, q.Inputs)
	}
	for name, c := range map[string]struct {
		args []string
		code string
	}{
		"no capability":     {[]string{"lab", "x"}, "agent_task.provider_capability_unavailable"},
		"no package":        {[]string{"nobody", "x"}, providertask.PackageUnavailable},
		"another version":   {[]string{"tool", "x", "--package-version", "9"}, providertask.PackageUnavailable},
		"another revision":  {[]string{"tool", "x", "--package-ref", "0123456"}, providertask.PackageUnavailable},
		"args that are not": {[]string{"tool", "x", "--args", `"text"`}, "agent_task.request_invalid"},
		"no such variable":  {[]string{"tool", "x", "--env", "NOT_SET"}, "agent_task.secret_env_missing"},
	} {
		if o := s.provided(nil, 2, append([]string{"runtime", "exec"}, c.args...)...); !slices.Contains(classes(o), c.code) {
			t.Errorf("%s: %v", name, classes(o))
		}
	}
}

// An interrupted run is reported as one outcome, and nothing of it is left. After a kill the next run settles what is
// left.
func TestRuntimeRunStops(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := lab(t, "")
			c := s.command(nil, "runtime", "run", s.taskRequest("hang", nil), "--json", "--progress", "jsonl", "--runtime-dir", filepath.Join(s.dir, "packages"))
			var out bytes.Buffer
			c.Stdout = &out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill() })
			s.until("the provider hangs", func() bool {
				found, err := filepath.Glob(filepath.Join(s.home, "attempts", "*", "artifacts", "hangs"))
				return err == nil && len(found) == 1
			})
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // its code is looked at below
			if sig == syscall.SIGTERM {
				o := s.parsed(outcome{stdout: out.String(), code: c.ProcessState.ExitCode()}, 130)
				if o.Status != homeboy.Cancelled {
					t.Errorf("%+v", o)
				}
			} else if out.Len() > 0 {
				t.Errorf("a killed run printed %s", out.String())
			}
			if o := s.provided(nil, 0, "runtime", "run", s.taskRequest("nothing", nil)); o.Status != homeboy.NoOp {
				t.Errorf("the next run: %+v", o)
			}
			st := s.open()
			counts, err := st.Counts(t.Context())
			if err != nil || counts["running"] != 0 || counts["queued"] != 0 {
				t.Errorf("%v %v", counts, err)
			}
			s.tidy()
		})
	}
}
