package runrecord

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/store"
)

// finishTime bounds the writes at the end of a run. The clean-up has its own bound, from its caller.
const finishTime = 30 * time.Second

// An Outcome is how a run ended.
type Outcome struct {
	Status    evidence.RunStatus // one that ends a run
	Error     *evidence.RunError
	Class     string // a value of the failure classification; "": by the status and the phase that failed
	Code      string // more specific than the class, such as deed's own failure class
	Result    json.RawMessage
	Refs      []evidence.RunArtifactRef
	Bundle    string // the directory of the artifacts, absolute; "": there is none
	BundleID  string
	Exits     []proc.Exit // of every process that the run waited for
	Retries   *int        // how often it was tried before; nil: it was not counted
	Retention *evidence.RunRetention
	Cleaned   *time.Duration              // how long the owner itself took to clear away; for one without Cleanup
	Cleanup   func(context.Context) error // removes what the run does not need any more; nil: nothing is left
}

// Finish ends the run: its terminal state, its evidence, its clean-up, and the last line of its progress. It works
// also when ctx has ended. A clean-up that fails is recorded and returned; the state stays.
func (r *Run) Finish(ctx context.Context, o Outcome) error {
	ctx = context.WithoutCancel(ctx)
	ev := r.evidence(o)
	u := store.RunUpdate{
		To: o.Status, Error: o.Error, Result: o.Result, Refs: o.Refs, Retention: o.Retention, Evidence: &ev,
		ArtifactBytes: ev.Artifacts.Bytes, BundleDir: r.relative(o.Bundle),
	}
	r.mu.Lock()
	r.ending = true
	hasFile := r.row.Dir != ""
	r.mu.Unlock()
	row, err := r.reg.end(ctx, r.ID(), &ending{update: u, evidence: ev, cleanup: o.Cleanup, run: r, file: hasFile})
	if row.Record.RunID != "" {
		r.mu.Lock()
		r.row = row
		r.mu.Unlock()
	}
	if err == nil || row.Record.Status.Terminal() {
		text := string(o.Status)
		if row.Record.Error != nil {
			text += ": " + row.Record.Error.Message
		}
		r.say("finished", text, true)
	}
	return err
}

// relative gives a bundle's directory the form that the store keeps.
func (r *Run) relative(dir string) string {
	if dir == "" || r.reg.Home == nil {
		return dir
	}
	rel, err := r.reg.Home.Rel(dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || filepath.IsAbs(rel) {
		return dir
	}
	return rel
}

// Bury ends a run whose owner is dead: its state if it has not ended, its clean-up, and its file. It returns
// store.ErrRunEnded when the owner came back and was faster.
func (r *Recorder) Bury(ctx context.Context, row store.Run, o Outcome) (store.Run, error) {
	e := &ending{cleanup: o.Cleanup, file: row.Dir != ""}
	if !row.Record.Status.Terminal() {
		e.evidence = deadRunEvidence(row, o)
		e.update = store.RunUpdate{To: o.Status, Error: o.Error, Refs: o.Refs, Evidence: &e.evidence}
	}
	return r.end(ctx, row.ID(), e)
}

// An ending is what end writes.
type ending struct {
	update   store.RunUpdate
	evidence evidence.RunResourceEvidence // its schema is empty when there is none
	cleanup  func(context.Context) error
	run      *Run // nil: of a dead owner
	file     bool // the run has one, which must agree before the run is closed
}

// end takes a run through its last steps. After each of them a crash leaves a live row that says how far it came.
func (r *Recorder) end(ctx context.Context, id string, e *ending) (store.Run, error) {
	write := func(u store.RunUpdate) (store.Run, error) {
		ctx, cancel := context.WithTimeout(ctx, finishTime)
		defer cancel()
		if e.run != nil {
			if err := e.run.redactor.Value(&u); err != nil {
				return store.Run{}, err
			}
		}
		return r.Store.UpdateRun(ctx, id, u)
	}
	var row store.Run
	var cleanErr error
	last := e.update // with nothing to clean up, the end is one step
	if e.cleanup != nil {
		e.update.Cleanup = evidence.CleanupRunning
		var err error
		if row, err = write(e.update); err != nil {
			return store.Run{}, err
		}
		crashpoint.Hit(crashpoint.RunEnded)
		_ = writeFile(row, atomicfile.Replace) // the clean-up comes first in any case; the write below is the one that counts
		begun := clock.Start()
		cleanErr = e.cleanup(ctx)
		e.evidence.Timing.Cleanup = evidence.Measured(evidence.UnitMilliseconds, millis(clock.Since(begun)))
		last = store.RunUpdate{}
	}
	row, err := write(e.cleaned(last, cleanErr))
	if err != nil {
		return row, errors.Join(err, cleanErr)
	}
	crashpoint.Hit(crashpoint.RunCleaned)
	if err := errors.Join(writeFile(row, atomicfile.WriteFile), cleanErr); err != nil {
		return row, err // it stays live: a sweep tries again
	}
	if !e.file {
		return row, nil
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	return row, r.Store.CloseRun(ctx, id) // one that stays live is looked at, and closed, by the next sweep
}

// cleaned completes the last change of the record with how the clean-up went.
func (e *ending) cleaned(u store.RunUpdate, err error) store.RunUpdate {
	u.Cleanup, u.Close = evidence.CleanupSucceeded, !e.file && err == nil
	if err != nil {
		u.Cleanup, u.CleanupError = evidence.CleanupFailed, runError("CleanupError", err.Error(), "")
	}
	if e.evidence.Schema == "" {
		return u
	}
	if c := &e.evidence.Reliability.FailureClassification; err != nil && c.Value == evidence.RunFailureNone {
		*c = evidence.RunFailureClass{Available: true, Value: evidence.RunFailureCleanup, Message: err.Error()}
	}
	u.Evidence = &e.evidence
	return u
}
