package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// An end is how the attempt ended: the class that decides what follows, and why.
type end struct {
	class failure.Class
	err   error
	after time.Duration // a wait that was asked for
	spare bool          // the attempt is given back, although its class would use it up
}

// classify decides by precedence: cancelled, then what the driver or deed itself ran into, then the gate.
func (a *run) classify(ctx context.Context, err error) end {
	cause := context.Cause(ctx)
	var f *failure.Error
	switch {
	case err == nil:
		return end{class: failure.None}
	case ctx.Err() != nil && errors.Is(cause, driver.ErrCanceled):
		return end{class: failure.Canceled, err: cause}
	case ctx.Err() != nil && errors.As(cause, &f):
		return end{class: f.Class, err: cause} // a deadline of the caller's
	case ctx.Err() != nil:
		return end{class: failure.Interrupted, err: cause}
	}
	e := end{class: failure.ClassOf(err), err: err}
	if a.yield() != nil {
		e.after = a.yield().RetryAfter
	}
	if errors.As(err, &f) && f.RetryAfter > 0 {
		e.after = f.RetryAfter
	}
	return e
}

// finish writes the bundle, then settles. In this order, because a bundle without a settlement is adopted at the
// next boot, and a settlement without a bundle would be a claim without evidence.
func (a *run) finish(ctx context.Context, e end) (Result, error) {
	s := a.settlement(e)
	if a.kept = a.keeps(e.class, s.Status); !a.kept {
		if err := a.makeRoom(ctx); err != nil {
			return Result{Ref: a.claim.Ref}, err
		}
	}
	res := Result{Ref: a.claim.Ref, Verdict: a.verdict, Files: a.changedFiles().Files}
	if err := a.redactor.Value(&res.Files); err != nil {
		return res, fmt.Errorf("redact the file names: %w", err)
	}
	if a.yield() != nil {
		res.Claim = a.yield().Claim
	}
	final := a.Home.Bundle(a.claim.Ref.AttemptID)
	sealed, err := a.publish(ctx, &s, e)
	if err != nil {
		// Another sweeper published it first and lost the fence to this one: the evidence is there, settle with it. That one removed what it had
		// copied, so the fault may as well be a file that went while it was read.
		if adopted, ok, aerr := a.adopt(); aerr == nil && ok {
			res.Settlement, res.BundleDir = adopted, final
			return res, a.Store.Settle(ctx, a.claim.Ref, adopted)
		}
		if a.superseded(ctx) { // it is not this one's any more to say that it cannot be shown
			a.releaseClaim(ctx)
			return res, fmt.Errorf("settle attempt %s: %w", a.claim.Ref.AttemptID, store.ErrFenced)
		}
	}
	if err != nil {
		// The work cannot be shown, so it does not count. A bundle that says so may still find room.
		if !a.kept {
			a.release()
		}
		a.trees.Wait()
		e = end{class: failure.Infra, err: fmt.Errorf("write the bundle: %w", err)}
		a.dropUntrusted()
		res.Verdict, res.Files = nil, nil
		s = a.settlement(e)
		sealed, err = a.publish(ctx, &s, e)
	}
	var copied []string // what the bundle has now
	if err == nil {
		res.BundleDir = final
		s.BundleID = sealed.ID
		if s.BundleDir, err = a.Home.Rel(final); err != nil {
			return res, err
		}
		copied = []string{"run", "artifacts"}
	}
	crashpoint.Hit(crashpoint.BundlePublished)
	if !a.kept {
		a.release(copied...)
	}
	if err := a.redactor.Value(&s); err != nil {
		return res, fmt.Errorf("redact the settlement: %w", err)
	}
	res.Settlement, res.Account = s, a.account
	res.Refusals, res.Same, res.Resumed = a.conversation.recoveries, a.conversation.same, a.resumed != nil && !a.resumed.anew
	for _, y := range a.conversation.yields {
		res.Exits = append(res.Exits, y.Proc)
	}
	if err := a.Store.Settle(ctx, a.claim.Ref, s); err != nil {
		if errors.Is(err, store.ErrFenced) {
			a.releaseClaim(ctx)
		}
		return res, err
	}
	crashpoint.Hit(crashpoint.SettleCommitted)
	a.progress(StepSettled, string(s.Status))
	start := clock.Start()
	a.cleanup()
	res.Cleaned = clock.Since(start)
	crashpoint.Hit(crashpoint.CleanupDone)
	return res, nil
}

// dropUntrusted leaves only what deed itself says about the attempt.
func (a *run) dropUntrusted() {
	if a.evidence != nil {
		_ = a.evidence.Abort()
		a.evidence = nil
	}
	a.checks, a.limits = nil, nil
	a.verdict, a.patch, a.conversation.yields, a.artifacts, a.changes, a.commands = nil, "", nil, gate.Listing{}, workspace.ChangeSet{}, nil
	a.brief.Text = ""
}

// With this much room nothing that an agent may leave can keep the evidence from being written.
const (
	roomBytes = 8 << 30
	roomFiles = 100_000
)

// makeRoom removes the trees that the evidence does not need any more. It does so before the evidence is written where
// the room for it could be short: an agent that filled the disk must not be able to prevent it. Elsewhere it happens
// beside the writing, and cleanup waits for it. A conversation keeps them until the bundle is there, so that a crash before
// that loses no work; where there is no room it cannot go on.
func (a *run) makeRoom(ctx context.Context) error {
	bytes, files := a.Home.Room()
	short := bytes < roomBytes || files < roomFiles
	if a.checkpointed && !short {
		return nil
	}
	if err := a.writeCheckpoint(ctx, nil); err != nil && !errors.Is(err, store.ErrFenced) {
		return err
	}
	a.release()
	if short {
		a.trees.Wait()
	}
	return nil
}

// release removes trees, and more of the attempt's directory; cleanup waits for it.
func (a *run) release(more ...string) {
	a.trees.Wait()
	a.trees.Go(func() {
		for _, d := range append(more, "workspace", baseDir, "home", "tmp", "exchange", "site", "components") {
			_ = workspace.Remove(a.path(d)) // what is left, cleanup tries again
		}
	})
}

// settlement turns an end into what the store will write.
func (a *run) settlement(e end) store.Settlement {
	rule := e.class.Rule()
	now := a.Clock()
	ended := agentruntime.At(now)
	s := store.Settlement{
		Class: string(e.class), State: string(state.FailedTerminal), Refund: rule.Refund || e.spare,
		Attempt: agentruntime.TaskAttempt{
			AttemptID: a.claim.Ref.AttemptID, TaskID: a.claim.Ref.TaskID, RunnerID: a.owner,
			AdapterID: a.plan.adapter.ID(), AdapterKind: a.plan.adapter.Kind(),
			StartedAt: a.claim.Attempt.Record.StartedAt, EndedAt: &ended, ExitStatus: rule.Exit, RetryClass: rule.Retry,
			Diagnostics: a.diagnostics(e),
		},
	}
	if a.plan.model != "" {
		s.Attempt.Model = &a.plan.model
	}
	a.attemptPaths(&s.Attempt)
	if a.used.Meter != nil {
		s.Usage = a.used.Parts()
	}
	if a.verdict != nil {
		s.Verdict = mustJSON(a.verdict)
	}
	if e.err != nil {
		s.LastError = truncate.Head(a.redactor.String(e.err.Error()), maxError)
	}
	switch {
	case e.class == failure.None:
		s.State, s.Status = string(state.Completed), agentruntime.TaskCompleted
		s.Outcome = a.outcome(agentruntime.TaskCompleted, agentruntime.MachineOK, a.summary())
		s.Artifacts = a.artifactRecords(now)
		s.Outbox = a.outbox()
	case e.class == failure.Canceled:
		s.Status = agentruntime.TaskOperatorCanceled
		s.Outcome = a.outcome(agentruntime.TaskOperatorCanceled, agentruntime.MachineCanceled, s.LastError)
	case e.class == failure.Blocked, e.class == failure.Budget:
		s.Status = agentruntime.TaskBlocked
		s.State = string(state.Resumable)
		s.Outcome = a.outcome(agentruntime.TaskBlocked, agentruntime.MachineBlocked, s.LastError)
		s.Action = &store.NewAction{Kind: actionBlocked, Prompt: s.LastError}
		if a.guard != nil {
			if asked := a.guard.Pending(); asked != nil && e.class == failure.Blocked {
				s.Action = asked
			}
		}
		if e.class == failure.Budget {
			s.Action.Kind, s.Action.Detail = store.ActionBudget, budgetDetail(e.err)
		}
	case rule.Retry == agentruntime.RetryRetryable && (s.Refund || a.claim.Task.Record.AttemptCount < a.claim.Task.Record.MaxAttempts):
		s.Status = agentruntime.TaskRetryableFailure
		s.AvailableAt = now
		if e.class != failure.Interrupted {
			s.AvailableAt = now.Add(a.Config.Retry.Wait(a.claim.Task.Record.AttemptCount, e.after)).Truncate(time.Microsecond)
		}
	default:
		s.Status = agentruntime.TaskPermanentFailure
		s.Outcome = a.outcome(agentruntime.TaskPermanentFailure, agentruntime.MachineFailed, s.LastError)
	}
	return s
}

// actionBlocked is the kind of the required action of an agent that says it waits for a person.
const actionBlocked = "agent_blocked"

// maxError bounds what a task says of its last failure; the whole is in the bundle.
const maxError = 8 << 10

// outcome is deed's own account: files as the change set has them, never as the agent said.
func (a *run) outcome(st agentruntime.TaskStatus, m agentruntime.MachineStatus, summary string) *agentruntime.TaskOutcome {
	o := &agentruntime.TaskOutcome{Status: st, MachineStatus: m, OperatorSummary: summary}
	for _, f := range a.changes.Files() {
		o.FileChanges = append(o.FileChanges, f.RelativePath)
	}
	if st == agentruntime.TaskCompleted {
		for _, p := range a.artifacts.Names {
			o.ArtifactPaths = append(o.ArtifactPaths, filepath.ToSlash(filepath.Join("bundles", a.claim.Ref.AttemptID, artifactDir, p)))
		}
		if c := a.yield().Claim; c != nil {
			o.WorkflowSignal = c.WorkflowSignal
			if a.plan.profile.ResultPolicy.AllowFollowUpTasks {
				o.FollowUpTasks = c.FollowUpTasks
			}
			for _, m := range c.ExternalMessages {
				if _, ok := a.mayTell(m); ok {
					o.ExternalMessages = append(o.ExternalMessages, m)
				}
			}
		}
	}
	return o
}

// summary says in deed's words what was found.
func (a *run) summary() string {
	parts := []string{"accepted"}
	switch n := len(a.changes.Files()); n {
	case 0:
		parts = append(parts, "nothing changed")
	case 1:
		parts = append(parts, "1 file changed")
	default:
		parts = append(parts, fmt.Sprintf("%d files changed", n))
	}
	n := 0
	for _, c := range a.verdict.Checks {
		if c.Status == deed.CheckPassed {
			n++
		}
	}
	if n == 1 {
		parts = append(parts, "1 check passed")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d checks passed", n))
	}
	if n := len(a.artifacts.Names); n == 1 {
		parts = append(parts, "1 artifact")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d artifacts", n))
	}
	return strings.Join(parts, ", ")
}

// remedyOf is what a failure says to do about it.
func remedyOf(err error) string {
	var f *failure.Error
	if errors.As(err, &f) {
		return f.Remedy
	}
	return ""
}

// diagnostics holds what helps a person and decides nothing: the agent's claim among it.
func (a *run) diagnostics(e end) json.RawMessage {
	d := map[string]any{"class": e.class, "about": e.class.Rule().About}
	if e.err != nil {
		d["error"] = a.redactor.String(e.err.Error())
	}
	var refused *driver.Refusal
	if errors.As(e.err, &refused) {
		d["refusal"] = map[string]string{"code": refused.Code, "class": refused.Class, "message": a.redactor.String(refused.Error()), "remedy": a.redactor.String(remedyOf(e.err))}
	}
	if y := a.yield(); y != nil {
		d["exit_code"] = y.Proc.Code
		if y.Proc.Signal != "" {
			d["signal"] = y.Proc.Signal
		}
		if len(y.Truncated) > 0 {
			d["truncated"] = y.Truncated
		}
		if id := knownFailure(y); id != "" {
			d[driver.KnownFailure] = id
		}
		if y.Claim != nil {
			d["claim"] = claimDoc(y.Claim)
			if n := len(y.Claim.FollowUpTasks); n > 0 && !a.plan.profile.ResultPolicy.AllowFollowUpTasks {
				d["refused_follow_up_tasks"] = n
			}
			refused := 0
			for _, m := range y.Claim.ExternalMessages {
				if _, ok := a.mayTell(m); !ok {
					refused++
				}
			}
			if refused > 0 {
				d["refused_external_messages"] = refused
			}
		}
	}
	if list := a.denials(e); len(list) > 0 {
		d["denials"] = list
	}
	if u := a.redactor.Unredactable(); len(u) > 0 {
		d["unredactable_secrets"] = u
	}
	return mustJSON(d)
}

// claimDoc is the agent's word, marked as such.
func claimDoc(c *driver.Claim) map[string]any {
	return map[string]any{
		"status": c.Status, "machine_status": c.MachineStatus, "summary": c.Summary,
		"file_changes": c.FileChanges, "artifact_paths": c.ArtifactPaths,
	}
}

// outbox turns what an accepted claim asks for into items, as far as the profile allows.
func (a *run) outbox() []store.OutboxItem {
	var out []store.OutboxItem
	c := a.yield().Claim
	if c == nil {
		return nil
	}
	if a.plan.profile.ResultPolicy.AllowFollowUpTasks {
		for i, t := range c.FollowUpTasks {
			out = append(out, store.OutboxItem{Kind: store.OutboxFollowUpTask, Ordinal: i, Body: mustJSON(t)})
		}
	}
	for i, m := range c.ExternalMessages {
		if state, ok := a.mayTell(m); ok {
			out = append(out, store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: i, Body: m, State: state})
		}
	}
	return out
}

// mayTell says whether a message of the agent's leaves, and as what. Whether there is such a target, and whether it takes messages of
// this profile, is found out when it is sent: an operator can mend that.
func (a *run) mayTell(message json.RawMessage) (state string, ok bool) {
	if !a.plan.profile.ResultPolicy.AllowExternalMessages {
		return "", false
	}
	target := deed.TargetOf(message)
	switch policy := a.plan.profile.IntegrationPolicy[target]; {
	case policy == agentruntime.IntegrationNone:
		return "", false
	case policy == agentruntime.IntegrationSupervised || a.Config.Targets[target].Supervised:
		return store.OutboxHeld, true
	}
	return store.OutboxPending, true
}

// artifactDir is where a bundle keeps the agent's artifacts.
const artifactDir = "files/artifacts"

// artifactRecords are the accepted artifacts. The gate looked at each, so they are verified.
func (a *run) artifactRecords(now time.Time) []agentruntime.ArtifactRecord {
	var out []agentruntime.ArtifactRecord
	usual := agentruntime.RoleOutput
	if typ, err := a.Config.Type(a.claim.Task.Record.TaskType); err == nil && len(typ.ArtifactRoles) > 0 {
		usual = agentruntime.ArtifactRole(typ.ArtifactRoles[0]) // what the type's tasks leave
	}
	for _, p := range a.artifacts.Names {
		role := usual
		if p == driver.AuditFile {
			role = agentruntime.RoleAdapterAudit
		}
		out = append(out, agentruntime.ArtifactRecord{
			ArtifactID: store.NewID(), TaskID: a.claim.Ref.TaskID, Role: role,
			RelativePath: p, CreatedAt: agentruntime.At(now), VerifiedAt: agentruntime.At(now),
		})
	}
	return out
}

// attemptPaths names the files of the bundle that hold the attempt's evidence.
func (a *run) attemptPaths(t *agentruntime.TaskAttempt) {
	if a.brief.Text != "" {
		t.PromptPath = bundle.PathPrompt
	}
	if a.yield() == nil {
		return
	}
	y, turn := a.yield(), len(a.conversation.yields)
	for path, field := range map[string]struct {
		dst  *string
		name string
	}{
		y.StdoutPath:      {&t.StdoutPath, bundle.PathStdout},
		y.StderrPath:      {&t.StderrPath, bundle.PathStderr},
		y.ResultPath:      {&t.ResultPath, bundle.PathResult},
		y.LastMessagePath: {&t.LastMessagePath, bundle.PathLastMessage},
	} {
		if path == "" {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			*field.dst = driver.TurnFile(field.name, turn)
		}
	}
}

// accepted reports the verdict as one word.
func accepted(v *deed.Verdict) string {
	switch {
	case v == nil:
		return "none"
	case v.Accepted:
		return Accepted
	}
	return Rejected
}
