package proc

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// StartSibling starts a process as a child of this one's parent, which has to reap it, in a session of its own. Its
// descriptors are the files, from 0 up. It is for a process that will Become another one, which would wonder about a
// child that it did not start.
func StartSibling(argv, env []string, files ...*os.File) error {
	attr := &syscall.ProcAttr{Dir: "/", Env: env, Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_PARENT}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if _, err := syscall.ForkExec(argv[0], argv, attr); err != nil {
		return &StartError{Path: argv[0], Err: err}
	}
	return nil
}

// StartChild starts the program at a path as a child of this thread, with this process's standard descriptors, directory and
// environment, in a session of its own. The kernel kills it when the thread ends, which therefore has to be locked. The
// caller reaps it.
func StartChild(path string, argv []string) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	err = whileBusy(context.Background(), func() (err error) {
		pid, err = syscall.ForkExec(path, argv, attr)
		return err
	})
	if err != nil {
		return 0, &StartError{Path: path, Err: err}
	}
	return pid, nil
}

// Become replaces this process by another program; argv[0] is its path. It returns only when that was not possible.
func Become(argv, env []string) error {
	err := whileBusy(context.Background(), func() error { return syscall.Exec(argv[0], argv, env) })
	return fmt.Errorf("execute %s: %w", argv[0], err)
}
