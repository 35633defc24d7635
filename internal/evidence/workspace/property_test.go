package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A random tree and random edits: the patch of any change applies and gives the changed tree, an incremental snapshot
// equals a full one, and both survive storage.
func TestAnyChange(t *testing.T) {
	t.Parallel()
	top, n := tempDir(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		root := filepath.Join(top, strconv.Itoa(n))
		must(rt, os.Mkdir(root, 0o755))
		defer func() {
			if err := Remove(root); err != nil {
				rt.Error(err)
			}
		}()
		base, work := filepath.Join(root, "base"), filepath.Join(root, "work")
		if err := os.Mkdir(base, 0o755); err != nil {
			rt.Fatal(err)
		}
		edit(rt, base, rapid.IntRange(0, 25).Draw(rt, "files"))
		if _, err := Clone(rt.Context(), base, work); err != nil {
			rt.Fatal(err)
		}
		before, err := Snapshot(rt.Context(), work, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if d := Compare(snap(rt, base, nil), before); len(d) > 0 {
			rt.Fatalf("the clone differs: %v", d)
		}
		edit(rt, work, rapid.IntRange(0, 25).Draw(rt, "edits"))
		after, cs, err := Capture(rt.Context(), BaseAt(base), work, before)
		if err != nil {
			rt.Fatal(err)
		}
		if d := Compare(snap(rt, work, nil), after); len(d) > 0 {
			rt.Fatalf("the incremental snapshot differs: %v", d)
		}
		var stored Manifest
		if b, err := json.Marshal(after); err != nil {
			rt.Fatal(err)
		} else if err := json.Unmarshal(b, &stored); err != nil {
			rt.Fatal(err)
		}
		if d := Compare(after, &stored); len(d) > 0 || stored.Digest() != after.Digest() {
			rt.Fatalf("the stored manifest differs: %v", d)
		}
		b := &testBundle{t: rt, root: root, base: base, work: work, before: before}
		b.verify()
		if rt.Failed() {
			rt.Fatalf("change set:\n%s", summary(cs))
		}
	})
}

// edit does n random things to a tree.
func edit(rt *rapid.T, root string, n int) {
	names := rapid.SampledFrom([]string{"a", "b", "c d", "e\n", "f\xff", "ünï", "\"q\"", "g\t"})
	texts := rapid.SampledFrom([]string{"", "1\n", "1\n2\n3\n", "1\r\n2\r\n", "1\n2", "\x00\x01", "x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"})
	for range n {
		rel := filepath.Join(rapid.SliceOfN(names, 1, 3).Draw(rt, "path")...)
		p := filepath.Join(root, rel)
		if !clearWay(root, rel) {
			continue
		}
		switch rapid.IntRange(0, 9).Draw(rt, "what") {
		case 0:
			_ = os.RemoveAll(p)
		case 1:
			target := rapid.SampledFrom([]string{"b", "b/a", "../x", "/etc/passwd", "/etc", "y\n"}).Draw(rt, "target")
			if filepath.Base(rel) == "b" {
				continue // no loops: see TestLinkLoopToDirectory
			}
			_ = os.RemoveAll(p)
			must(rt, os.Symlink(target, p))
		case 2:
			_ = os.RemoveAll(p)
			must(rt, os.MkdirAll(p, 0o755))
		case 3:
			if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() {
				must(rt, os.Chmod(p, st.Mode()^0o111))
			}
		default:
			if st, err := os.Lstat(p); err == nil && !st.Mode().IsRegular() {
				must(rt, os.RemoveAll(p))
			}
			must(rt, os.WriteFile(p, []byte(texts.Draw(rt, "text")), 0o644))
		}
	}
}

// clearWay makes real directories of the parents of a path.
func clearWay(root, rel string) bool {
	dir := filepath.Dir(rel)
	if dir == "." {
		return true
	}
	if !clearWay(root, dir) {
		return false
	}
	p := filepath.Join(root, dir)
	if st, err := os.Lstat(p); err == nil && st.IsDir() {
		return true
	}
	_ = os.RemoveAll(p)
	return os.Mkdir(p, 0o755) == nil
}

func must(rt *rapid.T, err error) {
	rt.Helper()
	if err != nil {
		rt.Fatal(err)
	}
}
