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
	after time.Duration // a wait that was requested
	spare bool          // the attempt does not count as used, although its class would
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
		return end{class: f.Class, err: cause} // a deadline set by the caller
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

// finish writes the bundle, then settles. In this order, because a bundle without a settlement is adopted by the next
// sweep, and a settlement without a bundle would be a claim without evidence.
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
		// Another sweeper published it first and then lost the fence to this one: the evidence exists, so settle with
		// it. That sweeper removed what it had copied, so the fault may be a file that disappeared while it was read.
		if adopted, ok, aerr := a.adopt(); aerr == nil && ok {
			res.Settlement, res.BundleDir = adopted, final
			return res, a.Store.Settle(ctx, a.claim.Ref, adopted)
		}
		if a.superseded(ctx) { // reporting that it cannot be shown is up to the new owner
			a.releaseClaim(ctx)
			return res, fmt.Errorf("settle attempt %s: %w", a.claim.Ref.AttemptID, store.ErrFenced)
		}
	}
	if err != nil {
		// The work cannot be shown, so it does not count. There may still be space for a bundle that says so.
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
	var copied []string // now the content of the bundle
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
	res.Refusals, res.Same, res.Resumed = a.conversation.recoveries, a.conversation.same, a.resumed != nil && !a.resumed.restarted
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

// dropUntrusted keeps only what deed itself recorded about the attempt.
func (a *run) dropUntrusted() {
	if a.evidence != nil {
		_ = a.evidence.Abort()
		a.evidence = nil
	}
	a.checks, a.limits = nil, nil
	a.verdict, a.patch, a.conversation.yields, a.artifacts, a.changes, a.commands = nil, "", nil, gate.Listing{}, workspace.ChangeSet{}, nil
	a.brief.Text = ""
}

// With this much free space, nothing that an agent may leave can keep the evidence from being written.
const (
	roomBytes = 8 << 30
	roomFiles = 100_000
)

// makeRoom removes the trees that the evidence does not need any more. If disk space may be short, it does so before
// the evidence is written: an agent that filled the disk must not be able to prevent it. Otherwise it happens
// concurrently with the writing, and cleanup waits for it. A conversation keeps the trees until the bundle exists, so
// that a crash before that loses no work; if there is no space, it cannot continue.
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

// release removes trees, and more of the attempt's directory, in the background; cleanup waits for it.
func (a *run) release(more ...string) {
	a.trees.Wait()
	a.trees.Go(func() {
		for _, d := range append(more, "workspace", baseDir, "home", "tmp", "exchange", "site", "components") {
			_ = workspace.Remove(a.path(d)) // cleanup retries what is left
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

// actionBlocked is the kind of the required action of an agent that says that it waits for a person.
const actionBlocked = "agent_blocked"

// maxError bounds the text of a task's last failure; the bundle has the whole.
const maxError = 8 << 10

// outcome is deed's own account: files as in the change set, never as the agent reports them.
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
				if _, ok := a.messageState(m); ok {
					o.ExternalMessages = append(o.ExternalMessages, m)
				}
			}
		}
	}
	return o
}

// summary describes the result in deed's words.
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

// remedyOf returns the remedy that a failure suggests.
func remedyOf(err error) string {
	var f *failure.Error
	if errors.As(err, &f) {
		return f.Remedy
	}
	return ""
}

// diagnostics holds what helps a person and decides nothing, such as the agent's claim.
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
				if _, ok := a.messageState(m); !ok {
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

// outbox turns the requests of an accepted claim into items, as far as the profile allows.
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
		if state, ok := a.messageState(m); ok {
			out = append(out, store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: i, Body: m, State: state})
		}
	}
	return out
}

// messageState says whether a message of the agent may be sent, and in which state it is stored. Whether its target
// exists, and accepts messages of this profile, is found out when it is sent: an operator can fix that.
func (a *run) messageState(message json.RawMessage) (state string, ok bool) {
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

// artifactRecords are the accepted artifacts. The gate examined each, so they are verified.
func (a *run) artifactRecords(now time.Time) []agentruntime.ArtifactRecord {
	var out []agentruntime.ArtifactRecord
	usual := agentruntime.RoleOutput
	if typ, err := a.Config.Type(a.claim.Task.Record.TaskType); err == nil && len(typ.ArtifactRoles) > 0 {
		usual = agentruntime.ArtifactRole(typ.ArtifactRoles[0]) // usual for tasks of the type
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
