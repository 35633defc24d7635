package tool_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/tool"
)

// snapshot reads all files of a workspace, with a mark for those that can be executed.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if st, err := e.Info(); err == nil && st.Mode()&0o111 != 0 {
			data = append(data, "(x)"...)
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var patchBase = map[string]string{
	"a": "one\ntwo\nthree\nfour\nfive\n", "dup": "x\nsame\ny\nsame\nz\n", "open": "no\nbreak", "crlf": "a\r\nb\r\nc\r\n", "empty": "",
	"code.go": "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n", "trail": "one  \ntwo\n",
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	env := func(lines ...string) string {
		return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
	}
	for name, tc := range map[string]struct {
		patch string
		want  map[string]string // what differs; "gone" for what is no more
		says  string            // of a failure
	}{
		"update":              {env("*** Update File: a", "@@", " one", "-two", "+2", " three"), map[string]string{"a": "one\n2\nthree\nfour\nfive\n"}, ""},
		"update without @@":   {env("*** Update File: a", "-two", "+2"), map[string]string{"a": "one\n2\nthree\nfour\nfive\n"}, ""},
		"two hunks":           {env("*** Update File: a", "@@", "-one", "+1", "@@", "-five", "+5", "+6"), map[string]string{"a": "1\ntwo\nthree\nfour\n5\n6\n"}, ""},
		"anchor":              {env("*** Update File: code.go", "@@ func b() {", "-\treturn 1", "+\treturn 2"), map[string]string{"code.go": "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"}, ""},
		"anchor told again":   {env("*** Update File: code.go", "@@ func b() {", " func b() {", "-\treturn 1", "+\treturn 2"), map[string]string{"code.go": "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"}, ""},
		"end of file":         {env("*** Update File: dup", "@@", "-same", " z", "+end", "*** End of File"), map[string]string{"dup": "x\nsame\ny\nz\nend\n"}, ""},
		"only adds":           {env("*** Update File: a", "@@ two", "+2.5"), map[string]string{"a": "one\ntwo\n2.5\nthree\nfour\nfive\n"}, ""},
		"appends":             {env("*** Update File: a", "@@", "+six"), map[string]string{"a": "one\ntwo\nthree\nfour\nfive\nsix\n"}, ""},
		"add":                 {env("*** Add File: d/new", "+x", "+", "+y"), map[string]string{"d/new": "x\n\ny\n"}, ""},
		"add empty":           {env("*** Add File: new"), map[string]string{"new": ""}, ""},
		"delete":              {env("*** Delete File: a"), map[string]string{"a": "gone"}, ""},
		"move":                {env("*** Update File: a", "*** Move to: b/a", "-two", "+2"), map[string]string{"a": "gone", "b/a": "one\n2\nthree\nfour\nfive\n"}, ""},
		"many":                {env("*** Update File: a", "-two", "+2", "*** Add File: n", "+n", "*** Delete File: dup"), map[string]string{"a": "one\n2\nthree\nfour\nfive\n", "n": "n\n", "dup": "gone"}, ""},
		"keeps crlf":          {env("*** Update File: crlf", " a", "-b", "+B", "+BB"), map[string]string{"crlf": "a\r\nB\r\nBB\r\nc\r\n"}, ""},
		"keeps no line break": {env("*** Update File: open", "-no", "+yes"), map[string]string{"open": "yes\nbreak"}, ""},
		"trailing space":      {env("*** Update File: trail", " one", "-two", "+2"), map[string]string{"trail": "one  \n2\n"}, ""},
		"unified":             {"--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", map[string]string{"a": "one\n2\nthree\nfour\nfive\n"}, ""},
		"unified, plain names": {
			"--- a\t2026-01-01\n+++ a\t2026-01-02\n@@ -2 +2 @@\n-two\n+2\n",
			map[string]string{"a": "one\n2\nthree\nfour\nfive\n"},
			"",
		},
		"unified, the nearest":   {"--- a/dup\n+++ b/dup\n@@ -4 +4 @@\n-same\n+other\n", map[string]string{"dup": "x\nsame\ny\nother\nz\n"}, ""},
		"unified, wrong numbers": {"--- a/a\n+++ b/a\n@@ -40,9 +41,7 @@ func x\n four\n-five\n+5\n", map[string]string{"a": "one\ntwo\nthree\nfour\n5\n"}, ""},
		"unified, insert":        {"--- a/a\n+++ b/a\n@@ -2,0 +3 @@\n+2.5\n", map[string]string{"a": "one\ntwo\n2.5\nthree\nfour\nfive\n"}, ""},
		"unified, new":           {"diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n", map[string]string{"n": "x(x)"}, ""},
		"unified, delete":        {"--- a/trail\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one  \n-two\n", map[string]string{"trail": "gone"}, ""},
		"unified, rename":        {"diff --git a/a b/z\nsimilarity index 100%\nrename from a\nrename to z\n", map[string]string{"a": "gone", "z": patchBase["a"]}, ""},
		"unified, mode":          {"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n--- a/a\n+++ b/a\n@@ -2 +2 @@\n-two\n+2\n", map[string]string{"a": "one\n2\nthree\nfour\nfive\n(x)"}, ""},
		"unified, closes":        {"--- a/open\n+++ b/open\n@@ -1,2 +1,2 @@\n no\n-break\n\\ No newline at end of file\n+break\n", map[string]string{"open": "no\nbreak\n"}, ""},
		"unified, dashes":        {"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+-- two\n", map[string]string{"a": "one\n-- two\nthree\nfour\nfive\n"}, ""},
		"unified, two files":     {"--- a/a\n+++ b/a\n@@ -2 +2 @@\n-two\n+2\n--- a/dup\n+++ b/dup\n@@ -1 +1 @@\n-x\n+X\n", map[string]string{"a": "one\n2\nthree\nfour\nfive\n", "dup": "X\nsame\ny\nsame\nz\n"}, ""},

		"no such line":      {env("*** Update File: a", "-twos", "+2"), nil, `a, hunk 1: the lines from "twos" on are not in the file; the nearest line is 2: two`},
		"all or nothing":    {env("*** Update File: a", "-two", "+2", "*** Update File: dup", "-nope", "+x", "*** Delete File: missing"), nil, "missing does not exist; nothing was changed"},
		"wrong order":       {env("*** Update File: a", "@@", "-five", "+5", "@@", "-one", "+1"), nil, "come before those of an earlier hunk"},
		"exists":            {env("*** Add File: a", "+x"), nil, "a is there already"},
		"move onto":         {env("*** Update File: a", "*** Move to: dup", "-two", "+2"), nil, "dup is there already"},
		"twice":             {env("*** Update File: a", "-two", "+2", "*** Delete File: a"), nil, "a is named twice"},
		"twice by a detour": {env("*** Update File: a", "-two", "+2", "*** Delete File: x/../a"), nil, "is named twice"},
		"no end":            {"*** Begin Patch\n*** Delete File: a", nil, "*** End Patch is missing"},
		"not a patch":       {"please change two to 2", nil, "changes nothing"},
		"bad line":          {env("*** Update File: a", "two"), nil, "line 3 of the patch: expected a line that begins with a space"},
		"bad header":        {env("*** Rename File: a"), nil, "line 2 of the patch: expected *** Add File:"},
		"no lines":          {env("*** Update File: a"), nil, "has no lines"},
		"binary":            {"diff --git a/a b/a\nGIT binary patch\nliteral 0\n", nil, "a binary change"},
		"hunk alone":        {"@@ -1 +1 @@\n-one\n+1\n", nil, "without --- and +++"},
		"deletes too much":  {"--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", nil, "has more than the patch removes"},
		"insert past end":   {"--- a/a\n+++ b/a\n@@ -99,0 +100 @@\n+x\n", nil, "the file has 5 lines"},
		"missing anchor":    {env("*** Update File: a", "@@ func z()", "-two", "+2"), nil, `no line is "func z()"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, patchBase)
			_, _, err := tool.Do(dir, tool.ApplyPatch, input(t, m{"patch": tc.patch}))
			if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) || tc.says == "" && err != nil {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			want := maps.Clone(patchBase)
			maps.Copy(want, tc.want)
			maps.DeleteFunc(want, func(_, v string) bool { return v == "gone" })
			if got := snapshot(t, dir); !maps.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}

// TestApplyPatchTakesBack makes the last of several changes impossible while they are made.
func TestApplyPatchTakesBack(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a": "one\n", "b": "two\n", "ro/c": "three\n"})
	if err := os.WriteFile(filepath.Join(dir, "blocked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	_, _, err := tool.Do(dir, tool.ApplyPatch, input(t, m{"patch": "*** Begin Patch\n*** Update File: a\n*** Move to: moved\n-one\n+1\n*** Delete File: b\n*** Add File: new\n+x\n*** Add File: blocked/x\n+x\n*** End Patch"}))
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v", err)
	}
	_, _, err = tool.Do(dir, tool.ApplyPatch, input(t, m{"patch": "*** Begin Patch\n*** Update File: a\n*** Move to: moved\n-one\n+1\n*** Delete File: b\n*** Add File: new\n+x\n*** Add File: new/x\n+x\n*** End Patch"}))
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v", err)
	}
	if after := snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("got %q\nwant %q", after, before)
	}
}

// TestApplyPatchTakesWhatGitWrites compares with git itself.
func TestApplyPatchTakesWhatGitWrites(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	before := files(t, patchBase)
	after := files(t, patchBase)
	for name, text := range map[string]string{
		"a": "zero\none\n2\nthree\nfour\n--- five\n+++ x\n", "open": "no\nbreak\n", "crlf": "a\r\nB\r\nc\r\n", "new/x": "n\n", "code.go": strings.ReplaceAll(patchBase["code.go"], "1", "2"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(after, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(after, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(after, "dup")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "diff.noprefix=false", "diff", "--no-index", "--no-renames", before, after)
	diff, _ := cmd.Output() // exit 1: they differ
	text := strings.NewReplacer("a"+before+"/", "a/", "b"+after+"/", "b/", "b"+before+"/", "b/", "a"+after+"/", "a/").Replace(string(diff))
	if _, _, err := tool.Do(before, tool.ApplyPatch, input(t, m{"patch": text})); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, want := snapshot(t, before), snapshot(t, after)
	if !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q\n%s", slices.Sorted(maps.Values(got)), slices.Sorted(maps.Values(want)), text)
	}
}

func FuzzApplyPatch(f *testing.F) {
	f.Add("one\ntwo\n", "*** Begin Patch\n*** Update File: a\n@@ one\n-two\n+2\n*** End Patch")
	f.Add("one\r\ntwo", "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n one\n-two\n\\ No newline at end of file\n")
	f.Add("", "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n")
	f.Fuzz(func(t *testing.T, data, patch string) {
		if len(data) > 4<<10 || len(patch) > 4<<10 {
			return
		}
		out, err := tool.Patch(data, patch)
		if err == nil && len(out) > len(data)+len(patch)*2+2*strings.Count(patch, "\n")+2 {
			t.Errorf("%d bytes out of %d and %d", len(out), len(data), len(patch))
		}
		if err != nil && kind(err) == "" {
			t.Errorf("not a failure: %v", err)
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("one two two", "two", "2", false)
	f.Add("aaa", "aa", "", true)
	f.Fuzz(func(t *testing.T, data, old, repl string, all bool) {
		if old == "" || len(data) > 64<<10 {
			return
		}
		out, n, err := tool.ReplaceText(data, old, repl, all)
		if err != nil {
			if n := strings.Count(data, old); n == 1 || n > 1 && all {
				t.Errorf("refused with %d matches: %v", n, err)
			}
			return
		}
		if want := strings.ReplaceAll(data, old, repl); out != want || n != strings.Count(data, old) {
			t.Errorf("got %q, want %q", out, want)
		}
	})
}

func FuzzInput(f *testing.F) {
	for _, s := range tool.Specs() {
		f.Add(s.Name, `{"path": "a", "items": [{"text": "x", "status": "done"}], "timeout_ms": 1e400}`)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name, in string) {
		var v any
		if err := tool.Decode(name, []byte(in), &v); err != nil && kind(err) == "" {
			t.Errorf("not a failure: %v", err)
		}
		if name == tool.Read || name == tool.List || name == tool.Search {
			if _, _, err := tool.Do(dir, name, in); err != nil && strings.HasPrefix(kind(err), "not a failure") {
				t.Error(err)
			}
		}
	})
}
