package attempt

import (
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A branch may hold unreviewed work of an agent: caches that its tests left must not be used for the runs of another
// task.
func TestBuildCachesAreKeptApart(t *testing.T) {
	t.Parallel()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(s workspace.Source, target string) string {
		return (&run{Runner: &Runner{Home: h}, prepared: prepared{plan: plan{parts: []workspace.Part{{Source: s, Target: target}}}}}).builds()
	}
	seen := map[string]string{}
	for name, dir := range map[string]string{
		"main":           of(workspace.Source{Kind: workspace.SourceGit, Dir: "/src", Ref: "main"}, "/workspace"),
		"a branch":       of(workspace.Source{Kind: workspace.SourceGit, Dir: "/src", Ref: "agent/1"}, "/workspace"),
		"a directory":    of(workspace.Source{Kind: workspace.SourceDirectory, Dir: "/src"}, "/workspace"),
		"another":        of(workspace.Source{Kind: workspace.SourceDirectory, Dir: "/other"}, "/workspace"),
		"another target": of(workspace.Source{Kind: workspace.SourceDirectory, Dir: "/src"}, "/elsewhere"),
	} {
		if dir == "" || seen[dir] != "" {
			t.Errorf("%s shares %q with %s", name, dir, seen[dir])
		}
		seen[dir] = name
	}
	if dir := of(workspace.Source{Kind: workspace.SourceBundle, Dir: "/src", Bundle: "/b"}, "/workspace"); dir != "" {
		t.Errorf("a bundle holds an agent's work, and has %s", dir)
	}
}
