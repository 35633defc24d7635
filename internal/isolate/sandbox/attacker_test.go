//go:build linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The attacker's half: this binary inside a sandbox. An attack returns what it reached, or the error that stopped it.
// Exit 0 means that it got through.

const stopped = 42 // the exit code of an attack that was stopped

func attackMain(name string) int {
	attack := attacks[name]
	if attack == nil {
		fmt.Println("no such attack:", name)
		return 1
	}
	reached, err := attack()
	if err != nil {
		fmt.Println("stopped:", err)
		return stopped
	}
	fmt.Print(reached)
	return 0
}

var errNothing = errors.New("there is nothing to reach")

var attacks = map[string]func() (string, error){
	"allowed":  allowedWork,
	"egress":   useEgress,
	"doors":    useDoors,
	"read":     func() (string, error) { return readFile(os.Getenv("VICTIM")) },
	"environ":  hostEnviron,
	"symlink":  func() (string, error) { return "", throughLink(os.Symlink) },
	"hardlink": func() (string, error) { return "", throughLink(os.Link) },
	"dotdot": func() (string, error) {
		return "", overwrite(os.Getenv("WS") + "/../" + filepath.Base(filepath.Dir(os.Getenv("VICTIM"))) + "/" + filepath.Base(os.Getenv("VICTIM")))
	},
	"descriptor":    inheritedDescriptor,
	"parentdir":     byProc,
	"bwrap":         func() (string, error) { return "", openForWriting("/proc/1/exe") },
	"stdin":         writeStdin,
	"unlinked":      fillUnlinked,
	"mount":         func() (string, error) { return "", unix.Mount("none", os.Getenv("WS"), "tmpfs", 0, "") },
	"bindmount":     func() (string, error) { return "", unix.Mount("/", os.Getenv("WS"), "", unix.MS_BIND|unix.MS_REC, "") },
	"unshare":       func() (string, error) { return "", unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS) },
	"clone":         func() (string, error) { return "", startIn(syscall.CLONE_NEWUSER) },
	"ptrace":        func() (string, error) { return "", unix.PtraceSeize(victimPID()) },
	"signal":        func() (string, error) { return "", unix.Kill(victimPID(), unix.SIGUSR1) },
	"procwrite":     writableProc,
	"devices":       rawDevices,
	"mknod":         func() (string, error) { return "", makeDevice() },
	"setuid":        func() (string, error) { return "", makeSetuid() },
	"loopback":      func() (string, error) { return dial("tcp", os.Getenv("VICTIM")) },
	"abstract":      func() (string, error) { return dial("unix", os.Getenv("VICTIM")) },
	"metadata":      func() (string, error) { return dial("tcp", "169.254.169.254:80") },
	"vsock":         func() (string, error) { return "", openSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"packet":        func() (string, error) { return "", openSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"netlink-audit": func() (string, error) { return "", openSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) },
	"tiocsti":       func() (string, error) { return "", typeIn(0) },
	"tiocsti-high":  func() (string, error) { return "", typeIn(1 << 32) },
	"sparse":        func() (string, error) { return "", os.Truncate(touch("sparse"), 10<<30) },
	"forkbomb":      forkBomb,
	"threads":       threadBomb,
	"memory":        fillMemory,
	"shared":        fillShared,
	"tmpfs":         func() (string, error) { return "", fill("/tmp/fill", 600<<20) },
	"memfd":         fillMemfd,
	"disk":          fillDisk,
	"x32":           func() (string, error) { _, _, e := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); return "", e },
	"calls":         refusedCalls,
	"core":          coreLimit,

	"through-door":   func() (string, error) { return tunnelBy("tcp", os.Getenv("DOOR")) },
	"through-proxy":  func() (string, error) { return tunnelBy("tcp", "127.0.0.1:3128") },
	"through-socket": func() (string, error) { return tunnelBy("unix", "/run/deed/egress.sock") },
}

func readFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

// byProc tries the links in /proc that lead to where other processes are.
func byProc() (string, error) {
	places, _ := filepath.Glob("/proc/[0-9]*/[cr][wo][do]*") // cwd and root
	for _, place := range places {
		for _, up := range []string{"", "/../../../../../../../.."} {
			if data, err := readFile(place + up + os.Getenv("VICTIM")); err == nil {
				return data, nil
			}
		}
	}
	return "", errNothing
}

// openForWriting writes nothing.
func openForWriting(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// writeStdin writes to the file behind stdin, if it is one.
func writeStdin() (string, error) {
	if st, err := os.Stdin.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", errors.Join(err, errNothing)
	}
	return "", overwrite("/proc/self/fd/0")
}

func fillUnlinked() (string, error) {
	path := filepath.Join(os.Getenv("WS"), "unlinked")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	os.Remove(path)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		if _, err := f.Write(block); err != nil {
			return "", err
		}
	}
	wait(60)
	return "100 MB", nil
}

func overwrite(path string) error { return os.WriteFile(path, []byte("scribbled"), 0o600) }

func touch(name string) string {
	path := filepath.Join(os.Getenv("WS"), name)
	_ = os.WriteFile(path, nil, 0o600)
	return path
}

func throughLink(link func(string, string) error) error {
	path := filepath.Join(os.Getenv("WS"), "link")
	if err := link(os.Getenv("VICTIM"), path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	return overwrite(path)
}

// hostEnviron looks for a variable in the environment of every process.
func hostEnviron() (string, error) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for entry := range bytes.SplitSeq(data, []byte{0}) {
			if v, ok := bytes.CutPrefix(entry, []byte("SANDBOX_TEST_SECRET=")); ok {
				return string(v), nil
			}
		}
	}
	return "", errNothing
}

// inheritedDescriptor looks for a descriptor from which the victim can be reached.
func inheritedDescriptor() (string, error) {
	for fd := range 1024 {
		f, err := unix.Openat(fd, strings.TrimPrefix(os.Getenv("VICTIM"), "/"), unix.O_RDONLY, 0)
		if err == nil {
			data, err := io.ReadAll(os.NewFile(uintptr(f), "victim"))
			return string(data), err
		}
	}
	return "", errNothing
}

func victimPID() int {
	pid, _ := strconv.Atoi(os.Getenv("VICTIM_PID"))
	return pid
}

func startIn(flags uintptr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

// writableProc looks for a file of the kernel that can be opened for writing. Nothing is written.
func writableProc() (string, error) {
	var found []string
	_ = filepath.WalkDir("/proc", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // an attacker takes what there is
		}
		if _, err := strconv.Atoi(d.Name()); d.IsDir() && filepath.Dir(path) == "/proc" && err == nil {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				if !isNull(f) {
					found = append(found, path)
				}
				f.Close()
			}
		}
		return nil
	})
	if len(found) == 0 {
		return "", errNothing
	}
	return strings.Join(found, "\n"), nil
}

func rawDevices() (string, error) {
	for _, dev := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/loop-control", "/dev/mapper/control", "/proc/kcore", "/proc/kmsg"} {
		f, err := os.OpenFile(dev, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		null := isNull(f)
		f.Close()
		if !null {
			return dev, nil
		}
	}
	return "", errNothing
}

// isNull reports whether what was opened is the null device, which stands in the place of what is hidden.
func isNull(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}

func makeDevice() error {
	path := filepath.Join(os.Getenv("WS"), "device")
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err
}

// makeSetuid tries every call that sets a mode.
func makeSetuid() error {
	path := touch("setuid")
	tries := []func() error{
		func() error { return unix.Chmod(path, 0o4755) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o2755, 0) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o4755, unix.AT_SYMLINK_NOFOLLOW) },
		func() error {
			fd, err := unix.Open(path+"1", unix.O_CREAT|unix.O_WRONLY, 0o4755)
			unix.Close(fd)
			return err
		},
		func() error {
			fd, err := unix.Openat(unix.AT_FDCWD, path+"2", unix.O_CREAT|unix.O_RDWR, 0o4755)
			unix.Close(fd)
			return err
		},
		func() error { return unix.Mknod(path+"3", unix.S_IFREG|0o4755, 0) },
		func() error {
			fd, err := unix.Openat2(unix.AT_FDCWD, path+"4", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 0o4755})
			unix.Close(fd)
			return err
		},
		func() error {
			fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR, 0o4755)
			unix.Close(fd)
			return err
		},
	}
	var last error
	for _, try := range tries {
		if last = try(); last == nil {
			break
		}
	}
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		if st, err := os.Stat(file); err == nil && st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			return nil
		}
	}
	return errors.Join(last, errNothing)
}

func dial(network, address string) (string, error) {
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // somebody is there, and may be slow
	return bufio.NewReader(c).ReadString('\n')
}

func openSocket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// typeIn puts a character into the input of a terminal of its own. With a high bit in the request, a filter that
// compares 64 bits would let it through.
func typeIn(high uintptr) error {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer pty.Close()
	c := byte('x')
	_, _, e := unix.Syscall(unix.SYS_IOCTL, pty.Fd(), unix.TIOCSTI|high, uintptr(ptr(&c)))
	if e != unix.EPERM {
		return nil // it came past the filter
	}
	return e
}

func forkBomb() (string, error) {
	var started []*exec.Cmd
	for range 600 {
		cmd := exec.Command("/bin/sleep", "120")
		if err := cmd.Start(); err != nil {
			return "", err
		}
		started = append(started, cmd)
	}
	wait(60)
	return fmt.Sprint(len(started), " processes"), nil
}

func threadBomb() (string, error) {
	var wg sync.WaitGroup
	for range 900 {
		wg.Go(func() { wait(60) })
	}
	wg.Wait()
	return "900 threads", nil
}

// wait blocks the thread, not only the goroutine.
func wait(seconds int64) {
	left := unix.Timespec{Sec: seconds}
	for unix.Nanosleep(&left, &left) != nil {
	}
}

func fillMemory() (string, error) {
	block := make([]byte, 600<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	wait(60)
	return "600 MB", nil
}

// fillShared lets many processes hold a part each.
func fillShared() (string, error) {
	var cmds []*exec.Cmd
	for range 6 {
		cmd := exec.Command("/bin/sh", "-c", `x=$(head -c 50000000 /dev/zero | tr '\0' x); sleep 60`)
		if err := cmd.Start(); err != nil {
			return "", err
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		_ = cmd.Wait()
	}
	return "6 times 50 MB", nil
}

func fillMemfd() (string, error) {
	fd, err := unix.MemfdCreate("fill", 0)
	if err != nil {
		return "", err
	}
	unix.Close(fd)
	return "a memfd", nil
}

func fill(path string, n int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range n >> 20 {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return nil
}

func fillDisk() (string, error) {
	for i := range 10 {
		if err := fill(filepath.Join(os.Getenv("WS"), fmt.Sprint("fill", i)), 10<<20); err != nil {
			return "", err
		}
	}
	wait(60)
	return "100 MB", nil
}

// allowedWork does what a filter could break.
func allowedWork() (string, error) {
	var wg sync.WaitGroup
	for range 50 { // threads
		wg.Go(func() { left := unix.Timespec{Nsec: 1e6}; _ = unix.Nanosleep(&left, nil) })
	}
	wg.Wait()
	for _, at := range [][2]string{{"unix", "/tmp/sock"}, {"unix", "@name"}, {"tcp", "127.0.0.1:0"}, {"tcp", "localhost:0"}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			return "", err
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				fmt.Fprintln(c, "hello")
				c.Close()
			}
		}()
		got, err := dial(at[0], l.Addr().String())
		if err != nil || got != "hello\n" {
			return "", fmt.Errorf("%v: %q, %w", at, got, err)
		}
	}
	if _, err := net.Interfaces(); err != nil { // netlink
		return "", err
	}
	var core unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_CORE, nil, &core); err != nil || core.Cur != 1 {
		return "", fmt.Errorf("core limit %d, %w", core.Cur, err)
	}
	return "allowed\n", nil
}

// coreLimit tries to have the host's core handler started at the next crash.
func coreLimit() (string, error) {
	_ = unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_CORE, nil, &now); err != nil {
		return "", err
	}
	if now.Cur == 1 {
		return "", errors.New("the limit stayed")
	}
	return fmt.Sprint(now.Cur), nil
}

func useEgress() (string, error) {
	var out string
	for _, word := range []string{"hello", "again"} {
		c, err := net.Dial("tcp", "127.0.0.1:3128")
		if err != nil {
			return "", err
		}
		fmt.Fprintln(c, word)
		_ = c.(*net.TCPConn).CloseWrite()
		data, err := io.ReadAll(c)
		c.Close()
		if err != nil {
			return "", err
		}
		out += string(data)
	}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); errors.Is(err, unix.ECHILD) {
		out += "no children\n"
	}
	return out, nil
}

// refusedCalls makes every call that the filter refuses, with arguments that the kernel would refuse for another
// reason, and reports those that came through to the kernel.
func refusedCalls() (string, error) {
	var through []string
	for name, c := range refused {
		_, _, e := unix.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if e != c.want {
			through = append(through, fmt.Sprintf("%s: %v", name, e))
		}
	}
	if len(through) == 0 {
		return "", errors.New("all calls refused")
	}
	return strings.Join(through, "\n"), nil
}

type rawCall struct {
	nr   uintptr
	args [6]uintptr
	want unix.Errno
}

const bad = ^uintptr(0)

var refused = map[string]rawCall{
	"ptrace": {unix.SYS_PTRACE, [6]uintptr{bad, bad}, unix.EPERM}, "process_vm_readv": {unix.SYS_PROCESS_VM_READV, [6]uintptr{bad}, unix.EPERM},
	"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, [6]uintptr{bad}, unix.EPERM},
	"keyctl":            {unix.SYS_KEYCTL, [6]uintptr{bad}, unix.EPERM}, "add_key": {unix.SYS_ADD_KEY, [6]uintptr{}, unix.EPERM},
	"request_key": {unix.SYS_REQUEST_KEY, [6]uintptr{}, unix.EPERM}, "umount2": {unix.SYS_UMOUNT2, [6]uintptr{}, unix.EPERM},
	"pivot_root": {unix.SYS_PIVOT_ROOT, [6]uintptr{}, unix.EPERM}, "move_mount": {unix.SYS_MOVE_MOUNT, [6]uintptr{bad, 0, bad}, unix.EPERM},
	"open_tree": {unix.SYS_OPEN_TREE, [6]uintptr{bad}, unix.EPERM}, "fsopen": {unix.SYS_FSOPEN, [6]uintptr{}, unix.EPERM},
	"fsmount": {unix.SYS_FSMOUNT, [6]uintptr{bad}, unix.EPERM}, "fspick": {unix.SYS_FSPICK, [6]uintptr{bad}, unix.EPERM},
	"mount_setattr": {unix.SYS_MOUNT_SETATTR, [6]uintptr{bad}, unix.EPERM}, "setns": {unix.SYS_SETNS, [6]uintptr{bad}, unix.EPERM},
	"bpf": {unix.SYS_BPF, [6]uintptr{bad}, unix.EPERM}, "perf_event_open": {unix.SYS_PERF_EVENT_OPEN, [6]uintptr{}, unix.EPERM},
	"userfaultfd": {unix.SYS_USERFAULTFD, [6]uintptr{bad}, unix.EPERM}, "kexec_load": {unix.SYS_KEXEC_LOAD, [6]uintptr{0, bad}, unix.EPERM},
	"kexec_file_load": {unix.SYS_KEXEC_FILE_LOAD, [6]uintptr{bad, bad}, unix.EPERM}, "init_module": {unix.SYS_INIT_MODULE, [6]uintptr{}, unix.EPERM},
	"finit_module": {unix.SYS_FINIT_MODULE, [6]uintptr{bad}, unix.EPERM}, "delete_module": {unix.SYS_DELETE_MODULE, [6]uintptr{}, unix.EPERM},
	"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{bad}, unix.EPERM}, "name_to_handle_at": {unix.SYS_NAME_TO_HANDLE_AT, [6]uintptr{bad}, unix.EPERM},
	"quotactl": {unix.SYS_QUOTACTL, [6]uintptr{bad}, unix.EPERM}, "swapon": {unix.SYS_SWAPON, [6]uintptr{}, unix.EPERM}, "swapoff": {unix.SYS_SWAPOFF, [6]uintptr{}, unix.EPERM},
	"reboot": {unix.SYS_REBOOT, [6]uintptr{bad, bad, bad}, unix.EPERM}, "settimeofday": {unix.SYS_SETTIMEOFDAY, [6]uintptr{bad, bad}, unix.EPERM},
	"clock_settime": {unix.SYS_CLOCK_SETTIME, [6]uintptr{bad, bad}, unix.EPERM}, "adjtimex": {unix.SYS_ADJTIMEX, [6]uintptr{bad}, unix.EPERM},
	"acct": {unix.SYS_ACCT, [6]uintptr{bad}, unix.EPERM}, "personality": {unix.SYS_PERSONALITY, [6]uintptr{0x40000}, unix.EPERM},
	"chroot": {unix.SYS_CHROOT, [6]uintptr{bad}, unix.EPERM}, "syslog": {unix.SYS_SYSLOG, [6]uintptr{bad}, unix.EPERM}, "pidfd_getfd": {unix.SYS_PIDFD_GETFD, [6]uintptr{bad}, unix.EPERM},
	"unshare": {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNET}, unix.EPERM}, "unshare time": {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWTIME}, unix.EPERM},
	"unshare high": {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUTS | 1<<33}, unix.EPERM},
	"clone3":       {unix.SYS_CLONE3, [6]uintptr{}, unix.ENOSYS}, "openat2": {unix.SYS_OPENAT2, [6]uintptr{}, unix.ENOSYS},
	"io_uring_setup": {unix.SYS_IO_URING_SETUP, [6]uintptr{}, unix.ENOSYS}, "io_uring_enter": {unix.SYS_IO_URING_ENTER, [6]uintptr{bad}, unix.ENOSYS},
	"io_uring_register": {unix.SYS_IO_URING_REGISTER, [6]uintptr{bad}, unix.ENOSYS}, "memfd_secret": {unix.SYS_MEMFD_SECRET, [6]uintptr{bad}, unix.ENOSYS},
	"unknown": {600, [6]uintptr{}, unix.ENOSYS}, "shmget large": {unix.SYS_SHMGET, [6]uintptr{0, 1 << 20, 0o600}, unix.EINVAL},
	"shmget huge": {unix.SYS_SHMGET, [6]uintptr{0, 1 << 33, 0o600}, unix.EINVAL},
	"socketpair":  {unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_INET, 1}, unix.EAFNOSUPPORT}, "socket alg": {unix.SYS_SOCKET, [6]uintptr{unix.AF_ALG, 5}, unix.EAFNOSUPPORT},
	"socket high": {unix.SYS_SOCKET, [6]uintptr{unix.AF_ALG | 1<<32, 5}, unix.EAFNOSUPPORT}, "netlink": {unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, 3, unix.NETLINK_NETFILTER}, unix.EAFNOSUPPORT},
}
