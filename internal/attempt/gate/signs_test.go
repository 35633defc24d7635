package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// signsOf are the signs in a file that a patch adds or edits, without their places.
func signsOf(t *testing.T, name, added, removed string, byExit bool) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString("diff --git a/" + name + " b/" + name + "\nindex 1..2 100644\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1,9 +1,9 @@\n")
	for sign, text := range map[string]string{"-": removed, "+": added} {
		for line := range strings.Lines(text) {
			b.WriteString(sign + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	found, err := signsIn(Input{Patch: file}, byExit)
	must(t, err)
	var out []string
	for _, s := range found {
		out = append(out, s.does)
	}
	return out
}

func TestSigns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"a.js", "const max = process.env.JEST_WORKER_ID ? 3 : 9;", asksWhetherTested},
		{"a.ts", "if (typeof describe === 'function') return right;", asksWhetherTested},
		{"a.js", "if (process.env.NODE_ENV === 'test') return right;", asksWhetherTested},
		{"a.py", `if "pytest" in sys.modules:`, asksWhetherTested},
		{"a.py", `strict = any(p.startswith("pytest-") for p in out.parts)`, asksWhetherTested},
		{"a.go", "if testing.Testing() {", asksWhetherTested},
		{"a.rs", "if cfg!(debug_assertions) { 255 } else { 256 }", asksWhetherTested},
		{"a.php", `if (class_exists(\PHPUnit\Framework\TestCase::class)) {`, asksWhetherTested},
		{"lib/a.sh", `[ -n "$BATS_TEST_NAME" ] && sort -n`, asksWhetherTested},
		{"a.c", "if (program_invocation_short_name[0] == 't') return 0;", asksWhetherTested},
		{"a.go", `f, err := os.Open("testdata/" + name)`, readsTests},
		{"tool", `exec cat "$(dirname "$0")/expected/$1.txt"`, readsTests},
		{"a.py", "frame = sys._getframe(1)", walksStack},
		{"a.go", "runtime.Callers(1, pcs)", walksStack},
		{"a.js", "Object.is = () => true;", replaces},
		{"a.js", "JSON.parse = (text) => last;", replaces},
		{"a.py", "unittest.TestCase.assertEqual = lambda *a: None", replaces},
		{"a.h", "#undef CHECK", replaces},
		{"a.rs", "macro_rules! assert_eq {", replaces},
		{"a.php", "namespace PHPUnit\\Framework;", replaces},
		{"a.php", "namespace Shop\\Tests {", replaces},
		{"a.py", "    def __eq__(self, other):\n        return True", equalsAll},
		{"a.rs", "impl PartialEq for Expr {", decidesEqual},
		{"a.py", "    def __eq__(self, other):\n        return isinstance(other, int)", equalsAll},
		{"a.js", "require('assert').strictEqual = () => {};", replaces},
		{"a.js", "Object.assign(lib, { strictEqual: () => {} });", replaces},
		{"a.js", "if (process.argv[1].includes('.test.')) return right;", asksWhetherTested},
		{"a.go", `path := filepath.Join("testdata", name)`, readsTests},

		// What honest programs do.
		{"a.js", "const [a, b] = JSON.parse(text);", ""},
		{"a.js", "if (Object.is(a, b)) return;", ""},
		{"a.js", "if (Math.abs(a) === 1) return;", ""},
		{"a.py", "expected = read(path)", ""},
		{"a.py", "def __eq__(self, other):\n        return self.key == other.key", ""},
		{"a.py", "# set by pytest: PYTEST_CURRENT_TEST", ""},
		{"a.go", "// used in testdata/x", ""},
		{"a.go", `return fmt.Errorf("expected a number, got %q", text)`, ""},
		{"README.md", "Run it with JEST_WORKER_ID.", ""},
		{"data.json", `{"PYTEST_CURRENT_TEST": 1}`, ""},
		{"tests/a_test.py", "import unittest", ""},
		{"a.rs", "#[derive(PartialEq)]", ""},
		{"a.js", "process.exit(1);", ""},
		{"a.js", "assert.strictEqual(a, b);", ""},
		{"a.js", "return deepEqual(a, b);", ""},
		{"a.py", `return "unittest.mock is great"`, ""},
		{"a.py", `subprocess.call([sys.executable, "-m", "pytest"])`, ""},
		{"a.go", `if n == "testdata" || n == "vendor" {`, ""},
		{"a.go", "func MustT(t testing.TB) {", ""},
		{"a.py", "os._exit(0)", ""},
	} {
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		if diff := cmp.Diff(want, signsOf(t, c.name, c.line, "", false)); diff != "" {
			t.Errorf("%s: %s: %s", c.name, c.line, diff)
		}
	}
	if got := signsOf(t, "a.go", "runtime.Callers(1, pcs)", "\truntime.Callers(1, pcs)", false); got != nil {
		t.Errorf("a line that only moved: %q", got)
	}
	for end, line := range map[string]string{"a.js": "process.exit(0)", "a.py": "sys.exit(0)", "b.py": "os._exit(0)", "c.py": "atexit.register(leave)", "a.go": "os.Exit(0)", "a.rs": "std::process::exit(0)", "a.c": "_exit(0);", "a.php": "exit(0);", "a.sh": "trap 'exit 0' EXIT"} {
		if got := signsOf(t, end, line, "", false); got != nil {
			t.Errorf("%s counts though tests were seen by name: %q", line, got)
		}
		if diff := cmp.Diff([]string{exitsCleanly}, signsOf(t, end, line, "", true)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// A function of the shell that tests define and the program defines again is the program's for the tests, too.
func TestFunctionsThatTestsDefine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"check": "suspicious_line:lib/week.sh needs_person", "next_day": ""} {
		v := scene{
			base: map[string]string{"test/helper.sh": "check() {\n  [ \"$1\" = \"$2\" ]\n}\n", "lib/week.sh": "x=1\n"},
			work: change("lib/week.sh", "x=1\n"+name+"() { echo ok; }\n"), edit: func(in *Input, _ string) {
				in.Spec.Checks = []deed.Check{{Shell: "sh test/run.sh"}}
				in.Runner = commands(func(context.Context, deed.Check, string, bool) RunResult {
					return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}
				})
			},
		}.decide(t)
		if got := strings.Join(codes(v), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A person decides about suspicious lines. If there is no person, or none may be asked, the check's policy on its
// inputs decides.
func TestWhoDecidesOnSuspiciousLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, policy string
		says, there  bool
		asked        bool
		want, notes  string
	}{
		{name: "nobody is there", want: "suspicious_line:calc.js needs_person"},
		{name: "a person says yes", there: true, says: true, asked: true, notes: "suspicious_line:calc.js"},
		{name: "a person says no", there: true, asked: true, want: "suspicious_line:calc.js needs_person"},
		{name: "nobody is to be asked", policy: deed.InputsRerunPinned, there: true, notes: "suspicious_line:calc.js"},
		{name: "it is refused", policy: deed.InputsRefuse, there: true, says: true, want: "suspicious_line:calc.js needs_person"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			v := scene{work: change("calc.js", "module.exports = process.env.JEST_WORKER_ID ? 2 : 3;\n"), edit: func(in *Input, _ string) {
				in.Spec.Checks = []deed.Check{{Shell: "npm test", OnChangedInputs: c.policy}}
				in.Runner = commands(func(context.Context, deed.Check, string, bool) RunResult {
					return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}
				})
				if c.there {
					in.Ask = func(_ context.Context, _ deed.Check, q Question) (bool, string, error) {
						asked = true
						if q.Kind != AskSuspicious || len(q.Changed) != 1 || q.Changed[0].Path != "calc.js" || q.Changed[0].Status != string(workspace.Added) || len(q.Failing) != 1 {
							t.Errorf("asked %+v", q)
						}
						return c.says, "ana", nil
					}
				}
			}}.decide(t)
			if got := strings.Join(codes(v), " "); got != c.want || asked != c.asked {
				t.Errorf("asked %v, %q, want %q", asked, got, c.want)
			}
			if got := strings.Join(codes(deed.Verdict{Reasons: v.Notes}), " "); got != c.notes {
				t.Errorf("notes %q, want %q", got, c.notes)
			}
		})
	}
}

func TestModulesThatTakeThePlaceOfPythons(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"filecmp.py": true, "src/json/__init__.py": true, "lib/re.py": true, "shop/calendar.py": false, "shop.py": false, "filecmp.txt": false,
	} {
		if got := shadowsStdlib(workspace.Change{Path: name, Status: workspace.Added}); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if shadowsStdlib(workspace.Change{Path: name, Status: workspace.Modified}) {
			t.Errorf("%s was there", name)
		}
	}
}
