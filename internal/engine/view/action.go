package view

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
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

// A StagedApply is what a staged apply is about: what is changed where when it is approved.
type StagedApply struct {
	ArtifactID string                      `json:"artifact_id"`
	Bundle     string                      `json:"bundle"`
	Directory  string                      `json:"directory"`
	Workspace  string                      `json:"workspace,omitempty"`
	Files      []evidence.PendingApplyFile `json:"files"`
	Force      bool                        `json:"force,omitempty"`
	StagedBy   string                      `json:"staged_by,omitempty"`
	Note       string                      `json:"note,omitempty"` // a note of the person who decided
}

// StagedAction is a staged apply as an action.
func StagedAction(p evidence.PendingApplyPreview) store.Action {
	x := store.Action{ID: p.ActionID, Kind: KindApply, Prompt: p.Summary, State: store.ActionOpen, AnsweredBy: p.ResolvedBy, OpenedAt: instant(p.CreatedAt), ClosedAt: instant(p.ResolvedAt)}
	in := p.ApplyInput
	about, err := json.Marshal(StagedApply{
		ArtifactID: p.ArtifactID, Bundle: in.ArtifactsPath, Directory: in.ApplyTarget.Directory, Workspace: in.ApplyTarget.Workspace,
		Files: append([]evidence.PendingApplyFile{}, p.Files...), Force: in.Force, StagedBy: in.Approver, Note: p.Note,
	})
	if err == nil {
		x.Subject = about
	}
	if p.Status != evidence.PendingOpen {
		x.State, x.Answer = store.ActionAnswered, json.RawMessage(strconv.Quote(p.Status))
	}
	return x
}

// instant reads a time that a document has as text; a document without one has none.
func instant(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
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
