package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// The events of deed, in addition to those of the contract.
const (
	EventTaskOperatorCanceled = "task_operator_canceled"
	EventTaskCancelRequested  = "task_cancel_requested" // a running task; its attempt has yet to obey
	EventTaskOperatorRetried  = "task_operator_retried"
	EventDispatchPaused       = "dispatch_paused"
	EventDispatchResumed      = "dispatch_resumed"
	EventTaskBudgetChanged    = "task_budget_changed"
	EventWorkflowStarted      = "workflow_started"
	EventWorkflowBlocked      = "workflow_blocked" // a required action says how it goes on
	EventActionOpened         = "action_opened"
	EventActionAnswered       = "action_answered"
	EventActionDismissed      = "action_dismissed"
	EventActionExpired        = "action_expired" // its deadline decided
	EventFanoutCreated        = "fanout_created"
	EventFanoutFinished       = "fanout_finished"
	EventFanoutCanceled       = "fanout_canceled"  // pending items are not started any more
	EventAgentState           = "agent_state"      // agentruntime.AgentStateChange: an attempt went on in another state
	EventScheduleSkipped      = "schedule_skipped" // a slot without a task
	EventScheduleDropped      = "schedule_dropped"
	EventMessageDelivered     = "message_delivered"
	EventMessageFailed        = "message_failed" // given up
	EventOutboxRetried        = "outbox_retried" // by a person
	EventOutboxDropped        = "outbox_dropped" // by a person
	EventAgentChanged         = "agent_changed"
	EventAgentDropped         = "agent_dropped"
	EventAgentImported        = "agent_imported"
	EventWalletChanged        = "wallet_changed"
	EventWalletDropped        = "wallet_dropped"
	EventRevisionProposed     = "constitution_proposed"
	EventRevisionAccepted     = "constitution_accepted"
	EventRevisionRejected     = "constitution_rejected"
)

// An Event is one thing that the engine did. Seq grows in the order of insertion; on PostgreSQL two transactions that
// run at once may commit in the other order: who follows the log uses SettledEvents.
type Event struct {
	Seq       int64
	Type      string
	TaskID    string // "": not about a task
	AttemptID string
	At        time.Time       // zero: now, when appended
	Detail    json.RawMessage // a JSON object
}

// Append records events in their order, in one transaction.
func (s *Store) Append(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		for i := range events {
			if err := s.appendOne(ctx, t, events[i], Ref{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}

// appendOne appends an event of a caller; ref fills in what the event does not name.
func (s *Store) appendOne(ctx context.Context, t tx, e Event, ref Ref) error {
	if e.Type == "" {
		return invalid("event type is empty")
	}
	detail, err := rawJSON("event detail", e.Detail)
	if err != nil {
		return err
	}
	if e.TaskID == "" {
		e.TaskID = ref.TaskID
	}
	if e.AttemptID == "" {
		e.AttemptID = ref.AttemptID
	}
	at := micros(s.now())
	if !e.At.IsZero() {
		at = micros(e.At)
	}
	return appendEvent(ctx, t, clean(e.Type), at, e.TaskID, e.AttemptID, detail)
}

const insertEvent = `INSERT INTO events (type, at, task_id, attempt_id, detail) VALUES ($1, $2, $3, $4, $5)`

func appendEvent(ctx context.Context, t tx, typ string, at int64, taskID, attemptID string, detail any) error {
	_, err := t.exec(ctx, insertEvent, typ, at, nullable(taskID), nullable(attemptID), detail)
	return err
}

// An EventFilter selects events. The zero value selects the oldest ones.
type EventFilter struct {
	TaskID    string
	AttemptID string
	After     int64 // only events with a greater Seq
	Until     int64 // only events with no greater Seq; 0: no bound
	Limit     int   // 0: 1000
	Newest    bool  // the newest ones of the selection; still returned oldest first
}

// Events returns the events of the selection, oldest first.
func (s *Store) Events(ctx context.Context, f EventFilter) ([]Event, error) {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	var q strings.Builder
	q.WriteString(`SELECT seq, type, at, task_id, attempt_id, detail FROM events WHERE seq > $1 AND seq <= $3`)
	if f.Until <= 0 {
		f.Until = math.MaxInt64
	}
	args := []any{f.After, f.Limit, f.Until}
	switch { // one index walk for each form
	case f.AttemptID != "":
		args = append(args, f.AttemptID)
		q.WriteString(` AND attempt_id = $4`)
		if f.TaskID != "" {
			args = append(args, f.TaskID)
			q.WriteString(` AND task_id = $5`)
		}
	case f.TaskID != "":
		args = append(args, f.TaskID)
		q.WriteString(` AND task_id = $4`)
	}
	q.WriteString(` ORDER BY seq`)
	if f.Newest {
		q.WriteString(` DESC`)
	}
	q.WriteString(` LIMIT $2`)
	rows, err := s.eng.read().query(ctx, q.String(), args...)
	if err != nil {
		return nil, fmt.Errorf("events: %w", classify(err))
	}
	var out []Event
	err = eachRow(rows, func() error {
		e, err := scanEvent(rows)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("events: %w", classify(err))
	}
	if f.Newest {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out, nil
}
