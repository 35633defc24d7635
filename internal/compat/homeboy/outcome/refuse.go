package outcome

import (
	"github.com/deedrun/deed/contract/homeboy"
)

// Refused returns the outcome of a task whose provider was not started: selection, request, secrets, readiness. code is
// a dotted class of a diagnostic such as agent_task.provider_missing, and class what kind of failure it is. What no
// provider can do, or may, is failed; everything else is provider_error.
func Refused(code, message, remedy string, class homeboy.FailureClass, taskID string) homeboy.Outcome {
	phase, status := PhaseSetup, homeboy.ProviderError
	switch class {
	case homeboy.ClassCapabilityMissing, homeboy.ClassPolicyDenied:
		status = homeboy.Failed
	case homeboy.ClassInvalidInput:
		phase = PhaseRequest
	}
	o := homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: taskID, Status: status, Summary: message, FailureClassification: class}
	data := map[string]any{"phase": phase}
	if remedy != "" {
		data["remedy"] = remedy
	}
	addDiagnostic(&o, code, message, data)
	refer(&o, code)
	return o
}
