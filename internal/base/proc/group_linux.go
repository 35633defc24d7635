package proc

import "syscall"

// groupAttr gives a tool a process group of its own, and has the kernel kill it when deed dies.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// guardGroup starts a guard for a process group that does not exist yet. watch tells the guard which group it is, and unwatch that it
// has ended.
func guardGroup() (watch func(group int) error, unwatch func(), err error) {
	g, err := startGuard()
	if err != nil {
		return nil, nil, err
	}
	return g.watch, func() {
		g.unwatch()
		g.close()
	}, nil
}
