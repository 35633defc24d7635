package finding

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

// files is a tree in memory.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("not there")
}

func identities(root string, tree files, fs ...runner.LintFinding) []string {
	fs = slices.Clone(fs)
	Identify(fs, root, tree.read)
	var out []string
	for _, f := range fs {
		out = append(out, f.Fingerprint)
	}
	return out
}

func TestIdentityStays(t *testing.T) {
	t.Parallel()
	before := runner.LintFinding{File: "a.go", Rule: "r", Line: 2, Message: "unused variable x, see /srv/site/b.go:7:2"}
	tree := files{"a.go": "package a\n\tx := 1\n"}
	base := identities("/srv/site", tree, before)
	for name, c := range map[string]struct {
		root  string
		tree  files
		after runner.LintFinding
	}{
		"lines moved":              {"/srv/site", files{"a.go": "package a\n\n// new\n\tx := 1\n"}, runner.LintFinding{File: "a.go", Rule: "r", Line: 4, Message: before.Message}},
		"indented anew, CRLF":      {"/srv/site", files{"a.go": "package a\r\n    x  := 1  \r\n"}, before},
		"the last line, unended":   {"/srv/site", files{"a.go": "package a\nx := 1"}, before},
		"another root":             {"/home/me/copy", tree, runner.LintFinding{File: "a.go", Rule: "r", Line: 2, Message: "unused variable x, see /home/me/copy/b.go:7:2"}},
		"a position moved":         {"/srv/site", tree, runner.LintFinding{File: "a.go", Rule: "r", Line: 2, Message: "unused variable x, see /srv/site/b.go:123:45"}},
		"message wrapped":          {"/srv/site", tree, runner.LintFinding{File: "a.go", Rule: "r", Line: 2, Message: " unused variable x,\n  see /srv/site/b.go:7:2"}},
		"id, tool, category, case": {"/srv/site", tree, runner.LintFinding{ID: "z", Tool: "t", Category: "c", Severity: "error", Column: 3, File: "a.go", Rule: "r", Line: 2, Message: before.Message}},
	} {
		if got := identities(c.root, c.tree, c.after); !slices.Equal(got, base) {
			t.Errorf("%s: %s became %s", name, base, got)
		}
	}
	for name, c := range map[string]struct {
		tree  files
		after runner.LintFinding
	}{
		"another file":    {files{"b.go": tree["a.go"]}, runner.LintFinding{File: "b.go", Rule: "r", Line: 2, Message: before.Message}},
		"another rule":    {tree, runner.LintFinding{File: "a.go", Rule: "s", Line: 2, Message: before.Message}},
		"another message": {tree, runner.LintFinding{File: "a.go", Rule: "r", Line: 2, Message: "unused variable y, see /srv/site/b.go:7:2"}},
		"another line":    {files{"a.go": "package a\n\ty := 1\n"}, before},
		"parts shifted":   {tree, runner.LintFinding{File: "a.gor", Rule: "", Line: 2, Message: before.Message}},
	} {
		if got := identities("/srv/site", c.tree, c.after); slices.Equal(got, base) {
			t.Errorf("%s: the identity is the same", name)
		}
	}
}

// Findings that are alike differ in their number, in whatever order they are reported.
func TestIdentityOfEquals(t *testing.T) {
	t.Parallel()
	tree := files{"a.go": "x\nx\nx\ny\n"}
	at := func(line, column int) runner.LintFinding {
		return runner.LintFinding{File: "a.go", Rule: "r", Message: "m", Line: line, Column: column}
	}
	got := identities("", tree, at(3, 1), at(1, 1), at(2, 9), at(2, 1), at(4, 1))
	one := identities("", tree, at(1, 1))[0]
	want := []string{one + "-4", one, one + "-3", one + "-2", identities("", tree, at(4, 1))[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	h := hasher{paths: paths{roots: []string{"/srv/site/"}}}
	for in, want := range map[string]string{
		"plain":                               "plain",
		"":                                    "",
		"  a \t b\n":                          "a b",
		"in /srv/site/a.go:12:3":              "in a.go:#:#",
		"a.ts(12,3): bad":                     "a.ts(#,#): bad",
		"declared on line 12, and lines 3-5":  "declared on line #, and lines #-#",
		"Line 7 (column 3)":                   "Line # (column #)",
		"complexity 15 is over 10":            "complexity 15 is over 10",
		"use of 0xc000123 and 0x":             "use of # and #",
		"sha256 of v2 at 10.5":                "sha256 of v2 at 10.5",
		"expected 2 arguments: 3":             "expected 2 arguments: 3",
		"offset 99 of line length 120 (80) 7": "offset # of line length 120 (80) 7",
	} {
		if got := string(h.message([]byte("kept"), in)); got != "kept"+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What a tool names is not read where it leads out of the component, and never waited for.
func TestSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, "a.go"): "a"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	read := Sources(root)
	if text, err := read("a.go"); err != nil || string(text) != "a" {
		t.Errorf("%q, %v", text, err)
	}
	for _, path := range []string{"link", "fifo", ".", "../" + filepath.Base(filepath.Dir(outside)) + "/secret", outside, "none"} {
		if text, err := read(path); err == nil {
			t.Errorf("%s: read %q", path, text)
		}
	}
	asked := false
	Identify([]runner.LintFinding{{File: "/etc/passwd", Line: 1}, {File: "../x", Line: 1}, {Line: 1}}, dir, func(string) ([]byte, error) {
		asked = true
		return nil, nil
	})
	if asked {
		t.Error("a path outside the component was read")
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	at := runner.LintFinding{File: "a.js", Line: 1}
	if a, b := identities("", files{"a.js": long + "1"}, at), identities("", files{"a.js": long + "2"}, at); !slices.Equal(a, b) {
		t.Error("the end of a line of a megabyte is part of the identity")
	}
	if got := identities("", files{"a.js": "a\n"}, runner.LintFinding{File: "a.js", Line: 1 << 30}); got[0] == "" {
		t.Error("no identity for a line that is not there")
	}
}
