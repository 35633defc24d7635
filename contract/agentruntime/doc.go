// Package agentruntime holds the records of the agent-runtime vocabulary: identity, adapters, skills, sensors,
// tasks, attempts, outcomes, workflows, schedules, artifacts and events. It owns their wire names and the rules
// that a single record can break; it does no I/O and decides nothing about a run.
package agentruntime

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
