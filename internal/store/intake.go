package store

import (
	"context"
	"errors"
	"fmt"
)

// An Intake is what one cause brings into the store: all of it, in one transaction, or nothing.
type Intake struct {
	Events []Event       // recorded first, in their order
	Tasks  []NewTask     // then these
	Start  *NewWorkflow  // then a workflow that starts
	Move   *WorkflowMove // or a step of one that lives
}

// An IntakeResult says what became of an Intake.
type IntakeResult struct {
	Tasks       []Enqueued
	Started     Started
	MovedTaskID string // the task of the visit that the move began, or of the one that it left as it was
}

// TakeIn stores an intake. It returns ErrStale, and changes nothing, when the workflow of its move is not as the maker of the
// move saw it.
func (s *Store) TakeIn(ctx context.Context, in Intake) (IntakeResult, error) {
	var out IntakeResult
	var err error
	for range 3 { // a start may meet an instance that ends at the same moment
		err = s.write(ctx, func(ctx context.Context, t tx) error {
			out = IntakeResult{}
			return s.takeIn(ctx, t, in, &out)
		})
		if in.Move != nil || !errors.Is(err, ErrStale) {
			break
		}
	}
	if err != nil {
		return IntakeResult{}, fmt.Errorf("take in: %w", err)
	}
	return out, nil
}

func (s *Store) takeIn(ctx context.Context, t tx, in Intake, out *IntakeResult) error {
	now := micros(s.now())
	for i := range in.Events {
		if err := s.appendOne(ctx, t, in.Events[i], Ref{}); err != nil {
			return err
		}
	}
	if len(in.Tasks) > 0 {
		rows, list, _, err := s.taskRows(in.Tasks)
		if err != nil {
			return err
		}
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
	return nil
}
