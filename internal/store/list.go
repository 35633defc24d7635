package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// minPrefix is the shortest prefix that stands for an id.
const minPrefix = 6

// resolve returns the whole id for an id or an unambiguous prefix of one.
func resolve(ctx context.Context, c conn, table, id string) (string, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if len(id) < minPrefix || !validID(id) {
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	}
	if len(id) == 36 {
		return id, nil
	}
	rows, err := c.query(ctx, `SELECT id FROM `+table+` WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2`, id, id+"~")
	if err != nil {
		return "", classify(err)
	}
	var found []string
	if err := eachRow(rows, func() error {
		var v string
		err := rows.Scan(&v)
		found = append(found, v)
		return err
	}); err != nil {
		return "", classify(err)
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%q: %w", id, ErrNotFound)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%q: %w", id, ErrAmbiguous)
}

func validID(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return false
		}
	}
	return len(s) <= 36
}

// missing turns sql.ErrNoRows into ErrNotFound.
func missing(what, id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %s: %w", what, id, ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", what, id, classify(err))
}

// Task returns the task with this id, or with this id prefix of at least six characters. It returns ErrNotFound or
// ErrAmbiguous.
func (s *Store) Task(ctx context.Context, id string) (Task, error) {
	t, err := s.task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	return t, nil
}

// task also returns what can be read of a task that is damaged.
func (s *Store) task(ctx context.Context, id string) (Task, error) {
	c := s.eng.read()
	full, err := resolve(ctx, c, "tasks", id)
	if err != nil {
		return Task{}, fmt.Errorf("task %w", err)
	}
	t, err := oneTask(ctx, c, `SELECT `+taskColumns+` FROM tasks WHERE id = $1`, full)
	if err != nil {
		return t, missing("task", full, err)
	}
	return t, nil
}

// seqOf returns the place of a row by its whole id, or otherwise when no id is given.
func (s *Store) seqOf(ctx context.Context, table, id string, otherwise int64) (int64, error) {
	if id == "" {
		return otherwise, nil
	}
	err := s.eng.read().row(ctx, `SELECT seq FROM `+table+` WHERE id = $1`, id).Scan(&otherwise)
	if err != nil {
		return 0, missing("position in "+table, id, err)
	}
	return otherwise, nil
}

// A TaskFilter selects tasks. The zero value selects the newest ones.
type TaskFilter struct {
	Status []agentruntime.TaskStatus // empty: every state
	Type   string
	Limit  int    // 0: 100
	Before string // a task id: only tasks that are older
}

// Tasks returns the tasks of the selection, newest first.
func (s *Store) Tasks(ctx context.Context, f TaskFilter) ([]Task, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	c := s.eng.read()
	before := int64(1<<63 - 1)
	if f.Before != "" {
		id, err := resolve(ctx, c, "tasks", f.Before)
		if err != nil {
			return nil, fmt.Errorf("tasks before %w", err)
		}
		if err := c.row(ctx, `SELECT seq FROM tasks WHERE id = $1`, id).Scan(&before); err != nil {
			return nil, missing("tasks before", id, err)
		}
	}
	// Each state is an index walk of its own; a merge of at most seven short lists replaces a sort of the table.
	const head, tail = `SELECT ` + taskColumns + ` FROM tasks WHERE seq < $1`, ` ORDER BY seq DESC LIMIT $2`
	states := f.Status
	if f.Type != "" && len(states) == 0 {
		states = agentruntime.TaskStatuses
	}
	if len(states) == 0 {
		out, err := manyTasks(ctx, c, head+tail, before, f.Limit)
		if err != nil {
			return nil, fmt.Errorf("tasks: %w", classify(err))
		}
		return out, nil
	}
	var out []Task
	seen := map[agentruntime.TaskStatus]bool{}
	for _, st := range states {
		if seen[st] {
			continue
		}
		seen[st] = true
		q, args := head+` AND status = $3`, []any{before, f.Limit, string(st)}
		if f.Type != "" {
			q, args = q+` AND task_type = $4`, append(args, f.Type)
		}
		part, err := manyTasks(ctx, c, q+tail, args...)
		if err != nil {
			return nil, fmt.Errorf("tasks: %w", classify(err))
		}
		out = append(out, part...)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].seq > out[j].seq })
	return out[:min(len(out), f.Limit)], nil
}

// Counts returns the number of tasks in each state that has any. What has ended was counted as it ended, and what is pending is all
// the rest, so that neither is counted here.
func (s *Store) Counts(ctx context.Context) (map[agentruntime.TaskStatus]int64, error) {
	out := map[agentruntime.TaskStatus]int64{}
	var all int64
	err := s.eachTally(ctx, `at = 0`, func(t Tally) {
		if t.Kind == tallyTask && t.Key != "all" {
			out[agentruntime.TaskStatus(t.Key)] += t.N
		}
	})
	if err == nil {
		err = classify(s.eng.read().row(ctx, `SELECT n FROM tasks_made`).Scan(&all))
	}
	if err == nil {
		err = s.eachCount(ctx, out)
	}
	if err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	for st, n := range out {
		all -= n
		if n <= 0 {
			delete(out, st)
		}
	}
	if all > 0 {
		out[agentruntime.TaskPending] = all
	}
	return out, nil
}

// eachCount counts the states that are left soon.
func (s *Store) eachCount(ctx context.Context, to map[agentruntime.TaskStatus]int64) error {
	rows, err := s.eng.read().query(ctx, `SELECT 'running', count(*) FROM tasks WHERE status = 'running'
		UNION ALL SELECT 'blocked', count(*) FROM tasks WHERE status = 'blocked'
		UNION ALL SELECT 'retryable_failure', count(*) FROM tasks WHERE status = 'retryable_failure'`)
	if err != nil {
		return classify(err)
	}
	return classify(eachRow(rows, func() error {
		var st agentruntime.TaskStatus
		var n int64
		err := rows.Scan(&st, &n)
		to[st] = n
		return err
	}))
}

// Attempts returns the attempts of a task, oldest first.
func (s *Store) Attempts(ctx context.Context, taskID string) ([]Attempt, error) {
	return every(ctx, s.eng.read(), "attempts of task "+taskID, shown(scanAttempt), `SELECT `+attemptColumns+` FROM attempts WHERE task_id = $1 ORDER BY seq`, taskID)
}

// Attempt returns the attempt with this id, or with this id prefix of at least six characters.
func (s *Store) Attempt(ctx context.Context, id string) (Attempt, error) {
	a, err := s.attempt(ctx, id)
	if err != nil {
		return Attempt{}, err
	}
	return a, nil
}

// attempt also returns what can be read of an attempt that is damaged.
func (s *Store) attempt(ctx context.Context, id string) (Attempt, error) {
	c := s.eng.read()
	full, err := resolve(ctx, c, "attempts", id)
	if err != nil {
		return Attempt{}, fmt.Errorf("attempt %w", err)
	}
	a, err := scanAttempt(c.row(ctx, `SELECT `+attemptColumns+` FROM attempts WHERE id = $1`, full))
	if err != nil {
		return a, missing("attempt", full, err)
	}
	return a, nil
}

// Artifacts returns the artifacts of a task in the order in which they were recorded.
func (s *Store) Artifacts(ctx context.Context, taskID string) ([]agentruntime.ArtifactRecord, error) {
	rows, err := s.eng.read().query(ctx, `SELECT id, task_id, role, path, content_type, created_at, verified_at
		FROM artifacts WHERE task_id = $1 ORDER BY seq`, taskID)
	if err != nil {
		return nil, fmt.Errorf("artifacts of task %s: %w", taskID, classify(err))
	}
	var out []agentruntime.ArtifactRecord
	err = eachRow(rows, func() error {
		var a agentruntime.ArtifactRecord
		var created int64
		var verified *int64
		err := rows.Scan(&a.ArtifactID, &a.TaskID, &a.Role, &a.RelativePath, &a.ContentType, &created, &verified)
		a.CreatedAt = stamp(created)
		if verified != nil {
			a.VerifiedAt = stamp(*verified)
		}
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("artifacts of task %s: %w", taskID, classify(err))
	}
	return out, nil
}
