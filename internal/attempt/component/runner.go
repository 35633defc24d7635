package component

import "context"

// A Command is a program to run where the mounts of a runtime are, with its complete environment.
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
	Limit     string // the limit of the sandbox for which it was killed; "" when there was none
	Truncated bool   // there was more on stdout than is kept
	Stdout    []byte
	Stderr    []byte
}

// A Runner runs a command inside a runtime to its end. An error means that there is no exit to speak of. The time limit
// is the runner's: a command that never ends comes back with TimedOut.
type Runner func(ctx context.Context, c Command) (Output, error)
