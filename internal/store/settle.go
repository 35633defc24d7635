package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// A Settlement is everything that an attempt leaves behind.
type Settlement struct {
	Attempt     agentruntime.TaskAttempt  // final evidence; ids, runner and start are the store's own
	State       string                    // final AgentState: completed, failed_terminal or resumable
	Class       string                    // failure class
	Status      agentruntime.TaskStatus   // what the task becomes
	Outcome     *agentruntime.TaskOutcome // required for completed; must be nil for retryable_failure
	LastError   string
	AvailableAt time.Time // for retryable_failure: when it may be claimed again; zero means now
	Refund      bool      // give the attempt back
	Verdict     json.RawMessage
	BundleDir   string // relative to the home
	BundleID    string
	Artifacts   []agentruntime.ArtifactRecord
	Events      []Event // extra events, appended between task_attempt_finished and the task's own event
	Outbox      []OutboxItem
	Action      *NewAction  // required when Status is blocked; with the ID of an open action, that one
	Usage       []UsagePart // of the whole attempt; see UpdateUsage
}

// Settle ends the attempt and moves its task, in one transaction under the fence. It records task_attempt_finished,
// then task_finished, task_retry_scheduled or action_opened. It returns ErrFenced when the claim is no longer held.
//
// The store has the last word on where the task goes, so that no task can wait for ever: a retryable failure whose
// attempts are used up becomes permanent_failure, and a task that would wait although its cancel was requested
// becomes operator_canceled. A blocked attempt is given back: going on after the answer uses up no attempt.
func (s *Store) Settle(ctx context.Context, ref Ref, in Settlement) error {
	if err := in.check(); err != nil {
		return fmt.Errorf("settle attempt %s: %w", ref.AttemptID, err)
	}
	err := s.write(ctx, func(ctx context.Context, t tx) error { return s.settle(ctx, t, ref, in) })
	if err != nil {
		return fmt.Errorf("settle attempt %s: %w", ref.AttemptID, err)
	}
	return nil
}

// check refuses what no state of the database could make right.
func (in *Settlement) check() error {
	if !state.AttemptEnded(state.Attempt(in.State)) {
		return invalid("attempt state %q does not end an attempt; use completed, failed_terminal or resumable", in.State)
	}
	if err := state.TaskNext(agentruntime.TaskRunning, in.Status); err != nil {
		return err
	}
	if in.Outcome != nil && in.Outcome.Status != in.Status {
		return invalid("outcome status %q differs from the task's %q", in.Outcome.Status, in.Status)
	}
	switch in.Status {
	case agentruntime.TaskCompleted:
		if in.Outcome == nil || in.Outcome.MachineStatus != agentruntime.MachineOK {
			return invalid("completed needs an outcome with machine status ok")
		}
		if in.State != string(state.Completed) {
			return invalid("completed needs the attempt state completed, not %q", in.State)
		}
	case agentruntime.TaskRetryableFailure:
		if in.Outcome != nil {
			return invalid("retryable_failure has no outcome yet; leave it nil")
		}
	case agentruntime.TaskBlocked:
		if in.Action == nil {
			return invalid("blocked needs a required action that can end it")
		}
	}
	if err := checkParts(in.Usage); err != nil {
		return err
	}
	if in.Action != nil && in.Status != agentruntime.TaskBlocked {
		return invalid("a required action needs the status blocked, not %q", in.Status)
	}
	return nil
}

func (s *Store) settle(ctx context.Context, t tx, ref Ref, in Settlement) error {
	h, err := hold(ctx, t, ref)
	if err != nil {
		return err
	}
	if err := state.AttemptNext(h.attempt, state.Attempt(in.State)); err != nil {
		return err
	}
	now := micros(s.now())
	used := h.attempts
	if in.Refund || in.Status == agentruntime.TaskBlocked {
		used = max(used-1, 0)
	}
	in.decide(h, used)

	if err := s.endAttempt(ctx, t, ref, h.attempt, &in, now); err != nil {
		return err
	}
	if err := putUsage(ctx, t, ref, in.Usage); err != nil {
		return err
	}
	for i := range in.Events {
		if err := s.appendOne(ctx, t, in.Events[i], ref); err != nil {
			return err
		}
	}
	lane, available, err := s.moveTask(ctx, t, ref, &in, used, now)
	if err != nil {
		return err
	}
	if err := s.settleEvent(ctx, t, ref, &in, used, h.max, available, now); err != nil {
		return err
	}
	if err := insertArtifacts(ctx, t, ref, in.Artifacts, now); err != nil {
		return err
	}
	if err := insertOutbox(ctx, t, ref, in.Outbox, now); err != nil {
		return err
	}
	if state.TaskTerminal(in.Status) {
		if err := freeKey(ctx, t, h.dedupeKey, ref.TaskID); err != nil || h.workflow == "" {
			return err
		}
		if err := markWorkflow(ctx, t, h.workflow, ref.TaskID, now); err != nil {
			return err
		}
		return t.notify(ctx)
	}
	if lane == laneReady {
		return t.notify(ctx)
	}
	return nil
}

// decide applies the two rules that keep a task from waiting for ever, and gives every end an outcome.
func (in *Settlement) decide(h holding, used int) {
	waits := in.Status == agentruntime.TaskRetryableFailure || in.Status == agentruntime.TaskBlocked
	switch {
	case waits && h.canceled:
		in.Status, in.Outcome, in.Action = agentruntime.TaskOperatorCanceled, nil, nil
		if in.LastError = h.cancelReason; in.LastError == "" {
			in.LastError = "cancelled by the operator"
		}
	case in.Status == agentruntime.TaskRetryableFailure && used >= h.max:
		in.Status, in.Outcome = agentruntime.TaskPermanentFailure, nil
	}
	if in.Outcome == nil && in.Status != agentruntime.TaskRetryableFailure {
		in.Outcome = &agentruntime.TaskOutcome{Status: in.Status, MachineStatus: machine[in.Status], OperatorSummary: in.LastError}
	}
}

// machine is the machine status of each end.
var machine = map[agentruntime.TaskStatus]agentruntime.MachineStatus{
	agentruntime.TaskCompleted:        agentruntime.MachineOK,
	agentruntime.TaskPermanentFailure: agentruntime.MachineFailed,
	agentruntime.TaskBlocked:          agentruntime.MachineBlocked,
	agentruntime.TaskOperatorCanceled: agentruntime.MachineCanceled,
	agentruntime.TaskRetryableFailure: agentruntime.MachineNeedsRetry,
}

func (s *Store) endAttempt(ctx context.Context, t tx, ref Ref, from state.Attempt, in *Settlement, now int64) error {
	ended := now
	if in.Attempt.EndedAt != nil {
		var err error
		if ended, err = stampMicros("attempt.ended_at", *in.Attempt.EndedAt, now); err != nil {
			return err
		}
	}
	verdict, err := rawJSON("verdict", in.Verdict)
	if err != nil {
		return err
	}
	if _, err := rawJSON("attempt.diagnostics", in.Attempt.Diagnostics); err != nil {
		return err
	}
	evidence, err := encode(in.Attempt)
	if err != nil {
		return invalid("attempt: %v", err)
	}
	_, err = t.exec(ctx, `UPDATE attempts SET live = 0, state = $1, class = $2, ended_at = $3, verdict = $4, evidence = $5,
		bundle_dir = $6, bundle_id = $7,
		adapter_id = CASE WHEN $8 = '' THEN adapter_id ELSE $8 END,
		adapter_kind = CASE WHEN $9 = '' THEN adapter_kind ELSE $9 END,
		model = COALESCE($10, model) WHERE id = $11`,
		in.State, in.Class, ended, verdict, evidence, clean(in.BundleDir), clean(in.BundleID),
		clean(in.Attempt.AdapterID), clean(in.Attempt.AdapterKind), nullable(str(in.Attempt.Model)), ref.AttemptID)
	if err != nil {
		return err
	}
	detail, err := encode(struct {
		From   state.Attempt           `json:"from"`
		State  string                  `json:"state"`
		Class  string                  `json:"class"`
		Exit   agentruntime.ExitStatus `json:"exit_status"`
		Retry  agentruntime.RetryClass `json:"retry_class"`
		Bundle string                  `json:"bundle_id,omitempty"`
	}{from, in.State, in.Class, in.Attempt.ExitStatus, in.Attempt.RetryClass, clean(in.BundleID)})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, string(agentruntime.EventTaskAttemptFinished), now, ref.TaskID, ref.AttemptID, detail)
}

func (s *Store) moveTask(ctx context.Context, t tx, ref Ref, in *Settlement, used int, now int64) (lane int, available int64, err error) {
	var outcome, finished, avail any
	if in.Outcome != nil {
		text, err := encode(in.Outcome)
		if err != nil {
			return 0, 0, invalid("outcome: %v", err)
		}
		outcome = text
	}
	if state.TaskTerminal(in.Status) {
		finished = now
	}
	if in.Status == agentruntime.TaskRetryableFailure {
		available = now
		if !in.AvailableAt.IsZero() {
			available = micros(in.AvailableAt)
		}
		lane, avail = laneAt(available, now), available
	}
	_, err = t.exec(ctx, `UPDATE tasks SET status = $1, lane = $2, available_at = COALESCE($3, available_at), attempt_count = $4,
		updated_at = $5, finished_at = $6, outcome = $7, last_error = $8, cancel_at = NULL,
		agent = (SELECT agent FROM attempts WHERE id = $9) WHERE id = $10`,
		string(in.Status), lane, avail, used, now, finished, outcome, nullable(clean(in.LastError)), ref.AttemptID, ref.TaskID)
	return lane, available, err
}

// settleEvent records where the task went, and opens the action that a blocked task waits for.
func (s *Store) settleEvent(ctx context.Context, t tx, ref Ref, in *Settlement, used, most int, available, now int64) error {
	switch in.Status {
	case agentruntime.TaskRetryableFailure:
		detail, err := encode(struct {
			At       agentruntime.Timestamp `json:"available_at"`
			Class    string                 `json:"class"`
			Attempts int                    `json:"attempt_count"`
			Max      int                    `json:"max_attempts"`
			Refund   bool                   `json:"attempt_given_back,omitempty"`
			Error    string                 `json:"last_error,omitempty"`
		}{stamp(available), in.Class, used, most, in.Refund, clean(in.LastError)})
		if err != nil {
			return err
		}
		return appendEvent(ctx, t, string(agentruntime.EventTaskRetryScheduled), now, ref.TaskID, ref.AttemptID, detail)
	case agentruntime.TaskBlocked:
		answered, err := blockOn(ctx, t, ref, *in.Action, now)
		if err != nil || !answered {
			return err
		}
		// The answer came before the task was set aside.
		task, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, ref.TaskID)
		if err != nil {
			return err
		}
		return wakeUnlessAsked(ctx, t, task, now)
	}
	if err := dismissActions(ctx, t, ref.TaskID, dismissedByEnd, now); err != nil {
		return err
	}
	detail, err := encode(struct {
		Status   agentruntime.TaskStatus    `json:"status"`
		Machine  agentruntime.MachineStatus `json:"machine_status"`
		Class    string                     `json:"class"`
		Attempts int                        `json:"attempt_count"`
	}{in.Status, in.Outcome.MachineStatus, in.Class, used})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, string(agentruntime.EventTaskFinished), now, ref.TaskID, ref.AttemptID, detail)
}

func insertArtifacts(ctx context.Context, t tx, ref Ref, list []agentruntime.ArtifactRecord, now int64) error {
	for i := range list {
		a := &list[i]
		id := a.ArtifactID
		if id == "" {
			id = NewID()
		}
		created, err := stampMicros("artifact.created_at", a.CreatedAt, now)
		if err != nil {
			return err
		}
		var verified any
		if a.VerifiedAt != "" {
			if verified, err = stampMicros("artifact.verified_at", a.VerifiedAt, now); err != nil {
				return err
			}
		}
		_, err = t.exec(ctx, `INSERT INTO artifacts (id, task_id, attempt_id, role, path, content_type, created_at, verified_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			id, ref.TaskID, ref.AttemptID, clean(string(a.Role)), clean(a.RelativePath), clean(a.ContentType), created, verified)
		if err != nil {
			return err
		}
	}
	return nil
}
