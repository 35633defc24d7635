package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// An asked is a required action with the possible answers to it.
type asked struct {
	Action  view.Action
	About   []fact
	Form    string // permission, decision, budget, words, text
	No      string // the label of the negative answer
	Words   []string
	Answer  string
	Back    string
	CSRF    string
	Operate bool
}

// asked makes an action answerable; back is the page to show afterwards.
func (s *Site) asked(r *http.Request, x view.Action, back string) asked {
	a := asked{Action: x, Back: back, CSRF: access.CSRF(r.Context()), Operate: access.From(r.Context()).May(access.Operate), Form: "text", No: "Deny"}
	if x.State != store.ActionOpen {
		a.Answer = or(string(x.Answer), x.State)
	}
	switch {
	case x.Kind == action.KindPermission:
		a.Form, a.About = "permission", permissionFacts(x.Subject)
	case x.Kind == view.KindApply:
		a.Form, a.No = "decision", "Reject"
	case x.Kind == store.ActionBudget:
		a.Form = "budget"
	case x.Kind == workflow.ActionKind:
		a.Form, a.Words = "words", wordsFor(x.Subject)
	case strings.HasPrefix(x.Owner, store.AgentOwner+"/"):
		a.Form, a.No = "decision", "Reject"
	}
	if len(a.About) == 0 && len(x.Subject) > 2 && a.Form != "words" {
		a.About = []fact{{"about", pretty(x.Subject), true}}
	}
	return a
}

func permissionFacts(subject json.RawMessage) []fact {
	var p action.Subject
	if json.Unmarshal(subject, &p) != nil {
		return nil
	}
	var out []fact
	for _, f := range []fact{{"tool", p.Tool, true}, {"as the agent calls it", p.Agent, true}, {"on", p.Subject, true}, {"input", pretty(p.Input), true}} {
		if f.Value != "" && f.Value != p.Tool || f.Name == "tool" {
			out = append(out, f)
		}
	}
	return out
}

// wordsFor are the words that a workflow takes.
func wordsFor(subject json.RawMessage) []string {
	var q workflow.Question
	if json.Unmarshal(subject, &q) != nil {
		return nil
	}
	out := slices.Clone(q.Signals)
	if q.Retry {
		out = append(out, workflow.AnswerRetry)
	}
	return append(out, workflow.AnswerAbandon)
}

type actionsBody struct {
	All  bool
	List []asked
	Also []waiting
}

func (s *Site) actions(r *http.Request) (screen, error) {
	b := actionsBody{All: r.URL.Query().Get("all") != ""}
	list, err := s.View.Actions(r.Context(), b.All, perPage)
	if err != nil {
		return screen{}, err
	}
	for _, x := range list {
		b.List = append(b.List, s.asked(r, x, "/actions"))
	}
	if !b.All {
		h, err := s.View.Home(r.Context())
		if err != nil {
			return screen{}, err
		}
		for _, w := range waitings(h.Waiting) {
			if !strings.HasPrefix(w.Href, "/actions/") {
				b.Also = append(b.Also, w)
			}
		}
	}
	return screen{template: "actions", title: "Waiting for you", nav: "actions", body: b}, nil
}

func (s *Site) action(r *http.Request) (screen, error) {
	id := r.PathValue("id")
	x, err := s.Store.Action(r.Context(), id)
	if errors.Is(err, store.ErrNotFound) { // it may be a staged apply, which is in the home
		list, lerr := s.Desk.Applier.Pending(true)
		if lerr != nil {
			return screen{}, lerr
		}
		for _, p := range list {
			if p.ActionID == id {
				x, err = view.StagedAction(p), nil
			}
		}
	}
	if err != nil {
		return screen{}, err
	}
	return screen{template: "actions", title: "Waiting for you", nav: "actions", body: actionsBody{All: x.State != store.ActionOpen, List: []asked{s.asked(r, view.ActionOf(x), "/actions")}}}, nil
}
