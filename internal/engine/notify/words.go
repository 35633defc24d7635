package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/store"
)

// maxTitle bounds the line that a person reads.
const maxTitle = 200

// events are the names of the events that can lead to a notification.
func events() []string {
	return []string{store.EventActionOpened, string(agentruntime.EventTaskFinished), string(agentruntime.EventBootSweepReclaimed), store.EventMessageFailed}
}

// of turns an event into a notification. Some events have none.
func (n *Notifier) of(ctx context.Context, e *feed.Event) (deed.Notification, bool) {
	note := deed.Notification{
		Schema: deed.SchemaNotification, ID: "event-" + strconv.FormatInt(e.ID, 10), At: string(agentruntime.At(e.At)), TaskID: e.TaskID, AttemptID: e.AttemptID,
	}
	if e.TaskID != "" {
		if t, err := n.Store.Task(ctx, e.TaskID); err == nil { // without it the line is shorter
			note.Subject = plain(report.Subject(t))
		}
		note.Command = "deed task show " + e.TaskID
	}
	about := cmp.Or(note.Subject, e.TaskID)
	switch e.Event {
	case store.EventActionOpened:
		d := detail[struct {
			ID     string `json:"action_id"`
			Kind   string `json:"kind"`
			Prompt string `json:"prompt"`
		}](e)
		note.Kind, note.ActionID, note.Command = deed.NotifyActionOpen, d.ID, "deed action show "+d.ID
		note.Title = "waits for you: " + d.Prompt
		if d.Kind == store.ActionBudget {
			note.Kind, note.Title = deed.NotifyBudgetReached, "the budget is used up: "+about
		}
	case string(agentruntime.EventTaskFinished):
		d := detail[struct {
			Status agentruntime.TaskStatus `json:"status"`
			Class  string                  `json:"class"`
		}](e)
		switch d.Status {
		case agentruntime.TaskCompleted:
			note.Kind, note.Title = deed.NotifyTaskDone, "accepted: "+about
		case agentruntime.TaskOperatorCanceled: // the person who cancelled it knows
			return note, false
		default:
			note.Kind, note.Title = deed.NotifyTaskFailed, fmt.Sprintf("failed (%s): %s", d.Class, about)
		}
	case string(agentruntime.EventBootSweepReclaimed):
		d := detail[struct {
			Attempts int `json:"attempts_reclaimed"`
		}](e)
		note.Kind, note.Command = deed.NotifyRunnerLost, "deed report --since 1h"
		note.Title = fmt.Sprintf("%d attempts were taken from a runner that is gone", d.Attempts)
	case store.EventMessageFailed:
		note.Kind, note.Command = deed.NotifyUndelivered, "deed outbox list --state failed"
		note.Title = "a message was given up: " + about
	default:
		return note, false
	}
	note.Title = plain(note.Title)
	return note, note.Validate() == nil
}

func detail[T any](e *feed.Event) (v T) {
	_ = json.Unmarshal(e.Detail, &v) // of a newer kind of event, the members that can be read are used
	return v
}

// plain is a text as one short line without control characters: an agent may have written it, and a command may print it on
// a terminal.
func plain(s string) string { return truncate.Head(terminal.Clean(s), maxTitle) }
