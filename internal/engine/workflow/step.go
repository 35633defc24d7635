package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A place is the position of an instance and how it got there. The store keeps it and reads only the iteration.
type place struct {
	iteration int
	Visits    map[string]int `json:"visits"`          // how often each state was entered
	Round     []string       `json:"round,omitempty"` // the states of this iteration
}

func placeOf(iteration int, progress json.RawMessage) (place, error) {
	p := place{iteration: iteration}
	if len(progress) > 0 {
		if err := json.Unmarshal(progress, &p); err != nil {
			return p, fmt.Errorf("progress: %w", err)
		}
	}
	return p, nil
}

// enter counts a visit. An iteration lasts until a state comes twice: entering a state that was visited in it begins the
// next. So every cycle through a definition costs an iteration, whichever path it takes.
func (p place) enter(state string) place {
	out := place{iteration: max(p.iteration, 1), Visits: maps.Clone(p.Visits), Round: slices.Clone(p.Round)}
	if out.Visits == nil {
		out.Visits = map[string]int{}
	}
	out.Visits[state]++
	if slices.Contains(out.Round, state) {
		out.iteration, out.Round = out.iteration+1, nil
	}
	out.Round = append(out.Round, state)
	return out
}

// again counts another visit of the state that it is in. A person asked for it, and it is part of the same iteration.
func (p place) again(state string) place {
	out := place{iteration: max(p.iteration, 1), Visits: maps.Clone(p.Visits), Round: p.Round}
	if out.Visits == nil {
		out.Visits = map[string]int{}
	}
	out.Visits[state]++
	return out
}

// beyond says which bound of the definition a place is past, or nothing.
func (d Definition) beyond(p place, state string) string {
	if most := d.maxIterations(); most > 0 && p.iteration > most {
		return fmt.Sprintf("it would begin iteration %d, and max_iterations is %d", p.iteration, most)
	}
	s, _ := d.state(state)
	if most := own(s).MaxVisits; most > 0 && p.Visits[state] > most {
		return fmt.Sprintf("it would enter state %s for the %s time, and max_visits is %d", state, ordinal(p.Visits[state]), most)
	}
	return ""
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// A verdict is what a cause means for an instance: a signal that leads on, or the reason why a person has to decide.
type verdict struct {
	signal string
	note   string
	ask    string
}

// ofTask decides what the end of a state's task means. It reads the settled status and the signal of the outcome; nothing
// else that the agent said counts.
func ofTask(s agentruntime.WorkflowState, t agentruntime.TaskRecord) verdict {
	o := own(s)
	said := ""
	if t.Outcome != nil {
		said = t.Outcome.WorkflowSignal
	}
	if t.Status == agentruntime.TaskCompleted {
		_, _, ok := next(s, said)
		switch {
		case ok:
			return verdict{signal: said}
		case o.OnCompleted != "" && said != "":
			return verdict{signal: o.OnCompleted, note: fmt.Sprintf("the task gave %q, which state %s does not know", clip(said), s.StateID)}
		case o.OnCompleted != "":
			return verdict{signal: o.OnCompleted}
		case said != "":
			return verdict{ask: fmt.Sprintf("the task of state %s was accepted and gave the signal %q, which the state does not know; it knows %s", s.StateID, clip(said), strings.Join(signals(s), ", "))}
		}
		return verdict{ask: fmt.Sprintf("the task of state %s was accepted and gave no signal; the state needs one of %s", s.StateID, strings.Join(signals(s), ", "))}
	}
	how := "failed for good"
	if t.Status == agentruntime.TaskOperatorCanceled {
		how = "was cancelled"
	}
	if why := failureOf(t); why != "" {
		how += ": " + why
	}
	if o.OnFailure != "" {
		return verdict{signal: o.OnFailure, note: "the task " + how}
	}
	return verdict{ask: fmt.Sprintf("the task of state %s %s", s.StateID, how)}
}

// failureOf is why a task ended as it did, in deed's words.
func failureOf(t agentruntime.TaskRecord) string {
	switch {
	case t.LastError != nil && *t.LastError != "":
		return clip(*t.LastError)
	case t.Outcome != nil:
		return clip(t.Outcome.OperatorSummary)
	}
	return ""
}

// clip bounds what a reason quotes.
func clip(s string) string {
	const most = 500
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
