package workflow

import (
	"context"

	"github.com/deedrun/deed/internal/store"
)

// A Step is a transition of a workflow and what became of the task that it made.
type Step struct {
	store.Transition
	Visit store.Visit // zero: the step made no task
}

// Steps returns every step of a workflow, oldest first.
func Steps(ctx context.Context, st *store.Store, workflowID string) ([]Step, error) {
	moves, err := st.Transitions(ctx, workflowID, 0)
	if err != nil {
		return nil, err
	}
	visits, err := st.Visits(ctx, workflowID)
	if err != nil {
		return nil, err
	}
	of := map[string]store.Visit{}
	for _, v := range visits {
		of[v.TaskID] = v
	}
	steps := make([]Step, len(moves))
	for i, m := range moves {
		steps[i] = Step{Transition: m, Visit: of[m.TaskID]}
	}
	return steps, nil
}
