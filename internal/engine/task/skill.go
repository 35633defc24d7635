package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/skill"
)

// skills resolves what the task and its profile name, and pins each skill to its current version. The schemas of a skill bind the
// tasks that name it: the payload must pass its input schema, and an artifact that the task has to leave must pass its output schema.
// A skill that the profile offers may be used or not, so its schemas bind no task.
func (a *Admission) skills(faults *fault.List, in *agentruntime.TaskIntent, spec *deed.TaskSpec, typ agentruntime.TaskTypeSpec, p agentruntime.SubagentProfile) {
	spec.Skills = nil // whatever the caller wrote there
	for i, id := range in.SkillIDs {
		at := fault.Index("$.skill_ids", i)
		s := a.skill(faults, at, id, typ)
		if s == nil {
			continue
		}
		spec.Skills = append(spec.Skills, s.Pin(true))
		if s.Input != nil {
			bindInput(faults, at, s, in.Payload)
		}
		if s.Output != nil {
			bindOutput(in, spec, s)
		}
	}
	for _, id := range p.SkillIDs {
		if slices.Contains(in.SkillIDs, id) {
			continue
		}
		var own fault.List
		if s := a.skill(&own, "$", id, typ); s != nil {
			spec.Skills = append(spec.Skills, s.Pin(false))
		}
		for _, f := range own.Faults() {
			faults.Add("$.requested_profile_id", f.Code, fmt.Sprintf("profile %s names skill %q: %s", p.ProfileID, id, f.Message), f.Remedy)
		}
	}
}

// skill resolves one id and makes its version durable: from here on the task does not depend on the folder.
func (a *Admission) skill(faults *fault.List, at, id string, typ agentruntime.TaskTypeSpec) *skill.Skill {
	if len(typ.AllowedSkillIDs) > 0 && !slices.Contains(typ.AllowedSkillIDs, id) {
		faults.Add(at, fault.NotAllowed, fmt.Sprintf("task type %s does not allow %q; it allows: %s", typ.TaskType, id, strings.Join(typ.AllowedSkillIDs, ", ")), "use one of them, or add it to the type's allowed_skill_ids")
		return nil
	}
	if a.Skills == nil {
		faults.Add(at, fault.Dangling, fmt.Sprintf("no skill is installed, so %q cannot be resolved", id), "leave it out")
		return nil
	}
	f, err := a.Skills.Find(id)
	if err != nil {
		faults.Add(at, fault.Dangling, strings.ReplaceAll(err.Error(), "\n", "; "), "")
		return nil
	}
	if err := a.Skills.Keep(f.Skill); err != nil {
		faults.Add(at, fault.Dangling, err.Error(), "")
		return nil
	}
	return f.Skill
}

// bindInput checks the payload against a skill's input schema.
func bindInput(faults *fault.List, at string, s *skill.Skill, payload json.RawMessage) {
	p, err := schema.CompilePayload(s.Input)
	if err == nil {
		err = p.Check(payload)
	}
	if err == nil {
		return
	}
	list := fault.Of(err)
	if list == nil {
		faults.Add(at, fault.BadFormat, err.Error(), "")
	}
	for _, f := range list {
		faults.Add(fault.Join("$.payload", f.Path), f.Code, f.Message+", by the input schema of skill "+s.ID(), f.Remedy)
	}
}

// bindOutput asks the task for the artifact that the skill's output schema describes; the gate looks at it.
func bindOutput(in *agentruntime.TaskIntent, spec *deed.TaskSpec, s *skill.Skill) {
	name := s.OutputFile()
	all := maps.Clone(spec.ArtifactSchemas)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	all[name] = s.Output
	spec.ArtifactSchemas = all
	var e agentruntime.EvidenceRequirements
	if in.EvidenceRequirements != nil {
		e = *in.EvidenceRequirements
	}
	e.RequiredArtifacts = union(e.RequiredArtifacts, []string{name})
	in.EvidenceRequirements = &e
}
