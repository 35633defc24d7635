package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds what is read of one process's environment.
const maxEnviron = 8 << 20

var bootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
})

// SelfIdentity returns the identity of this process.
func SelfIdentity() (Identity, error) {
	host, err := os.Hostname()
	if err != nil {
		return Identity{}, fmt.Errorf("identify process: %w", err)
	}
	st, err := readStat(os.Getpid())
	if err != nil {
		return Identity{}, fmt.Errorf("identify process: %w", err)
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		ns = ""
	}
	return Identity{Host: host, PID: st.pid, BootID: bootID(), Namespace: ns, StartTime: st.start}, nil
}

// Alive reports whether the process still runs. A process that this one cannot see, on another host or in another
// pid namespace, counts as alive: only its lease can tell.
func Alive(id Identity) bool {
	self, err := SelfIdentity()
	if err != nil || id.Host != self.Host {
		return true
	}
	if id.BootID != self.BootID {
		return false // the machine was started again since
	}
	if id.Namespace != self.Namespace {
		return true
	}
	st, err := readStat(id.PID)
	if err != nil {
		// A process that is there and cannot be read is there.
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH)
	}
	return st.start == id.StartTime && !st.dead()
}

// FindByEnv returns the processes, this one excepted, that were started with the variable key set to value. It sees
// what a process was started with, unless the process has since overwritten its own environment, and only
// processes of the same user; root sees all.
func FindByEnv(key, value string) ([]int, error) {
	all, err := pids()
	if err != nil {
		return nil, fmt.Errorf("find processes by environment: %w", err)
	}
	want := []byte(key + "=" + value)
	var found []int
	for _, pid := range all {
		if pid == os.Getpid() {
			continue
		}
		env, err := readEnviron(pid)
		if err != nil {
			continue // it is gone, a kernel thread, or another's
		}
		for entry := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(entry, want) {
				found = append(found, pid)
				break
			}
		}
	}
	return found, nil
}

// ListByEnv returns the processes, this one excepted, that were started with the variable key set, and its values. It
// sees what FindByEnv sees.
func ListByEnv(key string) (map[int]string, error) {
	all, err := pids()
	if err != nil {
		return nil, fmt.Errorf("list processes by environment: %w", err)
	}
	prefix := []byte(key + "=")
	found := map[int]string{}
	for _, pid := range all {
		if pid == os.Getpid() {
			continue
		}
		env, err := readEnviron(pid)
		if err != nil {
			continue // it is gone, a kernel thread, or another's
		}
		for entry := range bytes.SplitSeq(env, []byte{0}) {
			if v, ok := bytes.CutPrefix(entry, prefix); ok {
				found[pid] = string(v)
				break
			}
		}
	}
	return found, nil
}

func readEnviron(pid int) ([]byte, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxEnviron))
}

// Descendants returns processes below a process, at most limit of them, a parent before its children.
func Descendants(pid, limit int) []int {
	fam := newFamily()
	var list []int
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0 && len(list) < limit; queue = queue[1:] {
		for _, child := range fam.children(queue[0]) {
			if !seen[child] && len(list) < limit {
				seen[child] = true
				list = append(list, child)
				queue = append(queue, child)
			}
		}
	}
	return list
}

// KillTree kills processes and everything below them, and returns when they are gone. They need not be children of
// this process. It returns ErrSurvivors with those that do not die before ctx ends.
func KillTree(ctx context.Context, pids []int) error {
	victims := map[int]uint64{} // start times, against numbers that are used again
	for _, pid := range pids {
		if st, err := readStat(pid); err == nil && pid > 1 && pid != os.Getpid() {
			victims[pid] = st.start
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		// Stop and list first: once a parent is dead, nothing tells whose its children were.
		for grown := true; grown; {
			grown = false
			fam := newFamily()
			for pid, start := range victims {
				if signalExact(pid, start, unix.SIGSTOP) != nil {
					continue
				}
				for _, child := range fam.children(pid) {
					if st, err := readStat(child); err == nil && victims[child] == 0 && child != os.Getpid() {
						victims[child] = st.start
						grown = true
					}
				}
			}
		}
		var left []int
		for pid, start := range victims {
			if err := signalExact(pid, start, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill processes: %w: %v", ErrSurvivors, left)
		case <-time.After(pause):
		}
	}
}

// KillByEnv kills every process that was started with the variable key set to value, with everything below it, until
// none is found, and returns how many were found. It returns ErrSurvivors when there are still some, or new ones, when ctx
// ends.
func KillByEnv(ctx context.Context, key, value string) (int, error) {
	killed := map[int]bool{}
	for {
		found, err := FindByEnv(key, value)
		if err != nil {
			return len(killed), err
		}
		var alive []int
		for _, pid := range found {
			if st, err := readStat(pid); err == nil && !st.dead() {
				alive = append(alive, pid)
				killed[pid] = true
			}
		}
		if len(alive) == 0 {
			return len(killed), nil
		}
		if ctx.Err() != nil {
			return len(killed), fmt.Errorf("kill processes: %w: %v", ErrSurvivors, alive)
		}
		if err := KillTree(ctx, alive); err != nil {
			return len(killed), err
		}
	}
}

// signalExact signals a process that has the given start time. It returns ESRCH when there is none that lives.
func signalExact(pid int, start uint64, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		if errors.Is(err, unix.EINVAL) {
			return unix.ESRCH // not the leader of a thread group any more
		}
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	st, rerr := readStat(pid)
	if rerr != nil || st.start != start || st.dead() {
		return unix.ESRCH
	}
	if err != nil {
		return unix.Kill(pid, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
