// Package answer owns how the answer of a person takes effect: on a question of an agent, on a permission, on a workflow that does
// not know how to go on, on a revision of a constitution, on a staged apply and on a budget. The command line, the page, the HTTP API
// and MCP answer through it, so that the same answer has the same effect everywhere. It asks no one, and it does not say who may
// answer.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

// ErrAnswer is wrapped when an answer does not fit the action: by its kind, or by what it says. Nothing was changed.
var ErrAnswer = errors.New("not an answer to this action")

// An answerError is ErrAnswer with a text of its own, which lists the possible answers.
type answerError struct{ error }

func (answerError) Is(target error) bool { return target == ErrAnswer }

func (e answerError) Unwrap() error { return e.error }

// A Desk takes answers. All fields are needed.
type Desk struct {
	Store     *store.Store
	Home      *home.Home
	Config    *config.Config
	Workflows *workflow.Engine
	Applier   *apply.Applier
	Keys      func() ([]bundle.PublicKey, error) // whose signatures count when a staged apply is approved
}

// An Answer is what a person answers: a decision, or a text as JSON.
type Answer struct {
	Decision *action.Decision
	Text     json.RawMessage
}

// An Effect is what an answer did.
type Effect struct {
	Action   store.Action            // as it stands now; of a staged apply it is empty
	Applied  *evidence.ArtifactApply // of a staged apply, also when it was refused
	Proposal *store.Proposal         // of a revision of a constitution
}

// Give answers an action, by its id or the beginning of one. It returns store.ErrNotFound, ErrAnswer, store.ErrMayNotAnswer, store.ErrClosed,
// or for a staged apply apply.ErrResolved and *apply.Refusal. A dispatcher is woken.
func (d *Desk) Give(ctx context.Context, id, by string, w Answer) (Effect, error) {
	if w.Decision != nil || staged(w.Text) != "" {
		out, err := d.resolve(ctx, id, by, w)
		if !errors.Is(err, apply.ErrNotStaged) {
			return out, err
		}
	}
	x, err := d.Store.Action(ctx, id)
	if err != nil {
		return Effect{}, err
	}
	if strings.HasPrefix(x.Owner, store.AgentOwner+"/") {
		return d.revise(ctx, x, by, w.Decision)
	}
	said, err := Encode(x, w)
	if err != nil {
		return Effect{}, err
	}
	if err := d.Store.AnswerAction(ctx, x.ID, said, by); err != nil {
		return Effect{}, err
	}
	if id, ok := strings.CutPrefix(x.Owner, "workflow/"); ok {
		// A dispatcher would do so too; here the answer has its effect at once.
		if _, err := d.Workflows.Advance(ctx, id); err != nil {
			return Effect{}, err
		}
	}
	d.Home.Wake()
	x, err = d.Store.Action(ctx, x.ID)
	return Effect{Action: x}, err
}

// Encode is the answer in the form that the action's kind has, or ErrAnswer with the possible answers.
func Encode(x store.Action, w Answer) (json.RawMessage, error) {
	var out json.RawMessage
	var err error
	switch {
	case x.Kind != workflow.ActionKind:
		out, err = action.Answer(x, w.Decision, w.Text)
	case w.Decision != nil:
		err = fmt.Errorf("action %s asks how a workflow goes on (say `deed action answer %s` with one of the words that `deed action show` lists)", x.ID, x.ID)
	default:
		out, err = workflow.ReadAnswer(x, w.Text)
	}
	if err != nil {
		return nil, answerError{err}
	}
	return out, nil
}

// staged is the answer to a staged apply in a text, or nothing.
func staged(text json.RawMessage) string {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return ""
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if s != "approve" && s != "reject" {
		return ""
	}
	return s
}

// resolve answers a staged apply; apply.ErrNotStaged means that the action is none.
func (d *Desk) resolve(ctx context.Context, id, by string, w Answer) (Effect, error) {
	r := apply.Resolution{Approve: staged(w.Text) == "approve", By: by}
	if w.Decision != nil {
		r.Approve, r.Note = w.Decision.Allowed(), w.Decision.Note
		if err := Once(d.Applier, id, w.Decision.Always); err != nil {
			return Effect{}, err
		}
	}
	var err error
	if r.Keys, err = d.Keys(); err != nil {
		return Effect{}, err
	}
	out, err := d.Applier.Resolve(ctx, id, r)
	return Effect{Applied: &out}, err
}

// Once refuses to approve a staged apply for all time: it is one change of one directory, and no later request could be covered.
// apply.ErrNotStaged means that the action is none.
func Once(a *apply.Applier, id string, always bool) error {
	if !always {
		return nil
	}
	if _, err := a.Staged(id); err != nil {
		return err
	}
	return answerError{fmt.Errorf("always: %s is a staged apply, which is applied once (leave --always out)", id)}
}

// revise decides on a revision of a constitution.
func (d *Desk) revise(ctx context.Context, x store.Action, by string, say *action.Decision) (Effect, error) {
	var of struct {
		ProposalID string `json:"proposal_id"`
	}
	if err := json.Unmarshal(x.Detail, &of); err != nil {
		return Effect{}, fmt.Errorf("action %s: %w", x.ID, err)
	}
	if say == nil {
		return Effect{}, answerError{fmt.Errorf("action %s is a revision of a constitution (approve or deny it, as `deed agent accept` and `deed agent reject` do)", x.ID)}
	}
	p, err := (&identity.Book{Store: d.Store, Home: d.Home}).Decide(ctx, of.ProposalID, say.Allowed(), say.Note, by)
	if err != nil {
		return Effect{}, err
	}
	x, err = d.Store.Action(ctx, x.ID)
	return Effect{Action: x, Proposal: &p}, err
}

// Budget gives a task another budget; a task that waits for that continues. A budget of money that could not be enforced is
// refused, as admission does. merge gets the present budget.
func (d *Desk) Budget(ctx context.Context, t store.Task, by string, merge func(deed.Budget) deed.Budget) (store.BudgetChange, error) {
	if err := d.admissible(t, merge); err != nil {
		return store.BudgetChange{}, answerError{err}
	}
	res, err := d.Store.SetBudget(ctx, t.ID(), by, merge)
	if err == nil {
		d.Home.Wake()
	}
	return res, err
}

func (d *Desk) admissible(t store.Task, merge func(deed.Budget) deed.Budget) error {
	own, spec := deed.Budget{}, t.Intent.Deed
	if spec != nil && spec.Budget != nil {
		own = *spec.Budget
	}
	own = merge(own)
	if err := own.Validate(); err != nil {
		return err
	}
	var cfg agentruntime.AdapterConfig
	if spec != nil && len(spec.Adapter) > 0 {
		if err := cfg.UnmarshalJSON(spec.Adapter); err != nil {
			return err
		}
	} else if id := t.Record.RequestedAdapterID; id != nil {
		if c, err := d.Config.Adapter(*id); err == nil {
			cfg = c.AdapterConfig
		}
	}
	model := ""
	if m := t.Record.RequestedModel; m != nil {
		model = *m
	}
	return usage.CheckAdmission(d.Config, &own, cfg, model)
}
