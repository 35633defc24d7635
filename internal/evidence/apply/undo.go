package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Undo takes an apply back: every file becomes what it was before, with its content, permissions and owner. If any file is
// not as the apply left it, all such files are named and nothing is changed. id may be a unique beginning.
func (a *Applier) Undo(ctx context.Context, id, by string) (evidence.ApplyResult, error) {
	res := evidence.ApplyResult{
		Schema: evidence.SchemaApplyResult, Adapter: Adapter, Status: evidence.ApplyUndone, AppliedFiles: []string{}, Approver: by,
	}
	var j *journal
	recovery, err := a.Recover(ctx)
	recovery.describe(&res)
	if err == nil {
		if back := recovery.takenBack(id); back != nil { // which is what was asked for, and its line is written
			res.Status, res.AppliedFiles, res.Target, res.ApplyID, res.ArtifactID = evidence.ApplyRolledBack, back.names(), back.Target, back.ID, back.ArtifactID
			res.AuditReference = back.reference
			return res, nil
		}
		err = recovery.stuck(id)
	}
	if err == nil {
		j, err = a.undo(id)
	}
	line := evidence.ApplyAudit{Operation: evidence.AuditUndo}
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
		return j, err
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

// undone closes a journal whose files are back. The contents that it kept are not needed any more.
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
	var reasons []evidence.ApplyReason
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
			reasons = append(reasons, evidence.ApplyReason{Code: ReasonChangedSince, Path: f.Name, Message: "is not as the apply left it"})
		}
	}
	return refused(reasons)
}

// links are the paths that are a link before or after the apply: a path behind one of them is rightly missing.
func (j *journal) links() (map[string]bool, error) {
	out := map[string]bool{}
	for _, f := range j.Files {
		if f.Before.Mode != linkMode && f.After.Mode != linkMode {
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

// linked says that somebody replaced a directory by a link: the file behind it is not the one that was changed.
func linked(f recordFile, now state) evidence.ApplyReason {
	return evidence.ApplyReason{Code: ReasonLinkedParent, Path: f.Name, Message: "lies behind the link " + Shown(now.behind)}
}

// find returns the finished apply with an id, or with a unique beginning of it. For one that was taken back it also returns a
// *Refusal.
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
		return a.rolledBack(id)
	case 1:
		return readJournal(filepath.Join(a.doneDir(), found[0]))
	}
	return nil, refuse(ReasonUndo, "", "%s is the beginning of %d applies", Shown(id), len(found))
}

// rolledBack refuses an id that no finished apply has. An apply that was cut short and taken back has no journal any more, only a line in the
// audit log; the reason is taken from that line.
func (a *Applier) rolledBack(id string) (*journal, error) {
	back, err := a.takenBack(id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("undo: %w", err)
	case len(back) == 0:
		return nil, refuse(ReasonUndo, "", "no apply %s is known in %s", Shown(id), a.Home.Root())
	case len(back) > 1:
		return nil, refuse(ReasonUndo, "", "%s is the beginning of %d applies, which were cut short and taken back already", Shown(id), len(back))
	}
	j := &journal{record: record{ID: back[0].ApplyID, ArtifactID: back[0].ArtifactID, Bundle: back[0].Bundle, Target: back[0].Target}}
	for _, name := range back[0].ApprovedFiles {
		j.Files = append(j.Files, recordFile{Name: name})
	}
	return j, refuse(ReasonUndo, "", "%s was cut short and taken back already", j.ID)
}
