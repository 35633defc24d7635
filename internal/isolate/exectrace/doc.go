// Package exectrace owns the observation of executed programs: which files of a tree a command executed, or had an
// interpreter execute. It observes runs on the base only, in which no agent's code is; it decides nothing about a verdict.
//
// # How a run is observed
//
//	deed ── supervisor or bubblewrap ── tracer (this binary) ── command ── …
//
// The tracer has a seccomp filter put on the command and on all that it starts. The filter has the kernel report each
// execve and execveat to the tracer, and hold the caller until the tracer has looked at its arguments and let it go on.
// Nothing else is stopped: no other system call, no thread, no signal. ptrace would stop a process at each signal too
// (those that the runtimes of Go and Java send themselves all the time), would keep debuggers and leak checkers in the run
// from using it, and is forbidden in deed's sandboxes.
//
// The filter needs a privilege that an ordinary user has only when it gives up gaining any (no_new_privs). A set-user-ID
// program then runs without its rights; Trace.Disturbed names it, and the run has to be repeated without observation.
//
// Where nothing can be observed (an old kernel, a container that refuses the filter, a run that is observed already), the
// command runs plainly, and the trace says why it is not complete.
//
// # What is not seen
//
// Files that a program reads by itself: sourced scripts, imported modules, included makefiles. Programs of 32 bits. What a
// process that is left behind executes after the command itself has ended: that fails (ENOSYS), and the process is ended anyway.
package exectrace
