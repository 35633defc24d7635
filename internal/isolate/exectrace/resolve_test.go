package exectrace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a/b"), 0o755), os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o644),
		os.Symlink("a/b", filepath.Join(dir, "dir")), os.Symlink(dir+"/dir/file", filepath.Join(dir, "far")),
		os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink("../..", filepath.Join(dir, "a/b/up")), os.Symlink("gone", filepath.Join(dir, "dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a/b/file": "a/b/file", "./a//b/./file": "a/b/file", "dir/file": "a/b/file dir", "dir/../b/file": "a/b/file dir", "far": "a/b/file far dir", "a/b/up/far": "a/b/file a/b/up far dir", "a/b/..": "a",
	} {
		f, err := view{}.find(dir + "/" + name)
		got := strings.Join(append([]string{f.path}, f.links...), " ")
		if got = strings.ReplaceAll(got, dir+"/", ""); err != nil || got != want || f.info == nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"none", "a/b/file/x", "loop", "dangling", strings.Repeat("x", 300)} {
		if f, err := (view{}).find(dir + "/" + name); !absent(err) {
			t.Errorf("%s: got %+v, %v", name, f, err)
		}
	}
	if absent(syscall.EACCES) || absent(errors.New("else")) || absent(nil) {
		t.Error("an error that says nothing says that a file is absent")
	}
}

// TestFindIsTheKernels compares with the standard library, which knows no links on the way.
func TestFindIsTheKernels(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/usr/bin", "/bin", "/etc", "/lib", "/dev"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), 200)] {
			name := dir + "/" + e.Name()
			want, err := filepath.EvalSymlinks(name)
			if f, ferr := (view{}).find(name); (err == nil) != (ferr == nil) || err == nil && f.path != want {
				t.Errorf("%s: got %q, %v, want %q, %v", name, f.path, ferr, want, err)
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script script
		want   []string
	}{
		{script{path: "x"}, []string{"/cwd/x", "/cwd/x/__main__.py"}},
		{script{path: "/abs/x", dir: "sub"}, []string{"/abs/x", "/abs/x/__main__.py"}},
		{script{path: "x", dir: "sub", extensions: []string{".js"}}, []string{"/cwd/sub/x", "/cwd/sub/x/__main__.py", "/cwd/sub/x.js"}},
		{script{path: "a.b", module: true}, []string{"/cwd/a/b/__main__.py", "/cwd/a/b.py", "/src/a/b/__main__.py", "/src/a/b.py"}},
		{script{anyOf: []string{"A", "B"}, dir: "/d"}, []string{"/d/A", "/d/B"}},
		{script{stdin: true}, []string{"/in"}},
	} {
		if got := candidates(tc.script, []string{"/cwd", "/src"}, "/in"); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: got %q, want %q", tc.script, got, tc.want)
		}
	}
	if got := candidates(script{stdin: true}, []string{"/cwd"}, "pipe:[1]"); got != nil {
		t.Errorf("a pipe: got %q", got)
	}
}
