package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A freshTaker is a conn that takes events and what follows from them in one statement. It is for an engine where each statement is a
// round trip.
type freshTaker interface {
	// takeFresh stores the rows that are not in the store yet, each with its task, the events about both, and the counters
	// of the sensors. Those get their Seq; the others are left as they were, and so are all rows of a sensor that is disabled.
	takeFresh(ctx context.Context, rows []sensorRow) error
}

// A rowCounter is a tx that says which rows a statement has inserted without being asked for each. A row that comes back costs as
// much as one that is inserted.
type rowCounter interface {
	// insertRows returns the number of the first row that is new, and how many are; they are numbered in their order.
	insertRows(ctx context.Context, q string, args ...any) (first int64, n int, err error)
}

// plain reports whether an intake is an event with at most one task, and nothing of it depends on what else is in the store.
func (in *Intake) plain(tasks intakeTasks) bool {
	return in.Sensor != nil && in.Sensor.WorkflowID == "" && !in.Sensor.Wakes &&
		len(in.Events) == 0 && len(tasks.rows) <= 1 && !tasks.keyed && in.Start == nil && in.Move == nil
}

// takeSingle takes a single plain intake in a transaction of its own. If done is false, nothing has changed; tried says that something
// prevented it.
func (s *Store) takeSingle(ctx context.Context, in *Intake, out *IntakeResult) (done, tried bool, err error) {
	f, ok := s.eng.read().(freshTaker)
	if !ok || !standsAlone(ctx) {
		return false, false, nil
	}
	tasks, err := s.intakeTasks(in)
	if err != nil || !in.plain(tasks) {
		return false, false, err
	}
	rows, err := sensorRows([]Intake{*in}, []intakeTasks{tasks}, micros(s.now()))
	if err != nil {
		return false, false, err
	}
	if err := f.takeFresh(ctx, rows); err != nil {
		if transient(err) { // the transaction that follows tries again
			return false, true, nil
		}
		return false, true, classify(err)
	}
	if rows[0].out.Seq == 0 {
		return false, true, nil
	}
	rows[0].give(out)
	return true, true, s.commits.tell(nil)
}

// takeFresh takes the rows of plain intakes that are not in the store yet, and reports whether the engine has a statement for it. A mixed
// list is taken in its order instead.
func takeFresh(ctx context.Context, t tx, list []Intake, tasks []intakeTasks, rows []sensorRow) (bool, error) {
	f, ok := t.(freshTaker)
	if !ok || len(rows) == 0 {
		return false, nil
	}
	for i := range list {
		if !list[i].plain(tasks[i]) {
			return false, nil
		}
	}
	return true, f.takeFresh(ctx, rows)
}

// give tells the intake of a row what became of it, when that was all of it.
func (r *sensorRow) give(out *IntakeResult) {
	out.Sensor = r.out
	if r.event.Late == "" && r.task != nil {
		out.Tasks = []Enqueued{{TaskID: r.task.id}}
	}
}

// The parameters of pgFresh are arrays, one for each of these columns. The first are those of the event, the last those of its
// task, NULL where it has none; said and made are the details of the events about them, which get the number of the event here.
const (
	pgFreshEvent = `sensor_id text, event_id text, source_ref text, event_key text, same text, held text, expires_at bigint, state text, reason text,
		observed_at bigint, received_at bigint, deadline bigint, event_payload text, event_task text, workflow_id text`
	pgFreshTask = `id text, task_type text, status text, lane int, rank bigint, priority bigint, available_at bigint, created_at bigint,
		updated_at bigint, max_attempts int, profile_id text, adapter_id text, model text, dedupe_key text, intent text, payload text`
	pgFreshColumns = pgFreshEvent + `, said text, made text, big boolean, ` + pgFreshTask
)

func (c pgConn) takeFresh(ctx context.Context, rows []sensorRow) error {
	var list [][]any
	of := map[string]*sensorRow{}
	bodies := 0
	for i := range rows {
		r := &rows[i]
		if of[r.same] != nil {
			continue // it repeats the first
		}
		of[r.same] = r
		args, err := r.freshArgs()
		if err != nil {
			return err
		}
		if list = append(list, args); r.task != nil && r.task.big() {
			bodies = 1
		}
	}
	got, err := c.query(ctx, pgFresh()[bodies], pgColumns(list)...)
	if err != nil {
		return err
	}
	return eachRow(got, func() error {
		var seq int64
		var same string
		var woken *string
		err := got.Scan(&seq, &same, &woken)
		if err == nil {
			of[same].out.Seq = seq
		}
		return err
	})
}

// freshArgs are the parameters of a row, in the order of pgFreshColumns.
func (r *sensorRow) freshArgs() ([]any, error) {
	said, err := encode(r.event.recorded())
	if err != nil {
		return nil, err
	}
	made, err := encode(r.event.followed())
	if err != nil {
		return nil, err
	}
	t := r.task
	args := append(slices.Clone(r.args), said, made, t != nil && t.big())
	if t == nil {
		return append(args, make([]any, taskInsertColumns)...), nil
	}
	args = t.appendArgs(args)
	args[len(args)-2], args[len(args)-1] = t.intent, t.payload // also those that do not stay in the row
	return args, nil
}

// pgColumns turns rows into arrays.
func pgColumns(list [][]any) []any {
	columns := make([]any, len(pgFreshTypes()))
	for j, typ := range pgFreshTypes() {
		switch typ {
		case "text":
			columns[j] = pgColumn[string](list, j)
		case "boolean":
			columns[j] = pgColumn[bool](list, j)
		case "int":
			columns[j] = pgColumn[int](list, j)
		default:
			columns[j] = pgColumn[int64](list, j)
		}
	}
	return columns
}

func pgColumn[T any](list [][]any, j int) []*T {
	out := make([]*T, len(list))
	for i := range list {
		if v, ok := list[i][j].(T); ok {
			out[i] = &v
		}
	}
	return out
}

// pgFreshTypes are the types of pgFreshColumns.
var pgFreshTypes = sync.OnceValue(func() (types []string) {
	for _, c := range strings.Split(pgFreshColumns, ",") {
		types = append(types, strings.Fields(c)[1])
	}
	return types
})

// pgFreshUnnest is the source of the rows.
func pgFreshUnnest() string {
	var arrays, names []string
	for i, c := range strings.Split(pgFreshColumns, ",") {
		arrays = append(arrays, "$"+strconv.Itoa(i+1)+"::"+pgFreshTypes()[i]+"[]")
		names = append(names, strings.Fields(c)[0])
	}
	return `unnest(` + strings.Join(arrays, ", ") + `) WITH ORDINALITY AS u(` + strings.Join(names, ", ") + `, n)`
}

// pgFresh decides by the unique indexes alone: what the first insert returns is new, and everything else follows from it. The
// events are numbered as if each step were a statement of its own: what was seen, then the tasks, then what was made of what.
//
// A sensor that is switched off while the statement runs is switched off after it.
var pgFresh = sync.OnceValue(func() [2]string {
	return [2]string{pgFreshText(""), pgFreshText(`, b AS (
	INSERT INTO task_bodies (task_id, intent, payload) SELECT id, intent, payload FROM f WHERE big
)`)} // the second where one of them has a big task
})

func pgFreshText(bodies string) string {
	return `WITH u AS MATERIALIZED (
	SELECT * FROM ` + pgFreshUnnest() + `
	WHERE sensor_id NOT IN (SELECT id FROM sensors WHERE disabled <> 0)
), s AS (
	INSERT INTO sensor_events (` + sensorColumnsIn + `)
	SELECT sensor_id, event_id, source_ref, event_key, same, held, expires_at, state, reason, observed_at, received_at,
		deadline, event_payload, event_task, workflow_id FROM u ORDER BY n
	ON CONFLICT DO NOTHING RETURNING seq, same
), f AS MATERIALIZED (
	SELECT s.seq AS event, u.* FROM u JOIN s USING (same)
), t AS (
	INSERT INTO tasks (` + taskInsertNames + `)
	SELECT id, task_type, status, lane, rank, priority, available_at, created_at, updated_at, max_attempts,
		profile_id, adapter_id, model, dedupe_key, CASE WHEN NOT big THEN intent END, CASE WHEN NOT big THEN payload END
	FROM f WHERE id IS NOT NULL ORDER BY n
)` + bodies + `, e AS (
	INSERT INTO events (type, at, task_id, detail)
	SELECT x.type, x.at, x.task_id, left(x.detail, -1) || ',"sensor_event":' || f.event || '}'
	FROM f CROSS JOIN LATERAL (VALUES
		(1, '` + string(agentruntime.EventSensorEventRecorded) + `', f.received_at, NULL, f.said),
		(2, '` + string(agentruntime.EventTaskEnqueued) + `', f.created_at, f.id, NULL),
		(3, '` + string(agentruntime.EventSensorTaskCreated) + `', f.received_at, f.id, f.made)) AS x(step, type, at, task_id, detail)
	WHERE x.step = 1 OR f.id IS NOT NULL
	ORDER BY x.step, f.n
), c AS (
	INSERT INTO sensors (id, accepted, late, event_at)
	SELECT sensor_id, count(*) FILTER (WHERE state = '` + SensorAccepted + `'), count(*) FILTER (WHERE state = '` + SensorLate + `'), max(received_at)
	FROM f GROUP BY sensor_id ORDER BY sensor_id
	ON CONFLICT (id) DO UPDATE SET accepted = sensors.accepted + excluded.accepted, late = sensors.late + excluded.late, event_at = excluded.event_at
)
SELECT event, same, CASE WHEN id IS NOT NULL THEN pg_notify('` + wakeChannel + `', '') END::text FROM f`
}
