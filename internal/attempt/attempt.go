// Package attempt owns one attempt from brief to bundle: it is the only place that composes workspace, driver,
// gate and bundle. It settles the task under the fence of its claim; queueing, retrying and delivering belong to
// the engine above.
//
// The steps, and what a crash leaves behind at each:
//
//	claimed      nothing but the lease; the sweep settles the task as lost
//	prepared     a directory of the attempt; the sweep removes it
//	begun        the store knows adapter and brief; otherwise as before
//	driven       the supervisor kills the process tree when deed dies; the journal keeps what was seen
//	judged       as before: a verdict that is not in a bundle does not exist
//	published    a whole bundle with its settlement inside; the sweep adopts it instead of running again
//	settled      the store has everything; the next sweep removes what is left of the directory
package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/egress"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// A Runner holds what every attempt of one process shares.
type Runner struct {
	Home     *home.Home
	Store    *store.Store
	Config   *config.Config
	Clock    clock.Clock
	RunnerID string
	Version  string
	Lease    time.Duration
	Environ  []string                 // deed's own environment: secrets are taken from it by name, nothing else passes
	Secrets  []runtimepkg.SecretStore // where secrets are looked up by name; nil: runtimepkg.OwnStores
	Drivers  driver.Set
	Key      *bundle.Key    // signs the bundles
	Observe  func(Progress) // may be nil; called by one goroutine at a time
	// OnEntry gets every entry of every attempt as the journal has it, redacted and in order. It may be nil. It is
	// called by one goroutine at a time for each attempt, and must not wait: the attempt stands still while it runs.
	OnEntry func(store.Ref, journal.Entry)
	// Trace returns the W3C trace context for the processes of an attempt. It may be nil, and returns nothing if
	// there is none.
	Trace func(taskID, attemptID string) string
	// OneShot says that the caller makes one attempt and owns what follows: an agent's request for more work is
	// refused, whatever the profile says, and no conversation is kept for a next attempt.
	OneShot bool

	// AskInputs asks the person at the terminal whether the agent may have changed the inputs of a check. nil: there
	// is no terminal.
	AskInputs func(context.Context, InputsQuestion) (allowed bool, by string, err error)
	// Staffed says that people answer the required actions of this process's tasks: true for a queue, false for a
	// caller who waits.
	Staffed bool

	resolver egress.Resolver // of the names that agents may reach; nil: the system's
}

// A Progress is one step that a watcher may show.
type Progress struct {
	TaskID    string
	AttemptID string
	Step      string
	Text      string
}

// The steps of an attempt, in order; StepTool comes with each tool call, StepCheck with each check, and everything from
// StepStarted to StepRefused with each turn.
const (
	StepBase     = "base" // the checks run on the base
	StepPrepared = "prepared"
	StepStarted  = "started"
	StepTool     = "tool"
	StepWaiting  = "waiting" // for a person: the id of the required action, and its question
	StepEnded    = "ended"
	StepJudging  = "judging"
	StepCheck    = "check"
	StepVerdict  = "verdict" // the last one: Accepted, or Rejected
	StepRefused  = "refused"
	StepSettled  = "settled"
)

// The texts of StepVerdict.
const (
	Accepted = "accepted"
	Rejected = "rejected"
)

// A Result is the outcome of an attempt.
type Result struct {
	Ref        store.Ref
	Settlement store.Settlement
	Verdict    *deed.Verdict
	Files      []evidence.ChangedFile // what the patch changes
	BundleDir  string                 // absolute; empty when no bundle could be written
	Claim      *driver.Claim
	Account    ending.Account // what the documents of the bundle were made of
	Exits      []proc.Exit    // of the agent, one for each turn
	Refusals   int            // that were to be sent to the agent
	Same       int            // of these, those sent in the existing conversation
	Resumed    bool           // it continued the conversation of an earlier attempt
	Cleaned    time.Duration  // how long cleanup took, after the settlement
}

// run is one attempt while it happens. What a stage finds out is grouped under the name of the stage: later stages
// read it, and only that stage changes it.
type run struct {
	*Runner
	sup   *proc.Supervisor
	claim *store.Claim
	dir   string
	owner string // the runner whose attempt this is, which is not the one that salvages it

	started  time.Time
	phase    string // the phase that the attempt is in
	redactor *redact.Redactor
	record
	prepared
	conversation conversation // with the agent
	watch        watch        // what the agent does, and its limits
	guard        *toolGuard   // at the tool boundary; nil before the driver starts
	used         ledger       // what was used, against the budget
	captured
	judged
	settled

	showMu  sync.Mutex     // serializes the calls of Observe
	stateMu sync.Mutex     // guards state
	state   state.Attempt  // as stored, from running on
	trees   sync.WaitGroup // the directories that release removes
}

// record is what happened, for the bundle and for whoever salvages the attempt.
type record struct {
	journal  *journal.Journal
	mu       sync.Mutex      // guards events: a driver reports from several goroutines
	events   []journal.Entry // guarded by mu; what was written to the journal, out of the agent's reach
	egress   egressLog       // what went through the agent's way out
	commands []command       // every process that deed started for its checks
}

// prepared is what the attempt begins with; prepare makes it.
type prepared struct {
	plan         plan
	brief        brief.Brief
	runtime      runtimeParts   // what the sandbox holds besides the workspace
	skills       []*skill.Skill // those that the task was admitted with, in the order of its pins
	agent        cell           // contains the agent
	seeded       workspace.SeededTree
	base         *workspace.Base // the first state of the workspace
	before       *workspace.Manifest
	bases        []gate.BaseRun // what each check gave on the base
	caches       string         // where runs on the base leave their caches; empty: in those kept for the source
	artifactRoot *os.Root       // of the directory of artifacts, opened before the agent ran
	resumed      *resumed       // the earlier attempt that this one continues; nil: it starts from scratch
	fresh        string         // why an earlier conversation is not continued
}

// captured is what the agent left, as deed measured it after a turn.
type captured struct {
	after     *workspace.Manifest
	changes   workspace.ChangeSet
	patch     string // path of the patch file; empty when there is none
	secret    bool   // a secret's value is in the change
	leaks     leaks  // undeclared secrets in the change
	artifacts gate.Listing
	dirty     bool           // the agent may have changed something since the workspace was looked at
	evidence  *bundle.Writer // takes what the agent left before any check runs; nil until then
}

// judged is what the gate found out about one completion attempt. It is cleared when the agent goes on after a
// refusal.
type judged struct {
	verdict *deed.Verdict
	checks  []deed.CheckResult // the checks of a decision that was not reached, up to the one that was running
	limits  []checkLimit       // limits that ended checks

	around   func(ctx context.Context, c deed.Check, room string, base bool) gate.RunResult // how a command is run; nil: runCheck
	listener io.Writer                                                                      // also gets what a check prints; nil: no listener
}

// settled is how the attempt ends.
type settled struct {
	checkpointed bool           // the store has the position of the conversation
	kept         bool           // the directory waits for the next attempt
	account      ending.Account // how it ended, as in the bundle
}

// Run takes a claim to its settlement. It always settles, unless the claim was lost to another runner (the error
// then wraps store.ErrFenced) or the store itself cannot be written.
func (r *Runner) Run(ctx context.Context, sup *proc.Supervisor, c *store.Claim) (Result, error) {
	a := &run{
		Runner: r, sup: sup, claim: c, dir: r.Home.Attempt(c.Ref.AttemptID), owner: r.RunnerID,
		started: r.Clock(), redactor: redact.New(nil),
	}
	crashpoint.Hit(crashpoint.ClaimCommitted)
	ctx, release := a.keepLease(ctx)
	defer release()

	err := guard(func() error { return a.execute(ctx) })
	if lost := lostCause(ctx, err); lost != nil {
		a.note(history.KindFenced, map[string]string{"why": lost.Error()})
		a.releaseClaim(ctx)
		return Result{Ref: c.Ref}, lost
	}
	if a.dirty {
		a.captureOnce(ctx)
	}
	// From here on the work is evidence, and evidence is written even when the attempt was cancelled.
	e := a.circuit(context.WithoutCancel(ctx), a.classify(ctx, err))
	ctx = context.WithoutCancel(ctx)
	var res Result
	err = guard(func() (err error) {
		res, err = a.finish(ctx, e)
		return err
	})
	if failure.ClassOf(err) == failure.Panic {
		a.dropUntrusted()
		e = end{class: failure.Panic, err: err}
		err = guard(func() (err error) {
			res, err = a.finish(ctx, e)
			return err
		})
	}
	return res, err
}

// guard turns a panic into a failure with its stack, here and nowhere else.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.New(failure.Panic, "run attempt", fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "this is a fault in deed: please report it with the bundle")
		}
	}()
	return fn()
}

// execute does the work.
func (a *run) execute(ctx context.Context) error {
	a.phase = PhaseStartup
	if err := a.prepare(ctx); err != nil {
		return err
	}
	a.phase = PhaseAgent
	return a.converse(ctx)
}

// note records what happened, in memory for the bundle and in the journal for whoever salvages the attempt. A journal
// that cannot be written must not fail the work that it describes.
func (a *run) note(kind string, detail any) {
	if a.journal != nil {
		_ = a.journal.Append(kind, detail)
	}
	text, err := json.Marshal(detail)
	if err != nil {
		text = mustJSON(map[string]string{"error": err.Error()})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e := journal.Entry{Seq: int64(len(a.events) + 1), At: agentruntime.At(a.Clock()), Kind: kind, Detail: text}
	a.events = append(a.events, e)
	if a.OnEntry != nil {
		e.Detail = a.redactor.Bytes(e.Detail)
		a.OnEntry(a.claim.Ref, e)
	}
}

func (a *run) progress(step, text string) {
	if a.Observe != nil {
		a.showMu.Lock()
		defer a.showMu.Unlock()
		a.Observe(Progress{TaskID: a.claim.Ref.TaskID, AttemptID: a.claim.Ref.AttemptID, Step: step, Text: text})
	}
}

// cleanup closes what the attempt holds, and removes its directory unless the next attempt goes on from it.
func (a *run) cleanup() {
	a.trees.Wait()
	_ = a.closeEgress()
	if a.journal != nil {
		_ = a.journal.Close()
	}
	if a.artifactRoot != nil {
		_ = a.artifactRoot.Close()
	}
	if a.evidence != nil {
		_ = a.evidence.Abort() // no effect on a sealed one
	}
	if !a.kept {
		_ = workspace.Remove(a.dir)
	}
}

// superseded reports whether another runner has the claim now, or has settled it.
func (a *run) superseded(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stateWait)
	defer stop()
	at, err := a.Store.Attempt(ctx, a.claim.Ref.AttemptID)
	return err == nil && (!at.Live || at.Fence != a.claim.Ref.Fence)
}

// releaseClaim ends an attempt whose claim belongs to another runner now. That runner reads the journal and the
// output until it has settled, and cleans up itself; the next attempt may continue from the directory.
func (a *run) releaseClaim(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stateWait)
	defer stop()
	at, err := a.Store.Attempt(ctx, a.claim.Ref.AttemptID)
	a.kept = a.checkpointed || err != nil || at.Live
	a.cleanup()
}

func (a *run) path(elem ...string) string {
	return filepath.Join(append([]string{a.dir}, elem...)...)
}

func (a *run) mkdirs(names ...string) error {
	workspace.SetTopdirFlag(a.Home.Attempts())
	for _, n := range names {
		if err := os.MkdirAll(a.path(n), 0o700); err != nil {
			return failure.New(failure.Infra, "make the attempt's directory", err, "free space in the home, or make it writable")
		}
	}
	return nil
}
