package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func writeFile(t *testing.T, mode os.FileMode, text []byte, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, text, mode), os.Chmod(p, mode)); err != nil {
		t.Fatal(err)
	}
	return p
}

func absent(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// A small base lies nowhere until it is asked for, and is then what the workspace was, whatever has become of that.
func TestBaseIsHeld(t *testing.T) {
	t.Parallel()
	work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
	tool := writeFile(t, 0o755, []byte("#!/bin/sh\n"), work, "bin", "tool")
	writeFile(t, 0o600, nil, work, "empty")
	writeFile(t, 0o444, []byte("a\x00b\xff"), work, "locked", "deep", "data")
	writeFile(t, 0o644, []byte("ref: refs/heads/main\n"), work, ".git", "HEAD")
	writeFile(t, 0o644, []byte("y"), work, "odd\nname \xff")
	then := time.Unix(1_500_000_000, 123456789)
	err := errors.Join(os.Symlink("../bin/tool", filepath.Join(work, "locked", "link")), os.Symlink("/nowhere", filepath.Join(work, "out")), os.Mkdir(filepath.Join(work, "hollow"), 0o755),
		os.Chtimes(tool, then, then), os.Chmod(filepath.Join(work, "locked", "deep"), 0o555), os.Chmod(filepath.Join(work, "locked"), 0o500))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(Remove(filepath.Join(work, "locked")), Remove(dir)) })
	b, m, err := TakeBase(t.Context(), work, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, cs, err := Capture(t.Context(), b, work, m); err != nil || len(cs.Changes) > 0 || !absent(t, dir) {
		t.Fatalf("nothing changed: %v, %v, and the base lies on the disk: %v", cs, err, !absent(t, dir))
	}
	writeFile(t, 0o755, []byte("rm -rf /\n"), work, "bin", "tool")
	writeFile(t, 0o644, []byte("ref: refs/heads/evil\n"), work, ".git", "HEAD")
	if _, cs, err := Capture(t.Context(), b, work, m); err != nil || len(cs.Changes) != 2 {
		t.Fatalf("two things changed: %v, %v", cs, err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if at, err := b.Dir(); err != nil || at != dir {
				t.Errorf("the base: %q, %v", at, err)
			}
		})
	}
	wait.Wait()
	laid, err := Snapshot(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameTree(m, laid); err != nil || laid.Digest() != m.Digest() {
		t.Errorf("the base is not what the workspace was: %v", err)
	}
	if st, err := os.Stat(filepath.Join(dir, "bin", "tool")); err != nil || !st.ModTime().Equal(then) {
		t.Errorf("its times are not those of the workspace: %v, %v", st, err)
	}
}

// What is too large to be held lies on the disk from the beginning, and so does what cannot be made again from its content.
func TestBaseIsCopied(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(t *testing.T, work string){
		"a large file": func(t *testing.T, work string) { writeFile(t, 0o644, make([]byte, readBuffer+1), work, "large") },
		"many bytes":   func(t *testing.T, work string) { fillWith(t, work, 5, maxHeldBytes/4) },
		"many files":   func(t *testing.T, work string) { fillWith(t, work, maxHeldEntries+1, 1) },
		"many directories": func(t *testing.T, work string) {
			for i := range maxHeldEntries + 1 {
				if err := os.Mkdir(filepath.Join(work, fmt.Sprint("d", i)), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
			fill(t, work)
			b, m, err := TakeBase(t.Context(), work, dir)
			if err != nil {
				t.Fatal(err)
			}
			if absent(t, dir) {
				t.Error("it is held in memory")
			}
			at, err := b.Dir()
			if err != nil {
				t.Fatal(err)
			}
			laid, err := Snapshot(t.Context(), at, nil)
			if err != nil || laid.Digest() != m.Digest() {
				t.Errorf("the base is not what the workspace was: %v", err)
			}
		})
	}
}

func fillWith(t *testing.T, work string, files, size int) {
	t.Helper()
	for i := range files {
		writeFile(t, 0o644, bytes.Repeat([]byte("x"), size), work, fmt.Sprint("f", i))
	}
}

// A base that cannot be laid out says so, leaves nothing, and can be asked again.
func TestBaseThatCannotBeLaidOut(t *testing.T) {
	t.Parallel()
	work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
	writeFile(t, 0o644, []byte("x"), work, "a")
	b, _, err := TakeBase(t.Context(), work, dir)
	if err != nil {
		t.Fatal(err)
	}
	in := writeFile(t, 0o644, []byte("in the way"), dir, "stranger")
	if _, err := b.Dir(); !errors.Is(err, ErrDestination) {
		t.Fatalf("a directory that is in use: %v", err)
	}
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	if at, err := b.Dir(); err != nil || absent(t, filepath.Join(at, "a")) {
		t.Errorf("asked again: %q, %v", at, err)
	}
}
