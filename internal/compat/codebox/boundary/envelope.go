package boundary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/ending"
)

// A Place is a directory of this machine that readers of an envelope must not see, and the text that replaces it.
type Place struct{ Dir, Name string }

// A Run is what an envelope is built from: the account of an attempt, and the request that it answers.
type Run struct {
	ending.Account

	Request        codebox.TaskRequest // as Read returned it; only its goal may be missing, if it could not be read
	RunID          string
	AgentSessionID string                // the agent's conversation, if it has one
	Refs           []codebox.ArtifactRef // in addition to those of every bundle; paths are relative to the bundle
	Metadata       json.RawMessage       // an object
	Hide           []Place
}

// defaultPhase is the phase of a run that failed before or after its agent.
const defaultPhase = "agent-task-run"

// Envelope builds the answer to a request. Its parts agree with each other and contain neither a secret nor a hidden
// place. An error means that the data of the run cannot be encoded, and that there is no envelope.
func Envelope(r Run) (codebox.AgentTaskRun, error) {
	r.hide()
	d := r.Ending
	env := codebox.AgentTaskRun{
		Success: d.Success(), Schema: codebox.SchemaAgentTaskRun, Status: envelopeStatus(d), Session: r.session(), WP: r.Request.WP, Artifacts: r.BundleDir,
		AgentResult: r.AgentResult(), CompletionOutcome: r.CompletionOutcome(), AgentTaskResult: r.TaskResult(), TerminalResult: r.terminal(),
		ComponentContracts: r.Components, StructuredArtifacts: ending.Outputs(r.StructuredArtifacts), RunMetadata: r.runMetadata(),
		Diagnostics: r.diagnostics(), Run: r.record(),
	}
	if r.Request.Goal != "" {
		t := TaskInput(r.Request)
		env.TaskInput = &t
	}
	if fault.IsObject(r.Outputs) {
		env.Outputs = r.Outputs
	}
	if fault.IsObject(r.Metadata) {
		env.Metadata = r.Metadata
	}
	if !d.Success() {
		env.FailureEvidence = r.failureEvidence(env.Diagnostics)
	}
	env.EvidenceRefs = r.evidenceRefs(env)
	plain := env
	if err := r.Redactor.Value(&env); err != nil {
		return codebox.AgentTaskRun{}, fmt.Errorf("redact the envelope: %w", err)
	}
	restoreWords(&env, plain)
	// The normalised result is what an orchestrator derives from the envelope itself.
	text, err := json.Marshal(env)
	if err != nil {
		return codebox.AgentTaskRun{}, fmt.Errorf("write the envelope: %w", err)
	}
	if env.AgentTaskRunResult, err = Normalise(text, d.Exit); err != nil {
		return codebox.AgentTaskRun{}, err
	}
	if err := env.Validate(); err != nil {
		return codebox.AgentTaskRun{}, fmt.Errorf("check the envelope: %w", err)
	}
	return env, nil
}

// restoreWords restores the fixed words of every envelope. If a secret happens to be one of them, such as "failed",
// showing the word does not reveal it, and without these words there would be no envelope. Both arguments have the
// same shape.
func restoreWords(env *codebox.AgentTaskRun, plain codebox.AgentTaskRun) {
	env.Schema, env.Status = plain.Schema, plain.Status
	env.Session.Schema, env.Session.Status, env.Session.Persistence = plain.Session.Schema, plain.Session.Status, plain.Session.Persistence
	env.AgentResult.Schema, env.AgentResult.Status = plain.AgentResult.Schema, plain.AgentResult.Status
	o, from := &env.CompletionOutcome, plain.CompletionOutcome
	o.Schema, o.Status, o.Confidence, o.NextAction = from.Schema, from.Status, from.Confidence, from.NextAction
	env.AgentTaskResult.Schema, env.AgentTaskResult.Status = plain.AgentTaskResult.Schema, plain.AgentTaskResult.Status
	t, told := &env.TerminalResult, plain.TerminalResult
	t.Schema, t.Status, t.Source, t.FailureClassification = told.Schema, told.Status, told.Source, told.FailureClassification
	env.RunMetadata.RunStatus, env.Run.Status = plain.RunMetadata.RunStatus, plain.Run.Status
	if env.TaskInput != nil {
		to, from := env.TaskInput, plain.TaskInput
		to.Schema, to.SandboxToolPolicy.Schema = from.Schema, from.SandboxToolPolicy.Schema
		for i, t := range from.SandboxToolPolicy.Tools {
			rule := &to.SandboxToolPolicy.Tools[i]
			rule.ExecutionLocation, rule.TransportVisibility, rule.Runtime = t.ExecutionLocation, t.TransportVisibility, t.Runtime
		}
	}
	for _, list := range []struct{ to, from []evidence.StructuredArtifact }{
		{env.StructuredArtifacts, plain.StructuredArtifacts},
		{env.AgentTaskResult.StructuredArtifacts, plain.AgentTaskResult.StructuredArtifacts},
	} {
		for i := range list.to {
			list.to[i].Schema, list.to[i].Provenance.Direction = list.from[i].Schema, list.from[i].Provenance.Direction
		}
	}
	for i := range env.Run.ArtifactRefs {
		env.Run.ArtifactRefs[i].Kind = plain.Run.ArtifactRefs[i].Kind
	}
	for i := range env.EvidenceRefs {
		env.EvidenceRefs[i].Kind = plain.EvidenceRefs[i].Kind
	}
	if env.FailureEvidence != nil {
		env.FailureEvidence.Schema = plain.FailureEvidence.Schema
	}
}

func (r Run) session() codebox.SandboxSession {
	s := codebox.SandboxSession{
		Schema: codebox.SchemaSandboxSession, ID: r.sessionID(), Status: sessionStatus(r.Ending), Persistence: codebox.PersistenceExternal,
		AgentSessionID: cmp.Or(r.AgentSessionID, r.Request.SessionID), Orchestrator: r.Request.Orchestrator, CallbackData: r.Request.CallbackData,
	}
	if r.BundleDir != "" {
		s.Artifacts = &codebox.SessionArtifacts{Directory: r.BundleDir, BundleID: r.BundleID}
	}
	return s
}

// envelopeStatus returns the status of the envelope.
func envelopeStatus(e ending.Ending) string {
	if e.Status == evidence.StatusSucceeded {
		return evidence.StatusCompleted
	}
	return e.Status
}

// sessionStatus returns the status of the session.
func sessionStatus(e ending.Ending) string {
	switch {
	case e.Success():
		return evidence.SessionCompleted
	case e.Run == evidence.RunCancelled:
		return evidence.SessionCancelled
	}
	return evidence.SessionFailed
}

// sessionID is the caller's own id of the run.
func (r Run) sessionID() string {
	if id := r.Request.SandboxSessionID; id != "" {
		return id
	}
	o, err := parse(object(r.Request.Orchestrator))
	if err != nil {
		return ""
	}
	return o.text("agent_task_id")
}

func (r Run) terminal() evidence.TerminalResult {
	d := r.Ending
	return evidence.TerminalResult{
		Schema: evidence.SchemaTerminalResult, Terminal: true, Status: d.Terminal, Success: d.Success(), Source: "canonical",
		FailureClassification: d.Classification, MaxTurns: r.MaxTurns, EvidenceRefs: []evidence.EvidenceRef{},
	}
}

func (r Run) runMetadata() codebox.RunMetadata {
	m := codebox.RunMetadata{
		RunID: r.RunID, RunStatus: r.Ending.Run, RuntimeID: r.RuntimeID, RuntimeStatus: r.RuntimeStatus,
		SandboxSessionID: r.sessionID(), Orchestrator: r.Request.Orchestrator,
	}
	if p, err := parse(object(r.Request.ParentRequest)); err == nil {
		m.ParentRequestSchema = p.text("schema")
	}
	return m
}

func (r Run) record() codebox.RunRecord {
	rec := codebox.RunRecord{RunID: r.RunID, Status: r.Ending.Run, Isolation: r.Isolation}
	if !r.Started.IsZero() && !r.Finished.IsZero() {
		rec.StartedAt, rec.FinishedAt = instant(r.Started), instant(r.Finished)
		rec.DurationMS = max(0, r.Finished.Sub(r.Started).Milliseconds())
	}
	if r.BundleDir == "" {
		return rec
	}
	_, p := r.Change()
	rec.ArtifactRefs = append([]codebox.ArtifactRef{
		{Kind: codebox.RefArtifactBundle, ID: r.BundleID, Path: r.BundleDir},
		{Kind: codebox.RefChangedFiles, Path: evidence.PathChangedFiles},
		{Kind: codebox.RefPatch, Path: evidence.PathPatch, SHA256: p.SHA256, SizeBytes: &p.Bytes},
		{Kind: codebox.RefTranscript, Path: evidence.PathTranscript},
		{Kind: codebox.RefRuntimeLog, Path: evidence.PathRuntimeLog},
		{Kind: codebox.RefCommandLog, Path: evidence.PathCommandsLog},
	}, r.Refs...)
	return rec
}

func (r Run) evidenceRefs(env codebox.AgentTaskRun) []evidence.EvidenceRef {
	refs := []evidence.EvidenceRef{}
	if dir := r.BundleDir; dir != "" {
		refs = append(
			refs,
			evidence.EvidenceRef{Kind: codebox.RefArtifacts, URI: dir, Label: "Evidence bundle"},
			evidence.EvidenceRef{Kind: codebox.RefManifest, URI: dir + "/" + evidence.PathManifest, Label: "Manifest"},
			evidence.EvidenceRef{Kind: codebox.RefReview, URI: dir + "/" + evidence.PathReview, Label: "Review"},
			evidence.EvidenceRef{Kind: codebox.RefPatch, URI: dir + "/" + evidence.PathPatch, Label: "Patch"},
		)
	}
	refs = append(refs, evidence.EvidenceRef{Kind: codebox.RefTerminalResult, Label: "Terminal result", Metadata: mustJSON(env.TerminalResult)})
	if f := env.FailureEvidence; f != nil {
		refs = append(refs, evidence.EvidenceRef{
			Kind: codebox.RefTaskFailureEvidence, Label: "Failure evidence",
			Metadata: mustJSON(map[string]any{"phase": f.Phase, "exit_code": f.ExitCode, "message": f.Message}),
		})
	}
	return refs
}

// diagnostics lists what a reader should know, starting with why the run is not a success.
func (r Run) diagnostics() []evidence.Diagnostic {
	out := []evidence.Diagnostic{}
	if d := r.Ending; !d.Success() && d.Classification != ending.ClassInvalidRequest {
		s := r.FailedStep()
		out = append(out, evidence.Diagnostic{
			Class: evidence.ClassRunFailed, Message: r.Summary(),
			Data: mustJSON(map[string]any{"exit_code": s.ExitCode, "phase": r.phase(), "command": s.Command, "failure_classification": d.Classification}),
		})
	}
	if v := r.Verdict; v != nil {
		for _, reason := range v.Reasons {
			out = append(out, evidence.Diagnostic{Class: evidence.ClassGateReason + "." + reason.Code, Message: reason.Message, Path: reason.Path})
		}
	}
	return append(out, r.Diagnostics...)
}

func (r Run) phase() string { return cmp.Or(r.Phase, defaultPhase) }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// mustJSON encodes what can always be encoded.
func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("boundary: %T cannot be written: %v", v, err))
	}
	return text
}
