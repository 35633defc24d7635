package homeboy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// A RunnerSpec says who runs the tasks of a caller and within which limits, before there is a task. It has no default
// backend.
type RunnerSpec struct {
	Schema               string                `json:"schema" jsonschema:"minLength=1"`
	Executor             Executor              `json:"executor"`
	Limits               *Limits               `json:"limits,omitempty"`
	ExpectedArtifacts    []string              `json:"expected_artifacts,omitempty"`
	ArtifactDeclarations []ArtifactDeclaration `json:"artifact_declarations,omitempty"`
	Extra                Extra                 `json:"-"`
}

// Validate returns every fault of the spec. CheckRunnerSpec gives the one that the contract names first.
func (s RunnerSpec) Validate() error {
	var l fault.List
	ownSchema(&l, s.Schema, SchemaRunnerSpec)
	l.Within("$.executor", s.Executor.Validate())
	if s.Limits != nil {
		l.Within("$.limits", s.Limits.Validate())
	}
	l.Names("$.expected_artifacts", s.ExpectedArtifacts)
	artifactDeclarations(&l, "$.artifact_declarations", s.ArtifactDeclarations)
	return l.Err()
}

// A RunnerSpecError is the first fault of a runner spec. Its words are part of the contract: callers compare them.
type RunnerSpecError string

// Error returns the words of the contract.
func (e RunnerSpecError) Error() string { return string(e) }

// CheckRunnerSpec returns the first fault of a runner spec with the message that callers of this contract know, or nil.
// The order is part of the contract.
func CheckRunnerSpec(data []byte) error {
	_, err := runnerSpecMembers(data)
	return err
}

func runnerSpecMembers(data []byte) (map[string]Value, error) {
	spec, err := split(data)
	if err != nil {
		return nil, RunnerSpecError("runner spec must be an object.")
	}
	executor, objectErr := split(spec["executor"])
	for _, rule := range []struct {
		holds   bool
		message string
	}{
		{text(spec["schema"]) == SchemaRunnerSpec, "runner spec schema must be " + SchemaRunnerSpec + "."},
		{objectErr == nil, "runner spec executor is required."},
		{text(executor["backend"]) != "", "runner spec executor.backend is required."},
		{executor["runtime"].Null() || text(executor["runtime"]) != "", "runner spec executor.runtime is required."},
		{isObject(executor["config"]), "runner spec executor.config is required."},
		{optionalList(executor["secret_env"]), "runner spec executor.secret_env must be an array."},
		{spec["limits"].Null() || isObject(spec["limits"]), "runner spec limits must be an object."},
		{optionalList(spec["expected_artifacts"]), "runner spec expected_artifacts must be an array."},
		{optionalList(spec["artifact_declarations"]), "runner spec artifact_declarations must be an array."},
	} {
		if !rule.holds {
			return nil, RunnerSpecError(rule.message)
		}
	}
	return spec, nil
}

func optionalList(raw Value) bool {
	t := bytes.TrimSpace(raw)
	return raw.Null() || t[0] == '['
}

// A RunnerProjection is the part of a runner spec that goes into a request.
type RunnerProjection struct {
	Executor             Executor              `json:"executor"`
	Limits               *Limits               `json:"limits,omitempty"`
	ArtifactDeclarations []ArtifactDeclaration `json:"artifact_declarations,omitempty"`
	ExpectedArtifacts    []string              `json:"expected_artifacts,omitempty"`
}

// ProjectRunnerSpec checks a runner spec and returns what of it goes into a request. Everything else is dropped.
func ProjectRunnerSpec(data []byte) (RunnerProjection, []Warning, error) {
	spec, err := runnerSpecMembers(data)
	if err != nil {
		return RunnerProjection{}, nil, err
	}
	for name := range spec {
		switch name {
		case "executor", "limits", "artifact_declarations", "expected_artifacts":
		default:
			delete(spec, name)
		}
	}
	rest, err := json.Marshal(spec)
	if err != nil {
		return RunnerProjection{}, nil, err
	}
	var p RunnerProjection
	r, err := document(rest, &p)
	if err != nil {
		return RunnerProjection{}, nil, err
	}
	return p, r.all(), nil
}

// Apply sets the projected members of a request.
func (p RunnerProjection) Apply(q *Request) {
	q.Executor = p.Executor
	q.Limits = p.Limits
	q.ArtifactDeclarations = p.ArtifactDeclarations
	q.ExpectedArtifacts = p.ExpectedArtifacts
}

// RunnerSpecInput is what callers know when they build a runner spec. Config and Backend are required.
type RunnerSpecInput struct {
	Config               map[string]Value
	Backend              string
	Runtime              string
	SecretEnv            []string
	Limits               Limits
	TimeoutMS            int64
	TaskTimeoutSeconds   int64
	MaxRuntimeMS         int64
	ArtifactDeclarations []ArtifactDeclaration
	ExpectedArtifacts    []string
}

// BuildRunnerSpec makes a runner spec. Blank entries of lists are dropped. A limit in seconds becomes one in
// milliseconds and stays beside it, for executors that know only the older one.
func BuildRunnerSpec(in RunnerSpecInput) (RunnerSpec, error) {
	if in.Config == nil {
		return RunnerSpec{}, RunnerSpecError("config is required.")
	}
	limits := in.Limits
	if in.TaskTimeoutSeconds > 0 && in.TaskTimeoutSeconds <= maxSeconds {
		limits.TaskTimeoutSeconds = in.TaskTimeoutSeconds
		limits.TimeoutMS = in.TaskTimeoutSeconds * 1000
	}
	if in.TimeoutMS > 0 {
		limits.TimeoutMS = in.TimeoutMS
	}
	if in.MaxRuntimeMS > 0 {
		limits.MaxRuntimeMS = in.MaxRuntimeMS
	}
	s := RunnerSpec{
		Schema:               SchemaRunnerSpec,
		Executor:             Executor{Backend: in.Backend, Runtime: in.Runtime, Config: in.Config, SecretEnv: nonBlank(in.SecretEnv)},
		Limits:               &limits,
		ExpectedArtifacts:    nonBlank(in.ExpectedArtifacts),
		ArtifactDeclarations: in.ArtifactDeclarations,
	}
	if len(s.Executor.SecretEnv) == 0 {
		s.Executor.SecretEnv = nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return RunnerSpec{}, err
	}
	return s, CheckRunnerSpec(data)
}

func nonBlank(in []string) []string {
	if in == nil {
		return nil
	}
	out := []string{}
	for _, s := range in {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
