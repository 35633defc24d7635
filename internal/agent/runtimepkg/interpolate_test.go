package runtimepkg

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShellCommandWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, path string
		want             []string
		shell            bool
	}{
		{"plain words need no shell", "node {{runtime_path}}/x.cjs --flag", "/p", []string{"node", "/p/x.cjs", "--flag"}, false},
		{"case 18: a path with a blank is one word", "node {{runtime_path}}/x.cjs", "/a b", []string{"node", "/a b/x.cjs"}, false},
		{"quoted words", `node "{{runtime_path}}/x y.cjs" 'a b'`, "/p", []string{"node", "/p/x y.cjs", "a b"}, false},
		{"the mark first", "{{runtime_path}}/bin/run", "/p q", []string{"/p q/bin/run"}, false},
		{"case 19: both marks", "x {{runtime_path}} {{extension_path}}", "/p", []string{"x", "/p", "/p"}, false},
		{"case 20: a mark in the path stays", "x {{runtime_path}}", "/{{runtime_path}}", []string{"x", "/{{runtime_path}}"}, false},
		{"an operator needs one", "cd {{runtime_path}} && ./run", "/p", []string{"sh", "-c", "cd /p && ./run"}, true},
		{"an assignment", "A=1 {{runtime_path}}/run", "/p q", []string{"sh", "-c", "A=1 '/p q'/run"}, true},
		{"a builtin", "exec {{runtime_path}}/run", "/p", []string{"sh", "-c", "exec /p/run"}, true},
		{"a glob", "ls *.json", "/p", []string{"sh", "-c", "ls *.json"}, true},
		{"in double quotes", `x "a{{runtime_path}}$HOME"`, `/p"q$r`, []string{"sh", "-c", `x "a/p\"q\$r$HOME"`}, true},
		{"in single quotes", `x '{{runtime_path}}'; y`, `/it's`, []string{"sh", "-c", `x '/it'\''s'; y`}, true},
		{"in a comment", "x; y # {{runtime_path}}", "/a\nb", []string{"sh", "-c", "x; y # "}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, shell, err := shellCommand(c.line, c.path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" || shell != c.shell {
				t.Errorf("shell %v, argv (-want +got):\n%s", shell, d)
			}
		})
	}
}

func TestShellCommandRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, path, want string }{
		"empty":            {"  ", "/p", "empty"},
		"a comment alone":  {"# nothing", "/p", "empty"},
		"not sh":           {"echo 'open", "/p", "not a line for sh"},
		"in backquotes":    {"x `cat {{runtime_path}}/f`", "/a b", "cannot be written there"},
		"in a here-doc":    {"cat <<E\n{{runtime_path}}\nE\n", "/a b", "cannot be written there"},
		"in an expansion":  {"x ${A:-{{runtime_path}}}", "/a b", "cannot be written there"},
		"in an arithmetic": {"x \"$(( {{runtime_path}} ))\"", "/a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := shellCommand(c.line, c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// awkward are directory names that a shell would do something with. Case 20.
var awkward = []string{"a b", "it's", `say "x"`, "$(touch x)", "`touch x`", "a;touch x", "$HOME", `back\slash`, "new\nline", "*", "-n", "{{runtime_path}}", "~", "#x", "é"}

// TestShellCommandRuns has real shells say what they make of each path in each place.
func TestShellCommandRuns(t *testing.T) {
	t.Parallel()
	lines := []string{
		`printf %s {{runtime_path}}`, `printf %s "{{runtime_path}}"`, `printf %s '{{runtime_path}}'`,
		`true && printf %s {{runtime_path}}`, `true && printf %s "{{runtime_path}}"`, `true && printf %s '{{runtime_path}}'`,
		`true && printf %s "$(printf %s {{runtime_path}})"`, `true && printf %s "$(printf %s "{{runtime_path}}")"`,
		`X={{runtime_path}}; printf %s "$X"`,
	}
	for _, name := range awkward {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		for _, line := range lines {
			argv, _, err := shellCommand(line, path)
			if err != nil {
				t.Errorf("%s with %q: %v", line, path, err)
				continue
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil || string(out) != path {
				t.Errorf("%s with %q: %q says %q, %v", line, path, argv, out, err)
			}
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%q: something was run: %v %v", name, list, err)
		}
	}
}

func FuzzShellCommand(f *testing.F) {
	f.Add("node {{runtime_path}}/x", "/a b")
	f.Add(`a "{{runtime_path}}" '{{runtime_path}}' $(x {{runtime_path}})`, "/it's $(x)")
	f.Add("cat <<E\n{{runtime_path}}\nE", "/p")
	f.Fuzz(func(t *testing.T, line, path string) {
		argv, shell, err := shellCommand(line, path)
		if err == nil && len(argv) == 0 {
			t.Errorf("%q: no argv and no error", line)
		}
		if shell && (len(argv) != 3 || argv[0] != "sh") {
			t.Errorf("%q: %q", line, argv)
		}
	})
}
