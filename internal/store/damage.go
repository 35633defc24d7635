package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
)

// A DamagedError names a row of which a part cannot be read: another program wrote it, or a hand did.
type DamagedError struct {
	Row  string // its kind and its id
	Part string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s of %s cannot be read: %v", e.Part, e.Row, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Damaged is part of every row that can be. A list shows such a row with what can be read of it, and all the others; whoever asks for
// it alone, or is about to decide by it, gets a *DamagedError instead.
type Damaged struct {
	Damage string `json:"damage,omitempty"` // what of it cannot be read, and why; empty: it is whole
}

func (d *Damaged) tell(why string) { d.Damage = why }

// tell also says it where people look for what went wrong.
func (t *Task) tell(why string) {
	t.Damage = why
	if t.Record.LastError == nil {
		t.Record.LastError = &why
	}
}

func (r *Run) tell(why string) {
	r.Damage = why
	if r.Record.Error == nil {
		r.Record.Error = &evidence.RunError{Name: "DamagedRecordError", Message: why}
	}
}

// decodePart reads a part of a row. What is of another type is left out; what is no JSON leaves nothing.
func decodePart(kind, id, part, text string, to any) error {
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return &DamagedError{Row: kind + " " + id, Part: part, Err: err}
	}
	return nil
}

// listed turns the damage of a row into a part of it, for a list.
func listed[T any](v *T, err error) error {
	var d *DamagedError
	if row, ok := any(v).(interface{ tell(why string) }); ok && errors.As(err, &d) {
		row.tell(d.Error())
		return nil
	}
	return err
}

// shown is a scan for a list; see listed. Parts that the store passes on as they are must be JSON there: one that is not would spoil
// the document of the whole list.
func shown[T any](scan func(scanner) (T, error)) func(scanner) (T, error) {
	return func(row scanner) (T, error) { return asListed(scan(row)) }
}

func asListed[T any](v T, err error) (T, error) {
	if r, ok := any(&v).(interface{ raws() error }); ok && err == nil {
		err = r.raws()
	}
	return v, listed(&v, err)
}

// ListedTask is Task as a list has it: a damaged one is returned with what can be read of it, and says so. It is for what tells of many rows
// and reads them one by one.
func (s *Store) ListedTask(ctx context.Context, id string) (Task, error) {
	return asListed(s.task(ctx, id))
}

// ListedAttempt is Attempt as a list has it; see ListedTask.
func (s *Store) ListedAttempt(ctx context.Context, id string) (Attempt, error) {
	return asListed(s.attempt(ctx, id))
}

// ListedAction is Action as a list has it; see ListedTask.
func (s *Store) ListedAction(ctx context.Context, id string) (Action, error) {
	return asListed(s.action(ctx, id))
}

// ListedWorkflow is Workflow as a list has it; see ListedTask.
func (s *Store) ListedWorkflow(ctx context.Context, id string) (Workflow, error) {
	return asListed(s.Workflow(ctx, id))
}

// rawParts are the parts of a row that are not decoded, by their names.
type rawParts map[string]*json.RawMessage

// check takes out what is no JSON.
func (p rawParts) check(row string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if text := *p[name]; len(text) > 0 && !json.Valid(text) {
			*p[name] = nil
			errs = append(errs, &DamagedError{Row: row, Part: name, Err: errNoJSON})
		}
	}
	return errors.Join(errs...)
}

var errNoJSON = errors.New("it is no JSON")

func (w *Workflow) raws() error {
	err := rawParts{"context": &w.Record.Context, "progress": &w.Progress, "options": &w.Options}.check("workflow " + w.Record.WorkflowID)
	if w.Record.Context == nil {
		w.Record.Context = json.RawMessage("null")
	}
	return err
}

func (o *OutboxItem) raws() error { return rawParts{"body": &o.Body}.check("outbox item " + o.ID) }

func (x *Sensor) raws() error { return rawParts{"cursor": &x.Cursor}.check("sensor " + x.ID) }

func (e *SensorEvent) raws() error {
	return rawParts{"payload": &e.Payload}.check("event " + e.EventID + " of sensor " + e.SensorID)
}

func (a *Action) raws() error {
	return rawParts{"detail": &a.Detail, "answer": &a.Answer, "subject": &a.Subject, "default": &a.Default}.check("action " + a.ID)
}
