package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
)

const (
	// tick is how often a run is looked at.
	tick = 200 * time.Millisecond
	// diskPause is the longest time between two walks, and diskShare how much longer the pause is than the walk: a
	// large tree costs no more than a small part of a processor.
	diskPause = 5 * time.Second
	diskShare = 10
	// descriptorBound is how many descriptors are looked at for files without a name.
	descriptorBound = 20_000
	// floorBytes and floorShare are what a run may not take of a file system or of the memory of the machine: the
	// smaller of the two. They hold for what no count can see, such as the buffers of the kernel. floorFiles is the same
	// for files that take no space.
	floorBytes = 256 << 20
	floorFiles = 10_000
	floorShare = 50 // a fiftieth of the whole
)

// A monitor watches the processes and the disk of one run.
type monitor struct {
	limits  Limits
	watch   []string
	entries int // at most, in all watched directories
	own     int // processes of the sandbox itself, which do not count
	// refused, if any, says whether the kernel has refused memory to one of the processes.
	refused func(pids []int) error

	// These belong to the goroutine that looks at the disk.
	disk     int64     // use at the last walk
	free     uint64    // free space of all watched file systems then
	nextWalk time.Time // by when the next walk is due
	short    bool      // free space was below the floor when the run began
}

// start watches everything below root from the next tick on, until ctx ends or a limit is passed, which is given to report.
// After ending ctx, the caller waits with the returned function until the watch has stopped. A run that is over before the
// first tick is not watched, and nothing is started for it.
func (m *monitor) start(ctx context.Context, root func() int, report context.CancelCauseFunc) (wait func()) {
	if m.disks() {
		m.short = m.spaceShort()
	}
	done := make(chan struct{})
	first := time.AfterFunc(tick, func() {
		defer close(done)
		if err := m.run(ctx, root); err != nil {
			report(err)
		}
	})
	return func() {
		if !first.Stop() {
			<-done
		}
	}
}

// disks reports whether there is a disk to look at.
func (m *monitor) disks() bool { return m.limits.DiskBytes > 0 && len(m.watch) > 0 }

// run watches everything below root until ctx ends or a limit is passed, which it returns. The disk is checked concurrently
// with the processes: the run decides how long a walk through its directories takes.
func (m *monitor) run(ctx context.Context, root func() int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	if m.refused != nil || m.limits.MemoryBytes > 0 || m.limits.Processes > 0 {
		wg.Go(func() {
			cancel(each(ctx, func() error {
				if pid := root(); pid > 0 {
					return m.processes(pid)
				}
				return nil
			}))
		})
	}
	if m.disks() {
		wg.Go(func() { cancel(each(ctx, func() error { return m.space(ctx, root()) })) })
	}
	wg.Wait()
	var limit *LimitError
	if errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return nil
}

// each looks now and at every tick until ctx ends or there is something to say.
func each(ctx context.Context, look func() error) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		if err := look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// processes counts what runs and what it holds.
func (m *monitor) processes(root int) error {
	limit := int64(1 << 20)
	if m.limits.Processes > 0 {
		limit = m.limits.Processes
	}
	pids := proc.Descendants(root, int(limit)+m.own+1)
	if n := int64(len(pids) - m.own); m.limits.Processes > 0 && n > limit {
		return &LimitError{Limit: RestrictProcesses, Used: n, Max: limit}
	}
	var threads, memory int64
	for _, pid := range pids {
		st := readStatus(pid)
		threads += st["Threads"]
		memory += 1024 * (st["RssAnon"] + st["RssShmem"] + st["VmSwap"])
	}
	if max := m.limits.Processes * threadsPerProcess; m.limits.Processes > 0 && threads > max {
		return &LimitError{Limit: RestrictProcesses, Used: threads, Max: max}
	}
	if m.refused != nil {
		if err := m.refused(pids); err != nil {
			return err
		}
	}
	if m.limits.MemoryBytes <= 0 {
		return nil
	}
	if memory > m.limits.MemoryBytes {
		// The sum counts what processes share once for each. The exact figure is dear, and only needed now.
		if memory = proportional(pids); memory > m.limits.MemoryBytes {
			return &LimitError{Limit: RestrictMemory, Used: memory, Max: m.limits.MemoryBytes}
		}
	}
	info := readFields("/proc/meminfo")
	if total, left := 1024*info["MemTotal"], 1024*info["MemAvailable"]; total > 0 && left < min(floorBytes, total/floorShare) {
		return &LimitError{Limit: RestrictMemory, Used: total - left, Max: total - min(floorBytes, total/floorShare)}
	}
	return nil
}

// proportional sums what processes hold, with what they share divided among them. A process that cannot be looked
// into counts in full.
func proportional(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		f := readFields("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if f == nil {
			st := readStatus(pid)
			sum += 1024 * (st["RssAnon"] + st["RssShmem"] + st["VmSwap"])
			continue
		}
		sum += 1024 * (f["Pss_Anon"] + f["Pss_Shmem"] + f["SwapPss"])
	}
	return sum
}

func readStatus(pid int) map[string]int64 {
	return readFields("/proc/" + strconv.Itoa(pid) + "/status")
}

// readFields reads the numbers of a file of "Name: number" lines, or nil when it cannot be read.
func readFields(path string) map[string]int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	fields := map[string]int64{}
	for line := range bytes.Lines(data) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		if words := bytes.Fields(rest); ok && len(words) > 0 {
			if n, err := strconv.ParseInt(string(words[0]), 10, 64); err == nil {
				fields[string(name)] = n
			}
		}
	}
	return fields
}

func totalMemory() int64 { return 1024 * readFields("/proc/meminfo")["MemTotal"] }

// space holds the watched directories against their limit. They are walked only when what has become used of their
// file systems since the last walk could have filled them, or when a while has passed: others may have freed what
// this run has taken.
func (m *monitor) space(ctx context.Context, root int) error {
	if !m.short && m.spaceShort() {
		return &LimitError{Limit: RestrictDisk, Used: m.disk, Max: m.limits.DiskBytes}
	}
	free := m.freeSpace()
	grown := int64(0)
	if free < m.free {
		grown = int64(m.free - free)
	}
	now := clock.Start()
	if !m.nextWalk.IsZero() && now.Before(m.nextWalk) && m.disk+grown <= m.limits.DiskBytes {
		return nil
	}
	w := walk{left: m.entries, seen: map[[2]uint64]bool{}}
	devices := map[uint64]bool{}
	for _, dir := range m.watch {
		w.tree(ctx, dir)
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			devices[st.Dev] = true
		}
	}
	if w.left < 0 {
		return &LimitError{Limit: RestrictDisk, Used: int64(m.entries - w.left), Max: int64(m.entries)}
	}
	used := w.used + unlinkedUse(root, devices)
	m.disk, m.free = used, free
	m.nextWalk = clock.Start().Add(min(diskPause, diskShare*clock.Since(now)))
	if used > m.limits.DiskBytes {
		return &LimitError{Limit: RestrictDisk, Used: used, Max: m.limits.DiskBytes}
	}
	return nil
}

func (m *monitor) freeSpace() uint64 {
	var sum uint64
	for _, dir := range m.watch {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			sum += st.Bavail * uint64(st.Bsize)
		}
	}
	return sum
}

func (m *monitor) spaceShort() bool {
	for _, dir := range m.watch {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && short(st) {
			return true
		}
	}
	return false
}

// short reports whether a file system has little left, of space or of files. Some have no fixed number of files.
func short(st unix.Statfs_t) bool {
	return st.Bavail < min(floorBytes/uint64(st.Bsize), st.Blocks/floorShare) || st.Files > 0 && st.Ffree < min(floorFiles, st.Files/floorShare)
}

// unlinkedUse sums the blocks of files that have no name any more and are held open below the root of a run, on the file
// systems of the watched directories. One that is only mapped is not seen; the floor of free space holds for it.
func unlinkedUse(root int, devices map[uint64]bool) int64 {
	var sum int64
	seen := map[[2]uint64]bool{}
	left := descriptorBound
	for _, pid := range proc.Descendants(root, left) {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // gone, or another's
		}
		for _, e := range entries {
			if left--; left < 0 {
				return sum
			}
			var st unix.Stat_t
			if unix.Stat(dir+"/"+e.Name(), &st) != nil || st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || !devices[st.Dev] {
				continue
			}
			if id := [2]uint64{st.Dev, st.Ino}; !seen[id] {
				seen[id] = true
				sum += st.Blocks * 512
			}
		}
	}
	return sum
}
