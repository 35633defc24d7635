// Package agentruntime holds the records of the agent-runtime vocabulary: identity, adapters, skills, sensors,
// tasks, attempts, outcomes, workflows, schedules, artifacts and events, and what happens within an attempt. It owns their wire names and the rules
// that a single record can break; it does no I/O and decides nothing about a run.
//
// Every record has a Validate method that returns all its faults at once as fault.Faults. A member without
// omitempty is required; one that is a pointer without omitempty is required and may be null. An optional member
// with its zero value is the same as an absent one. Payloads and other free-form objects stay raw JSON, so that
// their numbers survive. Any record may name its own schema id in `schema`.
package agentruntime

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the records in this package. An id never changes its meaning; a new meaning gets a new id.
const (
	SchemaAgentIdentity      = "agent-runtime/agent.identity/v1"
	SchemaAgentConstitution  = "agent-runtime/agent.constitution/v1"
	SchemaWalletIdentity     = "agent-runtime/wallet.identity/v1"
	SchemaAdapterConfig      = "agent-runtime/adapter.config/v1"
	SchemaAgentProfile       = "agent-runtime/agent.profile/v1"
	SchemaSkillManifest      = "agent-runtime/skill.manifest/v1"
	SchemaSensorEvent        = "agent-runtime/sensor.event/v1"
	SchemaTaskIntent         = "agent-runtime/task.intent/v1"
	SchemaTaskRecord         = "agent-runtime/task.record/v1"
	SchemaTaskAttempt        = "agent-runtime/task.attempt/v1"
	SchemaTaskOutcome        = "agent-runtime/task.outcome/v1"
	SchemaWorkflowDefinition = "agent-runtime/workflow.definition/v1"
	SchemaWorkflowRecord     = "agent-runtime/workflow.record/v1"
	SchemaRecurringSchedule  = "agent-runtime/schedule.record/v1"
	SchemaArtifactRecord     = "agent-runtime/artifact.record/v1"
	SchemaTaskTypeSpec       = "agent-runtime/task.type/v1"
	SchemaRuntimeEvent       = "agent-runtime/runtime.event/v1"
)

// Schema ids of the records of the narrow runtime.
const (
	SchemaTurn               = "agent-runtime/turn/v1"
	SchemaToolCall           = "agent-runtime/tool.call/v1"
	SchemaToolResult         = "agent-runtime/tool.result/v1"
	SchemaCompletionAttempt  = "agent-runtime/completion.attempt/v1"
	SchemaCompletionDecision = "agent-runtime/completion.decision/v1"
	SchemaRecoveryAttempt    = "agent-runtime/recovery.attempt/v1"
	SchemaRequiredAction     = "agent-runtime/required.action/v1"
	SchemaContextCompaction  = "agent-runtime/context.compaction/v1"
	SchemaSubagentRun        = "agent-runtime/subagent.run/v1"
	SchemaPolicyDecision     = "agent-runtime/policy.decision/v1"
	SchemaJournalEvent       = "agent-runtime/journal.event/v1"
	SchemaUsage              = "agent-runtime/usage/v1"
	SchemaAgentState         = "agent-runtime/agent.state/v1"
	SchemaRuntimeTask        = "agent-runtime/runtime.task/v1"
)

// schemaIs demands that a record which names its schema names its own.
func schemaIs(l *fault.List, got, want string) {
	if got != "" && got != want {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(got)), fmt.Sprintf("write %q or leave it out", want))
	}
}
