package cli

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
)

// The exit codes, by the names that commands use.
const (
	ExitDone        = failure.ExitDone
	ExitNotDone     = failure.ExitNotDone
	ExitUsage       = failure.ExitUsage
	ExitInfra       = failure.ExitInfra
	ExitLocked      = failure.ExitLocked
	ExitInterrupted = failure.ExitInterrupted
)

func exitName(code int) string { return failure.ExitNames[code] }

// errSilent ends a command whose output is already complete.
var errSilent = errors.New("said already")

// errNotDone ends a command with code 1 and no further message.
var errNotDone = &exitError{code: ExitNotDone, err: errSilent}

// notDone ends a command whose task is not done, silently: by 3 where the machine or deed itself failed, and not the work.
func notDone(class failure.Class) error {
	switch class {
	case failure.Infra, failure.Panic, failure.Isolation:
		return &exitError{code: ExitInfra, err: errSilent}
	}
	return errNotDone
}

// An exitError carries its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's: nothing was changed, and the exit code is 2.
func usage(err error) error { return &exitError{code: ExitUsage, err: err} }

// refused marks an error as the caller's when the state of the task or action is the reason; a store that does not
// work is not.
func refused(err error) error {
	var status *store.StatusError
	var dup *store.DuplicateError
	if errors.As(err, &status) || errors.As(err, &dup) || errors.Is(err, store.ErrClosed) {
		return usage(err)
	}
	return err
}

// exitCode maps an error to its code.
func exitCode(err error) int {
	var e *exitError
	var faults fault.Faults
	var ce *config.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &faults), errors.As(err, &ce), errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrAmbiguous):
		return ExitUsage
	case errors.Is(err, home.ErrLocked):
		return ExitLocked
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitInfra
}
