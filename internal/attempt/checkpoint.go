package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/atomicfile"
	"github.com/deedrun/deed/internal/brief"
	"github.com/deedrun/deed/internal/canonjson"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/state"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/workspace"
)

// CheckpointFile is the name, in an attempt's directory, of what the next attempt needs to go on with its conversation.
// A directory that has one belongs to its task until that has ended or has another attempt.
const CheckpointFile = "checkpoint.json"

// A checkpoint is written when the conversation gets its name and after each turn. The rest of the state is the directory
// itself: the workspace as the agent left it, and the agent's own home with its session. The next attempt takes the
// directory over by renaming it, so there is one owner at every moment.
type checkpoint struct {
	AttemptID   string               `json:"attempt_id"`
	AdapterID   string               `json:"adapter_id"`
	AdapterKind string               `json:"adapter_kind"`
	Isolation   string               `json:"isolation"`
	Work        string               `json:"work"` // digest of what the task asks for; see workHash
	Ref         string               `json:"ref"`
	Base        string               `json:"base_digest"`
	Seeded      workspace.SeededTree `json:"seeded"`
	Turn        int                  `json:"turn"` // that comes next
	Answers     int                  `json:"model_turns"`
	Completions int                  `json:"completions"`
	Recoveries  int                  `json:"recoveries"`
	Digest      string               `json:"refused_digest,omitempty"`
	Reasons     string               `json:"refused_reasons,omitempty"`
}

// A resumed is how an attempt goes on with the conversation of an earlier one.
type resumed struct {
	checkpoint
	why     string // it was interrupted, for the agent
	answers []brief.Answer
}

// goesOn are the ends after which the next attempt goes on where this one stopped. After any other it begins anew: an agent
// that failed, or whose work was refused to the last, is not helped by its own history.
var goesOn = map[failure.Class]string{
	failure.Blocked:     "a person was asked",
	failure.Interrupted: "deed was told to stop",
	failure.Lost:        "the process that ran you was gone",
	failure.RateLimited: "the model's service asked to wait",
	failure.Provider:    "the model's service failed",
	failure.Budget:      "the budget was used up, and has been raised",
}

// workHash is the digest of what a conversation was begun for. Bounds may change while it waits.
func workHash(s deed.TaskSpec) (string, error) {
	s.MaxTurns, s.MaxAttempts, s.TimeoutSeconds, s.MaxRecoveries, s.Budget = 0, 0, 0, nil, nil
	return canonjson.Hash(s)
}

// checkpoint makes durable where the conversation stands. Without a conversation there is nothing to go on with.
func (a *run) checkpoint() error {
	a.mu.Lock()
	ref := a.talk.ref
	a.mu.Unlock()
	if ref == "" {
		return nil
	}
	work, err := workHash(a.plan.spec)
	if err != nil {
		return failure.New(failure.Infra, "write the checkpoint", err, "")
	}
	c := checkpoint{
		AttemptID: a.claim.Ref.AttemptID, AdapterID: a.plan.adapter.ID(), AdapterKind: a.plan.adapter.Kind(), Isolation: string(a.plan.kind), Work: work,
		Ref: ref, Base: a.before.Digest(), Seeded: a.seeded, Turn: a.talk.turn(), Answers: a.watch.turns(),
		Completions: a.talk.completions, Recoveries: a.talk.recoveries, Digest: a.talk.digest, Reasons: a.talk.reasons,
	}
	if err := atomicfile.WriteFile(a.path(CheckpointFile), mustJSON(c), 0o600); err != nil {
		return failure.New(failure.Infra, "write the checkpoint", err, "")
	}
	return nil
}

// conversation is called when the agent's session is known by name: from here on a crash does not lose it.
func (a *run) conversation(s driver.SessionInfo) {
	a.mu.Lock()
	known := a.talk.ref == s.ID
	a.talk.ref = s.ID
	a.mu.Unlock()
	if known || s.ID == "" {
		return
	}
	if err := a.checkpoint(); err != nil {
		a.note("checkpoint_error", map[string]string{"error": err.Error()}) // the end of the turn tries again
	}
}

func readCheckpoint(dir string) (checkpoint, error) {
	var c checkpoint
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	defer func() { _ = root.Close() }()
	data, err := driver.TakeFile(root, CheckpointFile)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// takeUp looks for an earlier attempt of the task whose conversation can go on, and makes its directory this attempt's.
func (a *run) takeUp(ctx context.Context) error {
	if a.claim.Ref.Fence <= 1 {
		return nil // it is the first
	}
	list, err := a.Store.Attempts(ctx, a.claim.Ref.TaskID)
	if err != nil {
		return failure.New(failure.Infra, "look for an earlier attempt", err, "")
	}
	list = slices.DeleteFunc(list, func(t store.Attempt) bool { return t.Record.AttemptID == a.claim.Ref.AttemptID || t.Live })
	if len(list) == 0 {
		return nil
	}
	last := slices.MaxFunc(list, func(x, y store.Attempt) int { return int(x.Fence - y.Fence) })
	why, ok := goesOn[failure.Class(last.Class)]
	dir := a.Home.Attempt(last.Record.AttemptID)
	c, err := readCheckpoint(dir)
	if !ok || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = a.fits(c)
	}
	if err != nil {
		a.fresh = fmt.Sprintf("the conversation of attempt %s cannot go on: %v", last.Record.AttemptID, err)
		return nil
	}
	answers, err := a.answers(ctx)
	if err != nil {
		return failure.New(failure.Infra, "read the answers of people", err, "")
	}
	if err := os.Rename(dir, a.dir); err != nil {
		return failure.New(failure.Infra, "take up an earlier attempt", err, "")
	}
	for _, name := range []string{"journal.jsonl", egressSocket, "tmp", "site", "components"} {
		if err := workspace.Remove(a.path(name)); err != nil {
			return failure.New(failure.Infra, "take up an earlier attempt", err, "")
		}
	}
	a.resumed = &resumed{c, why, answers}
	return nil
}

// fits reports why a conversation cannot go on in this attempt.
func (a *run) fits(c checkpoint) error {
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
	return nil
}

// continueWith restores what the checkpoint says, instead of seeding.
func (a *run) continueWith(ctx context.Context, r *resumed) error {
	a.seeded = r.Seeded
	var err error
	if a.before, err = workspace.Snapshot(ctx, a.path("base"), nil); err != nil {
		return classify(ctx, failure.Infra, "take the first manifest again", err)
	}
	if a.before.Digest() != r.Base {
		return failure.New(failure.Infra, "go on with an earlier attempt", errors.New("the base is not what it was"), "retry the task: it begins anew")
	}
	a.talk = talk{ref: r.Ref, first: max(r.Turn, 2), // the brief was said already, however far that turn got
		completions: r.Completions, recoveries: r.Recoveries, digest: r.Digest, reasons: r.Reasons}
	a.watch.turn = r.Answers
	a.note("resumed", map[string]any{"from_attempt": r.AttemptID, "ref": r.Ref, "turn": r.Turn, "why": r.why, "base_digest": r.Base})
	return nil
}

// keeps reports whether the attempt's directory waits for the next attempt, by how this one ended.
func (a *run) keeps(class failure.Class, status agentruntime.TaskStatus) bool {
	_, ok := goesOn[class]
	return ok && !state.TaskTerminal(status) && !a.Alone && a.checkpointed()
}

func (a *run) checkpointed() bool {
	_, err := os.Lstat(a.path(CheckpointFile))
	return err == nil
}
