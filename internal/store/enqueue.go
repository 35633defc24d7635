package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A NewTask is an admitted intent with the values that admission decided.
type NewTask struct {
	Intent       agentruntime.TaskIntent // validated and defaulted by package task
	ProfileID    string
	AdapterID    string // "": none requested
	Model        string
	Priority     int64     // any integer, higher first
	MaxAttempts  int       // at least 1
	AvailableAt  time.Time // zero: now
	DedupeKey    string
	DedupeWindow time.Duration // how long the key is taken from now on; 0: while the task lives
}

// Enqueued is what became of one NewTask.
type Enqueued struct {
	TaskID  string
	Deduped bool // the dedupe key is taken: TaskID is the task that holds it, and no task was made
}

// Enqueue stores the tasks in their order, with one task_enqueued event each, in one transaction: all or none.
func (s *Store) Enqueue(ctx context.Context, tasks ...NewTask) ([]Enqueued, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	rows, out, keyed, err := s.taskRows(tasks)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if !keyed && standsAlone(ctx) {
		err = s.commits.tell(classify(s.eng.enqueue(ctx, rows)))
	} else {
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			for i := range out {
				out[i] = Enqueued{TaskID: rows[i].id}
			}
			fresh, err := s.takeKeys(ctx, t, rows, out)
			if err != nil {
				return err
			}
			if err := t.insertTasks(ctx, fresh); err != nil {
				return err
			}
			return t.notify(ctx)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return out, nil
}

// EnqueueClaimed stores a task and claims it in the same transaction, so that no other runner can take it, due or not. It
// returns a *DuplicateError when the dedupe key is taken.
func (s *Store) EnqueueClaimed(ctx context.Context, task NewTask, o ClaimOptions) (*Claim, error) {
	rows, out, keyed, err := s.taskRows([]NewTask{task})
	if err != nil {
		return nil, fmt.Errorf("enqueue and claim: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("enqueue and claim: %w", err)
	}
	var c *Claim
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if keyed {
			fresh, err := s.takeKeys(ctx, t, rows, out)
			if err != nil {
				return err
			}
			if len(fresh) == 0 {
				return &DuplicateError{Key: task.DedupeKey, TaskID: out[0].TaskID}
			}
		}
		if err := t.insertTasks(ctx, rows); err != nil {
			return err
		}
		var err error
		c, err = s.claimOne(ctx, t, o, rows[0].id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("enqueue and claim: %w", err)
	}
	return c, nil
}

// A taskRow is a task on its way into the database.
type taskRow struct {
	id, taskType, profile, adapter, model, dedupeKey string
	window                                           time.Duration
	lane, maxAttempts                                int
	rank, priority, availableAt, createdAt           int64
	intent, payload                                  string
}

// The columns of a task insert, in the order of appendArgs.
const (
	taskInsertColumns = 16
	taskInsertNames   = `id, task_type, status, lane, rank, priority, available_at, created_at, updated_at, max_attempts,
		profile_id, adapter_id, model, dedupe_key, intent, payload`
)

func (r *taskRow) appendArgs(args []any) []any {
	args = append(args, r.id, r.taskType, "pending", r.lane, r.rank, r.priority, r.availableAt, r.createdAt, r.createdAt,
		r.maxAttempts, r.profile, nullable(r.adapter), nullable(r.model), nullable(r.dedupeKey))
	if r.big() {
		return append(args, nil, nil)
	}
	return append(args, r.intent, r.payload)
}

// inlineLimit is the size up to which intent and payload stay in the task's row.
const inlineLimit = 2000

func (r *taskRow) big() bool { return len(r.intent)+len(r.payload) > inlineLimit }

func anyLarge(rows []taskRow) bool {
	for i := range rows {
		if rows[i].big() {
			return true
		}
	}
	return false
}

func insertBodies(ctx context.Context, t tx, rows []taskRow) error {
	for i := range rows {
		if r := &rows[i]; r.big() {
			_, err := t.exec(ctx, `INSERT INTO task_bodies (task_id, intent, payload) VALUES ($1, $2, $3)`, r.id, r.intent, r.payload)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// The lanes of the queue; see the schema.
const (
	laneNone    = 0
	laneReady   = 1
	laneWaiting = 2
)

func laneAt(available, now int64) int {
	if available <= now {
		return laneReady
	}
	return laneWaiting
}

// taskRows checks the tasks and lays them out; keyed says whether one has a dedupe key.
func (s *Store) taskRows(tasks []NewTask) (rows []taskRow, out []Enqueued, keyed bool, err error) {
	now := micros(s.now())
	rows, out = make([]taskRow, len(tasks)), make([]Enqueued, len(tasks))
	for i := range tasks {
		r, t := &rows[i], &tasks[i]
		if err := r.fill(t, now, s.step); err != nil {
			return nil, nil, false, fmt.Errorf("task %d of %d: %w", i+1, len(tasks), err)
		}
		out[i].TaskID = r.id
		keyed = keyed || r.dedupeKey != ""
	}
	return rows, out, keyed, nil
}

func (r *taskRow) fill(t *NewTask, now, step int64) error {
	if t.MaxAttempts < 1 || t.MaxAttempts > math.MaxInt32 {
		return invalid("max_attempts %d is out of range; use 1 to %d", t.MaxAttempts, math.MaxInt32)
	}
	if t.DedupeWindow < 0 {
		return invalid("dedupe window %s is negative; use 0 for the life of the task", t.DedupeWindow)
	}
	for _, f := range [...]struct{ name, value string }{
		{"task_type", t.Intent.TaskType}, {"profile", t.ProfileID}, {"adapter", t.AdapterID}, {"model", t.Model}, {"dedupe_key", t.DedupeKey},
	} {
		if !utf8.ValidString(f.value) || strings.IndexByte(f.value, 0) >= 0 {
			return invalid("%s %q is not UTF-8 text without NUL", f.name, f.value)
		}
	}
	if t.Intent.TaskType == "" {
		return invalid("task_type is empty")
	}
	// The payload is stored separately and byte for byte; inside the intent it would be encoded again.
	intent := t.Intent
	payload := intent.Payload
	intent.Payload = nil
	if len(payload) > 0 && (!json.Valid(payload) || !utf8.Valid(payload)) {
		return invalid("payload is not valid JSON in UTF-8")
	}
	text, err := encode(&intent)
	if err != nil {
		return invalid("intent: %v", err)
	}
	available := now
	if !t.AvailableAt.IsZero() {
		available = micros(t.AvailableAt)
	}
	*r = taskRow{
		id: NewID(), taskType: t.Intent.TaskType, profile: t.ProfileID, adapter: t.AdapterID, model: t.Model,
		dedupeKey: t.DedupeKey, window: t.DedupeWindow, lane: laneAt(available, now), maxAttempts: t.MaxAttempts,
		rank: rank(t.Priority, now, step), priority: t.Priority, availableAt: available, createdAt: now,
		intent: text, payload: string(payload),
	}
	return nil
}

// rank is the static sort key of the queue, lowest first. Without ageing it is the priority turned round. With
// ageing, a task gains one step of priority for each step of waiting; the difference between two tasks does not
// change while both wait, so that the order by created_at - priority*step never changes.
func rank(priority, created, step int64) int64 {
	if step == 0 {
		return ^priority
	}
	neg := priority < 0
	mag := uint64(priority)
	if neg {
		mag = -mag
	}
	hi, lo := bits.Mul64(mag, uint64(step))
	if hi != 0 || lo > math.MaxInt64/2 {
		lo = math.MaxInt64 / 2
	}
	if neg {
		return created + int64(lo)
	}
	return created - int64(lo)
}

// takeKeys takes the dedupe keys of the rows and returns the rows that are new. out gets the holder of each key that
// is taken. Keys are taken in sorted order, so that two batches cannot wait for each other.
func (s *Store) takeKeys(ctx context.Context, t tx, rows []taskRow, out []Enqueued) ([]taskRow, error) {
	var order []int
	for i := range rows {
		if rows[i].dedupeKey != "" {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return rows[order[a]].dedupeKey < rows[order[b]].dedupeKey })
	for _, i := range order {
		holder, err := takeKey(ctx, t, rows[i].dedupeKey, rows[i].id, rows[i].createdAt, rows[i].window)
		if err != nil {
			return nil, err
		}
		if holder != rows[i].id {
			out[i] = Enqueued{TaskID: holder, Deduped: true}
		}
	}
	fresh := make([]taskRow, 0, len(rows))
	for i := range rows {
		if !out[i].Deduped {
			fresh = append(fresh, rows[i])
		}
	}
	return fresh, nil
}

// takeKey takes the key for the task unless another task holds it, and returns the holder. The primary key decides
// between two that try at once: the second one waits for the first to commit.
func takeKey(ctx context.Context, t tx, key, taskID string, now int64, window time.Duration) (holder string, err error) {
	var expires any
	if window > 0 {
		expires = now + max(window.Microseconds(), 1)
	}
	for range 10 {
		res, err := t.exec(ctx, `INSERT INTO dedupe_keys (dedupe_key, task_id, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (dedupe_key) DO UPDATE SET task_id = excluded.task_id, expires_at = excluded.expires_at
			WHERE dedupe_keys.expires_at <= $4`, key, taskID, expires, now)
		if err != nil {
			return "", err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return taskID, err
		}
		err = t.row(ctx, `SELECT task_id FROM dedupe_keys WHERE dedupe_key = $1`, key).Scan(&holder)
		if err == nil {
			return holder, nil
		}
		// The holder ended between the two statements (PostgreSQL only): the key is free again.
		if !errors.Is(err, sql.ErrNoRows) {
			return "", err
		}
	}
	return "", fmt.Errorf("dedupe key %q changes hands too fast: %w", key, ErrBusy)
}

// freeKey gives the key back when its task ends. A key with a window stays taken until the window is over.
func freeKey(ctx context.Context, t tx, key, taskID string) error {
	if key == "" {
		return nil
	}
	_, err := t.exec(ctx, `DELETE FROM dedupe_keys WHERE dedupe_key = $1 AND task_id = $2 AND expires_at IS NULL`, key, taskID)
	return err
}

// rerank gives the waiting tasks the ranks of another ageing step.
func (s *Store) rerank(ctx context.Context) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		rows, err := t.query(ctx, `SELECT seq, priority, created_at FROM tasks
			WHERE status IN ('pending', 'running', 'retryable_failure', 'blocked')`)
		if err != nil {
			return err
		}
		type entry struct{ seq, rank int64 }
		var all []entry
		err = eachRow(rows, func() error {
			var seq, priority, created int64
			err := rows.Scan(&seq, &priority, &created)
			all = append(all, entry{seq, rank(priority, created, s.step)})
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range all {
			if _, err := t.exec(ctx, `UPDATE tasks SET rank = $1 WHERE seq = $2`, e.rank, e.seq); err != nil {
				return err
			}
		}
		return putControl(ctx, t, "ageing_step", fmt.Sprint(s.step), micros(s.now()))
	})
}

func putControl(ctx context.Context, t tx, name, value string, now int64) error {
	_, err := t.exec(ctx, `INSERT INTO controls (name, value, updated_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, name, value, now)
	return err
}
