package workspace

import (
	"errors"
	"strings"
)

// ErrNoCommit is an ErrSource for a name that refers to no commit of its repository, HEAD before the first commit included.
var ErrNoCommit = errors.New("the repository has no such commit")

// A Code is one kind of failure of this package. It is an error itself, so that errors.Is(err, ErrBaseTampered)
// works on whatever wraps it.
type Code string

func (c Code) Error() string { return string(c) }

// The codes.
const (
	// ErrChangedDuringCapture means that a file changed while it was read, or no longer has the content that the
	// manifest recorded: something still writes to the tree.
	ErrChangedDuringCapture Code = "changed_during_capture"
	// ErrBaseTampered means that the base no longer has the content that its manifest recorded.
	ErrBaseTampered Code = "base_tampered"
	// ErrApply means that git refused the patch. The message is git's own.
	ErrApply Code = "apply_failed"
	// ErrPatchMismatch means that the patch applies, but does not give the tree it was made from.
	ErrPatchMismatch Code = "patch_mismatch"
	// ErrPatchTooLarge means that the patch is larger than git apply accepts.
	ErrPatchTooLarge Code = "patch_too_large"
	// ErrTreeTooLarge means that a tree has more entries, bytes or depth than deed takes in.
	ErrTreeTooLarge Code = "tree_too_large"
	// ErrSource means that a workspace cannot be seeded from the given source.
	ErrSource Code = "source_invalid"
	// ErrDestination means that a destination is not an absent or empty directory.
	ErrDestination Code = "destination_in_use"
	// ErrGlob means that a glob cannot be used.
	ErrGlob Code = "glob_invalid"
	// ErrManifest means that a stored manifest cannot be read back.
	ErrManifest Code = "manifest_invalid"
	// ErrRoot means that the root of a tree is not a directory that deed can open: an agent can remove, replace or
	// lock the directory it works in.
	ErrRoot Code = "root_unusable"
	// ErrGit means that git itself failed where it should not.
	ErrGit Code = "git_failed"
)

// An Error says what failed, where, and what a person can do about it.
type Error struct {
	Code   Code
	Op     string // in lower case
	Path   string // may be empty
	Err    error  // may be nil
	Remedy string // may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		b.WriteString(" ")
		b.WriteString(quotePath(e.Path))
	}
	if e.Err == nil || e.Code != ErrSource { // the cause describes what is wrong with a source
		b.WriteString(": ")
		b.WriteString(string(e.Code))
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// Unwrap gives the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}
