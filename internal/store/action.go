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

// A NewAction is something that a person must do before a task can go on.
type NewAction struct {
	ID     string // "": made here
	Kind   string
	Prompt string
	Detail json.RawMessage

	Why           string
	Rule          string          // that asks
	ContextDigest string          // what an answer holds for; a task asks once for each
	Subject       json.RawMessage // what it is about
	Deadline      time.Time       // zero: none
	Default       json.RawMessage // the answer that the deadline gives
	MayAnswer     []string        // empty: any operator
}

// The states of an action.
const (
	ActionOpen      = "open"
	ActionAnswered  = "answered"
	ActionDismissed = "dismissed" // the task was cancelled or retried without an answer
)

// An Action is a required action.
type Action struct {
	ID, TaskID, AttemptID string
	Owner                 string // what it belongs to when that is no task: its kind and id, such as workflow/ID
	Kind, Prompt          string
	Detail                json.RawMessage
	State                 string
	Answer                json.RawMessage
	AnsweredBy            string
	OpenedAt              time.Time
	ClosedAt              time.Time // zero while it is open

	Why, Rule, ContextDigest string
	Subject                  json.RawMessage
	Deadline                 time.Time // zero: none
	Default                  json.RawMessage
	MayAnswer                []string
	Damaged
}

// ByDeadline is the answerer on record if no answer came in time.
const ByDeadline = "deadline"

// An ActionFilter selects actions. The zero value selects all.
type ActionFilter struct {
	TaskID string
	Owner  string // alone
	State  string
	Limit  int    // 0: 100
	After  string // the id of an action: only those that came after it
}

// OpenAction asks a person for something while an attempt of the task runs. A task asks once for each context: when there
// is an action with the same digest that was not dismissed, that one is returned, answered or not.
func (s *Store) OpenAction(ctx context.Context, ref Ref, a NewAction) (Action, error) {
	var out Action
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := hold(ctx, t, ref); err != nil {
			return err
		}
		if a.ContextDigest != "" {
			var err error
			out, err = scanAction(t.row(ctx, findAction, ref.TaskID, a.ContextDigest))
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		id, err := openAction(ctx, t, ref, a, micros(s.now()))
		if err != nil {
			return err
		}
		out, err = scanAction(t.row(ctx, oneAction, id))
		return err
	})
	if err != nil {
		return Action{}, fmt.Errorf("open action: %w", err)
	}
	return out, nil
}

// blockOn is openAction for a settlement: an action that the attempt opened while it ran is the one that its task waits
// for. It reports whether that one was answered meanwhile.
func blockOn(ctx context.Context, t tx, ref Ref, a NewAction, now int64) (answered bool, err error) {
	if a.ID != "" {
		var taskID, state string
		err := t.row(ctx, `SELECT task_id, state FROM actions WHERE id = $1`, a.ID).Scan(&taskID, &state)
		switch {
		case err == nil && taskID != ref.TaskID:
			return false, invalid("action %s belongs to another task", a.ID)
		case err == nil:
			return state != ActionOpen, nil
		case !errors.Is(err, sql.ErrNoRows):
			return false, err
		}
	}
	_, err = openAction(ctx, t, ref, a, now)
	return false, err
}

func openAction(ctx context.Context, t tx, ref Ref, a NewAction, now int64) (string, error) {
	return insertAction(ctx, t, ref, "", a, now)
}

// openOwned opens an action of something that is no task.
func openOwned(ctx context.Context, t tx, owner string, a NewAction, now int64) (string, error) {
	return insertAction(ctx, t, Ref{}, owner, a, now)
}

func insertAction(ctx context.Context, t tx, ref Ref, owner string, a NewAction, now int64) (string, error) {
	if a.ID == "" {
		a.ID = NewID()
	}
	var texts [3]any
	for i, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"action detail", a.Detail}, {"action subject", a.Subject}, {"default answer", a.Default}} {
		text, err := rawJSON(f.name, f.raw)
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	var deadline, may any
	if !a.Deadline.IsZero() {
		if texts[2] == nil {
			return "", invalid("an action with a deadline needs the answer that it gives")
		}
		deadline = micros(a.Deadline)
	}
	if len(a.MayAnswer) > 0 {
		text, err := encode(a.MayAnswer)
		if err != nil {
			return "", err
		}
		may = clean(text)
	}
	_, err := t.exec(ctx, `INSERT INTO actions (id, task_id, attempt_id, kind, prompt, detail, state, opened_at,
		why, rule, context_digest, subject, deadline, due_at, default_answer, may_answer, owner)
		VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9, $10, $11, $12, $12, $13, $14, $15)`,
		a.ID, nullable(ref.TaskID), ref.AttemptID, clean(a.Kind), clean(a.Prompt), texts[0], now,
		clean(a.Why), clean(a.Rule), clean(a.ContextDigest), texts[1], deadline, texts[2], may, owner)
	if err != nil {
		return "", err
	}
	detail := map[string]string{"action_id": a.ID, "kind": clean(a.Kind), "prompt": clean(a.Prompt)}
	if owner != "" {
		detail["owner"] = owner
	}
	text, err := encode(detail)
	if err != nil {
		return "", err
	}
	return a.ID, appendEvent(ctx, t, EventActionOpened, now, ref.TaskID, ref.AttemptID, text)
}

const (
	actionColumns = `id, COALESCE(task_id, ''), attempt_id, owner, kind, prompt, detail, state, answer, answered_by, opened_at, closed_at,
		why, rule, context_digest, subject, deadline, default_answer, may_answer`
	oneAction  = `SELECT ` + actionColumns + ` FROM actions WHERE id = $1`
	findAction = `SELECT ` + actionColumns + ` FROM actions WHERE task_id = $1 AND context_digest = $2 AND context_digest <> ''
		AND state <> 'dismissed' ORDER BY seq DESC LIMIT 1`
)

func scanAction(row scanner) (Action, error) {
	var a Action
	var detail, answer, subject, otherwise, may *string
	var opened int64
	var closed, deadline *int64
	err := row.Scan(&a.ID, &a.TaskID, &a.AttemptID, &a.Owner, &a.Kind, &a.Prompt, &detail, &a.State, &answer, &a.AnsweredBy, &opened, &closed,
		&a.Why, &a.Rule, &a.ContextDigest, &subject, &deadline, &otherwise, &may)
	if err != nil {
		return a, err
	}
	for to, text := range map[*json.RawMessage]*string{&a.Detail: detail, &a.Answer: answer, &a.Subject: subject, &a.Default: otherwise} {
		if text != nil {
			*to = json.RawMessage(*text)
		}
	}
	if may != nil {
		err = decodePart("action", a.ID, "may_answer", *may, &a.MayAnswer)
	}
	a.OpenedAt = fromMicros(opened)
	if closed != nil {
		a.ClosedAt = fromMicros(*closed)
	}
	if deadline != nil {
		a.Deadline = fromMicros(*deadline)
	}
	return a, err
}

// Action returns one action, by id or by a prefix of it.
func (s *Store) Action(ctx context.Context, id string) (Action, error) {
	a, err := s.action(ctx, id)
	if err != nil {
		return Action{}, err
	}
	return a, nil
}

// action also returns what can be read of an action that is damaged.
func (s *Store) action(ctx context.Context, id string) (Action, error) {
	full, err := resolve(ctx, s.eng.read(), "actions", id)
	if err != nil {
		return Action{}, fmt.Errorf("action %w", err)
	}
	a, err := scanAction(s.eng.read().row(ctx, oneAction, full))
	if err != nil {
		return a, fmt.Errorf("action: %w", classify(missing("action", full, err)))
	}
	return a, nil
}

// FindAction returns the newest action of a task for a context that was not dismissed, or ErrNotFound.
func (s *Store) FindAction(ctx context.Context, taskID, digest string) (Action, error) {
	a, err := scanAction(s.eng.read().row(ctx, findAction, taskID, digest))
	if errors.Is(err, sql.ErrNoRows) {
		return Action{}, fmt.Errorf("action of task %s: %w", taskID, ErrNotFound)
	}
	if err != nil {
		return Action{}, fmt.Errorf("find action: %w", classify(err))
	}
	return a, nil
}

// Actions returns the actions of the selection, oldest first.
func (s *Store) Actions(ctx context.Context, f ActionFilter) ([]Action, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	after, err := s.seqOf(ctx, "actions", f.After, 0)
	if err != nil {
		return nil, err
	}
	q, args := `SELECT `+actionColumns+` FROM actions WHERE seq > $2`, []any{f.Limit, after}
	switch {
	case f.Owner != "":
		q, args = q+` AND owner = $3 AND owner <> ''`, append(args, f.Owner)
	case f.TaskID != "" && f.State != "":
		q, args = q+` AND task_id = $3 AND state = $4`, append(args, f.TaskID, f.State)
	case f.TaskID != "":
		q, args = q+` AND task_id = $3`, append(args, f.TaskID)
	case f.State != "":
		q, args = q+` AND state = $3`, append(args, f.State)
	}
	return every(ctx, s.eng.read(), "actions", shown(scanAction), q+` ORDER BY seq LIMIT $1`, args...)
}

// AnswerAction closes an open action with a JSON answer. When it was the last open one of a blocked task, the task
// becomes pending and due now; going on uses up no attempt. It returns ErrClosed when the action is not open or its deadline
// has passed, and ErrMayNotAnswer when it lists who may answer and by is not among them.
func (s *Store) AnswerAction(ctx context.Context, id string, answer json.RawMessage, by string) error {
	text, err := rawJSON("answer", answer)
	if err != nil {
		return fmt.Errorf("answer action %s: %w", id, err)
	}
	full, err := resolve(ctx, s.eng.read(), "actions", id)
	if err != nil {
		return fmt.Errorf("answer action %w", err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		return s.decideAction(ctx, t, full, EventActionAnswered, func(a Action) (any, string, error) {
			switch {
			case a.State != ActionOpen:
				return nil, "", fmt.Errorf("it is %s: %w", a.State, ErrClosed)
			case !a.Deadline.IsZero() && !s.now().Before(a.Deadline):
				return nil, "", fmt.Errorf("its deadline was %s: %w", stamp(micros(a.Deadline)), ErrClosed)
			case len(a.MayAnswer) > 0 && !slices.Contains(a.MayAnswer, by):
				return nil, "", fmt.Errorf("%q is not among %s: %w", by, strings.Join(a.MayAnswer, ", "), ErrMayNotAnswer)
			}
			return text, clean(by), nil
		})
	})
	if err != nil {
		return fmt.Errorf("answer action %s: %w", full, err)
	}
	return nil
}

// ExpireActions gives the actions whose deadline has passed the answer that they were opened with, and wakes their tasks. It
// returns how many there were, at most limit.
func (s *Store) ExpireActions(ctx context.Context, limit int) (int, error) {
	rows, err := s.eng.read().query(ctx, `SELECT id FROM actions WHERE due_at IS NOT NULL AND due_at <= $1 ORDER BY due_at, seq LIMIT $2`, micros(s.now()), limit)
	if err != nil {
		return 0, fmt.Errorf("expire actions: %w", classify(err))
	}
	var ids []string
	if err := eachRow(rows, func() error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return 0, fmt.Errorf("expire actions: %w", classify(err))
	}
	n := 0
	for _, id := range ids {
		err := s.write(ctx, func(ctx context.Context, t tx) error {
			return s.decideAction(ctx, t, id, EventActionExpired, func(a Action) (any, string, error) {
				if a.State != ActionOpen {
					return nil, "", ErrClosed // another answer came first
				}
				return string(a.Default), ByDeadline, nil
			})
		})
		if errors.Is(err, ErrClosed) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("expire action %s: %w", id, err)
		}
		n++
	}
	return n, nil
}

// NextDeadline returns when the next open action is decided by its deadline, and false when none will be.
func (s *Store) NextDeadline(ctx context.Context) (time.Time, bool, error) {
	var at int64
	err := s.eng.read().row(ctx, `SELECT due_at FROM actions WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next deadline: %w", classify(err))
	}
	return fromMicros(at), true, nil
}

// decideAction answers an action as decide says, and wakes its task when that waits for nothing else.
func (s *Store) decideAction(ctx context.Context, t tx, id, event string, decide func(Action) (answer any, by string, err error)) error {
	var taskID, owner string
	if err := t.row(ctx, `SELECT COALESCE(task_id, ''), owner FROM actions WHERE id = $1`, id).Scan(&taskID, &owner); err != nil {
		return missing("action", id, err)
	}
	if owner != "" {
		return s.decideOwned(ctx, t, id, owner, event, decide)
	}
	// The task's row is locked first, here as everywhere, so that two operators cannot wait for each other.
	task, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, taskID)
	if err != nil {
		return missing("task", taskID, err)
	}
	now := micros(s.now())
	if err := answer(ctx, t, id, event, decide, now); err != nil {
		return err
	}
	if task.Record.Status != agentruntime.TaskBlocked {
		return t.notify(ctx) // an attempt may wait for it
	}
	return wakeUnlessAsked(ctx, t, task, now)
}

// closeAction records the answer to an open action.
func closeAction(ctx context.Context, t tx, a Action, event string, answer any, by string, now int64) error {
	_, err := t.exec(ctx, `UPDATE actions SET state = 'answered', answer = $1, answered_by = $2, closed_at = $3, due_at = NULL WHERE id = $4`,
		answer, by, now, a.ID)
	if err != nil {
		return err
	}
	detail, err := encode(map[string]string{"action_id": a.ID, "kind": a.Kind, "by": by})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, event, now, a.TaskID, a.AttemptID, detail)
}

// wakeUnlessAsked makes a blocked task pending when no action of it is open.
func wakeUnlessAsked(ctx context.Context, t tx, task Task, now int64) error {
	var open int
	err := t.row(ctx, `SELECT count(*) FROM actions WHERE task_id = $1 AND state = 'open'`, task.Record.TaskID).Scan(&open)
	if err != nil || open > 0 {
		return err
	}
	return wakeAnswered(ctx, t, task, now)
}

// wakeAnswered makes a blocked task due whose last action was answered.
func wakeAnswered(ctx context.Context, t tx, task Task, now int64) error {
	if err := state.TaskNext(task.Record.Status, agentruntime.TaskPending); err != nil {
		return err
	}
	if err := wake(ctx, t, task.Record.TaskID, now); err != nil {
		return err
	}
	return t.notify(ctx)
}

// dismissedByEnd is on record as the dismisser of actions that had no answer when the task ended.
const dismissedByEnd = "deed"

// dismissActions closes actions that need no answer any more.
func dismissActions(ctx context.Context, t tx, taskID, by string, now int64) error {
	res, err := t.exec(ctx, `UPDATE actions SET state = 'dismissed', answered_by = $1, closed_at = $2, due_at = NULL
		WHERE task_id = $3 AND state = 'open'`, by, now, taskID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	detail, err := encode(map[string]string{"by": by})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, EventActionDismissed, now, taskID, "", detail)
}

// decideOwned answers an action of something that is no task, and wakes that.
func (s *Store) decideOwned(ctx context.Context, t tx, id, owner, event string, decide func(Action) (answer any, by string, err error)) error {
	kind, of, _ := strings.Cut(owner, "/")
	var wake func(now int64) error
	switch kind {
	case ScheduleOwner:
		wake = func(now int64) error { return wakeSchedule(ctx, t, of, now) }
	case "sensor":
		wake = func(int64) error { return answeredSensor(ctx, t, of, id) }
	case "workflow":
		// The workflow's row is locked first, as in every step of it.
		w, err := lockWorkflow(ctx, t, of)
		if err != nil {
			return err
		}
		wake = func(now int64) error {
			if w.ActionID != id {
				return nil
			}
			_, err := t.exec(ctx, `UPDATE workflows SET due_at = $1, version = version + 1 WHERE id = $2`, now, of)
			return err
		}
	case AgentOwner:
		return invalid("action %s is a revision of a constitution, which `deed agent accept` or `deed agent reject` decides", id)
	default:
		return invalid("action %s belongs to %q, which no answer wakes", id, owner)
	}
	now := micros(s.now())
	if err := answer(ctx, t, id, event, decide, now); err != nil {
		return err
	}
	if err := wake(now); err != nil {
		return err
	}
	return t.notify(ctx)
}

// answer closes an action with what decide says of it. The row of what it belongs to is locked.
func answer(ctx context.Context, t tx, id, event string, decide func(Action) (answer any, by string, err error), now int64) error {
	a, err := scanAction(t.row(ctx, oneAction, id))
	if err != nil {
		return err
	}
	said, by, err := decide(a)
	if err != nil {
		return err
	}
	return closeAction(ctx, t, a, event, said, by, now)
}

// dismissOwned closes actions that need no answer any more and whose owner is not a task.
func dismissOwned(ctx context.Context, t tx, owner, by string, now int64) error {
	res, err := t.exec(ctx, `UPDATE actions SET state = 'dismissed', answered_by = $1, closed_at = $2, due_at = NULL
		WHERE owner = $3 AND owner <> '' AND state = 'open'`, by, now, owner)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	detail, err := encode(map[string]string{"by": by, "owner": owner})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, EventActionDismissed, now, "", "", detail)
}
