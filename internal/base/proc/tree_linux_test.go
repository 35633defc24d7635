package proc

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that ends of the first signal at once has been there, and is counted among those that had to be ended.
func TestTheFirstSignalDecides(t *testing.T) {
	t.Parallel()
	gone := func(after int) func(unix.Signal) error {
		n := 0
		return func(unix.Signal) error {
			if n++; n > after {
				return unix.ESRCH
			}
			return nil
		}
	}
	for after, want := range map[int]error{0: unix.ESRCH, 1: nil, 2: nil} {
		if err := sendAll([]unix.Signal{unix.SIGTERM, unix.SIGCONT}, gone(after)); !errors.Is(err, want) {
			t.Errorf("gone after %d signals: %v, want %v", after, err, want)
		}
	}
}
