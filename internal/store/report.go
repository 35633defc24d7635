package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
)

// reportedTypes are the events that ReportEvents walks. The index of migration 11 contains exactly these.
const reportedTypes = `('task_attempt_finished', 'task_finished', 'task_operator_canceled',
    'schedule_task_created', 'schedule_skipped', 'workflow_started', 'workflow_transitioned', 'workflow_blocked', 'workflow_completed',
    'message_delivered', 'message_failed')`

// ReportEvents calls fn with the events that a report covers: ends of attempts and tasks, steps of workflows, slots of schedules, and
// messages. It walks them from from to to, without to itself, newest first and at most limit. Its cost depends on what happened in
// between, not on what happened before.
func (s *Store) ReportEvents(ctx context.Context, from, to time.Time, limit int, fn func(Event)) error {
	rows, err := s.eng.read().query(ctx, `SELECT seq, type, at, task_id, attempt_id, detail FROM events
		WHERE type IN `+reportedTypes+` AND at >= $1 AND at < $2 ORDER BY at DESC, seq DESC LIMIT $3`, micros(from), micros(to), limit)
	if err != nil {
		return fmt.Errorf("events from %s to %s: %w", stamp(micros(from)), stamp(micros(to)), classify(err))
	}
	err = eachRow(rows, func() error {
		e, err := scanEvent(rows)
		if err == nil {
			fn(e)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("events from %s to %s: %w", stamp(micros(from)), stamp(micros(to)), classify(err))
	}
	return nil
}

func scanEvent(row scanner) (Event, error) {
	var e Event
	var at int64
	var task, attempt, detail *string
	err := row.Scan(&e.Seq, &e.Type, &at, &task, &attempt, &detail)
	e.At, e.TaskID, e.AttemptID = fromMicros(at), str(task), str(attempt)
	e.Detail = json.RawMessage(`{}`)
	if detail != nil && json.Valid([]byte(*detail)) { // what is no JSON would spoil the document of all events
		e.Detail = json.RawMessage(*detail)
	}
	return e, err
}

// A UsageShare is a part of what was used, with what it was used for.
type UsageShare struct {
	UsageRow
	ProfileID   string
	TaskType    string
	AdapterID   string // "": the attempt ended before it had one
	AdapterKind string
	AgentID     string // "": the runtime was none, or the attempt ended before it began
}

// EachUsage calls fn with what was used from one day to another, both included, in the order of days.
func (s *Store) EachUsage(ctx context.Context, from, to string, fn func(UsageShare)) error {
	for _, day := range []string{from, to} {
		if err := checkDay(day); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	rows, err := s.eng.read().query(ctx, `SELECT u.task_id, u.attempt_id, u.day, u.model, u.turns, u.tool_calls, u.input_tokens, u.cached_tokens,
			u.cache_write_tokens, u.output_tokens, u.reasoning_tokens, u.cost_micro_usd, u.told_micro_usd, u.unpriced_tokens, u.agent_ms,
			t.profile_id, t.task_type, a.adapter_id, a.adapter_kind, COALESCE(a.agent, '')
		FROM usage u JOIN attempts a ON a.id = u.attempt_id JOIN tasks t ON t.id = u.task_id
		WHERE u.day >= $1 AND u.day <= $2 ORDER BY u.day, u.attempt_id, u.model`, from, to)
	if err != nil {
		return fmt.Errorf("usage: %w", classify(err))
	}
	err = eachRow(rows, func() error {
		var r UsageShare
		err := rows.Scan(&r.TaskID, &r.AttemptID, &r.Day, &r.Model, &r.Turns, &r.ToolCalls, &r.InputTokens, &r.CachedInputTokens,
			&r.CacheWriteTokens, &r.OutputTokens, &r.ReasoningTokens, &r.CostMicroUSD, &r.ReportedMicroUSD, &r.UnpricedTokens, &r.AgentMS,
			&r.ProfileID, &r.TaskType, &r.AdapterID, &r.AdapterKind, &r.AgentID)
		if err == nil {
			fn(r)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("usage: %w", classify(err))
	}
	return nil
}

// A UsageGroup is what one of several used: a profile, an adapter, a day.
type UsageGroup struct {
	Key      string `json:"key"`
	Tasks    int    `json:"tasks"`
	Attempts int    `json:"attempts"`
	UsageSum
}

// A UsageGroups adds up shares by a key of the caller's.
type UsageGroups struct {
	total  group
	groups map[string]*group
}

type group struct {
	tally
	tasks, attempts map[string]bool
}

func (g *group) add(r UsageRow) {
	if g.tasks == nil {
		g.tasks, g.attempts = map[string]bool{}, map[string]bool{}
	}
	g.tally.add(r)
	g.tasks[r.TaskID], g.attempts[r.AttemptID] = true, true
}

func (g *group) line(key string) UsageGroup {
	return UsageGroup{Key: key, Tasks: len(g.tasks), Attempts: len(g.attempts), UsageSum: g.sum()}
}

// Add adds a share to the group of a key.
func (g *UsageGroups) Add(key string, r UsageRow) {
	if g.groups == nil {
		g.groups = map[string]*group{}
	}
	if g.groups[key] == nil {
		g.groups[key] = &group{}
	}
	g.groups[key].add(r)
	g.total.add(r)
}

// Lines returns the groups by their keys.
func (g *UsageGroups) Lines() []UsageGroup {
	out := make([]UsageGroup, 0, len(g.groups))
	for key, one := range g.groups {
		out = append(out, one.line(key))
	}
	slices.SortFunc(out, func(a, b UsageGroup) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Total is what all groups come to.
func (g *UsageGroups) Total() UsageGroup { return g.total.line("") }

// UsageTotal returns what was used from one day to another, both included. It keeps the rows of one attempt at a time.
func (s *Store) UsageTotal(ctx context.Context, from, to string) (UsageSum, error) {
	for _, day := range []string{from, to} {
		if err := checkDay(day); err != nil {
			return UsageSum{}, fmt.Errorf("usage: %w", err)
		}
	}
	var out UsageSum
	var one tally
	var of [2]string
	flush := func() {
		sum := one.sum()
		out.Usage, out.CountedMicroUSD = out.Add(sum.Usage), plus(out.CountedMicroUSD, sum.CountedMicroUSD)
		one = tally{}
	}
	err := s.eachUsage(ctx, `day >= $1 AND day <= $2 ORDER BY day, attempt_id`, func(r UsageRow) {
		if key := [2]string{r.Day, r.AttemptID}; key != of {
			flush()
			of = key
		}
		one.add(r)
	}, from, to)
	if err != nil {
		return UsageSum{}, fmt.Errorf("usage: %w", err)
	}
	flush()
	return out, nil
}

// maxTypes bounds how many types of tasks TypeCounts distinguishes.
const maxTypes = 1000

// TypeCounts returns the number of tasks of each type in each state that has any. It counts in the index that lists them.
func (s *Store) TypeCounts(ctx context.Context) (map[string]map[agentruntime.TaskStatus]int64, error) {
	out := map[string]map[agentruntime.TaskStatus]int64{}
	c := s.eng.read()
	for typ := ""; len(out) < maxTypes; {
		err := c.row(ctx, `SELECT task_type FROM tasks WHERE task_type > $1 ORDER BY task_type LIMIT 1`, typ).Scan(&typ)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("count types: %w", classify(err))
		}
		out[typ] = map[agentruntime.TaskStatus]int64{}
		for _, st := range agentruntime.TaskStatuses {
			var n int64
			if err := c.row(ctx, `SELECT count(*) FROM tasks WHERE task_type = $1 AND status = $2`, typ, string(st)).Scan(&n); err != nil {
				return nil, fmt.Errorf("count types: %w", classify(err))
			}
			if n > 0 {
				out[typ][st] = n
			}
		}
	}
	return out, nil
}

// A Backlog is what waits now.
type Backlog struct {
	Ready       int64     // may be claimed now, or as soon as a dispatcher looks
	Later       int64     // waits for its time
	HeadSince   time.Time // when the task was queued that is claimed next; zero: none is ready
	OpenActions int64
	Outbox      map[string]int64 // by state, those that were not delivered
	Workflows   map[string]int64 // by status
}

// Backlog counts what waits now. It reads no finished work.
func (s *Store) Backlog(ctx context.Context) (Backlog, error) {
	out := Backlog{Outbox: map[string]int64{}, Workflows: map[string]int64{}}
	c := s.eng.read()
	count := func(to *int64, q string, args ...any) error { return c.row(ctx, q, args...).Scan(to) }
	counts, err := s.Counts(ctx)
	err = errors.Join(err,
		count(&out.Later, `SELECT count(*) FROM tasks WHERE lane = 2`),
		count(&out.OpenActions, `SELECT count(*) FROM actions WHERE state = 'open'`),
		s.eachTally(ctx, `at = 0`, func(t Tally) {
			if t.Kind == tallyWorkflow {
				out.Workflows[t.Key] += t.N
			}
		}))
	out.Ready = max(counts[agentruntime.TaskPending]+counts[agentruntime.TaskRetryableFailure]-out.Later, 0)
	for state, q := range map[string]string{
		OutboxPending: `SELECT count(*) FROM outbox WHERE state = 'pending'`,
		OutboxHeld:    `SELECT count(*) FROM outbox WHERE state = 'held' AND state <> 'pending'`,
		OutboxFailed:  `SELECT count(*) FROM outbox WHERE state = 'failed' AND state <> 'pending'`,
	} {
		var n int64
		err = errors.Join(err, count(&n, q))
		out.Outbox[state] = n
	}
	for _, st := range agentruntime.WorkflowStatuses {
		if st == agentruntime.WorkflowCompleted {
			continue // counted as they ended
		}
		var n int64
		err = errors.Join(err, count(&n, `SELECT count(*) FROM workflows WHERE status = $1`, string(st)))
		out.Workflows[string(st)] = n
	}
	var since int64
	switch e := c.row(ctx, `SELECT created_at FROM tasks WHERE lane = 1 ORDER BY rank, seq LIMIT 1`).Scan(&since); {
	case e == nil:
		out.HeadSince = fromMicros(since)
	case !errors.Is(e, sql.ErrNoRows):
		err = errors.Join(err, e)
	}
	if err != nil {
		return Backlog{}, fmt.Errorf("backlog: %w", classify(err))
	}
	return out, nil
}
