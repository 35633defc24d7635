package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func env(kv ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag string
		env        func(string) string
		want       string
	}{
		{"flag wins", "/f", env("DEED_HOME", "/e", "HOME", "/h"), "/f"},
		{"variable", "", env("DEED_HOME", "/e", "HOME", "/h"), "/e"},
		{"xdg", "", env("XDG_STATE_HOME", "/x", "HOME", "/h"), "/x/deed"},
		{"relative xdg is ignored, as its specification says", "", env("XDG_STATE_HOME", "x", "HOME", "/h"), "/h/.local/state/deed"},
		{"home", "", env("HOME", "/h"), "/h/.local/state/deed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Resolve(c.flag, c.env)
			if err != nil || got != c.want {
				t.Errorf("Resolve = %q, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := Resolve("", env()); err == nil {
		t.Error("Resolve without any hint: no error")
	}
}

func TestOpenMakesPrivateDirectories(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "a", "b")
	h, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{h.Root(), h.Attempts(), h.Bundles(), h.Keys(), h.Tmp(), h.Cache()} {
		fi, err := os.Stat(d)
		if err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v, want mode 0700", d, fi, err)
		}
	}
	left, err := os.ReadDir(h.Tmp())
	if err != nil || len(left) != 0 {
		t.Errorf("the write probe left %v, %v", left, err)
	}
}

func TestOpenOnAFileIsUnusable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), file) {
		t.Errorf("Open on a file: %v, want ErrUnusable that names it", err)
	}
	if _, err := View(filepath.Join(file, "none")); err == nil {
		t.Error("View below a file: no error")
	}
}

func TestLockIsHeldOnceAndToldApart(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l, err := h.Lock(Holder{PID: 41, RunnerID: "first", CreatedAt: at})
	if err != nil {
		t.Fatal(err)
	}
	if l.Stale != nil {
		t.Errorf("a new lock is stale: %+v", l.Stale)
	}
	if _, err := h.Lock(Holder{PID: 42, RunnerID: "second"}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "first") {
		t.Errorf("second Lock: %v, want ErrLocked that names the holder", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	l, err = h.Lock(Holder{PID: 43, RunnerID: "third"})
	if err != nil || l.Stale != nil {
		t.Fatalf("Lock after a release: %+v, %v, want no stale holder", l, err)
	}
	// A holder that dies releases the kernel's lock and leaves its text.
	if err := l.f.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = h.Lock(Holder{PID: 44, RunnerID: "fourth"})
	if err != nil || l.Stale == nil || l.Stale.RunnerID != "third" {
		t.Fatalf("Lock after a death: %+v, %v, want the third as stale", l, err)
	}
}

// After a crash many starters race for the lock; exactly one may have it.
func TestLockAfterACrashIsTakenOnce(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.Root(), "dispatch.lock"), []byte(`{"pid":1,"runner_id":"dead"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []*Lock
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if l, err := h.Lock(Holder{PID: 2, RunnerID: "new"}); err == nil {
				mu.Lock()
				held = append(held, l)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(held) != 1 {
		t.Fatalf("%d starters have the lock, want 1", len(held))
	}
	if held[0].Stale == nil || held[0].Stale.RunnerID != "dead" {
		t.Errorf("stale holder is %+v, want the dead one", held[0].Stale)
	}
}

func TestWake(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.Wake() // nobody listens: must neither block nor fail
	ctx, cancel := context.WithCancel(t.Context())
	ch, err := h.Wakes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h.Wake()
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			t.Fatal("no wake-up")
		}
	}
	cancel()
	for deadline := time.After(10 * time.Second); ; {
		select {
		case _, ok := <-ch:
			if !ok {
				return
			}
		case <-deadline:
			t.Fatal("the channel does not close with its context")
		}
	}
}

func TestWakeRefusesAnotherKindOfFile(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.Root(), "wake"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wakes(t.Context()); err == nil {
		t.Error("a regular file in place of the FIFO: no error")
	}
}

func TestReadOnlyHomeIsUnusable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root is not held by file modes")
	}
	root := t.TempDir()
	if _, err := Open(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root); !errors.Is(err, ErrUnusable) {
		t.Errorf("Open on a read-only home: %v, want ErrUnusable", err)
	}
}

// Of all that lies in a home, only the artifacts of a bundle may be shown to an agent.
func TestPublished(t *testing.T) {
	t.Parallel()
	h, err := Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	art := filepath.Join(h.Bundle("a1"), "files", "artifacts")
	if err := os.MkdirAll(filepath.Join(art, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(art, "out")
	if err := os.Symlink(h.Keys(), link); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(h.Keys(), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		art: true, filepath.Join(art, "sub"): true, filepath.Join(art, "..", "artifacts"): true,
		filepath.Join(art, "..", ".."): false, h.Bundles(): false, h.Root(): false, h.Keys(): false, link: false, filepath.Join(art, "gone"): false, "/": false,
	} {
		if got := h.Published(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestWatchersDoNotTakeEachOthersWakes(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.Changed() // nobody has watched yet
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dispatcher, err := h.Wakes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var watchers []<-chan struct{}
	for range 3 {
		w, err := h.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		watchers = append(watchers, w)
	}
	// What a process that was killed left behind is cleared away by the next change.
	left := filepath.Join(h.watchers(), "left")
	if err := unix.Mkfifo(left, 0o600); err != nil {
		t.Fatal(err)
	}
	woken := func(ch <-chan struct{}) {
		t.Helper()
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			t.Fatal("no wake-up")
		}
	}
	h.Changed()
	for _, w := range watchers {
		woken(w)
	}
	select {
	case <-dispatcher:
		t.Error("a change that is no work woke the dispatcher")
	default:
	}
	if _, err := os.Lstat(left); err == nil {
		t.Error("the leftover is still there")
	}
	h.Wake()
	for _, ch := range append(watchers, dispatcher) {
		woken(ch)
	}
}
