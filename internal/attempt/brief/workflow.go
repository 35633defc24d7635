package brief

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Workflow is the position in the workflow of a task, as the task's payload gives it.
type Workflow struct {
	Type      string   `json:"workflow_type"`
	StateID   string   `json:"state_id"`
	Visit     int      `json:"visit"`
	Iteration int      `json:"iteration"`
	Signals   []string `json:"accepted_signals"`
	Required  bool     `json:"signal_required"`
	Earlier   []Visit  `json:"earlier,omitempty"`
}

// A Visit is an earlier stay in a state, with what it left.
type Visit struct {
	Visit     int      `json:"visit"`
	StateID   string   `json:"state_id"`
	Iteration int      `json:"iteration"`
	Status    string   `json:"status"`
	Signal    string   `json:"workflow_signal,omitempty"`
	Summary   string   `json:"operator_summary,omitempty"`
	Artifacts []string `json:"artifacts,omitempty"`
}

// workflowKey is the member of a payload that holds the position of the workflow.
const workflowKey = "workflow"

// ReadWorkflow extracts the workflow's note from a payload; nil: there is none.
func ReadWorkflow(payload json.RawMessage) *Workflow {
	var p struct {
		Workflow *Workflow `json:"workflow"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return nil
	}
	return p.Workflow
}

// withoutWorkflow is a payload without the workflow's note, which has sections of its own. Numbers keep their
// spelling.
func withoutWorkflow(payload json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return strings.TrimSpace(string(payload))
	}
	delete(members, workflowKey)
	out, err := json.Marshal(members)
	if err != nil {
		return strings.TrimSpace(string(payload))
	}
	return string(out)
}

func (w *Workflow) place() string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("This task is a step of a workflow (%s): state %s, visit %d, iteration %d.", w.Type, w.StateID, w.Visit, w.Iteration)
}

// history are the visits before this one, newest first.
func (w *Workflow) history() []section {
	if w == nil {
		return nil
	}
	var out []section
	for _, v := range slices.Backward(w.Earlier) {
		text := fmt.Sprintf("- visit %d, %s, iteration %d: %s", v.Visit, v.StateID, v.Iteration, v.Status)
		if v.Signal != "" {
			text += ", signal " + v.Signal
		}
		if s := oneLine(v.Summary); s != "" {
			text += ". deed found: " + s
		}
		out = append(out, section{rule: "history", name: fmt.Sprintf("visit %d", v.Visit), head: "## Before this step\n\n", text: text})
	}
	return out
}

// signals lists the words that lead to other states.
func (w *Workflow) signals() string {
	if w == nil || len(w.Signals) == 0 {
		return ""
	}
	text := "You may say what comes next in the workflow with \"workflow_signal\" in the object. The words are: "
	if w.Required {
		text = "What comes next in the workflow is decided by a word of yours: write the result file, with \"workflow_signal\" in the object. Without one of these words nothing follows from your work: "
	}
	return text + strings.Join(w.Signals, ", ") + "."
}

// An Artifact is a file that an earlier visit of the workflow left. The agent reads it where it is; the brief pins
// its content.
type Artifact struct {
	Visit   int    `json:"visit"`
	StateID string `json:"state_id"`
	Path    string `json:"path"`             // as the agent finds it, with $DEED_BUNDLES for the directory of bundles
	Digest  string `json:"digest,omitempty"` // empty: it could not be read, and the brief cannot be fully replayed
	Bytes   int64  `json:"bytes"`
}

func artifactSections(list []Artifact) []section {
	var out []section
	for _, a := range list {
		text := fmt.Sprintf("- %s (%s, visit %d, %d bytes, %s)", a.Path, a.StateID, a.Visit, a.Bytes, a.Digest)
		if a.Digest == "" {
			text = fmt.Sprintf("- %s (%s, visit %d): no longer there", a.Path, a.StateID, a.Visit)
		}
		out = append(out, section{
			rule: "artifacts", name: a.Path, text: text,
			head: "## Files of earlier steps\n\nRead them where they are; trust what you see now over what they say.\n\n",
		})
	}
	return out
}

// oneLine is a text with its white space collapsed.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
