//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

const (
	attackMode = "SANDBOX_TEST_ATTACK" // be an attacker
	parentMode = "SANDBOX_TEST_PARENT" // be a deed in small
	parentKind = "SANDBOX_TEST_KIND"   // with this kind
	attacker   = "/attack/bin"         // the test binary, inside
	marker     = "DEED_TEST_MARKER"
	// replacedMode is a deed whose binary was replaced while it ran; the value is its egress socket.
	replacedMode = "SANDBOX_TEST_REPLACED"
)

func TestMain(m *testing.M) {
	switch {
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.SupervisorMain(os.Args))
	case sandbox.IsInner(os.Args):
		os.Exit(sandbox.InnerMain(os.Args))
	case os.Getenv(attackMode) != "":
		os.Exit(attackMain(os.Getenv(attackMode)))
	case os.Getenv(replacedMode) != "":
		os.Exit(replacedMain(os.Getenv(replacedMode)))
	case os.Getenv(parentMode) != "":
		os.Exit(parentMain(os.Getenv(parentMode)))
	}
	goleak.VerifyTestMain(m)
}

// A fixture is a workspace, a supervisor, and what a run in them printed.
type fixture struct {
	t   testing.TB
	sup *proc.Supervisor
	ws  string // the workspace on the host; inside it is /ws

	stdin string // a file that is the stdin of some attacks
}

func setup(t testing.TB) *fixture {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace}); err != nil {
		t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%v)", err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t: t, sup: sup, ws: t.TempDir()}
}

// spec is a sandbox that sees the workspace and the attacker.
func (f *fixture) spec(kind sandbox.Kind) sandbox.Spec {
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	return sandbox.Spec{Kind: kind, Watch: []string{f.ws}, Mounts: []sandbox.Mount{
		{Source: f.ws, Target: "/ws", Writable: true}, {Source: exe, Target: attacker},
	}}
}

func (f *fixture) open(spec sandbox.Spec) *sandbox.Sandbox {
	f.t.Helper()
	s, err := sandbox.New(f.t.Context(), spec)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// command is a run of the attacker or of a shell script, in the workspace.
func (f *fixture) command(s *sandbox.Sandbox, env []string, argv ...string) (proc.Spec, *bytes.Buffer) {
	var out bytes.Buffer
	dir, ok := s.Inside(f.ws)
	if !ok {
		f.t.Fatal("the workspace is not inside")
	}
	w := &lockedWriter{w: &out}
	return proc.Spec{
		Argv: argv, Dir: dir, Stdout: w, Stderr: w, Timeout: time.Minute, Grace: 5 * time.Second,
		Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "WS=" + dir}, env...),
	}, &out
}

// shell runs a script and returns what it printed.
func (f *fixture) shell(spec sandbox.Spec, script string) (string, sandbox.Exit) {
	f.t.Helper()
	s := f.open(spec)
	p, out := f.command(s, nil, "/bin/sh", "-c", script)
	exit, err := s.Run(f.t.Context(), f.sup, p)
	if err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	return out.String(), exit
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// parentMain runs a script in a sandbox until it is killed.
func parentMain(script string) int {
	ctx := context.Background()
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kind := sandbox.Namespace
	if k := os.Getenv(parentKind); k != "" {
		kind = sandbox.Kind(k)
	}
	s, err := sandbox.New(ctx, sandbox.Spec{Kind: kind})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, err = s.Run(ctx, sup, proc.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: "/tmp", Stdout: os.Stdout, Stderr: os.Stderr,
		Env: []string{"PATH=/usr/bin:/bin", marker + "=" + os.Getenv(marker), "DEED_ATTEMPT_ID=" + os.Getenv(marker)},
	})
	fmt.Fprintln(os.Stderr, "run ended:", err)
	return 1
}

// replacedMain removes its own binary and runs a command with a way out. It returns the exit code of that.
func replacedMain(socket string) int {
	ctx := context.Background()
	os.Remove(os.Args[0])
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer sup.Close()
	s, err := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Namespace, Egress: socket})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	exit, err := s.Run(ctx, sup, proc.Spec{Argv: []string{"/bin/sh", "-c", "exit 7"}, Dir: "/tmp", Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return exit.Code
}

// write makes a file with its directories.
func write(t testing.TB, content string, mode os.FileMode, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustContain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
