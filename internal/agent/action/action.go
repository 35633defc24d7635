// Package action owns what a person is asked while an agent works: the question with its context, the wait for an answer,
// and what an answer means. It decides nothing itself and never asks twice: the same question of the same task finds the
// answer that it got, also after a restart.
package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/store"
)

// The kinds of actions that this package makes.
const (
	KindPermission = "permission" // answered with a Decision
	KindQuestion   = "question"   // answered with any JSON, as a rule a text
)

// A Decision is the answer to a permission. It covers exactly the call that was asked about; with Always also every later
// call of the same task with the same tool and subject.
type Decision struct {
	Decision string `json:"decision"` // allow or deny
	Always   bool   `json:"always,omitempty"`
	Note     string `json:"note,omitempty"`
}

// Allowed reports whether it is a yes. Everything else is a no.
func (d Decision) Allowed() bool { return d.Decision == deed.RuleAllow }

// Read reads the answer to a permission. What cannot be read is a no.
func Read(a store.Action) Decision {
	d := Decision{Decision: deed.RuleDeny}
	if a.State != store.ActionAnswered || json.Unmarshal(a.Answer, &d) != nil || d.Decision != deed.RuleAllow {
		d.Decision, d.Always = deed.RuleDeny, false
	}
	return d
}

// Text is the answer to a question as the agent gets it.
func Text(a store.Action) string {
	var s string
	if json.Unmarshal(a.Answer, &s) == nil {
		return s
	}
	return string(a.Answer)
}

// A Subject is what a permission is about.
type Subject struct {
	Tool    string          `json:"tool"`              // deed's name
	Agent   string          `json:"agent_tool"`        // the agent's name for it
	Subject string          `json:"subject,omitempty"` // its paths, hosts and commands
	Input   json.RawMessage `json:"input,omitempty"`   // redacted
	Digest  string          `json:"scope_digest"`      // of tool and subject, for an answer that holds always
	CallID  string          `json:"call_id,omitempty"`
}

// Find returns the action of a task for a context; ok is false when it was never asked, or the question was dismissed.
func Find(ctx context.Context, st *store.Store, taskID, digest string) (a store.Action, ok bool, err error) {
	a, err = st.FindAction(ctx, taskID, digest)
	if errors.Is(err, store.ErrNotFound) {
		return store.Action{}, false, nil
	}
	return a, err == nil, err
}

// maxAnswers bounds how many answers of a task are looked through for one that holds always.
const maxAnswers = 1000

// Always returns the answer of a person that allows every call with this scope, if there is one.
func Always(ctx context.Context, st *store.Store, taskID, scope string) (a store.Action, ok bool, err error) {
	list, err := st.Actions(ctx, store.ActionFilter{TaskID: taskID, State: store.ActionAnswered, Limit: maxAnswers})
	if err != nil {
		return store.Action{}, false, err
	}
	for _, a := range list {
		var s Subject
		if d := Read(a); a.Kind == KindPermission && d.Allowed() && d.Always && json.Unmarshal(a.Subject, &s) == nil && s.Digest == scope {
			return a, true, nil
		}
	}
	return store.Action{}, false, nil
}

// poll is how often a wait looks, at first and at most: an answer is a matter of seconds at best, and a look is one row.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 2 * time.Second
)

// Await waits until an action is closed, for as long as live lasts. closed is false when it is still open then. An error is
// that of the store, or the cause of ctx.
func Await(ctx context.Context, st *store.Store, id string, live time.Duration) (a store.Action, closed bool, err error) {
	limit := time.NewTimer(live)
	defer limit.Stop()
	for wait := firstPoll; ; wait = min(2*wait, lastPoll) {
		if a, err = st.Action(ctx, id); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return a, false, err
		}
		if a.State != store.ActionOpen || live <= 0 {
			return a, a.State != store.ActionOpen, nil
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-limit.C:
			next.Stop()
			live = 0 // one last look
		case <-ctx.Done():
			next.Stop()
			return a, false, context.Cause(ctx)
		}
	}
}

// Answer is the answer to an action in the words of the person who gives it, or why there is no answer of that kind.
func Answer(a store.Action, d *Decision, text json.RawMessage) (json.RawMessage, error) {
	switch {
	case a.Kind == store.ActionBudget:
		return nil, fmt.Errorf("action %s waits for a larger budget (say `deed task budget %s` with what to raise)", a.ID, a.TaskID)
	case d != nil && a.Kind == KindQuestion:
		return nil, fmt.Errorf("action %s is a question (say `deed action answer %s TEXT`)", a.ID, a.ID)
	case d == nil && a.Kind == KindPermission:
		return nil, fmt.Errorf("action %s asks for a permission (say `deed action approve %s` or `deed action deny %s`)", a.ID, a.ID, a.ID)
	case d != nil:
		return json.Marshal(d)
	}
	return text, nil
}

// Record is an action as the contract spells it.
func Record(a store.Action) agentruntime.RequiredAction {
	r := agentruntime.RequiredAction{
		ID: a.ID, Kind: a.Kind, Prompt: a.Prompt, Why: a.Why, Rule: a.Rule, Subject: a.Subject, ContextDigest: a.ContextDigest,
		MayAnswer: a.MayAnswer, State: a.State, Answer: a.Answer, AnsweredBy: a.AnsweredBy, OpenedAt: agentruntime.At(a.OpenedAt),
	}
	if !a.Deadline.IsZero() {
		r.Deadline, r.Default = agentruntime.At(a.Deadline), deed.RuleDeny
	}
	if !a.ClosedAt.IsZero() {
		r.ClosedAt = agentruntime.At(a.ClosedAt)
	}
	return r
}
