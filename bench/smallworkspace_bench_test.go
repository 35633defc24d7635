package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What a run of an agent pays for its workspace of 100 files: base, workspace and first manifest. The floor is one
// bare start of git, so that the count of processes that a source costs can be read off.
func TestBenchSmallWorkspace(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	root := t.TempDir()
	workspace.SetTopdirFlag(root)
	src := filepath.Join(root, "src")
	for i := range 100 {
		p := filepath.Join(src, fmt.Sprintf("d%d/file-%d.txt", i%10, i))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, fmt.Appendf(nil, "file %d\n", i), 0o644))
	}
	measure := func(name string) {
		var git, seed, clone, snap []float64
		for i := range 21 {
			base, work := filepath.Join(root, fmt.Sprint("base", i)), filepath.Join(root, fmt.Sprint("work", i))
			git = append(git, seconds(func() { must(t, exec.Command("git", "version").Run()) }))
			seed = append(seed, seconds(func() {
				_, err := workspace.Seed(t.Context(), workspace.Source{Dir: src}, base)
				must(t, err)
			}))
			clone = append(clone, seconds(func() { cloneTree(t, base, work) }))
			snap = append(snap, seconds(func() { snapshot(t, work, nil) }))
			must(t, workspace.Remove(base))
			must(t, workspace.Remove(work))
		}
		line(t, "workspace.small."+name+".seed", median(seed), median(git), "s", "-")
		line(t, "workspace.small."+name+".clone", median(clone), median(git), "s", "-")
		line(t, "workspace.small."+name+".snapshot", median(snap), median(git), "s", "-")
	}
	measure("directory")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = src
		must(t, cmd.Run())
	}
	measure("git")
}
