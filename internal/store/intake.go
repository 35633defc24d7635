package store

import (
	"context"
	"errors"
	"fmt"
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
	moves := false
	for i := range list {
		moves = moves || list[i].Move != nil
	}
	var out []IntakeResult
	var err error
	for range 3 { // a start may meet an instance that ends at the same moment
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			out = make([]IntakeResult, len(list))
			var counts sensorCounts
			for i := range list {
				if err := s.takeIn(ctx, t, list[i], &out[i], &counts); err != nil {
					return err
				}
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

func (s *Store) takeIn(ctx context.Context, t tx, in Intake, out *IntakeResult, counts *sensorCounts) error {
	now := micros(s.now())
	var (
		rows []taskRow
		list []Enqueued
	)
	if len(in.Tasks) > 0 {
		var err error
		if rows, list, _, err = s.taskRows(in.Tasks); err != nil {
			return err
		}
	}
	if in.Sensor != nil {
		var err error
		if out.Sensor, err = takeEvent(ctx, t, in, rows, now); err != nil {
			return err
		}
		counts.count(*in.Sensor, out.Sensor, now)
		if out.Sensor.Deduped || in.Sensor.Late != "" {
			return nil
		}
	}
	for i := range in.Events {
		if err := s.appendOne(ctx, t, in.Events[i], Ref{}); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		fresh, err := s.takeKeys(ctx, t, rows, list)
		if err != nil {
			return err
		}
		if err := t.insertTasks(ctx, fresh); err != nil {
			return err
		}
		if err := t.notify(ctx); err != nil {
			return err
		}
		out.Tasks = list
	}
	if in.Start != nil {
		var err error
		if out.Started, err = s.startWorkflow(ctx, t, *in.Start, now); err != nil {
			return err
		}
	}
	if in.Move != nil {
		w, err := lockWorkflow(ctx, t, in.Move.WorkflowID)
		if err != nil {
			return err
		}
		if out.MovedTaskID, err = s.moveWorkflow(ctx, t, w, *in.Move, now); err != nil {
			return err
		}
	}
	if in.Sensor != nil {
		return sensorFollowed(ctx, t, in, *out, now)
	}
	return nil
}
