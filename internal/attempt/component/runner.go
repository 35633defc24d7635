package component

import "context"

// A Command is a program to run where the mounts of a runtime are visible, with its complete environment.
type Command struct {
	Argv  []string
	Dir   string // inside; "": the root
	Env   []string
	Stdin []byte
}

// An Output is how a command ended and what it printed, as far as the runner kept it.
type Output struct {
	ExitCode  int
	TimedOut  bool
	Limit     string // the limit of the sandbox that ended it; "" if there was none
	Truncated bool   // there was more on stdout than is kept
	Stdout    []byte
	Stderr    []byte
}

// A Runner runs a command inside a runtime to its end. An error means that the command has no exit to report. The
// Runner enforces the time limit: a command that never ends returns with TimedOut.
type Runner func(ctx context.Context, c Command) (Output, error)
