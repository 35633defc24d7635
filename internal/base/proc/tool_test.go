package proc_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/base/proc"
)

func TestToolReportsOutputAndExit(t *testing.T) {
	t.Parallel()
	res, err := proc.Tool(t.Context(), proc.ToolSpec{
		Argv:  []string{"/bin/sh", "-c", `cat; echo "[$HOME][$X]"; echo problem >&2; exit 3`},
		Env:   []string{"X=1"},
		Stdin: strings.NewReader("in "),
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 3 || string(res.Stdout) != "in [][1]\n" || string(res.Stderr) != "problem\n" {
		t.Errorf("got %d %q %q", res.ExitCode, res.Stdout, res.Stderr)
	}
	var te *proc.ToolError
	if !errors.As(res.Check(), &te) || te.ExitCode != 3 {
		t.Errorf("Check: %v", res.Check())
	}
}

func TestToolStreamsToWriter(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	res, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"/bin/echo", "hi"}, Stdout: &buf})
	if err != nil || buf.String() != "hi\n" || len(res.Stdout) != 0 {
		t.Errorf("got %v %q %q", err, buf.String(), res.Stdout)
	}
}

func TestToolIsKilledAtItsOutputLimit(t *testing.T) {
	t.Parallel()
	_, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"/bin/sh", "-c", "while :; do echo xxxxxxxxxxxxxxxx; done"}, MaxOutput: 1 << 16})
	if !errors.Is(err, proc.ErrOutputLimit) {
		t.Errorf("got %v", err)
	}
}

func TestToolIsKilledWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("operator said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := writerFunc(func(p []byte) (int, error) { cancel(why); return len(p), nil })
	_, err := proc.Tool(ctx, proc.ToolSpec{Argv: []string{"/bin/sh", "-c", "trap '' TERM; echo ready; sleep 1000 & wait"}, Stdout: w})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestToolThatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"/no/such/tool"}}); err == nil {
		t.Error("no error")
	}
	if _, err := proc.Tool(t.Context(), proc.ToolSpec{}); err == nil {
		t.Error("no error for an empty argv")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
