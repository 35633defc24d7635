package agentruntime

import "github.com/deedrun/deed/contract/deed"

// A TaskTypeSpec is a task type as data: what its tasks carry, who runs them and what counts as success.
type TaskTypeSpec struct {
	TaskType         string         `json:"task_type"`
	PayloadSchemaID  string         `json:"payload_schema_id"`
	DefaultProfileID string         `json:"default_profile_id,omitempty"`
	DefaultAdapterID string         `json:"default_adapter_id,omitempty"`
	DefaultModel     string         `json:"default_model,omitempty"`
	AllowedSkillIDs  []string       `json:"allowed_skill_ids,omitempty"`
	ArtifactRoles    []string       `json:"artifact_roles,omitempty"`
	SuccessPolicy    *SuccessPolicy `json:"success_policy,omitempty"`
	Deed             *deed.TypeSpec `json:"deed,omitempty"` // deed's own fields
}

// A SuccessPolicy adds evidence requirements to every task of a type.
type SuccessPolicy struct {
	RequireArtifacts         bool `json:"require_artifacts,omitempty"`
	RequireAdapterAudit      bool `json:"require_adapter_audit,omitempty"`
	VerifyClaimedFileChanges bool `json:"verify_claimed_file_changes,omitempty"`
}
