// Package proc owns the starting and ending of operating system processes: short trusted tools, and agents whose
// whole tree must be gone when a run is over. It knows nothing of tasks, drivers or results.
//
// # How a tree is held
//
//	deed ─── supervisor ─── main process ─── …
//	              └──────── whatever of the run lost its parent
//
// A process group holds only those who stay in it. A supervisor is a child subreaper: whoever of its descendants
// loses its parent becomes its child, in whatever group or session. So a run is over when the supervisor has no child
// left, which wait4 says without a race. Until then it asks (SIGTERM), waits, and kills.
//
//	who dies                    what ends the tree
//	the main process            the supervisor: SIGTERM, a moment, SIGKILL
//	deed                        the supervisor, when its socket to deed ends; and by a parent-death signal
//	the supervisor              deed, a subreaper itself, whose children the orphans become; the main process also
//	                            by a parent-death signal
//	both at once                the next deed, by the mark in the environment (KillByEnv)
//
// # How a namespace is held
//
//	deed ─┬─ guard
//	      └─ main process: bubblewrap ─── first process of the namespace ─── …
//
// A pid namespace holds all that is in it by itself: when its first process is gone, the kernel has ended the others. A
// run whose main process makes one (Spec.Enclosed) is over when that and the first process are gone, which wait4 says for
// their process group; it needs no supervisor, which takes longer to start than bubblewrap. A guard, which is a shell,
// stays behind deed.
//
//	who dies                    what ends the tree
//	the main process            the kernel, by a parent-death signal to the first process; deed, if that is late
//	deed                        the guard, when its pipe to deed ends; and by a parent-death signal
//	the guard                   nothing has to end: the next run starts another
//	deed and the guard at once  the parent-death signals, once the sandbox is complete; before, the next deed, by the mark
//
// A supervisor enforces the time limit of a run even while deed is stopped; an enclosed run is ended when deed continues.
//
// A trusted tool (Tool) has a process group, and the kernel kills it with deed, but not what it started: so are git and other short commands
// run. A hook or a target of messages that an operator wrote is run as an agent is (SupervisedTool); the command of a keychain, which may leave a daemon
// behind for the next one, has a guard for its group (ToolSpec.Guarded).
//
// What neither can hold: processes that a service outside the tree starts on an agent's behalf (cron, a container
// engine, a user's systemd), and those of another user that deed may not signal. The latter are reported
// (ErrSurvivors).
package proc
