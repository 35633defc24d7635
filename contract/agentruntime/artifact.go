package agentruntime

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

// An ArtifactRecord tracks one file that a task made.
type ArtifactRecord struct {
	ArtifactID   string       `json:"artifact_id"`
	TaskID       string       `json:"task_id"`
	Role         ArtifactRole `json:"role"`
	RelativePath string       `json:"relative_path"`
	ContentType  string       `json:"content_type,omitempty"`
	CreatedAt    Timestamp    `json:"created_at"`
	VerifiedAt   Timestamp    `json:"verified_at,omitempty"`
}
