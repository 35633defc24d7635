package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An agent claims that it is done whatever its case printed and however it ended well; one whose case fails claims nothing.
func TestAgentClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		claims       bool
	}{
		{"ends", "echo talk\ntouch a", true},
		{"exits", "echo '{\"status\": \"failed\"}'\nexit 0", true},
		{"here document", "cat >a <<'EOF'\n)\nEOF", true},
		{"fails", "false", false},
		{"fails early", "set -e\nfalse\ntrue", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, filepath.Join(dir, "agent.sh"), agentScript(&attempt{Script: "#!/bin/sh\n# label: accept\n" + c.script + "\n"}))
			cmd := exec.Command("/bin/sh", "agent.sh")
			cmd.Dir = dir
			out, err := cmd.Output()
			want := ""
			if c.claims {
				want = claim + "\n"
			}
			if string(out) != want || (err == nil) != c.claims {
				t.Errorf("printed %q, want %q (%v)", out, want, err)
			}
		})
	}
}

// A base is its files, its patch, one commit, and packages that git ignores; making it twice gives the same commit.
func TestBase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "store", "one", "package.json"), `{"dependencies": {"two": "1"}, "peerDependencies": {"absent": "1"}}`)
	put(t, filepath.Join(dir, "store", "one", "node_modules", "inner", "package.json"), `{"dependencies": {"@scope/three": "1"}}`)
	put(t, filepath.Join(dir, "store", "one", "bin.js"), "")
	put(t, filepath.Join(dir, "store", "two", "package.json"), `{}`)
	put(t, filepath.Join(dir, "store", "@scope", "three", "package.json"), `{}`)
	put(t, filepath.Join(dir, "store", "four", "package.json"), `{}`)
	put(t, filepath.Join(dir, "store", "four", "bin.js"), "")
	if err := os.Mkdir(filepath.Join(dir, "store", ".bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "four"} {
		if err := os.Symlink(filepath.Join("..", name, "bin.js"), filepath.Join(dir, "store", ".bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "p", "base", "a.txt"), "a\n")
	put(t, filepath.Join(dir, "p", "b.patch"), "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n")
	p := &project{Name: "p", Dir: filepath.Join(dir, "p"), Needs: []string{"npm:one"}}
	var commits []string
	for _, work := range []string{"first", "second"} {
		l, err := newPlace(p, filepath.Join(dir, work), filepath.Join(dir, "store"))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := l.base(t.Context(), "b.patch")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(tree, "a.txt")); err != nil || string(text) != "b\n" {
			t.Errorf("a.txt is %q, %v", text, err)
		}
		out, err := exec.Command("git", "-C", tree, "log", "--format=%H").Output()
		if err != nil || strings.Count(string(out), "\n") != 1 {
			t.Errorf("commits: %q, %v", out, err)
		}
		commits = append(commits, string(out))
		if out, err := exec.Command("git", "-C", tree, "status", "--porcelain").Output(); err != nil || len(out) > 0 {
			t.Errorf("status: %q, %v", out, err)
		}
		got, err := filepath.Glob(filepath.Join(tree, "node_modules", "*"))
		if err != nil {
			t.Fatal(err)
		}
		bin, err := filepath.Glob(filepath.Join(tree, "node_modules", ".bin", "*"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range append(got, bin...) {
			names = append(names, filepath.Base(f))
		}
		if d := cmp.Diff([]string{".bin", "@scope", "one", "two", "one"}, names); d != "" {
			t.Errorf("packages (-want +got):\n%s", d)
		}
	}
	if commits[0] != commits[1] {
		t.Errorf("the commits differ: %s", commits)
	}
}
