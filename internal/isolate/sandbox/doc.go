// Package sandbox owns the walls around a command: which files it sees, whom it can reach, what it may ask of the
// kernel and how much of the machine it may use. It knows nothing of tasks, agents or verdicts, and starts and ends
// processes through package proc alone.
//
// # The walls of a namespace
//
//	deed ── supervisor ── bwrap ═╪═ bwrap (pid 1) ─┬─ command ── …
//	                             ║                 └─ inner half, if there is a way out
//
// The double line is the boundary: own mount, pid, ipc, uts, cgroup, user and network namespaces. What is inside has
// no capability, cannot gain one, and stands behind a seccomp filter. It sees the system read-only, a handful of made
// up files in /etc, and the mounts of its Spec; nothing else exists. The root itself is read-only.
//
// Rules that hold, each with an attack in the tests:
//
//   - bwrap runs outside, so it gets nothing of the command's environment (a loader would obey LD_PRELOAD there), and
//     none of its options stand on a command line that the inside can read.
//   - A mount's source is opened without following a link and handed over as a descriptor: a link that is put in its
//     place later leads nowhere. A target below another mount is made and checked in the same way.
//   - The user inside is deed's own user outside, so that files keep their owner. For root that means: the kernel lets
//     it write /proc/sys, which no namespace covers. So /proc is read-only, and what in it is for root alone is hidden.
//   - No descriptor of a file on the host comes in, not even a readable one as stdin: by /proc/self/fd it would be
//     opened again, for writing.
//   - No set-user-id file can be made: on the host it would be deed's.
//
// Where the Spec names loopback addresses of the host, the inner half listens at the same ones inside, each a door to that
// one address: what comes in goes to the proxy as a request for it, whatever the command sends.
//
// What is not hidden: the names of the host's directories that are mounted (/proc/self/mountinfo), the load of the
// machine, its kernel and its processors.
//
// A socket in a mounted directory is a way to whoever listens on it, read-only or not, and past the wall of the network:
// no flag of a mount and no filter of calls keeps a command from connecting. Mount no directory in which daemons of the
// host have theirs.
//
// Two sandboxes that write to one mount at the same time can trick each other's nested targets; do not share a
// writable mount in which another target lies.
//
// # The walls of a container
//
// Podman, as root, with the same view and the same filter on top of its own. The kernel holds the limits on memory and
// threads in a control group. What differs: sources of mounts are paths for the engine, so what they lie in must not be
// writable from inside; the engine keeps a record and a mount of its own until the run is over, which Reclaim removes
// after a crash; there is no way out to allowed hosts. The first process inside is the command itself, as pid 1.
//
// # Limits
//
// File size and open files are the kernel's limits. Memory, processes and disk are watched from outside several times
// a second, and the run is killed at once when it exceeds one: Walls says "monitored" and what is not counted.
package sandbox
