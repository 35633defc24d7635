package outcome

import (
	"encoding/json"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// A Phase says in which part of a run a diagnostic of deed's arose. It is the member phase of the diagnostic's data.
type Phase string

// The phases.
const (
	PhaseSetup   Phase = "setup"              // the provider could not be started here
	PhaseRequest Phase = "request_validation" // what was asked for cannot be done
	PhaseRun     Phase = "execution"          // the provider ran, and something was wrong with it or with its answer
	PhaseTimeout Phase = "timeout"            // a limit of time was reached
	PhaseCancel  Phase = "cancelled"          // somebody ended it
	PhaseNoOp    Phase = "no_op"              // all went well and nothing was changed
	PhaseGate    Phase = "gate"               // deed judged what was done
)

// evidenceKind is what every outcome that deed built points at.
const evidenceKind = "agent-task-provider"

// addDiagnostic adds a diagnostic.
func addDiagnostic(o *homeboy.Outcome, class, message string, data map[string]any) {
	if strings.TrimSpace(message) == "" {
		message = class
	}
	o.Diagnostics = append(o.Diagnostics, homeboy.Diagnostic{Class: class, Message: message, Data: value(data)})
}

// refer adds the reference that every outcome has which deed built, once.
func refer(o *homeboy.Outcome, class string) {
	ref := homeboy.EvidenceRef{Kind: evidenceKind, URI: "homeboy://agent-task/" + class}
	for _, e := range o.EvidenceRefs {
		if e.Kind == ref.Kind && e.URI == ref.URI {
			return
		}
	}
	o.EvidenceRefs = append(o.EvidenceRefs, ref)
}

// value writes what deed made itself, which can always be written.
func value(v any) homeboy.Value {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// encode is value for an outcome. It is asked itself: what asks it on behalf of others reads its text once more.
func encode(o homeboy.Outcome) homeboy.Value {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil
	}
	return text
}
