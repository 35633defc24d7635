package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
)

// sensorOwner is the owner of the actions of a sensor.
func sensorOwner(id string) string { return "sensor/" + id }

// The states of a sensor event.
const (
	SensorAccepted = "accepted"
	SensorLate     = "late" // its freshness deadline had passed; nothing followed
)

// A NewSensorEvent is what a sensor saw, checked by its taker. The tasks and the workflow of its Intake follow from it.
type NewSensorEvent struct {
	SensorID, EventID, SourceRef, DedupeKey string

	Window     time.Duration // how long the key is held from now on; 0: for ever
	ObservedAt time.Time
	Deadline   time.Time // zero: none
	Payload    json.RawMessage
	Late       string // why it is only recorded; "": it is fresh
	WorkflowID string // the instance that goes its own way, where the intake neither starts nor moves one
	Wakes      bool   // the event proposes a workflow
}

// A SensorTaken says what became of a NewSensorEvent.
type SensorTaken struct {
	Seq        int64  // of the event, or of the one that it repeats
	Deduped    bool   // it was seen before: nothing was taken, and the ids are those of the event that it repeats
	TaskID     string // "": none
	WorkflowID string // "": none
}

// A SensorEvent is one that was taken in, or came too late.
type SensorEvent struct {
	Seq                                     int64
	SensorID, EventID, SourceRef, DedupeKey string

	State, Reason      string
	ObservedAt         time.Time
	ReceivedAt         time.Time
	Deadline           time.Time // zero: none
	Payload            json.RawMessage
	TaskID, WorkflowID string
	Repeats            int // how often it came again
	Damaged
}

// sensorKey identifies an event: the end of its name, and a digest of all that counts. Events that come together are often
// numbered; with the digest alone every event of a run would have a page of the index to itself.
func sensorKey(name string, parts ...string) string {
	var all []byte
	for _, p := range parts {
		all = append(strconv.AppendInt(all, int64(len(p)), 10), ':')
		all = append(all, p...)
	}
	sum := sha256.Sum256(all)
	return tail(name, sensorKeyTail) + ":" + hex.EncodeToString(sum[:sensorKeyDigest])
}

// The parts of a key, in characters and in bytes. The migration that brought them has them too.
const (
	sensorKeyTail   = 24
	sensorKeyDigest = 16
)

// tail returns the last n characters of a text.
func tail(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

// sensorColumnsIn are what an event is inserted with.
const sensorColumnsIn = `sensor_id, event_id, source_ref, dedupe_key, same, held, expires_at, state, reason, observed_at, received_at,
	deadline, payload, task_id, workflow_id`

// A sensorRow is an event that is about to be inserted.
type sensorRow struct {
	of    int // which intake
	event *NewSensorEvent
	task  *taskRow // the first that follows from it; nil: none
	same  string
	held  any
	args  []any
	out   SensorTaken // when it is new
}

func (r *sensorRow) fill(e *NewSensorEvent, tasks []taskRow, now int64) error {
	for _, f := range [...]struct{ name, value string }{
		{"sensor_id", e.SensorID}, {"event_id", e.EventID}, {"source_ref", e.SourceRef}, {"dedupe_key", e.DedupeKey},
	} {
		if f.value == "" || clean(f.value) != f.value {
			return invalid("%s %q is empty or no text", f.name, f.value)
		}
	}
	if e.Window < 0 {
		return invalid("dedupe window %s is negative; use 0 for ever", e.Window)
	}
	payload, err := rawJSON("payload", e.Payload)
	if err != nil {
		return err
	}
	var expires, deadline any
	state := SensorLate
	if e.Late == "" {
		state, r.held = SensorAccepted, sensorKey(e.DedupeKey, e.SensorID, e.DedupeKey)
		if e.Window > 0 {
			expires = now + max(e.Window.Microseconds(), 1)
		}
	}
	if !e.Deadline.IsZero() {
		deadline = micros(e.Deadline)
	}
	r.event, r.out.WorkflowID = e, e.WorkflowID
	if e.Late == "" && len(tasks) > 0 {
		r.task, r.out.TaskID = &tasks[0], tasks[0].id
	}
	r.same = sensorKey(e.EventID, e.SensorID, e.EventID, e.SourceRef)
	r.args = []any{
		e.SensorID, e.EventID, e.SourceRef, e.DedupeKey, r.same, r.held, expires, state, clean(e.Late),
		micros(e.ObservedAt), now, deadline, payload, nullable(r.out.TaskID), nullable(r.out.WorkflowID),
	}
	return nil
}

// sensorRows lays out the events of intakes.
func sensorRows(list []Intake, tasks []intakeTasks, now int64) ([]sensorRow, error) {
	var rows []sensorRow
	for i := range list {
		if list[i].Sensor == nil {
			continue
		}
		r := sensorRow{of: i}
		if err := r.fill(list[i].Sensor, tasks[i].rows, now); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// takeEvents records events unless they were seen before. tried says that something was in their way a moment ago.
func takeEvents(ctx context.Context, t tx, w *intakeWriter, rows []sensorRow, out []IntakeResult, tried bool) error {
	for len(rows) > 0 {
		n := width(len(rows))
		if !tried {
			if err := insertEvents(ctx, t, rows[:n]); err != nil {
				return err
			}
		}
		for i := range rows[:n] {
			r := &rows[i]
			if r.out.Seq == 0 {
				if err := takeEvent(ctx, t, w, r); err != nil {
					return err
				}
			}
			if !r.out.Deduped {
				if err := recordEvent(w, r.event, r.out); err != nil {
					return err
				}
			}
			out[r.of].Sensor = r.out
		}
		rows = rows[n:]
	}
	return nil
}

// insertEvents inserts the rows that are new, and only those get a Seq. The two unique indexes decide between two that try at once.
func insertEvents(ctx context.Context, t tx, rows []sensorRow) error {
	args := make([]any, 0, len(rows)*len(rows[0].args))
	for i := range rows {
		args = append(args, rows[i].args...)
	}
	insert := `INSERT INTO sensor_events (` + sensorColumnsIn + `) VALUES ` + t.values(len(rows), len(rows[0].args)) + ` ON CONFLICT DO NOTHING`
	c, ok := t.(rowCounter)
	if !ok {
		return numberEvents(ctx, t, rows, insert+` RETURNING seq, same`, args...)
	}
	first, n, err := c.insertRows(ctx, insert, args...)
	switch {
	case err != nil || n == 0:
		return err
	case n < len(rows):
		return numberEvents(ctx, t, rows, `SELECT seq, same FROM sensor_events WHERE seq >= $1 ORDER BY seq`, first)
	}
	for i := range rows {
		rows[i].out.Seq = first + int64(i)
	}
	return nil
}

// numberEvents gives the rows that a query names their Seq.
func numberEvents(ctx context.Context, t tx, rows []sensorRow, q string, args ...any) error {
	of := make(map[string]*sensorRow, len(rows))
	for i := range rows {
		if r := &rows[i]; of[r.same] == nil { // a second one repeats the first
			of[r.same] = r
		}
	}
	got, err := t.query(ctx, q, args...)
	if err != nil {
		return err
	}
	return eachRow(got, func() error {
		var seq int64
		var same string
		if err := got.Scan(&seq, &same); err != nil {
			return err
		}
		of[same].out.Seq = seq
		return nil
	})
}

// takeEvent finds what an event repeats, or inserts it when the key that was in its way is free now.
func takeEvent(ctx context.Context, t tx, w *intakeWriter, r *sensorRow) error {
	for range 10 {
		old, ok, err := repeated(ctx, t, w, r.same, r.held)
		if err != nil {
			return err
		}
		if ok {
			r.out = old
			return nil
		}
		one := []sensorRow{*r}
		if err := insertEvents(ctx, t, one); err != nil {
			return err
		}
		if r.out.Seq = one[0].out.Seq; r.out.Seq != 0 {
			return nil
		}
	}
	return fmt.Errorf("dedupe key %q of sensor %s changes hands too fast: %w", r.event.DedupeKey, r.event.SensorID, ErrBusy)
}

// repeated finds the event that is there already and counts the repetition. A key whose window is over is given free, and
// then it finds nothing.
func repeated(ctx context.Context, t tx, w *intakeWriter, same string, held any) (SensorTaken, bool, error) {
	var (
		old                     = SensorTaken{Deduped: true}
		sensor, event, key, was string
		task, workflow          *string
		expires                 *int64
		repeats                 int64
	)
	err := t.row(ctx, `SELECT seq, sensor_id, event_id, dedupe_key, same, task_id, workflow_id, expires_at, repeats FROM sensor_events
		WHERE same = $1`, same).Scan(&old.Seq, &sensor, &event, &key, &was, &task, &workflow, &expires, &repeats)
	if errors.Is(err, sql.ErrNoRows) && held != nil {
		err = t.row(ctx, `SELECT seq, sensor_id, event_id, dedupe_key, same, task_id, workflow_id, expires_at, repeats FROM sensor_events
			WHERE held = $1 AND held IS NOT NULL`, held).Scan(&old.Seq, &sensor, &event, &key, &was, &task, &workflow, &expires, &repeats)
	}
	if errors.Is(err, sql.ErrNoRows) { // it was given free between the two statements (PostgreSQL only)
		return old, false, nil
	}
	if err != nil {
		return old, false, err
	}
	if was != same && expires != nil && *expires <= w.now {
		_, err := t.exec(ctx, `UPDATE sensor_events SET held = NULL WHERE seq = $1 AND expires_at <= $2`, old.Seq, w.now)
		return old, false, err
	}
	old.TaskID, old.WorkflowID = str(task), str(workflow)
	if _, err := t.exec(ctx, `UPDATE sensor_events SET repeats = repeats + 1 WHERE seq = $1`, old.Seq); err != nil {
		return old, false, err
	}
	if repeats > 0 { // said once: a sensor that tells the same again and again fills no log
		return old, true, nil
	}
	return old, true, appendSensorEvent(&w.before, agentruntime.EventSensorEventDeduped, old.TaskID, map[string]any{
		"sensor_id": sensor, "event_id": event, "dedupe_key": key, "sensor_event": old.Seq, "workflow_id": old.WorkflowID,
	})
}

func appendSensorEvent(to *[]eventRow, event agentruntime.RuntimeEvent, taskID string, detail any) error {
	text, err := encode(detail)
	*to = append(*to, eventRow{string(event), taskID, text})
	return err
}

// A sensorDetail is what is said of an event, or of what follows from it.
type sensorDetail struct {
	DedupeKey   string `json:"dedupe_key,omitempty"`
	Dropped     string `json:"dropped,omitempty"`
	EventID     string `json:"event_id"`
	SensorEvent int64  `json:"sensor_event,omitempty"`
	SensorID    string `json:"sensor_id"`
	WorkflowID  string `json:"workflow_id,omitempty"`
}

// recorded is what is said of an event that was recorded.
func (e *NewSensorEvent) recorded() sensorDetail {
	return sensorDetail{SensorID: e.SensorID, EventID: e.EventID, DedupeKey: e.DedupeKey, Dropped: clean(e.Late)}
}

// followed is what is said of what follows from an event.
func (e *NewSensorEvent) followed() sensorDetail {
	return sensorDetail{SensorID: e.SensorID, EventID: e.EventID}
}

func recordEvent(w *intakeWriter, e *NewSensorEvent, out SensorTaken) error {
	detail := e.recorded()
	detail.SensorEvent = out.Seq
	return appendSensorEvent(&w.before, agentruntime.EventSensorEventRecorded, "", detail)
}

// sensorFollowed records what an event led to, and puts right what only the transaction could know.
func sensorFollowed(ctx context.Context, t tx, w *intakeWriter, in Intake, out IntakeResult) error {
	e := in.Sensor
	task, workflow := out.Sensor.TaskID, out.Sensor.WorkflowID
	say := func(event agentruntime.RuntimeEvent, taskID string) error {
		detail := e.followed()
		detail.SensorEvent, detail.WorkflowID = out.Sensor.Seq, workflow
		return appendSensorEvent(&w.after, event, taskID, detail)
	}
	if len(out.Tasks) > 0 {
		task = out.Tasks[0].TaskID
		if !out.Tasks[0].Deduped {
			if err := say(agentruntime.EventSensorTaskCreated, task); err != nil {
				return err
			}
		}
	}
	if in.Start != nil {
		workflow = out.Started.WorkflowID
	}
	if in.Move != nil {
		workflow = in.Move.WorkflowID
	}
	switch {
	case in.Start != nil && !out.Started.Deduped:
		if err := say(agentruntime.EventSensorWorkflowCreated, out.Started.TaskID); err != nil {
			return err
		}
	case e.Wakes:
		if err := say(agentruntime.EventSensorWorkflowDeduped, out.MovedTaskID); err != nil {
			return err
		}
	}
	if task == out.Sensor.TaskID && workflow == out.Sensor.WorkflowID {
		return nil
	}
	_, err := t.exec(ctx, `UPDATE sensor_events SET task_id = $1, workflow_id = $2 WHERE seq = $3`, nullable(task), nullable(workflow), out.Sensor.Seq)
	return err
}

// sensorCounts is what one transaction adds to the counters of sensors.
type sensorCounts map[string]*sensorCount

type sensorCount struct{ accepted, deduped, late, at int64 }

func (c *sensorCounts) count(e NewSensorEvent, out SensorTaken, now int64) {
	if *c == nil {
		*c = sensorCounts{}
	}
	n := (*c)[e.SensorID]
	if n == nil {
		n = &sensorCount{}
		(*c)[e.SensorID] = n
	}
	switch {
	case out.Deduped:
		n.deduped++
	case e.Late != "":
		n.late++
	default:
		n.accepted++
	}
	n.at = now
}

// add writes the counts, in the order of the ids, so that two transactions cannot wait for each other. It refuses everything
// when one of the sensors is disabled.
func (c *sensorCounts) add(ctx context.Context, t tx) error {
	for _, id := range slices.Sorted(maps.Keys(*c)) {
		n := (*c)[id]
		var disabled int64
		err := t.row(ctx, `INSERT INTO sensors (id, accepted, deduped, late, event_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET accepted = sensors.accepted + excluded.accepted, deduped = sensors.deduped + excluded.deduped,
			late = sensors.late + excluded.late, event_at = excluded.event_at RETURNING disabled`,
			id, n.accepted, n.deduped, n.late, n.at).Scan(&disabled)
		if err != nil {
			return err
		}
		if disabled != 0 {
			return fmt.Errorf("sensor %s: %w", id, ErrDisabled)
		}
	}
	return nil
}
