package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/store"
)

// ActionKind is the kind of the actions by which a workflow asks a person.
const ActionKind = "workflow"

// What a person may answer.
const (
	AnswerRetry   = "retry"   // visit the state again
	AnswerSignal  = "signal"  // continue as if the task had given it
	AnswerAbandon = "abandon" // end the workflow
)

// An Answer is what a person says to a workflow that asks.
type Answer struct {
	Decision string `json:"decision"`
	Signal   string `json:"signal,omitempty"` // with signal
	Note     string `json:"note,omitempty"`
}

// A Question is the subject of an action of a workflow: what may be answered, and where the workflow stands.
type Question struct {
	WorkflowID  string   `json:"workflow_id"`
	Type        string   `json:"workflow_type"`
	InstanceKey string   `json:"instance_key"`
	State       string   `json:"state"`
	TaskID      string   `json:"task_id,omitempty"`
	Signals     []string `json:"signals"`
	Retry       bool     `json:"retry"` // the state has a task that can be made again
}

// choices says in words what may be answered.
func (q Question) choices() string {
	var parts []string
	if q.Retry {
		parts = append(parts, AnswerRetry)
	}
	for _, s := range q.Signals {
		parts = append(parts, "signal "+s)
	}
	return strings.Join(append(parts, AnswerAbandon), ", ")
}

// check returns what is wrong with an answer to a question.
func (q Question) check(a Answer) error {
	switch a.Decision {
	case AnswerRetry:
		if q.Retry {
			return nil
		}
		return fmt.Errorf("state %s makes no task that could be made again (say one of: %s)", q.State, q.choices())
	case AnswerAbandon:
		return nil
	case AnswerSignal:
		if slices.Contains(q.Signals, a.Signal) {
			return nil
		}
		return fmt.Errorf("%q is not a signal of state %s (say one of: %s)", a.Signal, q.State, q.choices())
	}
	return fmt.Errorf("%q is no answer (say one of: %s)", a.Decision, q.choices())
}

// ReadAnswer turns what a person entered into the answer to an action, or says what may be entered. It takes the words
// retry, abandon and signal NAME, a signal's own name, or the JSON of an Answer.
func ReadAnswer(x store.Action, said json.RawMessage) (json.RawMessage, error) {
	var q Question
	if err := json.Unmarshal(x.Subject, &q); err != nil {
		return nil, fmt.Errorf("action %s: its subject: %w", x.ID, err)
	}
	a, err := q.read(said)
	if err != nil {
		return nil, err
	}
	if err := q.check(a); err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

func (q Question) read(said json.RawMessage) (Answer, error) {
	var text string
	if json.Unmarshal(said, &text) == nil {
		words := strings.Fields(text)
		switch {
		case len(words) == 2 && words[0] == AnswerSignal:
			return Answer{Decision: AnswerSignal, Signal: words[1]}, nil
		case slices.Contains(q.Signals, strings.TrimSpace(text)):
			return Answer{Decision: AnswerSignal, Signal: strings.TrimSpace(text)}, nil
		case len(words) == 1:
			return Answer{Decision: words[0]}, nil
		}
		return Answer{}, fmt.Errorf("%q is no answer (say one of: %s)", clip(text), q.choices())
	}
	var a Answer
	if err := json.Unmarshal(said, &a); err != nil {
		return a, errors.New("the answer is neither a text nor an object with decision (say one of: " + q.choices() + ")")
	}
	return a, nil
}
