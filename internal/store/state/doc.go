// Package state owns the legal transitions of a task, of an attempt, of a run and of a workflow, as data and pure functions. It does no
// I/O and keeps nothing: the store asks it before every write and refuses what it refuses.
package state

import "fmt"

// An IllegalError says that a transition is not in the table.
type IllegalError struct {
	Kind     string // "task", "attempt", "run" or "workflow"
	From, To string
}

func (e *IllegalError) Error() string {
	return fmt.Sprintf("%s cannot go from %s to %s", e.Kind, e.From, e.To)
}
