package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A procStat is what /proc/<pid>/stat says of a process.
type procStat struct {
	pid, ppid, sid int
	state          byte
	start          uint64 // clock ticks since boot
}

// dead reports a process that only waits to be reaped: it runs no code and holds nothing.
func (s procStat) dead() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(pid, data)
}

var errStat = errors.New("unexpected format of /proc/<pid>/stat")

func parseStat(pid int, data []byte) (procStat, error) {
	// The name, in parentheses, may hold spaces and parentheses itself; the last one ends it.
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return procStat{}, errStat
	}
	fields := bytes.Fields(data[i+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return procStat{}, errStat
	}
	ppid, err1 := strconv.Atoi(string(fields[1]))
	sid, err2 := strconv.Atoi(string(fields[3]))
	start, err3 := strconv.ParseUint(string(fields[19]), 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return procStat{}, err
	}
	return procStat{pid: pid, ppid: ppid, sid: sid, state: fields[0][0], start: start}, nil
}

// maxDepth bounds a walk up a tree of processes that changes meanwhile.
const maxDepth = 1024

// Below reports whether a process descends from another. A process that is gone is an error: its parent is no longer known.
func Below(pid, ancestor int) (bool, error) {
	for range maxDepth {
		st, err := readStat(pid)
		if err != nil {
			return false, err
		}
		if st.ppid == ancestor {
			return true, nil
		}
		if st.ppid <= 1 {
			return false, nil
		}
		pid = st.ppid
	}
	return false, errStat
}

// pids lists all processes that /proc shows.
func pids() ([]int, error) { return numbers("/proc") }

func numbers(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list, nil
}

// A family answers who is whose child.
type family struct {
	byParent map[int][]int // set when the kernel has no children files and /proc was scanned instead
}

// newFamily looks once whether the kernel lists children; otherwise it takes a snapshot.
func newFamily() family {
	if _, err := os.Stat("/proc/thread-self/children"); err == nil {
		return family{}
	}
	byParent := map[int][]int{}
	all, err := pids()
	if err != nil {
		return family{byParent: byParent}
	}
	for _, pid := range all {
		if st, err := readStat(pid); err == nil {
			byParent[st.ppid] = append(byParent[st.ppid], pid)
		}
	}
	return family{byParent: byParent}
}

func (f family) children(pid int) []int {
	if f.byParent != nil {
		return f.byParent[pid]
	}
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tids, err := numbers(dir)
	if err != nil {
		return nil
	}
	var list []int
	for _, tid := range tids {
		data, err := os.ReadFile(dir + "/" + strconv.Itoa(tid) + "/children")
		if err != nil {
			continue
		}
		for _, field := range bytes.Fields(data) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// A tree is the set of processes below a root, as far as it was seen. The root itself is never signalled.
type tree struct {
	root int
	skip func(procStat) bool // children of the root that are none of our business; may be nil
	seen map[int]bool        // of this pass only: numbers are used again
}

// walk visits every process below the root, a parent before its children, and calls visit on those that are alive.
// A visit that stops the process keeps it from having more children than the walk then finds. It reports whether it
// saw a process for the first time.
func (t *tree) walk(visit func(procStat)) (grown bool) {
	fam := newFamily()
	type node struct{ pid, depth int }
	queue := []node{{t.root, 0}}
	visited := map[int]bool{t.root: true}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, pid := range fam.children(n.pid) {
			if visited[pid] {
				continue
			}
			st, err := readStat(pid)
			if err != nil || !t.ours(st) {
				continue
			}
			if n.depth == 0 && t.skip != nil && t.skip(st) {
				continue
			}
			visited[pid] = true
			if !t.seen[pid] {
				t.seen[pid] = true
				grown = true
			}
			if !st.dead() {
				visit(st)
			}
			queue = append(queue, node{pid, n.depth + 1})
		}
	}
	return grown
}

// ours reports whether the process has a parent in the tree.
func (t *tree) ours(st procStat) bool { return st.ppid == t.root || t.seen[st.ppid] }

// signal sends signals to a process of the tree. Between the listing of a number and the signal, the process can be
// gone and its number be another's: a descriptor pins the process, then its parent is read again. The first signal decides whether
// the process was there: one that ends of it at once does not hear the others, and has been reaped by then.
func (t *tree) signal(pid int, sigs ...unix.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return sendAll(sigs, func(sig unix.Signal) error { return unix.Kill(pid, sig) })
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st, err := readStat(pid)
	if err != nil || !t.ours(st) {
		return unix.ESRCH
	}
	return sendAll(sigs, func(sig unix.Signal) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
}

// sendAll sends signals in their order, and returns what became of the first.
func sendAll(sigs []unix.Signal, send func(unix.Signal) error) error {
	first := send(sigs[0])
	for _, sig := range sigs[1:] {
		if first != nil || send(sig) != nil {
			break
		}
	}
	return first
}

// terminate asks every process of the tree but one to end. A stopped one is continued, so that it can handle the signal.
func (t *tree) terminate(spare int, each func(procStat)) {
	t.seen = map[int]bool{}
	t.walk(func(st procStat) {
		if st.pid == spare {
			return
		}
		if t.signal(st.pid, unix.SIGTERM, unix.SIGCONT) == nil && each != nil {
			each(st)
		}
	})
}

// kill makes one round at ending every process of the tree. Callers repeat it until nothing is left.
//
// It stops the processes, parents before children, until a walk finds no new one, and then kills them: a stopped
// process does not fork, so that a tree that grows faster than it can be listed stands still.
func (t *tree) kill() {
	t.seen = map[int]bool{}
	var alive []int
	for range 8 {
		alive = alive[:0]
		if !t.walk(func(st procStat) {
			_ = t.signal(st.pid, unix.SIGSTOP)
			alive = append(alive, st.pid)
		}) {
			break
		}
	}
	for _, pid := range alive {
		_ = t.signal(pid, unix.SIGKILL)
	}
}

// killChildren kills the children of this process with as little between look and signal as can be, and reaps them
// with reap, until a look finds none or for a while. A process that becomes another one by fork
// and exit many times in a millisecond is caught only this way: its latest form is a child of this process, because
// every orphan is. Nothing but reap may take children off the kernel's list meanwhile; without that, the number of a
// child is that child's, and a signal needs no second look.
func killChildren(reap func()) {
	leader, self := os.Getpid(), unix.Gettid()
	buf := make([]byte, 32<<10)
	for round := range 64 {
		// Orphans become children of the leader, and this thread started the main process. Others have none, but
		// that is the kernel's affair, so look there, too, now and then.
		tids := []int{leader, self}
		if round%16 == 0 {
			if all, err := numbers("/proc/self/task"); err == nil {
				tids = all
			}
		}
		found := false
		for i, tid := range tids {
			if i > 0 && tid == tids[0] {
				continue
			}
			n := readInto("/proc/self/task/"+strconv.Itoa(tid)+"/children", buf)
			eachNumber(buf[:n], func(pid int) {
				found = true
				_ = unix.Kill(pid, unix.SIGKILL)
			})
		}
		reap()
		if !found {
			return
		}
	}
}

func readInto(path string, buf []byte) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if n <= 0 || err != nil {
			break
		}
		total += n
	}
	return total
}

func eachNumber(b []byte, f func(int)) {
	n, in := 0, false
	for _, c := range b {
		if c >= '0' && c <= '9' {
			n, in = n*10+int(c-'0'), true
			continue
		}
		if in {
			f(n)
		}
		n, in = 0, false
	}
}
