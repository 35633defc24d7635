package failure

// The exit codes of deed's commands: the whole table. Nothing else in deed defines one.
const (
	ExitDone        = 0   // the work is done, the bundle is valid, the question is answered
	ExitNotDone     = 1   // the work is not done, or there are findings
	ExitUsage       = 2   // the command line or its input is wrong; nothing was changed
	ExitInfra       = 3   // disk, database or another part of the machine failed
	ExitLocked      = 4   // another process dispatches in this home
	ExitInterrupted = 130 // a signal ended the command
)

// ExitNames has a word for every exit code, for people and for --json.
var ExitNames = map[int]string{
	ExitDone: "done", ExitNotDone: "not_done", ExitUsage: "usage", ExitInfra: "infrastructure", ExitLocked: "locked", ExitInterrupted: "interrupted",
}
