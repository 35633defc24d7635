package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// defaultRecoveries is how often a refusal is sent to an agent, unless the task says otherwise.
const defaultRecoveries = 3

// A conversation is the turns with the agent, and the gate's answers to them.
type conversation struct {
	id          string                        // the agent's name for it
	ref         string                        // what resumes it
	yields      []driver.Yield                // one for each turn of this attempt
	first       int                           // the number of the first of them, from 1; higher if it continues after a break
	completions int                           // how often the agent said that it was done, breaks included
	recoveries  int                           // how often a refusal was sent
	digest      string                        // of the workspace at the last refusal
	reasons     string                        // of the last refusal
	say         string                        // the input of the next turn: why the work was refused
	answer      *agentruntime.RecoveryAttempt // the refusal that has not reached the agent yet; nil: none
	same        int                           // refusals sent in the existing conversation, breaks included
}

// turn is the number of the next turn.
func (t *conversation) turn() int { return t.first + len(t.yields) }

// converse starts the driver and takes turns with it until the gate accepts, the agent ends, or a bound is reached.
//
//	turn ──► completion attempt ──► capture ──► gate ──┬─► accepted
//	  ▲                                                 │
//	  └────────────── the reasons ◄── recovery left ◄───┴─► refused ──► the end
func (a *run) converse(ctx context.Context) (err error) {
	if err := a.Store.Begin(ctx, a.claim.Ref, store.Begin{
		AdapterID: a.plan.adapter.ID(), AdapterKind: a.plan.adapter.Kind(), Model: a.plan.model,
		BriefHash: a.brief.Hash, SpecHash: a.plan.specHash, Agent: a.whose(),
		Detail: mustJSON(map[string]any{
			"bundle_hash": a.brief.Hash, "replay_grade": a.brief.Grade, "variant_id": a.brief.Variant.ID, "profile_id": a.plan.profile.ProfileID,
			"spec_hash": a.plan.specHash, "base_digest": a.before.Digest(), "dropped": len(a.brief.Dropped),
		}),
	}); err != nil {
		return fmt.Errorf("begin attempt: %w", err)
	}
	a.state = state.Running
	a.note(history.KindBegun, map[string]any{"adapter_id": a.plan.adapter.ID(), "brief_hash": a.brief.Hash, "spec_hash": a.plan.specHash})
	crashpoint.Hit(crashpoint.BeginCommitted)

	in := driver.Input{Turn: a.conversation.turn()}
	j, err := a.guarded(ctx, a.job())
	if err != nil {
		return err
	}
	s, err := a.start(ctx, j)
	if err != nil {
		return err
	}
	if a.resumed != nil {
		in.Text = brief.Resumption(a.resumed.why, a.resumed.answers, a.conversation.say)
	}
	defer func() {
		cerr := errors.Join(s.Close(context.WithoutCancel(ctx)), a.closeEgress())
		if cerr != nil && err == nil {
			err = failure.New(failure.Infra, "end the agent's processes", cerr, "")
		}
	}()
	var refused error
	for {
		err := a.take(ctx, s, in)
		if errors.Is(err, driver.ErrLastTurn) && refused != nil {
			return refused
		}
		if err != nil {
			return err
		}
		refused = a.judge(ctx)
		stop, class := refused, failure.ClassOf(refused)
		if class == failure.Rejected && !finite(s) {
			stop = a.recover(ctx, refused)
		}
		if class == failure.None || class == failure.Rejected {
			crashpoint.Hit(crashpoint.GateDecided)
		}
		if class == failure.Rejected && stop != nil {
			a.progress(StepVerdict, Rejected)
		}
		if refused == nil || stop != nil {
			return stop
		}
		in = driver.Input{Turn: a.conversation.turn(), Text: a.conversation.say}
	}
}

// start starts the driver. If the driver can no longer read the conversation, it starts a new one in the workspace as
// it was left; the agent still learns about the break.
func (a *run) start(ctx context.Context, j driver.Job) (driver.Session, error) {
	s, err := a.plan.driver.Start(ctx, j)
	if err == nil || j.Resume == "" || ctx.Err() != nil {
		return s, err
	}
	a.note("begins_anew", map[string]string{"why": err.Error()})
	a.resumed.restarted, a.conversation.ref, j.Resume = true, "", ""
	a.newDelivery().record(false)
	return a.plan.driver.Start(ctx, j)
}

// finite reports whether a session is known to have no further turn.
func finite(s driver.Session) bool {
	f, ok := s.(driver.Finite)
	return ok && f.Done()
}

// take runs one turn and keeps what it left.
func (a *run) take(ctx context.Context, s driver.Session, in driver.Input) error {
	turn, end := context.WithCancelCause(ctx)
	defer end(nil)
	a.watch.begin(end)
	if err := a.used.Check(); err != nil {
		return err
	}
	stopped := a.used.time(a.watch.stop)
	sink := a.sink(ctx)
	a.dirty = true
	why := a.newDelivery()
	y, err := s.Turn(turn, in, driver.SinkFunc(func(kind string, detail any) {
		if kind == driver.EventSession || kind == driver.EventRestart {
			why.record(kind == driver.EventSession)
		}
		sink.Event(kind, detail)
	}))
	if !errors.Is(err, driver.ErrLastTurn) {
		why.end()
	}
	a.move(ctx, state.Running, "the turn ended")
	stopped()
	a.watch.over()
	crashpoint.Hit(crashpoint.DriverEnded)
	if errors.Is(err, driver.ErrLastTurn) {
		return err // what was decided about the turn before it still holds
	}
	if ferr := a.discardEvidence(); ferr != nil {
		return failure.New(failure.Infra, "drop the evidence of a refused completion", errors.Join(err, ferr), "")
	}
	if err != nil {
		return err
	}
	if f := a.saveUsage(ctx, true); f != nil {
		a.note(history.KindBound, map[string]any{"class": f.Class, "why": f.Error()}) // before the next turn
	}
	for _, b := range a.used.Budgets() {
		a.note(history.KindBudget, b)
	}
	if err := a.redactor.Value(&y.Claim); err != nil { // decoded, so that no escape sequence hides a secret
		return failure.New(failure.Infra, "redact the claim", err, "")
	}
	a.conversation.yields = append(a.conversation.yields, y)
	a.conversation.ref = s.Ref()
	a.note(history.KindEnded, map[string]any{
		"turn": in.Turn, "exit_status": y.ExitStatus, "class": y.Class, "exit_code": y.Proc.Code, "signal": y.Proc.Signal,
		"duration_ms": y.Proc.Duration.Milliseconds(), "killed_after_end": y.Proc.Killed,
	})
	a.conversation.say = ""
	if err := a.checkpoint(ctx); err != nil {
		return err
	}
	if a.conversation.ref != "" { // without a conversation to go on with, a machine that stops has ended the attempt
		if err := a.journal.Sync(); err != nil {
			return failure.New(failure.Infra, "sync the journal", err, "")
		}
	}
	a.progress(StepEnded, string(y.ExitStatus))
	return nil
}

// yield is how the last turn ended; nil before the first.
func (a *run) yield() *driver.Yield {
	if n := len(a.conversation.yields); n > 0 {
		return &a.conversation.yields[n-1]
	}
	return nil
}

// recover reacts to a refusal: it prepares the next input of the agent, or returns why there is no next turn. Either
// is durable when it returns, so that no crash gives an agent more tries than it has.
func (a *run) recover(ctx context.Context, refused error) error {
	t := &a.conversation
	limit := defaultRecoveries
	if n := a.plan.spec.MaxRecoveries; n != nil {
		limit = *n
	}
	digest, reasons := a.after.Digest(), codes(*a.verdict)
	stuck := t.recoveries > 0 && digest == t.digest && reasons == t.reasons && a.watch.calls() == 0
	t.digest, t.reasons = digest, reasons
	if stuck {
		refused = failure.New(failure.Stuck, "answer the agent", fmt.Errorf("it did nothing about the refusal: %w", refused), "")
	}
	if stuck || t.recoveries >= limit {
		if err := a.writeCheckpoint(ctx, nil); err != nil {
			return err
		}
		return refused
	}
	t.recoveries++
	list := make([]string, len(a.verdict.Reasons))
	for i, r := range a.verdict.Reasons {
		list[i] = r.Message
	}
	t.answer = &agentruntime.RecoveryAttempt{
		ID: fmt.Sprintf("%s-r%d", a.claim.Ref.AttemptID, t.recoveries), CompletionAttemptID: a.completionID(), Number: t.recoveries, Limit: limit,
		Reasons: list, At: agentruntime.At(a.Clock()),
	}
	t.say = brief.Refusal(*a.verdict, t.recoveries, limit)
	if err := a.checkpoint(ctx); err != nil {
		return err
	}
	a.progress(StepRefused, fmt.Sprintf("%d of %d", t.recoveries, limit))
	return nil
}

// codes joins the reason codes of a refusal, so that two refusals can be compared.
func codes(v deed.Verdict) string {
	var out []string
	for _, r := range v.Reasons {
		out = append(out, r.Code+"|"+r.Path+"|"+r.Check)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func (a *run) completionID() string {
	return fmt.Sprintf("%s-c%d", a.claim.Ref.AttemptID, a.conversation.completions)
}

// decided notes the gate's answer to a completion attempt.
func (a *run) decided(v deed.Verdict) {
	d := agentruntime.CompletionDecision{Accepted: v.Accepted, Reasons: []string{}}
	for _, r := range v.Reasons {
		d.Reasons = append(d.Reasons, r.Message)
	}
	c := agentruntime.CompletionAttempt{
		ID: a.completionID(), Number: a.conversation.completions, Turn: a.watch.turns(), Decision: &d, Workspace: a.after.Digest(), At: agentruntime.At(a.Clock()),
	}
	if claim := a.yield().Claim; claim != nil {
		c.Claim = truncate.Head(claim.Summary, maxClaim)
	}
	a.note(history.KindCompletion, c)
}

// maxClaim keeps an agent's own words from flooding the journal.
const maxClaim = 4 << 10
