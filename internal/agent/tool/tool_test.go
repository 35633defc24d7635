package tool_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/agent/tool"
)

// files makes a workspace of names and contents.
func files(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func input(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type m = map[string]any

// kind returns the type of a Failure, or "" for none.
func kind(err error) string {
	var f *tool.Failure
	if errors.As(err, &f) {
		return f.Type
	}
	if err != nil {
		return "not a failure: " + err.Error()
	}
	return ""
}

func TestReadListSearch(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"a.txt": "one\ntwo\nthree", "empty": "", "long": strings.Repeat("x", 5000) + "\nend\n",
		"sub/b.go": "package b\n\nfunc Foo() {}\r\n", "sub/deep/c.go": "package c // foo\n",
		".gitignore": "*.log\n/build/\n!keep.log\n", "x.log": "foo\n", "keep.log": "foo\n", "build/foo": "foo\n", "sub/build/foo": "foo inside\n",
		"node_modules/p/i.js": "foo\n", ".git/config": "foo\n", "bin": "foo\x00\n", "line\nbreak": "x\n",
	})
	big := strings.Repeat("line\n", 3000)
	if err := os.WriteFile(filepath.Join(dir, "many"), []byte(big), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		tool, name string
		in         m
		want       []string
		not        []string
		fail       string
	}{
		{tool.Read, "whole", m{"path": "a.txt"}, []string{"     1\tone\n     2\ttwo\n     3\tthree\n"}, []string{"more follows"}, ""},
		{tool.Read, "range", m{"path": "a.txt", "offset": 2, "limit": 1}, []string{"     2\ttwo\n(more follows; go on with offset 3)"}, []string{"one", "three"}, ""},
		{tool.Read, "absolute", m{"path": filepath.Join(dir, "a.txt")}, []string{"one"}, nil, ""},
		{tool.Read, "past the end", m{"path": "a.txt", "offset": 9}, nil, nil, tool.TypeInput},
		{tool.Read, "empty", m{"path": "empty"}, []string{"(the file is empty)"}, nil, ""},
		{tool.Read, "a long line", m{"path": "long"}, []string{"… (3001 bytes more)", "     2\tend"}, nil, ""},
		{tool.Read, "many lines", m{"path": "many"}, []string{"  2000\tline\n(more follows; go on with offset 2001)"}, []string{"2001\t"}, ""},
		{tool.Read, "binary", m{"path": "bin"}, nil, nil, tool.TypeBinary},
		{tool.Read, "directory", m{"path": "sub"}, nil, nil, tool.TypeKind},
		{tool.Read, "missing", m{"path": "nope"}, nil, nil, tool.TypeNotFound},
		{tool.Read, "below a file", m{"path": "a.txt/x"}, nil, nil, tool.TypeKind},
		{tool.List, "top", m{}, []string{"a.txt\t13\n", "sub/\n", `"line\nbreak"`}, []string{"sub/b.go"}, ""},
		{tool.List, "deep", m{"path": ".", "depth": 3}, []string{"sub/deep/c.go\t", "sub/b.go\t"}, []string{".git/config"}, ""},
		{tool.List, "file", m{"path": "a.txt"}, nil, nil, tool.TypeKind},
		{tool.List, "missing", m{"path": "nope"}, nil, nil, tool.TypeNotFound},
		{tool.Search, "plain", m{"pattern": "foo"}, []string{"sub/deep/c.go:1:package c // foo\n", "keep.log:1", "sub/build/foo:1"}, []string{"x.log", "node_modules", ".git/", "bin:", "\nbuild/foo", "Foo()"}, ""},
		{tool.Search, "case", m{"pattern": "foo", "ignore_case": true, "glob": "**/*.go"}, []string{"sub/b.go:3:func Foo() {}\n", "c.go:1"}, []string{"keep.log"}, ""},
		{tool.Search, "end of a line", m{"pattern": `\{\}$`}, []string{"sub/b.go:3"}, nil, ""},
		{tool.Search, "start of a line", m{"pattern": `^func`}, []string{"sub/b.go:3"}, nil, ""},
		{tool.Search, "one file", m{"pattern": "t", "path": "a.txt"}, []string{"a.txt:2:two\na.txt:3:three\n"}, nil, ""},
		{tool.Search, "limit", m{"pattern": "line", "limit": 2}, []string{"many:1", "many:2", "more matches follow"}, []string{"many:3"}, ""},
		{tool.Search, "none", m{"pattern": "zzz"}, []string{"(no match in"}, nil, ""},
		{tool.Search, "bad pattern", m{"pattern": "("}, nil, nil, tool.TypeInput},
		{tool.Search, "bad glob", m{"pattern": "x", "glob": "../*"}, nil, nil, tool.TypeInput},
	} {
		t.Run(tc.tool+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			out, _, err := tool.Do(dir, tc.tool, input(t, tc.in))
			if kind(err) != tc.fail {
				t.Fatalf("got %v, want %q", err, tc.fail)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(out, not) {
					t.Errorf("%q is in\n%s", not, out)
				}
			}
		})
	}
}

func TestEditAndWrite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tool, name string
		in         m
		want       map[string]string
		fail       string
		says       string
	}{
		{tool.Edit, "once", m{"path": "a", "old": "two", "new": "2"}, map[string]string{"a": "one\n2\nthree\nthree\n"}, "", "line 2"},
		{tool.Edit, "twice", m{"path": "a", "old": "three", "new": "3"}, nil, tool.TypeAmbiguous, "2 times in a, in lines 3, 4"},
		{tool.Edit, "all", m{"path": "a", "old": "three", "new": "3", "all": true}, map[string]string{"a": "one\ntwo\n3\n3\n"}, "", "2 occurrences"},
		{tool.Edit, "none", m{"path": "a", "old": "thre e", "new": "3"}, nil, tool.TypeNoMatch, "(0 matches); the nearest line is 3: three"},
		{tool.Edit, "nothing like it", m{"path": "a", "old": "0123456789", "new": "3"}, nil, tool.TypeNoMatch, "no line is like"},
		{tool.Edit, "line ends", m{"path": "crlf", "old": "a\nb", "new": "c"}, nil, tool.TypeNoMatch, `end in \r\n`},
		{tool.Edit, "same", m{"path": "a", "old": "two", "new": "two"}, nil, tool.TypeInput, "the same"},
		{tool.Edit, "binary", m{"path": "bin", "old": "x", "new": "y"}, nil, tool.TypeBinary, ""},
		{tool.Edit, "through a link", m{"path": "link", "old": "two", "new": "2"}, map[string]string{"a": "one\n2\nthree\nthree\n"}, "", ""},
		{tool.Edit, "missing", m{"path": "nope", "old": "x", "new": "y"}, nil, tool.TypeNotFound, ""},
		{tool.Write, "new", m{"path": "d/e/f", "content": "hi"}, map[string]string{"d/e/f": "hi"}, "", "2 bytes"},
		{tool.Write, "over", m{"path": "a", "content": ""}, map[string]string{"a": ""}, "", ""},
		{tool.Write, "a directory", m{"path": "dir", "content": ""}, nil, tool.TypeKind, ""},
		{tool.Write, "below a file", m{"path": "a/b", "content": ""}, nil, tool.TypeKind, ""},
		{tool.Write, "newline in the name", m{"path": "x\ny", "content": "z"}, map[string]string{"x\ny": "z"}, "", `"x\ny"`},
		{tool.Write, "the top", m{"path": ".", "content": ""}, nil, tool.TypeKind, ""},
	} {
		t.Run(tc.tool+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			before := map[string]string{"a": "one\ntwo\nthree\nthree\n", "crlf": "a\r\nb\r\n", "bin": "x\x00", "dir/x": ""}
			dir := files(t, before)
			if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, "a"), 0o755); err != nil {
				t.Fatal(err)
			}
			out, _, err := tool.Do(dir, tc.tool, input(t, tc.in))
			if err != nil {
				out += err.Error()
			}
			if kind(err) != tc.fail || !strings.Contains(out, tc.says) {
				t.Errorf("got %q, want %q with %q", out, tc.fail, tc.says)
			}
			for name, text := range tc.want {
				before[name] = text
			}
			for name, text := range before {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if st, err := os.Stat(filepath.Join(dir, "a")); err != nil || st.Mode().Perm() != 0o755 {
				t.Errorf("the mode was not kept: %v, %v", st, err)
			}
			if st, err := os.Lstat(filepath.Join(dir, "link")); err != nil || st.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link was replaced: %v, %v", st, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, ".deed-tool.tmp")); err == nil {
				t.Error("a temporary file is left")
			}
		})
	}
}

// TestNothingLeadsOut tries every tool that takes a path with every way out of the workspace.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	outside := files(t, map[string]string{"secret": "two\n"})
	dir := files(t, map[string]string{"a": "two\n"})
	for name, target := range map[string]string{
		"out": outside, "file": filepath.Join(outside, "secret"), "up": "../" + filepath.Base(outside) + "/secret", "loop": "loop", "root": "/", "new": filepath.Join(outside, "new"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"../" + filepath.Base(outside) + "/secret", filepath.Join(outside, "secret"), "out/secret", "file", "up", "root" + outside + "/secret", "fifo", "loop",
		"a/../../x", "/etc/passwd", "new", "out/new", "..", "a\x00b", "fifo/x", "/",
	} {
		for name, in := range map[string]m{
			tool.Read: {"path": path}, tool.List: {"path": path}, tool.Search: {"path": path, "pattern": "two"},
			tool.Edit: {"path": path, "old": "two", "new": "2"}, tool.Write: {"path": path, "content": "x"}, tool.Shell: {"cwd": path, "command": "pwd"},
			tool.ApplyPatch: {"patch": "*** Begin Patch\n*** Update File: " + path + "\n-two\n+2\n*** End Patch"},
			"add":           {"patch": "*** Begin Patch\n*** Add File: " + path + "\n+2\n*** End Patch"},
			"delete":        {"patch": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch"},
			"move":          {"patch": "*** Begin Patch\n*** Update File: a\n*** Move to: " + path + "\n-two\n+2\n*** End Patch"},
			"unified":       {"patch": "--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-two\n+2\n"},
		} {
			if name == "delete" && (path == "file" || path == "up" || path == "loop" || path == "new" || path == "fifo") {
				continue // the name itself is in the workspace
			}
			if _, ok := in["patch"]; ok && name != tool.ApplyPatch {
				name = tool.ApplyPatch
			}
			if out, _, err := tool.Do(dir, name, input(t, in)); kind(err) == "" && !(name == tool.Search && strings.Contains(out, "no match")) {
				t.Errorf("%s of %q: %q", name, path, out)
			} else if strings.HasPrefix(kind(err), "not a failure") {
				t.Errorf("%s of %q: %v", name, path, err)
			}
		}
	}
	if got, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(got) != "two\n" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != "two\n" {
		t.Errorf("inside: %q, %v", got, err)
	}
}

func TestHugeAndSparse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int64{"sparse": 1 << 40, "text": 1 << 30} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("a line\n", 2000)), 0o600); name == "text" && err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tool.Do(dir, tool.Edit, `{"path": "text", "old": "a", "new": "b"}`); kind(err) != tool.TypeTooLarge {
		t.Errorf("got %v", err)
	}
	if out, _, err := tool.Do(dir, tool.Read, `{"path": "text", "limit": 2}`); err != nil || !strings.Contains(out, "offset 3") {
		t.Errorf("got %q, %v", out, err)
	}
	if _, _, err := tool.Do(dir, tool.Read, `{"path": "text", "offset": 5000}`); kind(err) != tool.TypeTooLarge {
		t.Errorf("got %v", err)
	}
	if out, _, err := tool.Do(dir, tool.Search, `{"pattern": "line"}`); err != nil || !strings.Contains(out, "no match") {
		t.Errorf("got %q, %v", out, err)
	}
	if _, _, err := tool.Do(dir, tool.Write, input(t, m{"path": "x", "content": strings.Repeat("x", tool.MaxFile+1)})); kind(err) != tool.TypeTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tool, in, says string }{
		{tool.Read, `{}`, `path is missing; expected {"path": string, "limit"?: integer, "offset"?: integer}`},
		{tool.Read, `{"pth": "a"}`, `path is missing; "pth" is not known`},
		{tool.Read, `{"path": 1}`, "path is the number 1, not a string"},
		{tool.Read, `{"path": "a", "offset": "1"}`, "offset is a string, not an integer"},
		{tool.Read, `{"path": "a", "offset": 0}`, "offset is 0 (at least 1)"},
		{tool.Read, `{"path": "a", "offset": 1.5}`, "offset is the number 1.5, not an integer"},
		{tool.Read, `{"path": null}`, "path is null, not a string"},
		{tool.Read, `[]`, "it is a list, not an object"},
		{tool.Read, `nonsense`, "is not a JSON object"},
		{tool.Read, `{"path": "a"} x`, "is not a JSON object"},
		{tool.Read, ``, "is not a JSON object"},
		{tool.Shell, `{"command": ""}`, "command is empty"},
		{tool.Shell, `{"command": "x", "timeout_ms": 99999999999}`, "at most 1800000"},
		{tool.Todo, `{"items": [{"text": "x", "status": "open"}, {"status": "done"}]}`, `items[0].status is "open", not one of pending, in_progress, done; items[1].text is missing`},
		{tool.TaskComplete, `{"summary": "x", "files": "a"}`, "files is a string, not a list"},
		{"nope", `{}`, "there is no tool"},
	} {
		var v any
		if err := tool.Decode(tc.tool, json.RawMessage(tc.in), &v); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s %s: got %v, want %q", tc.tool, tc.in, err, tc.says)
		}
	}
	var in tool.DelegateInput
	if err := tool.Decode(tool.Delegate, json.RawMessage(`{"goal": "g", "tools": ["read"], "max_turns": 3}`), &in); err != nil || in.Goal != "g" || in.MaxTurns != 3 || len(in.Tools) != 1 {
		t.Errorf("got %+v, %v", in, err)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"sub/a": ""})
	for _, tc := range []struct {
		name string
		in   m
		out  string
		fail string
		says string
	}{
		{"order", m{"command": "echo one; echo two >&2; echo three"}, "one\ntwo\nthree\n", "", ""},
		{"cwd", m{"command": "basename $PWD", "cwd": "sub"}, "sub\n", "", ""},
		{"exit", m{"command": "echo no; exit 3"}, "no\n", tool.TypeExit, "[exit code 3]"},
		{"syntax", m{"command": "if"}, "", tool.TypeExit, "[exit code 2]"},
		{"no input", m{"command": "cat; echo end"}, "end\n", "", ""},
		{"timeout", m{"command": "echo a; trap '' TERM; while :; do sleep 100; done", "timeout_ms": 300}, "a\n", tool.TypeTimeout, "not done after 300ms"},
		{"leftover", m{"command": "setsid sleep 1000 >/dev/null 2>&1 & echo a"}, "a\n\n[processes that it left running were ended: 1]\n", "", ""},
		{"holds the pipe", m{"command": "sleep 1000 & echo a"}, "a\n\n[processes that it left running were ended: 1]\n", "", ""},
		{"cwd is a file", m{"command": "pwd", "cwd": "sub/a"}, "", tool.TypeKind, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, o, err := tool.Do(dir, tool.Shell, input(t, tc.in))
			if out != tc.out && tc.name != "syntax" || kind(err) != tc.fail {
				t.Errorf("got %q, %v", out, err)
			}
			if tc.says != "" && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
			if (tc.fail == "") != (o.ExitCode != nil && *o.ExitCode == 0) {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestShellOutputIsBounded(t *testing.T) {
	t.Parallel()
	out, _, err := tool.Do(t.TempDir(), tool.Shell, `{"command": "yes"}`)
	if kind(err) != tool.TypeOutput || len(out) > 64<<20 {
		t.Errorf("got %d bytes, %v", len(out), err)
	}
}
