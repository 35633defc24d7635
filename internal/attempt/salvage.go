package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/journal"
	"github.com/deedrun/deed/internal/redact"
	"github.com/deedrun/deed/internal/store"
)

// Salvage settles an attempt whose runner is gone. A whole bundle that it left is adopted; else the attempt is
// settled as lost, with a bundle of what its journal and its output show.
func (r *Runner) Salvage(ctx context.Context, l store.Lost) (adopted bool, err error) {
	a := &run{
		Runner: r, claim: &store.Claim{Task: l.Task, Attempt: l.Attempt, Ref: l.Ref, LeaseUntil: l.Attempt.LeaseUntil},
		dir: r.Home.Attempt(l.Ref.AttemptID), owner: l.Attempt.Record.RunnerID, started: r.Clock(), redactor: redact.New(nil),
	}
	defer a.cleanup()
	s, ok, err := a.adopt()
	if err != nil {
		return false, err
	}
	if ok {
		a.kept = a.keeps(failure.Class(s.Class), s.Status)
		err := r.Store.Settle(ctx, l.Ref, s)
		if err == nil || !errors.Is(err, store.ErrInvalid) {
			return err == nil, err
		}
		// The store will never take it: put it aside, or every sweep tries again and the task runs for ever.
		if err := a.putAside(); err != nil {
			return false, err
		}
	}
	why := failure.New(failure.Lost, "run attempt", fmt.Errorf("reason: lost (%s)", l.Reason), "")
	if p, err := a.resolve(); err == nil {
		a.plan = p
		a.redactor = redact.New(p.hidden)
	}
	// A journal that cannot be read is not worth losing the settlement for.
	a.events, _ = journal.Read(a.path("journal.jsonl"))
	a.note("lost", map[string]any{"reason": l.Reason, "runner_id": l.Attempt.Record.RunnerID, "swept_by": r.RunnerID})
	a.found(why)
	e := end{class: failure.Lost, err: why}
	if l.Task.CancelRequested { // nobody is left to obey it
		e = end{class: failure.Canceled, err: &canceled{l.Task.CancelReason}}
	}
	return false, guard(func() error {
		_, err := a.finish(ctx, e)
		return err
	})
}

// found takes up the output that a dead runner left; it was redacted when it was written. How the agent ended is not
// known.
func (a *run) found(why error) {
	y := &driver.Yield{Kind: driver.YieldEnd, ExitStatus: agentruntime.ExitError, Class: failure.Lost, Err: why}
	y.Proc.Code = -1
	for name, dst := range map[string]*string{driver.StdoutFile: &y.StdoutPath, driver.StderrFile: &y.StderrPath} {
		if fi, err := os.Lstat(a.path("run", name)); err == nil && fi.Mode().IsRegular() {
			*dst = a.path("run", name)
			a.talk.yields = []driver.Yield{*y}
		}
	}
}

// Abort settles a claim that could not even be started, such as one for which no supervisor could be had.
func (r *Runner) Abort(ctx context.Context, c *store.Claim, cause error) error {
	a := &run{Runner: r, claim: c, dir: r.Home.Attempt(c.Ref.AttemptID), owner: r.RunnerID, started: r.Clock(), redactor: redact.New(nil)}
	if p, err := a.resolve(); err == nil {
		a.plan = p
		a.redactor = redact.New(p.hidden)
	}
	e := a.classify(ctx, cause)
	err := guard(func() error {
		_, err := a.finish(context.WithoutCancel(ctx), e)
		return err
	})
	return errors.Join(cause, err)
}

const maxSettlement = 32 << 20

// adopt returns the settlement inside a finished bundle of this attempt. The bundle must verify, signed by this
// installation's own key; anything else is not adopted and is put aside.
func (a *run) adopt() (store.Settlement, bool, error) {
	var s store.Settlement
	dir := a.Home.Bundle(a.claim.Ref.AttemptID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	rep, err := bundle.Verify(dir, bundle.VerifyOptions{Keys: []bundle.PublicKey{a.Key.PublicKey}, RequireSignature: true})
	if err == nil && rep.Valid {
		if s, err = readSettlement(dir); err == nil && s.Attempt.AttemptID == a.claim.Ref.AttemptID {
			s.BundleID = rep.Manifest.ID
			if s.BundleDir, err = a.Home.Rel(dir); err == nil {
				return s, true, nil
			}
		}
	}
	return store.Settlement{}, false, a.putAside()
}

// putAside keeps a bundle that cannot be adopted under another name.
func (a *run) putAside() error {
	dir := a.Home.Bundle(a.claim.Ref.AttemptID)
	if err := os.Rename(dir, dir+".refused"); err != nil {
		return fmt.Errorf("put aside a bundle that cannot be adopted: %w", err)
	}
	return nil
}

func readSettlement(dir string) (store.Settlement, error) {
	var s store.Settlement
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(pathSettlement)
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSettlement))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}
