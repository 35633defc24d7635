package proc

import "syscall"

// groupAttr gives a tool a process group of its own, and has the kernel kill it when deed dies.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
