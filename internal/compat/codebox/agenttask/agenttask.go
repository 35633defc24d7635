// Package agenttask owns one run for an orchestrator: a request goes in, an envelope comes out, and in between the run is
// an ordinary task with one attempt, claimed under lease and fence like those of any dispatcher. It composes placement,
// admission, the engine and the run record; it decides nothing about the work.
package agenttask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
	"github.com/deedrun/deed/internal/compat/codebox/placement"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/oneshot"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// A Service runs requests in this process.
type Service struct {
	Home      *home.Home
	Store     *store.Store
	Admission *task.Admission
	Engine    *dispatch.Engine // not registered yet; its runner's Observe and OneShot are taken over
	Clock     clock.Clock
	Streams   []*runrecord.Stream // who gets the run's progress
}

// Run answers one request as boundary.Read returned it. There is always an envelope; exit is the exit code of the
// command. When ctx ends, the run is cancelled, settled with its evidence, and reported as such.
func (s *Service) Run(ctx context.Context, req codebox.TaskRequest) (env codebox.AgentTaskRun, exit int) {
	r := &run{Service: s, req: req, started: s.Clock()}
	account, err := r.do(ctx)
	if err != nil {
		if r.job == nil && ctx.Err() != nil {
			err = failure.New(failure.Interrupted, "begin the run", context.Cause(ctx), "")
		}
		account = r.failed(err)
	}
	account.Diagnostics = append(r.placed.Diagnostics, account.Diagnostics...)
	account.Started, account.Finished = r.started, s.Clock() // with all that the record of the run has
	answer := boundary.Run{
		Account: account, Request: req, Metadata: r.metadata(),
		Hide: []boundary.Place{{Dir: s.Home.Attempts(), Name: "<attempt>"}, {Dir: s.Home.Tmp(), Name: "<room>"}},
	}
	if r.job != nil {
		answer.RunID = r.job.Record.ID()
	}
	env, err = boundary.Envelope(answer)
	if err != nil {
		// What the run brought contradicts itself; the caller still gets a whole answer.
		account = r.failed(failure.New(failure.Infra, "build the envelope", err, "this is a fault in deed: please report it"))
		if env, err = boundary.Envelope(boundary.Run{Account: account, Request: req}); err != nil {
			env, _ = boundary.NotStarted(nil, failure.New(failure.Infra, "build the envelope", err, ""), nil)
		}
	}
	return env, account.Ending.Exit
}

// A run is one request under way.
type run struct {
	*Service
	req     codebox.TaskRequest
	started time.Time
	placed  placement.Placed
	hide    *redact.Redactor // the values of the request's secrets, until an attempt has its own
	job     *oneshot.Run     // nil: it was refused, or could not begin
	exits   []proc.Exit      // as the kernel reported them
	cleaned *time.Duration
}

// failed is the account of a run that never had an attempt. Faults of the request that were found before anything was
// made refuse it, as the reader does.
func (r *run) failed(err error) ending.Account {
	class := failure.ClassOf(err)
	faults := fault.Of(err)
	if len(faults) > 0 && class == failure.Infra {
		class = failure.Config
	}
	facts, code, message, diagnostics := ending.FactsOf(ending.End{Class: class, Stopped: errors.Is(err, attempt.Stopped)}), string(class), err.Error(), ending.DiagnosticsOf(err)
	switch {
	case len(faults) > 0 && class == failure.Isolation: // nothing is wrong with the request: this machine lacks what it asks for
		diagnostics = nil
		for _, f := range faults {
			diagnostics = append(diagnostics, evidence.Diagnostic{Class: "deed." + string(class), Message: f.Message, Path: f.Path, Remedy: f.Remedy})
		}
	case len(faults) > 0 && r.job == nil:
		facts, code, message = ending.Facts{Refused: true}, ending.ClassInvalidRequest, boundary.RefusalMessage(faults)
	}
	return ending.Account{
		Ending: ending.Decide(facts), Message: message, Code: code,
		Started: r.started, Finished: r.Clock(), Command: r.req.Agent, Diagnostics: diagnostics, Redactor: r.hide,
	}
}

// do takes the request to the account of its one attempt.
func (r *run) do(ctx context.Context) (ending.Account, error) {
	var none ending.Account
	_, unavailable := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Namespace})
	var err error
	r.placed, r.hide, err = look(ctx, r.req, Machine{Home: r.Home, Config: r.Admission.Config, Secrets: r.Engine.Runner.SecretStores()}, unavailable == nil)
	if err != nil {
		return none, err
	}
	row, err := r.Admission.Prepare(r.placed.Intent, task.Caller{Trusted: true})
	if err != nil {
		return none, err
	}
	if r.placed.Intent.Deed.Isolation == string(sandbox.Namespace) && failure.ClassOf(unavailable) == failure.Isolation {
		return none, sandbox.Otherwise(unavailable, `or say "policy": {"sandbox": "preferred"} in the request where the agent may run as you`)
	}
	if err := MakeParent(r.req.ArtifactsPath); err != nil {
		return none, err
	}
	bg := context.WithoutCancel(ctx)
	if r.job, err = oneshot.Begin(ctx, r.Engine, r.jobOf(row)); err != nil {
		return none, err
	}
	defer r.job.Close(bg)
	account, err := r.execute(ctx)
	if err != nil {
		account = r.failed(err)
	}
	if err := r.publish(bg, &account); err != nil {
		// A caller that looks at artifacts_path would take whatever is there for this run's. A run that failed anyway
		// failed for its own reason.
		if account.Ending.Success() {
			account.Ending = ending.Decide(ending.Facts{Infra: true})
			// The verdict stands, and so does the task: both were settled before. What failed is to hand the work over.
			account.Message = fmt.Sprintf("the work was accepted (task %s is completed), and its bundle could not be put at %s: %v", r.job.Claim.Ref.TaskID, r.req.ArtifactsPath, err)
			account.Code, account.Phase = string(failure.Infra), attempt.PhaseCollect
		}
		account.Diagnostics = append(account.Diagnostics, evidence.Diagnostic{Class: "deed.artifacts_path", Message: err.Error(), Path: "$.artifacts_path", Remedy: "the bundle is in deed's home: " + account.BundleDir})
	}
	r.close(bg, account)
	return account, nil
}

// jobOf is the run of a task. Its limit counts from when the workspace is ready: what deed needs before that, the checks on the base above
// all, takes nothing from the agent, and has as much time itself.
func (r *run) jobOf(row store.NewTask) oneshot.Job {
	n := runrecord.New{
		SessionID: r.req.SandboxSessionID, Streams: r.Streams,
		Metadata: map[string]any{"goal": r.req.Goal, "agent": r.req.Agent, "mode": r.req.Mode},
	}
	if r.req.ArtifactsPath != "" {
		n.Dir, n.Bundle = filepath.Dir(r.req.ArtifactsPath), r.req.ArtifactsPath
	}
	limit := time.Duration(cmp.Or(r.placed.Intent.Deed.TimeoutSeconds, placement.DefaultTimeoutSeconds)) * time.Second
	return oneshot.Job{
		Claim: oneshot.New(r.Engine, row), Record: &n, Phases: true, Limit: limit,
		Late:   failure.New(failure.Timeout, "run the task", fmt.Errorf("the run took longer than task_timeout_seconds: %d", int64(limit.Seconds())), "raise it, or make the work smaller"),
		Source: placement.Source, Reason: "agent-task-run makes one attempt",
	}
}

// execute runs the attempt.
func (r *run) execute(ctx context.Context) (account ending.Account, err error) {
	res, err := r.job.Execute(ctx)
	if err != nil {
		r.job.EndPhase(err)
		return account, err
	}
	account = res.Account
	r.job.EndPhase(r.fault(account))
	account.BundleDir, account.BundleID = res.BundleDir, res.Settlement.BundleID
	r.exits, r.cleaned = res.Exits, &res.Cleaned
	return account, nil
}

// fault is why the phase under way failed, or nil: a run can also fail because of a phase that has ended.
func (r *run) fault(account ending.Account) error {
	if account.Ending.Success() || account.Phase != r.job.Phase() {
		return nil
	}
	return errors.New(account.Message)
}

// publish puts the bundle where the caller wants it. The one in the home stays: the store points at it. That of a request that was refused
// stays there alone: the corrected one wants the same place.
func (r *run) publish(ctx context.Context, account *ending.Account) error {
	if r.req.ArtifactsPath == "" || account.BundleDir == "" || account.Ending.Refused() {
		return nil
	}
	if err := copyBundle(ctx, account.BundleDir, r.req.ArtifactsPath); err != nil {
		return fmt.Errorf("copy the bundle: %w", err)
	}
	account.BundleDir = r.req.ArtifactsPath
	return nil
}

// close ends the run's record.
func (r *run) close(ctx context.Context, account ending.Account) {
	o := runrecord.Outcome{Status: account.Ending.Run, Code: account.Code, Bundle: account.BundleDir, BundleID: account.BundleID, Exits: r.exits, Cleaned: r.cleaned}
	if account.BundleDir != "" {
		o.Refs = []evidence.RunArtifactRef{{Kind: evidence.KindArtifactBundle, Directory: account.BundleDir, ID: account.BundleID}}
	}
	if !account.Ending.Success() {
		o.Error = &evidence.RunError{Name: "AgentTaskRunError", Message: account.Message, Code: account.Code}
	}
	if account.Ending.Classification == ending.ClassGate {
		o.Class = evidence.RunFailureProbe
	}
	r.job.Finish(ctx, o)
}

// metadata is what a caller may want to know in addition to the contract's own fields.
func (r *run) metadata() json.RawMessage {
	m := map[string]any{"tools": r.placed.Tools.Decisions(), "tool_policy_source": r.placed.Tools.Source}
	if r.job != nil {
		m["task_id"], m["attempt_id"] = r.job.Claim.Ref.TaskID, r.job.Claim.Ref.AttemptID
		m[evidence.MetaResourceEvidence] = r.job.Record.Record().Metadata[evidence.MetaResourceEvidence]
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return text
}
