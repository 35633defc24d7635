package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/proc"
)

func setupEnclosed(t *testing.T) *bundle {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	sup, err := proc.IdleSupervisor(proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{sup: sup, marker: uuid.NewString(), dir: t.TempDir()}
	t.Cleanup(func() {
		if pid := sup.PID(); pid != 0 {
			t.Errorf("a supervisor process %d was started", pid)
		}
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
		mustBeGone(t, b.marker)
	})
	return b
}

func (b *bundle) enclosed(script string) proc.Spec {
	spec := b.shell("")
	spec.Argv, spec.Enclosed = walled(script), true
	return spec
}

func TestEnclosedRunReportsItsEnd(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	for i := range 3 { // one guard for all
		var out, errOut bytes.Buffer
		var started int
		spec := b.enclosed(fmt.Sprintf("cat; echo problem >&2; exit %d", i+3))
		spec.Stdin, spec.Stdout, spec.Stderr = strings.NewReader("hello\n"), &out, &errOut
		spec.OnStart = func(pid int) { started = pid }
		exit, err := b.sup.Run(t.Context(), spec)
		if err != nil || exit.Code != i+3 || exit.Cause != nil || out.String() != "hello\n" || errOut.String() != "problem\n" || started == 0 {
			t.Fatalf("got %+v, %v, %q, %q, pid %d", exit, err, out.String(), errOut.String(), started)
		}
		if exit.Duration <= 0 {
			t.Errorf("got %+v", exit)
		}
		mustBeGone(t, b.marker)
	}
}

// The kernel counts the peak of a parent process for the child that it starts, too. That peak is not reported: in a namespace the first
// process counts, which deed did not start; elsewhere small runs have no number.
func TestPeakIsTheRunsOwn(t *testing.T) {
	t.Parallel()
	walled, plain := setupEnclosed(t), setup(t)
	for _, c := range []struct {
		name string
		b    *bundle
		spec func(string) proc.Spec
		most int64 // of a shell that does nothing
	}{
		{"enclosed", walled, walled.enclosed, 12 << 20},
		{"supervised", plain, plain.shell, 0},
	} {
		small, err := c.b.sup.Run(t.Context(), c.spec("exit 0"))
		if err != nil || small.MaxRSS > c.most || (small.MaxRSS > 0) != (c.most > 0) {
			t.Errorf("%s: a shell that does nothing had %d bytes, %v", c.name, small.MaxRSS, err)
		}
		large, err := c.b.sup.Run(t.Context(), c.spec(`head -c 300000000 /dev/zero | tr '\0' x | sort -S 1G >/dev/null`))
		if err != nil || large.MaxRSS < 250<<20 || large.MaxRSS > 2<<30 {
			t.Errorf("%s: a sort of 300 MB had %d bytes, %v", c.name, large.MaxRSS, err)
		}
	}
}

func TestEnclosedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	for range 5 {
		exit, err := b.sup.Run(t.Context(), b.enclosed(strings.Replace(threeDaemons, "exec sleep 1000", "exit 4", 1)))
		if err != nil || exit.Code != 4 {
			t.Fatalf("got %+v, %v", exit, err)
		}
		mustBeGone(t, b.marker)
	}
}

func TestEnclosedRunIsAskedFirst(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	const script = `trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done`
	const deaf = `trap '' TERM; echo ready; while :; do sleep 0.01; done`
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		cause        error
		code         int
		out          string
	}{
		{name: "in order", script: script, grace: 20 * time.Second, cause: context.Canceled, code: 5, out: "ready\nasked\n"},
		{name: "deaf", script: deaf, grace: 50 * time.Millisecond, cause: context.Canceled, code: 137, out: "ready\n"},
		{name: "at once", script: script, grace: time.Hour, cause: fmt.Errorf("full: %w", proc.ErrAtOnce), code: 137, out: "ready\n"},
		{name: "no grace", script: script, grace: -1, cause: context.Canceled, code: 137, out: "ready\n"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		spec := b.enclosed(c.script)
		out := &lineWriter{text: "ready", call: func() { cancel(c.cause) }}
		spec.Stdout, spec.Grace = out, c.grace
		exit, err := b.sup.Run(ctx, spec)
		if err != nil || exit.Code != c.code || !exit.Canceled || !errors.Is(exit.Cause, c.cause) || out.buf.String() != c.out {
			t.Errorf("%s: got %+v, %v, %q", c.name, exit, err, out.buf.String())
		}
		mustBeGone(t, b.marker)
	}
}

// A run that is cancelled while its sandbox is being built ends at once: no process inside could be asked to end, and the command is not
// started just to get its grace.
func TestEnclosedRunIsToldToEndEarly(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	for i := range 24 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		spec := b.enclosed("exec sleep 1000")
		spec.Grace = time.Hour
		spec.OnStart = func(int) { time.AfterFunc(time.Duration(i)*500*time.Microsecond, cancel) }
		exit, err := b.sup.Run(ctx, spec)
		if err != nil || !exit.Canceled || exit.Code == 0 {
			t.Errorf("after %d half milliseconds: got %+v, %v", i, exit, err)
		}
		mustBeGone(t, b.marker)
	}
}

func TestEnclosedRunHasATimeLimit(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	spec := b.enclosed(threeDaemons)
	spec.Timeout, spec.Grace = 300*time.Millisecond, 50*time.Millisecond
	exit, err := b.sup.Run(t.Context(), spec)
	if err != nil || !exit.TimedOut || !errors.Is(exit.Cause, proc.ErrTimeout) {
		t.Errorf("got %+v, %v", exit, err)
	}
	mustBeGone(t, b.marker)
}

func TestEnclosedRunThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	file := filepath.Join(b.dir, "text")
	if err := os.WriteFile(file, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := b.enclosed("")
	spec.Argv = []string{file}
	var start *proc.StartError
	if _, err := b.sup.Run(t.Context(), spec); !errors.As(err, &start) || !errors.Is(err, syscall.ENOEXEC) {
		t.Errorf("got %v", err)
	}
	if exit, err := b.sup.Run(t.Context(), b.enclosed("exit 3")); err != nil || exit.Code != 3 {
		t.Errorf("the next: %+v, %v", exit, err)
	}
}

func TestEnclosedRunGetsNothingOfTheProcess(t *testing.T) {
	// Not parallel: the mask and the open descriptor are those of the whole process.
	b := setupEnclosed(t)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	fd, err := syscall.Open("/", syscall.O_RDONLY, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var out bytes.Buffer
	spec := b.enclosed("umask; ls /proc/self/fd; ulimit -Hc; touch " + b.dir + "/made")
	spec.Stdout, spec.Stderr = &out, &out
	if exit, err := b.sup.Run(t.Context(), spec); err != nil || exit.Code != 0 {
		t.Fatalf("got %+v, %v, %s", exit, err, out.String())
	}
	if got := out.String(); got != "0022\n0\n1\n2\n3\n0\n" { // 3 is the directory that ls reads; dash counts blocks of 512 bytes
		t.Errorf("got %q", got)
	}
	if st, err := os.Stat(b.dir + "/made"); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("got %v, %v", st, err)
	}
	if mask := syscall.Umask(0o077); mask != 0o077 {
		t.Errorf("the mask of the process has become %o", mask)
	}
}

func TestEnclosedRunEndsWithTheSupervisor(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	spec := b.enclosed(threeDaemons)
	var wg sync.WaitGroup
	spec.Stdout = &lineWriter{text: "ready", call: func() {
		wg.Go(func() {
			if err := b.sup.Close(); err != nil {
				t.Error(err)
			}
		})
	}}
	if _, err := b.sup.Run(t.Context(), spec); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("got %v", err)
	}
	wg.Wait()
	mustBeGone(t, b.marker)
	if _, err := b.sup.Run(t.Context(), spec); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("after the close: %v", err)
	}
}

func TestEnclosedRunsGoOnWithoutTheirGuard(t *testing.T) {
	t.Parallel()
	b := setupEnclosed(t)
	if err := b.sup.Begin(true); err != nil {
		t.Fatal(err)
	}
	if exit, err := b.sup.Run(t.Context(), b.enclosed("exit 5")); err != nil || exit.Code != 5 {
		t.Fatalf("got %+v, %v", exit, err)
	}
	first := b.sup.GuardPID()
	_ = syscall.Kill(first, syscall.SIGKILL)
	waitExit(t, first)
	// It is gone before a run, and the next is killed during one.
	spec := b.enclosed("echo ready; read line; exit 6")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spec.Stdin = r
	var second int
	spec.Stdout = &lineWriter{text: "ready", call: func() {
		second = b.sup.GuardPID()
		_ = syscall.Kill(second, syscall.SIGKILL)
		waitExit(t, second)
		w.Close()
	}}
	if exit, err := b.sup.Run(t.Context(), spec); err != nil || exit.Code != 6 {
		t.Errorf("got %+v, %v", exit, err)
	}
	if exit, err := b.sup.Run(t.Context(), b.enclosed("exit 7")); err != nil || exit.Code != 7 {
		t.Errorf("got %+v, %v", exit, err)
	}
	if third := b.sup.GuardPID(); first == second || second == third {
		t.Errorf("guards %d, %d, %d", first, second, third)
	}
}

// However far a run has come when deed is killed, nothing of it is left. The times are spread over the milliseconds in which the
// sandbox is built.
func TestSIGKILLOfTheParentLeavesNothingEnclosed(t *testing.T) {
	setupEnclosed(t)
	t.Setenv(helperEnclosed, "1")
	rounds := 40
	for i := range rounds {
		mark := uuid.NewString()
		parent, _ := startParent(t, mark, "exec sleep 1000")
		pause := time.Duration(i) * 12 * time.Millisecond / time.Duration(rounds)
		<-time.After(pause + time.Duration(rand.Int64N(int64(300*time.Microsecond))))
		_ = parent.Process.Kill()
		_ = parent.Wait()
		waitGone(t, mark)
		if t.Failed() {
			t.Fatalf("killed after %v", pause)
		}
	}
}
