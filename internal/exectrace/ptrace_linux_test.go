package exectrace

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func ptraced() *syscall.SysProcAttr { return &syscall.SysProcAttr{Ptrace: true} }

// goOn waits for the stop of a process that is traced, lets it go on, and returns its exit code.
func goOn(pid int) int {
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return 3
	}
	if unix.PtraceDetach(pid) != nil {
		return 4
	}
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return 5
	}
	return status.ExitStatus()
}
