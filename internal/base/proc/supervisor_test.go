package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/proc"
)

type bundle struct {
	sup    *proc.Supervisor
	marker string
	dir    string
}

func setup(t testing.TB) *bundle {
	t.Helper()
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bundle{sup: sup, marker: uuid.NewString(), dir: t.TempDir()}
}

func (b *bundle) shell(script string) proc.Spec {
	return proc.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: b.dir, Grace: 2 * time.Second,
		Env: []string{"PATH=/usr/bin:/bin", marker + "=" + b.marker},
	}
}

// lineWriter collects output and calls back at the first line that has the text.
type lineWriter struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	once sync.Once
	call func()
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.text) {
		w.once.Do(w.call)
	}
	return len(p), nil
}

func TestRunGivesWhatWasAskedAndReportsTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var out, errOut bytes.Buffer
	started := 0
	exit, err := b.sup.Run(t.Context(), proc.Spec{
		Argv: []string{"sh", "-c", `cat; pwd; env | grep -v '^PWD=\|^_=\|^SHLVL=\|^OLDPWD=' | sort; echo "$1" | od -An -tx1; echo problem >&2; exit 7`, "name", "\xff\xfe"},
		Dir:  b.dir, Env: []string{"PATH=/usr/bin:/bin", "X=\xc3\x28"},
		Stdin: strings.NewReader("hello\n"), Stdout: &out, Stderr: &errOut,
		OnStart: func(pid int) { started = pid },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "hello\n" + b.dir + "\nPATH=/usr/bin:/bin\nX=\xc3\x28\n ff fe 0a\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
	if errOut.String() != "problem\n" || exit.Code != 7 || exit.Signal != "" || exit.TimedOut || exit.Canceled || exit.Cause != nil || started == 0 {
		t.Errorf("got %+v, %q, pid %d", exit, errOut.String(), started)
	}
	if exit.Duration <= 0 || exit.Killed != 0 {
		t.Errorf("got %+v", exit)
	}
}

func TestRunsFollowEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pid := b.sup.PID()
	for i := range 20 {
		exit, err := b.sup.Run(t.Context(), b.shell(fmt.Sprintf("exit %d", i)))
		if err != nil || exit.Code != i {
			t.Fatalf("run %d: %+v, %v", i, exit, err)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			exit, err := b.sup.Run(t.Context(), b.shell(fmt.Sprintf("exit %d", i)))
			if err != nil || exit.Code != i {
				t.Errorf("run %d: %+v, %v", i, exit, err)
			}
		})
	}
	wg.Wait()
	if b.sup.PID() != pid {
		t.Error("another supervisor process")
	}
}

func TestStdinFileIsHandedOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := filepath.Join(b.dir, "in")
	if err := os.WriteFile(path, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec := b.shell("cat")
	var out bytes.Buffer
	spec.Stdin, spec.Stdout = f, &out
	if _, err := b.sup.Run(t.Context(), spec); err != nil || out.String() != "from a file" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestUnreadStdinIsNoError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell("exit 0")
	spec.Stdin = bytes.NewReader(make([]byte, 4<<20))
	if exit, err := b.sup.Run(t.Context(), spec); err != nil || exit.Code != 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestSignalThatEndedTheMainProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	exit, err := b.sup.Run(t.Context(), b.shell("kill -SEGV $$"))
	if err != nil || exit.Signal != "SIGSEGV" || exit.Code != 128+11 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := filepath.Join(b.dir, "plain")
	noShebang := filepath.Join(b.dir, "noshebang")
	for path, mode := range map[string]os.FileMode{plain: 0o600, noShebang: 0o700} {
		if err := os.WriteFile(path, []byte("\x00\x01\x02"), mode); err != nil {
			t.Fatal(err)
		}
	}
	huge := b.shell("true")
	huge.Env = append(huge.Env, "HUGE="+strings.Repeat("x", 1<<20))
	for name, tc := range map[string]struct {
		spec proc.Spec
		want error
	}{
		"absent":          {proc.Spec{Argv: []string{"/no/such/command"}, Dir: b.dir}, fs.ErrNotExist},
		"not on PATH":     {proc.Spec{Argv: []string{"nosuchcommand"}, Dir: b.dir, Env: []string{"PATH=/usr/bin:/bin"}}, fs.ErrNotExist},
		"no PATH":         {proc.Spec{Argv: []string{"sh"}, Dir: b.dir}, fs.ErrNotExist},
		"relative PATH":   {proc.Spec{Argv: []string{"noshebang"}, Dir: b.dir, Env: []string{"PATH=.:"}}, fs.ErrNotExist},
		"not executable":  {proc.Spec{Argv: []string{plain}, Dir: b.dir}, fs.ErrPermission},
		"no format":       {proc.Spec{Argv: []string{noShebang}, Dir: b.dir}, syscall.ENOEXEC},
		"a directory":     {proc.Spec{Argv: []string{b.dir}, Dir: b.dir}, fs.ErrPermission},
		"no such dir":     {proc.Spec{Argv: []string{"/bin/true"}, Dir: filepath.Join(b.dir, "absent")}, fs.ErrNotExist},
		"dir is a file":   {proc.Spec{Argv: []string{"/bin/true"}, Dir: plain}, syscall.ENOTDIR},
		"too much to say": {huge, syscall.E2BIG},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.sup.Run(t.Context(), tc.spec)
			var se *proc.StartError
			if !errors.As(err, &se) || !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, spec := range map[string]proc.Spec{
		"no argv":  {Dir: b.dir},
		"rel dir":  {Argv: []string{"/bin/true"}, Dir: "."},
		"NUL":      {Argv: []string{"/bin/true", "a\x00b"}, Dir: b.dir},
		"NUL in e": {Argv: []string{"/bin/true"}, Dir: b.dir, Env: []string{"A=\x00"}},
	} {
		if _, err := b.sup.Run(t.Context(), spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if exit, err := b.sup.Run(t.Context(), b.shell("exit 0")); err != nil || exit.Code != 0 {
		t.Errorf("the supervisor is not usable any more: %+v, %v", exit, err)
	}
}

func TestLimitsHoldFromTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var out bytes.Buffer
	spec := b.shell("ulimit -n; ulimit -Hn; ulimit -t; head -c 100000 /dev/zero >big; ls -l big | cut -d' ' -f5")
	spec.Stdout = &out
	spec.Limits = proc.Limits{OpenFiles: 64, FileSize: 8192, CPU: 1500 * time.Millisecond}
	if _, err := b.sup.Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "64\n64\n2\n8192\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	spec = b.shell("ulimit -n")
	out.Reset()
	spec.Stdout = &out
	if _, err := b.sup.Run(t.Context(), spec); err != nil || out.String() == "64\n" {
		t.Errorf("the limit stayed: %q, %v", out.String(), err)
	}
}

func TestCanceledBeforeItStarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("shutdown")
	cancel(why)
	exit, err := b.sup.Run(ctx, b.shell("touch ran"))
	if err != nil || !exit.Canceled || !errors.Is(exit.Cause, why) {
		t.Errorf("got %+v, %v", exit, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestCloseEndsARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := b.shell("trap '' TERM; echo ready; while :; do sleep 1000; done")
	var closed sync.WaitGroup
	spec.Stdout = &lineWriter{text: "ready", call: func() { closed.Go(func() { _ = b.sup.Close() }) }}
	_, err := b.sup.Run(t.Context(), spec)
	if !errors.Is(err, proc.ErrClosed) {
		t.Errorf("got %v", err)
	}
	closed.Wait()
	mustBeGone(t, b.marker)
	if _, err := b.sup.Run(t.Context(), b.shell("true")); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
