package proc_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/proc"
)

// A command of an operator is over when SupervisedTool returns, and so is what it put into the background.
func TestHeldIsToolThatLeavesNothing(t *testing.T) {
	t.Parallel()
	mark := uuid.NewString()
	res, err := proc.SupervisedTool(t.Context(), proc.ToolSpec{
		Argv: []string{"sh", "-c", `setsid sleep 1000 >/dev/null 2>&1 & cat; pwd; echo problem >&2; exit 3`}, Dir: "/",
		Env: []string{"PATH=/usr/bin:/bin", marker + "=" + mark}, Stdin: strings.NewReader("in "),
	})
	if err != nil || res.ExitCode != 3 || string(res.Stdout) != "in /\n" || string(res.Stderr) != "problem\n" {
		t.Errorf("got %v %d %q %q", err, res.ExitCode, res.Stdout, res.Stderr)
	}
	var te *proc.ToolError
	if !errors.As(res.Check(), &te) || te.Name != "sh" || te.ExitCode != 3 {
		t.Errorf("Check: %v", res.Check())
	}
	mustBeGone(t, mark)
}

func TestHeldFails(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/usr/bin:/bin"}
	_, err := proc.SupervisedTool(t.Context(), proc.ToolSpec{Argv: []string{"sh", "-c", "while :; do echo xxxxxxxxxxxxxxxx; done"}, Env: env, MaxOutput: 1 << 16})
	if !errors.Is(err, proc.ErrOutputLimit) {
		t.Errorf("too much: %v", err)
	}
	why := errors.New("operator said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := writerFunc(func(p []byte) (int, error) { cancel(why); return len(p), nil })
	if _, err := proc.SupervisedTool(ctx, proc.ToolSpec{Argv: []string{"sh", "-c", "trap '' TERM; echo ready; sleep 1000 & wait"}, Env: env, Stdout: w}); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	var start *proc.StartError
	if _, err := proc.SupervisedTool(t.Context(), proc.ToolSpec{Argv: []string{"no-such-tool"}, Env: env}); !errors.As(err, &start) {
		t.Errorf("no tool: %v", err)
	}
	if _, err := proc.SupervisedTool(t.Context(), proc.ToolSpec{}); err == nil {
		t.Error("no error for an empty argv")
	}
}

// What a tool started is gone when deed is killed: all of it below a supervisor, its process group under a guard.
func TestSIGKILLOfTheParentEndsItsTools(t *testing.T) {
	t.Parallel()
	for how, script := range map[string]string{
		"held":    `trap '' TERM; setsid sleep 1000 & sleep 1000 & echo ready; wait`,
		"guarded": `sleep 1000 & echo ready; wait`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			mark := uuid.NewString()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), helperMode+"="+script, helperTool+"="+how, marker+"="+mark)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Errorf("it said %q, %v", line, err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			waitGone(t, mark)
		})
	}
}

// What leaves the group of a guarded tool stays, as the agent of a keychain has to.
func TestGuardedToolLeavesItsDaemon(t *testing.T) {
	t.Parallel()
	mark := uuid.NewString()
	res, err := proc.Tool(t.Context(), proc.ToolSpec{
		Argv: []string{"/bin/sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo secret"}, Env: []string{"PATH=/usr/bin:/bin", marker + "=" + mark}, Guarded: true,
	})
	if err != nil || string(res.Stdout) != "secret\n" {
		t.Fatalf("%q, %v", res.Stdout, err)
	}
	if left := pollMarked(t, mark, func(p []int) bool { return len(p) == 1 }); len(left) != 1 {
		t.Errorf("processes: %v", left)
	}
	if _, err := proc.KillByEnv(t.Context(), marker, mark); err != nil {
		t.Error(err)
	}
}

func TestToolErrorNamesTheSignal(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, proc.ToolSpec) (proc.ToolResult, error){"tool": proc.Tool, "held": proc.SupervisedTool} {
		res, err := run(t.Context(), proc.ToolSpec{Argv: []string{"/bin/sh", "-c", "kill -SEGV $$"}, Dir: "/"})
		if err != nil || res.ExitCode != 139 || res.Signal != "SIGSEGV" || res.Check().Error() != "/bin/sh: ended by SIGSEGV (139)" {
			t.Errorf("%s: %+v, %v, %v", name, res, res.Check(), err)
		}
	}
}

func TestEnding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   int
		signal string
		want   string
	}{{0, "", "exit 0"}, {3, "", "exit 3"}, {128, "", "exit 128"}, {139, "", "exit 139 (SIGSEGV)"}, {139, "SIGSEGV", "ended by SIGSEGV (139)"}, {255, "", "exit 255"}, {-1, "", "exit -1"}} {
		if got := proc.Ending(c.code, c.signal); got != c.want {
			t.Errorf("%d, %q: %q, want %q", c.code, c.signal, got, c.want)
		}
	}
}
