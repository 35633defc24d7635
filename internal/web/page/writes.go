package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/web/access"
)

// Every write here is one call of the engine in the caller's name, the same that the command line makes. It answers with the
// address of the page that shows the result.

func by(r *http.Request) string { return access.From(r.Context()).Name }

func (s *Site) cancel(r *http.Request) (string, error) {
	t, err := s.Store.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	if _, err := s.Store.Cancel(r.Context(), t.ID(), "on the page", by(r)); err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/tasks/"+t.ID(), "cancel"), nil
}

func (s *Site) retry(r *http.Request) (string, error) {
	return s.again(r, "retried on the page", "retry")
}

// resume makes a task that waits for its next attempt due now; the dispatcher continues its conversation.
func (s *Site) resume(r *http.Request) (string, error) {
	t, err := s.Store.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	if t.Record.Status != agentruntime.TaskRetryableFailure {
		return "", misuse(fmt.Sprintf("task %s is %s and does not wait for its next attempt", t.ID(), statusWord(t.Record.Status)))
	}
	return s.again(r, "resumed", "resume")
}

func (s *Site) again(r *http.Request, reason, word string) (string, error) {
	t, err := s.Store.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	if err := s.Store.Retry(r.Context(), t.ID(), reason, by(r)); err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/tasks/"+t.ID(), word), nil
}

// apply gives a directory of this machine the change of an accepted attempt.
func (s *Site) apply(r *http.Request) (string, error) {
	t, err := s.Store.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	at, err := s.Store.Attempt(r.Context(), or(r.PostFormValue("attempt"), t.AttemptID))
	if err != nil {
		return "", err
	}
	if at.Record.TaskID != t.ID() || at.BundleDir == "" {
		return "", misuse("this attempt has no bundle that could be applied")
	}
	to := r.PostFormValue("to")
	if fi, err := os.Stat(to); !filepath.IsAbs(to) || err != nil || !fi.IsDir() {
		return "", misuse(fmt.Sprintf("%q is not the absolute path of a directory on the machine of deed", to))
	}
	keys, err := s.Desk.Keys()
	if err != nil {
		return "", err
	}
	rehearse := r.PostFormValue("how") == "rehearse"
	if !rehearse && r.PostFormValue("how") != "apply" {
		return "", misuse("say rehearse or apply")
	}
	res, err := s.Desk.Applier.Apply(r.Context(), apply.Request{Bundle: s.View.BundleDir(at), To: to, By: by(r), Keys: keys, DryRun: rehearse})
	if err != nil {
		return "", err
	}
	word := "rehearse"
	if res.Status == evidence.ApplyApplied || res.Status == evidence.ApplyNoOp {
		word = "apply"
	}
	return did("/tasks/"+t.ID(), word), nil
}

// answer gives a person's answer to an action.
func (s *Site) answer(r *http.Request) (string, error) {
	id, say := r.PathValue("id"), r.PostFormValue("say")
	back := backTo(r, "/actions")
	note := r.PostFormValue("note")
	var w answer.Answer
	word := say
	switch say {
	case "approve", "always":
		w.Decision, word = &action.Decision{Decision: deed.RuleAllow, Always: say == "always", Note: note}, "approve"
	case "deny":
		w.Decision = &action.Decision{Decision: deed.RuleDeny, Note: note}
	case "budget":
		return did(back, word), s.setBudget(r, id)
	case "":
		return "", misuse("nothing was said")
	default:
		text := say
		word = "word"
		if say == "text" {
			text, word = r.PostFormValue("text"), "text"
		}
		if strings.TrimSpace(text) == "" {
			return "", misuse("the answer is empty")
		}
		doc, err := json.Marshal(text)
		if err != nil {
			return "", err
		}
		w.Text = doc
	}
	_, err := s.Desk.Give(r.Context(), id, by(r), w)
	return did(back, word), err
}

// setBudget gives the task of an action another budget. What is left empty stays as it is.
func (s *Site) setBudget(r *http.Request, actionID string) error {
	x, err := s.Store.Action(r.Context(), actionID)
	if err != nil {
		return err
	}
	t, err := s.Store.Task(r.Context(), x.TaskID)
	if err != nil {
		return err
	}
	var set []func(*deed.Budget)
	var bad []error
	field := func(name string, most float64, use func(*deed.Budget, float64)) {
		text := strings.TrimSpace(r.PostFormValue(name))
		if text == "" {
			return
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > most || name != "cost_usd" && n != math.Trunc(n) {
			bad = append(bad, fmt.Errorf("%s %q is not a number that a budget can have", name, text))
			return
		}
		set = append(set, func(b *deed.Budget) { use(b, n) })
	}
	field("cost_usd", deed.MaxBudgetCostUSD, func(b *deed.Budget, n float64) { b.CostUSD = n })
	field("tokens", deed.MaxBudgetTokens, func(b *deed.Budget, n float64) { b.Tokens = int64(n) })
	field("turns", deed.MaxBudgetTurns, func(b *deed.Budget, n float64) { b.Turns = int(n) })
	field("tool_calls", deed.MaxBudgetToolCalls, func(b *deed.Budget, n float64) { b.ToolCalls = int(n) })
	field("wall_seconds", 604800, func(b *deed.Budget, n float64) { b.WallSeconds = int64(n) })
	switch {
	case len(bad) > 0:
		return misuse(errors.Join(bad...).Error())
	case len(set) == 0:
		return misuse("no bound is given")
	}
	_, err = s.Desk.Budget(r.Context(), t, by(r), func(b deed.Budget) deed.Budget {
		for _, f := range set {
			f(&b)
		}
		return b
	})
	return err
}

func (s *Site) switchSchedule(r *http.Request) (string, error) {
	sc, err := s.Store.Schedule(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	say, on := r.PostFormValue("say"), false
	switch say {
	case "enable":
		on = true
	case "disable":
	default:
		return "", misuse("say enable or disable")
	}
	next := s.Clock().Add(time.Duration(sc.Record.IntervalSeconds) * time.Second)
	if _, err := s.Store.EnableSchedule(r.Context(), sc.Record.ScheduleID, on, next, by(r)); err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/schedules", say), nil
}

func (s *Site) switchSensor(r *http.Request) (string, error) {
	id, say := r.PathValue("id"), r.PostFormValue("say")
	if _, configured := s.Config.Sensors[id]; !configured {
		if _, err := s.Store.Sensor(r.Context(), id); err != nil {
			return "", err
		}
	}
	if say != "enable" && say != "disable" {
		return "", misuse("say enable or disable")
	}
	if _, err := s.Store.EnableSensor(r.Context(), id, say == "enable", by(r)); err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/sensors", say), nil
}

func (s *Site) moveOutbox(r *http.Request) (string, error) {
	o, err := s.Store.OutboxItem(r.Context(), r.PathValue("id"))
	if err != nil {
		return "", err
	}
	word := "again"
	switch r.PostFormValue("say") {
	case "retry":
		err = s.Store.OutboxRetry(r.Context(), o.ID, by(r))
	case "drop":
		word = "drop"
		err = s.Store.OutboxDrop(r.Context(), o.ID, "dropped on the page", by(r))
	default:
		err = misuse("say retry or drop")
	}
	if err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/outbox", word), nil
}

func (s *Site) queue(r *http.Request) (string, error) {
	word := "pause"
	var err error
	switch r.PathValue("do") {
	case "pause":
		err = s.Store.Pause(r.Context(), "on the page", by(r))
	case "resume":
		word = "unpause"
		err = s.Store.Resume(r.Context(), by(r))
	default:
		return "", notHere(r.URL.Path)
	}
	if err != nil {
		return "", err
	}
	s.Home.Wake()
	return did("/fleet", word), nil
}
