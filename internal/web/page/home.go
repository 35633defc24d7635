package page

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/engine/view"
)

// A gauge is a part of a whole.
type gauge struct {
	Percent int
	Class   string // wait from four fifths on, bad when it is used up
	Label   string
}

func gaugeOf(part, all int64, label string) gauge {
	if all <= 0 {
		return gauge{Label: label}
	}
	g := gauge{Percent: int(min(100*part/all, 100)), Label: label}
	switch {
	case g.Percent >= 100:
		g.Class = "bad"
	case g.Percent >= 80:
		g.Class = "wait"
	}
	return g
}

// A running is an attempt that runs, against its bounds.
type running struct {
	view.Running
	Cost, Time gauge
}

func runningOf(x view.Running) running {
	return running{
		x, gaugeOf(x.CostMicroUSD, x.BudgetMicroUSD, fmt.Sprintf("%s of %s", money(x.CostMicroUSD), money(x.BudgetMicroUSD))),
		gaugeOf(x.ElapsedMS, x.TimeoutMS, fmt.Sprintf("%s of %s", elapsed(x.ElapsedMS), elapsed(x.TimeoutMS))),
	}
}

// A waiting is a line about something that does not go on by itself.
type waiting struct{ ID, Word, Href, About, Since string }

type homeBody struct {
	Home              view.Home
	Running           []running
	Waiting           []waiting
	Oldest            string
	Accepted, Refused int64
	Success           string
	Rate, Ratio       plot
	Spent             gauge
}

func (s *Site) home(r *http.Request) (screen, error) {
	h, err := s.View.Home(r.Context())
	if err != nil {
		return screen{}, err
	}
	// What waits for a person was not refused: it stands under what waits.
	h.Refused = slices.DeleteFunc(h.Refused, func(x view.Refused) bool { return x.Status == string(agentruntime.TaskBlocked) })
	b := homeBody{Home: h, Waiting: waitings(h.Waiting), Spent: gaugeOf(h.Today.CountedMicroUSD, h.Today.BudgetMicroUSD, "of the day's budget")}
	if len(b.Waiting) > 0 {
		b.Oldest = b.Waiting[0].Since
	}
	for _, x := range h.Running {
		b.Running = append(b.Running, runningOf(x))
	}
	if n := len(h.Days); n > 0 {
		b.Accepted, b.Refused = h.Days[n-1].Completed, h.Days[n-1].Refused
	}
	b.Rate, b.Ratio = bars(slots(h.Hours, "15:04"), 144, 22), ratio(slots(h.Days, "2 Jan"), 150, 22)
	b.Success = success(h.Days)
	return screen{template: "home", title: "Home", nav: "home", body: b}, nil
}

func slots(list []view.Bucket, format string) []slot {
	out := make([]slot, len(list))
	for i, x := range list {
		out[i] = slot{When: instant(x.From).Format(format), Good: int(x.Completed), Bad: int(x.Failed)}
	}
	return out
}

// success is the part of the tasks that ended and were accepted.
func success(days []view.Bucket) string {
	var good, all int64
	for _, d := range days {
		good, all = good+d.Completed, all+d.Completed+d.Failed
	}
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%d%%", 100*good/all)
}

func waitings(list []view.Waiting) []waiting {
	out := make([]waiting, 0, len(list))
	for _, x := range list {
		w := waiting{ID: x.ID, Word: x.Kind, About: x.About, Since: x.Since, Href: "/actions/" + x.ID}
		switch x.Kind {
		case report.WaitingAction:
			if x.Action != nil {
				w.Word = x.Action.Kind
			}
		case report.WaitingHeld, report.WaitingDead:
			w.Word, w.Href = "message", "/outbox"
		case report.WaitingSchedule:
			w.Href = "/schedules"
		case report.WaitingWorkflow:
			if x.Action == nil {
				w.Href = "/workflows/" + x.ID
			}
		}
		out = append(out, w)
	}
	return out
}
