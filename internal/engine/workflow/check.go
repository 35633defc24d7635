package workflow

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
)

// Known says whether a name that a definition refers to is there. A nil function is not asked.
type Known struct {
	Type    func(name string) error
	Profile func(id string) error
	Skill   func(id string) error
}

// Check returns every fault of a definition as a whole: what the record's own Validate finds, names that refer to nothing,
// states that nothing leads to or that lead nowhere, fields without effect, and loops without a bound.
func Check(def agentruntime.WorkflowDefinition, known Known) error {
	var l fault.List
	l.Within("$", def.Validate())
	for i, s := range def.States {
		checkState(&l, fault.Index("$.states", i), s)
		checkNames(&l, fault.Index("$.states", i), s, known)
	}
	if l.Len() > 0 {
		return l.Err() // a graph with holes would only give more of the same
	}
	checkGraph(&l, newGraph(def))
	return l.Err()
}

// checkState finds the fields of one state that contradict each other or have no effect.
func checkState(l *fault.List, at string, s agentruntime.WorkflowState) {
	o := own(s)
	if s.TaskType != "" && !s.EmitsTaskIntent {
		l.Add(at+".task_type", fault.Conflict, "has no effect without emits_task_intent", "set emits_task_intent to true, or leave task_type out")
	}
	if !s.EmitsTaskIntent {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"default_profile_id", s.DefaultProfileID != ""},
			{"default_skill_ids", len(s.DefaultSkillIDs) > 0},
			{"deed.payload", len(o.Payload) > 0},
			{"deed.on_completed", o.OnCompleted != ""},
			{"deed.on_failure", o.OnFailure != ""},
		} {
			if f.set {
				l.Add(at+"."+f.name, fault.Conflict, "has no effect: the state makes no task", "set emits_task_intent to true, or leave it out")
			}
		}
	}
	known := signals(s)
	for _, f := range []struct{ name, signal string }{{"on_completed", o.OnCompleted}, {"on_failure", o.OnFailure}} {
		if f.signal == "" {
			continue
		}
		if _, _, ok := next(s, f.signal); ok {
			continue
		}
		remedy := "add a transition for it"
		if near := fault.Nearest(f.signal, known); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		}
		l.Add(at+".deed."+f.name, fault.Dangling, fmt.Sprintf("%q is not a signal of this state", f.signal), remedy)
	}
	if s.EmitsTaskIntent && len(known) == 0 {
		l.Add(at, fault.Conflict, fmt.Sprintf("state %q makes a task, and no signal leads on from it", s.StateID), "add a transition, or a completion signal")
	}
}

func checkNames(l *fault.List, at string, s agentruntime.WorkflowState, known Known) {
	ask := func(path, name string, f func(string) error) {
		if name == "" || f == nil {
			return
		}
		if err := f(name); err != nil {
			l.Add(path, fault.Dangling, err.Error(), "")
		}
	}
	ask(at+".task_type", s.TaskType, known.Type)
	ask(at+".default_profile_id", s.DefaultProfileID, known.Profile)
	for i, id := range s.DefaultSkillIDs {
		ask(fault.Index(at+".default_skill_ids", i), id, known.Skill)
	}
}

// checkGraph finds what is wrong with the way through a definition whose names all refer to something.
func checkGraph(l *fault.List, g graph) {
	reached := g.from(g.initial)
	for i, id := range g.ids {
		if !reached[i] {
			l.Add(fault.Index("$.states", i), fault.Dangling, fmt.Sprintf("no transition leads to state %q", id), "lead to it, or leave it out")
		}
	}
	if g.ends[g.initial] && len(g.out[g.initial]) == 0 && !g.tasks[g.initial] {
		l.Add("$.initial_state", fault.Conflict, fmt.Sprintf("state %q is an end, so nothing would ever be done", g.ids[g.initial]), "begin at a state that makes a task")
		return
	}
	for i, id := range g.ids {
		if !reached[i] {
			continue
		}
		out := false
		for j, there := range g.from(i) {
			out = out || there && g.ends[j]
		}
		if !out {
			l.Add(fault.Index("$.states", i), fault.Conflict, fmt.Sprintf("there is no way from state %q to an end", id), "lead to a state without transitions, or name a completion signal")
		}
	}
	if g.bounded {
		return
	}
	if loop := g.loop(reached); loop != nil {
		l.Add("$.deed.max_iterations", fault.MissingField, "the workflow can go round "+strings.Join(loop, " → ")+" for ever", "give max_iterations, or max_visits to one of these states")
	}
}

// A graph is a definition as numbers.
type graph struct {
	ids     []string
	initial int
	out     [][]int
	ends    []bool // a workflow can be completed here
	tasks   []bool
	capped  []bool // max_visits bounds how often it is entered
	bounded bool   // max_iterations does so for all
}

func newGraph(def agentruntime.WorkflowDefinition) graph {
	n := len(def.States)
	g := graph{ids: make([]string, n), out: make([][]int, n), ends: make([]bool, n), tasks: make([]bool, n), capped: make([]bool, n)}
	index := map[string]int{}
	for i, s := range def.States {
		g.ids[i], index[s.StateID] = s.StateID, i
	}
	for i, s := range def.States {
		for _, t := range s.Transitions {
			g.out[i] = append(g.out[i], index[t.NextState])
		}
		g.ends[i] = terminal(s) || len(s.CompletionSignals) > 0
		g.tasks[i], g.capped[i] = s.EmitsTaskIntent, own(s).MaxVisits > 0
	}
	g.initial = index[def.InitialState]
	g.bounded = def.Deed != nil && def.Deed.MaxIterations > 0
	return g
}

// from returns which states can be reached from one, itself included.
func (g graph) from(start int) []bool {
	seen := make([]bool, len(g.ids))
	seen[start] = true
	for todo := []int{start}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range g.out[i] {
			if !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	return seen
}

// loop returns a way round that no state's max_visits bounds, its first state at the end again, or nil.
func (g graph) loop(reached []bool) []string {
	const fresh, open, done = 0, 1, 2
	mark := make([]int, len(g.ids))
	var way []int
	var visit func(i int) []string
	visit = func(i int) []string {
		mark[i] = open
		way = append(way, i)
		for _, j := range g.out[i] {
			switch {
			case g.capped[j] || mark[j] == done:
			case mark[j] == open:
				var names []string
				for k := len(way) - 1; k >= 0; k-- {
					names = append([]string{g.ids[way[k]]}, names...)
					if way[k] == j {
						break
					}
				}
				return append(names, g.ids[j])
			default:
				if found := visit(j); found != nil {
					return found
				}
			}
		}
		mark[i] = done
		way = way[:len(way)-1]
		return nil
	}
	for i := range g.ids {
		if reached[i] && !g.capped[i] && mark[i] == fresh {
			if found := visit(i); found != nil {
				return found
			}
		}
	}
	return nil
}
