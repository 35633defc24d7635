// Package sensor owns how events become work. Its intake stores an event together with the task and the workflow that follow
// from it, once, and all or nothing; its runner runs the sensors that are configured, each with its own interval, timeout,
// backoff and health. It runs no task, and trusts no sensor: what an event proposes is admitted like the request of an
// untrusted caller.
package sensor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

// tries bounds how often an event is prepared again because its workflow moved.
const tries = 10

// What becomes of an event.
const (
	Accepted  = "accepted"
	Deduped   = "deduped" // it was seen before, and nothing is made
	Late      = "late"    // its deadline had passed; it is recorded, and nothing is made
	Malformed = "refused" // it leaves nothing, and may be sent again once it is fixed
)

// A Result says what became of an event. For an event that was seen before, it names what the first one made.
type Result struct {
	Status     string
	SensorID   string
	EventID    string
	Seq        int64  // of the event in the store
	TaskID     string // "": none
	WorkflowID string // "": none
	Reason     string // why it makes nothing
}

// An Intake takes events. It is safe for concurrent use, and several processes may have one each.
type Intake struct {
	Store     *store.Store
	Admission *task.Admission
	Workflows *workflow.Engine
	Config    *config.Config
	Clock     clock.Clock
}

// Take takes one event: its record, the task, the workflow and the events about them in one transaction. An error that
// Refused reports is the event's own fault; it was counted, and left nothing else. Any other is the store's.
func (in *Intake) Take(ctx context.Context, e agentruntime.SensorEvent) (Result, error) {
	if err := e.Validate(); err != nil {
		return in.refuse(ctx, e, err)
	}
	return in.TakeEvent(ctx, Event{SensorEvent: e})
}

// TakeEvent is Take for an event that was read, and is valid.
func (in *Intake) TakeEvent(ctx context.Context, e Event) (Result, error) {
	for range tries {
		row, err := in.prepare(ctx, e)
		if err == nil {
			crashpoint.Hit(crashpoint.SensorPrepared)
			var out store.IntakeResult
			if out, err = in.Store.TakeIn(ctx, row); err == nil {
				crashpoint.Hit(crashpoint.SensorTaken)
				return result(e, row, out), nil
			}
		}
		if errors.Is(err, store.ErrStale) {
			continue
		}
		if ours(err) {
			return Result{}, err
		}
		return in.refuse(ctx, e.SensorEvent, err)
	}
	return Result{}, fmt.Errorf("event %s of sensor %s: %w", e.EventID, e.SensorID, store.ErrBusy)
}

// A refusal is an error that is the event's own fault.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refused reports whether an event was refused for its own fault.
func Refused(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// refuse counts an event that cannot be taken.
func (in *Intake) refuse(ctx context.Context, e agentruntime.SensorEvent, why error) (Result, error) {
	out := Result{Status: Malformed, SensorID: e.SensorID, EventID: e.EventID, Reason: why.Error()}
	var l fault.List
	if l.Name("$.sensor_id", e.SensorID); l.Len() > 0 {
		return out, refusal{why} // no sensor to count it for
	}
	if err := in.Store.SensorMalformed(ctx, e.SensorID, 1, truncate.Head(why.Error(), 500)); err != nil {
		return out, err
	}
	return out, refusal{why}
}

// CountRefused counts a document of a sensor that could not even be read.
func (in *Intake) CountRefused(ctx context.Context, sensorID string, why error) error {
	_, err := in.refuse(ctx, agentruntime.SensorEvent{SensorID: sensorID}, why)
	if Refused(err) {
		return nil
	}
	return err
}

// ours reports whether an error says nothing about the event.
func ours(err error) bool {
	for _, kind := range []error{
		store.ErrBusy, store.ErrUnavailable, store.ErrFull, store.ErrReadOnly, store.ErrCorrupt, store.ErrDisabled,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func result(e Event, row store.Intake, out store.IntakeResult) Result {
	r := Result{Status: Accepted, SensorID: e.SensorID, EventID: e.EventID, Seq: out.Sensor.Seq, TaskID: out.Sensor.TaskID, WorkflowID: out.Sensor.WorkflowID}
	switch {
	case out.Sensor.Deduped:
		r.Status, r.Reason = Deduped, "it was seen before"
		return r
	case row.Sensor.Late != "":
		r.Status, r.Reason = Late, row.Sensor.Late
		return r
	}
	if len(out.Tasks) > 0 {
		r.TaskID = out.Tasks[0].TaskID
	}
	switch {
	case row.Start != nil:
		r.WorkflowID = out.Started.WorkflowID
	case row.Move != nil:
		r.WorkflowID = row.Move.WorkflowID
	}
	return r
}

// prepare resolves an event without storing it.
func (in *Intake) prepare(ctx context.Context, e Event) (store.Intake, error) {
	conf := in.Config.Sensors[e.SensorID]
	now := in.Clock()
	observed, err := e.ObservedAt.Time()
	if err != nil {
		return store.Intake{}, err
	}
	row := store.Intake{Sensor: &store.NewSensorEvent{
		SensorID: e.SensorID, EventID: e.EventID, SourceRef: e.SourceRef, DedupeKey: e.DedupeKey, ObservedAt: observed, Payload: e.Payload,
		Window: time.Duration(conf.DedupeWindowSeconds) * time.Second,
	}}
	switch {
	case e.FreshnessDeadline != "":
		if row.Sensor.Deadline, err = e.FreshnessDeadline.Time(); err != nil {
			return store.Intake{}, err
		}
	case conf.FreshnessSeconds > 0:
		row.Sensor.Deadline = observed.Add(time.Duration(conf.FreshnessSeconds) * time.Second)
	}
	if d := row.Sensor.Deadline; !d.IsZero() && !d.After(now) {
		row.Sensor.Late = fmt.Sprintf("it was fresh until %s, and came at %s", agentruntime.At(d), agentruntime.At(now))
		return row, nil
	}
	if err := in.propose(&e, conf); err != nil {
		return store.Intake{}, err
	}
	var l fault.List
	if e.ProposedTask != nil {
		t, err := in.Admission.Prepare(*e.ProposedTask, task.Caller{})
		if err != nil {
			l.Within("$.proposed_task", err)
		}
		row.Tasks = []store.NewTask{t}
	}
	if w := e.ProposedWorkflow; w != nil {
		row.Sensor.Wakes = true
		start, move, live, err := in.Workflows.PrepareWake(ctx, *w, "sensor:"+e.SensorID)
		if ours(err) {
			return store.Intake{}, err
		}
		if err != nil {
			l.Within("$.proposed_workflow", err)
		}
		row.Start, row.Move = start, move
		if start == nil && err == nil {
			row.Sensor.WorkflowID = live.ID()
		}
	}
	return row, l.Err()
}

// propose gives an event that proposes nothing what its sensor's settings say.
func (in *Intake) propose(e *Event, conf settings.Sensor) error {
	if e.ProposedTask != nil || e.ProposedWorkflow != nil || conf.Task == nil && conf.Workflow == nil {
		return nil
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	fill := func(text string, most int) string {
		return truncate.Head(os.Expand(text, func(name string) string { return e.part(name, payload) }), most)
	}
	if t := conf.Task; t != nil {
		body, err := over(payload, t.Payload)
		if err != nil {
			return err
		}
		e.ProposedTask = &agentruntime.TaskIntent{
			TaskType: t.TaskType, Source: "sensor:" + e.SensorID, Subject: oneLine(fill(t.Subject, 400)), Description: fill(t.Description, 60_000),
			RequestedProfileID: t.ProfileID, RequestedAdapterID: t.AdapterID, RequestedModel: t.Model, SkillIDs: t.SkillIDs, Priority: t.Priority, Payload: body,
		}
	}
	if w := conf.Workflow; w != nil {
		reported, err := texts(w.Context, func(s string) string { return fill(s, 4000) })
		if err != nil {
			return err
		}
		body, err := over(payload, reported)
		if err != nil {
			return err
		}
		e.ProposedWorkflow = &agentruntime.ProposedWorkflow{
			Template: w.Template, InstanceKey: short(oneLine(fill(w.InstanceKey, 4000))), State: w.State, Context: body,
		}
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// texts is an object with its texts filled in; what is no text stays as it is.
func texts(object json.RawMessage, fill func(string) string) (json.RawMessage, error) {
	if len(object) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	for name, value := range members {
		var s string
		if value[0] != '"' || json.Unmarshal(value, &s) != nil {
			continue
		}
		filled, err := json.Marshal(fill(s))
		if err != nil {
			return nil, err
		}
		members[name] = filled
	}
	return json.Marshal(members)
}

// over lays the members of an object over others.
func over(under map[string]json.RawMessage, text json.RawMessage) (json.RawMessage, error) {
	out := maps.Clone(under)
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// part is what a text of the settings names of an event. Control characters would make a name no name.
func (e *Event) part(name string, payload map[string]json.RawMessage) string {
	switch name {
	case "$":
		return "$"
	case "event_id":
		return e.EventID
	case "source_ref":
		return e.SourceRef
	case "sensor_id":
		return e.SensorID
	case "dedupe_key":
		return e.DedupeKey
	case "type":
		return e.Type
	}
	keys := strings.Split(name, ".")
	if keys[0] != "payload" || len(keys) == 1 {
		return ""
	}
	value := payload[keys[1]]
	for _, k := range keys[2:] {
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) != nil {
			return ""
		}
		value = inner[k]
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
