package abilityrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/compat/codebox/agenttask"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// What a bundle of an ability run has in addition to the files of every bundle.
const (
	pathRequest = "files/ability/request.json"
	pathResult  = "files/ability/result.json"
	pathStdout  = "files/ability/stdout.txt"
	pathStderr  = "files/ability/stderr.txt"

	kindRequest = "ability-request"
	kindResult  = "ability-result"
	kindStdout  = "ability-stdout"
	kindStderr  = "ability-stderr"
)

// publish leaves the evidence where the caller wants it. The result stands without it: a failure here is only
// reported.
func (r *run) publish(ctx context.Context) {
	if r.req.ArtifactsPath == "" {
		return
	}
	if err := r.seal(ctx); err != nil {
		r.res.Diagnostics = append(r.res.Diagnostics, codebox.WorkspaceError{Code: "artifacts_path", Message: err.Error()})
	}
}

func (r *run) seal(ctx context.Context) error {
	to := r.req.ArtifactsPath
	if err := agenttask.PlaceArtifacts(to); err != nil {
		return err
	}
	_ = os.Remove(to) // an empty directory, or nothing
	key := r.Engine.Runner.Key
	w, err := bundle.Create(to, bundle.Options{Redactor: r.redactor, Key: key})
	if err != nil {
		return err
	}
	if err := r.add(w); err != nil {
		return errors.Join(fmt.Errorf("write the bundle: %w", err), w.Abort())
	}
	if _, err := w.Seal(ctx, r.sealInput()); err != nil {
		return err
	}
	envelope, err := apply.Envelope(to, bundle.VerifyOptions{TrustedKeys: []bundle.PublicKey{key.Public()}})
	if err != nil {
		return err
	}
	r.res.Artifacts, r.res.Artifact = to, &envelope
	r.res.EvidenceRefs = []evidence.FileReference{
		{Path: pathRequest, Kind: kindRequest}, {Path: pathResult, Kind: kindResult}, {Path: pathStdout, Kind: kindStdout}, {Path: pathStderr, Kind: kindStderr},
	}
	return nil
}

// withoutPaths is request and result as others may read them: without where things lie on this machine.
func (r *run) withoutPaths() (codebox.AbilityRunRequest, codebox.AbilityRunResult) {
	req, res := r.req, r.res
	req.ComponentContracts, req.ProviderPluginPaths, req.RuntimeStackMounts, req.ArtifactsPath = nil, nil, nil, ""
	res.ComponentContracts = slices.Clone(res.ComponentContracts)
	for i := range res.ComponentContracts {
		c := &res.ComponentContracts[i]
		c.RequestedPath = filepath.Base(c.RequestedPath)
	}
	return req, res
}

// add writes what the run saw. An ability changes no workspace, so the change is empty.
func (r *run) add(w *bundle.Writer) error {
	req, res := r.withoutPaths()
	for _, f := range []struct {
		path, kind, contentType string
		data                    []byte
	}{
		{evidence.PathPatch, evidence.KindPatch, evidence.TypeDiff, nil},
		{pathStdout, kindStdout, evidence.TypeText, r.output.Stdout},
		{pathStderr, kindStderr, evidence.TypeText, r.output.Stderr},
		{evidence.PathEvents, evidence.KindEvents, evidence.TypeNDJSON, line(map[string]any{"kind": "components", "detail": res.ComponentContracts})},
		{evidence.PathCommands, evidence.KindCommands, evidence.TypeNDJSON, line(map[string]any{
			"role": "ability", "name": r.req.Ability, "exit_code": r.output.ExitCode, "timed_out": r.output.TimedOut, "stdout": pathStdout, "stderr": pathStderr,
		})},
		{evidence.PathObservations, evidence.KindObservations, evidence.TypeNDJSON, nil},
		{evidence.PathRuntimeLog, evidence.KindLog, evidence.TypeText, nil},
		{evidence.PathCommandsLog, evidence.KindLog, evidence.TypeText, nil},
	} {
		if err := w.AddBytes(f.path, f.kind, f.contentType, f.data); err != nil {
			return err
		}
	}
	account := r.account()
	for _, d := range []struct {
		path, kind string
		value      any
	}{
		{evidence.PathChangedFiles, evidence.KindChangedFiles, evidence.ChangedFiles{Schema: evidence.SchemaChangedFiles, Files: []evidence.ChangedFile{}}},
		{evidence.PathTestResults, evidence.KindTestResults, evidence.TestResults{
			Schema: evidence.SchemaTestResults, Status: evidence.TestsUnknown, Suites: []evidence.TestSuite{}, RawLogReferences: []evidence.FileReference{},
		}},
		{evidence.PathAgentResult, evidence.KindAgentResult, account.AgentResult()},
		{evidence.PathCompletionOutcome, evidence.KindCompletionOutcome, account.CompletionOutcome()},
		{evidence.PathTranscript, evidence.KindAgentTranscript, evidence.AgentTranscript{Schema: evidence.SchemaAgentTranscript, Executions: []evidence.Execution{}}},
		{pathRequest, kindRequest, req},
		{pathResult, kindResult, res},
	} {
		if err := w.AddJSON(d.path, d.kind, d.value); err != nil {
			return err
		}
	}
	return nil
}

// account describes the run for the documents of every bundle.
func (r *run) account() ending.Account {
	a := ending.Account{
		Ending: r.ending, RuntimeID: "runtime-" + r.res.RunID, RuntimeStatus: evidence.RuntimeDestroyed, Isolation: string(sandbox.Namespace),
		Started: r.started, Finished: r.Engine.Clock(), BundleDir: ".", Command: r.req.Ability, ExitCode: r.output.ExitCode, Code: r.res.FailureType,
		Message: "the ability " + r.req.Ability + " gave its result", Redactor: r.redactor,
	}
	if err := r.res.Error; err != nil {
		a.Message = err.Message
	}
	return a
}

func (r *run) sealInput() bundle.SealInput {
	runner := r.Engine.Runner
	_, res := r.withoutPaths()
	return bundle.SealInput{
		CreatedAt: r.Engine.Clock(),
		Runtime: evidence.Runtime{
			ID: "runtime-" + r.res.RunID, Backend: bundle.Backend, CreatedAt: string(agentruntime.At(r.started)), Status: evidence.RuntimeDestroyed,
			Environment: evidence.Environment{Kind: string(sandbox.Namespace), Name: runner.Config.Name, Version: runner.Version, OS: runtime.GOOS, Arch: runtime.GOARCH},
		},
		Task:      map[string]any{"run_id": r.res.RunID, "ability": r.req.Ability, "sandbox_session_id": r.req.SandboxSessionID},
		Context:   map[string]any{"components": res.ComponentContracts, "failure_type": r.res.FailureType},
		Summary:   r.account().Message,
		Statement: bundle.Statement{TaskID: r.res.RunID, AttemptID: r.res.RunID, Verdict: "none", Status: r.res.Status, Containment: string(sandbox.Namespace), DeedVersion: runner.Version},
	}
}

// line is one document of a file of lines.
func line(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil // deed's own words can always be written
	}
	return append(text, '\n')
}
