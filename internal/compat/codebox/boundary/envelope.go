package boundary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A Tail is the end of a stream: its last characters, and how many bytes there were in all. The text should reach
// further back than a snippet does, so that a secret that is cut in half by the tail's own start is not in the snippet.
type Tail struct {
	Text  string
	Bytes int64 // of the whole stream
	Cut   bool  // the text is not all of it
}

// A Step is a command of a run, and how it ended.
type Step struct {
	Command        string
	ExitCode       int
	Stdout, Stderr Tail
}

// A Place is a directory of this machine that no reader of an envelope needs to know, and what is written instead.
type Place struct{ Dir, Name string }

// A Run is what an envelope is built from.
type Run struct {
	Request  codebox.TaskRequest // as Read returned it; only its goal may be missing, when it could not be read
	Decision Decision

	RunID          string
	RuntimeID      string // empty: no runtime was made
	RuntimeStatus  string // as it was left; see evidence.RuntimeDestroyed
	AgentSessionID string // the agent's conversation, where it has one
	Isolation      string // the containment that held
	Started        time.Time
	Finished       time.Time

	BundleDir string // absolute; empty: there is no bundle
	BundleID  string
	Changes   evidence.ChangeSummary
	Patch     evidence.PatchSummary
	Refs      []codebox.ArtifactRef // beside those that every bundle has; paths are relative to it

	Executions int           // of the agent
	Phase      string        // in which the run failed; empty: agent-task-run
	Command    string        // the agent's, as a reader may see it
	ExitCode   int           // of the agent
	Message    string        // what happened; empty: what the decision says
	Code       string        // the failure's class in deed's own words
	Verdict    *deed.Verdict // its reasons become diagnostics
	MaxTurns   *codebox.TurnLimit
	Stdout     Tail // of the agent
	Stderr     Tail
	Judging    *Step // what the run failed by after the agent had done its part: a check, or the gate itself

	Outputs             json.RawMessage // an object
	StructuredArtifacts []codebox.StructuredArtifact
	Claim               json.RawMessage   // the agent's own word, an object
	Components          []json.RawMessage // component-contract-result records
	Diagnostics         []codebox.Diagnostic
	Metadata            json.RawMessage // an object

	Redactor *redact.Redactor // stands before the whole envelope; nil: there are no secrets
	Hide     []Place
}

// defaultPhase is the phase of a run that failed before or after its agent.
const defaultPhase = "agent-task-run"

// Envelope builds the answer to a request. Its parts agree with each other and hold neither a secret nor a hidden
// place. An error means that what the run brought cannot be written, and that there is no envelope.
func Envelope(r Run) (codebox.AgentTaskRun, error) {
	r.hide()
	d := r.Decision
	env := codebox.AgentTaskRun{
		Success: d.Success(), Schema: codebox.SchemaAgentTaskRun, Status: d.Envelope(), Session: r.session(), WP: r.Request.WP, Artifacts: r.BundleDir,
		AgentResult: AgentResult(r), CompletionOutcome: CompletionOutcome(r), AgentTaskResult: TaskResult(r), TerminalResult: r.terminal(),
		ComponentContracts: r.Components, StructuredArtifacts: outputs(r.StructuredArtifacts), RunMetadata: r.runMetadata(),
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
	// The normalised result is what an orchestrator makes of the envelope itself.
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

// restoreWords puts back the words that every envelope has: a secret that happens to be one of them, such as "failed",
// is not given away by it, and without them there would be no envelope. Both have the same shape.
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
	for _, list := range []struct{ to, from []codebox.StructuredArtifact }{
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

// message says what happened.
func (r Run) message() string { return cmp.Or(r.Message, r.Decision.About) }

func (r Run) session() codebox.SandboxSession {
	s := codebox.SandboxSession{
		Schema: codebox.SchemaSandboxSession, ID: r.sessionID(), Status: r.Decision.Session(), Persistence: codebox.PersistenceExternal,
		AgentSessionID: cmp.Or(r.AgentSessionID, r.Request.SessionID), Orchestrator: r.Request.Orchestrator, CallbackData: r.Request.CallbackData,
	}
	if r.BundleDir != "" {
		s.Artifacts = &codebox.SessionArtifacts{Directory: r.BundleDir, BundleID: r.BundleID}
	}
	return s
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

func (r Run) changes() (evidence.ChangeSummary, evidence.PatchSummary) {
	c, p := r.Changes, r.Patch
	c.Paths = list(c.Paths)
	if c.Statuses == nil {
		c.Statuses = map[string]int{}
	}
	c.Artifact, p.Artifact = r.file(evidence.PathChangedFiles), r.file(evidence.PathPatch)
	return c, p
}

// file names a file of the bundle, if there is one.
func (r Run) file(name string) string {
	if r.BundleDir == "" {
		return ""
	}
	return name
}

func (r Run) artifacts() evidence.ResultArtifacts {
	return evidence.ResultArtifacts{Directory: r.file("."), Review: r.file(evidence.PathReview), Manifest: r.file(evidence.PathManifest)}
}

// AgentResult says how the agent's executions ended and what they left.
func AgentResult(r Run) evidence.AgentResult {
	d := r.Decision
	c, p := r.changes()
	a := evidence.AgentResult{
		Schema: evidence.SchemaAgentResult, Status: d.Agent, Actionable: d.Actionable(), Summary: r.message(), ChangedFiles: c, Patch: p,
		Transcript: evidence.TranscriptSummary{Artifact: r.file(evidence.PathTranscript), ExecutionCount: r.Executions}, Artifacts: r.artifacts(), Failures: []evidence.ExecutionFailure{},
	}
	if d.Agent == evidence.AgentFailed {
		a.Failures = append(a.Failures, evidence.ExecutionFailure{ExecutionIndex: max(0, r.Executions-1), Command: r.Command, ExitCode: r.ExitCode, Message: r.message()})
	}
	switch {
	case c.Count > 0 || p.Bytes > 0:
	case d.Agent == evidence.AgentCompleted:
		a.NoOpReason = evidence.NoOpNoFileChanges
	default:
		a.NoOpReason = evidence.NoOpExecutionFailed
	}
	return a
}

// failedStep is what a run failed by: the agent, unless it had done its part. A run can fail though its command ended with 0; evidence of
// a failure never says 0.
func (r Run) failedStep() Step {
	s := Step{Command: r.Command, ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr}
	if r.Judging != nil {
		s = *r.Judging
	}
	s.ExitCode = cmp.Or(s.ExitCode, r.Decision.Exit)
	return s
}

// CompletionOutcome says how the run ended and what follows from it.
func CompletionOutcome(r Run) evidence.CompletionOutcome {
	d := r.Decision
	c, p := r.changes()
	o := evidence.CompletionOutcome{
		Schema: evidence.SchemaCompletionOutcome, Status: d.Outcome, Summary: r.message(), ChangedFiles: c, Patch: p, Artifacts: r.artifacts(),
		Verification: evidence.OutcomeVerification{Transcript: r.file(evidence.PathTranscript), Commands: []evidence.VerificationCommand{}, ArtifactBundle: r.BundleID},
		Blockers:     []evidence.Blocker{}, RiskNotes: []string{}, Confidence: d.Confidence, NextAction: d.NextAction,
		Provenance: evidence.OutcomeProvenance{ArtifactBundleID: r.BundleID, ArtifactDirectory: r.file(".")},
	}
	if v := r.Verdict; v != nil {
		for _, c := range v.Checks {
			o.Verification.Commands = append(o.Verification.Commands, evidence.VerificationCommand{Command: strings.Join(c.Command, " "), ExitCode: c.ExitCode})
		}
		for _, n := range v.Notes {
			o.RiskNotes = append(o.RiskNotes, n.Code+": "+n.Message)
		}
	}
	if !d.Success() {
		o.Blockers = append(o.Blockers, evidence.Blocker{Kind: cmp.Or(r.Code, d.Classification), Message: r.message(), Retryable: d.NextAction == evidence.NextRetry})
	} else if d.Status == codebox.StatusNoOp {
		o.RiskNotes = append(o.RiskNotes, evidence.NoOpNoFileChanges)
	}
	return o
}

// TaskResult is what the task gave, as data.
func TaskResult(r Run) codebox.AgentTaskResult {
	t := codebox.AgentTaskResult{
		Schema: codebox.SchemaAgentTaskResult, Success: r.Decision.Success(), Status: codebox.SessionCompleted, Outputs: object(r.Outputs),
		StructuredArtifacts: list(outputs(r.StructuredArtifacts)), Diagnostics: json.RawMessage(`{}`), Raw: json.RawMessage(`{}`),
	}
	if !t.Success {
		t.Status = codebox.SessionFailed
		t.Diagnostics = mustJSON(map[string]any{"error": map[string]string{"code": r.Decision.Classification, "message": r.message()}})
	}
	if fault.IsObject(r.Claim) {
		t.Raw = mustJSON(map[string]json.RawMessage{"result": r.Claim})
	}
	return t
}

// outputs marks artifacts as what came out of a task.
func outputs(in []codebox.StructuredArtifact) []codebox.StructuredArtifact {
	var out []codebox.StructuredArtifact
	for _, a := range in {
		a.Schema = codebox.SchemaStructuredArtifact
		p := codebox.ArtifactProvenance{}
		if a.Provenance != nil {
			p = *a.Provenance
		}
		p.Direction = codebox.DirectionOutput
		a.Provenance = &p
		out = append(out, a)
	}
	return out
}

func (r Run) terminal() codebox.TerminalResult {
	d := r.Decision
	return codebox.TerminalResult{
		Schema: codebox.SchemaTerminalResult, Terminal: true, Status: d.Terminal, Success: d.Success(), Source: "canonical",
		FailureClassification: d.Classification, MaxTurns: r.MaxTurns, EvidenceRefs: []codebox.EvidenceRef{},
	}
}

func (r Run) runMetadata() codebox.RunMetadata {
	m := codebox.RunMetadata{
		RunID: r.RunID, RunStatus: r.Decision.Run, RuntimeID: r.RuntimeID, RuntimeStatus: r.RuntimeStatus,
		SandboxSessionID: r.sessionID(), Orchestrator: r.Request.Orchestrator,
	}
	if p, err := parse(object(r.Request.ParentRequest)); err == nil {
		m.ParentRequestSchema = p.text("schema")
	}
	return m
}

func (r Run) record() codebox.RunRecord {
	rec := codebox.RunRecord{RunID: r.RunID, Status: r.Decision.Run, Isolation: r.Isolation}
	if !r.Started.IsZero() && !r.Finished.IsZero() {
		rec.StartedAt, rec.FinishedAt = instant(r.Started), instant(r.Finished)
		rec.DurationMS = max(0, r.Finished.Sub(r.Started).Milliseconds())
	}
	if r.BundleDir == "" {
		return rec
	}
	_, p := r.changes()
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

func (r Run) evidenceRefs(env codebox.AgentTaskRun) []codebox.EvidenceRef {
	refs := []codebox.EvidenceRef{}
	if dir := r.BundleDir; dir != "" {
		refs = append(
			refs,
			codebox.EvidenceRef{Kind: codebox.RefArtifacts, URI: dir, Label: "Evidence bundle"},
			codebox.EvidenceRef{Kind: codebox.RefManifest, URI: dir + "/" + evidence.PathManifest, Label: "Manifest"},
			codebox.EvidenceRef{Kind: codebox.RefReview, URI: dir + "/" + evidence.PathReview, Label: "Review"},
			codebox.EvidenceRef{Kind: codebox.RefPatch, URI: dir + "/" + evidence.PathPatch, Label: "Patch"},
		)
	}
	refs = append(refs, codebox.EvidenceRef{Kind: codebox.RefTerminalResult, Label: "Terminal result", Metadata: mustJSON(env.TerminalResult)})
	if f := env.FailureEvidence; f != nil {
		refs = append(refs, codebox.EvidenceRef{
			Kind: codebox.RefTaskFailureEvidence, Label: "Failure evidence",
			Metadata: mustJSON(map[string]any{"phase": f.Phase, "exit_code": f.ExitCode, "message": f.Message}),
		})
	}
	return refs
}

// diagnostics lists what a reader should know: why the run is no success first.
func (r Run) diagnostics() []codebox.Diagnostic {
	out := []codebox.Diagnostic{}
	if d := r.Decision; !d.Success() && d.Classification != ClassInvalidRequest {
		s := r.failedStep()
		out = append(out, codebox.Diagnostic{
			Class: codebox.ClassRunFailed, Message: r.message(),
			Data: mustJSON(map[string]any{"exit_code": s.ExitCode, "phase": r.phase(), "command": s.Command, "failure_classification": d.Classification}),
		})
	}
	if v := r.Verdict; v != nil {
		for _, reason := range v.Reasons {
			out = append(out, codebox.Diagnostic{Class: codebox.ClassGateReason + "." + reason.Code, Message: reason.Message, Path: reason.Path})
		}
	}
	return append(out, r.Diagnostics...)
}

func (r Run) phase() string { return cmp.Or(r.Phase, defaultPhase) }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// mustJSON writes what can always be written.
func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("boundary: %T cannot be written: %v", v, err))
	}
	return text
}
