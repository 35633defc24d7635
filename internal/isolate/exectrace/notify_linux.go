//go:build amd64 || arm64

package exectrace

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's structures of a notification; see seccomp_unotify(2).
type (
	notification struct {
		id    uint64
		pid   uint32 // of the thread, as this process sees it; 0: it does not
		flags uint32
		data  struct {
			call int32
			arch uint32
			ip   uint64
			args [6]uint64
		}
	}
	response struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// errOld reports a kernel that lets no call go on that it has reported.
var errOld = errors.New("the kernel is older than 5.5")

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jumpEqual(value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes, Jf: no}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// execFilter reports execve and execveat, and allows all else.
func execFilter() []unix.SockFilter {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	return []unix.SockFilter{
		load(4), jumpEqual(arch, 0, 3),
		load(0), jumpEqual(unix.SYS_EXECVE, 2, 0), jumpEqual(unix.SYS_EXECVEAT, 1, 0),
		ret(unix.SECCOMP_RET_ALLOW), ret(unix.SECCOMP_RET_USER_NOTIF),
	}
}

// observeThread puts the filter on this thread, and so on what it starts from now on, and returns where the kernel reports.
// confined says that the thread, and what it starts, had to give up gaining privileges.
func observeThread() (listener int, confined bool, err error) {
	if err := checkKernelABI(); err != nil {
		return -1, false, err
	}
	listener, err = install()
	if errors.Is(err, unix.EACCES) {
		already, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return -1, false, fmt.Errorf("give up gaining privileges: %w", err)
		}
		confined = already != 1
		listener, err = install()
	}
	if errors.Is(err, unix.EBUSY) {
		return -1, confined, errors.New("the run is observed by another program already")
	}
	if err != nil {
		return -1, confined, fmt.Errorf("install the filter: %w", err)
	}
	// Who waits for whom is known: the kernel may have the one run where the other did. Kernels before 6.6 cannot.
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	return listener, confined, nil
}

// install installs the filter. Kernels before 5.19 do not know how to hold a call whatever signals come: there, a call that
// is interrupted is reported again.
func install() (int, error) {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	listener, err := installWith(flags | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		return installWith(flags)
	}
	return listener, err
}

func installWith(flags uintptr) (int, error) {
	filter := execFilter()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// checkKernelABI asks the kernel whether its structures match those above, and whether it can let a call continue.
func checkKernelABI() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("ask for the version of the kernel: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 5 {
		return errOld
	}
	var sizes struct{ notification, response, data uint16 }
	if _, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes))); e != 0 {
		return fmt.Errorf("ask the kernel for the form of its reports: %w", e)
	}
	if sizes.notification > uint16(unsafe.Sizeof(notification{})) || sizes.response > uint16(unsafe.Sizeof(response{})) {
		return errors.New("the kernel reports in a newer form")
	}
	return nil
}

// receive waits for a report.
func receive(listener int) (notification, error) {
	for {
		var n notification
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch e {
		case 0:
			return n, nil
		case unix.EINTR, unix.ENOENT: // a signal; or the caller is gone
		default:
			return n, e
		}
	}
}

// release lets a call go on. The error is ENOENT when the caller is gone, or was interrupted and will be reported again.
func release(listener int, id uint64) error {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		switch e {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return e
		}
	}
}
