package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

const capability = "a-capability-token-that-nobody-guesses"

// abilities is a component of commands, and one of PHP.
const abilities = `
-- tools/deed-abilities.json --
{
  "schema": "deed/abilities/v1",
  "abilities": [
    {"name": "demo/count", "command": ["sh", "count.sh"],
     "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}},
    {"name": "demo/guarded", "command": ["sh", "-c", "echo \"$CAP_TOKEN\" >&2; printf '{\"token\":\"%s\"}' \"$CAP_TOKEN\""], "token_sha256": "DIGEST"},
    {"name": "demo/told", "command": ["sh", "-c", "printf '{\"stage\":\"%s\",\"who\":%s,\"stack\":\"%s\"}' \"$STAGE\" \"$DEED_PRINCIPAL\" \"$(cat /runtime/note)\""]},
    {"name": "demo/fails", "command": ["sh", "-c", "echo broken >&2; exit 7"]},
    {"name": "demo/waits", "command": ["sleep", "600"]},
    {"name": "demo/dials", "command": ["bash", "-c", "if exec 3<>/dev/tcp/127.0.0.1/$PORT; then echo true; else echo false; fi"]}
  ]
}
-- tools/count.sh --
n=$(wc -c); printf '{"bytes": %d}' "$n"
-- posts/deed-abilities.json --
{"schema": "deed/abilities/v1", "abilities": [{"name": "demo/posts", "php": "posts.php"}]}
-- posts/posts.php --
<?php
return function ( $input ) { return array( 'version' => get_bloginfo( 'version' ), 'stage' => getenv( 'STAGE' ), 'asked' => $input ); };
-- posts/posts-loader.php --
<?php
/* Plugin Name: Posts */
-- broken/broken.php --
<?php
this is not PHP
-- stack/note --
of the stack`

func abilityTree(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256([]byte(capability))
	return componenttest.Tree(t, strings.Replace(abilities, "DIGEST", hex.EncodeToString(sum[:]), 1))
}

// abilityRequest asks for an ability of the component of commands, with changes.
func abilityRequest(src, name string, changes map[string]any) map[string]any {
	r := map[string]any{
		"schema": codebox.SchemaAbilityRunRequest, "ability": name,
		"component_contracts": []any{map[string]any{"slug": "tools", "path": src + "/tools"}},
	}
	maps.Copy(r, changes)
	return r
}

// abilityCommand prepares the command with a request on its standard input.
func (s *site) abilityCommand(env []string, request any) *exec.Cmd {
	s.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.command(env, "ability-run", "--input-file=-", "--json")
	c.Stdin = bytes.NewReader(text)
	return c
}

// ability runs a request and returns its result, which is checked against its schema.
func (s *site) ability(env []string, request any) (codebox.AbilityRunResult, int) {
	s.t.Helper()
	c := s.abilityCommand(env, request)
	out, _ := c.Output() // the exit code says it
	return s.abilityResult(out), c.ProcessState.ExitCode()
}

func (s *site) abilityResult(out []byte) codebox.AbilityRunResult {
	s.t.Helper()
	res, err := schema.Decode[codebox.AbilityRunResult](codebox.SchemaAbilityRunResult, out)
	if err != nil {
		s.t.Fatalf("the answer is no result: %v\n%s", err, out)
	}
	if bytes.Contains(out, []byte(capability)) {
		s.t.Errorf("the token is in the answer:\n%s", out)
	}
	return res
}

func TestAbilityRun(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s, src := newSite(t, nil), abilityTree(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	object := map[string]any{"type": "object", "properties": map[string]any{"bytes": map[string]any{"type": "string"}}}
	token := []string{"CAP_TOKEN=" + capability}
	for name, c := range map[string]struct {
		ability string
		changes map[string]any
		env     []string
		result  string // what the ability gave
		kind    string // of the failure
		says    string // in its message or diagnostics
		exit    int
	}{
		"a command":             {ability: "demo/count", changes: map[string]any{"input": map[string]any{"text": "abc"}}, result: `{"bytes":14}`},
		"what it is told":       {ability: "demo/told", changes: map[string]any{"runtime_env": map[string]any{"STAGE": "test"}, "principal": map[string]any{"agent_id": 7}, "runtime_stack_mounts": []any{map[string]any{"source": src + "/stack", "target": "/runtime"}}}, result: `{"stage":"test","who":{"agent_id":7},"stack":"of the stack"}`},
		"the right token":       {ability: "demo/guarded", changes: map[string]any{"capability_token_env": "CAP_TOKEN"}, env: token, result: `{"token":"[REDACTED:CAP_TOKEN]"}`},
		"another token":         {ability: "demo/guarded", changes: map[string]any{"capability_token_env": "CAP_TOKEN"}, env: []string{"CAP_TOKEN=another-token-of-good-length"}, kind: "unauthorized", says: "is not the one", exit: ExitNotDone},
		"no token":              {ability: "demo/guarded", env: token, kind: "unauthorized", says: "capability_token_env", exit: ExitNotDone},
		"a token not set":       {ability: "demo/guarded", changes: map[string]any{"capability_token_env": "CAP_TOKEN"}, kind: "invalid_request", says: "\n$.capability_token_env: the variable CAP_TOKEN is not set where deed runs (set it", exit: ExitUsage},
		"a short token":         {ability: "demo/guarded", changes: map[string]any{"capability_token_env": "CAP_TOKEN"}, env: []string{"CAP_TOKEN=x"}, kind: "invalid_request", says: "\n$.capability_token_env: the value of CAP_TOKEN is too short", exit: ExitUsage},
		"a failure":             {ability: "demo/fails", kind: "ability_failed", says: "exit code 7: broken", exit: ExitNotDone},
		"another shape":         {ability: "demo/count", changes: map[string]any{"input": map[string]any{"text": "abc"}, "expected_result_schema": object}, result: `{"bytes":14}`, kind: "result_schema_failed", says: "bytes", exit: ExitNotDone},
		"too long":              {ability: "demo/waits", changes: map[string]any{"task_timeout_seconds": 1}, kind: "timeout", says: "\nrun the ability: the run took longer than task_timeout_seconds: 1 (raise it", exit: ExitNotDone},
		"the network":           {ability: "demo/dials", changes: map[string]any{"runtime_env": map[string]any{"PORT": port}}, result: `false`},
		"a wrong input":         {ability: "demo/count", changes: map[string]any{"input": map[string]any{"texts": 1}}, kind: "invalid_request", says: "$.input", exit: ExitUsage},
		"no such ability":       {ability: "demo/nothing", kind: "ability_not_found", says: "demo/count", exit: ExitUsage},
		"no such component":     {ability: "demo/count", changes: map[string]any{"component_contracts": []any{map[string]any{"slug": "x", "path": "/nowhere"}}}, kind: "invalid_request", says: "$.component_contracts[0].path", exit: ExitUsage},
		"no WordPress":          {ability: "demo/count", changes: map[string]any{"wp": "6.5"}, kind: "invalid_request", says: "$.wp", exit: ExitUsage},
		"a value for a name":    {ability: "demo/count", changes: map[string]any{"capability_token_env": capability}, kind: "invalid_request", says: "$.capability_token_env", exit: ExitUsage},
		"an unknown member":     {ability: "demo/count", changes: map[string]any{"code": "x"}, kind: "invalid_request", says: "$.code", exit: ExitUsage},
		"a member like another": {ability: "demo/count", changes: map[string]any{"expected_schema": object}, kind: "invalid_request", says: "expected_result_schema", exit: ExitUsage},
		"artifacts in a file":   {ability: "demo/count", changes: map[string]any{"artifacts_path": src + "/stack/note"}, kind: "invalid_request", says: "$.artifacts_path", exit: ExitUsage},
		"artifacts in a source": {ability: "demo/count", changes: map[string]any{"artifacts_path": src + "/tools/out"}, kind: "invalid_request", says: "lie in each other", exit: ExitUsage},
		"artifacts in the home": {ability: "demo/count", changes: map[string]any{"artifacts_path": s.home + "/out"}, kind: "invalid_request", says: "lie in each other", exit: ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			res, exit := s.ability(c.env, abilityRequest(src, c.ability, c.changes))
			if exit != c.exit || res.FailureType != c.kind || res.Success != (c.kind == "") {
				t.Errorf("exit %d, %q; want %d, %q: %+v", exit, res.FailureType, c.exit, c.kind, res.Error)
			}
			var got bytes.Buffer
			if len(res.Result) > 0 {
				if err := json.Compact(&got, res.Result); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != c.result {
				t.Errorf("result %s, want %s", &got, c.result)
			}
			if res.Success {
				return
			}
			said := res.Error.Message
			for _, d := range res.Diagnostics {
				said += "\n" + d.Message
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
		})
	}
	s.tidy()
}

// Without --json a person sees what the ability gave, up to a bound.
func TestAbilityRunShowsItsResult(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s, src := newSite(t, nil), abilityTree(t)
	for size, want := range map[int]string{3: `{"stage":"xxx",`, 5000: "…\n"} {
		text, err := json.Marshal(abilityRequest(src, "demo/told", map[string]any{
			"runtime_env": map[string]any{"STAGE": strings.Repeat("x", size)}, "principal": map[string]any{"agent_id": 7},
			"runtime_stack_mounts": []any{map[string]any{"source": src + "/stack", "target": "/runtime"}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		c := s.command(nil, "ability-run", "--input-file=-")
		c.Stdin = bytes.NewReader(text)
		out, err := c.Output()
		if err != nil || !strings.HasPrefix(string(out), "completed: demo/told\nresult     {\"stage\":\"xxx") || !strings.Contains(string(out), want) || len(out) > 2100 {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestAbilityRunLeavesEvidence(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s, src := newSite(t, nil), abilityTree(t)
	for name, code := range map[string]int{"demo/guarded": 0, "demo/fails": ExitNotDone} {
		to := filepath.Join(s.dir, "out", filepath.Base(name))
		res, exit := s.ability([]string{"CAP_TOKEN=" + capability}, abilityRequest(src, name, map[string]any{
			"capability_token_env": "CAP_TOKEN", "artifacts_path": to, "sandbox_session_id": "job-1",
		}))
		if exit != code || res.Artifacts != to || res.Artifact == nil || !res.Artifact.Verification.Valid || res.Artifact.Verification.Signature != "valid" {
			t.Fatalf("%s: exit %d: %+v", name, exit, res)
		}
		bundletest.Check(t, to)
		s.ok("artifacts", "verify", to)
		for _, ref := range res.EvidenceRefs {
			if _, err := os.Stat(filepath.Join(to, ref.Path)); err != nil {
				t.Error(err)
			}
		}
		err := filepath.WalkDir(filepath.Dir(to), func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if bytes.Contains(data, []byte(capability)) || bytes.Contains(data, []byte(src)) {
				t.Errorf("%s holds the token, or names a place of the machine", p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var record evidence.RunRegistryEntry
		if err := json.Unmarshal([]byte(s.ok("runs", "show", res.RunID, "--json")), &record); err != nil {
			t.Fatal(err)
		}
		if want := map[int]string{0: "succeeded", ExitNotDone: "failed"}[code]; string(record.Status) != want {
			t.Errorf("%s: the record says %q, want %q", name, record.Status, want)
		}
		if refs := record.ArtifactRefs; len(refs) != 1 || refs[0].Directory != to || refs[0].ID != res.Artifact.Artifact.ID {
			t.Errorf("%s: the record refers to %+v", name, refs)
		}
	}
	s.tidy()
}

func TestAbilityRunInterrupted(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s, src := newSite(t, nil), abilityTree(t)
	c := s.abilityCommand(nil, abilityRequest(src, "demo/waits", map[string]any{"runtime_env": map[string]any{"MARK": s.mark}}))
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.until("the ability runs", func() bool {
		pids, err := proc.FindByEnv("MARK", s.mark)
		return err == nil && len(pids) > 0
	})
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code says it
	res := s.abilityResult(out.Bytes())
	if code := c.ProcessState.ExitCode(); code != ExitInterrupted || res.FailureType != "cancelled" {
		t.Errorf("exit %d, %+v", code, res)
	}
	s.noProcess()
	s.tidy()
}

// A run that was killed leaves nothing once the home is swept.
func TestAbilityRunKilled(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s, src := newSite(t, nil), abilityTree(t)
	to := filepath.Join(s.dir, "out", "bundle")
	c := s.abilityCommand(nil, abilityRequest(src, "demo/waits", map[string]any{"runtime_env": map[string]any{"MARK": s.mark}, "artifacts_path": to}))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.until("the ability runs", func() bool {
		pids, err := proc.FindByEnv("MARK", s.mark)
		return err == nil && len(pids) > 0
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	s.noProcess()
	s.ok("cleanup")
	s.tidy()
	left, err := os.ReadDir(filepath.Dir(to))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the run's record there is %v, %v", left, err)
	}
	var record struct{ Status string }
	s.readJSON(filepath.Join(filepath.Dir(to), left[0].Name()), &record)
	if record.Status != "failed" {
		t.Errorf("the record says %q", record.Status)
	}
}

// Whatever is wrong with the input, there is a document.
func TestAbilityRunUnreadable(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for name, text := range map[string]string{"nothing": "", "no JSON": "{", "a list": "[]", "another schema": `{"schema":"x","ability":"a"}`} {
		c := s.command(nil, "generic-ability-runtime-run", "--input-file=-", "--json")
		c.Stdin = strings.NewReader(text)
		out, _ := c.Output() // the exit code says it
		if res := s.abilityResult(out); c.ProcessState.ExitCode() != ExitUsage || res.FailureType != codebox.FailureInvalidRequest {
			t.Errorf("%s: exit %d, %+v", name, c.ProcessState.ExitCode(), res)
		}
	}
	if o := s.deed(nil, "ability-run", "--input-file=/nowhere", "--json"); o.code != ExitUsage {
		t.Errorf("exit %d", o.code)
	} else {
		s.abilityResult([]byte(o.stdout))
	}
}

func TestAbilityRunInWordPress(t *testing.T) {
	t.Parallel()
	w := newWPSite(t, nil)
	src := abilityTree(t)
	posts := map[string]any{"slug": "posts", "path": src + "/posts"}
	res, exit := w.ability(nil, map[string]any{
		"schema": codebox.SchemaAbilityRunRequest, "ability": "demo/posts", "input": map[string]any{"n": 1}, "wp": "6.5",
		"component_contracts": []any{posts}, "runtime_env": map[string]any{"STAGE": "test"},
		"expected_result_schema": map[string]any{"type": "object", "required": []string{"version"}},
	})
	if exit != 0 || !strings.Contains(string(res.Result), `"version": "6.5.5"`) || !strings.Contains(string(res.Result), `"stage": "test"`) {
		t.Errorf("exit %d: %s %+v", exit, res.Result, res.Error)
	}
	if len(res.ComponentContracts) != 1 || res.ComponentContracts[0].Status != codebox.ComponentMounted {
		t.Errorf("records: %+v", res.ComponentContracts)
	}
	res, exit = w.ability(nil, map[string]any{
		"schema": codebox.SchemaAbilityRunRequest, "ability": "demo/posts", "component_contracts": []any{posts, map[string]any{"slug": "broken", "path": src + "/broken"}},
	})
	if exit != ExitUsage || res.Error == nil || !strings.Contains(res.Error.Message, "component broken") || res.ComponentContracts[1].Status != codebox.ComponentFailed {
		t.Errorf("exit %d: %+v %+v", exit, res.Error, res.ComponentContracts)
	}
	w.tidy()
}
