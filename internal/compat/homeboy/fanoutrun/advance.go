package fanoutrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/store"
)

// A Step is what one Advance did.
type Step struct {
	Fanout store.Fanout
	Claims []*store.Claim // tasks that are this process's to run now
	Moved  int            // items that were recorded, tried again or released
	Away   bool           // released items run elsewhere, or wait for their time: look again in a while
	Waits  bool           // items wait for a time, or for what another fanout holds: look again soon
}

// maxMoves bounds one Advance, so that a long row of items that need no run does not keep a caller from its other work.
const maxMoves = 256

// maxLost is how often an item is tried again because deed died with it. Somewhere between bad luck and a task that
// brings the machine down.
const maxLost = 10

// Advance is the one step of a fanout: what has ended becomes a record or another try, and what is pending is released as
// far as there is room. What it costs depends on the window and not on the plan. Any process may call it at any time;
// whatever it was doing when it died, the next call continues. It advances only fanouts that this process owns, or, in a
// dispatcher, those without an owner.
func (s *Service) Advance(ctx context.Context, id string) (Step, error) {
	f, err := s.Store.Fanout(ctx, id)
	if err != nil {
		return Step{}, err
	}
	st := &step{Service: s, Step: Step{Fanout: f}}
	if st.set, err = s.load(ctx, f.ID); err != nil {
		return st.Step, err
	}
	if f.Live() {
		if f.Owner != s.Runner.ID {
			return st.Step, &store.OwnedError{FanoutID: f.ID, RunnerID: f.Owner}
		}
		err = st.advance(ctx)
	}
	// The file is written also when the step failed half way: it states the present facts.
	err = errors.Join(err, s.writeFile(ctx, st.Fanout, false))
	if !st.Fanout.Live() && err == nil {
		s.forget(f.ID)
	}
	return st.Step, err
}

// a step is one Advance under way.
type step struct {
	*Service
	Step
	set *settings
}

func (s *step) advance(ctx context.Context) error {
	running, err := s.settleReleased(ctx)
	if err != nil {
		return err
	}
	if s.decided() {
		err = s.supersede(ctx, running)
	} else {
		err = s.take(ctx, running)
	}
	if err != nil {
		return err
	}
	if s.Fanout.CancelRequested {
		return s.finishPending(ctx)
	}
	for s.Moved < maxMoves {
		more, err := s.release(ctx)
		if err != nil || !more {
			return err
		}
	}
	s.Away = true // there is more to do at once
	return nil
}

// settleReleased looks at each item that has a task, and returns the tasks that have not ended.
func (s *step) settleReleased(ctx context.Context) (running []store.Task, err error) {
	items, err := s.Store.ReleasedItems(ctx, s.Fanout.ID)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		t, err := s.Store.ListedTask(ctx, it.TaskID) // one that is damaged ends, too, and blocks no other
		if err != nil {
			return nil, err
		}
		if !ended(t) {
			running = append(running, t)
			continue
		}
		crashpoint.Hit(crashpoint.FanoutSettled)
		if err := s.settle(ctx, it, t); err != nil {
			return nil, err
		}
	}
	return running, nil
}

// take claims the tasks that wait, when this process runs the fanout itself. A task that another runner claimed first,
// or that is not due, is looked at again.
func (s *step) take(ctx context.Context, tasks []store.Task) error {
	for _, t := range tasks {
		if s.Runner.ID != "" && t.Record.Status != agentruntime.TaskRunning {
			c, err := s.Store.Claim(ctx, store.ClaimOptions{RunnerID: s.Runner.ID, Lease: s.Lease, TaskID: t.ID()})
			if err == nil {
				s.Claims = append(s.Claims, c)
				continue
			}
			if !errors.Is(err, store.ErrNoTask) && !errors.Is(err, store.ErrTerminal) {
				return err
			}
		}
		s.Away = true
	}
	return nil
}

// decided reports whether a candidate has won. It asks only the store, so that the next process continues what one that
// died had begun.
func (s *step) decided() bool { return s.set.Policy.Completion == FirstGreen && s.Fanout.Succeeded > 0 }

// supersededBy is who cancels the other candidates, and why.
const (
	supersededBy  = "candidate_completion"
	supersededWhy = "another task of the plan is completed (candidate_completion: " + FirstGreen + ")"
)

// supersede lets nothing more start, and asks what runs to end. The fanout is over when it has: what comes to its result
// first keeps it.
func (s *step) supersede(ctx context.Context, running []store.Task) error {
	f, err := s.Store.CancelFanout(ctx, s.Fanout.ID, supersededWhy, supersededBy)
	if err != nil {
		return err
	}
	s.Fanout = f
	for _, t := range running {
		res, err := s.Store.Cancel(ctx, t.ID(), supersededWhy, supersededBy)
		if err != nil && !errors.Is(err, store.ErrTerminal) {
			return err
		}
		s.Away = s.Away || !res.Requested || s.Runner.ID == "" // it has ended, or runs elsewhere: look again
	}
	return nil
}

// blockedReason is why a task that waits for a person is cancelled: no one is asked on behalf of a fanout.
const blockedReason = "a task of a fanout waits for nobody"

// settle gives an item whose task has ended its record, or its next try.
func (s *step) settle(ctx context.Context, it store.FanoutItem, t store.Task) error {
	tries, err := triesOf(it)
	if err != nil {
		return err
	}
	w, err := workOf(it)
	if err != nil {
		return err
	}
	if t.Record.Status == agentruntime.TaskBlocked {
		if _, err := s.Store.Cancel(ctx, t.ID(), blockedReason, "fanout "+it.FanoutID); err != nil && !errors.Is(err, store.ErrTerminal) {
			return err
		}
		t.CancelReason = blockedReason
	}
	o, lost, err := s.outcome(ctx, it, t)
	if err != nil {
		return err
	}
	_, entry := s.set.request(it, w, tries)
	tries = append(tries, s.tried(it, w, entry, o, t))
	if lost && !s.Fanout.CancelRequested && lostTries(tries) < maxLost {
		tries[len(tries)-1].Status, tries[len(tries)-1].Class = "", ""
		return s.again(ctx, it, w, tries, ThenLost, 0)
	}
	return s.judge(ctx, it, w, tries, o)
}

func lostTries(tries []Try) (n int) {
	for _, t := range tries {
		if t.Then == ThenLost {
			n++
		}
	}
	return n
}

// outcome returns what became of the task of a try, and whether deed died with it.
func (s *step) outcome(ctx context.Context, it store.FanoutItem, t store.Task) (o homeboy.Outcome, lost bool, err error) {
	canceled := t.Record.Status == agentruntime.TaskOperatorCanceled && t.CancelReason != blockedReason
	if t.AttemptID == "" {
		return cancelled(it.Name, t.CancelReason), false, nil // it ended before anybody ran it
	}
	a, err := s.Store.ListedAttempt(ctx, t.AttemptID)
	if err != nil {
		return o, false, err
	}
	if a.Class == string(failure.Lost) && !canceled {
		lost = true
	}
	o, err = s.Tasks.Outcome(ctx, t)
	switch {
	case ctx.Err() != nil:
		return o, false, context.Cause(ctx)
	case err != nil && !s.Fanout.CancelRequested && t.Damage == "" && a.Damage == "":
		return o, false, fmt.Errorf("outcome of task %s: %w", it.Name, err) // no record is better than a wrong one: it is asked for again
	case err != nil:
		o = homeboy.Outcome{
			Schema: homeboy.SchemaOutcome, TaskID: it.Name, Status: homeboy.ProviderError, FailureClassification: homeboy.ClassUnknown,
			Summary:     "the outcome cannot be read: " + err.Error(),
			Diagnostics: []homeboy.Diagnostic{{Class: "agent_task.outcome_unreadable", Message: err.Error()}},
		}
	case canceled && o.Status != homeboy.Cancelled:
		o = cancelled(it.Name, t.CancelReason)
	}
	return o, lost, nil
}

// cancelled is the outcome of a task that was cancelled before it had one.
func cancelled(name, reason string) homeboy.Outcome {
	if reason == "" {
		reason = "cancelled by the operator"
	}
	return homeboy.Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: name, Status: homeboy.Cancelled, Summary: reason,
		Diagnostics: []homeboy.Diagnostic{{Class: "agent_task.cancelled", Message: reason}},
	}
}

// blocked is the outcome of a task that the bounds of its plan keep from ever starting.
func blocked(name, why string) homeboy.Outcome {
	return homeboy.Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: name, Status: homeboy.Failed, FailureClassification: homeboy.ClassPolicyDenied, Summary: "not run: " + why,
		Diagnostics: []homeboy.Diagnostic{{Class: homeboy.DiagnosticBackpressure, Message: why}},
	}
}

// tried is the try that led to the outcome.
func (s *step) tried(it store.FanoutItem, w work, entry int, o homeboy.Outcome, t store.Task) Try {
	x := s.set.Policy.apply(w.Request, entry).Executor
	out := Try{
		Try: it.Try, Entry: entry, Backend: x.Backend, Selector: x.Selector, Model: x.Model, TaskID: t.ID(), AttemptID: t.AttemptID,
		Status: o.Status, Class: o.FailureClassification, Summary: o.Summary, EndedAt: s.Clock().UTC().Format(time.RFC3339Nano),
	}
	if f := t.Record.FinishedAt; f != nil {
		out.EndedAt = string(*f)
		out.Known = knownFailure(o, t)
	}
	return out
}

// atOnce is how soon a provider ends that did no work.
const atOnce = 10 * time.Second

// knownFailure is what the provider's package calls a failure that came at once; "": it knows no such failure.
func knownFailure(o homeboy.Outcome, t store.Task) string {
	i := slices.IndexFunc(o.Diagnostics, func(d homeboy.Diagnostic) bool { return d.Class == homeboy.DiagnosticImmediateFailure })
	if i < 0 || t.Record.StartedAt == nil {
		return ""
	}
	begun, err := t.Record.StartedAt.Time()
	ended, eerr := t.Record.FinishedAt.Time()
	var d struct {
		ID string `json:"id"`
	}
	if err != nil || eerr != nil || ended.Sub(begun) >= atOnce || json.Unmarshal(o.Diagnostics[i].Data, &d) != nil {
		return ""
	}
	return d.ID
}

// judge lets the policy decide what follows the last try.
func (s *step) judge(ctx context.Context, it store.FanoutItem, w work, tries []Try, o homeboy.Outcome) error {
	d := s.set.Policy.decide(tries, o, s.Clock())
	if d.then != "" && !s.Fanout.CancelRequested {
		err := s.again(ctx, it, w, tries, d.then, s.pause(tries, d.then, o))
		if !errors.Is(err, store.ErrNoRetries) {
			return err
		}
		tries[len(tries)-1].Then = ""
		d.spent = "max_retries_total"
	}
	return s.record(ctx, it, tries, o, stop{spent: d.spent, circuit: d.open})
}

// pause is how long an item waits before what follows its last try; another provider is asked at once.
func (s *step) pause(tries []Try, then string, o homeboy.Outcome) time.Duration {
	if then != ThenRetry {
		return 0
	}
	same := 0
	for _, t := range tries {
		if t.Then != ThenLost && t.Entry == tries[len(tries)-1].Entry {
			same++
		}
	}
	if s.Pause != nil {
		return s.Pause(same, o)
	}
	return Pause(same, o)
}

// again makes an item pending for another try, after a pause.
func (s *step) again(ctx context.Context, it store.FanoutItem, w work, tries []Try, then string, pause time.Duration) error {
	tries[len(tries)-1].Then = then
	raw, err := json.Marshal(tries)
	if err != nil {
		return fmt.Errorf("tries of task %s: %w", it.Name, err)
	}
	next, _ := s.set.request(it, w, tries)
	a := store.ItemRetry{Item: it, Tries: raw, Uses: s.set.Policy.uses(next), Counted: then == ThenRetry, Most: -1}
	if r := s.set.Policy.Retry; r != nil && r.MaxRetriesTotal != nil {
		a.Most = *r.MaxRetriesTotal
	}
	if pause > 0 {
		a.NotBefore = s.Clock().Add(pause)
	}
	err = s.Store.RetryItem(ctx, a)
	if errors.Is(err, store.ErrItemMoved) {
		return s.reread(ctx)
	}
	if err == nil {
		s.Moved++
		crashpoint.Hit(crashpoint.FanoutAgain)
		err = s.reread(ctx)
	}
	return err
}

func (s *step) reread(ctx context.Context) (err error) {
	s.Fanout, err = s.Store.Fanout(ctx, s.Fanout.ID)
	return err
}

// a stop says why an item was not tried again, where its policy would have had it.
type stop struct {
	spent   string // the bound that was reached
	circuit string // the failure that came twice at once
}

// record gives an item its record. The first one stays, whichever process writes it.
func (s *step) record(ctx context.Context, it store.FanoutItem, tries []Try, o homeboy.Outcome, e stop) error {
	rec, ok := s.set.record(it, tries, o, e)
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("record of task %s: %w", it.Name, err)
	}
	f, err := s.Store.FinishItem(ctx, it, raw, ok)
	if errors.Is(err, store.ErrItemMoved) {
		return s.reread(ctx)
	}
	if err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.FanoutRecorded)
	s.Fanout = f
	s.Moved++
	s.notify(f, it, string(rec.Status), string(o.Status))
	return nil
}

// record makes the record of an item, and says whether it counts as a success.
func (set *settings) record(it store.FanoutItem, tries []Try, o homeboy.Outcome, e stop) (homeboy.FanoutRecord, bool) {
	t := task(it)
	rec := fanout.Record(t, o)
	meta := map[string]any{"fanout_id": it.FanoutID}
	if len(tries) > 0 {
		meta["tries"] = tries
	}
	if e.spent != "" {
		meta["budget_exhausted"] = e.spent
	}
	if e.circuit != "" {
		meta["circuit_open"] = e.circuit
	}
	rec.Extra = homeboy.Extra{"metadata": mustJSON(meta)}
	res := fanout.Reconcile(homeboy.FanoutPlan{TaskRequests: []homeboy.FanoutTask{t}}, []homeboy.FanoutRecord{rec}, set.Options)
	return res.Records[0], res.Status == homeboy.FanoutCompleted
}

// release puts the next item into the queue. It reports whether it is worth to go on.
func (s *step) release(ctx context.Context) (bool, error) {
	it, err := s.Store.NextItem(ctx, s.Fanout.ID, s.set.Policy.window())
	if errors.Is(err, store.ErrNothingPending) && s.Fanout.Pending > 0 {
		return s.wake(ctx)
	}
	if errors.Is(err, store.ErrNoRoom) || errors.Is(err, store.ErrNothingPending) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w, err := workOf(it)
	if err != nil {
		return false, err
	}
	tries, err := triesOf(it)
	if err != nil {
		return false, err
	}
	if w.Needs != nil {
		skipped, parked, err := s.bind(ctx, it, &w)
		if err != nil || parked {
			return err == nil, err
		}
		if skipped != nil {
			return true, s.record(ctx, it, tries, *skipped, stop{})
		}
	}
	q, entry := s.set.request(it, w, tries)
	row, refusal, err := s.Tasks.Prepare(ctx, s.set.Caller, q)
	if err != nil {
		return false, err
	}
	if refusal != nil {
		try := s.tried(it, w, entry, *refusal, store.Task{})
		try.Refused = true
		tries = append(tries, try)
		return true, s.judge(ctx, it, w, tries, *refusal)
	}
	return s.queue(ctx, it, row)
}

// wake looks for items whose time has come, and for those that can have what another fanout held.
func (s *step) wake(ctx context.Context) (bool, error) {
	woken, waiting, err := s.Store.WakeItems(ctx, s.Fanout.ID)
	s.Waits = s.Waits || waiting
	return woken, err
}

// queue makes the task of the item.
func (s *step) queue(ctx context.Context, it store.FanoutItem, row store.NewTask) (bool, error) {
	r := store.Release{Item: it, Task: row, Window: s.set.Policy.window(), Owner: s.Runner.ID}
	if s.Runner.ID != "" {
		r.Claim = &store.ClaimOptions{RunnerID: s.Runner.ID, Lease: s.Lease}
	}
	c, err := s.Store.ReleaseItem(ctx, r)
	switch {
	case errors.Is(err, store.ErrNoRoom):
		return true, nil // another step was faster; look again
	case errors.Is(err, store.ErrItemMoved):
		return !s.Fanout.CancelRequested, s.reread(ctx)
	case err != nil:
		return false, err
	}
	crashpoint.Hit(crashpoint.FanoutReleased)
	s.Moved++
	s.Fanout.Pending--
	s.Fanout.Released++
	if c != nil {
		s.Claims = append(s.Claims, c)
	}
	s.notify(s.Fanout, it, homeboy.ProgressStarted, "")
	return true, nil
}

// finishPending gives records to what a cancelled fanout will not start.
func (s *step) finishPending(ctx context.Context) error {
	record := func(it store.FanoutItem) (json.RawMessage, error) {
		tries, err := triesOf(it)
		if err != nil {
			return nil, err
		}
		rec, _ := s.set.record(it, tries, cancelled(it.Name, s.Fanout.CancelReason), stop{})
		return json.Marshal(rec)
	}
	for {
		n, f, err := s.Store.FinishPending(ctx, s.Fanout.ID, maxMoves, record)
		if err != nil {
			return err
		}
		s.Fanout = f
		if s.Moved += n; n == 0 {
			return nil
		}
	}
}
