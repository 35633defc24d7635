package page

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/store"
)

// perPage is how many rows a list shows; older ones are a link away, and a page never costs more than this.
const perPage = 100

// A taskRow is a task in a list.
type taskRow struct {
	ID, Subject, Type, Agent, Summary, At string
	Status                                agentruntime.TaskStatus
	Attempts, Most                        int
}

func rowOf(t store.Task) taskRow {
	r := t.Record
	out := taskRow{ID: t.ID(), Subject: report.Subject(t), Type: r.TaskType, Status: r.Status, Attempts: r.AttemptCount, Most: r.MaxAttempts, At: string(r.UpdatedAt)}
	if r.RequestedAdapterID != nil {
		out.Agent = *r.RequestedAdapterID
	}
	switch {
	case r.LastError != nil && r.Status != agentruntime.TaskCompleted:
		out.Summary = *r.LastError
	case r.Outcome != nil:
		out.Summary = r.Outcome.OperatorSummary
	}
	return out
}

// A filter is a choice above a list.
type filter struct {
	Name, Href string
	Count      int64
	On         bool
}

type tasksBody struct {
	Heading, Status, Type, Empty string
	Filters                      []filter
	Types                        []string
	Rows                         []taskRow
	First, Next                  string
}

func (s *Site) tasks(r *http.Request) (screen, error) {
	q := r.URL.Query()
	f := store.TaskFilter{Type: q.Get("type"), Before: q.Get("before"), Limit: perPage + 1}
	b := tasksBody{Heading: "Tasks", Status: q.Get("status"), Type: f.Type}
	if b.Status != "" {
		st := agentruntime.TaskStatus(b.Status)
		if !slices.Contains(agentruntime.TaskStatuses, st) {
			return screen{}, misuse("there is no state " + b.Status + " of tasks")
		}
		f.Status = []agentruntime.TaskStatus{st}
	}
	list, err := s.Store.Tasks(r.Context(), f)
	if err != nil {
		return screen{}, err
	}
	further := len(list) > perPage
	list = list[:min(len(list), perPage)]
	for _, t := range list {
		b.Rows = append(b.Rows, rowOf(t))
	}
	if err := s.filters(r.Context(), &b); err != nil {
		return screen{}, err
	}
	link := func(before string) string {
		v := url.Values{}
		for name, value := range map[string]string{"status": b.Status, "type": b.Type, "before": before} {
			if value != "" {
				v.Set(name, value)
			}
		}
		if len(v) == 0 {
			return "/tasks"
		}
		return "/tasks?" + v.Encode()
	}
	if f.Before != "" {
		b.First = link("")
	}
	if further {
		b.Next = link(list[perPage-1].ID())
	}
	b.Empty = "There is no task yet. Queue one with deed task add, or run one at once with deed run."
	if b.Status != "" || b.Type != "" {
		b.Empty = "No task is like that."
	}
	return screen{template: "tasks", title: "Tasks", nav: "tasks", body: b, still: f.Before != ""}, nil
}

func (s *Site) filters(ctx context.Context, b *tasksBody) error {
	counts, err := s.Store.TypeCounts(ctx)
	if err != nil {
		return err
	}
	by, all := map[agentruntime.TaskStatus]int64{}, int64(0)
	for typ, states := range counts {
		for st, n := range states {
			if b.Type == "" || b.Type == typ {
				by[st] += n
				all += n
			}
		}
	}
	b.Types = slices.Sorted(maps.Keys(counts))
	href := func(status string) string {
		return "/tasks?" + url.Values{"status": {status}, "type": {b.Type}}.Encode()
	}
	b.Filters = []filter{{"All", href(""), all, b.Status == ""}}
	for _, st := range []agentruntime.TaskStatus{
		agentruntime.TaskRunning, agentruntime.TaskBlocked, agentruntime.TaskPending, agentruntime.TaskRetryableFailure, agentruntime.TaskCompleted,
		agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled,
	} {
		word := statusWord(st)
		b.Filters = append(b.Filters, filter{strings.ToUpper(word[:1]) + word[1:], href(string(st)), by[st], b.Status == string(st)})
	}
	return nil
}

// The bounds of one page of a search. It reads the tasks, newest first, and no index: an index of every word would cost more per
// queued task than the task's own row. Where a page ends, it says so and links to the next.
const (
	searched = 5000
	found    = 100
)

type searchBody struct {
	Rows []taskRow
	Note string
	Next string // where the search continues; empty: it has seen all
}

// search finds tasks by a part of what they are about, and anything by the beginning of its id.
func (s *Site) search(r *http.Request) (screen, error) {
	q := strings.TrimSpace(r.URL.Query().Get("q"))
	sc := screen{template: "search", title: "Search", query: q, still: true}
	if q == "" {
		sc.body = searchBody{}
		return sc, nil
	}
	before := r.URL.Query().Get("before")
	if before == "" {
		to, err := s.byID(r.Context(), q)
		if err != nil || to != "" {
			sc.redirect = to
			return sc, err
		}
	}
	b, err := s.look(r.Context(), strings.ToLower(q), before)
	if b.Next != "" {
		b.Next = "/search?" + url.Values{"q": {q}, "before": {b.Next}}.Encode()
	}
	sc.body = b
	return sc, err
}

// look looks through tasks that are older than one. Next is the id of the task behind which it ended.
func (s *Site) look(ctx context.Context, q, before string) (searchBody, error) {
	const batch = 1000
	var b searchBody
	which := "the newest "
	if before != "" {
		which = "the next "
	}
	for n := 0; n < searched; n += batch {
		list, err := s.Store.Tasks(ctx, store.TaskFilter{Before: before, Limit: batch})
		if err != nil {
			return b, err
		}
		for i, t := range list {
			if !matches(t, q) {
				continue
			}
			if b.Rows = append(b.Rows, rowOf(t)); len(b.Rows) == found {
				b.Note, b.Next = which+count(n+i+1)+" tasks were looked through", t.ID()
				return b, nil
			}
		}
		if len(list) < batch {
			return b, nil
		}
		before = list[batch-1].ID()
	}
	b.Note, b.Next = which+count(searched)+" tasks were looked through", before
	return b, nil
}

func matches(t store.Task, q string) bool {
	for _, text := range []string{t.Intent.Subject, t.Intent.Description, t.Record.TaskType, t.Record.Source} {
		if strings.Contains(strings.ToLower(text), q) {
			return true
		}
	}
	return t.Record.RequestedAdapterID != nil && strings.Contains(strings.ToLower(*t.Record.RequestedAdapterID), q)
}

// byID is where something with an id that begins so is shown; empty: there is none.
func (s *Site) byID(ctx context.Context, q string) (string, error) {
	if len(q) < 6 || strings.Trim(strings.ToLower(q), "0123456789abcdef-") != "" {
		return "", nil
	}
	for _, look := range []func() (string, error){
		func() (string, error) { t, err := s.Store.Task(ctx, q); return "/tasks/" + t.ID(), err },
		func() (string, error) {
			a, err := s.Store.Attempt(ctx, q)
			return "/tasks/" + a.Record.TaskID + "?attempt=" + a.Record.AttemptID, err
		},
		func() (string, error) { x, err := s.Store.Action(ctx, q); return "/actions/" + x.ID, err },
		func() (string, error) { w, err := s.Store.Workflow(ctx, q); return "/workflows/" + w.ID(), err },
	} {
		to, err := look()
		switch {
		case err == nil:
			return to, nil
		case !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrAmbiguous):
			return "", err
		}
	}
	return "", nil
}

// attempt leads to the task of an attempt: a link needs only the one id.
func (s *Site) attempt(r *http.Request) (screen, error) {
	a, err := s.Store.Attempt(r.Context(), r.PathValue("id"))
	return screen{redirect: "/tasks/" + a.Record.TaskID + "?attempt=" + a.Record.AttemptID}, err
}

func (s *Site) notFound(r *http.Request) (screen, error) {
	return screen{}, notHere(r.URL.Path)
}

// A notHere is an address that leads nowhere.
type notHere string

func (p notHere) Error() string { return "There is no page " + string(p) + "." }

func (notHere) Is(target error) bool { return target == store.ErrNotFound }

// instant reads a time of a document; what is none is the zero time.
func instant(at string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, at)
	return t
}
