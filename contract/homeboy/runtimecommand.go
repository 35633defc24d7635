package homeboy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaRuntimeCommand is the schema id of a RuntimeCommandRequest. deed gave the request its name: the contract says what it
// holds, and not what it is called.
const SchemaRuntimeCommand = "homeboy/runtime-command-request/v1"

// CapabilityRuntimeCommand is what a provider declares that runs commands of its runtime.
const CapabilityRuntimeCommand = "runtime_command_execution"

// InputRuntimeCommand is the member of a request's inputs that holds the command.
const InputRuntimeCommand = "runtime_command"

// A RuntimeCommandRequest asks a runtime package to carry out one of its own commands, by a stable id. What comes back is an
// Outcome.
type RuntimeCommandRequest struct {
	Schema         string                `json:"schema" jsonschema:"minLength=1"`
	TaskID         string                `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	RuntimePackage RuntimePackageRef     `json:"runtime_package"`
	Recipe         *RuntimeRecipe        `json:"recipe,omitempty"`
	CommandID      string                `json:"command_id" jsonschema:"minLength=1,maxLength=512"`
	Args           Value                 `json:"args,omitempty"`      // an object or a list; no shell sees it
	EnvNames       []string              `json:"env_names,omitempty"` // variables that the runtime may read; the host resolves their values
	Workspace      *Workspace            `json:"workspace,omitempty"`
	Limits         *Limits               `json:"limits,omitempty"`
	Artifacts      []ArtifactDeclaration `json:"artifacts,omitempty"` // what it is to make
	Metadata       Value                 `json:"metadata,omitempty"`
	Extra          Extra                 `json:"-"`
}

// A RuntimePackageRef names the package that owns a command.
type RuntimePackageRef struct {
	ID      string `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Ref     string `json:"ref,omitempty"`     // the revision that it must be at
	Version string `json:"version,omitempty"` // the version that its manifest must have
	Extra   Extra  `json:"-"`
}

// A RuntimeRecipe says from what the runtime is made.
type RuntimeRecipe struct {
	Pack  string `json:"pack,omitempty"`
	Name  string `json:"name,omitempty"`
	Path  string `json:"path,omitempty"`
	Ref   string `json:"ref,omitempty"`
	Extra Extra  `json:"-"`
}

// ReadRuntimeCommand reads a request as tolerantly as it can. It returns an error only for what is not one JSON object, or
// for another schema; Validate tells the rest.
func ReadRuntimeCommand(data []byte) (RuntimeCommandRequest, []Warning, error) {
	var q RuntimeCommandRequest
	r, err := document(data, &q)
	if err != nil {
		return RuntimeCommandRequest{}, nil, fmt.Errorf("read runtime command: %w", err)
	}
	if q.Schema == "" {
		q.Schema = SchemaRuntimeCommand
		r.warn("$.schema", WarnMissing, "is missing; it is taken as "+SchemaRuntimeCommand, nil)
	}
	return q, r.all(), nil
}

// widen takes a bare name for a package.
func (p *RuntimePackageRef) widen(raw Value) Value { return wide("id", raw) }

// Validate returns every fault of the request.
func (q RuntimeCommandRequest) Validate() error {
	var l fault.List
	ownSchema(&l, q.Schema, SchemaRuntimeCommand)
	l.Name("$.task_id", q.TaskID)
	l.Name("$.runtime_package.id", q.RuntimePackage.ID)
	l.Name("$.command_id", q.CommandID)
	if t := strings.TrimSpace(string(q.Args)); t != "" && t != "null" && t[0] != '{' && t[0] != '[' {
		l.Add("$.args", fault.BadFormat, "is neither an object nor a list", "write the arguments by name, or in their order")
	}
	for i, name := range q.EnvNames {
		l.EnvName(fault.Index("$.env_names", i), name)
	}
	if q.Workspace != nil {
		l.Within("$.workspace", q.Workspace.Validate())
	}
	if q.Limits != nil {
		l.Within("$.limits", q.Limits.Validate())
	}
	artifactDeclarations(&l, "$.artifacts", q.Artifacts)
	return l.Err()
}

// Request returns the agent-task request that carries the command: the package's own provider runs it if it declares the
// capability. args stay as they were written.
func (q RuntimeCommandRequest) Request() (Request, error) {
	command := map[string]any{"schema": q.Schema, "runtime_package": q.RuntimePackage, "command_id": q.CommandID, "env_names": append([]string{}, q.EnvNames...)}
	if q.Recipe != nil {
		command["recipe"] = q.Recipe
	}
	if command["args"] = q.Args; len(q.Args) == 0 {
		command["args"] = map[string]any{}
	}
	inputs, err := json.Marshal(map[string]any{InputRuntimeCommand: command})
	if err != nil {
		return Request{}, fmt.Errorf("write runtime command: %w", err)
	}
	return Request{
		Schema: SchemaRequest, TaskID: q.TaskID, Instructions: fmt.Sprintf("Run the command %s of the runtime package %s.", q.CommandID, q.RuntimePackage.ID),
		Executor: Executor{
			Backend: q.RuntimePackage.ID, RuntimeSelection: &RuntimeSelection{RuntimeID: q.RuntimePackage.ID},
			RequiredCapabilities: []string{CapabilityRuntimeCommand}, SecretEnv: q.EnvNames, Config: map[string]Value{},
		},
		Inputs: inputs, Workspace: q.Workspace, Limits: q.Limits, ArtifactDeclarations: q.Artifacts, Metadata: q.Metadata, Extra: q.Extra,
	}, nil
}

// MarshalJSON writes canonical members, then unknown ones.
func (q RuntimeCommandRequest) MarshalJSON() ([]byte, error) { return writeObject(q) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (q *RuntimeCommandRequest) UnmarshalJSON(data []byte) error { return readObject(data, q) }

// MarshalJSON writes canonical members, then unknown ones.
func (p RuntimePackageRef) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *RuntimePackageRef) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RuntimeRecipe) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RuntimeRecipe) UnmarshalJSON(data []byte) error { return readObject(data, r) }
