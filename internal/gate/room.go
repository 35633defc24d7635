package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/workspace"
)

// room proves the patch and runs the checks. First base plus patch must give what the agent left behind. Then every
// check gets a clean room of its own, made of the base and the patch with every protected file as it was: code from
// the agent's own directory never runs, what the agent did to a protected test has no effect, and what one check's
// code does to its room is not there for the next.
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
	pin, err := hashFile(in.Patch)
	if err != nil {
		return fmt.Errorf("pin the patch: %w", err)
	}
	if !in.Changes.Empty() {
		if err := workspace.Check(ctx, in.Base, in.Manifest, in.Patch, in.After, in.Changes); err != nil {
			return v.workspaceFault(ctx, "prove the patch", err)
		}
	}
	for i, c := range in.Spec.Checks {
		room := filepath.Join(in.Rooms, strconv.Itoa(i))
		if err := os.Mkdir(room, 0o700); err != nil {
			return fmt.Errorf("make the clean room: %w", err)
		}
		now, err := hashFile(in.Patch)
		if err != nil {
			return fmt.Errorf("look at the patch again: %w", err)
		}
		if now != pin {
			v.reject(CodePinnedInput, "", "the patch was changed after it was proven")
			return nil
		}
		if err := workspace.CleanRoom(ctx, in.Base, in.Manifest, in.Patch, in.Spec.ProtectedPaths, filepath.Join(room, TreeDir)); err != nil {
			return v.workspaceFault(ctx, "make the clean room", err)
		}
		r := in.RunCheck(ctx, c, room)
		r.Advisory = c.Advisory
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.checkEnded(r)
		if err := workspace.Remove(room); err != nil {
			return fmt.Errorf("remove a clean room: %w", err)
		}
	}
	return nil
}

// TreeDir is the name, in a check's room, of the tree that is checked.
const TreeDir = "tree"

func (v *verdict) checkEnded(r deed.CheckResult) {
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

func hashFile(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
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

// rejectCheck says why a check counts against the attempt. An advisory one is noted only.
func (v *verdict) rejectCheck(code string, r deed.CheckResult, what string) {
	reason := deed.Reason{Code: code, Check: r.Name, Message: fmt.Sprintf("check %q %s", r.Name, what)}
	if r.Advisory {
		v.notes = append(v.notes, reason)
		return
	}
	v.reasons = append(v.reasons, reason)
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
