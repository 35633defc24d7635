//go:build !linux

package sandbox

import "context"

// A monitor has no means to look at processes here; nor has package proc a supervisor to run them.
type monitor struct {
	limits  Limits
	watch   []string
	entries int
	own     int
}

func (m *monitor) start(context.Context, func() int, context.CancelCauseFunc) func() {
	return func() {}
}

func totalMemory() int64 { return 0 }
