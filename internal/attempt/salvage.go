package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
)

// Salvage settles an attempt whose runner is gone. A whole bundle that it left is adopted; else the attempt is
// settled as lost, with a bundle of what its journal and its output show.
func (r *Runner) Salvage(ctx context.Context, l store.Lost) (adopted bool, err error) {
	a := &run{
		Runner: r, claim: &store.Claim{Task: l.Task, Attempt: l.Attempt, Ref: l.Ref, LeaseUntil: l.Attempt.LeaseUntil},
		dir: r.Home.Attempt(l.Ref.AttemptID), owner: l.Attempt.Record.RunnerID, started: r.Clock(), redactor: redact.New(nil),
	}
	defer func() {
		a.kept = a.kept || err != nil // another sweeper is working on it, or the next one will
		a.cleanup()
	}()
	left, goes := a.resumable(l)
	a.checkpointed = goes
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
		// The store will never accept it: put it aside, or every sweep tries again and the task stays running
		// forever.
		if err := a.putAside(); err != nil {
			return false, err
		}
	}
	why := failure.New(failure.Lost, "run attempt", fmt.Errorf("reason: lost (%s)", l.Reason), "")
	if p, err := a.resolve(ctx); err == nil {
		a.plan = p
		a.redactor = redact.New(p.hidden)
	}
	// An unreadable journal is no reason to lose the settlement.
	a.events, _ = journal.Read(a.path("journal.jsonl"))
	a.recount(ctx)
	// Without a brief that can be read the bundle says less.
	if doc, err := ReadBrief(a.dir, BriefFile, l.Attempt.BriefHash); err == nil {
		a.brief, _ = briefOf(doc)
	}
	a.note(history.KindLost, map[string]any{"reason": l.Reason, "runner_id": l.Attempt.Record.RunnerID, "swept_by": r.RunnerID})
	a.recoverOutput(why, left.Turn)
	e := end{class: failure.Lost, err: why}
	if goes {
		left.Answers = max(left.Answers, a.answered())
		if err := a.writeCheckpoint(ctx, &left); err != nil {
			return false, err
		}
	}
	if e.spare, err = a.spared(ctx); err != nil {
		return false, err
	}
	if l.Task.CancelRequested { // the agent is gone, so it needs no cancelling
		e = end{class: failure.Canceled, err: &canceled{l.Task.CancelReason}}
	}
	return false, guard(func() error {
		_, err := a.finish(ctx, e)
		return err
	})
}

// resumable returns where the conversation of a lost attempt stands, if it can continue.
func (a *run) resumable(l store.Lost) (checkpoint, bool) {
	var c checkpoint
	if l.Attempt.Checkpoint == nil || json.Unmarshal(l.Attempt.Checkpoint, &c) != nil {
		return c, false
	}
	return c, a.hasDir(l.Ref.AttemptID)
}

// maxSpared bounds how many lost attempts of a task do not count as used because their conversation continues. Beyond
// it they count, so that work which crashes deed every time comes to an end.
const maxSpared = 10

// spared reports whether a lost attempt does not count as used: a conversation continues, its own or the one that it
// was about to take over.
func (a *run) spared(ctx context.Context) (bool, error) {
	if a.OneShot {
		return false, nil
	}
	list, err := a.Store.Attempts(ctx, a.claim.Ref.TaskID)
	if err != nil {
		return false, err
	}
	lost := 0
	for _, t := range list {
		if t.Class == string(failure.Lost) {
			lost++
		}
	}
	_, waits := Waiting(list, a.hasDir)
	return lost < maxSpared && (waits || a.checkpointed), nil
}

// recount takes the usage of a lost attempt from its journal: what the store has may be slightly older. A journal
// with lower numbers is not believed.
func (a *run) recount(ctx context.Context) {
	if a.plan.driver == nil || len(a.events) == 0 {
		return
	}
	rows, err := a.Store.UsageOfTask(ctx, a.claim.Ref.TaskID)
	if err != nil {
		return
	}
	rows = slices.DeleteFunc(rows, func(r store.UsageRow) bool { return r.AttemptID != a.claim.Ref.AttemptID })
	var at time.Time // the time of the event that is counted
	l := ledger{Meter: usage.NewMeter(usage.ModelOf(a.plan.adapter, a.plan.model), usage.Limits{}, usage.Before{}, usage.NewPrices(a.Config.Prices, a.plan.adapter), func() time.Time { return at })}
	var began time.Time // the start of the turn that is counted
	for _, e := range a.events {
		if t, err := e.At.Time(); err == nil {
			at = t
		}
		switch e.Kind {
		case driver.EventStarted:
			if began.IsZero() {
				began = at
			}
		case "driver_ended":
			if !began.IsZero() {
				_ = l.WallTime(at.Sub(began))
			}
			began = time.Time{}
		case driver.EventUsage:
			count[agentruntime.Usage](&l, e)
		case driver.EventTurn:
			count[agentruntime.Turn](&l, e)
		case driver.EventToolCall:
			count[agentruntime.ToolCall](&l, e)
		}
	}
	if !began.IsZero() {
		_ = l.WallTime(at.Sub(began))
	}
	if had, has := store.SumUsage(rows), l.Totals(); has.Turns >= had.Turns && has.Tokens() >= had.Tokens() && has.AgentMS >= had.AgentMS {
		a.used.Meter = l.Meter
	}
}

// count adds an event of the journal to the usage. No limit applies here.
func count[T any](l *ledger, e journal.Entry) {
	var detail T
	if json.Unmarshal(e.Detail, &detail) == nil {
		_ = l.event(detail)
	}
}

// answered is the number of the model's answers in the conversation, according to the journal of a lost attempt.
func (a *run) answered() int {
	n := 0
	for _, e := range a.events {
		var d struct {
			Subagent string `json:"subagent_id"`
			Before   int    `json:"model_turns"`
		}
		if json.Unmarshal(e.Detail, &d) != nil {
			continue
		}
		switch {
		case e.Kind == "resumed":
			n += d.Before
		case e.Kind == driver.EventTurn && d.Subagent == "":
			n++
		}
	}
	return n
}

// recoverOutput takes over the output that a dead runner left of its last turn; it was redacted when it was written.
// How the agent ended is unknown.
func (a *run) recoverOutput(why error, turn int) {
	y := &driver.Yield{Kind: driver.YieldEnd, ExitStatus: agentruntime.ExitError, Class: failure.Lost, Err: why}
	y.Proc.Code = -1
	for name, dst := range map[string]*string{driver.StdoutFile: &y.StdoutPath, driver.StderrFile: &y.StderrPath} {
		file := a.path("run", driver.TurnFile(name, turn))
		if fi, err := os.Lstat(file); err == nil && fi.Mode().IsRegular() {
			*dst = file
			a.conversation.yields = []driver.Yield{*y}
		}
	}
}

// Abort settles a claim whose attempt could not even start, for example because no supervisor was available.
func (r *Runner) Abort(ctx context.Context, c *store.Claim, cause error) error {
	a := &run{Runner: r, claim: c, dir: r.Home.Attempt(c.Ref.AttemptID), owner: r.RunnerID, started: r.Clock(), redactor: redact.New(nil)}
	if p, err := a.resolve(ctx); err == nil {
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
// installation's own key; any other is put aside.
func (a *run) adopt() (store.Settlement, bool, error) {
	var s store.Settlement
	dir := a.Home.Bundle(a.claim.Ref.AttemptID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	rep, err := bundle.Verify(dir, bundle.VerifyOptions{Keys: []bundle.PublicKey{a.Key.Public()}, RequireSignature: true})
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

// putAside renames a bundle that cannot be adopted.
func (a *run) putAside() error {
	dir := a.Home.Bundle(a.claim.Ref.AttemptID)
	if err := os.Rename(dir, dir+".refused"); err != nil && !errors.Is(err, fs.ErrNotExist) { // another sweeper was faster
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
	doc := settlementDoc{Settlement: &s}
	if err := json.Unmarshal(data, &doc); err != nil {
		return store.Settlement{}, err
	}
	if doc.Schema != "" && doc.Schema != schemaSettlement { // none: an earlier deed wrote it
		return store.Settlement{}, fmt.Errorf("%s has the schema %.80q, and this deed knows %s (take the deed that wrote it)", pathSettlement, doc.Schema, schemaSettlement)
	}
	return s, nil
}
