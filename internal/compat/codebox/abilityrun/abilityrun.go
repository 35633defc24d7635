// Package abilityrun owns one invocation of an ability for an orchestrator: a request goes in and a result comes out,
// whatever happens. It makes the disposable runtime, keeps the run's record and, where the caller names a place for it,
// leaves a signed bundle; the runtime is gone when it returns. Finding, authorising and running the ability belongs to
// internal/compat/codebox/ability, the names of results to internal/compat/codebox/boundary.
//
// A crash leaves a live record and a directory with the run's id in its name, and perhaps a bundle that was not
// published: the sweep knows all three.
package abilityrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/codebox/ability"
	"github.com/deedrun/deed/internal/compat/codebox/agenttask"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/oneshot"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// FailureCancelled is the failure type of a run that was ended before its end.
const FailureCancelled = "cancelled"

// A Service runs abilities in this process.
type Service struct {
	Engine *dispatch.Engine // not registered yet: it says who runs here, and sweeps
}

// Refusal is the result of a request that was not run: it could not be read, or deed itself could not be used.
func Refusal(request []byte, kind string, err error) codebox.AbilityRunResult {
	var head struct {
		Ability string `json:"ability"`
	}
	_ = json.Unmarshal(request, &head) // whatever it is, the error says what is wrong with it
	r := &run{res: blank(codebox.MaskCredentials(head.Ability))}
	r.fail(kind, err)
	return r.res
}

func blank(name string) codebox.AbilityRunResult {
	return codebox.AbilityRunResult{
		Schema: codebox.SchemaAbilityRunResult, Ability: name, Status: codebox.WorkspaceFailed,
		EvidenceRefs: []evidence.FileReference{}, Diagnostics: []codebox.WorkspaceError{},
	}
}

// Run answers one request. There is always a result; exit is the exit code of the command. When ctx ends, the run is
// cancelled, recorded, and reported as such.
func (s *Service) Run(ctx context.Context, req codebox.AbilityRunRequest) (res codebox.AbilityRunResult, exit int) {
	r := &run{Service: s, req: req, res: blank(req.Ability), started: s.Engine.Clock()}
	if v := proc.Getenv(s.Engine.Runner.Environ, req.CapabilityTokenEnv); req.CapabilityTokenEnv != "" && v != "" {
		r.redactor = redact.New(map[string]string{req.CapabilityTokenEnv: v})
	}
	bg := context.WithoutCancel(ctx)
	if err := r.open(ctx); err != nil {
		r.failed(ctx, err)
	} else {
		r.execute(ctx)
	}
	r.ending = ending.Decide(r.facts(ctx.Err() != nil))
	if r.job != nil {
		r.publish(bg)
		r.close(bg)
		r.job.Close(bg)
	}
	if err := r.redactor.Value(&r.res); err != nil {
		r.res = blank(req.Ability)
		r.fail(codebox.FailureBackendError, errors.New("the result cannot be redacted"))
		r.ending = ending.Decide(r.facts(false))
	}
	return r.res, r.ending.Exit
}

// A run is one request under way.
type run struct {
	*Service
	req      codebox.AbilityRunRequest
	res      codebox.AbilityRunResult
	started  time.Time
	redactor *redact.Redactor // nil: there is no token
	job      *oneshot.Run     // nil: it was not begun
	dir      string           // this run's own, in the home
	output   component.Output
	ending   ending.Ending
}

// open checks what can be checked before anything is made, and records the run.
func (r *run) open(ctx context.Context) error {
	e := r.Engine
	var l fault.List
	l.Within("$", agenttask.PlaceArtifacts(r.req.ArtifactsPath, r.sources()...))
	if r.req.WP != "" && e.Runner.Config.WordPress == nil {
		l.Add("$.wp", fault.Dangling, "no WordPress is configured", "set components.wordpress.archive in deed.yaml, or leave wp out")
	}
	if name := r.req.CapabilityTokenEnv; name != "" {
		switch {
		case proc.Getenv(e.Runner.Environ, name) == "":
			l.Add("$.capability_token_env", fault.Dangling, fmt.Sprintf("the variable %s is not set where deed runs", name), "set it, or leave capability_token_env out")
		case len(r.redactor.Unredactable()) > 0:
			l.Add("$.capability_token_env", fault.OutOfRange, fmt.Sprintf("the value of %s is too short to be kept out of the output", name), "use a longer token")
		}
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := agenttask.MakeParent(r.req.ArtifactsPath); err != nil {
		return err
	}
	n := runrecord.New{
		SessionID: r.req.SandboxSessionID, Redactor: r.redactor,
		Metadata: map[string]any{"ability": r.req.Ability, "principal": r.req.Principal, "context": r.req.Context},
	}
	if r.req.ArtifactsPath != "" {
		n.Dir, n.Bundle = filepath.Dir(r.req.ArtifactsPath), r.req.ArtifactsPath
	}
	limit := time.Duration(r.req.TimeoutSeconds()) * time.Second
	late := failure.New(failure.Timeout, "run the ability", fmt.Errorf("the run took longer than task_timeout_seconds: %d", r.req.TimeoutSeconds()), "raise it, or make the work smaller")
	job, err := oneshot.Begin(ctx, e, oneshot.Job{Record: &n, Limit: limit, Late: late})
	if err != nil {
		return err
	}
	r.job, r.res.RunID = job, job.Record.ID()
	return nil
}

// sources lists what the bundle must be apart from.
func (r *run) sources() []string {
	out := append([]string{r.Engine.Home.Root()}, r.req.ProviderPluginPaths...)
	for _, c := range r.req.ComponentContracts {
		for _, dir := range []string{c.Path, c.Source, c.SourceRoot, c.SourceRootAlias} {
			if dir != "" {
				out = append(out, dir)
			}
		}
	}
	for _, m := range r.req.RuntimeStackMounts {
		out = append(out, m.Source)
	}
	return out
}

// execute makes the runtime and runs the ability under the request's own deadline, beating while it runs.
func (r *run) execute(ctx context.Context) {
	work, quiet := r.job.Work(ctx)
	defer quiet()

	record := r.job.Record
	phase := record.Phase("runtime_startup")
	rt, done, err := r.runtime(work, time.Duration(r.req.TimeoutSeconds())*time.Second)
	phase(err)
	defer done()
	if err != nil {
		r.failed(work, err)
		return
	}
	if err := record.To(context.WithoutCancel(work), evidence.RunRunning); err != nil {
		r.Engine.Log.Warn("run record", "error", err)
	}
	record.Started()
	phase = record.Phase("run_workloads")
	policy := codebox.DefaultDeny()
	if p := r.req.SandboxToolPolicy; p != nil && !p.Empty() {
		policy = *p
	}
	res, out, err := ability.Run(work, ability.Request{
		Ability: r.req.Ability, Input: r.req.Input, Expected: r.req.ExpectedResultSchema, Policy: policy, TokenEnv: r.req.CapabilityTokenEnv,
	}, rt)
	phase(err)
	r.output = out
	if err != nil || !res.Success && work.Err() != nil {
		r.failed(work, err)
		return
	}
	res.RunID, res.ComponentContracts = r.res.RunID, r.res.ComponentContracts
	r.res = res
}

// failed reports an error by what it is: an end that somebody asked for first, then the request's own faults.
func (r *run) failed(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	class := failure.ClassOf(err)
	switch {
	case ctx.Err() != nil && failure.ClassOf(cause) == failure.Timeout:
		r.fail(codebox.FailureTimeout, cause)
	case ctx.Err() != nil && errors.Is(cause, runrecord.ErrCancelRequested):
		r.fail(FailureCancelled, cause)
	case ctx.Err() != nil:
		r.fail(FailureCancelled, errors.New("the run was told to stop before its end"))
	case len(fault.Of(err)) > 0, class == failure.Config:
		r.fail(codebox.FailureInvalidRequest, err)
	case class == failure.Isolation:
		r.fail(codebox.FailureIsolationUnavailable, err)
	default:
		r.fail(codebox.FailureBackendError, err)
	}
}

// fail writes a failure into the result. Everything that looks like a credential is masked: a request can hold one where
// it does not belong.
func (r *run) fail(kind string, err error) {
	r.res.Success, r.res.Status, r.res.FailureType = false, codebox.WorkspaceFailed, kind
	if kind == codebox.FailureIsolationUnavailable {
		r.res.Status = codebox.WorkspaceUnavailable
	}
	faults := fault.Of(err)
	for _, f := range faults {
		r.res.Diagnostics = append(r.res.Diagnostics, codebox.WorkspaceError{Code: f.Code, Message: codebox.MaskCredentials(f.String())})
	}
	var f *failure.Error
	if errors.As(err, &f) && f.Remedy != "" {
		message := f.Error() // what happened, and the remedy
		if len(faults) > 0 {
			message = f.Remedy // of what is reported above
		}
		r.res.Diagnostics = append(r.res.Diagnostics, codebox.WorkspaceError{Code: string(f.Class), Message: codebox.MaskCredentials(message)})
	}
	r.res.Error = &codebox.WorkspaceError{Code: kind, Message: codebox.MaskCredentials(err.Error())}
}

// facts is the run for the one table that says what an end is called and what the command ends with.
func (r *run) facts(signalled bool) ending.Facts {
	switch kind := r.res.FailureType; kind {
	case "":
		return ending.Facts{Started: true, Gate: ending.GateAccepted, NoOp: true}
	case codebox.FailureTimeout:
		return ending.Facts{Deadline: true}
	case FailureCancelled:
		if signalled {
			return ending.Facts{Cancelled: ending.BySignal}
		}
		return ending.Facts{Cancelled: ending.ByOperator}
	case codebox.FailureInvalidRequest, ability.FailureNotFound, ability.FailureWordPress:
		return ending.Facts{Unusable: true}
	case codebox.FailureIsolationUnavailable:
		return ending.Facts{Isolation: true}
	case codebox.FailureBackendError:
		return ending.Facts{Infra: true}
	}
	return ending.Facts{Started: true, ExitCode: max(1, r.output.ExitCode)}
}

// close ends the run's record and removes the runtime.
func (r *run) close(ctx context.Context) {
	o := runrecord.Outcome{
		Status: r.ending.Run, Code: r.res.FailureType, Bundle: r.res.Artifacts,
		Cleanup: func(context.Context) error {
			if r.dir == "" {
				return nil
			}
			return workspace.Remove(r.dir)
		},
	}
	if r.res.Artifact != nil {
		o.BundleID = r.res.Artifact.Artifact.ID
		o.Refs = []evidence.RunArtifactRef{{Kind: evidence.KindArtifactBundle, Directory: r.res.Artifacts, ID: o.BundleID}}
	}
	if err := r.res.Error; err != nil {
		o.Error = &evidence.RunError{Name: "AbilityRunError", Message: err.Message, Code: err.Code}
	}
	r.job.Finish(ctx, o)
}

// environ lists what the ability gets in addition to its input.
func (r *run) environ() []string {
	var out []string
	for k, v := range r.req.RuntimeEnv {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	if len(r.req.Principal) > 0 {
		out = append(out, PrincipalEnv+"="+string(r.req.Principal))
	}
	return out
}
