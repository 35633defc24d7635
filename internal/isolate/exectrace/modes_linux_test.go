package exectrace

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	modes["thread"], modes["debugger"] = becomeByThread, debugger
}

// becomeByThread executes a program by a thread that is not the first of the process.
func becomeByThread(argv []string) int {
	failed := make(chan int)
	for range 2 { // one of two is on another thread than the first
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() != os.Getpid() {
				_ = syscall.Exec(argv[0], argv, os.Environ())
				failed <- 1
			}
			select {}
		}()
	}
	return <-failed
}

// debugger runs a command under ptrace until it has been executed, and returns its exit code.
func debugger(argv []string) int {
	runtime.LockOSThread()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return 2
	}
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
