package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// without is set in a process of the tests in which the kernel refuses rings.
const without = "DEED_TEST_WITHOUT_RINGS"

// What rings and goroutines say of the same files is the same.
func TestRing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/dev/null", ""} {
		var paths []string
		for i := range 20 {
			paths = append(paths, written(t, t.TempDir(), i))
		}
		if name != "" {
			paths = append(paths, name) // cannot be synced
		}
		files, err := openAll(paths)
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll(files)
		r, ok := beginRing(files)
		if !ok {
			t.Skip("no io_uring: the kernel has none, or forbids it (see /proc/sys/kernel/io_uring_disabled)")
		}
		got, want := r.wait(), syncAll(t.Context(), files)
		if fmt.Sprint(got) != fmt.Sprint(want) || (got == nil) != (name == "") {
			t.Errorf("%q: a ring says %v, goroutines say %v", name, got, want)
		}
		if name != "" && (!errors.Is(got, unix.EINVAL) || !strings.Contains(got.Error(), name)) {
			t.Errorf("%v does not name %s and the reason", got, name)
		}
	}
}

// A ring that could not take all files leaves the rest to this process.
func TestRingThatTakesPart(t *testing.T) {
	t.Parallel()
	files, err := openAll([]string{"/dev/null", "/dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(files)
	r := &ring{files: files}
	if err := r.open(); err != nil {
		t.Skip("no io_uring: " + err.Error())
	}
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "/dev/null") || !strings.Contains(err.Error(), "/dev/zero") {
		t.Errorf("got %v", err)
	}
}

// Many at once, of all sizes around a batch, end.
func TestSyncManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for i := range syncBatch + 3 {
		paths = append(paths, written(t, dir, i))
	}
	var all sync.WaitGroup
	for _, n := range []int{0, 1, 3, 4, 5, 31, 64, 65, syncBatch - 1, syncBatch, syncBatch + 1, syncBatch + 3} {
		all.Go(func() {
			for range 5 {
				if err := BeginSync(t.Context(), paths[:n]).Wait(); err != nil {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	}
	all.Wait()
	if err := BeginSync(t.Context(), append(paths, filepath.Join(dir, "none"))).Wait(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := BeginSync(ended, paths).Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Where the kernel refuses rings, as it does in many containers, goroutines do the work.
func TestSyncWithoutRings(t *testing.T) {
	if os.Getenv(without) == "" {
		t.Parallel()
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSyncWithoutRings$")
		c.Env = append(os.Environ(), without+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	refuseRings(t)
	dir := t.TempDir()
	for i := range 30 {
		written(t, dir, i)
	}
	if err := SyncTree(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if err := SyncPaths(t.Context(), []string{dir, "/dev/null", dir, dir, dir}); !errors.Is(err, unix.EINVAL) {
		t.Errorf("got %v", err)
	}
}

// refuseRings has the kernel say, to this process from now on, that it knows no rings.
func refuseRings(t *testing.T) {
	t.Helper()
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load}, // the number of the call
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		t.Fatal(errno)
	}
	if _, ok := beginRing(make([]*os.File, ringLeast)); ok {
		t.Fatal("there are rings all the same")
	}
}

// written is a file that is not on the disk yet.
func written(t *testing.T, dir string, i int) string {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprint(i))
	if err := os.WriteFile(path, make([]byte, 100*i), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
