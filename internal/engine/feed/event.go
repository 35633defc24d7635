package feed

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// Where an event comes from.
const (
	FromStore    = "store"    // it is in the store and has an id
	FromProgress = "progress" // a running attempt of this process; not stored
	FromFeed     = "feed"     // the stream itself
)

// Overflow is the event of the stream that says that the subscriber was too slow. The events that it missed follow, from the
// store; the progress of that time is lost.
const Overflow = "overflow"

// An Event is one thing that changed. It must not be written to: all subscribers share it.
type Event struct {
	ID        int64 // where to continue; 0: it is not stored
	Event     string
	Source    string
	TaskID    string
	AttemptID string
	At        time.Time
	Detail    json.RawMessage

	once  sync.Once
	frame []byte
}

func fromStore(e store.Event) *Event {
	return &Event{ID: e.Seq, Event: e.Type, Source: FromStore, TaskID: e.TaskID, AttemptID: e.AttemptID, At: e.At, Detail: e.Detail}
}

// A Record is an event as it is written.
type Record struct {
	ID        string                 `json:"id,omitempty"` // where to continue; empty: it is not stored
	Event     string                 `json:"event"`
	Source    string                 `json:"source"`
	TaskID    string                 `json:"task_id,omitempty"`
	AttemptID string                 `json:"attempt_id,omitempty"`
	At        agentruntime.Timestamp `json:"at"`
	Detail    json.RawMessage        `json:"detail,omitempty"`
}

// Record returns the event as it is written.
func (e *Event) Record() Record {
	r := Record{Event: e.Event, Source: e.Source, TaskID: e.TaskID, AttemptID: e.AttemptID, At: agentruntime.At(e.At), Detail: e.Detail}
	if e.ID > 0 {
		r.ID = strconv.FormatInt(e.ID, 10)
	}
	return r
}

// JSON is the event on one line.
func (e *Event) JSON() []byte {
	text, err := json.Marshal(e.Record())
	if err != nil { // the store holds only JSON
		text, _ = json.Marshal(Record{ID: strconv.FormatInt(e.ID, 10), Event: e.Event, Source: e.Source, TaskID: e.TaskID, At: agentruntime.At(e.At)})
	}
	return text
}

// Frame is the event as a server-sent event, made once for all subscribers. Its JSON is one line, so that nothing in it can end the
// field.
func (e *Event) Frame() []byte {
	e.once.Do(func() {
		var b []byte
		if e.ID > 0 {
			b = append(strconv.AppendInt(append(b, "id: "...), e.ID, 10), '\n')
		}
		name := e.Event
		if strings.ContainsAny(name, "\r\n") {
			name = "event" // at most one field
		}
		b = append(append(append(b, "event: "...), name...), "\ndata: "...)
		e.frame = append(append(b, e.JSON()...), "\n\n"...)
	})
	return e.frame
}

// A Filter selects events. The zero value selects all that are stored.
type Filter struct {
	TaskID   string
	Events   []string // by their names; empty: all
	Progress bool     // and the progress of running attempts
}

func (f Filter) takes(e *Event) bool {
	if e.Source == FromProgress && !f.Progress {
		return false
	}
	return (f.TaskID == "" || f.TaskID == e.TaskID) && (len(f.Events) == 0 || slices.Contains(f.Events, e.Event))
}

// RecordOf returns an event of the store as it is written.
func RecordOf(e store.Event) Record { return fromStore(e).Record() }
