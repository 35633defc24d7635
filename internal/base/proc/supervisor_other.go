//go:build !linux

package proc

import (
	"context"
	"fmt"
)

// A Supervisor cannot be made here: nothing on this system holds a process that left its group and session.
type Supervisor struct{}

// NewSupervisor returns ErrUnsupported.
func NewSupervisor(context.Context, Options) (*Supervisor, error) {
	return nil, fmt.Errorf("start supervisor: %w", ErrUnsupported)
}

// BeginSupervisor returns ErrUnsupported.
func BeginSupervisor(Options) (*Supervisor, error) {
	return nil, fmt.Errorf("start supervisor: %w", ErrUnsupported)
}

// IdleSupervisor returns ErrUnsupported.
func IdleSupervisor(Options) (*Supervisor, error) {
	return nil, fmt.Errorf("start supervisor: %w", ErrUnsupported)
}

// Begin returns ErrUnsupported.
func (*Supervisor) Begin(bool) error { return fmt.Errorf("start supervisor: %w", ErrUnsupported) }

// Run returns ErrUnsupported.
func (*Supervisor) Run(context.Context, Spec) (Exit, error) {
	return Exit{}, fmt.Errorf("run: %w", ErrUnsupported)
}

// PID returns 0.
func (*Supervisor) PID() int { return 0 }

// Close does nothing.
func (*Supervisor) Close() error { return nil }

// IsSupervisor reports false.
func IsSupervisor([]string) bool { return false }

// SupervisorMain reports that there is no supervisor here.
func SupervisorMain([]string) int { return 3 }

// KeepPrivate does nothing.
func KeepPrivate() {}

// BecomeSubreaper returns ErrUnsupported.
func BecomeSubreaper() error { return fmt.Errorf("become child subreaper: %w", ErrUnsupported) }
