package ending

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// An Account is what an attempt leaves for those who ask about it: how it ended, what it changed, and what its agent
// and its checks reported. The documents of its bundle and the answers to its callers are made from it, so that no
// two of them can contradict each other.
type Account struct {
	Ending Ending

	RuntimeID     string // empty: no runtime was made
	RuntimeStatus string // as it was left; see evidence.RuntimeDestroyed
	Isolation     string // the isolation that was in force
	Started       time.Time
	Finished      time.Time

	BundleDir string // absolute, or "." inside the bundle itself; empty: there is no bundle
	BundleID  string
	Changes   evidence.ChangeSummary
	Patch     evidence.PatchSummary

	Executions int           // of the agent
	Phase      string        // the phase in which the attempt failed; empty: outside of any
	Command    string        // the agent's, as a reader may see it
	ExitCode   int           // of the agent
	Message    string        // what happened; empty: the text of the ending
	Code       string        // the failure's class in deed's own words
	Verdict    *deed.Verdict // its reasons become diagnostics
	MaxTurns   *evidence.TurnLimit
	Stdout     Tail // of the agent
	Stderr     Tail
	Judging    *Step // what the attempt failed at after the agent had done its part: a check, or the gate itself

	Outputs             json.RawMessage // an object
	StructuredArtifacts []evidence.StructuredArtifact
	Statement           json.RawMessage   // the agent's own statement, an object
	Components          []json.RawMessage // component-contract-result records
	Diagnostics         []evidence.Diagnostic

	Redactor *redact.Redactor // redacts everything that is written from the account; nil: there are no secrets
}

// A Tail is the end of a stream: its last characters, and how many bytes there were in all. The text should be longer
// than a snippet, so that a secret that the start of the tail cuts in half is not in the snippet.
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

// Summary says what happened.
func (a Account) Summary() string { return cmp.Or(a.Message, a.Ending.About) }

// Change returns what changed, with the files of the bundle that have it.
func (a Account) Change() (evidence.ChangeSummary, evidence.PatchSummary) {
	c, p := a.Changes, a.Patch
	c.Paths = list(c.Paths)
	if c.Statuses == nil {
		c.Statuses = map[string]int{}
	}
	c.Artifact, p.Artifact = a.file(evidence.PathChangedFiles), a.file(evidence.PathPatch)
	return c, p
}

// file names a file of the bundle, if there is one.
func (a Account) file(name string) string {
	if a.BundleDir == "" {
		return ""
	}
	return name
}

func (a Account) artifacts() evidence.ResultArtifacts {
	return evidence.ResultArtifacts{Directory: a.file("."), Review: a.file(evidence.PathReview), Manifest: a.file(evidence.PathManifest)}
}

// AgentResult says how the agent's executions ended and what they left.
func (a Account) AgentResult() evidence.AgentResult {
	d := a.Ending
	c, p := a.Change()
	r := evidence.AgentResult{
		Schema: evidence.SchemaAgentResult, Status: d.Agent, Actionable: d.Actionable(), Summary: a.Summary(), ChangedFiles: c, Patch: p,
		Transcript: evidence.TranscriptSummary{Artifact: a.file(evidence.PathTranscript), ExecutionCount: a.Executions}, Artifacts: a.artifacts(), Failures: []evidence.ExecutionFailure{},
	}
	if d.Agent == evidence.AgentFailed {
		r.Failures = append(r.Failures, evidence.ExecutionFailure{ExecutionIndex: max(0, a.Executions-1), Command: a.Command, ExitCode: a.ExitCode, Message: a.Summary()})
	}
	switch {
	case c.Count > 0 || p.Bytes > 0:
	case d.Agent == evidence.AgentCompleted:
		r.NoOpReason = evidence.NoOpNoFileChanges
	default:
		r.NoOpReason = evidence.NoOpExecutionFailed
	}
	return r
}

// FailedStep is what the attempt failed at: the agent, unless it had done its part. An attempt can fail though its
// command exited with 0; evidence of a failure never says 0.
func (a Account) FailedStep() Step {
	s := Step{Command: a.Command, ExitCode: a.ExitCode, Stdout: a.Stdout, Stderr: a.Stderr}
	if a.Judging != nil {
		s = *a.Judging
	}
	s.ExitCode = cmp.Or(s.ExitCode, a.Ending.Exit)
	return s
}

// CompletionOutcome says how the attempt ended and what follows from it.
func (a Account) CompletionOutcome() evidence.CompletionOutcome {
	d := a.Ending
	c, p := a.Change()
	o := evidence.CompletionOutcome{
		Schema: evidence.SchemaCompletionOutcome, Status: d.Outcome, Summary: a.Summary(), ChangedFiles: c, Patch: p, Artifacts: a.artifacts(),
		Verification: evidence.OutcomeVerification{Transcript: a.file(evidence.PathTranscript), Commands: []evidence.VerificationCommand{}, ArtifactBundle: a.BundleID},
		Blockers:     []evidence.Blocker{}, RiskNotes: []string{}, Confidence: d.Confidence, NextAction: d.NextAction,
		Provenance: evidence.OutcomeProvenance{ArtifactBundleID: a.BundleID, ArtifactDirectory: a.file(".")},
	}
	if v := a.Verdict; v != nil {
		for _, c := range v.Checks {
			o.Verification.Commands = append(o.Verification.Commands, evidence.VerificationCommand{Command: strings.Join(c.Command, " "), ExitCode: c.ExitCode})
		}
		for _, n := range v.Notes {
			o.RiskNotes = append(o.RiskNotes, n.Code+": "+n.Message)
		}
	}
	if !d.Success() {
		o.Blockers = append(o.Blockers, evidence.Blocker{Kind: cmp.Or(a.Code, d.Classification), Message: a.Summary(), Retryable: d.NextAction == evidence.NextRetry})
	} else if d.Status == evidence.StatusNoOp {
		o.RiskNotes = append(o.RiskNotes, evidence.NoOpNoFileChanges)
	}
	return o
}

// TaskResult is the result of the task, as data.
func (a Account) TaskResult() evidence.AgentTaskResult {
	t := evidence.AgentTaskResult{
		Schema: evidence.SchemaAgentTaskResult, Success: a.Ending.Success(), Status: evidence.SessionCompleted, Outputs: object(a.Outputs),
		StructuredArtifacts: list(Outputs(a.StructuredArtifacts)), Diagnostics: json.RawMessage(`{}`), Raw: json.RawMessage(`{}`),
	}
	if !t.Success {
		t.Status = evidence.SessionFailed
		t.Diagnostics = mustJSON(map[string]any{"error": map[string]string{"code": a.Ending.Classification, "message": a.Summary()}})
	}
	if fault.IsObject(a.Statement) {
		t.Raw = mustJSON(map[string]json.RawMessage{"result": a.Statement})
	}
	return t
}

// Outputs marks artifacts as outputs of a task.
func Outputs(in []evidence.StructuredArtifact) []evidence.StructuredArtifact {
	var out []evidence.StructuredArtifact
	for _, s := range in {
		s.Schema = evidence.SchemaStructuredArtifact
		p := evidence.ArtifactProvenance{}
		if s.Provenance != nil {
			p = *s.Provenance
		}
		p.Direction = evidence.DirectionOutput
		s.Provenance = &p
		out = append(out, s)
	}
	return out
}

// DiagnosticsOf lists every fault of an error with its path, and the remedy for the failure.
func DiagnosticsOf(err error) []evidence.Diagnostic {
	var out []evidence.Diagnostic
	for _, f := range fault.Of(err) {
		out = append(out, evidence.Diagnostic{Class: evidence.ClassInvalidRequest + "." + f.Code, Message: f.Message, Path: f.Path, Remedy: f.Remedy})
	}
	var f *failure.Error
	if errors.As(err, &f) && f.Remedy != "" {
		out = append(out, evidence.Diagnostic{Class: "deed." + string(f.Class), Message: f.Error(), Remedy: f.Remedy})
	}
	return out
}

// list returns a list that is encoded as [] when it is empty.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// object returns a JSON object, empty for anything else.
func object(raw json.RawMessage) json.RawMessage {
	if !fault.IsObject(raw) {
		return json.RawMessage(`{}`)
	}
	return bytes.TrimSpace(raw)
}

// mustJSON encodes what can always be encoded.
func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ending: %T cannot be written: %v", v, err))
	}
	return text
}
