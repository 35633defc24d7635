//go:build linux

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/proc"
)

func TestFilesAreHandedOverInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var files []*os.File
	for i := range 20 {
		path := filepath.Join(b.dir, fmt.Sprint("file", i))
		if err := os.WriteFile(path, fmt.Appendf(nil, "content %d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spec := b.shell(`cat /dev/fd/3 /dev/fd/12 /dev/fd/22; echo written >&23`)
	spec.Argv[0] = "/bin/bash" // descriptors of two digits
	if _, err := os.Stat(spec.Argv[0]); err != nil {
		t.Skip("missing tool: bash: apt-get install bash")
	}
	var out bytes.Buffer
	spec.Stdout, spec.Files = &out, append(files, w)
	if _, err := b.sup.Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "content 0\ncontent 9\ncontent 19\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The caller's end was not closed, and no other copy of it is left anywhere.
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "written\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestNothingElseIsInherited looks at the descriptors of a run from inside, with and without files, while deed holds
// others open, one of which it would pass on, as it would what it inherited so itself.
func TestNothingElseIsInherited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	leak, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 200)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	b := setup(t)
	for n := range 4 {
		spec := b.shell("echo /proc/self/fd/*") // the shell itself opens nothing but the directory while it globs
		var out bytes.Buffer
		spec.Stdout = &out
		want := []string{"/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"}
		for i := range n {
			spec.Files = append(spec.Files, f)
			want = append(want, fmt.Sprint("/proc/self/fd/", 3+i))
		}
		if _, err := b.sup.Run(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(out.String())
		if len(got) == len(want)+1 { // the directory
			got = got[:len(want)]
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("with %d files: got %v, want %v", n, got, want)
		}
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell("exit 3")
	for range proc.MaxFiles {
		spec.Files = append(spec.Files, os.Stderr)
	}
	if exit, err := b.sup.Run(t.Context(), spec); err != nil || exit.Code != 3 {
		t.Errorf("got %+v, %v", exit, err)
	}
	spec.Files = append(spec.Files, os.Stderr)
	if _, err := b.sup.Run(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "at most 250") {
		t.Errorf("got %v", err)
	}
}

func TestWrapperHearsNoSIGTERM(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The wrapper would say so if it were asked to end. Its child ends in order, and the wrapper with it.
	spec := b.shell(`trap 'echo wrapper' TERM; sh -c 'trap "echo child; exit 5" TERM; echo ready; while :; do sleep 0.01; done'; exit $?`)
	out := &lineWriter{text: "ready", call: cancel}
	spec.Stdout, spec.Wrapper, spec.Grace = out, true, 20*time.Second
	exit, err := b.sup.Run(ctx, spec)
	if err != nil || exit.Code != 5 || !exit.Canceled {
		t.Errorf("got %+v, %v", exit, err)
	}
	if got := out.buf.String(); got != "ready\nchild\n" {
		t.Errorf("got %q", got)
	}
}

func TestAtOnceKnowsNoGrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fmt.Errorf("too much memory: %w", proc.ErrAtOnce)
	spec := b.shell("trap 'echo asked' TERM; echo ready; while :; do sleep 1000; done")
	out := &lineWriter{text: "ready", call: func() { cancel(why) }}
	spec.Stdout, spec.Grace = out, time.Hour
	exit, err := b.sup.Run(ctx, spec)
	if err != nil || exit.Signal != "SIGKILL" || !errors.Is(exit.Cause, why) || out.buf.String() != "ready\n" {
		t.Errorf("got %+v, %v, %q", exit, err, out.buf.String())
	}
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.marker = uuid.NewString()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spec := b.shell("(setsid sh -c 'sleep 1000; :' & sleep 1000; :) & echo ready; wait")
	var seen, few int
	spec.Stdout = &lineWriter{text: "ready", call: func() {
		pollMarked(t, b.marker, func(p []int) bool { return len(p) >= 5 })
		seen, few = len(proc.Descendants(b.sup.PID(), 100)), len(proc.Descendants(b.sup.PID(), 2))
		cancel()
	}}
	if _, err := b.sup.Run(ctx, spec); err != nil {
		t.Fatal(err)
	}
	if seen != 5 || few != 2 {
		t.Errorf("saw %d and %d", seen, few)
	}
}

func TestOOMScoreAndCoreLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell("cat /proc/self/oom_score_adj; grep core /proc/self/limits | tr -s ' '")
	var out bytes.Buffer
	spec.Stdout, spec.Limits = &out, proc.Limits{OOMScore: 321}
	if _, err := b.sup.Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(out.String()), "321\nMax core file size 1 1 bytes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
