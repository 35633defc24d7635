package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// The events about a sensor itself.
const (
	EventSensorEnabled  = "sensor_enabled"
	EventSensorDisabled = "sensor_disabled"
)

// A Sensor is what the store knows of a sensor: what it brought, how it fares, and what it has seen.
type Sensor struct {
	ID       string
	Disabled bool
	Cursor   json.RawMessage // its own; nil: none
	Version  int64           // grows with every change of the cursor; 0: there was none

	Accepted, Deduped, Late, Malformed int64

	Failures  int       // in a row
	Since     time.Time // when they began; zero: it does not fail
	OKAt      time.Time // the newest run known to have gone well; zero: none
	FailedAt  time.Time // the newest that failed
	EventAt   time.Time // when it brought something last
	LastError string    // of a run or of an event
	ActionID  string    // what a person is asked about it
	Damaged
}

const sensorColumns = `id, disabled, cursor, version, accepted, deduped, late, malformed, failures, since, ok_at, failed_at, event_at,
	last_error, action_id`

func scanSensor(row scanner) (Sensor, error) {
	var (
		x                     Sensor
		cursor, action        *string
		disabled              int64
		since, ok, bad, event *int64
	)
	err := row.Scan(&x.ID, &disabled, &cursor, &x.Version, &x.Accepted, &x.Deduped, &x.Late, &x.Malformed, &x.Failures, &since, &ok, &bad,
		&event, &x.LastError, &action)
	if err != nil {
		return x, err
	}
	x.Disabled, x.ActionID = disabled != 0, str(action)
	if cursor != nil {
		x.Cursor = json.RawMessage(*cursor)
	}
	for to, us := range map[*time.Time]*int64{&x.Since: since, &x.OKAt: ok, &x.FailedAt: bad, &x.EventAt: event} {
		if us != nil {
			*to = fromMicros(*us)
		}
	}
	return x, nil
}

// Sensor returns what is known of a sensor, or ErrNotFound.
func (s *Store) Sensor(ctx context.Context, id string) (Sensor, error) {
	x, err := scanSensor(s.eng.read().row(ctx, `SELECT `+sensorColumns+` FROM sensors WHERE id = $1`, clean(id)))
	if err != nil {
		return x, missing("sensor", id, err)
	}
	return x, nil
}

// Sensors returns all that is known of sensors, by id.
func (s *Store) Sensors(ctx context.Context) ([]Sensor, error) {
	return every(ctx, s.eng.read(), "sensors", shown(scanSensor), `SELECT `+sensorColumns+` FROM sensors ORDER BY id`)
}

// A SensorRun is what one run of a sensor brings, in one transaction: its events with what follows from them, and what it has
// seen now.
type SensorRun struct {
	SensorID  string
	Intakes   []Intake
	Cursor    json.RawMessage // nil: unchanged
	Version   int64           // of the cursor that the run began with
	OK        bool            // it succeeded: a series of failures ends, and no person has to look at it any more
	Malformed int             // events that were refused
	Deduped   int             // repetitions that were not worth an intake
	LastError string          // about those that were refused
}

// TakeRun stores a run of a sensor. It returns ErrStale, and changes nothing, if another writer moved the sensor's cursor.
func (s *Store) TakeRun(ctx context.Context, r SensorRun) ([]IntakeResult, error) {
	cursor, err := rawJSON("cursor", r.Cursor)
	if err != nil {
		return nil, fmt.Errorf("sensor %s: %w", r.SensorID, err)
	}
	if r.SensorID == "" || clean(r.SensorID) != r.SensorID {
		return nil, fmt.Errorf("take run: %w", invalid("sensor_id %q is empty or no text", r.SensorID))
	}
	out, err := s.takeAll(ctx, r.Intakes, func(ctx context.Context, t tx) error { return s.ranWell(ctx, t, r, cursor) })
	if err != nil {
		return nil, fmt.Errorf("sensor %s: %w", r.SensorID, err)
	}
	return out, nil
}

func (s *Store) ranWell(ctx context.Context, t tx, r SensorRun, cursor any) error {
	now := micros(s.now())
	known, err := updateSensor(ctx, t, r, cursor, now)
	if err != nil {
		return err
	}
	if !known {
		res, err := t.exec(ctx, newSensor, r.SensorID)
		if err != nil {
			return err
		}
		if made, err := res.RowsAffected(); err != nil || made == 0 {
			return errors.Join(ErrStale, err) // it was there, with another version of the cursor
		}
		if known, err = updateSensor(ctx, t, r, cursor, now); err != nil || !known {
			return errors.Join(ErrStale, err)
		}
	}
	if !r.OK {
		return nil
	}
	return dismissOwned(ctx, t, sensorOwner(r.SensorID), dismissedByEnd, now)
}

// updateSensor writes what a run says of its sensor, and reports whether there is one with the version of its cursor.
func updateSensor(ctx context.Context, t tx, r SensorRun, cursor any, now int64) (bool, error) {
	flag := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	res, err := t.exec(ctx, `UPDATE sensors SET cursor = COALESCE($1, cursor), version = version + $2,
		malformed = malformed + $3, deduped = deduped + $4, last_error = CASE WHEN $5 = 1 THEN $6 ELSE last_error END,
		failures = CASE WHEN $7 = 1 THEN 0 ELSE failures END, since = CASE WHEN $7 = 1 THEN NULL ELSE since END,
		ok_at = CASE WHEN $7 = 1 THEN $8 ELSE ok_at END, action_id = CASE WHEN $7 = 1 THEN NULL ELSE action_id END
		WHERE id = $9 AND ($2 = 0 OR version = $10)`,
		cursor, flag(cursor != nil), r.Malformed, r.Deduped, flag(r.Malformed > 0 || r.Deduped > 0 || r.LastError != ""), clean(r.LastError),
		flag(r.OK), now, r.SensorID, r.Version)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// SensorMalformed counts events that were refused.
func (s *Store) SensorMalformed(ctx context.Context, id string, n int, why string) error {
	_, err := s.TakeRun(ctx, SensorRun{SensorID: id, Malformed: n, LastError: why})
	return err
}

const newSensor = `INSERT INTO sensors (id) VALUES ($1) ON CONFLICT (id) DO NOTHING`

func putSensor(ctx context.Context, t tx, id string) error {
	_, err := t.exec(ctx, newSensor, id)
	return err
}

// SensorFailed records a run that failed and returns how the sensor fares. When it has failed for as long as patience, and at
// least three times, the question that ask returns is opened, once.
func (s *Store) SensorFailed(ctx context.Context, id, why string, patience time.Duration, ask func(Sensor) NewAction) (Sensor, error) {
	var x Sensor
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		now := micros(s.now())
		if err := putSensor(ctx, t, id); err != nil {
			return err
		}
		var err error
		x, err = scanSensor(t.row(ctx, `UPDATE sensors SET failures = failures + 1, since = COALESCE(since, $1), failed_at = $1, last_error = $2
			WHERE id = $3 RETURNING `+sensorColumns, now, clean(why), id))
		if err != nil {
			return err
		}
		if ask == nil || x.ActionID != "" || x.Failures < 3 || fromMicros(now).Sub(x.Since) < patience {
			return nil
		}
		if x.ActionID, err = openOwned(ctx, t, sensorOwner(id), ask(x), now); err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE sensors SET action_id = $1 WHERE id = $2`, x.ActionID, id)
		return err
	})
	if err != nil {
		return Sensor{}, fmt.Errorf("sensor %s: %w", id, err)
	}
	return x, nil
}

// answeredSensor applies a person's answer to a question about a sensor: its count of failures in a row is reset, so that the
// question comes again if the sensor keeps failing.
func answeredSensor(ctx context.Context, t tx, id, action string) error {
	_, err := t.exec(ctx, `UPDATE sensors SET failures = 0, since = NULL, action_id = NULL WHERE id = $1 AND action_id = $2`, id, action)
	return err
}

// EnableSensor switches a sensor on or off, and reports whether that changed anything. Nothing is taken from one that is off.
func (s *Store) EnableSensor(ctx context.Context, id string, on bool, by string) (changed bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		now := micros(s.now())
		if err := putSensor(ctx, t, id); err != nil {
			return err
		}
		off, event := 1, EventSensorDisabled
		if on {
			off, event = 0, EventSensorEnabled
		}
		res, err := t.exec(ctx, `UPDATE sensors SET disabled = $1, failures = 0, since = NULL, action_id = NULL WHERE id = $2 AND disabled <> $1`, off, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if changed = n > 0; err != nil || !changed {
			return err
		}
		if err := dismissOwned(ctx, t, sensorOwner(id), by, now); err != nil {
			return err
		}
		text, err := encode(map[string]any{"sensor_id": id, "by": clean(by)})
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, event, now, "", "", text); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return false, fmt.Errorf("sensor %s: %w", id, err)
	}
	return changed, nil
}

// A SensorFilter selects sensor events. The zero value selects the newest of all sensors.
type SensorFilter struct {
	SensorID string
	Limit    int   // 0: 100
	Before   int64 // only older ones; 0: all
}

const eventColumns = `seq, sensor_id, event_id, source_ref, dedupe_key, state, reason, observed_at, received_at, deadline, payload, task_id,
	workflow_id, repeats`

// SensorEvents returns the events of the selection, newest first.
func (s *Store) SensorEvents(ctx context.Context, f SensorFilter) ([]SensorEvent, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	if f.Before <= 0 {
		f.Before = math.MaxInt64
	}
	q, args := `SELECT `+eventColumns+` FROM sensor_events WHERE seq < $2`, []any{f.Limit, f.Before}
	if f.SensorID != "" {
		q, args = q+` AND sensor_id = $3`, append(args, f.SensorID)
	}
	q += ` ORDER BY seq DESC LIMIT $1`
	return every(ctx, s.eng.read(), "sensor events", shown(scanSensorEvent), q, args...)
}

func scanSensorEvent(row scanner) (SensorEvent, error) {
	var (
		e                       SensorEvent
		observed, received      int64
		deadline                *int64
		payload, task, workflow *string
	)
	err := row.Scan(&e.Seq, &e.SensorID, &e.EventID, &e.SourceRef, &e.DedupeKey, &e.State, &e.Reason, &observed, &received, &deadline,
		&payload, &task, &workflow, &e.Repeats)
	e.ObservedAt, e.ReceivedAt, e.TaskID, e.WorkflowID = fromMicros(observed), fromMicros(received), str(task), str(workflow)
	if deadline != nil {
		e.Deadline = fromMicros(*deadline)
	}
	if payload != nil {
		e.Payload = json.RawMessage(*payload)
	}
	return e, err
}

// ForgetSensorEvents deletes events that were received before an instant, oldest first and at most limit, and returns how many. One
// whose task has not ended stays, and one whose key is held by a window that is not over.
func (s *Store) ForgetSensorEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	const old = `FROM sensor_events e WHERE received_at < $1 AND (expires_at IS NULL OR expires_at <= $2) AND NOT EXISTS (SELECT 1 FROM tasks t
		WHERE t.id = e.task_id AND t.status IN ('pending', 'running', 'retryable_failure', 'blocked')) ORDER BY received_at, seq LIMIT $3`
	now := micros(s.now())
	var seq int64 // a sweep that has nothing to do writes nothing
	err := s.eng.read().row(ctx, `SELECT seq `+old, micros(before), now, 1).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	var n int64
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			res, err := t.exec(ctx, `DELETE FROM sensor_events WHERE seq `+inSet+`SELECT seq `+old+endSet, micros(before), now, limit)
			if err != nil {
				return err
			}
			n, err = res.RowsAffected()
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("forget sensor events: %w", classify(err))
	}
	return int(n), nil
}

// Health is how a sensor fares, in a word.
func (x Sensor) Health() string {
	switch {
	case x.Disabled:
		return "disabled"
	case x.ActionID != "":
		return "unhealthy"
	case x.Failures > 0:
		return "failing"
	case x.OKAt.IsZero() && x.EventAt.IsZero():
		return "new"
	}
	return "ok"
}
