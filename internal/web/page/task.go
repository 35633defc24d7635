package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
	"github.com/deedrun/deed/internal/web/access"
)

// A taskFrame is what every part of a task has above it.
type taskFrame struct {
	Task     view.Task
	At       view.Attempt // the chosen attempt; the zero value when there is none
	Finished string
	Tabs     []tab
}

type tab struct {
	Name, Href, Note string
	On               bool
}

// taskFrame reads a task and the attempt that the address names, or its newest.
func (s *Site) taskFrame(r *http.Request, part string) (taskFrame, error) {
	t, err := s.View.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return taskFrame{}, err
	}
	f := taskFrame{Task: t}
	if t.Task.FinishedAt != nil {
		f.Finished = string(*t.Task.FinishedAt)
	}
	want := r.URL.Query().Get("attempt")
	for _, a := range t.Attempts {
		if want == "" || strings.HasPrefix(a.AttemptID, want) {
			f.At = a
		}
	}
	if want != "" && f.At.AttemptID == "" {
		return f, fmt.Errorf("task %s has no attempt %q: %w", t.Task.TaskID, want, store.ErrNotFound)
	}
	for _, x := range []struct{ part, name string }{
		{"", "Overview"}, {"diff", "Change"}, {"journal", "Journal"}, {"logs", "Logs"}, {"brief", "Brief"}, {"usage", "Usage"}, {"bundle", "Bundle"},
	} {
		href := "/tasks/" + t.Task.TaskID
		if x.part != "" {
			href += "/" + x.part
		}
		if want != "" {
			href += "?attempt=" + f.At.AttemptID
		}
		one := tab{Name: x.name, Href: href, On: x.part == part}
		if c := f.At.Changes; x.part == "diff" && c != nil {
			one.Note = count(c.Total)
		}
		f.Tabs = append(f.Tabs, one)
	}
	return f, nil
}

func (f taskFrame) screen(template string, body any) screen {
	return screen{template: template, title: line(80, or(f.Task.Subject, f.Task.Task.TaskType)), nav: "tasks", task: f.Task.Task.TaskID, still: ended(f.Task), body: body}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ended reports that nothing of a task will change by itself: it has ended and its deliveries too.
func ended(t view.Task) bool {
	for _, o := range t.Outbox {
		if o.State != store.OutboxDelivered {
			return false
		}
	}
	return state.TaskTerminal(t.Task.Status)
}

type taskBody struct {
	taskFrame
	Asked     []asked
	Now       *running // while the chosen attempt runs
	Can       []can
	Applies   bool
	Source    string // the directory that the work was for
	Checks    []checkRow
	OpenTails bool
	Asks      string
	Facts     []fact
	Artifacts []file
}

// A can is something that an operator can do with a task now.
type can struct{ Do, Name, Title, Class, Ask string }

// A fact is one line about something.
type fact struct {
	Name, Value string
	Code        bool
}

func (s *Site) task(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "")
	if err != nil {
		return screen{}, err
	}
	b := taskBody{taskFrame: f, Can: cans(f.Task), Asks: f.Task.Intent.Description, Facts: factsOf(f.Task), Checks: checkRows(f.At.Verdict), Artifacts: s.artifacts(f.Task)}
	if p := f.At.Progress; p != nil {
		now := runningOf(*p)
		b.Now = &now
	}
	b.OpenTails = f.At.Verdict != nil && !f.At.Verdict.Accepted
	for _, x := range f.Task.Actions {
		if x.State == store.ActionOpen {
			b.Asked = append(b.Asked, s.asked(r, x, "/tasks/"+f.Task.Task.TaskID))
		}
	}
	if v := f.At.Verdict; v != nil && v.Accepted && !v.NoOp && f.At.Bundle != "" && access.From(r.Context()).May(access.Operate) {
		b.Applies, b.Source = true, sourceOf(f.Task)
	}
	return f.screen("task", b), nil
}

// cans lists what an operator can do with a task as it stands.
func cans(t view.Task) []can {
	var out []can
	switch t.Task.Status {
	case agentruntime.TaskRetryableFailure:
		out = append(out, can{"resume", "Go on now", "make it due at once", "primary", ""})
	case agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled:
		out = append(out, can{"retry", "Retry", "give it another attempt now", "primary", ""})
	case agentruntime.TaskBlocked:
		out = append(out, can{"retry", "Retry without an answer", "give it another attempt now; what it asks is dismissed", "", "Give it another attempt without an answer?"})
	}
	if !state.TaskTerminal(t.Task.Status) && !t.CancelRequested {
		out = append(out, can{"cancel", "Cancel", "end it; an agent that runs is stopped", "danger", "Cancel this task?"})
	}
	return out
}

// sourceOf is the directory that a task's workspace was made of, where there is one.
func sourceOf(t view.Task) string {
	if t.Intent.Deed == nil {
		return ""
	}
	if w := t.Intent.Deed.Workspace; w != nil {
		return w.Source
	}
	return ""
}

func factsOf(t view.Task) []fact {
	r := t.Task
	out := []fact{{"priority", fmt.Sprint(r.Priority), false}}
	add := func(name, value string, code bool) {
		if value != "" {
			out = append(out, fact{name, value, code})
		}
	}
	if r.RequestedAdapterID != nil {
		add("agent", *r.RequestedAdapterID, false)
	}
	if r.RequestedModel != nil {
		add("model", *r.RequestedModel, false)
	}
	add("profile", r.RequestedProfileID, false)
	add("due", string(r.AvailableAt), false)
	if r.LastError != nil {
		add("last error", *r.LastError, false)
	}
	if r.Outcome != nil {
		add("outcome", r.Outcome.OperatorSummary, false)
	}
	if d := t.Intent.Deed; d != nil {
		add("isolation", d.Isolation, false)
		add("may write", strings.Join(d.WriteScope, ", "), true)
		add("protected", strings.Join(d.ProtectedPaths, ", "), true)
		for _, c := range d.Checks {
			add("check", strings.Join(c.Command, " "), true)
		}
	}
	if p := string(t.Intent.Payload); p != "" && p != "{}" && p != "null" {
		add("payload", p, true)
	}
	return out
}

// A checkRow is a check as it was on the base and on the change.
type checkRow struct {
	deed.CheckResult
	CommandLine, Before, After string
	Names                      []nameList
}

// A nameList is some tests or findings by name.
type nameList struct {
	Word, Class string
	Count, More int
	List        []string
}

const maxNames = 25

func checkRows(v *deed.Verdict) []checkRow {
	if v == nil {
		return nil
	}
	out := make([]checkRow, len(v.Checks))
	for i, c := range v.Checks {
		row := checkRow{CheckResult: c, CommandLine: strings.Join(c.Command, " "), Before: c.BaseStatus}
		if m := c.Comparison; m != nil {
			row.Before, row.After = or(results(m.Base), c.BaseStatus), results(m.After)
			for _, l := range []struct {
				word, class, key string
				list             []string
			}{
				{"newly failing", "bad", "newly_failing", m.NewlyFailing},
				{"vanished", "bad", "vanished", m.Vanished},
				{"new", "", "new", m.New},
				{"introduced", "bad", "introduced", m.Introduced},
				{"mended", "good", "fixed", m.Fixed},
				{"still failing", "wait", "still_failing", m.StillFailing},
			} {
				if len(l.list) == 0 {
					continue
				}
				n := max(m.Counts[l.key], len(l.list))
				shown := l.list[:min(len(l.list), maxNames)]
				row.Names = append(row.Names, nameList{l.word, l.class, n, n - len(shown), shown})
			}
		}
		out[i] = row
	}
	return out
}

func results(t *runner.TestResults) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%d tests: %d passed, %d failed, %d skipped", t.Total, t.Passed, t.Failed, t.Skipped)
}

type taskUsageBody struct {
	taskFrame
	Gauges []named
	Rows   []usageRow
}

type named struct {
	Name, Value, Of string
	Gauge           gauge
}

type usageRow struct {
	store.UsageRow
	Cost int64
}

func (s *Site) taskUsage(r *http.Request) (screen, error) {
	f, err := s.taskFrame(r, "usage")
	if err != nil {
		return screen{}, err
	}
	rows, err := s.Store.UsageOfTask(r.Context(), f.Task.Task.TaskID)
	if err != nil {
		return screen{}, err
	}
	b := taskUsageBody{taskFrame: f}
	for _, u := range rows {
		b.Rows = append(b.Rows, usageRow{u, store.Counted(u.Usage)})
	}
	u, m := f.Task.Usage, deed.Budget{}
	if f.Task.Budget != nil {
		m = *f.Task.Budget
	}
	for _, x := range []struct {
		name      string
		part, all int64
		show      func(any) string
	}{
		{"Cost", u.CountedMicroUSD, m.CostMicroUSD(), money},
		{"Tokens", u.Tokens(), m.Tokens, count},
		{"Turns", u.Turns, int64(m.Turns), count},
		{"Tool calls", u.ToolCalls, int64(m.ToolCalls), count},
		{"Agent time", u.AgentMS, m.WallSeconds * 1000, elapsed},
	} {
		n := named{Name: x.name, Value: x.show(x.part)}
		if x.all > 0 {
			n.Of, n.Gauge = x.show(x.all), gaugeOf(x.part, x.all, x.name+" against the budget")
		}
		b.Gauges = append(b.Gauges, n)
	}
	return f.screen("taskusage", b), nil
}

// pretty indents JSON; what is none comes back as it is.
func pretty(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}
