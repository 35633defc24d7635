package exectrace

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// testMode has the test binary be a program that a trace is about.
const testMode = "EXECTRACE_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(testMode) {
	case "":
		goleak.VerifyTestMain(m)
	case "thread": // executes the arguments by a thread that is not the first
		os.Unsetenv(testMode)
		go func() {
			runtime.LockOSThread()
			_ = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
			os.Exit(1)
		}()
		select {}
	case "debugger": // traces the arguments by ptrace
		os.Exit(debugged(os.Args[1:]))
	}
}

// debugged runs a command that stops when it is executed, and lets it go on.
func debugged(argv []string) int {
	runtime.LockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), testMode+"=")
	cmd.Stdout = os.Stdout
	attr := ptraced()
	if attr == nil {
		return 1
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return 2
	}
	return goOn(cmd.Process.Pid)
}
