package bench

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

const (
	treeFiles = 10_000
	treeBytes = 200 << 20
	rounds    = 7
)

// The speeds of workspaces on a tree of 10,000 files and 200 MB, each against a floor measured in turns in the same
// run; the medians are printed. Nothing here fails for being slow: read the ratios.
func TestBenchWorkspace(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	root := t.TempDir()
	workspace.SetTopdirFlag(root) // as the home is, so that one copy does not pay for the removal of the one before
	tree := filepath.Join(root, "tree")
	files := makeTree(t, tree)

	var floor, first, second []float64
	hashTwice(t, files) // fill the page cache
	for round := range rounds {
		floor = append(floor, seconds(func() { hashTwice(t, files) }))
		var m *workspace.Manifest
		first = append(first, seconds(func() { m = snapshot(t, tree, nil) }))
		for i := range 10 {
			must(t, os.WriteFile(files[(round*10+i)*97%len(files)], fmt.Appendf(nil, "changed %d %d", round, i), 0o644))
		}
		second = append(second, seconds(func() { snapshot(t, tree, m) }))
	}
	line(t, "workspace.manifest.first", median(first), median(floor), "s", "<=1.5")
	line(t, "workspace.manifest.second", median(second), median(first), "s", "<=0.3")

	var cp, clone, room []float64
	for i := range 3 {
		to := filepath.Join(root, fmt.Sprint("cp", i))
		cp = append(cp, seconds(func() { must(t, exec.Command("cp", "-a", "--reflink=auto", tree, to).Run()) }))
		must(t, os.RemoveAll(to))
		to = filepath.Join(root, fmt.Sprint("clone", i))
		clone = append(clone, seconds(func() { cloneTree(t, tree, to) }))
		must(t, os.RemoveAll(to))
	}
	line(t, "workspace.clone", median(clone), median(cp), "s", "<=1.2")

	base := filepath.Join(root, "base")
	cloneTree(t, tree, base)
	before := snapshot(t, tree, nil)
	for i := range 10 {
		must(t, os.WriteFile(files[i*31], fmt.Appendf(nil, "changed again %d", i), 0o644))
	}
	var capture, patch, git []float64
	var text bytes.Buffer
	var after *workspace.Manifest
	var cs workspace.ChangeSet
	for range 5 {
		git = append(git, seconds(func() { must(t, exec.Command("git", "version").Run()) }))
		capture = append(capture, seconds(func() {
			var err error
			after, cs, err = workspace.Capture(t.Context(), workspace.BaseAt(base), tree, before)
			must(t, err)
		}))
		text.Reset()
		patch = append(patch, seconds(func() { must(t, workspace.WritePatch(t.Context(), base, tree, cs, &text)) }))
	}
	p := filepath.Join(root, "patch.diff")
	must(t, os.WriteFile(p, text.Bytes(), 0o600))
	var check []float64
	for i := range 3 {
		check = append(check, seconds(func() { must(t, workspace.Check(t.Context(), base, before, p, after, cs)) }))
		to := filepath.Join(root, fmt.Sprint("room", i))
		room = append(room, seconds(func() { must(t, workspace.CleanRoom(t.Context(), base, before, p, []string{"d1/**"}, to)) }))
		must(t, os.RemoveAll(to))
	}
	// One bare start of git is the floor of what starts git: two for a patch, one for a check.
	line(t, "workspace.capture.10files", median(capture), median(first), "s", "-")
	line(t, "workspace.patch.10files", median(patch), median(git), "s", "-")
	line(t, "workspace.check.10files", median(check), median(git), "s", "-")
	line(t, "workspace.cleanroom", median(room), median(clone), "s", "-")
}

func makeTree(t *testing.T, root string) []string {
	r := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 2*treeBytes/treeFiles)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	var files []string
	left := treeBytes
	for i := range treeFiles {
		dir := filepath.Join(root, fmt.Sprintf("d%d/e%d", i%20, i/20%20))
		must(t, os.MkdirAll(dir, 0o755))
		n := left
		if i < treeFiles-1 {
			n = min(left, 1+r.IntN(2*treeBytes/treeFiles-1))
		}
		n = min(n, len(content))
		content[0]++
		p := filepath.Join(dir, fmt.Sprintf("file-%d", i))
		must(t, os.WriteFile(p, content[:n], 0o644))
		files = append(files, p)
		left -= n
	}
	return files
}

// hashTwice is the floor: the same bytes read and hashed by two goroutines that know all paths, with no listing and
// no stat.
func hashTwice(t *testing.T, files []string) {
	var wg sync.WaitGroup
	for half := range 2 {
		wg.Go(func() {
			h := sha256.New()
			buf := make([]byte, 256<<10)
			for i := half; i < len(files); i += 2 {
				f, err := os.Open(files[i])
				if err != nil {
					t.Error(err)
					return
				}
				h.Reset()
				// The copy must not go around the buffer.
				_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf)
				f.Close()
				if err != nil {
					t.Error(err)
				}
				h.Sum(nil)
			}
		})
	}
	wg.Wait()
}

func snapshot(t *testing.T, root string, prev *workspace.Manifest) *workspace.Manifest {
	m, err := workspace.Snapshot(t.Context(), root, prev)
	must(t, err)
	return m
}

func cloneTree(t *testing.T, from, to string) workspace.Method {
	m, err := workspace.Clone(t.Context(), from, to)
	must(t, err)
	return m
}

func seconds(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}
