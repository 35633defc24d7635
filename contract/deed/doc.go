// Package deed holds deed's own wire records: the additive fields of a task, of a task type and of a workflow, the gate's verdict,
// the adapter's audit and the lines of a progress stream. It owns their names and the rules that a single record can break; it does no I/O.
package deed

// Schema ids of the records in this package.
const (
	SchemaTaskSpec = "deed/task.spec/v1"
	SchemaTypeSpec = "deed/type.spec/v1"
	SchemaVerdict  = "deed/verdict/v1"
	SchemaConfig   = "deed/config/v1"

	SchemaWorkflowSpec = "deed/workflow.spec/v1"
	SchemaStateSpec    = "deed/workflow.state/v1"
	SchemaGoalPayload  = "deed/payload.goal/v1"
)
