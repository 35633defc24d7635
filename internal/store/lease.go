package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// A Lease is what a renewal returns to the holder.
type Lease struct {
	Until           time.Time
	CancelRequested bool // stop, and settle the task as operator_canceled
	CancelReason    string
}

// Renew makes the claim last for another lease from now. It returns ErrFenced when the claim is no longer held. A
// claim whose lease has run out can be renewed until a sweep takes it.
func (s *Store) Renew(ctx context.Context, ref Ref, lease time.Duration) (Lease, error) {
	if lease <= 0 {
		return Lease{}, invalid("renew: lease %s is not positive", lease)
	}
	var out Lease
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		h, err := hold(ctx, t, ref)
		if err != nil {
			return err
		}
		out = Lease{Until: s.now().Add(lease).Truncate(time.Microsecond), CancelRequested: h.canceled, CancelReason: h.cancelReason}
		_, err = t.exec(ctx, `UPDATE attempts SET lease_until = $1 WHERE id = $2`, micros(out.Until), ref.AttemptID)
		return err
	})
	if err != nil {
		return Lease{}, fmt.Errorf("renew attempt %s: %w", ref.AttemptID, err)
	}
	return out, nil
}

// A holding is what a checked Ref stands for, read under the lock of the transaction.
type holding struct {
	attempt      state.Attempt
	attempts     int
	max          int
	priority     int64
	dedupeKey    string
	workflow     string // the instance that made the task
	canceled     bool
	cancelReason string
	cancelBy     string
}

const (
	holdTask = `SELECT status, fence, attempt_id, attempt_count, max_attempts, priority, dedupe_key, cancel_at,
		cancel_reason, cancel_by, workflow_id FROM tasks WHERE id = $1 ` + forUpdate
	holdAttempt = `SELECT live, state FROM attempts WHERE id = $1`
)

// hold checks the fence: the task must be running this very attempt, and the attempt must be live. On PostgreSQL it
// locks the task's row, so that nothing can come between the check and the write.
func hold(ctx context.Context, t tx, ref Ref) (holding, error) {
	var (
		h                        holding
		status                   agentruntime.TaskStatus
		fence                    int64
		current, key, reason, by *string
		workflow                 *string
		canceled                 *int64
	)
	err := t.row(ctx, holdTask, ref.TaskID).
		Scan(&status, &fence, &current, &h.attempts, &h.max, &h.priority, &key, &canceled, &reason, &by, &workflow)
	if errors.Is(err, sql.ErrNoRows) {
		return h, fmt.Errorf("task %s: %w", ref.TaskID, ErrNotFound)
	}
	if err != nil {
		return h, err
	}
	if status != agentruntime.TaskRunning || fence != ref.Fence || str(current) != ref.AttemptID {
		return h, ErrFenced
	}
	var live int
	var st string
	if err := t.row(ctx, holdAttempt, ref.AttemptID).Scan(&live, &st); err != nil {
		return h, err
	}
	if live != 1 {
		return h, ErrFenced
	}
	h.attempt, h.dedupeKey, h.workflow = state.Attempt(st), str(key), str(workflow)
	h.canceled, h.cancelReason, h.cancelBy = canceled != nil, str(reason), str(by)
	return h, nil
}

// A Begin is what is known when the driver is about to start.
type Begin struct {
	AdapterID, AdapterKind, Model string
	BriefHash                     string
	SpecHash                      string
	Agent                         string          // whose work it is, see RecentTasks; empty: no agent's
	Detail                        json.RawMessage // of the bundle_compiled event; a JSON object
}

const (
	beginAttempt = `UPDATE attempts SET state = 'running', adapter_id = $1, adapter_kind = $2, model = $3,
		brief_hash = $4, spec_hash = $5, agent = $6 WHERE id = $7`
	beginTask = `UPDATE tasks SET started_at = COALESCE(started_at, $1), updated_at = $1 WHERE id = $2`
)

// Begin takes the attempt from idle to running, and records bundle_compiled and task_started.
func (s *Store) Begin(ctx context.Context, ref Ref, b Begin) error {
	detail, err := rawJSON("detail", b.Detail)
	if err != nil {
		return fmt.Errorf("begin attempt %s: %w", ref.AttemptID, err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		h, err := hold(ctx, t, ref)
		if err != nil {
			return err
		}
		if err := state.AttemptNext(h.attempt, state.Running); err != nil || h.attempt != state.Idle {
			return &state.IllegalError{Kind: "attempt", From: string(h.attempt), To: string(state.Running)}
		}
		now := micros(s.now())
		_, err = t.exec(ctx, beginAttempt, b.AdapterID, b.AdapterKind, nullable(b.Model), b.BriefHash, b.SpecHash, nullable(clean(b.Agent)), ref.AttemptID)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, beginTask, now, ref.TaskID)
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, string(agentruntime.EventBundleCompiled), now, ref.TaskID, ref.AttemptID, detail); err != nil {
			return err
		}
		started, err := encode(map[string]string{"adapter_id": b.AdapterID, "adapter_kind": b.AdapterKind})
		if err != nil {
			return err
		}
		return appendEvent(ctx, t, string(agentruntime.EventTaskStarted), now, ref.TaskID, ref.AttemptID, started)
	})
	if err != nil {
		return fmt.Errorf("begin attempt %s: %w", ref.AttemptID, err)
	}
	return nil
}

// SetAttemptState moves a live attempt to another state that does not end it, under the fence, and records agent_state
// with the cause. It returns the state that the attempt was in. Begin starts an attempt, Settle ends it.
func (s *Store) SetAttemptState(ctx context.Context, ref Ref, to state.Attempt, cause string) (from state.Attempt, err error) {
	if strings.TrimSpace(cause) == "" {
		return "", invalid("move attempt %s to %s: the cause is blank", ref.AttemptID, to)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		h, err := hold(ctx, t, ref)
		if err != nil {
			return err
		}
		if from = h.attempt; state.AttemptEnded(to) || from == state.Idle {
			return &state.IllegalError{Kind: "attempt", From: string(from), To: string(to)}
		}
		if err := state.AttemptNext(from, to); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE attempts SET state = $1 WHERE id = $2`, string(to), ref.AttemptID); err != nil {
			return err
		}
		detail, err := encode(agentruntime.AgentStateChange{From: from, To: to, Cause: clean(cause)})
		if err != nil {
			return err
		}
		return appendEvent(ctx, t, EventAgentState, micros(s.now()), ref.TaskID, ref.AttemptID, detail)
	})
	if err != nil {
		return "", fmt.Errorf("move attempt %s to %s: %w", ref.AttemptID, to, err)
	}
	return from, nil
}

// A Lost attempt has no owner any more. Its Ref is good: settle it.
type Lost struct {
	Task    Task
	Attempt Attempt
	Ref     Ref
	Reason  string // ReasonLeaseExpired or ReasonRunnerDead
}

// Why an attempt is lost.
const (
	ReasonLeaseExpired = "lease_expired"
	ReasonRunnerDead   = "runner_dead"
)

// sweepLease is how long a sweeper has to settle what it took over, before another sweeper may.
const sweepLease = time.Minute

// Lost takes over the live attempts whose lease has run out or whose runner is in deadRunners, and returns them. It
// raises their fences, so that an owner who comes back is fenced off before the caller settles. What the caller does
// not settle is found again after a minute, or at once while its runner is named dead.
func (s *Store) Lost(ctx context.Context, deadRunners []string) ([]Lost, error) {
	out, err := s.lost(ctx, deadRunners)
	if err != nil {
		return nil, fmt.Errorf("lost attempts: %w", err)
	}
	return out, nil
}

// A Suspect is a live attempt that seems to have no owner.
type Suspect struct{ AttemptID, TaskID, RunnerID, Reason string }

// Suspects returns the live attempts that Lost would look at, and takes over none.
func (s *Store) Suspects(ctx context.Context, deadRunners []string) ([]Suspect, error) {
	// attempts_live holds only what runs now, so that reading all of it is cheap.
	rows, err := s.eng.read().query(ctx, `SELECT id, task_id, runner_id, lease_until FROM attempts WHERE live = 1 ORDER BY lease_until`)
	if err != nil {
		return nil, fmt.Errorf("suspect attempts: %w", classify(err))
	}
	var out []Suspect
	now := micros(s.now())
	err = eachRow(rows, func() error {
		var v Suspect
		var lease int64
		err := rows.Scan(&v.AttemptID, &v.TaskID, &v.RunnerID, &lease)
		switch {
		case slices.Contains(deadRunners, v.RunnerID):
			v.Reason = ReasonRunnerDead
		case lease <= now:
			v.Reason = ReasonLeaseExpired
		default:
			return err
		}
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("suspect attempts: %w", classify(err))
	}
	return out, nil
}

func (s *Store) lost(ctx context.Context, deadRunners []string) ([]Lost, error) {
	suspects, err := s.Suspects(ctx, deadRunners) // nothing is written when nothing is lost
	if err != nil {
		return nil, err
	}
	dead := make(map[string]bool, len(deadRunners))
	for _, r := range deadRunners {
		dead[r] = true
	}
	var out []Lost
	for _, v := range suspects {
		var l Lost
		var taken bool
		err := s.write(ctx, func(ctx context.Context, t tx) (err error) {
			l, taken, err = s.takeOver(ctx, t, v.TaskID, v.AttemptID, dead)
			return err
		})
		if err != nil {
			return out, err
		}
		if taken {
			out = append(out, l)
		}
	}
	return out, nil
}

// takeOver looks again under the lock of the transaction: the owner may have renewed or settled meanwhile.
func (s *Store) takeOver(ctx context.Context, t tx, taskID, attemptID string, dead map[string]bool) (Lost, bool, error) {
	task, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, taskID)
	if err != nil {
		return Lost{}, false, err
	}
	if task.Record.Status != agentruntime.TaskRunning || task.AttemptID != attemptID {
		return Lost{}, false, nil
	}
	a, err := scanAttempt(t.row(ctx, `SELECT `+attemptColumns+` FROM attempts WHERE id = $1`, attemptID))
	if err != nil {
		return Lost{}, false, err
	}
	now := s.now()
	reason := ReasonLeaseExpired
	switch {
	case !a.Live:
		return Lost{}, false, nil
	case dead[a.Record.RunnerID]:
		reason = ReasonRunnerDead
	case a.LeaseUntil.After(now):
		return Lost{}, false, nil
	}
	task.Fence++
	a.Fence, a.LeaseUntil = task.Fence, now.Add(sweepLease).Truncate(time.Microsecond)
	if _, err := t.exec(ctx, `UPDATE tasks SET fence = $1 WHERE id = $2`, task.Fence, taskID); err != nil {
		return Lost{}, false, err
	}
	_, err = t.exec(ctx, `UPDATE attempts SET fence = $1, lease_until = $2 WHERE id = $3`, a.Fence, micros(a.LeaseUntil), attemptID)
	return Lost{Task: task, Attempt: a, Ref: Ref{TaskID: taskID, AttemptID: attemptID, Fence: task.Fence}, Reason: reason}, true, err
}
