package apply

import (
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
)

// A Side is one side of a change: the git mode and the digest. The zero Side means that nothing is there.
type Side struct {
	Mode   string `json:"mode,omitempty"` // 100644, 100755 or 120000
	SHA256 string `json:"sha256,omitempty"`
}

func (s Side) absent() bool { return s.Mode == "" }

const linkMode = "120000"

var modes = []string{"100644", "100755", linkMode}

// sides takes over what was and what is to be, and says what is wrong with it.
func (f *File) sides(c evidence.ChangedFile) string {
	side := func(sum, mode, unsaid string) Side {
		if sum != "" && mode == "" {
			mode = unsaid
		}
		return Side{Mode: mode, SHA256: sum}
	}
	before, after := "100644", "100644"
	if f.part.Retypes() {
		before, after = f.part.Deleted, f.part.Added
	}
	f.Before, f.After = side(c.BeforeSHA256, c.BeforeMode, before), side(c.AfterSHA256, c.AfterMode, after)
	for _, s := range []Side{f.Before, f.After} {
		switch {
		case s.absent():
		case !slices.Contains(modes, s.Mode):
			return fmt.Sprintf("has the mode %q, which is not that of a file or a link", s.Mode)
		case len(s.SHA256) != 64:
			return "has no digest to compare with"
		}
	}
	want := evidence.ChangeModified
	switch {
	case f.Before.absent() && f.After.absent():
		return "has neither beforeSha256 nor afterSha256 in the change list, so that nobody can compare it (deed applies what it can compare)"
	case f.Before.absent():
		want = evidence.ChangeAdded
	case f.After.absent():
		want = evidence.ChangeDeleted
	}
	if c.Status != want {
		return fmt.Sprintf("is called %q and is %s by its digests", c.Status, want)
	}
	return ""
}

// retyped says where the change list and the patch disagree on whether a file becomes a link, or a link a file.
func (f *File) retyped() string {
	listed := !f.Before.absent() && !f.After.absent() && (f.Before.Mode == linkMode) != (f.After.Mode == linkMode)
	switch {
	case f.part.Retypes() && (f.Before.Mode != f.part.Deleted || f.After.Mode != f.part.Added):
		return fmt.Sprintf("becomes %s where it was %s by the patch, and the change list does not say so", f.part.Added, f.part.Deleted)
	case listed && !f.part.Retypes():
		return fmt.Sprintf("becomes %s where it was %s by the change list, and the patch does not do so", f.After.Mode, f.Before.Mode)
	}
	return ""
}
