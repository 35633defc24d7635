package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

type actionQuery struct {
	State  string `query:"state" enum:"open,answered,dismissed,all" default:"open" doc:"only those in this state"`
	Task   string `query:"task" doc:"only those of this task"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"500" doc:"at most so many"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

// Approval allows what an action asks for.
type Approval struct {
	Always bool   `json:"always,omitempty"` // every later call of this task with the same tool and subject too
	Note   string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// Answer is the answer to a question: any JSON, most often a text.
type Answer struct {
	Answer evidence.Value `json:"answer"`
}

// Answered is what an answer did.
type Answered struct {
	Schema  string          `json:"schema"`
	Action  *view.Action    `json:"action,omitempty"`
	Applied json.RawMessage `json:"applied,omitempty"` // of a staged apply
}

func (a *API) actions() {
	get(a, "/actions", about{id: "listActions", tag: "actions", summary: "List what waits for a person, oldest first; staged applies come first", need: access.Read, position: true}, a.listActions)
	get(a, "/actions/{id}", about{id: "getAction", tag: "actions", summary: "Show what is asked, why, and who may answer until when", need: access.Read}, a.getAction)
	give := func(verb, id, summary string) about {
		return about{id: id, tag: "actions", summary: summary, need: access.Operate, of: "getAction", optional: verb != "answer", conflicts: true}
	}
	post(a, "/actions/{id}/approve", give("approve", "approveAction", "Allow what an action asks for"), func(ctx context.Context, in one, b Approval) (Answered, error) {
		return a.give(ctx, in.ID, answer.Answer{Decision: &action.Decision{Decision: deed.RuleAllow, Always: b.Always, Note: b.Note}})
	})
	post(a, "/actions/{id}/deny", give("deny", "denyAction", "Refuse what an action asks for; the agent is told the reason"), func(ctx context.Context, in one, b Reason) (Answered, error) {
		return a.give(ctx, in.ID, answer.Answer{Decision: &action.Decision{Decision: deed.RuleDeny, Note: b.Reason}})
	})
	post(a, "/actions/{id}/answer", give("answer", "answerAction", "Answer a question; its task goes on"), func(ctx context.Context, in one, b Answer) (Answered, error) {
		if len(b.Answer) == 0 {
			return Answered{}, invalid("$.answer", fault.MissingField, "is missing", "")
		}
		return a.give(ctx, in.ID, answer.Answer{Text: json.RawMessage(b.Answer)})
	})
}

func (a *API) listActions(ctx context.Context, in actionQuery) (Page[view.Action], error) {
	id, err := a.taskID(ctx, in.Task)
	if err != nil {
		return Page[view.Action]{}, err
	}
	digest := filterDigest(in.State, id)
	after, err := readCursor(in.Cursor, "actions", digest)
	if err != nil {
		return Page[view.Action]{}, err
	}
	f := store.ActionFilter{State: in.State, TaskID: id, Limit: in.Limit + 1, After: after}
	if in.State == "all" {
		f.State = ""
	}
	found, err := a.Store.Actions(ctx, f)
	if err != nil {
		return Page[view.Action]{}, gone(after, err)
	}
	p := pageOf("deed/actions/v1", "actions", digest, in.Limit, found, func(x store.Action) string { return x.ID }, view.ActionOf)
	if after == "" && id == "" && (in.State == "open" || in.State == "all") {
		staged, err := a.staged()
		if err != nil {
			return p, err
		}
		p.Items = slices.Concat(staged, p.Items)
	}
	return p, nil
}

// staged are the applies that wait in the home: they are few, and no rows.
func (a *API) staged() ([]view.Action, error) {
	list, err := a.Desk.Applier.Pending(false)
	if err != nil {
		return nil, err
	}
	var out []view.Action
	for _, x := range list {
		out = append(out, view.ActionOf(view.StagedAction(x)))
	}
	return out, nil
}

func (a *API) getAction(ctx context.Context, in one) (view.Action, error) {
	x, err := a.Store.Action(ctx, in.ID)
	if !errors.Is(err, store.ErrNotFound) {
		return view.ActionOf(x), err
	}
	staged, serr := a.staged()
	if serr != nil {
		return view.Action{}, serr
	}
	for _, s := range staged {
		if len(in.ID) >= 6 && strings.HasPrefix(s.ActionID, in.ID) {
			return s, nil
		}
	}
	return view.Action{}, err
}

// give answers an action through the one desk that everybody uses.
func (a *API) give(ctx context.Context, id string, w answer.Answer) (Answered, error) {
	out, err := a.Desk.Give(ctx, id, by(ctx), w)
	var refusal *apply.Refusal
	switch {
	case errors.Is(err, apply.ErrResolved):
		return Answered{}, conflict("closed", err.Error())
	case errors.As(err, &refusal):
		return Answered{}, httperror.New(http.StatusUnprocessableEntity, "apply_refused", err.Error())
	case err != nil:
		return Answered{}, err
	}
	a.changed()
	res := Answered{Schema: "deed/action.answered/v1"}
	if out.Applied != nil {
		res.Applied, err = json.Marshal(out.Applied)
		return res, err
	}
	x := view.ActionOf(out.Action)
	res.Action = &x
	return res, nil
}
