//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is a list of what is refused. A list of what is allowed would break tools at every release of the
// kernel; instead, calls that are newer than this list do not exist (ENOSYS), and programs know how to do without.
//
// The kernel looks at 64 bits of an argument where the call itself takes 32. Only the lower half is compared: with
// all 64, a caller would set a high bit that the call ignores and be let through.

// denied calls are refused with EPERM: they reach for the machine, for other processes or for a larger attack
// surface than work on files needs.
var denied = []uint32{
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	// Keys, which no namespace separates.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_CHROOT,
	unix.SYS_SETNS, unix.SYS_LISTNS,
	// Files by handle, past all directories.
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	// The kernel itself.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SYSLOG, unix.SYS_FANOTIFY_INIT,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_FILE_SETATTR,
	// The machine.
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
}

// absent calls do not exist (ENOSYS), because programs then take another way: those whose arguments the filter
// cannot see, and memory that the monitor could not count.
var absent = []uint32{
	unix.SYS_CLONE3, unix.SYS_OPENAT2,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
}

const (
	// newNamespaces are the flags of clone and unshare that make one. CLONE_NEWTIME is unshare's alone: for clone the
	// bit is part of the exit signal.
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	// setID are the mode bits that would make a file run as deed's user, or group, for anybody on the host.
	setID = unix.S_ISUID | unix.S_ISGID
	// maxSegment bounds a segment of System V shared memory. While it is not mapped, nothing counts it; the kernel
	// bounds their number.
	maxSegment = 64 << 10
	// lastSyscall is the newest call that this list knows of.
	lastSyscall = unix.SYS_RSEQ_SLICE_YIELD
)

const (
	allow = uint32(unix.SECCOMP_RET_ALLOW)
	kill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	// fakeSuccess returns success without making the call.
	fakeSuccess = uint32(unix.SECCOMP_RET_ERRNO)
)

func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

type program []unix.SockFilter

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// low loads the lower half of an argument, high the upper. All architectures here are little-endian.
func low(arg uint32) unix.SockFilter  { return load(16 + 8*arg) }
func high(arg uint32) unix.SockFilter { return load(16 + 8*arg + 4) }

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// jump skips yes instructions when the test holds, else no.
func jump(test uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

// when makes a part that ends with one action when the argument is one of the values, else with the other.
func when(arg uint32, values []uint32, then, otherwise uint32) program {
	p := program{low(arg)}
	for i, v := range values {
		p = append(p, jump(unix.BPF_JEQ, v, len(values)-i, 0))
	}
	return append(p, ret(otherwise), ret(then))
}

// unless makes a part that refuses when the argument has one of the bits.
func unless(arg, bits, refuse uint32) program {
	return program{low(arg), jump(unix.BPF_JSET, bits, 0, 1), ret(refuse), ret(allow)}
}

// creating makes a part that refuses the mode bits when the flags say that a file is made. Without those flags the
// mode is whatever is in the register.
func creating(flags, mode uint32) program {
	const create = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	return append(program{low(flags), jump(unix.BPF_JSET, create, 1, 0), ret(allow)}, unless(mode, setID, errno(unix.EPERM))...)
}

// A rule is a call with the part that decides on its arguments.
type rule struct {
	call uint32
	part program
}

// rules are for calls that depend on their arguments; those of one architecture alone are added by archRules.
func rules() []rule {
	eperm := errno(unix.EPERM)
	return append(archRules(),
		rule{unix.SYS_OPENAT, creating(2, 3)},
		rule{unix.SYS_FCHMOD, unless(1, setID, eperm)},
		rule{unix.SYS_FCHMODAT, unless(2, setID, eperm)},
		rule{unix.SYS_FCHMODAT2, unless(2, setID, eperm)},
		rule{unix.SYS_MKNODAT, unless(2, setID, eperm)},
		rule{unix.SYS_CLONE, unless(0, newNamespaces, eperm)},
		rule{unix.SYS_UNSHARE, unless(0, newNamespaces|unix.CLONE_NEWTIME, eperm)},
		// What is typed into a terminal is what its owner runs.
		rule{unix.SYS_IOCTL, when(1, []uint32{unix.TIOCSTI, unix.TIOCLINUX}, eperm, allow)},
		// 0xffffffff only asks.
		rule{unix.SYS_PERSONALITY, when(0, []uint32{0, 0xffffffff}, allow, eperm)},
		// Families that no network namespace separates, above all AF_VSOCK, and those that nobody needs.
		rule{unix.SYS_SOCKET, program{
			low(0),
			jump(unix.BPF_JEQ, unix.AF_UNIX, 6, 0),
			jump(unix.BPF_JEQ, unix.AF_INET, 5, 0),
			jump(unix.BPF_JEQ, unix.AF_INET6, 4, 0),
			jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 2),
			low(2),
			jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1, 0),
			ret(errno(unix.EAFNOSUPPORT)),
			ret(allow),
		}},
		rule{unix.SYS_SOCKETPAIR, when(0, []uint32{unix.AF_UNIX}, allow, errno(unix.EAFNOSUPPORT))},
		rule{unix.SYS_SHMGET, program{
			high(1), jump(unix.BPF_JEQ, 0, 0, 2),
			low(1), jump(unix.BPF_JGT, maxSegment, 0, 1),
			ret(errno(unix.EINVAL)), ret(allow),
		}},
		// The limit on core dumps stays at the value at which the host's core handler is not started.
		rule{unix.SYS_SETRLIMIT, when(0, []uint32{unix.RLIMIT_CORE}, fakeSuccess, allow)},
		rule{unix.SYS_PRLIMIT64, program{
			low(1), jump(unix.BPF_JEQ, unix.RLIMIT_CORE, 0, 5),
			low(2), jump(unix.BPF_JEQ, 0, 0, 2),
			high(2), jump(unix.BPF_JEQ, 0, 1, 0),
			ret(fakeSuccess), ret(allow),
		}},
	)
}

// filter assembles the program.
func filter() program {
	p := program{
		load(4), // the architecture of the call, which is not always that of the program
		jump(unix.BPF_JEQ, auditArch, 1, 0), ret(kill),
		load(0), // its number
	}
	p = append(p, archGuard()...)
	p = append(p, jump(unix.BPF_JGT, lastSyscall, 0, 1), ret(errno(unix.ENOSYS)))
	for _, r := range rules() {
		p = append(p, jump(unix.BPF_JEQ, r.call, 0, len(r.part)))
		p = append(p, r.part...)
	}
	for _, call := range absent {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), ret(errno(unix.ENOSYS)))
	}
	for _, call := range slices.Concat(denied, archDenied) {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), ret(errno(unix.EPERM)))
	}
	return append(p, ret(allow))
}

// install puts the filter over all threads of this process. It needs no privilege where none can be gained.
func (p program) install() error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return fmt.Errorf("install the filter: %w", e)
	}
	return nil
}

// bytes returns the program as bwrap reads it.
func (p program) bytes() []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, []unix.SockFilter(p)) // a buffer takes everything
	return b.Bytes()
}
