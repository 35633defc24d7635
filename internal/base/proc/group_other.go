//go:build !linux

package proc

import "syscall"

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// guardGroup guards nothing: there is no guard here.
func guardGroup() (watch func(group int) error, unwatch func(), err error) {
	return func(int) error { return nil }, func() {}, nil
}
