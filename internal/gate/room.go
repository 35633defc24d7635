package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/workspace"
)

// room proves the patch and runs the checks. First base plus patch must give what the agent left behind. Then a
// clean room is made of the base and the patch, with every protected file as it was, and the checks run there:
// code from the agent's own directory never runs, and what the agent did to a protected test has no effect.
func (v *verdict) room(ctx context.Context, in Input) error {
	if len(in.Spec.Checks) == 0 && in.Changes.Empty() {
		return nil
	}
	if in.SecretHit {
		// The true patch is never stored, so there is nothing to prove or to check.
		for _, c := range in.Spec.Checks {
			v.checks = append(v.checks, deed.CheckResult{Name: CheckName(c), Command: Argv(c), Status: "error", ExitCode: -1})
		}
		return nil
	}
	if !in.Changes.Empty() {
		if err := workspace.Check(ctx, in.Base, in.Manifest, in.Patch, in.After, in.Changes); err != nil {
			return v.workspaceFault(ctx, "prove the patch", err)
		}
	}
	if len(in.Spec.Checks) == 0 {
		return nil
	}
	if err := workspace.CleanRoom(ctx, in.Base, in.Manifest, in.Patch, in.Spec.ProtectedPaths, in.RoomDir); err != nil {
		return v.workspaceFault(ctx, "make the clean room", err)
	}
	for _, c := range in.Spec.Checks {
		r := in.RunCheck(ctx, c, in.RoomDir)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.checks = append(v.checks, r)
		switch r.Status {
		case "passed":
		case "timeout":
			v.rejectCheck(CodeCheckTimeout, r, "ran into its time limit")
		case "failed":
			v.rejectCheck(CodeCheckFailed, r, fmt.Sprintf("ended with exit code %d in the clean room", r.ExitCode))
		default:
			v.rejectCheck(CodeCheckError, r, "could not be run: "+r.Tail)
		}
	}
	return nil
}

// workspaceFault turns a fault of the agent's into a reason, and returns a fault of deed's own as an error. The
// checks do not run after either.
func (v *verdict) workspaceFault(ctx context.Context, op string, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, workspace.ErrBaseTampered):
		v.reject(CodePinnedInput, "", "the base was changed during the attempt: %v", err)
	case errors.Is(err, workspace.ErrPatchMismatch):
		v.reject(CodePatchInapplicable, "", "base plus patch is not what the agent left behind: %v", err)
	case errors.Is(err, workspace.ErrApply), errors.Is(err, workspace.ErrPatchTooLarge):
		v.reject(CodePatchInapplicable, "", "the patch does not apply to the base: %v", err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (v *verdict) rejectCheck(code string, r deed.CheckResult, what string) {
	v.reasons = append(v.reasons, deed.Reason{Code: code, Check: r.Name, Message: fmt.Sprintf("check %q %s", r.Name, what)})
}

// Argv returns the argument vector of a check.
func Argv(c deed.Check) []string {
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", c.Shell}
	}
	return c.Command
}

// CheckName names a check: its own name, else its command line.
func CheckName(c deed.Check) string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Shell != "":
		return c.Shell
	case len(c.Command) > 0:
		s := c.Command[0]
		for _, a := range c.Command[1:] {
			s += " " + a
		}
		return s
	}
	return "check"
}
