package exectrace

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	const one = `{"id":1,"pid":7,"name":"x","exe":"/tree/x"}` + "\n"
	for name, tc := range map[string]struct {
		text, why string
		programs  int
	}{
		"nothing":      {"", "ended before", 0},
		"no end":       {one, "ended before", 1},
		"an error":     {one + `{"error":"too old"}` + "\n" + `{"end":true}` + "\n", "too old", 1},
		"a cut line":   {one + `{"id":2,"pi`, "cannot be read", 1},
		"another form": {"hello\n", "cannot be read", 0},
	} {
		got, err := Read(write(t, tc.text), "/tree")
		if err != nil || got.Complete || !strings.Contains(got.Why, tc.why) || len(got.Programs) != tc.programs {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, err := Read(filepath.Join(t.TempDir(), "none"), "/tree"); err != nil || got.Complete || got.Why == "" {
		t.Errorf("no file: got %+v, %v", got, err)
	}
	if got, err := Read(write(t, one+`{"end":true}`+"\n"), "/tree"); err != nil || !got.Complete || got.Why != "" || len(got.Programs) != 1 {
		t.Errorf("all: got %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"a directory": "", "a wrong number": `{"id":2}`, "a parent to come": `{"id":1,"parent":1}`, "a parent below zero": `{"id":1,"parent":-1}`, "a long line": strings.Repeat(" ", maxLine+1),
	} {
		file := write(t, text)
		if text == "" {
			file = t.TempDir()
		}
		if got, err := Read(file, "/tree"); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestReadKnowsTheTree has programs at the edges of the tree, and one under a name of the tree that is a link.
func TestReadKnowsTheTree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i, exe := range []string{dir + "/in", dir, dir + "-beside/x", dir + "/../x", "/bin/x", link + "/too", dir + "/a/b"} {
		lines.WriteString(`{"id":` + string(rune('1'+i)) + `,"exe":"` + exe + `"}` + "\n")
	}
	got, err := Read(write(t, lines.String()), link)
	if diff := cmp.Diff([]string{"in", "too", "a/b"}, programPaths(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func programPaths(t Trace) []string {
	var list []string
	for _, p := range t.Programs {
		list = append(list, p.Path)
	}
	return list
}

// TestReadLaunchers has a script found by a shim that executes programs of its own: these are not the script's.
func TestReadLaunchers(t *testing.T) {
	t.Parallel()
	got, err := Read(write(t, `{"id":1,"pid":1,"name":"npm","exe":"/bin/npm","stdout":"own"}
{"id":2,"parent":1,"pid":1,"name":"node","exe":"/bin/node","stdout":"own","scripts":[{"name":"npm","path":"/bin/npm"}]}
{"id":3,"parent":2,"pid":2,"name":"x.py","exe":"/tree/x.py","links":["/tree/link"],"argv":["link"],"stdout":"own"}
{"id":4,"parent":3,"pid":2,"name":"python","exe":"/shims/python","stdout":"own","scripts":[{"name":"link","path":"/tree/x.py"}]}
{"id":5,"parent":4,"pid":3,"name":"shim-helper","exe":"/shims/helper","stdout":"other"}
{"id":6,"parent":4,"pid":2,"name":"python","exe":"/bin/python","argv":["python","link"],"stdout":"own","scripts":[{"name":"link","path":"/tree/x.py"}]}
{"id":7,"parent":6,"pid":4,"name":"cat","exe":"/bin/cat","stdout":"own"}
{"id":8,"parent":2,"pid":5,"name":"python","exe":"/bin/python","argv":["python","-m","pytest"],"stdout":"own","scripts":[{"name":"pytest"}]}
{"id":9,"parent":8,"pid":6,"name":"y","exe":"/tree/y","argv":["y"],"stdout":"other"}
{"end":true}
`), "/tree")
	want := Trace{Complete: true, Programs: []Program{
		{Path: "x.py", Links: []string{"link"}, Argv: []string{"python", "link"}, Parent: -1, Under: []string{"npm"}},
		{Path: "y", Argv: []string{"y"}, Parent: -1, Under: []string{"pytest", "npm"}, Captured: true},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTooMuch bounds what is written, and says so.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace")
	f, err := createTrace(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.f.Close()
	f.records = maxRecords - 1
	for id := range 3 {
		f.write(record{ID: id + 1, PID: id, Exe: "/tree/x"})
	}
	f.write(record{End: true})
	if got, err := Read(file, "/tree"); err != nil || got.Complete || len(got.Programs) != 1 || !strings.Contains(got.Why, "more than") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// FuzzRead reads anything. No program is outside of the tree, and no ancestor is below its descendants.
func FuzzRead(f *testing.F) {
	f.Add(`{"id":1,"pid":1,"exe":"/tree/x"}` + "\n" + `{"id":2,"parent":1,"pid":1,"exe":"/bin/sh","scripts":[{"path":"/tree/x"}]}` + "\n" + `{"end":true}`)
	f.Add(`{"error":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(write(t, text), "/tree")
		if err != nil {
			return
		}
		if got.Complete == (got.Why != "") {
			t.Errorf("complete %v, why %q", got.Complete, got.Why)
		}
		for i, p := range got.Programs {
			if p.Parent < -1 || p.Parent >= i || !filepath.IsLocal(p.Path) || path.Clean(p.Path) != p.Path {
				t.Errorf("program %d: %+v", i, p)
			}
		}
	})
}
