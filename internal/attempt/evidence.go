package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/crashpoint"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/journal"
	"github.com/deedrun/deed/internal/store"
)

// pathSettlement is the bundle's copy of what will be settled. A crash between the two loses nothing: the next
// sweep finds the bundle, checks its signature and settles with this.
const (
	pathSettlement = "files/settlement.json"
	kindSettlement = "settlement"
	pathBrief      = "files/attempt/brief.json"
	kindBrief      = "attempt-brief"
	kindArtifact   = "artifact"
	mountTarget    = "/workspace"
)

// publish adds what is known at the end, signs the bundle and gives it its name.
func (a *run) publish(ctx context.Context, s *store.Settlement, e end) (bundle.Sealed, error) {
	if a.evidence == nil {
		if err := a.collect(); err != nil {
			return bundle.Sealed{}, err
		}
	}
	w := a.evidence
	if err := a.conclude(w, s, e); err != nil {
		return bundle.Sealed{}, errors.Join(err, w.Abort())
	}
	crashpoint.Hit(crashpoint.SettlementWritten)
	return w.Seal(ctx, a.sealInput(s, e))
}

// collect begins the bundle with what the agent left: the change, its output, its artifacts. It happens before any
// code that the agent wrote runs again as a check; the writer remembers what it hashed, so that a file that is changed
// afterwards makes a bundle that does not verify, never one that lies.
func (a *run) collect() error {
	w, err := bundle.Create(a.Home.Bundle(a.claim.Ref.AttemptID), bundle.Options{Redactor: a.redactor, Key: a.Key})
	if err != nil {
		return err
	}
	err = w.AddJSON(codebox.PathChangedFiles, codebox.KindChangedFiles, a.changedFiles())
	for _, add := range []func(*bundle.Writer) error{a.addPatch, a.addAttemptFiles, a.addArtifacts} {
		if err == nil {
			err = add(w)
		}
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	a.evidence = w
	return nil
}

// conclude adds what deed says: what happened, the verdict and what will be settled.
func (a *run) conclude(w *bundle.Writer, s *store.Settlement, e end) error {
	a.note("settling", map[string]any{"status": s.Status, "class": s.Class})
	entries := a.entries()
	change := a.changeSummary(w, a.changedFiles())
	id, _, err := w.ContentID()
	if err != nil {
		return err
	}
	type doc struct {
		path, kind string
		value      any
	}
	docs := []doc{
		{codebox.PathTestResults, codebox.KindTestResults, testResults()},
		{codebox.PathAgentResult, codebox.KindAgentResult, a.agentResult(change, e)},
		{codebox.PathCompletionOutcome, codebox.KindCompletionOutcome, a.completionOutcome(change, id, e)},
		{codebox.PathTranscript, codebox.KindAgentTranscript, a.transcript()},
		{pathSettlement, kindSettlement, s},
	}
	if a.verdict != nil {
		docs = append(docs, doc{bundle.PathVerdict, bundle.KindVerdict, a.verdict})
	}
	for _, d := range docs {
		if err := w.AddJSON(d.path, d.kind, d.value); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		path, kind, contentType string
		data                    []byte
	}{
		{codebox.PathEvents, codebox.KindEvents, codebox.TypeNDJSON, lines(entries)},
		{codebox.PathCommands, codebox.KindCommands, codebox.TypeNDJSON, lines(a.commandList())},
		{codebox.PathObservations, codebox.KindObservations, codebox.TypeNDJSON, lines(a.observations())},
		{codebox.PathRuntimeLog, codebox.KindLog, codebox.TypeText, runtimeLog(entries)},
		{codebox.PathCommandsLog, codebox.KindLog, codebox.TypeText, commandLog(a.commandList())},
	} {
		if err := w.AddBytes(f.path, f.kind, f.contentType, f.data); err != nil {
			return err
		}
	}
	return nil
}

// entries is what events.jsonl is made of: what this process noted itself, or, for an attempt that another process
// began, what its journal has.
func (a *run) entries() []journal.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// lines encodes one JSON document per line.
func lines[T any](list []T) []byte {
	var b bytes.Buffer
	for _, v := range list {
		b.Write(mustJSON(v))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func runtimeLog(entries []journal.Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s", e.At, e.Kind)
		if len(e.Detail) > 0 {
			b.WriteByte(' ')
			b.Write(e.Detail)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func commandLog(list []command) []byte {
	var b bytes.Buffer
	for _, c := range list {
		fmt.Fprintf(&b, "[%s] %s\n  exit %d in %s\n", c.Role, strings.Join(c.Argv, " "), c.ExitCode, time.Duration(c.DurationMS)*time.Millisecond)
	}
	return b.Bytes()
}

// commandList is every process that deed started, the agent first.
func (a *run) commandList() []command {
	var out []command
	if y := a.yield; y != nil {
		c := command{
			Role: "agent", Name: a.plan.adapter.ID(), ExitCode: y.Proc.Code, Signal: y.Proc.Signal, TimedOut: y.Proc.TimedOut,
			DurationMS: y.Proc.Duration.Milliseconds(), Stdout: bundle.PathStdout, Stderr: bundle.PathStderr, KilledLeft: y.Proc.Killed,
		}
		if inv, ok := y.Diagnostics["invocation"].(driver.Invocation); ok {
			c.Argv, c.Cwd = inv.Argv, mountTarget
			c.Env = names(inv.Env)
		}
		out = append(out, c)
	}
	return append(out, a.commands...)
}

// An observation is a fact that deed measured.
type observation struct {
	Kind   string `json:"kind"`
	Detail any    `json:"detail"`
}

func (a *run) observations() []observation {
	var out []observation
	add := func(kind string, detail any) { out = append(out, observation{kind, detail}) }
	if a.before != nil {
		add("workspace_before", map[string]any{"digest": a.before.Digest(), "entries": len(a.before.Entries), "kind": a.seeded.Kind, "commit": a.seeded.Commit, "dirty": a.seeded.Dirty})
	}
	if a.after != nil {
		add("workspace_after", map[string]any{"digest": a.after.Digest(), "entries": len(a.after.Entries)})
		for _, c := range a.changes.Changes {
			add("change", map[string]any{"path": c.Path, "status": c.Status, "class": c.Class, "reason": c.Reason})
		}
	}
	if y := a.yield; y != nil {
		add("process", map[string]any{
			"exit_code": y.Proc.Code, "signal": y.Proc.Signal, "timed_out": y.Proc.TimedOut, "duration_ms": y.Proc.Duration.Milliseconds(),
			"max_rss_bytes": y.Proc.MaxRSS, "user_ms": y.Proc.UserTime.Milliseconds(), "system_ms": y.Proc.SystemTime.Milliseconds(),
			"killed_after_end": y.Proc.Killed,
		})
	}
	return out
}

// changedFiles is the change list of the contract. What the patch does not carry is listed with its class.
func (a *run) changedFiles() codebox.ChangedFiles {
	out := codebox.ChangedFiles{Schema: codebox.SchemaChangedFiles, Files: []codebox.ChangedFile{}}
	for _, f := range a.changes.Files() {
		out.Files = append(out.Files, codebox.ChangedFile{
			Path: path.Join(mountTarget, f.RelativePath), RelativePath: f.RelativePath, Status: f.Status,
			BeforeSHA256: f.BeforeSHA256, BeforeMode: f.BeforeMode, AfterSHA256: f.AfterSHA256, AfterMode: f.AfterMode,
			MountTarget: mountTarget, PatchPath: codebox.PathPatch,
		})
	}
	return out
}

func (a *run) addPatch(w *bundle.Writer) error {
	if a.patch == "" {
		return w.AddBytes(codebox.PathPatch, codebox.KindPatch, codebox.TypeDiff, nil)
	}
	return w.AddFile(codebox.PathPatch, codebox.KindPatch, codebox.TypeDiff, a.patch)
}

// testResults is unknown: no structured test ran. A check's exit code is in the verdict, and it is not a count of
// tests.
func testResults() codebox.TestResults {
	return codebox.TestResults{
		Schema: codebox.SchemaTestResults, Status: codebox.TestsUnknown, Suites: []codebox.TestSuite{},
		RawLogReferences: []codebox.FileReference{{Path: codebox.PathCommands, Kind: codebox.KindCommands}, {Path: codebox.PathCommandsLog, Kind: codebox.KindLog}},
	}
}

// addAttemptFiles adds what the attempt's record points at.
func (a *run) addAttemptFiles(w *bundle.Writer) error {
	if a.brief.Text != "" {
		if err := w.AddBytes(bundle.PathPrompt, bundle.KindPrompt, codebox.TypeText, []byte(a.brief.Text)); err != nil {
			return err
		}
		if err := w.AddBytes(pathBrief, kindBrief, codebox.TypeJSON, a.brief.Document); err != nil {
			return err
		}
	}
	if y := a.yield; y != nil {
		for _, f := range []struct{ src, dst, kind, typ string }{
			{y.StdoutPath, bundle.PathStdout, bundle.KindStdout, codebox.TypeText},
			{y.StderrPath, bundle.PathStderr, bundle.KindStderr, codebox.TypeText},
			{y.LastMessagePath, bundle.PathLastMessage, bundle.KindLastMessage, codebox.TypeText},
		} {
			if f.src == "" {
				continue
			}
			if err := w.AddFile(f.dst, f.kind, f.typ, f.src); err != nil {
				return err
			}
		}
		return a.addResult(w)
	}
	return nil
}

// addResult adds the agent's result. Where there are secrets it is written anew from its decoded value, so that no
// escape in the agent's spelling hides one.
func (a *run) addResult(w *bundle.Writer) error {
	src := a.yield.ResultPath
	if src == "" {
		return nil
	}
	if a.redactor.Active() {
		data, err := os.ReadFile(src)
		if err != nil {
			return err
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&v) == nil {
			if err := a.redactor.Value(&v); err != nil {
				return err
			}
			return w.AddJSON(bundle.PathResult, bundle.KindResult, v)
		}
	}
	return w.AddFile(bundle.PathResult, bundle.KindResult, codebox.TypeJSON, src)
}

func (a *run) addArtifacts(w *bundle.Writer) error {
	for _, p := range a.artifacts.Names {
		f, err := a.artifactRoot.Open(p)
		if err != nil {
			return err
		}
		err = w.AddReader(path.Join(artifactDir, p), kindArtifact, codebox.TypeBytes, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

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
