//go:build !linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SelfIdentity returns host and process id; there is no start time to tell a process from a later one with the same
// number.
func SelfIdentity() (Identity, error) {
	host, err := os.Hostname()
	if err != nil {
		return Identity{}, fmt.Errorf("identify process: %w", err)
	}
	return Identity{Host: host, PID: os.Getpid()}, nil
}

// Alive reports whether a process with that number runs on this host. A number that is used again counts as alive.
func Alive(id Identity) bool {
	self, err := SelfIdentity()
	if err != nil || id.Host != self.Host {
		return true
	}
	return !errors.Is(syscall.Kill(id.PID, 0), syscall.ESRCH)
}

// FindByEnv returns ErrUnsupported.
func FindByEnv(key, value string) ([]int, error) {
	return nil, fmt.Errorf("find processes by environment: %w", ErrUnsupported)
}

// ListByEnv returns ErrUnsupported.
func ListByEnv(string) (map[int]string, error) {
	return nil, fmt.Errorf("list processes by environment: %w", ErrUnsupported)
}

// Descendants returns none: there is no way to list them here.
func Descendants(int, int) []int { return nil }

// KillTree kills the processes that it is given, and their groups; it cannot see what is below them.
func KillTree(_ context.Context, pids []int) error {
	for _, pid := range pids {
		if pid > 1 && pid != os.Getpid() {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return nil
}

// KillByEnv returns ErrUnsupported.
func KillByEnv(context.Context, string, string) (int, error) {
	return 0, fmt.Errorf("kill processes by environment: %w", ErrUnsupported)
}

// Below is not known here: no process is taken for a descendant.
func Below(int, int) (bool, error) { return false, nil }
