package driver

import (
	"context"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A Fitted driver looks at a job before the sandbox of its attempt is built: which agent runs, and what it needs, depends on
// the task and not on the adapter alone. The interface is optional, and replaces Mounted.
type Fitted interface {
	// Fit says what the job needs, or why it cannot be done: an error of class failure.Config, with a Refusal in it where
	// programs decide on the reason. Nothing of the agent has run. The job has no brief and no sandbox yet.
	Fit(ctx context.Context, j Job) (Fit, error)
}

// A Fit is what a job needs of its attempt.
type Fit struct {
	Mounts     []sandbox.Mount   // what the agent's program consists of; a contained agent sees it
	Toolchains []string          // that the program needs, besides those of the workspace
	Secrets    map[string]string // by variable: the agent gets them, and nothing that is written holds them
	ReadOnly   string            // why the agent may change nothing of its workspace; empty: it may
	Writable   []string          // directories below the workspace, as slash paths, that it may write to all the same
	Plan       any               // the driver's own: Start gets it with the job
}

// A Refusal is why a job was not begun, in a form that programs decide on. It stands in a *failure.Error.
type Refusal struct {
	Code  string // a dotted word, such as agent_task.provider_missing
	Class string // the failure class of the contract that the code is of
	Err   error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes the failure of a job that cannot be begun.
func Refuse(op, code, class string, err error, remedy string) *failure.Error {
	return failure.New(failure.Config, op, &Refusal{code, class, err}, remedy)
}
