package view

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/store"
)

// SchemaAction is the id of an Action.
const SchemaAction = "deed/action/v1"

// KindApply is the kind of a staged apply among the actions.
const KindApply = "apply"

// An Action is a required action: what a person is asked.
type Action struct {
	Schema    string          `json:"schema"`
	ActionID  string          `json:"action_id"`
	TaskID    string          `json:"task_id"`
	Owner     string          `json:"owner,omitempty"` // what it belongs to when that is no task
	AttemptID string          `json:"attempt_id"`
	Kind      string          `json:"kind"`
	Prompt    string          `json:"prompt"`
	Why       string          `json:"why,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	Subject   json.RawMessage `json:"subject,omitempty"`
	Context   string          `json:"context_digest,omitempty"`
	OpenedAt  string          `json:"opened_at,omitempty"`
	Deadline  string          `json:"deadline,omitempty"`
	Default   json.RawMessage `json:"default,omitempty"`
	MayAnswer []string        `json:"may_answer,omitempty"`
	State     string          `json:"state"`
	Answer    json.RawMessage `json:"answer,omitempty"`
	By        string          `json:"answered_by,omitempty"`
	ClosedAt  string          `json:"closed_at,omitempty"`
}

// ActionOf is an action of the store.
func ActionOf(x store.Action) Action {
	return Action{
		Schema: SchemaAction, ActionID: x.ID, TaskID: x.TaskID, Owner: x.Owner, AttemptID: x.AttemptID, Kind: x.Kind, Prompt: x.Prompt, Why: x.Why, Rule: x.Rule,
		Subject: x.Subject, Context: x.ContextDigest, OpenedAt: stamp(x.OpenedAt), Deadline: stamp(x.Deadline), Default: x.Default, MayAnswer: x.MayAnswer,
		State: x.State, Answer: x.Answer, By: x.AnsweredBy, ClosedAt: stamp(x.ClosedAt),
	}
}

// stamp is an instant as documents have it; empty when there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(agentruntime.At(t))
}

// StagedAction is a staged apply as an action.
func StagedAction(p codebox.PendingApplyPreview) store.Action {
	x := store.Action{ID: p.ActionID, Kind: KindApply, Prompt: p.Summary, State: store.ActionOpen, AnsweredBy: p.ResolvedBy}
	if p.Status != codebox.PendingOpen {
		x.State, x.Answer = store.ActionAnswered, json.RawMessage(strconv.Quote(p.Status))
	}
	return x
}

// Actions lists what waits for a person: the actions of the store, and the staged applies of the home. With all, those that were
// closed too.
func (r *Reader) Actions(ctx context.Context, all bool, limit int) ([]Action, error) {
	f := store.ActionFilter{State: store.ActionOpen, Limit: limit}
	if all {
		f.State = ""
	}
	acts, err := r.src.Store.Actions(ctx, f)
	if err != nil {
		return nil, err
	}
	staged, err := r.staged.Pending(all)
	if err != nil {
		return nil, err
	}
	for _, p := range staged {
		acts = append(acts, StagedAction(p))
	}
	out := []Action{}
	for _, x := range acts[:min(len(acts), limit)] {
		out = append(out, ActionOf(x))
	}
	return out, nil
}
