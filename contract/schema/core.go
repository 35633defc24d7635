package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

// CoreContract returns the contract between hosts and runtime packages as one JSON document: schema ids, the members of
// every record, the vocabularies, and how they map onto each other. All of it is read from the Go types and tables, so
// that it cannot tell anything else than the code does. Keys are sorted and indented by two spaces, and a line ends it:
// the same contract is the same bytes.
func CoreContract() ([]byte, error) {
	orchestration, err := orchestration()
	if err != nil {
		return nil, err
	}
	doc := map[string]any{
		"schema":                  homeboy.SchemaCoreContract,
		"schemas":                 homeboy.SchemaNames(),
		"published_schemas":       published(),
		"records":                 records(),
		"enums":                   enums(),
		"provider_capability":     providerCapability(),
		"agent_runtime_handshake": handshake(),
		"orchestration":           orchestration,
		"redaction_defaults":      map[string]any{"metadata_keys": homeboy.RedactedMetadataKeys},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encode the core contract: %w", err)
	}
	return out.Bytes(), nil
}

// published lists the records of this contract whose JSON Schema `deed schema show` prints.
func published() []string {
	var ids []string
	for _, id := range IDs() {
		if strings.HasPrefix(id, "homeboy/") {
			ids = append(ids, id)
		}
	}
	return ids
}

func enums() map[string]any {
	return map[string]any{
		"aggregate_status":       homeboy.AggregateStatuses,
		"decision":               homeboy.Decisions,
		"execution_handle_kind":  homeboy.HandleKinds,
		"execution_state":        homeboy.ExecutionStates,
		"failure_category":       homeboy.FailureCategories,
		"failure_classification": homeboy.FailureClasses,
		"fanout_record_status":   homeboy.RecordStatuses,
		"fanout_run_status":      homeboy.FanoutStatuses,
		"outcome_status":         homeboy.OutcomeStatuses,
		"provider_status":        homeboy.ProviderStatusWords,
		"run_state":              homeboy.RunStates,
		"task_state":             homeboy.TaskStates,
		"tool_location":          homeboy.Locations,
		"workflow_step_status":   homeboy.StepStatuses,
		"workspace_mode":         homeboy.WorkspaceModes,
	}
}

func providerCapability() map[string]any {
	return map[string]any{
		"provider_schema":                  homeboy.SchemaProvider,
		"request_schema":                   homeboy.SchemaRequest,
		"outcome_schema":                   homeboy.SchemaOutcome,
		"tool_policy_schema":               homeboy.SchemaToolPolicy,
		"request_required_fields":          homeboy.RequestRequiredFields,
		"outcome_statuses":                 homeboy.OutcomeStatuses,
		"failure_classifications":          homeboy.FailureClasses,
		"redacted_metadata_keys":           homeboy.RedactedMetadataKeys,
		"executor_provider_fields":         memberNames[homeboy.ExecutorProvider](),
		"workspace_materialization_fields": memberNames[homeboy.WorkspaceMaterialization](),
		"workspace_mount_spec_fields":      memberNames[homeboy.WorkspaceMount](),
		"command_invocation_fields":        memberNames[homeboy.CommandInvocation](),
		"runner_readiness_fields":          memberNames[homeboy.ReadinessCheck](),
	}
}

func memberNames[T any]() []string {
	var names []string
	for _, f := range catalog.Fields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// handshake lists what host and package tell each other, in the order in which they do. A phase without a schema is
// the host's own business here.
func handshake() map[string]any {
	none := []string{}
	phase := func(id, provider string, required []string, refs ...string) map[string]any {
		if refs == nil {
			refs = none
		}
		return map[string]any{"id": id, "provider": provider, "required_fields": required, "schema_refs": refs}
	}
	return map[string]any{"phases": []any{
		phase("runtime_capability_manifest", "extension", []string{"schema", "id", "agent_task_executors[].id", "agent_task_executors[].backend"}, homeboy.SchemaManifest, homeboy.SchemaProvider),
		phase("readiness_checks", "extension", []string{"runner_readiness[].id", "runner_readiness[].label"}, homeboy.SchemaProvider),
		phase("materialization_plan", "homeboy", none),
		phase("secret_env_plan", "homeboy", none),
		phase("resolved_execution_contract", "homeboy", none),
		phase("result_artifact_declarations", "extension_result", []string{"schema", "status"}, homeboy.SchemaOutcome, homeboy.SchemaArtifact, homeboy.SchemaArtifactDeclaration),
	}}
}

// orchestration says what each status of a provider is to a fanout, to a sandbox and to deed.
func orchestration() (map[string]any, error) {
	toFanout := map[string]any{}
	toDeed := map[string]any{}
	for _, s := range homeboy.OutcomeStatuses {
		m, ok := s.Meaning()
		if !ok {
			return nil, fmt.Errorf("outcome status %q has no meaning", s)
		}
		toFanout[string(s)] = m.Record
		toDeed[string(s)] = map[string]any{
			"task_status": m.Task, "machine_status": m.Task.Machine(), "cause": m.Cause, "sandbox_status": m.Sandbox, "fanout_record_status": m.Record,
		}
	}
	return map[string]any{
		"agent_task_outcome_to_fanout_record_status": toFanout,
		"agent_task_outcome_to_task_outcome":         toDeed,
		"fanout_success_statuses":                    homeboy.FanoutSuccessStatuses,
		"fanout_concurrency":                         map[string]int{"default": homeboy.DefaultConcurrency, "maximum": homeboy.MaxConcurrency},
	}, nil
}

// records tells the members of every record of the contract, and of every part of one, by schema id or by type name.
func records() map[string]any {
	found := map[string]any{}
	seen := map[reflect.Type]bool{}
	for _, r := range catalog.Records {
		if r.Type.PkgPath() == homeboyPackage {
			describe(r.Type, found, seen)
		}
	}
	return found
}

var homeboyPackage = reflect.TypeFor[homeboy.Request]().PkgPath()

func describe(t reflect.Type, found map[string]any, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		describe(t.Elem(), found, seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] {
		return
	}
	seen[t] = true
	members := []any{}
	for _, f := range catalog.Fields(t) {
		m := map[string]any{"name": f.Name, "type": typeName(f.Type), "required": !f.Optional}
		if len(f.Rules.Enum) > 0 {
			m["enum"] = f.Rules.Enum
		}
		members = append(members, m)
		describe(f.Type, found, seen)
	}
	found[recordName(t)] = map[string]any{"fields": members}
}

// recordName returns the schema id of a record, or the name of a part.
func recordName(t reflect.Type) string {
	if id := catalog.SchemaID(t); id != "" {
		return id
	}
	return t.Name()
}

// typeName names a type as the contract does: a list as T[], an object with any names as {T}.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[homeboy.Value]():
		return "any"
	case t == reflect.TypeFor[homeboy.Texts]():
		return "string|string[]"
	}
	switch t.Kind() {
	case reflect.Slice:
		return typeName(t.Elem()) + "[]"
	case reflect.Map:
		return "{" + typeName(t.Elem()) + "}"
	case reflect.Struct:
		return recordName(t)
	case reflect.Int64:
		return "integer"
	case reflect.Bool:
		return "boolean"
	}
	return strings.ToLower(t.Kind().String())
}
