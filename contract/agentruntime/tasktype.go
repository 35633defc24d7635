package agentruntime

import (
	"fmt"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// A TaskTypeSpec is a task type as data: what its tasks carry, who runs them and what counts as success.
type TaskTypeSpec struct {
	Schema           string         `json:"schema,omitempty"`
	TaskType         string         `json:"task_type" jsonschema:"minLength=1,maxLength=512"`
	PayloadSchemaID  string         `json:"payload_schema_id" jsonschema:"minLength=1,maxLength=512"`
	DefaultProfileID string         `json:"default_profile_id,omitempty" jsonschema:"maxLength=512"`
	DefaultAdapterID string         `json:"default_adapter_id,omitempty" jsonschema:"maxLength=512"`
	DefaultModel     string         `json:"default_model,omitempty" jsonschema:"maxLength=512"`
	AllowedSkillIDs  []string       `json:"allowed_skill_ids,omitempty"`
	ArtifactRoles    []string       `json:"artifact_roles,omitempty" jsonschema:"enum=plan,enum=execute-report,enum=verify-report,enum=output,enum=snapshot,enum=adapter-audit"`
	SuccessPolicy    *SuccessPolicy `json:"success_policy,omitempty"`
	Deed             *deed.TypeSpec `json:"deed,omitempty"` // deed's own fields
}

// A SuccessPolicy adds evidence requirements to every task of a type.
type SuccessPolicy struct {
	RequireArtifacts         bool `json:"require_artifacts,omitempty"`
	RequireAdapterAudit      bool `json:"require_adapter_audit,omitempty"`
	VerifyClaimedFileChanges bool `json:"verify_claimed_file_changes,omitempty"`
}

// Validate returns every fault of the record.
func (t TaskTypeSpec) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTaskTypeSpec)
	l.Name("$.task_type", t.TaskType)
	l.Name("$.payload_schema_id", t.PayloadSchemaID)
	l.OptionalName("$.default_profile_id", t.DefaultProfileID)
	l.OptionalName("$.default_adapter_id", t.DefaultAdapterID)
	l.OptionalName("$.default_model", t.DefaultModel)
	l.Names("$.allowed_skill_ids", t.AllowedSkillIDs)
	for i, role := range t.ArtifactRoles {
		fault.OneOf(&l, fault.Index("$.artifact_roles", i), ArtifactRole(role), ArtifactRoles...)
		for _, earlier := range t.ArtifactRoles[:i] {
			if earlier == role {
				l.Add(fault.Index("$.artifact_roles", i), fault.Duplicate, fmt.Sprintf("%q is there twice", clip(role)), "name it once")
				break
			}
		}
	}
	if t.Deed != nil {
		l.Within("$.deed", t.Deed.Validate())
	}
	return l.Err()
}
