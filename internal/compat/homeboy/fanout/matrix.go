package fanout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// maxCells bounds a matrix: each cell is a whole run of an agent, and all but one are thrown away.
const maxCells = 64

// executorAxes are the axes that are members of a request's executor. Every other axis is a dotted path in the request.
var executorAxes = []string{"backend", "selector", "runtime", "model"}

// Matrix makes one cell for each combination of the values of the axes, as a whole request: the task, with the values in
// their places. backend, selector, runtime and model are members of the executor; any other axis is a dotted path in the
// request, such as executor.config.effort. Axes are combined in the order of their names, the last fastest. A plan id that
// is blank is the task_id of the task. Every fault is returned at once.
func Matrix(planID string, axes map[string][]homeboy.Value, task map[string]homeboy.Value) (homeboy.MatrixPlan, error) {
	if planID = strings.TrimSpace(planID); planID == "" {
		planID = firstText(task["task_id"])
	}
	p := homeboy.MatrixPlan{Schema: homeboy.SchemaMatrixPlan, PlanID: planID, Axes: axes, Task: task, Cells: []homeboy.MatrixCell{}}
	if p.Task == nil {
		p.Task = map[string]homeboy.Value{}
	}
	if err := checkAxes(planID, axes); err != nil {
		return homeboy.MatrixPlan{}, err
	}
	var l fault.List
	taken := map[string]bool{}
	for i, values := range combinations(axes) {
		c, err := cell(p, values, taken)
		if err != nil {
			l.Within(fault.Index("$.cells", i)+".request", err)
			continue
		}
		p.Cells = append(p.Cells, c)
	}
	if l.Len() == 0 {
		l.Within(fault.Root, p.Validate())
	}
	if err := l.Err(); err != nil {
		return homeboy.MatrixPlan{}, err
	}
	return p, nil
}

func checkAxes(planID string, axes map[string][]homeboy.Value) error {
	var l fault.List
	if planID == "" {
		l.Add("$.plan_id", fault.Blank, "is blank, and the task has no task_id", "name the matrix")
	}
	if len(axes) == 0 {
		l.Add("$.axes", fault.Blank, "is empty", "name an axis and its values, as in backend=a,b")
	}
	cells := 1
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		at := fault.Field("$.axes", name)
		if !slices.Contains(executorAxes, name) && !dotted(name) {
			l.Add(at, fault.BadFormat, fmt.Sprintf("%q is no place in a request", clip(name)),
				"use backend, selector, runtime, model, or a dotted path such as executor.config.effort")
		}
		if len(axes[name]) == 0 {
			l.Add(at, fault.Blank, "has no value", "give the axis one value or more")
		}
		seen := map[string]int{}
		for i, v := range axes[name] {
			if first, twice := seen[string(v)]; twice {
				l.Add(fault.Index(at, i), fault.Duplicate, fmt.Sprintf("%s is value %d too", clip(string(v)), first), "name each value once")
			}
			seen[string(v)] = i
		}
		cells = min(cells*max(len(axes[name]), 1), maxCells+1)
	}
	if cells > maxCells {
		l.Add("$.axes", fault.OutOfRange, fmt.Sprintf("make more than %d cells", maxCells), "each cell is a whole run; name fewer values")
	}
	return l.Err()
}

// dotted reports whether a name is a path of two parts or more.
func dotted(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) > 1 && !slices.Contains(parts, "")
}

// combinations returns every choice of one value of each axis.
func combinations(axes map[string][]homeboy.Value) []map[string]homeboy.Value {
	out := []map[string]homeboy.Value{{}}
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		var more []map[string]homeboy.Value
		for _, c := range out {
			for _, v := range axes[name] {
				next := maps.Clone(c)
				next[name] = v
				more = append(more, next)
			}
		}
		out = more
	}
	return out
}

func cell(p homeboy.MatrixPlan, axes map[string]homeboy.Value, taken map[string]bool) (homeboy.MatrixCell, error) {
	request := maps.Clone(p.Task)
	id := []string{p.PlanID}
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		word, err := inText(axes[name])
		if err != nil {
			return homeboy.MatrixCell{}, err
		}
		id = append(id, word)
		path := strings.Split(name, ".")
		if slices.Contains(executorAxes, name) {
			path = []string{"executor", name}
		}
		if err := set(request, path, axes[name]); err != nil {
			return homeboy.MatrixCell{}, err
		}
	}
	name := distinct(strings.Join(id, "-"), taken)
	request["task_id"], request["parent_plan_id"] = quote(name), quote(p.PlanID)
	q, _, err := homeboy.ReadRequest(values(request).at(nil))
	return homeboy.MatrixCell{ID: name, Axes: axes, Request: q}, err
}

// set puts a value at a path, making the objects on the way.
func set(into map[string]homeboy.Value, path []string, v homeboy.Value) error {
	if len(path) == 1 {
		into[path[0]] = v
		return nil
	}
	inner := map[string]homeboy.Value{}
	if old := into[path[0]]; !old.Null() {
		if err := json.Unmarshal(old, &inner); err != nil {
			return fault.Faults{{Path: fault.Field(fault.Root, path[0]), Code: fault.WrongType, Message: "is not an object, and an axis names a member of it", Remedy: "write an object"}}
		}
	}
	if err := set(inner, path[1:], v); err != nil {
		return err
	}
	into[path[0]] = values(inner).at(nil)
	return nil
}

// MatrixTasks returns the cells of a matrix as the tasks of a fanout, so that they run, resume and are reconciled as any
// other. The key of a cell's group is its id.
func MatrixTasks(m homeboy.MatrixPlan) (homeboy.FanoutPlan, error) {
	if err := m.Validate(); err != nil {
		return homeboy.FanoutPlan{}, err
	}
	p := homeboy.FanoutPlan{
		Schema: homeboy.SchemaFanoutPlan, Orchestrator: map[string]homeboy.Value{"plan_id": quote(m.PlanID)},
		Summary: map[string]homeboy.Value{"config_schema": quote(m.Schema), "item_count": number(len(m.Cells)), "group_count": number(len(m.Cells)), "task_count": number(len(m.Cells))},
	}
	for i, c := range m.Cells {
		raw, err := json.Marshal(c.Request)
		if err != nil {
			return homeboy.FanoutPlan{}, fmt.Errorf("write the request of cell %s: %w", c.ID, err)
		}
		var extra homeboy.Extra
		if err := json.Unmarshal(raw, &extra); err != nil {
			return homeboy.FanoutPlan{}, fmt.Errorf("read the request of cell %s: %w", c.ID, err)
		}
		for _, known := range []string{"task_id", "group_key"} {
			delete(extra, known)
		}
		p.Groups = append(p.Groups, homeboy.PlannedGroup{Key: c.ID, Index: int64(i), ItemCount: 1})
		p.TaskRequests = append(p.TaskRequests, homeboy.FanoutTask{
			ID: c.ID, GroupKey: c.ID, Extra: extra,
			Orchestrator: map[string]homeboy.Value{"plan_id": quote(m.PlanID), "group_index": number(i), "axes": values(c.Axes).at(nil)},
		})
	}
	p.Reconciliation = count(p, tally{}, Options{})
	return p, nil
}

// A Cell is what is known of a cell that was run.
type Cell struct {
	ID           string
	Outcome      *homeboy.Outcome // nil: none came back
	Verdict      homeboy.MatrixVerdict
	ChecksPassed bool   // the checks of the gate ran and passed; a gate without checks accepts too
	ChangeBytes  int64  // of the patch that deed captured
	CostMicroUSD *int64 // nil: not known
}

// verified reports whether the gate accepted a result that its provider gave as one.
func (c Cell) verified() bool {
	return c.Verdict == homeboy.MatrixAccepted && c.Outcome != nil && homeboy.IsSuccess(c.Outcome.Status)
}

// The order among verified cells: each rule decides where all above it are even.
var preferences = []struct {
	why     string
	compare func(a, b Cell) int
}{
	{"its checks passed", func(a, b Cell) int { return first(a.ChecksPassed, b.ChecksPassed) }},
	{"it made a change", func(a, b Cell) int { return first(a.ChangeBytes > 0, b.ChangeBytes > 0) }}, // else doing nothing would always win
	{"its change is smaller", func(a, b Cell) int { return cmp.Compare(a.ChangeBytes, b.ChangeBytes) }},
	{"it cost less", func(a, b Cell) int {
		if a.CostMicroUSD == nil || b.CostMicroUSD == nil {
			return first(a.CostMicroUSD != nil, b.CostMicroUSD != nil)
		}
		return cmp.Compare(*a.CostMicroUSD, *b.CostMicroUSD)
	}},
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Best chooses among the cells of a matrix, and says why. A cell that the gate did not accept is never chosen, whatever
// its provider says: then the index is -1. Among accepted ones those whose checks passed come first, then those that
// made a change, then the smaller change, then the cheaper run, then the order of the plan.
func Best(cells []Cell) (int, string) {
	best, second := -1, -1
	for i, c := range cells {
		switch {
		case !c.verified():
		case best < 0:
			best = i
		case prefer(c, cells[best]) < 0:
			best, second = i, best
		case second < 0 || prefer(c, cells[second]) < 0:
			second = i
		}
	}
	switch {
	case best < 0:
		return -1, "no cell was verified"
	case second < 0:
		return best, "it is the only one that was verified"
	}
	return best, fmt.Sprintf("of those that were verified, %s (next: %s)", reason(cells[best], cells[second]), cells[second].ID)
}

func prefer(a, b Cell) int {
	for _, p := range preferences {
		if c := p.compare(a, b); c != 0 {
			return c
		}
	}
	return 0
}

// reason returns what decided between two cells, the better one first.
func reason(a, b Cell) string {
	for _, p := range preferences {
		if p.compare(a, b) < 0 {
			return p.why
		}
	}
	return "it comes first in the plan"
}

// MatrixResult makes the aggregate of a matrix. Cells are matched by their ids; one that is missing has no record.
func MatrixResult(m homeboy.MatrixPlan, cells []Cell) homeboy.MatrixAggregate {
	known := map[string]Cell{}
	for _, c := range cells {
		known[c.ID] = c
	}
	planned := make([]Cell, len(m.Cells))
	for i, c := range m.Cells {
		ran, ok := known[c.ID]
		if !ok || ran.Outcome == nil {
			ran = Cell{ID: c.ID, Verdict: homeboy.MatrixMissing}
		}
		planned[i] = ran
	}
	best, why := Best(planned)
	out := homeboy.MatrixAggregate{Schema: homeboy.SchemaMatrixAggregate, PlanID: m.PlanID, Status: homeboy.AggregateFailed, Why: why, Cells: []homeboy.MatrixResult{}}
	for i, c := range planned {
		r := homeboy.MatrixResult{ID: c.ID, Axes: m.Cells[i].Axes, Verdict: c.Verdict, Outcome: c.Outcome}
		switch {
		case i == best:
			r.Chosen, r.Why = true, why
			out.Chosen, out.Status = c.ID, homeboy.AggregateSucceeded
		case c.verified():
			r.Why = planned[best].ID + " comes before it: " + reason(planned[best], c)
		default:
			r.Why = unverified(c)
		}
		out.Cells = append(out.Cells, r)
	}
	return out
}

func unverified(c Cell) string {
	switch c.Verdict {
	case homeboy.MatrixAccepted:
		return fmt.Sprintf("its provider says %s", c.Outcome.Status)
	case homeboy.MatrixMissing:
		return "nothing came back"
	case homeboy.MatrixNotJudged:
		return "no gate judged it"
	}
	return "the gate refused it"
}
