package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archGuard kills callers of the x32 interface, whose numbers would pass by the rules.
func archGuard() program {
	const x32 = 0x40000000
	return program{jump(unix.BPF_JGE, x32, 0, 1), ret(kill)}
}

var archDenied = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_SYSFS, unix.SYS__SYSCTL,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_USTAT,
}

func archRules() []rule {
	eperm := errno(unix.EPERM)
	return []rule{
		{unix.SYS_OPEN, creating(1, 2)},
		{unix.SYS_CREAT, unless(1, setID, eperm)},
		{unix.SYS_CHMOD, unless(1, setID, eperm)},
		{unix.SYS_MKNOD, unless(1, setID, eperm)},
	}
}
