package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// An Intake is what one cause brings into the store: all of it, in one transaction, or nothing.
type Intake struct {
	Sensor *NewSensorEvent // what a sensor saw; when it was seen before, or came too late, nothing else is taken
	Events []Event         // recorded first, in their order
	Tasks  []NewTask       // then these
	Start  *NewWorkflow    // then a workflow that starts
	Move   *WorkflowMove   // or a step of one that lives
}

// An IntakeResult says what became of an Intake.
type IntakeResult struct {
	Sensor      SensorTaken
	Tasks       []Enqueued
	Started     Started
	MovedTaskID string // the task of the visit that the move began, or of the one that it left as it was
}

// TakeIn stores an intake. It returns ErrStale, and changes nothing, when the workflow of its move is not as the maker of the
// move saw it.
func (s *Store) TakeIn(ctx context.Context, in Intake) (IntakeResult, error) {
	out, err := s.TakeAll(ctx, in)
	if err != nil {
		return IntakeResult{}, fmt.Errorf("take in: %w", err)
	}
	return out[0], nil
}

// TakeAll stores several intakes in one transaction: all or none.
func (s *Store) TakeAll(ctx context.Context, list ...Intake) ([]IntakeResult, error) {
	return s.takeAll(ctx, list, nil)
}

// takeAll takes intakes and then does what else belongs to the same transaction.
func (s *Store) takeAll(ctx context.Context, list []Intake, more func(context.Context, tx) error) ([]IntakeResult, error) {
	out := make([]IntakeResult, len(list))
	tried := false
	if len(list) == 1 && more == nil {
		var done bool
		var err error
		if done, tried, err = s.takeSingle(ctx, &list[0], &out[0]); done || err != nil {
			return out, err
		}
	}
	moves := false
	for i := range list {
		moves = moves || list[i].Move != nil
	}
	var err error
	for range 3 { // a start may meet an instance that ends at the same moment
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			out = make([]IntakeResult, len(list))
			var counts sensorCounts
			if err := s.takeInAll(ctx, t, list, out, &counts, tried); err != nil {
				return err
			}
			if err := counts.add(ctx, t); err != nil || more == nil {
				return err
			}
			return more(ctx, t)
		})
		if moves || more != nil || !errors.Is(err, ErrStale) {
			break
		}
	}
	return out, err
}

// takeInAll records what sensors saw first; then each intake has what follows from it. What can wait until the end is written
// together there. tried says that takeSingle was tried already.
func (s *Store) takeInAll(ctx context.Context, t tx, list []Intake, out []IntakeResult, counts *sensorCounts, tried bool) error {
	w := &intakeWriter{now: micros(s.now())}
	tasks := make([]intakeTasks, len(list))
	for i := range list {
		var err error
		if tasks[i], err = s.intakeTasks(&list[i]); err != nil {
			return err
		}
	}
	rows, err := sensorRows(list, tasks, w.now)
	if err != nil {
		return err
	}
	if !tried {
		if tried, err = takeFresh(ctx, t, list, tasks, rows); err != nil {
			return err
		}
	}
	whole := make([]bool, len(list))
	rest := rows[:0]
	for _, r := range rows {
		if r.out.Seq == 0 {
			rest = append(rest, r)
			continue
		}
		whole[r.of] = true
		r.give(&out[r.of])
	}
	if err := takeEvents(ctx, t, w, rest, out, tried); err != nil {
		return err
	}
	for i := range list {
		if whole[i] {
			continue
		}
		if e := list[i].Sensor; e != nil {
			counts.count(*e, out[i].Sensor, w.now)
			if out[i].Sensor.Deduped || e.Late != "" {
				continue
			}
		}
		if err := s.takeIn(ctx, t, w, list[i], tasks[i], &out[i]); err != nil {
			return err
		}
	}
	return w.flush(ctx, t)
}

// intakeTasks are the tasks of one intake, laid out.
type intakeTasks struct {
	rows  []taskRow
	out   []Enqueued
	keyed bool
}

func (s *Store) intakeTasks(in *Intake) (x intakeTasks, err error) {
	if len(in.Tasks) > 0 {
		x.rows, x.out, x.keyed, err = s.taskRows(in.Tasks)
	}
	return x, err
}

func (s *Store) takeIn(ctx context.Context, t tx, w *intakeWriter, in Intake, tasks intakeTasks, out *IntakeResult) error {
	if len(in.Events) > 0 || tasks.keyed || in.Start != nil || in.Move != nil { // they are written here and now, after what came before
		if err := w.flush(ctx, t); err != nil {
			return err
		}
	}
	for i := range in.Events {
		if err := s.appendOne(ctx, t, in.Events[i], Ref{}); err != nil {
			return err
		}
	}
	if len(tasks.rows) > 0 {
		fresh := tasks.rows
		if tasks.keyed {
			var err error
			if fresh, err = s.takeKeys(ctx, t, tasks.rows, tasks.out); err != nil {
				return err
			}
		}
		w.tasks = append(w.tasks, fresh...)
		out.Tasks = tasks.out
	}
	if in.Start != nil || in.Move != nil {
		if err := w.flush(ctx, t); err != nil {
			return err
		}
	}
	if in.Start != nil {
		var err error
		if out.Started, err = s.startWorkflow(ctx, t, *in.Start, w.now); err != nil {
			return err
		}
	}
	if in.Move != nil {
		flow, err := lockWorkflow(ctx, t, in.Move.WorkflowID)
		if err != nil {
			return err
		}
		if out.MovedTaskID, err = s.moveWorkflow(ctx, t, flow, *in.Move, w.now); err != nil {
			return err
		}
	}
	if in.Sensor != nil {
		return sensorFollowed(ctx, t, w, in, *out)
	}
	return nil
}

// An intakeWriter gathers what a transaction writes at its end in a few statements: what was seen, then tasks, then what is said
// of them.
type intakeWriter struct {
	now           int64
	before, after []eventRow
	tasks         []taskRow
}

// An eventRow is an event that is about to be written.
type eventRow struct {
	typ, taskID, detail string
}

func (w *intakeWriter) flush(ctx context.Context, t tx) error {
	if err := w.events(ctx, t, w.before); err != nil {
		return err
	}
	if len(w.tasks) > 0 {
		if err := t.insertTasks(ctx, w.tasks); err != nil {
			return err
		}
		if err := t.notify(ctx); err != nil {
			return err
		}
	}
	if err := w.events(ctx, t, w.after); err != nil {
		return err
	}
	w.before, w.tasks, w.after = nil, nil, nil
	return nil
}

// width is how many of so many rows one statement inserts: few texts, which are compiled once.
func width(rows int) int {
	for _, n := range []int{100, 25} {
		if rows >= n {
			return n
		}
	}
	return 1
}

func (w *intakeWriter) events(ctx context.Context, t tx, list []eventRow) error {
	for len(list) > 0 {
		n := width(len(list))
		var args []any
		for _, e := range list[:n] {
			args = append(args, e.typ, w.now, nullable(e.taskID), e.detail)
		}
		if _, err := t.exec(ctx, `INSERT INTO events (type, at, task_id, detail) VALUES `+t.values(n, 4), args...); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// A shape is the size of the rows of parameters of a statement.
type shape struct{ rows, columns int }

// A shapes keeps the texts of rows of parameters: there are few, and making one costs more than inserting with it.
type shapes struct{ sync.Map }

func (m *shapes) text(s shape, parameter func(i int) string) string {
	if text, ok := m.Load(s); ok {
		return text.(string)
	}
	var b strings.Builder
	for i := range s.rows * s.columns {
		switch {
		case i == 0:
			b.WriteByte('(')
		case i%s.columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteString(parameter(i + 1))
	}
	b.WriteByte(')')
	m.Store(s, b.String())
	return b.String()
}
