package gc

import (
	"context"
	"fmt"

	"github.com/deedrun/deed/internal/evidence/apply"
)

// applies names what a killed `deed apply` left in somebody's directory. It is not taken back here: a dispatcher sweeps by itself, and files
// outside of the home change only when somebody who applies there asks for it.
func (s *sweep) applies(ctx context.Context) error {
	cut, err := (&apply.Applier{Home: s.Home, Clock: s.Clock}).CutShort(ctx)
	for _, c := range cut {
		f := Finding{Kind: KindApply, Path: c.Directory, Owner: c.ID}
		switch {
		case c.Gone:
			f.Reason = fmt.Sprintf("apply %s was cut short there, and the directory is gone (what was in its files is in %s; remove that directory when nobody needs it)", c.ID, c.Journal)
		case c.Undoing:
			f.Reason = fmt.Sprintf("the undo of apply %s was cut short (`deed apply --undo %s` finishes it, and so does the next `deed apply`)", c.ID, c.ID)
		case c.Whole:
			f.Reason = fmt.Sprintf("apply %s is whole, and was cut short before it was written down (the next `deed apply` does that; `deed apply --undo %s` takes it back)", c.ID, c.ID)
		default:
			f.Reason = fmt.Sprintf("apply %s was cut short, and files may be half changed (`deed apply --undo %s` takes it back, and so does the next `deed apply`)", c.ID, c.ID)
		}
		s.leave(f)
	}
	return err
}
