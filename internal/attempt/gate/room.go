package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// runChecks proves the patch and runs the checks. First, base plus patch must give what the agent left behind. Then
// every check gets clean rooms of its own, made of the base and the patch with every protected file restored. So no
// code runs from the agent's own directory, an edit to a protected test has no effect, and what one check does to its
// room cannot affect the next.
func (v *verdict) runChecks(ctx context.Context, in Input) error {
	if len(in.Spec.Checks) == 0 && in.Changes.Empty() {
		return nil
	}
	if in.SecretHit {
		// The unredacted patch is never stored, so there is nothing to prove or to check.
		for _, c := range in.Spec.Checks {
			v.checks = append(v.checks, notRun(c))
		}
		return nil
	}
	pin, err := hashFile(in.Patch)
	if err != nil {
		return fmt.Errorf("pin the patch: %w", err)
	}
	if !in.Changes.Empty() {
		base, err := in.Base.Dir()
		if err != nil {
			return err
		}
		if err := workspace.Check(ctx, base, in.Manifest, in.Patch, in.After, in.Changes); err != nil {
			return v.workspaceFault(ctx, "prove the patch", err)
		}
	}
	in.pin = pin
	for i, c := range in.Spec.Checks {
		err := v.check(ctx, in, i, c)
		if errors.Is(err, errPatch) {
			v.reject(CodePinnedInput, "", "%v", err)
			return nil
		}
		if err != nil {
			return v.workspaceFault(ctx, "make the clean room", err)
		}
	}
	return nil
}

// Tree returns the directory, in a check's room, of the tree that is checked. It is named like the directory of
// rooms, which callers name after the project: a recognizable name would show the code that it is being judged.
func Tree(room string) string { return filepath.Join(room, treeDir, filepath.Base(filepath.Dir(room))) }

const treeDir = "tree"

func hashFile(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	return hash(f)
}

func hash(r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// workspaceFault turns a fault of the agent into a reason, and returns a fault of deed as an error. In both cases no
// further check runs.
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

// Argv returns the argument vector of a check. For a capability it is the command that a person would type.
func Argv(c deed.Check) []string {
	switch {
	case c.Shell != "":
		return []string{"/bin/sh", "-c", c.Shell}
	case c.Capability != "":
		return []string{"deed", c.Capability}
	}
	return c.Command
}

// CheckName returns the name of a check, else what it runs. The prefix "hidden" separates a hidden check from a
// visible one that runs the same.
func CheckName(c deed.Check) string {
	name := "check"
	switch {
	case c.Name != "":
		return c.Name
	case c.Capability != "":
		name = c.Capability
	case c.Shell != "":
		name = c.Shell
	case len(c.Command) > 0:
		name = strings.Join(c.Command, " ")
	}
	if c.Hidden {
		name = "hidden " + name
	}
	return name
}
