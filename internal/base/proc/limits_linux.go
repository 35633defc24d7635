package proc

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limitAndRelease sets the limits of a process that was started traced, and lets it run. It stands before its first
// instruction, so that neither it nor a child of it ever runs without them; before, if any, is called there. The calling
// thread must be the one that started it.
func limitAndRelease(pid int, l Limits, before func(pid int) error) error {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	if !status.Stopped() {
		return fmt.Errorf("the process ended first: %w", unix.ESRCH)
	}
	set := func(resource int, n uint64) error {
		if n == 0 {
			return nil
		}
		var old unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
			return err
		}
		n = min(n, old.Max) // the hard limit of deed itself is never raised
		return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: n, Max: n}, nil)
	}
	for _, err := range []error{
		// One byte, not none: a program that the host pipes core dumps to is started at a limit of zero, too, and gets to
		// parse what an agent made crash; at one the kernel starts nothing.
		set(unix.RLIMIT_CORE, 1),
		set(unix.RLIMIT_CPU, uint64(math.Ceil(float64(max(l.CPU, 0))/float64(time.Second)))),
		set(unix.RLIMIT_FSIZE, uint64(max(l.FileSize, 0))),
		set(unix.RLIMIT_NOFILE, l.OpenFiles),
		set(unix.RLIMIT_NPROC, l.Processes),
	} {
		if err != nil {
			return err
		}
	}
	if l.OOMScore > 0 {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), strconv.AppendInt(nil, int64(l.OOMScore), 10), 0); err != nil {
			return fmt.Errorf("set oom_score_adj: %w", err)
		}
	}
	if before != nil {
		if err := before(pid); err != nil {
			return err
		}
	}
	return unix.PtraceDetach(pid)
}
