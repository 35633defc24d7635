package helper

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/helper/helpertest"
)

// helpers are the materialised files, once for all tests.
var helpers = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "helper-test-")
	if err != nil {
		return nil, err
	}
	return Materialise(dir)
})

// busyboxTools is a directory with the tools that the helpers use, in the version of small systems.
var busyboxTools = sync.OnceValues(func() (string, error) {
	made, err := helpers()
	if err != nil {
		return "", err
	}
	file, err := exec.LookPath("busybox")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(made["HOMEBOY_RUNTIME_RUNNER_STEPS"])), "tools")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range strings.Fields("awk basename cat chmod cksum dirname env find grep mktemp mv od rm sed sha1sum sha256sum sort tail tee tr xargs") {
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if made, err := helpers(); err == nil {
		for _, path := range made {
			_ = os.RemoveAll(filepath.Dir(filepath.Dir(path))) // of the tests
			break
		}
	}
	os.Exit(code)
}

// A shell is one that scripts may be run by.
type shell struct {
	name string
	args []string
}

// shells are all that are here, each as it is and with the options that careful scripts set.
func shells(t *testing.T) (list []shell) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs other shells")
	}
	for _, s := range []shell{{"dash", nil}, {"bash", nil}, {"busybox", []string{"ash"}}} {
		if _, err := exec.LookPath(s.name); err != nil {
			if s.name != "busybox" {
				t.Skipf("missing tool: %s: apt-get install %s", s.name, s.name)
			}
			continue
		}
		list = append(list, s, shell{s.name, append(append([]string{}, s.args...), "-eu")})
	}
	return list
}

func (s shell) String() string { return strings.Join(append([]string{s.name}, s.args...), " ") }

// A result is how a script ended.
type result struct {
	out, err string
	code     int
}

// run runs a script with the helpers' variables, and only these and env.
func (s shell) run(t *testing.T, script string, env ...string) result {
	t.Helper()
	made, err := helpers()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(s.name, append(append([]string{}, s.args...), "-c", script)...)
	c.Dir = t.TempDir()
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + c.Dir}
	if s.name == "busybox" {
		tools, err := busyboxTools()
		if err != nil {
			t.Fatal(err)
		}
		c.Env[0] = "PATH=" + tools + ":" + os.Getenv("PATH")
	}
	for name, path := range made {
		c.Env = append(c.Env, name+"="+path)
	}
	c.Env = append(c.Env, env...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), talk.String(), c.ProcessState.ExitCode()}
}

// each runs a test in every shell.
func each(t *testing.T, test func(t *testing.T, s shell)) {
	t.Helper()
	for _, s := range shells(t) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func TestShouldRunStep(t *testing.T) {
	t.Parallel()
	cases := []struct {
		step, skip, name string
		run              bool
	}{
		{"", "", "any", true},
		{"lint", "", "lint", true},
		{"lint", "", "test", false},
		{"", "lint", "lint", false},
		{"", "lint", "test", true},
		{"lint,test", "test", "lint", true}, // edge case 1
		{"lint,test", "test", "test", false},
		{"lint", "lint", "lint", false},
		{"a", "a", "", true}, // edge case 2
		{"a", "a", "   ", true},
		{"lint", "", "  lint  ", true},
		{" ", "", "lint", true}, // edge case 3
		{",", "", "lint", true},
		{" , ,", " ,", "lint", true},
		{"lint, test", "", "test", true}, // edge case 4
		{" lint", "", "lint", true},
		{"", "lint , test", "test", false},
		{"lint,,test", "", "test", true},
		{"nope", "", "lint", false}, // edge case 5
		{"Lint", "", "lint", false}, // edge case 6
		{"lint-js", "", "lint", false},
		{"lint", "", "lint-js", false},
		{"*", "", "lint", false},
		{"l*", "", "lint", false},
		{"", "*", "lint", true},
		{"a b", "", "a b", true},
		{"$(exit 9),`exit 9`", "", "lint", false},
		{"-n", "", "-n", true},
	}
	each(t, func(t *testing.T, s shell) {
		for _, c := range cases {
			got := s.run(t, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; if should_run_step "$NAME"; then echo run; else echo skip; fi`,
				"HOMEBOY_STEP="+c.step, "HOMEBOY_SKIP="+c.skip, "NAME="+c.name)
			if want := map[bool]string{true: "run\n", false: "skip\n"}[c.run]; got.out != want || got.err != "" || got.code != 0 {
				t.Errorf("step %q, skip %q, name %q: %+v", c.step, c.skip, c.name, got)
			}
		}
		// Unset is no filter, and set -u does not mind.
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; should_run_step x && should_run_step && echo run`); got.out != "run\n" {
			t.Errorf("unset: %+v", got)
		}
	})
}

func TestStepsAreTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		file := filepath.Join(t.TempDir(), "st eps")
		script := `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; for n in a " b " "c
d" ""; do should_run_step "$n" || :; done`
		if got := s.run(t, script, "DEED_STEPS_FILE="+file, "HOMEBOY_SKIP=b"); got.code != 0 {
			t.Fatal(got)
		}
		b, err := os.ReadFile(file)
		if want := "ran a\nskipped b\nran c d\n"; err != nil || string(b) != want {
			t.Errorf("got %q, %v", b, err)
		}
		// A file that cannot be written is no reason to fail.
		if got := s.run(t, script+"; echo on", "DEED_STEPS_FILE=/nowhere/x"); got.out != "on\n" || got.err != "" {
			t.Errorf("got %+v", got)
		}
	})
}

const banner = "\n============================================\nBUILD FAILED: a step\n============================================\n"

// Edge case 41.
func TestFailureTrap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		for _, c := range []struct {
			name, script, out string
			code              int
		}{
			{"nothing", `exit 3`, "", 3},
			{"a step", `FAILED_STEP="a step"; exit 4`, banner, 4},
			{"exit 0", `FAILED_STEP="a step"`, banner, 0},
			{"details", `FAILED_STEP="a step"; FAILURE_OUTPUT="x %s \n y"; exit 1`, banner + "\nError details:\nx %s \\n y\n", 1},
			{"none", `FAILED_STEP="a step"; FAILURE_OUTPUT=x; FAILURE_REPLAY_MODE=none; exit 1`, banner + "\nThe output is above (not replayed).\n", 1},
			{"another mode", `FAILED_STEP="a step"; FAILURE_OUTPUT=x; FAILURE_REPLAY_MODE=half; exit 1`, banner + "\nError details:\nx\n", 1},
			{"unset", `unset FAILED_STEP FAILURE_OUTPUT; exit 5`, "", 5},
			{"set -e", `set -e; FAILED_STEP="a step"; false`, banner, 1},
			{"a later trap", `FAILED_STEP="a step"; trap 'echo mine' EXIT; exit 6`, "mine\n", 6},
			{"both", `FAILED_STEP="a step"; trap 'homeboy_print_failure_summary; echo mine' EXIT; exit 0`, banner + "mine\n", 0},
		} {
			got := s.run(t, `FAILED_STEP=before; . "$HOMEBOY_RUNTIME_FAILURE_TRAP"; homeboy_init_failure_trap; `+c.script)
			if got.out != c.out || got.code != c.code || got.err != "" {
				t.Errorf("%s: got %+v", c.name, got)
			}
		}
	})
}

// Edge case 42.
func TestWriteTestResults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		for _, c := range []struct {
			args, file, said string
			code             int
		}{
			{`5 3 1 1`, "{\n  \"total\": 5,\n  \"passed\": 3,\n  \"failed\": 1,\n  \"skipped\": 1\n}\n", "[test-results] Total: 5, Passed: 3, Failed: 1, Skipped: 1\n", 0},
			{`007 '' 0 00`, "{\n  \"total\": 7,\n  \"passed\": 0,\n  \"failed\": 0,\n  \"skipped\": 0\n}\n", "[test-results] Total: 7, Passed: 0, Failed: 0, Skipped: 0\n", 0},
			{
				`2 2 0 0 'a "b" \c é'`, "{\n  \"total\": 2,\n  \"passed\": 2,\n  \"failed\": 0,\n  \"skipped\": 0,\n  \"partial\": \"a \\\"b\\\" \\\\c \\u00e9\"\n}\n",
				"[test-results] Total: 2, Passed: 2, Failed: 0, Skipped: 0 (a \"b\" \\c é)\n", 0,
			},
			{`abc 1 1 1`, "", "[test-results] total is not a whole number: \"abc\"\n", 1},
			{`1 -1 0 0`, "", "[test-results] passed is not a whole number: \"-1\"\n", 1},
			{`1 1 1.5 0`, "", "[test-results] failed is not a whole number: \"1.5\"\n", 1},
			{`1 1 0 99999999999999999999`, "", "[test-results] skipped is not a whole number: \"99999999999999999999\"\n", 1},
		} {
			file := filepath.Join(t.TempDir(), "not", "yet", "results.json")
			got := s.run(t, `. "$HOMEBOY_RUNTIME_WRITE_TEST_RESULTS"; homeboy_write_test_results `+c.args, "HOMEBOY_TEST_RESULTS_FILE="+file)
			text, err := os.ReadFile(file)
			if (err == nil) != (c.file != "") || string(text) != c.file || got.err != c.said || got.code != c.code {
				t.Errorf("%s: %q, %v, %+v", c.args, text, err, got)
			}
		}
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_WRITE_TEST_RESULTS"; homeboy_write_test_results`); got.code != 0 || got.err != "[test-results] Total: 0, Passed: 0, Failed: 0, Skipped: 0\n" {
			t.Errorf("without a file: %+v", got)
		}
		dir := t.TempDir()
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_WRITE_TEST_RESULTS"; homeboy_write_test_results 1`, "HOMEBOY_TEST_RESULTS_FILE="+dir); got.code == 0 {
			t.Errorf("into a directory: %+v", got)
		}
	})
}

func TestResolveContext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		show := `; printf '%s|' "$EXTENSION_PATH" "$COMPONENT_PATH" "$COMPONENT_ID" "$PROJECT_PATH" "$PLUGIN_PATH"; env | grep -c '^MY_[PC]=' || :`
		got := s.run(t, `. "$HOMEBOY_RUNTIME_RESOLVE_CONTEXT"; homeboy_resolve_context --project-alias MY_P --component-alias MY_C`+show,
			"HOMEBOY_EXTENSION_PATH=/e x", "HOMEBOY_COMPONENT_PATH=/c $y", "HOMEBOY_COMPONENT_ID=id")
		if want := "/e x|/c $y|id|/c $y|/c $y|2\n"; got.out != want || got.code != 0 {
			t.Errorf("got %+v", got)
		}
		ext := t.TempDir()
		if err := cmpErr(os.MkdirAll(filepath.Join(ext, "scripts", "test"), 0o755), os.WriteFile(filepath.Join(ext, "e.json"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		got = s.run(t, `. "$HOMEBOY_RUNTIME_RESOLVE_CONTEXT"; SCRIPT_DIR=`+ext+`/scripts/test; homeboy_resolve_context; echo "$EXTENSION_PATH"; [ "$COMPONENT_PATH" = "$(pwd)" ] && [ "$COMPONENT_ID" = "$(basename "$(pwd)")" ]`)
		if got.out != ext+"\n" || got.code != 0 {
			t.Errorf("got %+v", got)
		}
		// A script with a helper of its own wants PLUGIN_PATH without a call.
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_RESOLVE_CONTEXT"; echo "$PLUGIN_PATH"`, "HOMEBOY_COMPONENT_PATH=/c"); got.out != "/c\n" {
			t.Errorf("got %+v", got)
		}
		for _, bad := range []string{"--nope x", "--project-alias", "--project-alias 'a b'", "--component-alias 'x;touch y'", ""} {
			env := "HOMEBOY_EXTENSION_PATH=/e"
			if bad == "" {
				env = "A=b"
			}
			if got := s.run(t, `. "$HOMEBOY_RUNTIME_RESOLVE_CONTEXT"; homeboy_resolve_context `+bad, env); got.code != 2 || got.err == "" {
				t.Errorf("%q: %+v", bad, got)
			}
		}
	})
}

func TestCommandCapture(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		got := s.run(t, `. "$HOMEBOY_RUNTIME_COMMAND_CAPTURE"; FAILED_STEP= FAILURE_OUTPUT=
homeboy_run_step_capture OUT RC "one step" -- sh -c 'echo a b; echo c >&2; exit 42' || echo "status $?"
echo "$RC|$FAILED_STEP|$FAILURE_OUTPUT|$(cat "$OUT" | wc -l)"
homeboy_cleanup_step_capture "$OUT"; [ ! -e "$OUT" ]
FAILED_STEP=; homeboy_run_step_capture OUT RC fine -- printf '%s\n' 'x;$y' && echo "$RC|$FAILED_STEP|$(cat "$OUT")"
homeboy_cleanup_step_capture "$OUT"
HOMEBOY_FAILURE_TAIL_LINES=1; homeboy_run_step wrapped -- sh -c 'echo 1; echo 2; exit 7' || echo "$?|$FAILED_STEP|$FAILURE_OUTPUT"
HOMEBOY_COMMAND_CAPTURE_MAX_BYTES=3; homeboy_run_step_capture OUT RC x echo abcdef; cat "$OUT"; rm "$OUT"; ls -A`)
		want := "a b\nc\nstatus 42\n42|one step|a b\nc|2\nx;$y\n0||x;$y\n1\n2\n7|wrapped|2\nabcdef\nef\n"
		if diff := cmp.Diff(want, strings.ReplaceAll(got.out, "       ", "")); diff != "" || got.code != 0 {
			t.Errorf("%s %+v", diff, got)
		}
		for _, bad := range []string{`'a;b' RC x -- true`, `OUT '' x -- true`, `OUT RC x`, ``} {
			if got := s.run(t, `. "$HOMEBOY_RUNTIME_COMMAND_CAPTURE"; homeboy_run_step_capture `+bad); got.code != 2 {
				t.Errorf("%s: %+v", bad, got)
			}
		}
	})
}

func TestPreludeAndPreflight(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		env := []string{"HOMEBOY_EXTENSION_PATH=/e", "HOMEBOY_COMPONENT_PATH=/c d"}
		got := s.run(t, `. "$HOMEBOY_RUNTIME_RUNNER_PRELUDE"; homeboy_runner_init --steps --failure-trap --sidecar-writer --component-alias P
should_run_step x; type homeboy_append_lint_finding >/dev/null; echo "$P|$EXTENSION_PATH|$FAILED_STEP"; FAILED_STEP='a step'`, env...)
		if got.out != "/c d|/e|\n"+banner || got.code != 0 {
			t.Errorf("got %+v", got)
		}
		for _, bad := range []string{"--nope", "--bash", "--component-alias"} {
			if got := s.run(t, `. "$HOMEBOY_RUNTIME_RUNNER_PRELUDE"; homeboy_runner_init `+bad, env...); got.code != 2 {
				t.Errorf("%s: %+v", bad, got)
			}
		}
		if got := s.run(t, `unset HOMEBOY_RUNTIME_RUNNER_STEPS; . "$HOMEBOY_RUNTIME_RUNNER_PRELUDE"; homeboy__prelude=; homeboy_runner_init --steps`, env...); got.code != 2 {
			t.Errorf("without a helper: %+v", got)
		}
		// Beside the prelude, as when it was copied.
		if got := s.run(t, `unset HOMEBOY_RUNTIME_RUNNER_STEPS; . "$HOMEBOY_RUNTIME_RUNNER_PRELUDE"; homeboy_runner_init --steps && should_run_step x && echo on`, env...); got.out != "on\n" {
			t.Errorf("beside it: %+v", got)
		}
		old := s.run(t, `. "$HOMEBOY_RUNTIME_BASH_PREFLIGHT"; homeboy_require_bash_version 999; echo on`)
		if old.code != 2 || old.out != "" || !strings.Contains(old.err, "bash 999") {
			t.Errorf("an old bash: %+v", old)
		}
		now := s.run(t, `. "$HOMEBOY_RUNTIME_BASH_PREFLIGHT"; homeboy_require_bash_version 3; echo on`)
		if bash := s.name == "bash"; (now.out == "on\n") != bash || (now.code == 2) == bash {
			t.Errorf("bash 3: %+v", now)
		}
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_BASH_PREFLIGHT"; homeboy_require_bash_version x`); got.code != 2 {
			t.Errorf("no version: %+v", got)
		}
	})
}

// decode is what a reader of JSON sees.
func decode(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %q: %v", text, err)
	}
	return v
}

func TestEmitLintFinding(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	long := strings.Repeat("é", 300)
	if err := os.WriteFile(filepath.Join(root, "a b.go"), []byte(long+"\nlet x = 1;\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, s shell) {
		emit := `. "$HOMEBOY_RUNTIME_EMIT_LINT_FINDING"; homeboy_emit_lint_finding `
		got := s.run(t, emit+`--root "$ROOT" --id "x:1" --file "a b.go" --line 1 --column 5 --severity warning --source s --code c --category k --message 'a "q"
b' --fixable true`, "ROOT="+root)
		want := map[string]any{
			"id": "x:1", "file": "a b.go", "line": 1.0, "column": 5.0, "severity": "warning", "source": "s", "code": "c", "category": "k",
			"message": "a \"q\"\nb", "fixable": true, "fingerprint": sha1Hex("x:1"), "excerpt": strings.Repeat("é", 240),
		}
		v := decode(t, got.out)
		if diff := cmp.Diff(want, v); diff != "" || strings.Count(got.out, "\n") != 1 {
			t.Error(diff)
		}
		for line, excerpt := range map[string]any{"2": "let x = 1;", "3": "", "4": nil, "99": nil, "x": nil, "": nil, "-1": nil} {
			v := decode(t, s.run(t, emit+`--root "$ROOT" --id i --file "a b.go" --line "$N"`, "ROOT="+root, "N="+line).out)
			if diff := cmp.Diff(excerpt, v["excerpt"]); diff != "" {
				t.Errorf("line %q: %s", line, diff)
			}
		}
		for _, bad := range []string{``, `--id`, `--nope x`, `--id ''`} {
			if got := s.run(t, emit+bad); got.code != 2 || got.out != "" {
				t.Errorf("%s: %+v", bad, got)
			}
		}
	})
}

func TestEmitTestFailure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		emit := `. "$HOMEBOY_RUNTIME_EMIT_TEST_FAILURE"; homeboy_emit_test_failure `
		v := decode(t, s.run(t, emit+`--test-id 'Foo::bar' --file src/F.php --line 42 --failure-type E --message 'one
two' --stdout-excerpt o`).out)
		want := map[string]any{
			"test_id": "Foo::bar", "suite": nil, "file": "src/F.php", "line": 42.0, "message": "one\ntwo", "failure_type": "E",
			"fingerprint": sha256Hex("Foo::bar\x00src/F.php\x0042\x00E\x00one"), "stdout_excerpt": "o", "stderr_excerpt": "",
		}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Error(diff)
		}
		v = decode(t, s.run(t, emit+`--test-id t --identity 'rust:test:t'`).out)
		if v["fingerprint"] != sha256Hex("rust:test:t") || v["failure_type"] != "test_failure" || v["line"] != nil {
			t.Errorf("got %v", v)
		}
		if got := s.run(t, emit+`--message x`); got.code != 2 {
			t.Errorf("without an id: %+v", got)
		}
		text := strings.Repeat(strings.Repeat("é%\\n", 50)+"\n", 50)
		got := s.run(t, `. "$HOMEBOY_RUNTIME_EMIT_TEST_FAILURE"; homeboy_test_failure_bound_excerpt "$T"`, "T="+text)
		if n := len([]rune(got.out)); n != 4000 || !strings.HasPrefix(text, strings.TrimSuffix(got.out, "...")) || !strings.HasSuffix(got.out, "...") {
			t.Errorf("%d characters: %.80q", n, got.out)
		}
		if got := s.run(t, `. "$HOMEBOY_RUNTIME_EMIT_TEST_FAILURE"; homeboy_test_failure_bound_excerpt "
 a%d\\
"`); got.out != `a%d\` {
			t.Errorf("got %q", got.out)
		}
	})
}

// Whatever the text, it comes out as JSON says it should; bytes that are no UTF-8 become U+FFFD.
func TestJSONOfAnyText(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", `"\`, "\x01\x1f\x7f\t\r\n", "é日🎉\u2028", "\xff", "a\xc3", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xf0\x9f\x8e", "%s%d\\0101", "-n", "\\n\\u0041"}
	for range 20 {
		_ = quick.Check(func(b []byte) bool {
			texts = append(texts, strings.ReplaceAll(string(b), "\x00", ""))
			return true
		}, &quick.Config{MaxCount: 1})
	}
	each(t, func(t *testing.T, s shell) {
		for _, text := range texts {
			got := s.run(t, `. "$HOMEBOY_RUNTIME_EMIT_LINT_FINDING"; homeboy_emit_lint_finding --id i --message "$T"`, "T="+text)
			want, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			var clean string
			if err := json.Unmarshal(want, &clean); err != nil {
				t.Fatal(err)
			}
			v := decode(t, got.out)["message"].(string)
			// How many U+FFFD a broken sequence becomes is up to the reader.
			if squeeze(v) != squeeze(clean) {
				t.Errorf("%q: got %q, want %q", text, v, clean)
			}
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

// TestSidecarWriter runs without the host's binary; internal/cli has the same table with it.
func TestSidecarWriter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		for _, c := range helpertest.SidecarCases {
			dir := t.TempDir()
			env, err := c.Env(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := s.run(t, `. "$HOMEBOY_RUNTIME_SIDECAR_WRITER"; `+c.Script, env...)
			if err := c.Check(dir, got.code); err != nil {
				t.Errorf("%s: %v\n%+v", c.Name, err, got)
			}
		}
	})
}

// Every JSON text is kept, and nothing else is taken for JSON.
func TestCompactAgreesWithGo(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{}`, `[]`, ` [ 1 , 2 ] `, `{"a":{"b":[true,false,null,-0.5e+3]}}`, `"a\"b\\\u00e9"`, "[\n1\n]", `12`, `"é"`,
		``, ` `, `{`, `[1,]`, `{"a"}`, `{"a":}`, `{a:1}`, `[1 2]`, `01`, `1.`, `tru`, `"\x"`, `"\u12g4"`, "\"a\nb\"", "\"\t\"", `]`, `[}`, `{"a":1,}`, `[1]]`, `nulll`, `-`, `+1`, `"`, `{"a":1 "b":2}`,
	}
	each(t, func(t *testing.T, s shell) {
		for _, text := range texts {
			file := filepath.Join(t.TempDir(), "f")
			got := s.run(t, `. "$HOMEBOY_RUNTIME_SIDECAR_WRITER"; homeboy_sidecar_emit lint.finding "$T"`, "T="+text, "HOMEBOY_LINT_FINDINGS_FILE="+file)
			var want bytes.Buffer
			err := json.Compact(&want, []byte(text))
			b, _ := os.ReadFile(file) // absent is refused
			if (err == nil) != (got.code == 0) || err == nil && string(b) != "["+want.String()+"]\n" || err != nil && len(b) > 0 {
				t.Errorf("%q: %q, %+v, Go says %v", text, b, got, err)
			}
		}
	})
}
