package atomicfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

func TestWriteFileReplacesWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	for _, text := range []string{"one", "", "three"} {
		if err := atomicfile.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(p)
		if err != nil || string(b) != text {
			t.Errorf("got %q, %v", b, err)
		}
	}
	info, err := os.Stat(p)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestReadersNeverSeeAPart(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "f")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<16)}
	if err := atomicfile.WriteFile(p, texts[0], 0o644); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		for i := range 30 {
			if err := atomicfile.WriteFile(p, texts[i%2], 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	for !done.Load() {
		b, err := os.ReadFile(p)
		if err != nil || !bytes.Equal(b, texts[0]) && !bytes.Equal(b, texts[1]) {
			t.Errorf("read %d bytes, %v", len(b), err)
		}
	}
	wg.Wait()
}

func TestCreateFileHasOneWinner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch err := atomicfile.CreateFile(p, fmt.Appendf(nil, "%d", i), 0o600); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, atomicfile.ErrExists):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d winners", won.Load())
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWriteFaultsAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := atomicfile.WriteFile(filepath.Join(dir, "none", "f"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOSPC: atomicfile.ErrFull, syscall.EDQUOT: atomicfile.ErrFull,
		syscall.EROFS: atomicfile.ErrReadOnly, syscall.EACCES: atomicfile.ErrReadOnly, syscall.EPERM: atomicfile.ErrReadOnly,
	} {
		err := atomicfile.Explain("write x", &os.PathError{Op: "write", Path: "x", Err: errno})
		if !errors.Is(err, want) || !errors.Is(err, errno) || !strings.HasPrefix(err.Error(), "write x: ") {
			t.Errorf("%v: got %v", errno, err)
		}
	}
	if atomicfile.Explain("x", nil) != nil {
		t.Error("nil became an error")
	}
}

// /dev/full takes no byte, as a full disk does, and sysfs takes no new file, as a read-only one does.
func TestWriteOnRealBadDisks(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/sys/kernel"); err == nil {
		err := atomicfile.WriteFile("/sys/kernel/deed-test", []byte("x"), 0o600)
		if !errors.Is(err, atomicfile.ErrReadOnly) {
			t.Errorf("got %v", err)
		}
	}
	if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		_, werr := f.Write([]byte("x"))
		if err := atomicfile.Explain("write", werr); !errors.Is(err, atomicfile.ErrFull) {
			t.Errorf("got %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPublishDir(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	tmp, final := filepath.Join(parent, "tmp"), filepath.Join(parent, "final")
	if err := atomicfile.MkdirAll(filepath.Join(tmp, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"x", "a/y", "a/b/z"} {
		if err := os.WriteFile(filepath.Join(tmp, p), []byte(p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/nowhere", filepath.Join(tmp, "link")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.PublishDir(context.Background(), tmp, final); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(final, "a/b/z")); err != nil || string(b) != "a/b/z" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := os.Lstat(tmp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestPublishDirRefusesATakenName(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(string) error{
		"empty directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"file":            func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"dangling link":   func(p string) error { return os.Symlink("/nowhere", p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			tmp, final := filepath.Join(parent, "tmp"), filepath.Join(parent, "final")
			if err := os.Mkdir(tmp, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := take(final); err != nil {
				t.Fatal(err)
			}
			if err := atomicfile.PublishDir(context.Background(), tmp, final); !errors.Is(err, atomicfile.ErrExists) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSyncTreeStopsWhenToldTo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := atomicfile.SyncTree(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := atomicfile.SyncTree(context.Background(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkSyncTree(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		for i := range 22 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 800), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := atomicfile.SyncTree(context.Background(), dir); err != nil {
			b.Fatal(err)
		}
	}
}

// Replace puts a complete file at a path, whatever was there, even a link, and leaves no other file behind.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.WriteFile(other, []byte("theirs"), 0o644), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := atomicfile.Replace(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if fi, serr := os.Lstat(path); err != nil || serr != nil || string(got) != text || fi.Mode() != 0o600 {
			t.Errorf("%q, %v, %v, %v; want %q in a file of mode 0600", got, err, fi, serr, text)
		}
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "theirs" {
		t.Errorf("the link was followed: %q, %v", got, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left beside it: %v, %v", list, err)
	}
	if err := atomicfile.Replace(filepath.Join(dir, "none", "f"), nil, 0o600); err == nil {
		t.Error("a directory that is not there: no error")
	}
}
