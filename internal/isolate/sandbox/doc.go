// Package sandbox owns the isolation of a command: which files it sees, which hosts it can reach, which system calls it may
// make and how much of the machine it may use. It knows nothing of tasks, agents or verdicts, and starts and ends processes
// only through package proc.
//
// # Isolation by namespaces
//
//	deed ── supervisor ── bwrap ═╪═ bwrap (pid 1) ─┬─ command ── …
//	                             ║                 └─ inner half, if there is a way out
//
// The double line is the boundary: own mount, pid, ipc, uts, cgroup, user and network namespaces. A process inside has no
// capability, cannot gain one, and runs under a seccomp filter. It sees the system read-only, a handful of made-up files in
// /etc, and the mounts of its Spec; nothing else exists. The root itself is read-only.
//
// Rules that hold, each with an attack in the tests:
//
//   - bwrap runs outside, so it gets nothing of the command's environment (a loader would obey LD_PRELOAD there), and
//     none of its options stand on a command line that the inside can read.
//   - A mount's source is opened without following a link and passed on as a descriptor: a link that replaces it later has
//     no effect. A target below another mount is made and checked in the same way.
//   - The user inside is deed's own user outside, so that files keep their owner. For root that means: the kernel lets
//     it write /proc/sys, which no namespace covers. So /proc is read-only, and what in it is for root alone is hidden.
//   - No descriptor of a file on the host is passed in, not even a readable one as stdin: the command could reopen it for
//     writing through /proc/self/fd.
//   - No set-user-id file can be made: on the host it would belong to deed's user.
//
// If the Spec names loopback addresses of the host, the inner half listens on the same addresses inside. Each listener is a
// door to that one address: every connection goes to the proxy as a request for it, whatever the command sends.
//
// What is not hidden: the names of the host's directories that are mounted (/proc/self/mountinfo), the load of the
// machine, its kernel and its processors.
//
// A socket in a mounted directory leads to whoever listens on it, even if the mount is read-only, and so bypasses the network
// isolation: neither mount flags nor a seccomp filter keep a command from connecting. Do not mount a directory in which
// daemons of the host keep their sockets.
//
// Two sandboxes that write to one mount at the same time can trick each other's nested targets; do not share a
// writable mount in which another target lies.
//
// # Isolation by a container
//
// Podman, as root, with the same view and the same filter on top of its own. The kernel enforces the limits on memory and
// threads with a control group. The differences: the engine takes sources of mounts as paths, so their parent directories must
// not be writable from inside; the engine keeps a record and a mount of its own until the run is over, which Reclaim removes
// after a crash; and there is no way out to allowed hosts. The first process inside is the command itself, as pid 1.
//
// # Limits
//
// File size and open files are the kernel's limits. Memory, processes and disk are watched from outside several times
// a second, and the run is killed at once when it exceeds one: Restrictions says "monitored" and what is not counted.
package sandbox
