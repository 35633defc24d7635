package proc

import "syscall"

// groupAttr gives a tool a process group of its own, or puts it into one that is there, and has the kernel kill it when deed dies.
func groupAttr(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL}
}

// guardGroup starts a guard, and returns the process group that it leads. release is called when the group has ended.
func guardGroup() (group int, release func(), err error) {
	g, err := startGroupGuard()
	if err != nil {
		return 0, nil, err
	}
	return g.pid, func() {
		g.unwatch()
		g.close()
	}, nil
}
