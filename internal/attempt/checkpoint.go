package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// A checkpoint is what the next attempt needs to continue the conversation of this one. It is written when the
// conversation gets its name, after each turn, and before a refusal is sent. It is in the store, where no agent can
// write: from it the next attempt knows what the base was and how often the gate refused. The rest of the state is
// the attempt's directory: the workspace as the agent left it, and the agent's own home with its session. The next
// attempt takes the directory over by renaming it, so it has exactly one owner at every moment.
type checkpoint struct {
	AdapterID   string               `json:"adapter_id"`
	AdapterKind string               `json:"adapter_kind"`
	Isolation   string               `json:"isolation"`
	Work        string               `json:"work"` // digest of what the task asks for; see workHash
	Ref         string               `json:"ref"`
	Base        string               `json:"base_digest"`
	Seeded      workspace.SeededTree `json:"seeded"`
	// Constitution is the version that the agent got at the start, 0 for none; nil: the runtime has no agent.
	Constitution *int64 `json:"constitution,omitempty"`
	// Brief is the hash of the brief that the agent got at the start; empty: written before this was recorded.
	Brief string `json:"brief_hash,omitempty"`

	Turn        int    `json:"turn"` // the next turn, or the current one
	Answers     int    `json:"model_turns"`
	Completions int    `json:"completions"`
	Recoveries  int    `json:"recoveries"`
	Digest      string `json:"refused_digest,omitempty"`
	Reasons     string `json:"refused_reasons,omitempty"`
	Say         string `json:"say,omitempty"` // the refusal that the agent gets in this turn

	Answer *agentruntime.RecoveryAttempt `json:"answer,omitempty"` // the refusal that has not reached the agent yet
	Same   int                           `json:"same_conversation,omitempty"`
}

// A resumed is an earlier attempt whose conversation this one continues.
type resumed struct {
	checkpoint
	from      string // the attempt
	why       string // why it was interrupted, for the agent
	answers   []brief.Answer
	restarted bool         // only the workspace is taken over: the driver could not read the conversation
	brief     *brief.Brief // the brief that the conversation began with; nil: it is compiled again
}

// resumableAfter are the failure classes after which the next attempt continues where this one stopped. After any other it
// starts from scratch: an agent that failed, or whose work was finally refused, is not helped by its own history.
var resumableAfter = map[failure.Class]string{
	failure.Blocked:     "a person was asked",
	failure.Interrupted: "deed was told to stop",
	failure.Lost:        "the process that ran you was gone",
	failure.RateLimited: "the model's service asked to wait",
	failure.Provider:    "the model's service failed",
	failure.Budget:      "the budget was used up, and has been raised",
}

// workHash is the digest of the work that a conversation is about. Limits may change while it waits.
func workHash(s deed.TaskSpec) (string, error) {
	s.MaxTurns, s.MaxAttempts, s.TimeoutSeconds, s.MaxRecoveries, s.Budget = 0, 0, 0, nil, nil
	return canonjson.Hash(s)
}

// checkpoint stores durably where the conversation stands. Without a conversation there is nothing to continue.
func (a *run) checkpoint(ctx context.Context) error {
	a.mu.Lock()
	ref, answer, same := a.conversation.ref, a.conversation.answer, a.conversation.same
	a.mu.Unlock()
	if ref == "" {
		return nil
	}
	work, err := workHash(a.plan.spec)
	if err == nil {
		_, err = a.base.Dir() // the next attempt continues from it
	}
	if err != nil {
		return failure.New(failure.Infra, "write the checkpoint", err, "")
	}
	return a.writeCheckpoint(ctx, &checkpoint{
		AdapterID: a.plan.adapter.ID(), AdapterKind: a.plan.adapter.Kind(), Isolation: string(a.plan.kind), Work: work,
		Constitution: a.plan.agent.version(), Brief: a.brief.Hash,
		Ref: ref, Base: a.before.Digest(), Seeded: a.seeded, Turn: a.conversation.turn(), Answers: a.watch.turns(),
		Completions: a.conversation.completions, Recoveries: a.conversation.recoveries, Digest: a.conversation.digest, Reasons: a.conversation.reasons, Say: a.conversation.say,
		Answer: answer, Same: same,
	})
}

// writeCheckpoint writes it to the store; nil: the conversation does not continue.
func (a *run) writeCheckpoint(ctx context.Context, c *checkpoint) error {
	var doc json.RawMessage
	if c != nil {
		doc = mustJSON(c)
	} else if !a.checkpointed {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stateWait)
	defer stop()
	if err := a.Store.Checkpoint(ctx, a.claim.Ref, doc); err != nil {
		return failure.New(failure.Infra, "write the checkpoint", err, "")
	}
	a.checkpointed = c != nil
	return nil
}

// saveConversation is called when the name of the agent's session is known: from here on a crash does not lose it.
func (a *run) saveConversation(ctx context.Context, s driver.SessionInfo) {
	ref := cmp.Or(s.Ref, s.ID)
	a.mu.Lock()
	known := a.conversation.id == s.ID
	a.conversation.id, a.conversation.ref = s.ID, ref
	a.mu.Unlock()
	if known || s.ID == "" {
		return
	}
	if err := a.checkpoint(ctx); err != nil {
		a.note("checkpoint_error", map[string]string{"error": err.Error()}) // the end of the turn tries again
	}
}

// Waiting finds, among the attempts of a task, the one whose directory the next attempt continues from. An attempt
// that was cut short before it could take over an earlier directory leaves that directory waiting.
func Waiting(list []store.Attempt, kept func(attemptID string) bool) (store.Attempt, bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(t store.Attempt) bool { return t.Live })
	slices.SortFunc(list, func(x, y store.Attempt) int { return cmp.Compare(y.Fence, x.Fence) })
	for _, t := range list {
		if _, ok := resumableAfter[failure.Class(t.Class)]; !ok {
			break
		}
		if t.Checkpoint != nil && kept(t.Record.AttemptID) {
			return t, true
		}
	}
	return store.Attempt{}, false
}

func (a *run) hasDir(attemptID string) bool {
	_, err := os.Lstat(a.Home.Attempt(attemptID))
	return err == nil
}

// takeOver looks for an earlier attempt of the task whose conversation can continue, and takes over its directory.
func (a *run) takeOver(ctx context.Context) error {
	if a.claim.Ref.Fence <= 1 {
		return nil // it is the first
	}
	list, err := a.Store.Attempts(ctx, a.claim.Ref.TaskID)
	if err != nil {
		return failure.New(failure.Infra, "look for an earlier attempt", err, "")
	}
	last, ok := Waiting(list, a.hasDir)
	if !ok {
		return nil
	}
	dir := a.Home.Attempt(last.Record.AttemptID)
	var c checkpoint
	var began *brief.Brief
	if err = json.Unmarshal(last.Checkpoint, &c); err == nil {
		err = a.fits(ctx, c, dir)
	}
	if err == nil {
		began, err = c.firstBrief(dir)
	}
	if began != nil {
		began.Text = a.secretText(dir, began.Text)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		a.fresh = fmt.Sprintf("the conversation of attempt %s cannot go on: %v", last.Record.AttemptID, err)
		_ = workspace.Remove(dir) // the sweep removes what is left
		return nil
	}
	answers, err := a.answers(ctx)
	if err != nil {
		return failure.New(failure.Infra, "read the answers of people", err, "")
	}
	for _, name := range []string{"journal.jsonl", egressSocket, "tmp", "site", "components"} {
		if err := workspace.Remove(filepath.Join(dir, name)); err != nil {
			return failure.New(failure.Infra, "take up an earlier attempt", err, "")
		}
	}
	c.Turn = max(c.Turn, 2) // the brief was sent already, however far that turn got
	// Written first: after a crash before the rename the earlier attempt still has the directory, and Waiting finds
	// it.
	if err := a.writeCheckpoint(ctx, &c); err != nil {
		return err
	}
	if err := os.Rename(dir, a.dir); err != nil {
		return failure.New(failure.Infra, "take up an earlier attempt", err, "")
	}
	a.resumed = &resumed{checkpoint: c, from: last.Record.AttemptID, why: resumableAfter[failure.Class(last.Class)], answers: answers, brief: began}
	return nil
}

// parts are the subdirectories of an attempt that a conversation needs.
var keptParts = []string{baseDir, "workspace", "home", "artifacts", "exchange", "run"}

// fits reports why a conversation cannot continue in this attempt. An agent that is not contained may have written
// anywhere in the directory, so nothing there is trusted: the base must be the one that the store knows.
func (a *run) fits(ctx context.Context, c checkpoint, dir string) error {
	work, err := workHash(a.plan.spec)
	switch {
	case err != nil:
		return err
	case c.AdapterID != a.plan.adapter.ID() || c.AdapterKind != a.plan.adapter.Kind():
		return fmt.Errorf("it was with adapter %s, and the task now has %s", c.AdapterID, a.plan.adapter.ID())
	case c.Isolation != string(a.plan.kind):
		return fmt.Errorf("it was under isolation %s, and the task now has %s", c.Isolation, a.plan.kind)
	case c.Work != work:
		return errors.New("the task asks for something else now")
	case c.Ref == "" || len(c.Seeded.Parts) == 0:
		return errors.New("its checkpoint is not whole")
	}
	for _, name := range append([]string{"."}, keptParts...) {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return err
		} else if !fi.IsDir() {
			return fmt.Errorf("%s in its directory is no directory", name)
		}
	}
	if err := plain(filepath.Join(dir, "run")); err != nil {
		return err
	}
	if a.before, err = workspace.Snapshot(ctx, filepath.Join(dir, baseDir), nil); err != nil {
		return fmt.Errorf("read its base: %w", err)
	}
	if a.before.Digest() != c.Base {
		return errors.New("its base is not what it was")
	}
	return nil
}

// firstBrief returns the brief that a conversation began with. It must be the one that the store knows. A layout that
// this version of deed no longer writes is compiled again.
func (c checkpoint) firstBrief(dir string) (*brief.Brief, error) {
	if c.Brief == "" {
		return nil, nil
	}
	doc, err := ReadBrief(dir, BriefFile, c.Brief)
	if err != nil {
		return nil, err
	}
	b, err := briefOf(doc)
	if errors.Is(err, brief.ErrVersion) {
		return nil, nil
	}
	return &b, err
}

// plain reports anything in deed's own record of a run that deed does not put there. Files there are written and read
// by name: no name may be a link that leads out, or something that blocks when opened.
func plain(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s in its record is no plain file", d.Name())
		}
		return err
	})
}

// continueWith restores what the checkpoint holds, instead of seeding.
func (a *run) continueWith(r *resumed) {
	a.seeded, a.base = r.Seeded, workspace.BaseAt(a.path(baseDir))
	a.conversation = conversation{ref: r.Ref, first: r.Turn, completions: r.Completions, recoveries: r.Recoveries, digest: r.Digest, reasons: r.Reasons, say: r.Say, answer: r.Answer, same: r.Same}
	a.watch.turn = r.Answers
	a.note(history.KindResumed, map[string]any{
		"from_attempt": r.from, "ref": r.Ref, "turn": r.Turn, "model_turns": r.Answers, "why": r.why, "base_digest": r.Base,
	})
}

// keeps reports whether the attempt's directory is kept for the next attempt, by how this one ended.
func (a *run) keeps(class failure.Class, status agentruntime.TaskStatus) bool {
	_, ok := resumableAfter[class]
	return ok && !state.TaskTerminal(status) && !a.OneShot && a.checkpointed
}
