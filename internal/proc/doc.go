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
// What it cannot hold: processes that a service outside the tree starts on an agent's behalf (cron, a container
// engine, a user's systemd), and those of another user that deed may not signal. The latter are reported
// (ErrSurvivors).
package proc
