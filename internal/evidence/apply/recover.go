package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
)

// A Recovery says what became of the applies that a crash cut short.
type Recovery struct {
	Done  []Recovered
	Stuck []Stuck // they could not be taken back; their journals stay open
}

// A Recovered is an apply that was cut short and is not any more.
type Recovered struct {
	ID     string
	Status string // evidence.ApplyRolledBack; ApplyApplied and ApplyUndone: it, or its undo, was whole or was finished

	*record
	reference string // of its line in the audit log
}

// A Stuck is an apply that cannot be taken back: somebody changed a file meanwhile, or the directory does not exist
// any more.
type Stuck struct {
	ID        string
	Directory string
	Err       error
}

// describe writes into a result what was recovered first.
func (r Recovery) describe(res *evidence.ApplyResult) {
	for _, d := range r.Done {
		res.Recovered = append(res.Recovered, d.ID)
		if res.RecoveredAs == nil {
			res.RecoveredAs = map[string]string{}
		}
		res.RecoveredAs[d.ID] = d.Status
	}
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

// stuck returns why the one apply with the beginning of an id could not be taken back, or nil.
func (r Recovery) stuck(id string) error {
	list := slices.DeleteFunc(slices.Clone(r.Stuck), func(s Stuck) bool { return id == "" || !strings.HasPrefix(s.ID, id) })
	if len(list) != 1 {
		return nil
	}
	return list[0].Err
}

// takenBack is the one apply with the beginning of an id that was taken back, or nil.
func (r Recovery) takenBack(id string) *Recovered {
	list := slices.DeleteFunc(slices.Clone(r.Done), func(d Recovered) bool {
		return id == "" || !strings.HasPrefix(d.ID, id) || d.Status != evidence.ApplyRolledBack
	})
	if len(list) != 1 {
		return nil
	}
	return &list[0]
}

// finished is the apply of the same change to the same directory that was whole when it was cut short, or nil: asking for it again is asking
// what became of it. The files must still be as it left them.
func (r Recovery) finished(artifact string, to evidence.ApplyTarget, files []File, t *site) *Recovered {
	for i, d := range r.Done {
		same := d.Status == evidence.ApplyApplied && d.ArtifactID == artifact && d.Target == to && len(d.Files) == len(files)
		for k := 0; same && k < len(files); k++ {
			same = slices.ContainsFunc(d.Files, func(f recordFile) bool {
				return f.Name == files[k].Name && f.Before == files[k].Before && f.After == files[k].After
			})
		}
		if same && (&journal{record: *d.record}).unchanged(t) == nil {
			return &r.Done[i]
		}
	}
	return nil
}

// Recover takes back every apply, and finishes every undo, that a crash cut short. If another process has locked the
// directory, it is working there, and the apply is left alone.
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
		case done != nil:
			out.Done = append(out.Done, *done)
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

// refusal says what blocks the recovery and what a person can do about it.
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

// recoverOne is Recover for one journal; nil says that there was nothing to do.
func (a *Applier) recoverOne(dir string) (*Recovered, error) {
	j, err := readJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // its owner has just closed it
	}
	if err != nil {
		return nil, err
	}
	t, err := openSite(j.Target.Directory)
	var busy *Refusal
	if errors.As(err, &busy) {
		return nil, nil
	}
	if err != nil {
		return nil, &stuckError{j, err}
	}
	defer t.close()
	if j, err = readJournal(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was closed before the lock was ours
	} else if err != nil {
		return nil, err
	}
	if !t.id.is(j.identity) {
		return nil, &stuckError{j, errors.New("it is another directory now")}
	}
	res := evidence.ApplyResult{Status: evidence.ApplyRolledBack, Target: j.Target, ApplyID: j.ID, ArtifactID: j.ArtifactID, Approver: j.Approver}
	line := evidence.ApplyAudit{Operation: evidence.AuditRecover, Bundle: j.Bundle, ApprovedFiles: j.names()}
	did := func(err error) (*Recovered, error) {
		if err != nil {
			return nil, err
		}
		return &Recovered{ID: j.ID, Status: res.Status, record: &j.record, reference: res.AuditReference}, nil
	}
	switch j.State {
	case stateApplied: // whole; only its line and its place are missing
		res.Status = evidence.ApplyApplied
		if err := t.root.RemoveAll(j.stageDir()); err != nil {
			return nil, fmt.Errorf("remove the stage: %w", err)
		}
		return did(a.close(&res, line))
	case stateUndone:
		res.Status = evidence.ApplyUndone
		if err := a.close(&res, line); err != nil {
			return nil, err
		}
		return did(a.undone(j, t))
	}
	if err := j.restore(t); err != nil {
		return nil, &stuckError{j, err}
	}
	if j.State == stateUndoing {
		res.Status = evidence.ApplyUndone
	}
	if err := a.close(&res, line); err != nil {
		return nil, err
	}
	if j.State == stateUndoing {
		return did(a.undone(j, t))
	}
	return did(j.discard(t))
}

// A Cut is an apply, or the undo of one, that was cut short and has not been taken back or finished yet.
type Cut struct {
	ID        string
	Directory string // whose files it changed
	Journal   string // the directory in the home that has what they were
	Whole     bool   // every file is changed, and only the writing down is missing
	Undoing   bool   // it was an undo
	Gone      bool   // the directory is gone, or another one has its name
}

// CutShort lists them, and changes nothing. What another process is working on is not among them: the lock of the directory shows that, and is
// held here for a moment, too. An apply that begins there in that moment is refused as by any other applier.
func (a *Applier) CutShort(ctx context.Context) ([]Cut, error) {
	list, err := os.ReadDir(a.openDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for applies that were cut short: %w", err)
	}
	var out []Cut
	var faults []error
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		c, ok, err := cutShort(filepath.Join(a.openDir(), e.Name()))
		if err != nil {
			faults = append(faults, err)
		}
		if ok {
			out = append(out, c)
		}
	}
	return out, errors.Join(faults...)
}

func cutShort(dir string) (c Cut, ok bool, err error) {
	j, err := readJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil // its owner has just closed it
	}
	if err != nil {
		return c, false, err
	}
	t, err := openSite(j.Target.Directory)
	var busy *Refusal
	switch {
	case errors.As(err, &busy):
		return c, false, nil
	case errors.Is(err, fs.ErrNotExist):
		c.Gone = true
	case err != nil:
		return c, false, err
	default:
		defer t.close()
		c.Gone = !t.id.is(j.identity)
		if j, err = readJournal(dir); errors.Is(err, fs.ErrNotExist) {
			return c, false, nil // it was closed before the lock was ours
		} else if err != nil {
			return c, false, err
		}
	}
	c.ID, c.Directory, c.Journal = j.ID, j.Target.Directory, j.dir
	c.Whole, c.Undoing = j.State == stateApplied, j.State == stateUndoing || j.State == stateUndone
	return c, true, nil
}
