package handoff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/crashpoint"
	"github.com/deedrun/deed/internal/workspace"
)

// Undo takes an apply back: every file is what it was before, with its content, permissions and owner. When any of them is
// not as the apply left it, all of those are named and nothing is changed. id may be a unique beginning.
func (a *Applier) Undo(ctx context.Context, id, by string) (codebox.ApplyResult, error) {
	res := codebox.ApplyResult{
		Schema: codebox.SchemaApplyResult, Adapter: Adapter, Status: codebox.ApplyUndone, AppliedFiles: []string{}, Approver: by,
	}
	var j *journal
	recovery, err := a.Recover(ctx)
	res.Recovered = recovery.IDs
	if err == nil {
		j, err = a.undo(id)
	}
	line := codebox.ApplyAudit{Operation: codebox.AuditUndo}
	if j != nil {
		res.Target, res.ApplyID, res.ArtifactID = j.Target, j.ID, j.ArtifactID
		line.Bundle, line.ApprovedFiles = j.Bundle, j.names()
	}
	if err != nil {
		applyID := res.ApplyID
		a.fail(&res, err)
		res.ApplyID = applyID
	} else {
		res.AppliedFiles = j.names()
	}
	return res, errors.Join(err, a.close(&res, line))
}

func (a *Applier) undo(id string) (*journal, error) {
	j, err := a.find(id)
	if err != nil {
		return nil, err
	}
	switch j.State {
	case stateApplied, stateUndoing: // one that never left the finished ones has not begun
	case stateUndone:
		return j, refuse(ReasonUndo, "", "%s was undone already", j.ID)
	default:
		return j, refuse(ReasonUndo, "", "%s is %s", j.ID, j.State)
	}
	t, err := openSite(j.Target.Directory)
	if err != nil {
		return j, err
	}
	defer t.close()
	if err := j.unchanged(t); err != nil {
		return j, err
	}
	if err := j.mark(stateUndoing); err != nil {
		return j, err
	}
	if err := j.move(a.openDir()); err != nil {
		return j, err
	}
	crashpoint.Hit(crashpoint.UndoJournaled)
	if err := j.restore(t); err != nil {
		return j, err
	}
	crashpoint.Hit(crashpoint.UndoRestored)
	return j, a.undone(j, t)
}

// undone closes a journal whose files are back. What was kept is not needed any more.
func (a *Applier) undone(j *journal, t *site) error {
	if err := t.root.RemoveAll(j.stageDir()); err != nil {
		return fmt.Errorf("remove the stage: %w", err)
	}
	if err := j.mark(stateUndone); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(j.dir, "before")); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return j.move(a.doneDir())
}

// unchanged names every file that is not as the apply left it.
func (j *journal) unchanged(t *site) error {
	if !t.id.is(j.identity) {
		return refuse(ReasonChangedSince, "", "%s is another directory than the one that was changed", Shown(t.dir))
	}
	links, err := j.links()
	if err != nil {
		return err
	}
	var reasons []codebox.ApplyReason
	for _, f := range j.Files {
		p, err := workspace.DecodePath(f.Path)
		if err != nil {
			return err
		}
		now, err := t.look(p)
		if err != nil {
			return fmt.Errorf("read %s: %w", Shown(f.Name), err)
		}
		if now.behind != "" && !links[now.behind] {
			reasons = append(reasons, linked(f, now))
		} else if !now.is(f.After) {
			reasons = append(reasons, codebox.ApplyReason{Code: ReasonChangedSince, Path: f.Name, Message: "is not as the apply left it"})
		}
	}
	return refused(reasons)
}

// links are the paths that are a link before or after the apply: what is not there behind one of them is as it must be.
func (j *journal) links() (map[string]bool, error) {
	out := map[string]bool{}
	for _, f := range j.Files {
		if f.Before.Mode != "120000" && f.After.Mode != "120000" {
			continue
		}
		p, err := workspace.DecodePath(f.Path)
		if err != nil {
			return nil, err
		}
		out[p] = true
	}
	return out, nil
}

// linked says that somebody put a link in the place of a directory: what is behind it is not the file that was changed.
func linked(f recordFile, now state) codebox.ApplyReason {
	return codebox.ApplyReason{Code: ReasonLinkedParent, Path: f.Name, Message: "lies behind the link " + Shown(now.behind)}
}

// find returns the finished apply with an id, or with a unique beginning of it.
func (a *Applier) find(id string) (*journal, error) {
	list, err := os.ReadDir(a.doneDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("undo: %w", err)
	}
	var found []string
	for _, e := range list {
		if id != "" && strings.HasPrefix(e.Name(), id) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return nil, refuse(ReasonUndo, "", "no apply %s is known in %s", Shown(id), a.Home.Root())
	case 1:
		return readJournal(filepath.Join(a.doneDir(), found[0]))
	}
	return nil, refuse(ReasonUndo, "", "%s is the beginning of %d applies", Shown(id), len(found))
}

// A Recovery says what became of the applies that a crash cut short.
type Recovery struct {
	IDs   []string // they were taken back, or finished
	Stuck []Stuck  // they could not be; their journals stay open
}

// A Stuck is an apply that cannot be taken back: somebody changed a file meanwhile, or the directory is gone.
type Stuck struct {
	ID        string
	Directory string
	Err       error
}

// at returns why a directory must be left alone, or nil.
func (r Recovery) at(dir string) error {
	for _, s := range r.Stuck {
		if s.Directory == dir {
			return s.Err
		}
	}
	return nil
}

// Recover takes back every apply, and finishes every undo, that a crash cut short. One whose directory is locked is at
// work in another process and left alone.
func (a *Applier) Recover(ctx context.Context) (Recovery, error) {
	var out Recovery
	list, err := os.ReadDir(a.openDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("recover: %w", err)
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		done, err := a.recoverOne(filepath.Join(a.openDir(), e.Name()))
		var stuck *stuckError
		switch {
		case errors.As(err, &stuck):
			out.Stuck = append(out.Stuck, Stuck{e.Name(), stuck.j.Target.Directory, stuck.refusal()})
		case err != nil:
			return out, fmt.Errorf("recover %s: %w", e.Name(), err)
		case done:
			out.IDs = append(out.IDs, e.Name())
		}
	}
	return out, nil
}

// A stuckError carries the journal of an apply that cannot be taken back.
type stuckError struct {
	j   *journal
	err error
}

func (s *stuckError) Error() string { return s.err.Error() }
func (s *stuckError) Unwrap() error { return s.err }

// refusal says what is in the way and what a person can do about it.
func (s *stuckError) refusal() error {
	r := refuse(ReasonInterrupted, "", "an apply to %s was cut short and cannot be taken back (what was there is in %s; move that directory away to go on without it)",
		Shown(s.j.Target.Directory), s.j.dir)
	var why *Refusal
	if errors.As(s.err, &why) {
		r.Reasons = append(r.Reasons, why.Reasons...)
	} else {
		r.Reasons[0].Message += ": " + s.err.Error()
	}
	return r
}

func (a *Applier) recoverOne(dir string) (bool, error) {
	j, err := readJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its owner has just closed it
	}
	if err != nil {
		return false, err
	}
	t, err := openSite(j.Target.Directory)
	var busy *Refusal
	if errors.As(err, &busy) {
		return false, nil
	}
	if err != nil {
		return false, &stuckError{j, err}
	}
	defer t.close()
	if j, err = readJournal(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil // it was closed before the lock was ours
	} else if err != nil {
		return false, err
	}
	if !t.id.is(j.identity) {
		return false, &stuckError{j, errors.New("it is another directory now")}
	}
	res := codebox.ApplyResult{Status: codebox.ApplyRolledBack, Target: j.Target, ApplyID: j.ID, ArtifactID: j.ArtifactID, Approver: j.Approver}
	line := codebox.ApplyAudit{Operation: codebox.AuditRecover, Bundle: j.Bundle, ApprovedFiles: j.names()}
	switch j.State {
	case stateApplied: // whole; only its line and its place are missing
		res.Status = codebox.ApplyApplied
		if err := t.root.RemoveAll(j.stageDir()); err != nil {
			return false, fmt.Errorf("remove the stage: %w", err)
		}
		return true, a.close(&res, line)
	case stateUndone:
		res.Status = codebox.ApplyUndone
		if err := a.close(&res, line); err != nil {
			return false, err
		}
		return true, a.undone(j, t)
	}
	if err := j.restore(t); err != nil {
		return false, &stuckError{j, err}
	}
	if j.State == stateUndoing {
		res.Status = codebox.ApplyUndone
	}
	if err := a.close(&res, line); err != nil {
		return false, err
	}
	if j.State == stateUndoing {
		return true, a.undone(j, t)
	}
	return true, j.forget(t)
}
