package homeboy

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the records of a matrix.
const (
	SchemaMatrixPlan      = "homeboy/agent-task-matrix-plan/v1"
	SchemaMatrixAggregate = "homeboy/agent-task-matrix-aggregate/v1"
)

// A MatrixPlan is one task, once for each combination of the values of its axes. At most one of the results is used.
type MatrixPlan struct {
	Schema string             `json:"schema" jsonschema:"minLength=1"`
	PlanID string             `json:"plan_id" jsonschema:"minLength=1,maxLength=512"`
	Axes   map[string][]Value `json:"axes"`
	Task   map[string]Value   `json:"task"` // the request that the cells share
	Cells  []MatrixCell       `json:"cells"`
	Extra  Extra              `json:"-"`
}

// A MatrixCell is one combination, as a whole request. Its id is the task_id of the request.
type MatrixCell struct {
	ID      string           `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Axes    map[string]Value `json:"axes"`
	Request Request          `json:"request"`
	Extra   Extra            `json:"-"`
}

// A MatrixVerdict is what the host's gate made of a cell, whatever its provider said.
type MatrixVerdict string

// The verdicts on a cell.
const (
	MatrixAccepted  MatrixVerdict = "accepted"
	MatrixRefused   MatrixVerdict = "refused"
	MatrixNotJudged MatrixVerdict = "not_judged" // no gate looked at it
	MatrixMissing   MatrixVerdict = "missing_record"
)

// MatrixVerdicts lists every verdict on a cell.
var MatrixVerdicts = []MatrixVerdict{MatrixAccepted, MatrixRefused, MatrixNotJudged, MatrixMissing}

// A MatrixAggregate is what became of a matrix: every cell in the order of the plan, and the one that was chosen. It
// succeeded when one was.
type MatrixAggregate struct {
	Schema string          `json:"schema" jsonschema:"minLength=1"`
	PlanID string          `json:"plan_id" jsonschema:"minLength=1,maxLength=512"`
	Status AggregateStatus `json:"status"`
	Chosen string          `json:"chosen,omitempty"` // the id of a cell
	Why    string          `json:"why" jsonschema:"minLength=1"`
	Cells  []MatrixResult  `json:"cells"`
	Extra  Extra           `json:"-"`
}

// A MatrixResult is what became of one cell.
type MatrixResult struct {
	ID      string           `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Axes    map[string]Value `json:"axes"`
	Verdict MatrixVerdict    `json:"verdict"`
	Chosen  bool             `json:"chosen"`
	Why     string           `json:"why,omitempty"` // why it was chosen or not
	Outcome *Outcome         `json:"outcome,omitempty"`
	Extra   Extra            `json:"-"`
}

// ReadMatrixPlan reads a plan that deed or another program made.
func ReadMatrixPlan(data []byte) (MatrixPlan, []Warning, error) {
	var p MatrixPlan
	r, err := document(data, &p)
	if err != nil {
		return MatrixPlan{}, nil, fmt.Errorf("read matrix plan: %w", err)
	}
	defaultSchema(r, &p.Schema, SchemaMatrixPlan)
	for i := range p.Cells {
		if q := &p.Cells[i].Request; q.Executor.Config == nil {
			q.Executor.Config = map[string]Value{} // as ReadRequest does
		}
	}
	return p, r.all(), nil
}

// Validate returns every fault of the plan: cells are named once, have a value of each axis, and are requests.
func (p MatrixPlan) Validate() error {
	var l fault.List
	ownSchema(&l, p.Schema, SchemaMatrixPlan)
	l.Say("$.plan_id", p.PlanID)
	seen := map[string]int{}
	for i, c := range p.Cells {
		at := fault.Index("$.cells", i)
		named(&l, at+".id", c.ID, i, seen)
		for axis := range p.Axes {
			if _, there := c.Axes[axis]; !there {
				l.Add(fault.Field(at+".axes", axis), fault.Conflict, "is not there, and the plan has the axis", "give every cell a value of every axis")
			}
		}
		if c.Request.TaskID != c.ID {
			l.Add(at+".request.task_id", fault.Conflict, fmt.Sprintf("%q is not the id of the cell", clip(c.Request.TaskID)), "write the id of the cell")
		}
		l.Within(at+".request", c.Request.Validate())
	}
	return l.Err()
}

// named demands a name that no earlier entry has.
func named(l *fault.List, at, name string, i int, seen map[string]int) {
	l.Say(at, name)
	if first, twice := seen[name]; twice {
		l.Add(at, fault.Duplicate, fmt.Sprintf("%q is the id of cell %d too", clip(name), first), "give every cell its own id")
		return
	}
	seen[name] = i
}

// Validate returns every fault of the aggregate. Only an accepted cell can be chosen, and at most one is.
func (a MatrixAggregate) Validate() error {
	var l fault.List
	ownSchema(&l, a.Schema, SchemaMatrixAggregate)
	l.Say("$.plan_id", a.PlanID)
	l.Say("$.why", a.Why)
	fault.OneOf(&l, "$.status", a.Status, AggregateSucceeded, AggregateFailed)
	seen, chosen := map[string]int{}, ""
	for i, c := range a.Cells {
		at := fault.Index("$.cells", i)
		named(&l, at+".id", c.ID, i, seen)
		fault.OneOf(&l, at+".verdict", c.Verdict, MatrixVerdicts...)
		if c.Outcome != nil {
			l.Within(at+".outcome", c.Outcome.Validate())
		}
		if !c.Chosen {
			continue
		}
		if c.Verdict != MatrixAccepted {
			l.Add(at+".chosen", fault.Conflict, fmt.Sprintf("is true and the verdict is %q", c.Verdict), "choose only what was verified")
		}
		if chosen != "" {
			l.Add(at+".chosen", fault.Conflict, "is true of another cell too", "choose one")
		}
		chosen = c.ID
	}
	if chosen != a.Chosen {
		l.Add("$.chosen", fault.Conflict, fmt.Sprintf("%q is not the cell that is chosen", clip(a.Chosen)), "name the cell whose chosen is true")
	}
	if (a.Status == AggregateSucceeded) != (a.Chosen != "") {
		l.Add("$.status", fault.Conflict, fmt.Sprintf("is %q and chosen is %q", a.Status, clip(a.Chosen)), "a matrix succeeded when a cell was chosen")
	}
	return l.Err()
}
