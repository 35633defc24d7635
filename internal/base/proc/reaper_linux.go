package proc

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

// A reaper takes the children of a supervisor off the kernel's list as they die. Nothing else in a supervisor does. Of
// a process that has other children, too, it takes those of one process group.
type reaper struct {
	news  chan struct{} // gets a token when the fields below have changed
	group int           // 0: all children

	mu       sync.Mutex // held while children are reaped: with it, the number of a child stays that child's
	main     int
	status   unix.WaitStatus // guarded by mu; of main
	ended    bool            // guarded by mu; main has ended
	none     bool            // guarded by mu; there is no child left, dead or alive
	user     int64           // guarded by mu; nanoseconds, of all
	system   int64           // guarded by mu
	maxRSS   int64           // guarded by mu; KiB; see floor
	killed   map[int]bool    // guarded by mu; what was ended after main
	endedAt  time.Duration   // guarded by mu; since the start, of main
	mainFrom time.Time
	floor    int64 // KiB: the peak of this process, which the kernel counts as main's, too, because main was this process before it became another
}

func newReaper(main int, from time.Time) *reaper {
	r := &reaper{news: make(chan struct{}, 1), main: main, mainFrom: from, killed: map[int]bool{}}
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) == nil {
		r.floor = own.Maxrss
	}
	return r
}

// loop runs until there is no child.
func (r *reaper) loop() {
	which := unix.P_ALL
	if r.group > 0 {
		which = unix.P_PGID
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(which, r.group, &info, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		none := r.reapAll()
		select {
		case r.news <- struct{}{}:
		default:
		}
		if none {
			return
		}
	}
}

func (r *reaper) reapAll() (none bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reapLocked()
}

// kill sends SIGKILL to every child. Those that die meanwhile keep their numbers until they are reaped.
func (r *reaper) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.group == 0:
		killChildren(func() { r.reapLocked() })
	case !r.none:
		_ = unix.Kill(-r.group, unix.SIGKILL)
	}
}

func (r *reaper) reapLocked() (none bool) {
	who := -1
	if r.group > 0 {
		who = -r.group
	}
	for {
		var (
			status unix.WaitStatus
			usage  unix.Rusage
		)
		pid, err := unix.Wait4(who, &status, unix.WNOHANG|unix.WALL, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // ECHILD
			r.none = true
			return true
		}
		if pid == 0 {
			return false
		}
		switch {
		case pid == r.main && !r.ended:
			r.ended, r.status, r.endedAt = true, status, clock.Since(r.mainFrom)
		case r.ended && status.Signaled() && status.Signal() == unix.SIGKILL:
			r.killed[pid] = true
		}
		r.user += usage.Utime.Nano()
		r.system += usage.Stime.Nano()
		if pid != r.main || usage.Maxrss > r.floor {
			r.maxRSS = max(r.maxRSS, usage.Maxrss)
		}
	}
}
