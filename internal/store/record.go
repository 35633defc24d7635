package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A Task is a task's record with what only the engine needs.
type Task struct {
	Record          agentruntime.TaskRecord
	Intent          agentruntime.TaskIntent // as it was admitted, payload included
	Fence           int64                   // the generation of the newest claim; 0 when never claimed
	AttemptID       string                  // the newest attempt; empty when never claimed
	DedupeKey       string
	WorkflowID      string // the workflow that made it; empty: none did
	CancelRequested bool   // a cancel waits for the running attempt to obey
	CancelReason    string
	CancelBy        string
	Damaged

	seq int64
}

// ID returns the task's id.
func (t Task) ID() string { return t.Record.TaskID }

// An Attempt is an attempt's evidence with what only the engine needs.
type Attempt struct {
	Record     agentruntime.TaskAttempt
	State      string // AgentState, see package state
	Class      string // failure class; empty until it is settled
	Fence      int64
	Live       bool // not settled yet
	LeaseUntil time.Time
	Verdict    json.RawMessage
	BundleDir  string // relative to the home
	BundleID   string
	BriefHash  string
	SpecHash   string
	Agent      string          // whose work it is; empty: no agent's
	Checkpoint json.RawMessage // see Store.Checkpoint; nil: there is none
	Damaged
}

// taskColumns is what scanTask reads, in its order.
const taskColumns = `seq, id, task_type, status, priority, available_at, created_at, updated_at, started_at, finished_at,
	attempt_count, max_attempts, fence, attempt_id, profile_id, adapter_id, model, dedupe_key, cancel_at, cancel_reason,
	cancel_by, last_error, outcome, intent, payload, workflow_id`

// scanTask reads one row of taskColumns. whole is false when the intent lives in task_bodies and must be fetched.
func scanTask(row scanner) (t Task, whole bool, err error) {
	var (
		r                                      = &t.Record
		available, created, updated            int64
		started, finished, canceled            *int64
		attemptID, dedupe, reason, by, outcome *string
		intent, payload, workflow              *string
	)
	err = row.Scan(&t.seq, &r.TaskID, &r.TaskType, &r.Status, &r.Priority, &available, &created, &updated, &started, &finished,
		&r.AttemptCount, &r.MaxAttempts, &t.Fence, &attemptID, &r.RequestedProfileID, &r.RequestedAdapterID, &r.RequestedModel,
		&dedupe, &canceled, &reason, &by, &r.LastError, &outcome, &intent, &payload, &workflow)
	if err != nil {
		return Task{}, false, err
	}
	r.AvailableAt, r.CreatedAt, r.UpdatedAt = stamp(available), stamp(created), stamp(updated)
	r.StartedAt, r.FinishedAt = stampPtr(started), stampPtr(finished)
	t.AttemptID, t.DedupeKey, t.WorkflowID = str(attemptID), str(dedupe), str(workflow)
	t.CancelRequested, t.CancelReason, t.CancelBy = canceled != nil, str(reason), str(by)
	if outcome != nil {
		r.Outcome = new(agentruntime.TaskOutcome)
		err = decodePart("task", r.TaskID, "outcome", *outcome, r.Outcome)
	}
	if intent == nil {
		return t, false, err
	}
	return t, true, errors.Join(err, t.setIntent(*intent, str(payload)))
}

func (t *Task) setIntent(intent, payload string) error {
	err := decodePart("task", t.Record.TaskID, "intent", intent, &t.Intent)
	t.Intent.Payload = nil
	if json.Valid([]byte(payload)) {
		t.Intent.Payload = json.RawMessage(payload)
	} else if payload != "" {
		err = errors.Join(err, &DamagedError{Row: "task " + t.Record.TaskID, Part: "payload", Err: errNoJSON})
	}
	t.Record.Payload = t.Intent.Payload
	t.Record.Source = t.Intent.Source
	t.Record.Subject, t.Record.Description = ptr(t.Intent.Subject), ptr(t.Intent.Description)
	return err
}

// fetchBody completes a task whose intent is too large for its row.
func fetchBody(ctx context.Context, c conn, t *Task) error {
	var intent, payload string
	err := c.row(ctx, `SELECT intent, payload FROM task_bodies WHERE task_id = $1`, t.Record.TaskID).Scan(&intent, &payload)
	if errors.Is(err, sql.ErrNoRows) {
		return &DamagedError{Row: "task " + t.Record.TaskID, Part: "body", Err: errors.New("it is gone")}
	}
	if err != nil {
		return fmt.Errorf("body of task %s: %w", t.Record.TaskID, err)
	}
	return t.setIntent(intent, payload)
}

// oneTask reads a task whole.
func oneTask(ctx context.Context, c conn, q string, args ...any) (Task, error) {
	t, whole, err := scanTask(c.row(ctx, q, args...))
	if err != nil || whole {
		return t, err
	}
	return t, fetchBody(ctx, c, &t)
}

// manyTasks reads tasks whole, as a list. The rows are read to their end before anything else is asked.
func manyTasks(ctx context.Context, c conn, q string, args ...any) ([]Task, error) {
	rows, err := c.query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	var out []Task
	var partial []int
	err = eachRow(rows, func() error {
		t, whole, err := scanTask(rows)
		if !whole {
			partial = append(partial, len(out))
		}
		err = listed(&t, err)
		out = append(out, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, i := range partial {
		if err := listed(&out[i], fetchBody(ctx, c, &out[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// attemptColumns is what scanAttempt reads, in its order.
const attemptColumns = `id, task_id, runner_id, fence, live, lease_until, state, class, adapter_id, adapter_kind, model,
	started_at, ended_at, brief_hash, spec_hash, bundle_dir, bundle_id, verdict, evidence, checkpoint, agent`

func scanAttempt(row scanner) (Attempt, error) {
	var (
		a                                 Attempt
		id, taskID, runner, adapter, kind string
		model, verdict, evidence, check   *string
		agent                             *string
		live                              int
		lease, started                    int64
		ended                             *int64
	)
	err := row.Scan(&id, &taskID, &runner, &a.Fence, &live, &lease, &a.State, &a.Class, &adapter, &kind, &model,
		&started, &ended, &a.BriefHash, &a.SpecHash, &a.BundleDir, &a.BundleID, &verdict, &evidence, &check, &agent)
	if err != nil {
		return Attempt{}, err
	}
	if evidence != nil {
		err = decodePart("attempt", id, "evidence", *evidence, &a.Record)
	}
	r := &a.Record
	r.AttemptID, r.TaskID, r.RunnerID, r.AdapterID, r.AdapterKind, r.Model = id, taskID, runner, adapter, kind, model
	r.StartedAt, r.EndedAt = stamp(started), stampPtr(ended)
	a.Agent, a.Live, a.LeaseUntil = str(agent), live == 1, fromMicros(lease)
	if verdict != nil {
		a.Verdict = json.RawMessage(*verdict)
	}
	if check != nil {
		a.Checkpoint = json.RawMessage(*check)
	}
	return a, err
}

// every reads all rows of a query; what names them in an error.
func every[T any](ctx context.Context, c conn, what string, scan func(scanner) (T, error), q string, args ...any) ([]T, error) {
	rows, err := c.query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, classify(err))
	}
	var out []T
	err = eachRow(rows, func() error {
		v, err := scan(rows)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, classify(err))
	}
	return out, nil
}

// eachRow calls fn for each row and closes the rows.
func eachRow(rows rows, fn func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func stamp(us int64) agentruntime.Timestamp { return agentruntime.At(fromMicros(us)) }

func stampPtr(us *int64) *agentruntime.Timestamp {
	if us == nil {
		return nil
	}
	v := stamp(*us)
	return &v
}

// stampMicros reads a record's instant, or takes the given one when the record has none.
func stampMicros(field string, t agentruntime.Timestamp, or int64) (int64, error) {
	if t == "" {
		return or, nil
	}
	v, err := t.Time()
	if err != nil {
		return 0, invalid("%s: %v", field, err)
	}
	return micros(v), nil
}

// str and ptr turn NULL into the empty string and back.
func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func ptr(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nullable is ptr for statement arguments.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// clean makes text that may come from an agent storable on both engines: valid UTF-8 without NUL.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// encode is json.Marshal without the escaping for HTML, so that raw members keep their text.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// rawJSON checks a raw member before it is stored; empty means NULL.
func rawJSON(field string, m json.RawMessage) (any, error) {
	if len(m) == 0 {
		return nil, nil
	}
	if !json.Valid(m) || !utf8.Valid(m) {
		return nil, invalid("%s is not valid JSON in UTF-8", field)
	}
	return string(m), nil
}
