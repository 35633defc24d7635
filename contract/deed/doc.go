// Package deed holds deed's own wire records: the additive fields of a task and of a task type. It owns their
// names and rules; it imports nothing of deed.
package deed

// Schema ids of the records in this package.
const (
	SchemaTaskSpec = "deed/task.spec/v1"
	SchemaTypeSpec = "deed/type.spec/v1"
	SchemaVerdict  = "deed/verdict/v1"
	SchemaConfig   = "deed/config/v1"
)
