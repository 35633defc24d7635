//go:build !linux

package proc

import "syscall"

func groupAttr(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}

// guardGroup guards nothing: there is no guard here.
func guardGroup() (group int, release func(), err error) { return 0, func() {}, nil }
