package attempt

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

type changeDocs struct {
	files evidence.ChangeSummary
	patch evidence.PatchSummary
}

func (a *run) changeSummary(w *bundle.Writer, files evidence.ChangedFiles) changeDocs {
	d := changeDocs{
		files: evidence.ChangeSummary{Count: len(files.Files), Paths: []string{}, Statuses: map[string]int{}, Artifact: evidence.PathChangedFiles},
		patch: evidence.PatchSummary{Artifact: evidence.PathPatch},
	}
	for _, f := range files.Files {
		d.files.Paths = append(d.files.Paths, f.Path)
		d.files.Statuses[f.Status]++
	}
	if f, size, ok := w.File(evidence.PathPatch); ok {
		d.patch.Bytes = size
		if f.SHA256 != nil {
			d.patch.SHA256 = f.SHA256.Value
		}
	}
	return d
}

// completionOutcome adds the task to the outcome of the account.
func (a *run) completionOutcome(r ending.Account) evidence.CompletionOutcome {
	o := r.CompletionOutcome()
	o.Provenance.Task = map[string]any{"task_id": a.claim.Ref.TaskID, "attempt_id": a.claim.Ref.AttemptID}
	return o
}

// transcriptCap bounds the text of one stream in the transcript; the whole is in its own file.
const transcriptCap = 12000

func (a *run) transcript() evidence.AgentTranscript {
	t := evidence.AgentTranscript{Schema: evidence.SchemaAgentTranscript, Executions: []evidence.Execution{}}
	for _, y := range a.conversation.yields {
		x := evidence.Execution{Command: a.plan.adapter.ID(), ExitCode: y.Proc.Code, Stdout: head(y.StdoutPath), Stderr: head(y.StderrPath)}
		if y.Claim != nil && json.Valid(y.Claim.Raw) {
			x.Parsed = y.Claim.Raw
		}
		t.Executions = append(t.Executions, x)
	}
	return t
}

func head(file string) string {
	if file == "" {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, transcriptCap+1)
	n, _ := f.Read(buf)
	s := strings.ToValidUTF8(string(buf[:min(n, transcriptCap)]), "\uFFFD")
	if n > transcriptCap {
		s += "\n[deed: cut; the whole is in its own file]"
	}
	return s
}

// sealInput is the provenance of the bundle. It names no path of this machine.
func (a *run) sealInput(s *store.Settlement, e end) bundle.SealInput {
	kind := string(a.plan.kind)
	st := bundle.Statement{
		TaskID: a.claim.Ref.TaskID, AttemptID: a.claim.Ref.AttemptID, Verdict: accepted(a.verdict),
		Status: string(s.Status), Containment: kind, DeedVersion: a.Version,
	}
	if a.verdict != nil {
		st.Grade = a.verdict.Grade
		for _, r := range a.verdict.Reasons {
			if !slices.Contains(st.Reasons, r.Code) {
				st.Reasons = append(st.Reasons, r.Code)
			}
		}
	}
	summary := s.LastError
	if s.Outcome != nil {
		summary = s.Outcome.OperatorSummary
	}
	var risks []string
	if a.secret || len(a.leaks.report.Findings) > 0 {
		risks = append(risks, "patch-not-applicable: a secret's value was redacted from it")
	}
	return bundle.SealInput{
		CreatedAt: a.Clock(),
		Runtime: evidence.Runtime{
			ID: "runtime-" + a.claim.Ref.AttemptID, Backend: bundle.Backend, CreatedAt: string(agentruntime.At(a.started)), Status: evidence.RuntimeDestroyed,
			Environment: evidence.Environment{Kind: kind, Name: a.Config.Name, Version: a.Version, OS: runtime.GOOS, Arch: runtime.GOARCH},
		},
		Task: map[string]any{
			"task_id": a.claim.Ref.TaskID, "attempt_id": a.claim.Ref.AttemptID, "task_type": a.claim.Task.Record.TaskType,
			"source": a.claim.Task.Record.Source, "subject": a.claim.Task.Intent.Subject, "description": a.claim.Task.Intent.Description,
			"fence": a.claim.Ref.Fence, "attempt": a.claim.Task.Record.AttemptCount, "spec_hash": a.plan.specHash, "brief_hash": a.brief.Hash,
		},
		Agent: a.plan.agent.provenance(map[string]any{
			"adapter_id": a.plan.adapter.ID(), "kind": a.plan.adapter.Kind(), "model": a.plan.model, "profile_id": a.claim.Task.Record.RequestedProfileID, "replay_grade": a.brief.Grade,
			"variant_id": a.brief.Variant.ID, "agent_def_version": a.brief.Variant.AgentDefVersion, "skills": a.brief.Variant.Skills,
		}),
		Workspace: a.workspaceProvenance(),
		Mounts:    a.mountRecords(),
		Policy:    a.policy(),
		Context:   a.context(e),
		Spec:      specWithoutPaths(a.plan),
		Summary:   summary,
		RiskFlags: risks,
		Actions:   a.offers(),
		Statement: st,
	}
}

// offers lists what a reviewer may do. A change that deed would not apply is not offered for applying.
func (a *run) offers() []evidence.ReviewAction {
	if a.verdict != nil && a.verdict.Accepted && a.plan.spec.ApplyBack != deed.ApplyBackDisabled {
		return nil // as the change has it
	}
	return []evidence.ReviewAction{{Kind: "discard", Label: "Discard the change"}}
}

// context returns what else a reader of the metadata may want to know.
func (a *run) context(e end) map[string]any {
	m := map[string]any{"class": e.class}
	if a.runtime.stack.Schema != "" {
		m["runtime"] = a.runtimeRecord()
	}
	return m
}

func (a *run) workspaceProvenance() map[string]any {
	main := a.main()
	m := map[string]any{"kind": main.Kind, "commit": main.Commit, "dirty": main.Dirty, "method": a.seeded.Method(), "parts": a.seeded.Parts}
	if a.before != nil {
		m["base_digest"] = a.before.Digest()
	}
	if a.after != nil {
		m["after_digest"] = a.after.Digest()
	}
	return m
}

// specWithoutPaths is the pinned spec as others may read it. The location of the source on this machine and the
// adapter's command line are private; spec_hash pins the whole spec.
func specWithoutPaths(p plan) deed.TaskSpec {
	s := p.spec
	s.Adapter = nil
	s.Checks = slices.Clone(s.Checks)
	for i := range s.Checks {
		s.Checks[i].Files = ""
	}
	if s.Workspace != nil {
		w := unplaced(*s.Workspace)
		s.Workspace = &w
	}
	s.Workspaces = slices.Clone(s.Workspaces)
	for i, w := range s.Workspaces {
		s.Workspaces[i] = unplaced(w)
	}
	if s.Sandbox != nil {
		box := *s.Sandbox
		box.Mounts = slices.Clone(box.Mounts)
		for i, m := range box.Mounts {
			box.Mounts[i] = deed.Mount{Target: m.Inside()}
		}
		box.Runtime = withoutSources(box.Runtime)
		s.Sandbox = &box
	}
	return s
}

func unplaced(w deed.Workspace) deed.Workspace {
	w.Source, w.Bundle, w.Earlier = "", "", nil
	return w
}

// mountRecords lists what the agent saw besides the system, by its path inside.
func (a *run) mountRecords() []evidence.Mount {
	out := []evidence.Mount{}
	add := func(target, mode string) {
		out = append(out, evidence.Mount{Index: len(out), Target: target, Mode: mode})
	}
	all := a.plan.spec.Sandbox != nil && a.plan.spec.Sandbox.ReadOnlyWorkspace
	for _, p := range a.seeded.Parts {
		mode := codebox.ModeReadwrite
		if all || a.plan.readOnly(p.Index) {
			mode = codebox.ModeReadonly
		}
		add(p.Target, mode)
	}
	if a.plan.contained() && a.plan.spec.Sandbox != nil {
		for _, m := range a.plan.spec.Sandbox.Mounts {
			add(m.Inside(), codebox.ModeReadonly)
		}
	}
	for _, m := range a.runtime.resolved.Mounts {
		add(m.Target, codebox.ModeReadonly)
	}
	return out
}
