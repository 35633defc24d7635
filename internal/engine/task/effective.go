package task

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
)

// Effective merges the task type's part into a task's own: lists are joined, since a type's checks and
// protections hold for all its tasks, and single values are taken from the task where it gives one.
func Effective(own *deed.TaskSpec, typ agentruntime.TaskTypeSpec) deed.TaskSpec {
	var s deed.TaskSpec
	if own != nil {
		s = *own
	}
	s.Schema = deed.SchemaTaskSpec
	if t := typ.Deed; t != nil {
		s.ProtectedPaths = union(s.ProtectedPaths, t.ProtectedPaths)
		s.Checks = append(slices.Clone(t.Checks), s.Checks...)
		if len(t.ArtifactSchemas) > 0 { // the type's hold, whatever the task says
			all := maps.Clone(s.ArtifactSchemas)
			if all == nil {
				all = map[string]json.RawMessage{}
			}
			maps.Copy(all, t.ArtifactSchemas)
			s.ArtifactSchemas = all
		}
		s.RequireGrade = deed.StrongestGrade(s.RequireGrade, t.RequireGrade)
		if s.MaxAttempts == 0 {
			s.MaxAttempts = t.MaxAttempts
		}
		if s.RequireChanges == nil && t.RequireChanges {
			s.RequireChanges = &t.RequireChanges
		}
		if s.AcceptEmptyOutput == nil && t.AcceptEmptyOutput {
			s.AcceptEmptyOutput = &t.AcceptEmptyOutput
		}
	}
	if p := typ.SuccessPolicy; p != nil && p.RequireArtifacts {
		s.RequireArtifacts = true
	}
	return s
}

// evidence folds a type's success policy into the task's requirements, which travel with it.
func evidence(own *agentruntime.EvidenceRequirements, p *agentruntime.SuccessPolicy) *agentruntime.EvidenceRequirements {
	if p == nil {
		return own
	}
	var e agentruntime.EvidenceRequirements
	if own != nil {
		e = *own
	}
	e.RequireAdapterAudit = e.RequireAdapterAudit || p.RequireAdapterAudit
	e.RequireFileChangeVerification = e.RequireFileChangeVerification || p.VerifyClaimedFileChanges
	if e.RequiredArtifacts == nil && !e.RequireAdapterAudit && !e.RequireFileChangeVerification {
		return own
	}
	return &e
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
