package tool_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A fixture is a host over a workspace, contained or not.
type fixture struct {
	*tool.Host
	t      *testing.T
	dir    string // on this machine
	id     string
	starts atomic.Int32
	config tool.HostConfig
}

func open(t *testing.T, kind sandbox.Kind) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), id: uuid.NewString()}
	spec := sandbox.Spec{Kind: kind, Mounts: []sandbox.Mount{{Source: f.dir, Target: "/workspace", Writable: true}}}
	if kind == sandbox.None || kind == sandbox.Process {
		spec.Mounts = nil
	} else if testing.Short() {
		t.Skip("short: needs a sandbox")
	}
	box, err := sandbox.New(t.Context(), spec)
	if failure.ClassOf(err) == failure.Isolation {
		t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inside, _ := box.Inside(f.dir)
	f.config = tool.HostConfig{
		Run:  func(ctx context.Context, s proc.Spec) (sandbox.Exit, error) { return box.Run(ctx, sup, s) },
		Self: box.Self(), Workspace: inside, Env: []string{"PATH=/usr/bin:/bin", "DEED_ATTEMPT_ID=" + f.id},
		OnStart: func(int) { f.starts.Add(1) },
	}
	f.Host = tool.Open(t.Context(), f.config)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left, err := proc.FindByEnv("DEED_ATTEMPT_ID", f.id); err != nil || len(left) > 0 {
			t.Errorf("processes left: %v, %v", left, err)
		}
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) call(name string, in m) (string, tool.Outcome) {
	f.t.Helper()
	var out bytes.Buffer
	o, err := f.Call(f.t.Context(), name, []byte(input(f.t, in)), &out)
	if err != nil {
		f.t.Fatalf("%v\n%s", err, &out)
	}
	return out.String(), o
}

func eachKind(t *testing.T, test func(t *testing.T, kind sandbox.Kind)) {
	for _, kind := range []sandbox.Kind{sandbox.Process, sandbox.Namespace} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind sandbox.Kind) {
		f := open(t, kind)
		if out, o := f.call(tool.Write, m{"path": "a/b", "content": "one\n"}); o.Failed {
			t.Fatal(out)
		}
		if got, err := os.ReadFile(filepath.Join(f.dir, "a/b")); err != nil || string(got) != "one\n" {
			t.Fatalf("%q, %v", got, err)
		}
		if out, o := f.call(tool.Shell, m{"command": "cat a/b; sleep 1000 & echo $PPID >/dev/null; exit 4"}); !o.Failed || o.ErrorType != tool.TypeExit || *o.ExitCode != 4 || !strings.HasPrefix(out, "one\n") {
			t.Errorf("%q, %+v", out, o)
		}
		if out, o := f.call(tool.Edit, m{"path": "a/b", "old": "two", "new": "x"}); o.ErrorType != tool.TypeNoMatch {
			t.Errorf("%q, %+v", out, o)
		}
		if out, o := f.call(tool.Read, m{"path": "../x"}); o.ErrorType != tool.TypeOutside {
			t.Errorf("%q, %+v", out, o)
		}
		if out, o := f.call(tool.Shell, m{"command": "yes 0123456789 | head -c 3000000"}); o.Failed || len(out) != 3000000 {
			t.Errorf("%d bytes, %+v", len(out), o)
		}
		if out, o := f.call(tool.Todo, m{"items": []m{}}); o.ErrorType != tool.TypeUnknown {
			t.Errorf("%q, %+v", out, o)
		}
		if n := f.starts.Load(); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

// TestHostIsKilled has a command kill the host, again and again.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind sandbox.Kind) {
		f := open(t, kind)
		// The parent of the command's supervisor is the host.
		kill := m{"command": `p=$PPID; while read -r name value rest; do [ "$name" = PPid: ] && kill -9 "$value" && break; done </proc/$p/status; sleep 100`}
		for range tool.MaxStarts - 1 {
			out, o := f.call(tool.Shell, kill)
			if o.ErrorType != tool.TypeHostLost {
				t.Fatalf("%q, %+v", out, o)
			}
		}
		if out, o := f.call(tool.List, m{}); o.Failed {
			t.Errorf("the last one: %q, %+v", out, o)
		}
		if _, o := f.call(tool.Shell, kill); o.ErrorType != tool.TypeHostLost {
			t.Errorf("%+v", o)
		}
		if _, err := f.Call(t.Context(), tool.List, []byte("{}"), &bytes.Buffer{}); failure.ClassOf(err) != failure.AgentFailed {
			t.Errorf("got %v", err)
		}
	})
}

// TestHostIsLiedFor has a command write into the pipes of the host.
func TestHostIsLiedFor(t *testing.T) {
	t.Parallel()
	f := open(t, sandbox.Process)
	out, o := f.call(tool.Shell, m{"command": `p=$PPID; while read -r name value rest; do [ "$name" = PPid: ] && head -c 100000 /dev/zero | tr '\0' z >/proc/$value/fd/1 && break; done </proc/$p/status; sleep 100`})
	if o.ErrorType != tool.TypeHostLost || !strings.Contains(out, "no answer") {
		t.Errorf("%q, %+v", out, o)
	}
	if out, o := f.call(tool.List, m{}); o.Failed {
		t.Errorf("%q, %+v", out, o)
	}
}

func TestHostEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	f := open(t, sandbox.Process)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var out writerFunc = func(p []byte) (int, error) {
		cancel(stop)
		return len(p), nil
	}
	_, err := f.Call(ctx, tool.Shell, []byte(`{"command": "echo up; trap '' TERM; while :; do sleep 1000; done"}`), out)
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestHostOutputThatCannotBeKept(t *testing.T) {
	t.Parallel()
	f := open(t, sandbox.Process)
	full := errors.New("disk full")
	_, err := f.Call(t.Context(), tool.Shell, []byte(`{"command": "yes"}`), writerFunc(func([]byte) (int, error) { return 0, full }))
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestHostThatCannotStart(t *testing.T) {
	t.Parallel()
	f := open(t, sandbox.Process)
	f.config.Self = "/nonexistent"
	h := tool.Open(t.Context(), f.config)
	if _, err := h.Call(t.Context(), tool.List, []byte("{}"), &bytes.Buffer{}); failure.ClassOf(err) != failure.Infra {
		t.Errorf("got %v", err)
	}
	broken := failure.New(failure.Isolation, "set up", errors.New("no"), "")
	h = tool.Open(t.Context(), tool.HostConfig{Run: func(context.Context, proc.Spec) (sandbox.Exit, error) { return sandbox.Exit{}, broken }})
	if _, err := h.Call(t.Context(), tool.List, []byte("{}"), &bytes.Buffer{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestHostPastALimit has a command use more memory than the sandbox gives.
func TestHostPastALimit(t *testing.T) {
	t.Parallel()
	f := open(t, sandbox.Process)
	limit := &sandbox.LimitError{Limit: "memory", Used: 2, Max: 1}
	var n int
	f.config.Run = func(ctx context.Context, s proc.Spec) (sandbox.Exit, error) {
		n++
		return sandbox.Exit{Exit: proc.Exit{Cause: limit}, Limit: limit.Limit}, nil
	}
	h := tool.Open(t.Context(), f.config)
	for range tool.MaxStarts {
		var out bytes.Buffer
		if o, err := h.Call(t.Context(), tool.List, []byte("{}"), &out); err != nil || o.ErrorType != tool.TypeLimit || !strings.Contains(out.String(), "memory") {
			t.Errorf("%+v, %v, %s", o, err, &out)
		}
	}
	if _, err := h.Call(t.Context(), tool.List, []byte("{}"), &bytes.Buffer{}); failure.ClassOf(err) != failure.Limit {
		t.Errorf("got %v", err)
	}
	if n != tool.MaxStarts {
		t.Errorf("%d starts", n)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
