package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

// setup returns a desk with a task that runs.
func setup(t *testing.T) (*answer.Desk, *store.Claim) {
	t.Helper()
	ctx := context.Background()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(ctx, h.DB(), store.Options{Clock: clock.System})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	c, err := st.EnqueueClaimed(ctx, store.NewTask{
		Intent: agentruntime.TaskIntent{Schema: agentruntime.SchemaTaskIntent, TaskType: "fix", Source: "test", Payload: json.RawMessage(`{}`)}, MaxAttempts: 1,
	}, store.ClaimOptions{RunnerID: "r", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	desk := &answer.Desk{
		Store: st, Home: h, Config: config.Default(), Workflows: &workflow.Engine{Store: st, Clock: clock.System, Root: h.Root()},
		Applier: &apply.Applier{Home: h, Clock: clock.System}, Keys: func() ([]bundle.PublicKey, error) { return nil, nil },
	}
	return desk, c
}

func TestGive(t *testing.T) {
	t.Parallel()
	yes, no := &action.Decision{Decision: deed.RuleAllow}, &action.Decision{Decision: deed.RuleDeny, Note: "leave it"}
	for name, c := range map[string]struct {
		kind string
		word answer.Answer
		want string // the answer; empty: refused with ErrAnswer, and the action stays open
	}{
		"approve a permission":         {action.KindPermission, answer.Answer{Decision: yes}, `{"decision":"allow"}`},
		"deny it":                      {action.KindPermission, answer.Answer{Decision: no}, `{"decision":"deny","note":"leave it"}`},
		"a text for a permission":      {action.KindPermission, answer.Answer{Text: json.RawMessage(`"sure"`)}, ""},
		"approve as a text":            {action.KindPermission, answer.Answer{Text: json.RawMessage(`"approve"`)}, ""},
		"answer a question":            {action.KindQuestion, answer.Answer{Text: json.RawMessage(`"tabs"`)}, `"tabs"`},
		"decide a question":            {action.KindQuestion, answer.Answer{Decision: yes}, ""},
		"decide a budget":              {store.ActionBudget, answer.Answer{Decision: yes}, ""},
		"decide a workflow":            {workflow.ActionKind, answer.Answer{Decision: no}, ""},
		"a workflow's word is unknown": {workflow.ActionKind, answer.Answer{Text: json.RawMessage(`"perhaps"`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			desk, claim := setup(t)
			x, err := desk.Store.OpenAction(ctx, claim.Ref, store.NewAction{Kind: c.kind, Prompt: "may I?", ContextDigest: "d"})
			if err != nil {
				t.Fatal(err)
			}
			did, err := desk.Give(ctx, x.ID, "ada", c.word)
			now, aerr := desk.Store.Action(ctx, x.ID)
			if aerr != nil {
				t.Fatal(aerr)
			}
			if c.want == "" {
				if !errors.Is(err, answer.ErrAnswer) || now.State != store.ActionOpen {
					t.Fatalf("error %v, state %s", err, now.State)
				}
				return
			}
			if err != nil || string(did.Action.Answer) != c.want || now.AnsweredBy != "ada" {
				t.Fatalf("error %v, answer %s by %s", err, did.Action.Answer, now.AnsweredBy)
			}
			if _, err := desk.Give(ctx, x.ID, "bob", c.word); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// A staged apply is one change: it is not allowed for all time, and stays open when somebody tries.
func TestAlwaysIsNoAnswerToAStagedApply(t *testing.T) {
	t.Parallel()
	desk, _ := setup(t)
	const id = "01a1eccd-a18b-7dfd-86be-4a37cebcb70b"
	p := evidence.PendingApplyPreview{
		Schema: evidence.SchemaPendingApplyPreview, ActionID: id, Status: evidence.PendingOpen, CreatedAt: "2026-11-18T00:00:00Z", ArtifactID: "artifact-bundle-x",
		Summary: "apply", Files: []evidence.PendingApplyFile{}, ApplyInput: evidence.PendingApplyInput{
			ArtifactID: "artifact-bundle-x", ArtifactsPath: "/bundle", ApprovedFiles: []string{}, ApplyTarget: evidence.ApplyTarget{Directory: "/target"},
		},
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(desk.Home.Applies(), "staged")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, id+".json"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = desk.Give(t.Context(), id, "ada", answer.Answer{Decision: &action.Decision{Decision: deed.RuleAllow, Always: true}})
	if !errors.Is(err, answer.ErrAnswer) || !strings.Contains(err.Error(), "leave --always out") {
		t.Errorf("always: %v", err)
	}
	if p, err = desk.Applier.Staged(id); err != nil || p.Status != evidence.PendingOpen {
		t.Errorf("the apply is %s, %v", p.Status, err)
	}
	if _, err = desk.Give(t.Context(), id, "ada", answer.Answer{Decision: &action.Decision{Decision: deed.RuleDeny, Note: "not now"}}); err != nil {
		t.Fatal(err)
	}
	if p, err = desk.Applier.Staged(id); err != nil || p.Status != evidence.PendingRejected || p.Note != "not now" {
		t.Errorf("the apply is %s with the note %q, %v", p.Status, p.Note, err)
	}
}

func TestGiveToNothing(t *testing.T) {
	t.Parallel()
	desk, _ := setup(t)
	if _, err := desk.Give(context.Background(), "0123456789", "ada", answer.Answer{Decision: &action.Decision{Decision: deed.RuleAllow}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	desk, claim := setup(t)
	task, err := desk.Store.Task(ctx, claim.Task.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Budget(ctx, task, "ada", func(b deed.Budget) deed.Budget { b.Turns = -1; return b }); !errors.Is(err, answer.ErrAnswer) {
		t.Errorf("a negative bound: %v", err)
	}
	res, err := desk.Budget(ctx, task, "ada", func(b deed.Budget) deed.Budget { b.Turns = 7; return b })
	if err != nil || res.Budget.Turns != 7 {
		t.Errorf("budget %+v, error %v", res.Budget, err)
	}
}
