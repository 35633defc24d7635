package brief

import (
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// The replay grades: how far the same brief can be expected to give the same work.
const (
	GradeInputsFrozen  = "inputs_frozen"        // a deterministic driver on inputs that are pinned
	GradeBestEffort    = "best_effort"          // some input cannot be restored
	GradeModelInvolved = "non_replayable_model" // the inputs are pinned, and a model takes part
)

// A Replay is a grade with its reasons.
type Replay struct {
	Grade   string   `json:"grade"`
	Reasons []string `json:"reasons"`
}

// replay derives the grade. An input that is not pinned weighs more than a model: without it, not even the question
// is the same. What a program reads by itself while it works is not an input of the brief; the isolation says what it
// could reach.
func (f *frozen) replay() Replay {
	reasons := append([]string{}, f.Unpinned...)
	for _, a := range f.Artifacts {
		if a.Digest == "" {
			reasons = append(reasons, "an artifact of an earlier step could not be read: "+a.Path)
		}
	}
	switch {
	case len(reasons) > 0:
		return Replay{GradeBestEffort, reasons}
	case f.Adapter.Kind != agentruntime.KindScript:
		return Replay{GradeModelInvolved, []string{"an adapter of kind " + f.Adapter.Kind + " has a model answer"}}
	}
	return Replay{GradeInputsFrozen, []string{"a script, on inputs that are pinned by content"}}
}

// A Variant is what evolves behind a profile: which skills in which versions, by which definition of the agent. Attempts with one
// brief hash and one variant id can be compared.
type Variant struct {
	ID              string         `json:"variant_id"`
	AgentDefVersion string         `json:"agent_def_version"`
	Skills          []VariantSkill `json:"skills"`
}

// A VariantSkill is a skill of the lineage. A skill that names no version has its digest for one.
type VariantSkill struct {
	ID      string `json:"skill_id"`
	Version string `json:"skill_version"`
	Digest  string `json:"digest"`
}

// variant is the lineage. The definition of an agent is who it is, its constitution and its profile; its version is a hash of them.
func (f *frozen) variant() (Variant, error) {
	v := Variant{Skills: []VariantSkill{}}
	def := struct {
		Identity     *identityPart                `json:"identity,omitempty"`
		Constitution *constitutionPart            `json:"constitution,omitempty"`
		Profile      agentruntime.SubagentProfile `json:"profile"`
	}{f.Identity, f.Constitution, f.Profile}
	hash, err := canonjson.HashIn("deed/agent-def/v1", def)
	if err != nil {
		return v, fmt.Errorf("hash the agent's definition: %w", err)
	}
	v.AgentDefVersion = "sha256:" + hash
	for _, s := range f.Skills {
		version := s.Version
		if version == "" {
			version = s.Digest
		}
		v.Skills = append(v.Skills, VariantSkill{s.ID, version, s.Digest})
	}
	if hash, err = canonjson.HashIn("deed/variant/v1", v); err != nil {
		return v, fmt.Errorf("hash the variant: %w", err)
	}
	v.ID = "sha256:" + hash
	return v, nil
}
