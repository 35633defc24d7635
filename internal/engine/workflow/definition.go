// Package workflow owns multi-step work: definitions as data, and the instances that move from state to state by the signals
// of settled tasks and of people. It decides each step from a definition and an instance alone, and hands the step, the task
// that follows and the events about both to the store as one transaction. It runs nothing and judges nothing: the gate
// decides whether a task is completed.
package workflow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/config"
)

// A Definition is a checked definition with its hash.
type Definition struct {
	agentruntime.WorkflowDefinition
	Hash   string          // of its canonical form
	Body   json.RawMessage // that form (RFC 8785)
	Source string          // the file that it came from, or Shipped
}

// Shipped is the source of the definitions that deed brings along.
const Shipped = "deed"

// Parse reads one definition, YAML or JSON, and checks it as a whole. All faults are reported together, with their lines.
func Parse(name string, data []byte, known Known) (Definition, error) {
	raw, locate, err := config.ReadYAML(name, data)
	if err != nil {
		return Definition{}, err
	}
	def, err := schema.Decode[agentruntime.WorkflowDefinition](agentruntime.SchemaWorkflowDefinition, raw)
	if err != nil {
		return Definition{}, locate(err)
	}
	if err := Check(def, known); err != nil {
		return Definition{}, locate(err)
	}
	return newDefinition(def, name)
}

func newDefinition(def agentruntime.WorkflowDefinition, source string) (Definition, error) {
	def.Schema = agentruntime.SchemaWorkflowDefinition
	body, err := canonjson.Marshal(def)
	if err != nil {
		return Definition{}, fmt.Errorf("definition of workflow %s: %w", def.WorkflowType, err)
	}
	hash, err := canonjson.Hash(def)
	if err != nil {
		return Definition{}, fmt.Errorf("definition of workflow %s: %w", def.WorkflowType, err)
	}
	return Definition{WorkflowDefinition: def, Hash: hash, Body: body, Source: source}, nil
}

// stored reads a definition back that an instance was started with. It was checked then, and holds whatever the checks of
// today say.
func stored(hash string, body []byte) (Definition, error) {
	d := Definition{Hash: hash, Body: body, Source: "instance"}
	if err := json.Unmarshal(body, &d.WorkflowDefinition); err != nil {
		return d, fmt.Errorf("stored definition %s: %w", hash, err)
	}
	return d, nil
}

// state returns a state by its id.
func (d Definition) state(id string) (agentruntime.WorkflowState, bool) {
	for _, s := range d.States {
		if s.StateID == id {
			return s, true
		}
	}
	return agentruntime.WorkflowState{}, false
}

// Signals lists the words that lead on from a state or complete the workflow, in the order of the definition.
func (d Definition) Signals(id string) []string {
	s, _ := d.state(id)
	return signals(s)
}

func signals(s agentruntime.WorkflowState) []string {
	var out []string
	for _, t := range s.Transitions {
		out = append(out, t.Signal)
	}
	return append(out, s.CompletionSignals...)
}

// terminal reports whether a workflow that comes here is done.
func terminal(s agentruntime.WorkflowState) bool {
	return !s.EmitsTaskIntent && len(s.Transitions) == 0 && len(s.CompletionSignals) == 0
}

// own returns the fields that deed adds to a state; the zero value when there are none.
func own(s agentruntime.WorkflowState) deed.StateSpec {
	if s.Deed == nil {
		return deed.StateSpec{}
	}
	return *s.Deed
}

// maxIterations is the bound of a definition; 0 means that it has none of its own.
func (d Definition) maxIterations() int {
	if d.Deed == nil {
		return 0
	}
	return d.Deed.MaxIterations
}

// next returns the state that a signal leads to; ends is true when it completes the workflow in place.
func next(s agentruntime.WorkflowState, signal string) (to string, ends, ok bool) {
	if signal == "" {
		return "", false, false
	}
	for _, t := range s.Transitions {
		if t.Signal == signal {
			return t.NextState, false, true
		}
	}
	return s.StateID, true, slices.Contains(s.CompletionSignals, signal)
}
