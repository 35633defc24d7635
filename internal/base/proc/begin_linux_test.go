package proc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

func TestBeginSupervisorRuns(t *testing.T) {
	t.Parallel()
	sup, err := proc.BeginSupervisor(proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for code := range 2 { // at once, and when it is idle
		exit, err := sup.Run(t.Context(), proc.Spec{Argv: []string{"/bin/sh", "-c", "exit " + string(rune('0'+code))}, Dir: "/"})
		if err != nil || exit.Code != code {
			t.Errorf("exit %d, %v, want %d", exit.Code, err, code)
		}
	}
	if err := sup.Close(); err != nil {
		t.Error(err)
	}
}

func TestBeginSupervisorThatIsClosedAtOnce(t *testing.T) {
	t.Parallel()
	sup, err := proc.BeginSupervisor(proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sup.Run(t.Context(), proc.Spec{Argv: []string{"/bin/true"}, Dir: "/"}); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("run after close: %v", err)
	}
}

// If no supervisor can be started, every run that needs one reports it.
func TestBeginSupervisorThatNeverIsOne(t *testing.T) {
	t.Parallel()
	sup, err := proc.BeginSupervisor(proc.Options{Exe: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := sup.Run(t.Context(), proc.Spec{Argv: []string{"/bin/true"}, Dir: "/"}); err == nil || !strings.Contains(err.Error(), "start supervisor") {
			t.Errorf("run: %v", err)
		}
	}
	if err := sup.Close(); err != nil {
		t.Error(err)
	}
}

// A run that is cancelled while its supervisor is still starting counts as cancelled: nothing failed.
func TestBeginSupervisorWithAnEndedContext(t *testing.T) {
	t.Parallel()
	sup, err := proc.BeginSupervisor(proc.Options{Exe: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("told to stop")
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	exit, err := sup.Run(ctx, proc.Spec{Argv: []string{"/bin/true"}, Dir: "/"})
	if err != nil || !exit.Canceled || exit.Code != -1 || !errors.Is(exit.Cause, cause) {
		t.Errorf("run: %+v, %v", exit, err)
	}
	if err := sup.Close(); err != nil {
		t.Error(err)
	}
}
