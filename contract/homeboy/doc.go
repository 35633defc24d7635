// Package homeboy holds the wire records of the agent-runtime package contract: the request that a provider command
// reads, the outcome that it writes, the manifest that declares it, the runner spec, and the records of a fanout. It
// owns their wire names, a tolerant reader, a strict writer and the rules that a single record can break. It does no
// I/O, starts nothing and decides nothing about a run.
//
// The vocabulary is older than deed, and packages in the wild write it in several dialects. ReadRequest, ReadOutcome
// and ReadManifest take what can be understood, and tell every liberty that they took as a Warning; nothing is repaired
// in silence. Writing is strict: encoding/json gives the canonical names only, and Validate names every fault.
// encoding/json reads canonical names only too, and keeps members that it does not know.
//
// Members that a record does not know stay in its Extra, at every depth, and are written again behind the known ones.
// A list or an object that is nil is absent; one that is empty is written.
package homeboy

import (
	"fmt"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the records of a task. An id never changes its meaning.
const (
	SchemaRequest             = "homeboy/agent-task-request/v1"
	SchemaOutcome             = "homeboy/agent-task-outcome/v1"
	SchemaAggregate           = "homeboy/agent-task-aggregate/v1"
	SchemaArtifact            = "homeboy/agent-task-artifact/v1"
	SchemaArtifactDeclaration = "homeboy/agent-task-artifact-declaration/v1"
	SchemaEvidenceRef         = "homeboy/agent-task-evidence-ref/v1"
	SchemaWorkflow            = "homeboy/agent-task-workflow/v1"
	SchemaRuntimeTool         = "homeboy/agent-task-runtime-tool/v1"
	SchemaResolvedRuntimeTool = "homeboy/resolved-agent-task-runtime-tool/v1"
	SchemaToolPolicy          = "homeboy/agent-tool-policy/v1"
	SchemaCommandPolicy       = "homeboy/agent-command-policy/v1"
	SchemaRequirements        = "homeboy/agent-task-capability-requirements/v1"
	SchemaRunnerSpec          = "homeboy/agent-task-runner-spec/v1"
	SchemaCoreContract        = "homeboy/agent-task-core-contract/v1"
)

// Schema ids of a runtime package.
const (
	SchemaManifest         = "homeboy/agent-runtime-manifest/v1"
	SchemaProvider         = "homeboy/agent-task-executor-provider/v1"
	SchemaInvocation       = "homeboy/command-invocation/v1"
	SchemaRuntimeExecution = "homeboy/runtime-execution/v1"
	SchemaDeprecatedAlias  = "homeboy/deprecated-runtime-alias/v1"
)

// A Value is any JSON value, kept as it was written.
type Value = evidence.Value

// Extra holds the members of an object that its record does not know, as they were written.
type Extra map[string]Value

// ownSchema demands the record's own schema id. The writer is strict: an absent id is a fault.
func ownSchema(l *fault.List, got, want string) {
	switch got {
	case want:
	case "":
		l.Add("$.schema", fault.MissingField, "is missing", fmt.Sprintf("write %q", want))
	default:
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(got)), fmt.Sprintf("write %q", want))
	}
}

// optionalSchema is ownSchema for a nested record, which need not name its schema.
func optionalSchema(l *fault.List, at, got, want string) {
	if got != "" && got != want {
		l.Add(at+".schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(got)), fmt.Sprintf("write %q or leave it out", want))
	}
}

// clip shortens a value for a message, between characters.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	for i := range s {
		if i > most {
			return s[:i] + "…"
		}
	}
	return s
}
