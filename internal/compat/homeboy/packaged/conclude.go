package packaged

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
)

// maxTail is how much of the end of a stream is reported.
const maxTail = 16 << 10

// conclude makes an outcome of the run, takes over what the provider left, and says what follows.
func (s *session) conclude(ctx context.Context, t *turn, pt *process.Turn, w *watcher) (driver.Yield, error) {
	facts := s.facts(t, pt, w)
	answer := outcome.Read(s.plan.selection.Provider, t.sent, facts, s.job.Redactor)
	known := knownFailure(s.plan.selection.Provider, answer.Outcome, facts.StderrTail)
	if known.ID != "" {
		answer.Outcome.Diagnostics = append(answer.Outcome.Diagnostics, homeboy.Diagnostic{
			Class: homeboy.DiagnosticImmediateFailure, Message: "its package knows this failure as " + known.ID, Data: known.data(),
		})
	}
	lacks := missingDependency(s.plan.selection.Provider, answer.Outcome, facts.StderrTail)
	if lacks != nil {
		answer.Outcome.Diagnostics = append(answer.Outcome.Diagnostics, homeboy.Diagnostic{
			Class: homeboy.DiagnosticDependencyFailure, Message: "its package knows what it lacked: " + lacks.name() + lacks.remedy(), Data: lacks.data(),
		})
	}
	if err := s.gather(context.WithoutCancel(ctx), t, &answer); err != nil {
		_, ferr := pt.Finish()
		return driver.Yield{}, errors.Join(failure.New(failure.Infra, "take over what the provider left", err, ""), ferr)
	}
	text, err := answer.Outcome.MarshalJSON() // once: it can be large
	if err == nil {
		err = s.account(t, pt, facts, answer, text)
	}
	if err != nil {
		_, ferr := pt.Finish()
		return driver.Yield{}, errors.Join(err, ferr)
	}
	y := &pt.Yield
	y.ResultPath, y.Records = filepath.Join(s.job.Dirs.Run, driver.TurnFile(OutcomeFile, t.number)), t.records
	y.Diagnostics["outcome"] = map[string]any{"status": answer.Outcome.Status, "failure_classification": answer.Outcome.FailureClassification, "row": answer.Row, "end": facts.End}
	f := s.failed(pt, facts, answer, known)
	if f != nil && lacks != nil {
		f.Remedy = cmp.Or(lacks.Remediation, f.Remedy)
	}
	if answer.Said != nil && !unread[answer.Row] {
		pt.Claim(claim(answer.Outcome, text, f))
	}
	if f == nil {
		y.Kind, y.Class = driver.YieldCompletion, failure.None
	} else {
		pt.Fail(f)
		s.over = true
	}
	return pt.Finish()
}

// facts are how the process ended, as deed saw it.
func (s *session) facts(t *turn, pt *process.Turn, w *watcher) outcome.Facts {
	exit := pt.Yield.Proc
	f := outcome.Facts{End: outcome.Exited, Code: exit.Code, Signal: exit.Signal, Elapsed: exit.Duration, Err: pt.Err(), Survivors: exit.Killed, Command: s.plan.command.Display}
	f.StdoutTail, f.StderrTail = pt.Tails(maxTail)
	w.mu.Lock()
	f.Stdout, f.StdoutSize, f.Dropped = bytes.NewReader(w.answer.Bytes()), int64(w.answer.Len()), w.dropped
	w.mu.Unlock()
	var start *proc.StartError
	switch {
	case errors.As(f.Err, &start):
		f.End = outcome.SpawnFailed
	case failure.ClassOf(f.Err) == failure.Isolation, failure.ClassOf(f.Err) == failure.Config: // its sandbox could not be made
		f.End = outcome.ContainmentFailed
	case exit.TimedOut:
		f.End, f.Limit = outcome.WallTimeout, t.timeLimit
	case errors.Is(exit.Cause, errStalled):
		f.End, f.Limit = outcome.Stalled, w.silent
	case errors.Is(exit.Cause, errOutputCap):
		f.End = outcome.OutputCap
	case exit.Canceled:
		f.End, f.Err = outcome.Cancelled, exit.Cause
	case pt.Limit != "":
		f.End, f.Err = outcome.LimitReached, exit.Cause
	case f.Err != nil:
		f.End = outcome.IOFailed
	case exit.Signal != "":
		f.End = outcome.Signalled
	case s.job.Sandbox.Contained() && signalName(exit.Code) != "":
		f.End, f.Signal = outcome.Signalled, signalName(exit.Code) // in a sandbox a signal is seen only as an exit code
	}
	return f
}

// signalName is the signal that a shell's exit code encodes; empty: none.
func signalName(code int) string { return unix.SignalName(syscall.Signal(code - 128)) }

// gather takes over the artifacts, then clears the workspace of them.
func (s *session) gather(ctx context.Context, t *turn, a *outcome.Answer) error {
	into := filepath.Join(s.job.Dirs.Run, driver.TurnFile(ArtifactsDir, t.number))
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	at := outcome.Places{Workspace: s.job.Dirs.Workspace, Artifacts: s.job.Dirs.Artifacts, Cwd: s.plan.place.dir}
	if s.job.Sandbox.Contained() {
		at.Host = hostPaths(s.job)
	}
	if err := a.Gather(ctx, s.plan.selection.Provider, t.sent, at, into); err != nil {
		return err
	}
	blobs, err := filepath.Glob(filepath.Join(into, "blobs", "*"))
	if err != nil {
		return err
	}
	t.records = append(t.records, blobs...)
	return s.plan.place.collect(ctx, s.job)
}

// evidence is who the provider was and how it was run. It names variables, and no values.
type evidence struct {
	Schema      string          `json:"schema"`
	Package     string          `json:"package"`
	Version     string          `json:"version,omitempty"`
	Digest      string          `json:"digest,omitempty"`
	From        string          `json:"from"`
	Trusted     bool            `json:"trusted"`
	Provider    string          `json:"provider"`
	Backend     string          `json:"backend"`
	Command     string          `json:"command"`
	Cwd         string          `json:"cwd"`
	Env         []string        `json:"env_names"`
	Secrets     []secretStatus  `json:"secrets,omitempty"`
	Applied     any             `json:"applied_defaults,omitempty"`
	Checks      any             `json:"readiness,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	WriteScope  map[string]any  `json:"write_scope"`
	LimitMS     int64           `json:"timeout_ms"`
	End         outcome.End     `json:"end"`
	ExitCode    int             `json:"exit_code"`
	Signal      string          `json:"signal,omitempty"`
	ElapsedMS   int64           `json:"elapsed_ms"`
	Survivors   int             `json:"process_group_survivors,omitempty"`
	StdoutBytes int64           `json:"stdout_bytes"`
	Row         string          `json:"row,omitempty"`
	Said        json.RawMessage `json:"said,omitempty"`
}

const schemaEvidence = "deed/provider-evidence/v1"

// account writes the provider's outcome and, next to it, the facts that it rests on.
func (s *session) account(t *turn, pt *process.Turn, f outcome.Facts, a outcome.Answer, said []byte) error {
	if err := s.writeOutcome(t, said); err != nil {
		return err
	}
	sel := s.plan.selection
	digest, _ := sel.Package.Digest() // it was readable when readiness was looked at
	e := evidence{
		Schema: schemaEvidence, Package: sel.Package.ID, Version: sel.Package.Manifest.Version, Digest: digest, From: sel.Package.From, Trusted: s.plan.trusted,
		Provider: sel.Provider.ID, Backend: sel.Provider.Backend, Command: s.plan.command.Display, Cwd: s.job.Inside(s.plan.place.dir),
		Secrets: s.plan.secretPlan().Status, Warnings: sel.Warnings, WriteScope: s.writeScope(), LimitMS: t.timeLimit.Milliseconds(),
		End: f.End, ExitCode: f.Code, Signal: f.Signal, ElapsedMS: f.Elapsed.Milliseconds(), Survivors: f.Survivors, StdoutBytes: f.StdoutSize + f.Dropped, Row: a.Row, Said: a.Said,
	}
	if len(s.plan.applied) > 0 {
		e.Applied = s.plan.applied
	}
	if s.plan.readiness != nil {
		e.Checks = s.plan.readiness.Checks
	}
	if inv, ok := pt.Yield.Diagnostics["invocation"].(driver.Invocation); ok {
		for name := range inv.Env {
			e.Env = append(e.Env, name)
		}
		slices.Sort(e.Env)
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return failure.New(failure.Infra, "write the evidence", err, "")
	}
	return s.write(t, EvidenceFile, append(text, '\n'))
}

// writeOutcome writes the outcome of a turn line by line.
func (s *session) writeOutcome(t *turn, text []byte) error {
	var lines bytes.Buffer
	err := json.Indent(&lines, text, "", "  ")
	if err == nil {
		lines.WriteByte('\n')
		err = driver.WriteFile(s.run, driver.TurnFile(OutcomeFile, t.number), s.job.Redactor.Bytes(lines.Bytes()))
	}
	if err != nil {
		return failure.New(failure.Infra, "write the outcome", err, "")
	}
	return nil
}

// writeScope says what holds the provider to what it declares.
func (s *session) writeScope() map[string]any {
	held := "workspace"
	if s.plan.place.readOnly != "" {
		held = "declared"
		if s.job.Sandbox.Contained() {
			held = "enforced"
		}
	}
	return map[string]any{"held": held, "why": s.plan.place.readOnly, "artifact_paths": s.plan.place.artifacts}
}

// failed is what follows from an outcome; nil: the provider says that it is done. See the package documentation.
func (s *session) failed(pt *process.Turn, f outcome.Facts, a outcome.Answer, known known) *failure.Error {
	o := a.Outcome
	if homeboy.IsSuccess(o.Status) {
		return nil
	}
	if fact := pt.Fact(); fact != nil {
		return fact
	}
	said := driver.Shorten(o.Summary)
	if said == "" {
		said = string(o.Status)
	}
	class := classOf(o)
	switch bad := f.End == outcome.Signalled || f.Code != 0; {
	case bad && (unread[a.Row] || o.Status == homeboy.ProviderError && class == failure.Provider):
		if a.Said != nil {
			pt.Yield.Diagnostics["contradiction"] = "its outcome says one thing, its exit another"
		}
		class = failure.AgentFailed
	case unread[a.Row]:
		class = failure.InvalidWord
	}
	if known.ID != "" {
		pt.Yield.Diagnostics[driver.KnownFailure] = known.ID
	}
	if known.hopeless && class.Rule().Retry == agentruntime.RetryRetryable && class != failure.RateLimited {
		class = failure.AskedFail
	}
	if class == failure.AgentFailed && pt.LastError() != "" {
		said += ": " + pt.LastError()
	}
	out := failure.New(class, "run the provider", errors.New(said), "the bundle has its outcome as files/attempt/result.json")
	if class == failure.RateLimited {
		out.RetryAfter = outcome.RetryAfter(o)
	}
	return out
}

// known is a failure that the package has a name for.
type known struct {
	ID       string
	hopeless bool // it is of no use to try again
}

func (k known) data() homeboy.Value {
	raw, _ := json.Marshal(map[string]any{"id": k.ID, "retryable": !k.hopeless})
	return raw
}

// knownFailure finds the package's pattern that matches a failure; a pattern that says not to try again comes before the
// others.
func knownFailure(x homeboy.ExecutorProvider, o homeboy.Outcome, stderr string) (k known) {
	if homeboy.IsSuccess(o.Status) {
		return k
	}
	text := complaint(o, stderr)
	for _, p := range x.ImmediateFailurePatterns {
		if !containsAny(text, p.ErrorContainsAny) {
			continue
		}
		if p.Retryable != nil && !*p.Retryable {
			return known{ID: cmp.Or(p.ID, "unnamed"), hopeless: true}
		}
		if k.ID == "" {
			k.ID = cmp.Or(p.ID, "unnamed")
		}
	}
	return k
}

// complaint is all that was printed about a failure.
func complaint(o homeboy.Outcome, stderr string) string {
	text := o.Summary + "\n" + stderr
	for _, d := range o.Diagnostics {
		text += "\n" + d.Message
	}
	return text
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return part != "" && strings.Contains(text, part) })
}

// A dependency is one whose absence a package has words for.
type dependency homeboy.DependencyPattern

// missingDependency finds the first dependency that a failure mentions: by any of its errors, and by any of its paths
// where it names some.
func missingDependency(x homeboy.ExecutorProvider, o homeboy.Outcome, stderr string) *dependency {
	if homeboy.IsSuccess(o.Status) {
		return nil
	}
	text := complaint(o, stderr)
	for _, p := range x.DependencyFailurePatterns {
		if containsAny(text, p.ErrorContainsAny) && (len(p.PathContains) == 0 || containsAny(text, p.PathContains)) {
			return (*dependency)(&p)
		}
	}
	return nil
}

func (d *dependency) name() string { return cmp.Or(d.Label, d.ID, "a dependency") }

func (d *dependency) remedy() string {
	if d.Remediation == "" {
		return ""
	}
	return " (" + d.Remediation + ")"
}

func (d *dependency) data() homeboy.Value {
	raw, _ := json.Marshal(map[string]any{"id": d.ID, "label": d.Label, "remediation": d.Remediation})
	return raw
}

// unread are the rows of package outcome in which a provider gave nothing that counts as an answer.
var unread = map[string]bool{
	"signal": true, "empty": true, "malformed": true, "not_object": true, "no_status": true, "several": true, "too_large": true, "too_deep": true,
	"output_cut": true, "other_schema": true, "other_task": true, "undeclared_status": true,
}

// classOf is the class of a failure that a provider reports.
func classOf(o homeboy.Outcome) failure.Class {
	switch o.FailureClassification {
	case homeboy.ClassRateLimited:
		return failure.RateLimited
	case homeboy.ClassTimeout, homeboy.ClassStalled:
		return failure.Timeout
	case homeboy.ClassTransient:
		return failure.Provider
	case homeboy.ClassInvalidInput, homeboy.ClassCapabilityMissing, homeboy.ClassPolicyDenied, homeboy.ClassProviderAccountBlocked,
		homeboy.ClassProviderQuotaExhausted, homeboy.ClassProviderBillingBlocked, homeboy.ClassProviderCredentialsExhausted:
		return failure.Config
	}
	switch {
	case o.Status == homeboy.Timeout:
		return failure.Timeout
	case o.Status == homeboy.ProviderError && o.Retryable != nil && !*o.Retryable:
		return failure.AskedFail
	case o.Status == homeboy.ProviderError:
		return failure.Provider
	}
	return failure.AskedFail
}

// claim is the provider's statement, in deed's own words.
func claim(o homeboy.Outcome, text []byte, f *failure.Error) *driver.Claim {
	c := &driver.Claim{Source: driver.SourceStdout, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: o.Summary, Raw: text}
	if c.Summary == "" {
		c.Summary = string(o.Status)
	}
	switch {
	case f == nil:
	case f.Class.Rule().Retry == agentruntime.RetryRetryable:
		c.Status, c.MachineStatus = agentruntime.TaskRetryableFailure, agentruntime.MachineNeedsRetry
		c.RetryAfterSeconds = f.RetryAfter.Seconds()
	default:
		c.Status, c.MachineStatus = agentruntime.TaskPermanentFailure, agentruntime.MachineFailed
	}
	return c
}

// unstarted is a turn in which nothing was run.
func (s *session) unstarted(ctx context.Context, t *turn, end outcome.End, class failure.Class, why error) (driver.Yield, error) {
	a := outcome.Read(s.plan.selection.Provider, t.sent, outcome.Facts{End: end, Err: why, Command: s.plan.command.Display}, s.job.Redactor)
	text, err := a.Outcome.MarshalJSON()
	if err == nil {
		err = s.writeOutcome(t, text)
	}
	if err != nil {
		return driver.Yield{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Yield{}, fmt.Errorf("run the provider: %w", context.Cause(ctx))
	}
	f := failure.New(class, "run the provider", why, "")
	return driver.Yield{
		Kind: driver.YieldEnd, Class: class, Err: f, ExitStatus: class.Rule().Exit, Diagnostics: map[string]any{},
		ResultPath: filepath.Join(s.job.Dirs.Run, driver.TurnFile(OutcomeFile, t.number)), Records: t.records,
	}, nil
}
