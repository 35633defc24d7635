package agentruntime

import "github.com/deedrun/deed/contract/fault"

// ArtifactRole says what an artifact is for.
type ArtifactRole string

// The artifact roles.
const (
	RolePlan          ArtifactRole = "plan"
	RoleExecuteReport ArtifactRole = "execute-report"
	RoleVerifyReport  ArtifactRole = "verify-report"
	RoleOutput        ArtifactRole = "output"
	RoleSnapshot      ArtifactRole = "snapshot"
	RoleAdapterAudit  ArtifactRole = "adapter-audit"
)

// ArtifactRoles lists every role.
var ArtifactRoles = []ArtifactRole{RolePlan, RoleExecuteReport, RoleVerifyReport, RoleOutput, RoleSnapshot, RoleAdapterAudit}

// An ArtifactRecord tracks one file that a task made. Its path is relative to the managed artifact root.
type ArtifactRecord struct {
	Schema       string       `json:"schema,omitempty"`
	ArtifactID   string       `json:"artifact_id" jsonschema:"minLength=1,maxLength=512"`
	TaskID       string       `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	Role         ArtifactRole `json:"role"`
	RelativePath string       `json:"relative_path" jsonschema:"minLength=1,maxLength=4096"`
	ContentType  string       `json:"content_type,omitempty" jsonschema:"maxLength=512"`
	CreatedAt    Timestamp    `json:"created_at"`
	VerifiedAt   Timestamp    `json:"verified_at,omitempty"`
}

// Validate returns every fault of the record.
func (a ArtifactRecord) Validate() error {
	var l fault.List
	schemaIs(&l, a.Schema, SchemaArtifactRecord)
	l.Name("$.artifact_id", a.ArtifactID)
	l.Name("$.task_id", a.TaskID)
	fault.OneOf(&l, "$.role", a.Role, ArtifactRoles...)
	l.RelativePath("$.relative_path", a.RelativePath)
	l.OptionalName("$.content_type", a.ContentType)
	instant(&l, "$.created_at", a.CreatedAt)
	optionalInstant(&l, "$.verified_at", a.VerifiedAt)
	return l.Err()
}
