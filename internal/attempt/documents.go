package attempt

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/store"
)

type changeDocs struct {
	files codebox.ChangeSummary
	patch codebox.PatchSummary
}

func (a *run) changeSummary(w *bundle.Writer, files codebox.ChangedFiles) changeDocs {
	d := changeDocs{
		files: codebox.ChangeSummary{Count: len(files.Files), Paths: []string{}, Statuses: map[string]int{}, Artifact: codebox.PathChangedFiles},
		patch: codebox.PatchSummary{Artifact: codebox.PathPatch},
	}
	for _, f := range files.Files {
		d.files.Paths = append(d.files.Paths, f.Path)
		d.files.Statuses[f.Status]++
	}
	if f, size, ok := w.File(codebox.PathPatch); ok {
		d.patch.Bytes = size
		if f.SHA256 != nil {
			d.patch.SHA256 = f.SHA256.Value
		}
	}
	return d
}

var resultArtifacts = codebox.ResultArtifacts{Directory: ".", Review: codebox.PathReview, Manifest: codebox.PathManifest}

// agentResult says how the agent's execution ended. It knows nothing of the verdict.
func (a *run) agentResult(d changeDocs, e end) codebox.AgentResult {
	r := codebox.AgentResult{
		Schema: codebox.SchemaAgentResult, Status: codebox.AgentUnknown, Summary: "no agent ran", ChangedFiles: d.files, Patch: d.patch,
		Transcript: codebox.TranscriptSummary{Artifact: codebox.PathTranscript}, Artifacts: resultArtifacts, Failures: []codebox.ExecutionFailure{},
	}
	if y := a.yield; y != nil {
		r.Transcript.ExecutionCount = 1
		r.Status, r.Summary = codebox.AgentCompleted, "the agent's process ended well"
		if y.Proc.Code != 0 || y.Class != failure.None {
			r.Status, r.Summary = codebox.AgentFailed, "the agent failed: "+string(y.Class)
			msg := string(y.Class)
			if y.Err != nil {
				msg = y.Err.Error()
			}
			r.Failures = append(r.Failures, codebox.ExecutionFailure{Command: a.plan.adapter.ID(), ExitCode: y.Proc.Code, Message: msg})
		}
	} else if e.err != nil {
		r.Status, r.Summary = codebox.AgentFailed, "no agent ran: "+e.err.Error()
	}
	r.Actionable = r.Status == codebox.AgentCompleted && d.files.Count > 0
	if d.files.Count == 0 {
		r.NoOpReason = codebox.NoOpNoFileChanges
		if r.Status == codebox.AgentFailed {
			r.NoOpReason = codebox.NoOpExecutionFailed
		}
	}
	return r
}

func (a *run) completionOutcome(d changeDocs, id string, e end) codebox.CompletionOutcome {
	o := codebox.CompletionOutcome{
		Schema: codebox.SchemaCompletionOutcome, Status: codebox.OutcomeFailed, ChangedFiles: d.files, Patch: d.patch, Artifacts: resultArtifacts,
		Verification: codebox.OutcomeVerification{Transcript: codebox.PathTranscript, Commands: []codebox.VerificationCommand{}, ArtifactBundle: id},
		Blockers:     []codebox.Blocker{}, RiskNotes: []string{}, Confidence: codebox.ConfidenceHigh, NextAction: codebox.NextRetry,
		Provenance: codebox.OutcomeProvenance{ArtifactBundleID: id, ArtifactDirectory: ".", Task: map[string]any{"task_id": a.claim.Ref.TaskID, "attempt_id": a.claim.Ref.AttemptID}},
	}
	switch {
	case e.class == failure.None:
		o.Status, o.Summary, o.NextAction = codebox.OutcomeSucceeded, a.summary(), codebox.NextPromote
		if d.files.Count == 0 {
			o.NextAction = codebox.NextReview
		}
	case e.class == failure.Blocked:
		o.Status, o.NextAction = codebox.OutcomeBlocked, codebox.NextFixBlocker
	case e.class.Rule().Retry == agentruntime.RetryPermanent:
		o.NextAction = codebox.NextReview
	}
	if e.err != nil {
		o.Summary = e.err.Error()
		o.Blockers = append(o.Blockers, codebox.Blocker{Kind: string(e.class), Message: e.err.Error(), Retryable: e.class.Rule().Retry == agentruntime.RetryRetryable})
	}
	if a.verdict != nil {
		for _, c := range a.verdict.Checks {
			o.Verification.Commands = append(o.Verification.Commands, codebox.VerificationCommand{Command: strings.Join(c.Command, " "), ExitCode: c.ExitCode})
		}
		for _, n := range a.verdict.Notes {
			o.RiskNotes = append(o.RiskNotes, n.Code+": "+n.Message)
		}
	}
	return o
}

// transcriptCap bounds the text of one stream in the transcript; the whole is in its own file.
const transcriptCap = 12000

func (a *run) transcript() codebox.AgentTranscript {
	t := codebox.AgentTranscript{Schema: codebox.SchemaAgentTranscript, Executions: []codebox.Execution{}}
	y := a.yield
	if y == nil {
		return t
	}
	x := codebox.Execution{Command: a.plan.adapter.ID(), ExitCode: y.Proc.Code, Stdout: head(y.StdoutPath), Stderr: head(y.StderrPath)}
	if y.Claim != nil && json.Valid(y.Claim.Raw) {
		x.Parsed = y.Claim.Raw
	}
	t.Executions = append(t.Executions, x)
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

// sealInput is the provenance of the bundle. Nothing in it names a place on this machine.
func (a *run) sealInput(s *store.Settlement, e end) bundle.SealInput {
	kind := a.plan.spec.Isolation
	if kind == "" {
		kind = "process"
	}
	st := bundle.Statement{
		TaskID: a.claim.Ref.TaskID, AttemptID: a.claim.Ref.AttemptID, Verdict: accepted(a.verdict),
		Status: string(s.Status), Containment: kind, DeedVersion: a.Version,
	}
	if a.verdict != nil {
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
	if a.secret {
		risks = append(risks, "patch-not-applicable: a secret's value was redacted from it")
	}
	secrets := codebox.PolicyBlock{Status: codebox.PolicyNotConfigured}
	if len(a.plan.spec.SecretEnv) > 0 {
		secrets = codebox.PolicyBlock{Status: codebox.PolicyEnforced, Detail: "given by name; values are redacted from every file of this bundle"}
	}
	return bundle.SealInput{
		CreatedAt: a.Clock(),
		Runtime: codebox.Runtime{
			ID: "runtime-" + a.claim.Ref.AttemptID, Backend: bundle.Backend, CreatedAt: string(agentruntime.At(a.started)), Status: codebox.RuntimeDestroyed,
			Environment: codebox.Environment{Kind: kind, Name: a.Config.Name, Version: a.Version, OS: runtime.GOOS, Arch: runtime.GOARCH},
		},
		Task: map[string]any{
			"task_id": a.claim.Ref.TaskID, "attempt_id": a.claim.Ref.AttemptID, "task_type": a.claim.Task.Record.TaskType,
			"source": a.claim.Task.Record.Source, "subject": a.claim.Task.Intent.Subject, "description": a.claim.Task.Intent.Description,
			"fence": a.claim.Ref.Fence, "attempt": a.claim.Task.Record.AttemptCount, "spec_hash": a.plan.specHash, "brief_hash": a.brief.Hash,
		},
		Agent:     map[string]any{"adapter_id": a.plan.adapter.ID(), "kind": a.plan.adapter.Kind(), "model": a.plan.model, "profile_id": a.claim.Task.Record.RequestedProfileID, "replay_grade": a.brief.Grade},
		Workspace: a.workspaceProvenance(),
		Mounts:    []codebox.Mount{{Target: mountTarget, Mode: "readwrite"}},
		Policy: codebox.Policy{
			Network: "host", Filesystem: "host", Commands: []string{}, Secrets: "by-name", Approvals: "never",
			Enforcement: codebox.PolicyEnforcement{
				Network:    codebox.PolicyBlock{Status: codebox.PolicyNotConfigured, Detail: "containment " + kind + " does not limit the network"},
				Filesystem: codebox.PolicyBlock{Status: codebox.PolicyDeclared, Detail: "the write scope is judged by the gate; containment " + kind + " does not prevent writes elsewhere"},
				Commands:   codebox.PolicyBlock{Status: codebox.PolicyNotConfigured},
				Secrets:    secrets,
				Approvals:  codebox.PolicyBlock{Status: codebox.PolicyNotConfigured},
				Isolation:  codebox.PolicyBlock{Status: codebox.PolicyEnforced, Detail: "own process tree, clean environment, own home; ended whole"},
				Limits:     codebox.PolicyBlock{Status: codebox.PolicyEnforced, Detail: "wall time and output"},
			},
		},
		Context:   map[string]any{"class": e.class},
		Spec:      specWithoutPaths(a.plan),
		Summary:   summary,
		RiskFlags: risks,
		Statement: st,
	}
}

func (a *run) workspaceProvenance() map[string]any {
	m := map[string]any{"kind": a.seeded.Kind, "commit": a.seeded.Commit, "dirty": a.seeded.Dirty}
	if a.before != nil {
		m["base_digest"] = a.before.Digest()
	}
	if a.after != nil {
		m["after_digest"] = a.after.Digest()
	}
	return m
}

// specWithoutPaths is the pinned spec as a stranger may read it: where the source lies on this machine, and the
// adapter's command line, are nobody's business; spec_hash pins the whole.
func specWithoutPaths(p plan) any {
	s := p.spec
	s.Adapter = nil
	if s.Workspace != nil {
		w := *s.Workspace
		w.Source = ""
		s.Workspace = &w
	}
	return s
}
