package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lineScript writes a script for --lines. It notes each start in the file that it returns, and answers each line with what body
// prints; the line is in $line.
func lineScript(t *testing.T, body string) (Script, string) {
	t.Helper()
	dir := t.TempDir()
	starts := filepath.Join(dir, "starts")
	file := filepath.Join(dir, "fingerprint.sh")
	write(t, file, `[ "$1" = --lines ] || exit 9
echo started in "$PWD" >> '`+starts+`'
id=0
while IFS= read -r line; do
id=$((id + 1))
`+body+`
done
`)
	return Script{Path: file, Interpreter: []string{"sh"}, Lines: true, Extensions: []string{"py"}, Env: os.Environ(), Digest: "d"}, starts
}

func startsOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// reasons are the files without structure, by why.
func reasons(r Report) map[string]int {
	out := map[string]int{}
	for _, u := range r.Unparsed {
		out[u.Reason] = u.Count
	}
	return out
}

// manyFiles plants files of one directory: one worker reads them, in their order.
func manyFiles(t *testing.T, n int, odd map[int]string) string {
	t.Helper()
	tree := ""
	for i := range n {
		text := "fine = 1\n"
		if odd[i] != "" {
			text = odd[i] + "\n"
		}
		tree += fmt.Sprintf("-- f%02d.py --\n%s", i, text)
	}
	return plant(t, tree)
}

// A script that takes lines is started once for many files, in its own directory and not in the tree.
func TestSessionServesManyFiles(t *testing.T) {
	t.Parallel()
	s, starts := lineScript(t, `echo '{"id":'$id',"methods":["run"]}'`)
	r := run(t, Config{Root: manyFiles(t, 40, nil), Scripts: []Script{s}})
	if r.Summary.FilesParsed != 40 || len(r.Unparsed) != 0 || len(r.Warnings) != 0 {
		t.Errorf("%+v %v %v", r.Summary, r.Unparsed, r.Warnings)
	}
	if got := startsOf(t, starts); len(got) != 1 || !strings.HasSuffix(got[0], filepath.Base(filepath.Dir(s.Path))) {
		t.Errorf("started %q", got)
	}
}

// Whatever a script does for one file, the next has a script again; a file that the script refuses is no fault of it.
func TestSessionFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		failed     int
		why        map[string]int
	}{
		{"it dies", `kill -9 $$`, 1, map[string]int{scriptFailed: 1}},
		{"it ends in peace", `exit 0`, 1, map[string]int{scriptFailed: 1}},
		{"it ends with a code", `echo oops >&2; exit 4`, 1, map[string]int{scriptFailed: 1}},
		{"half an answer", `printf '{"methods"'; exit 0`, 1, map[string]int{scriptFailed: 1}},
		{"no JSON", `echo no`, 1, map[string]int{scriptFailed: 1}},
		{"another shape", `echo '{"id":'$id',"methods": 3}'`, 1, map[string]int{scriptFailed: 1}},
		{"too long an answer", `head -c 5000000 /dev/zero | tr '\0' x; echo`, 1, map[string]int{scriptFailed: 1}},
		{"the answer to another", `echo '{"id":1,"methods":["other"]}'`, 1, map[string]int{scriptFailed: 1}},
		{"no answer to anything", `echo '{"methods":["other"]}'`, 1, map[string]int{scriptFailed: 1}},
		{"two answers", `echo '{"id":'$id'}'; echo '{"id":'$id'}'`, 1, map[string]int{scriptFailed: 1}},
		{"it refuses", `echo '{"id":'$id',"error": "not  valid "}'`, 0, map[string]int{"not valid": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, starts := lineScript(t, "case $line in *odd*) "+tc.body+" ;; *) echo '{\"id\":'$id',\"methods\":[\"run\"]}' ;; esac")
			r := run(t, Config{Root: manyFiles(t, 6, map[int]string{2: "odd"}), Scripts: []Script{s}, Cache: t.TempDir()})
			if diff := cmp.Diff(tc.why, reasons(r)); diff != "" || r.Summary.FilesParsed != 5 || len(r.Warnings) != 0 {
				t.Errorf("%+v %v\n%s", r.Summary, r.Warnings, diff)
			}
			if got := startsOf(t, starts); len(got) != 1+tc.failed {
				t.Errorf("started %d times", len(got))
			}
		})
	}
}

// A script that does not answer is ended, whether it reads or not; and so is one that nobody waits for any more.
func TestSessionIsEnded(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"it reads": ":", "it does not read": "while :; do read -r line; done", "it closed its output": "exec >&-"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := lineScript(t, body)
			x, err := openSession(t.Context(), s, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			x.limit = 50 * time.Millisecond
			if _, err := x.ask(question{Path: "a.py", Content: strings.Repeat("x", 1<<20)}); err == nil || !strings.Contains(err.Error(), "longer than 50ms") {
				t.Errorf("asked: %v", err)
			}
			x.close()
			if _, err := x.ask(question{Path: "b.py"}); err == nil {
				t.Error("a closed session answered")
			}
		})
	}
	s, _ := lineScript(t, ":")
	ctx, cancel := context.WithCancelCause(t.Context())
	x, err := openSession(ctx, s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	cancel(enough)
	if _, err := x.ask(question{Path: "a.py"}); !errors.Is(err, enough) {
		t.Errorf("after the run was ended: %v", err)
	}
	x.close()
}

// A script that fails three times in a row is not started again, and the report says why. Refused files do not count.
func TestSessionIsGivenUp(t *testing.T) {
	t.Parallel()
	s, starts := lineScript(t, `echo broken >&2; exit 4`)
	r := run(t, Config{Root: manyFiles(t, 10, nil), Scripts: []Script{s}})
	if len(startsOf(t, starts)) != scriptFaults || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "broken") || r.Summary.FilesParsed != 0 {
		t.Errorf("started %d times, %v %+v", len(startsOf(t, starts)), r.Warnings, r.Summary)
	}
	s, starts = lineScript(t, `echo '{"id":'$id',"error":"not valid"}'`)
	r = run(t, Config{Root: manyFiles(t, 10, nil), Scripts: []Script{s}})
	if len(startsOf(t, starts)) != 1 || len(r.Warnings) != 0 || !cmp.Equal(reasons(r), map[string]int{"not valid": 10}) {
		t.Errorf("started %d times, %v %v", len(startsOf(t, starts)), r.Warnings, r.Unparsed)
	}
}

// Without its interpreter a script is not run, the report says which one is missing, and the cache does not outlive that.
func TestMissingInterpreter(t *testing.T) {
	t.Parallel()
	s, _ := lineScript(t, `echo '{"id":'$id',"methods":["run"]}'`)
	bin, cache := t.TempDir(), t.TempDir()
	s.Interpreter, s.Env = []string{"deed-test-interpreter"}, []string{"PATH=" + bin}
	cfg := Config{Root: manyFiles(t, 3, nil), Scripts: []Script{s}, Cache: cache}
	r := run(t, cfg)
	want := map[string]int{"no parser for python: deed-test-interpreter is not installed": 3}
	if diff := cmp.Diff(want, reasons(r)); diff != "" || len(r.Warnings) != 0 {
		t.Errorf("%v %s", r.Warnings, diff)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sh, filepath.Join(bin, "deed-test-interpreter")); err != nil {
		t.Fatal(err)
	}
	if r = run(t, cfg); r.Summary.FilesParsed != 3 || r.Summary.FilesCached != 0 {
		t.Errorf("%+v %v", r.Summary, r.Unparsed)
	}
	if r = run(t, cfg); r.Summary.FilesParsed != 3 || r.Summary.FilesCached != 3 {
		t.Errorf("%+v", r.Summary)
	}
}

// builtIn is the fingerprint script of a built-in extension.
func builtIn(t *testing.T, file, ext string, interpreter ...string) Script {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs an interpreter")
	}
	if _, err := exec.LookPath(interpreter[0]); err != nil {
		t.Skipf("missing tool: %s: apt-get install %s", interpreter[0], map[string]string{"php": "php-cli", "python3": "python3"}[interpreter[0]])
	}
	abs, err := filepath.Abs(filepath.Join("../extension/builtin", file))
	if err != nil {
		t.Fatal(err)
	}
	return Script{Path: abs, Extensions: []string{ext}, Interpreter: interpreter, Lines: true, Env: os.Environ(), Digest: file}
}

// thirty repeats a line until it is long enough to be compared.
func thirty(line string) string { return strings.Repeat(line, 30) }

// The structure of PHP reaches the detectors: duplicates with their lines, conventions, layers.
func TestPHPTree(t *testing.T) {
	t.Parallel()
	s := builtIn(t, "php/scripts/fingerprint.php", "php", "php", "-n", "-d", "extension=tokenizer", "-d", "display_startup_errors=0")
	tree := ""
	for _, n := range []string{"One", "Two", "Three", "Four"} {
		tree += fmt.Sprintf("-- src/%[1]sHandler.php --\n<?php\nnamespace App;\nuse Ui\\Screen;\nclass %[1]sHandler extends Base implements Runs {\n  public function __construct() {}\n  public function handle($a) { return '%[1]s'; }\n}\n", n)
	}
	tree += "-- src/Odd.php --\n<?php\nnamespace Else;\nclass Odd {\n  public function handle($a, $b) { return 1; }\n}\n"
	tree += "-- lib/a.php --\n<?php\nfunction copied() {\n" + thirty("  $x = f('a', 1); // why\n") + "}\n"
	tree += "-- lib/b.php --\n<?php\nclass Same {\n\n  function copy() {\n" + thirty("$x\n=f('a',1);\n") + "}\n}\n"
	tree += "-- lib/c.php --\n<?php\nfunction near() {\n" + thirty("  $y = g('b', 2);\n") + "}\n"
	tree += "-- lib/broken.php --\n<?php function (\n"
	r := run(t, Config{Root: plant(t, tree), Scripts: []Script{s}, Rules: raw(`{"layer_rules": [{"name": "no-ui", "forbid": {"glob": "src/One*", "imports": ["Ui*"]}}]}`)})
	want := []string{
		"lib/a.php:2 duplicate_function warning structural copied",
		"lib/b.php:4 duplicate_function warning structural copy",
		"lib/a.php:2 near_duplicate info heuristic copied",
		"lib/b.php:4 near_duplicate info heuristic copy",
		"lib/c.php:2 near_duplicate info heuristic near",
		`src/Odd.php:3 missing_interface warning heuristic App\Base`,
		`src/Odd.php:3 missing_interface warning heuristic App\Runs`,
		"src/Odd.php:3 signature_mismatch info heuristic handle",
		`src/Odd.php:0 namespace_mismatch info heuristic Else`,
		"src/Odd.php:3 naming_mismatch info heuristic Odd",
		`src/OneHandler.php:3 layer_ownership_violation warning graph Ui\Screen`,
	}
	if diff := cmp.Diff(sorted(want), sorted(lines(r))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"not valid PHP": 1}, reasons(r)); diff != "" || len(r.Warnings) != 0 {
		t.Errorf("%v %s", r.Warnings, diff)
	}
}

func TestPythonTree(t *testing.T) {
	t.Parallel()
	s := builtIn(t, "python/scripts/fingerprint.py", "py", "python3", "-I", "-S", "-B")
	tree := ""
	for _, n := range []string{"one", "two", "three", "four"} {
		tree += fmt.Sprintf("-- app/%[1]s.py --\nfrom ui import screen\nclass %[1]sTask(Base):\n    def __init__(self): pass\n    def run(self, a): return '%[1]s'\n", n)
	}
	tree += "-- app/odd.py --\nclass OddTask:\n    def other(self): return 1\n"
	tree += "-- lib/a.py --\ndef copied():\n    'says'\n" + thirty("    x = f('a', 1)  # why\n")
	tree += "-- lib/b.py --\nclass Same:\n\n    async def copy(self):\n" + thirty("        x = f('a',\n          1)\n")
	tree += "-- lib/c.py --\ndef near():\n" + thirty("  y = g('b', 2)\n")
	tree += "-- lib/broken.py --\ndef f(:\n"
	// What Python would load from its working directory, or from a file next to the code.
	tree += "-- json.py --\nopen('ran', 'w')\n-- sitecustomize.py --\nopen('ran', 'w')\n"
	dir := plant(t, tree)
	s.Env = append(s.Env, "PYTHONPATH="+dir, "PYTHONSTARTUP="+filepath.Join(dir, "json.py"))
	r := run(t, Config{Root: dir, Scripts: []Script{s}, Rules: raw(`{"layer_rules": [{"name": "no-ui", "forbid": {"glob": "app/one*", "imports": ["ui"]}}]}`)})
	want := []string{
		"lib/a.py:1 duplicate_function warning structural copied",
		"lib/b.py:3 duplicate_function warning structural copy",
		"lib/a.py:1 near_duplicate info heuristic copied",
		"lib/b.py:3 near_duplicate info heuristic copy",
		"lib/c.py:1 near_duplicate info heuristic near",
		"app/odd.py:1 missing_interface warning heuristic Base",
		"app/odd.py:1 missing_method warning heuristic run",
		"app/one.py:1 layer_ownership_violation warning graph ui",
	}
	if diff := cmp.Diff(sorted(want), sorted(lines(r))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"not valid Python": 1}, reasons(r)); diff != "" || len(r.Warnings) != 0 {
		t.Errorf("%v %s", r.Warnings, diff)
	}
	for _, name := range []string{"ran", "__pycache__"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("the audit left %s in the tree", name)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(s.Path), name)); err == nil {
			t.Errorf("the script left %s beside itself", name)
		}
	}
}
