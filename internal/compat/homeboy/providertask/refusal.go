package providertask

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
)

// The codes of refusals that come neither from a selection nor from the driver. Programs decide by these.
const (
	RequirementsInvalid  = "agent_task.capability_requirements_invalid"
	RunnerCapability     = "agent_task.runner_capability_unavailable"
	ToolCapability       = "agent_task.attached_tool_capability_unavailable"
	ExecutionUnavailable = "agent_task.runtime_execution_unavailable"
	WorkspaceUnavailable = "agent_task.workspace_unavailable"
	WorkspaceDirty       = "agent_task.workspace_dirty"
	BackendAmbiguous     = "agent_task.default_backend_ambiguous"
	IsolationUnavailable = "agent_task.isolation_unavailable"
	ProjectPackage       = "agent_task.project_package_untrusted"
)

const (
	unknownTask           = "unknown-task" // the task id in outcomes of requests without an id
	maxDirtyFilesNamed    = 20
	maxReasonsInASentence = 10
)

// A Refusal is why a request is not run. Nothing was started.
type Refusal struct {
	Code    string
	Class   homeboy.FailureClass
	Status  homeboy.OutcomeStatus // empty: derived from the class
	Message string
	Remedy  string
	Faults  fault.Faults   // each is reported with its path
	Data    map[string]any // for programs
	Infra   bool           // this machine is at fault, and not the request
}

func (r *Refusal) Error() string {
	if r.Remedy == "" {
		return r.Message
	}
	return r.Message + " (" + r.Remedy + ")"
}

// Outcome returns the refusal as the outcome of a task.
func (r *Refusal) Outcome(taskID string) homeboy.Outcome {
	if strings.TrimSpace(taskID) == "" {
		taskID = unknownTask
	}
	o := outcome.Refused(r.Code, r.Message, r.Remedy, r.Class, taskID)
	if r.Status != "" {
		o.Status = r.Status
	}
	if len(r.Data) > 0 && len(o.Diagnostics) > 0 {
		o.Diagnostics[0].Data = with(o.Diagnostics[0].Data, r.Data)
	}
	for _, f := range r.Faults {
		o.Diagnostics = append(o.Diagnostics, homeboy.Diagnostic{
			Class: r.Code, Message: f.String(), Data: mustValue(map[string]any{"path": f.Path, "code": f.Code, "remedy": f.Remedy, "phase": outcome.PhaseRequest}),
		})
	}
	return o
}

// with adds members to an object.
func with(object homeboy.Value, members map[string]any) homeboy.Value {
	all := map[string]any{}
	if len(object) > 0 && json.Unmarshal(object, &all) != nil {
		return object
	}
	for k, v := range members {
		all[k] = v
	}
	return mustValue(all)
}

// mustValue encodes what deed built itself, which can always be encoded.
func mustValue(v any) homeboy.Value {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// invalid refuses a request for its faults.
func invalid(faults fault.Faults) *Refusal {
	var all []string
	for i, f := range faults {
		if i == maxReasonsInASentence {
			all = append(all, "…")
			break
		}
		all = append(all, f.String())
	}
	return &Refusal{Code: packaged.CodeRequestInvalid, Class: homeboy.ClassInvalidInput, Message: "the request cannot be used: " + strings.Join(all, "; "), Faults: faults}
}

// refusalOf reads an error as a refusal. Any other error keeps deed from answering, and the caller has to report it.
func refusalOf(err error) (*Refusal, bool) {
	var (
		own     *Refusal
		sel     *runtimepkg.SelectError
		secrets *runtimepkg.SecretsMissing
		driven  *driver.Refusal
		f       *failure.Error
	)
	switch {
	case errors.As(err, &own):
		return own, true
	case errors.As(err, &sel):
		r := &Refusal{Code: sel.Code, Class: sel.Class(), Message: sel.Message, Remedy: sel.Remedy, Data: map[string]any{"candidates": sel.Candidates}}
		if len(sel.Missing) > 0 {
			r.Data["missing_capabilities"] = sel.Missing
		}
		return r, true
	case errors.As(err, &driven):
		r := &Refusal{Code: driven.Code, Class: homeboy.FailureClass(driven.Class), Message: driven.Error()}
		if errors.As(err, &f) {
			r.Remedy = f.Remedy
		}
		return r, true
	case errors.As(err, &secrets):
		return &Refusal{Code: runtimepkg.SecretEnvMissing, Class: homeboy.ClassInvalidInput, Status: homeboy.ProviderError, Message: secrets.Error()}, true
	case len(fault.Of(err)) > 0:
		return invalid(fault.Of(err)), true
	case errors.As(err, &f) && f.Class == failure.Isolation:
		return &Refusal{Code: IsolationUnavailable, Class: homeboy.ClassProvider, Message: f.Err.Error(), Remedy: f.Remedy, Infra: true}, true
	case errors.As(err, &f) && f.Class == failure.Config:
		return &Refusal{Code: packaged.CodeRequestInvalid, Class: homeboy.ClassInvalidInput, Message: f.Err.Error(), Remedy: f.Remedy}, true
	}
	return nil, false
}
