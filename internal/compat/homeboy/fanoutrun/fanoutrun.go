// Package fanoutrun owns the run of a fanout: a plan becomes a durable fanout whose items are released into the queue a few
// at a time, tried again as its policy says, and recorded once each; the result is one document. It advances a fanout from
// the store alone, so that any process can continue where another one died. Its caller supplies how a request becomes a task
// and how a task that has ended becomes an outcome (Tasks); the rules of plans and records are those of package fanout.
package fanoutrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/store"
)

// Tasks makes tasks of the queue of requests, and outcomes of tasks that have ended. Both may be called from several
// goroutines at once.
type Tasks interface {
	// Prepare makes the task of a request; caller is that of the plan. A request that cannot be run has a refusal
	// instead. It starts nothing and stores nothing; the error is for what keeps it from saying either.
	Prepare(ctx context.Context, caller json.RawMessage, q homeboy.Request) (row store.NewTask, refusal *homeboy.Outcome, err error)
	// Outcome returns what became of a task that has ended. It returns the same answer to every caller, however often it
	// is asked. An error is for what may pass: it is asked again, and until then the fanout waits.
	Outcome(ctx context.Context, t store.Task) (homeboy.Outcome, error)
}

// A Service runs fanouts of one home. Its methods may be called from one goroutine at a time.
type Service struct {
	Store *store.Store
	Tasks Tasks
	Clock clock.Clock
	Log   *slog.Logger

	// Observe is called for each task that starts and for each record; may be nil.
	Observe func(homeboy.FanoutProgress)

	// Runner is this process, for fanouts that it runs itself. The zero value is a dispatcher's: it advances fanouts
	// without an owner, and the queue runs the tasks.
	Runner store.Runner
	Lease  time.Duration

	// Pause is how long an item waits for its next try with the same provider; nil: the function Pause.
	Pause func(same int, o homeboy.Outcome) time.Duration

	mu       sync.Mutex
	settings map[string]*settings // guarded by mu; of fanouts that are live here
	written  map[string]time.Time // guarded by mu; when a run file may be written again
	looks    map[string]time.Time // guarded by mu; when a dispatcher looks at a fanout again
}

// A Plan is a plan to be run, with all that holds for it.
type Plan struct {
	Plan    homeboy.FanoutPlan
	Options fanout.Options  // how its records are read
	Policy  Policy          // what is tried again, and how many run at a time
	Default fanout.Defaults // what tasks get that do not say it themselves
	Needs   Needs           // which tasks need what others made; may be nil
	Caller  json.RawMessage // what the fanout's caller decides for its tasks; for Tasks, in the process that releases them
	Output  string          // the run file; "": none
	Matrix  bool            // the cells are one task for several providers: the best one is chosen at the end
}

// settings is what holds for a whole fanout and is recorded with it. Version says by which rules it is to be run: a later
// deed that runs it otherwise raises it, and this one leaves it alone.
type settings struct {
	Version      int                      `json:"version,omitempty"` // 0: 1
	PlanSchema   string                   `json:"plan_schema,omitempty"`
	Orchestrator map[string]homeboy.Value `json:"orchestrator,omitempty"`
	Summary      map[string]homeboy.Value `json:"summary,omitempty"`
	Groups       int64                    `json:"group_count"`
	Options      fanout.Options           `json:"options"`
	Policy       Policy                   `json:"policy"`
	Caller       json.RawMessage          `json:"caller,omitempty"`
	Output       string                   `json:"output,omitempty"`
	Matrix       bool                     `json:"matrix,omitempty"`
}

// settingsVersion is the newest that this deed knows. Version 2 has Policy.Completion, which an older deed would ignore.
const settingsVersion = 2

// version is the oldest by whose rules the fanout can be run.
func (p Policy) version() int {
	if p.Completion == FirstGreen {
		return 2
	}
	return 1
}

// ErrNewer says that a fanout was recorded by a deed that this one is too old for.
var ErrNewer = errors.New("a newer deed recorded it (use that one, or cancel it there)")

// work is what is to be done for one item.
type work struct {
	Request homeboy.Request `json:"request"`
	Needs   *need           `json:"needs,omitempty"`
}

// Create records a fanout before any of its tasks starts. With the service's own runner it is this process's to run, else
// it is left to dispatchers. Every fault of the plan comes back at once, and then nothing was recorded.
func (s *Service) Create(ctx context.Context, p Plan) (store.Fanout, error) {
	n, err := p.items()
	if err != nil {
		return store.Fanout{}, err
	}
	if s.Runner.ID != "" {
		n.Owner = &s.Runner
	}
	f, err := s.Store.CreateFanout(ctx, n)
	if err != nil {
		return store.Fanout{}, err
	}
	return f, s.writeFile(ctx, f, true)
}

// Check returns every fault of a plan without recording anything.
func (p Plan) Check() error {
	_, err := p.items()
	return err
}

func (p Plan) items() (n store.NewFanout, err error) {
	requests, err := fanout.Requests(p.Plan, p.Default)
	if err != nil {
		return n, err
	}
	needs, err := p.Needs.resolve(requests)
	if err != nil {
		return n, err
	}
	if p.Policy.Completion == FirstGreen && len(needs) > 0 {
		var l fault.List
		l.Add("$.options.candidate_completion", fault.Conflict, FirstGreen+" ends a plan whose tasks need what others make", "leave out the dependencies, or use "+WaitAll)
		return n, l.Err()
	}
	set := settings{
		Version: p.Policy.version(), PlanSchema: p.Plan.Schema, Orchestrator: p.Plan.Orchestrator, Summary: p.Plan.Summary, Groups: int64(len(p.Plan.Groups)),
		Options: p.Options, Policy: p.Policy, Caller: p.Caller, Output: p.Output, Matrix: p.Matrix,
	}
	n.ID = store.NewID()
	n.Items = make([]store.NewItem, len(requests))
	for i, r := range requests {
		w := work{Request: r.Request}
		if d, ok := needs[i]; ok {
			w.Needs, n.Items[i].After = &d, &d.After[0]
		}
		raw, err := json.Marshal(w)
		if err != nil {
			return n, fmt.Errorf("task %s: %w", r.ID, err)
		}
		n.Items[i].Name, n.Items[i].GroupKey, n.Items[i].Uses, n.Items[i].Work = r.ID, r.Request.GroupKey, p.Policy.uses(r.Request), raw
		if why := p.Policy.overflow(i, r.Request); why != "" {
			rec, _ := set.record(store.FanoutItem{FanoutID: n.ID, Name: r.ID, GroupKey: r.Request.GroupKey}, nil, blocked(r.ID, why), stop{})
			if n.Items[i].Record, err = json.Marshal(rec); err != nil {
				return n, fmt.Errorf("record of task %s: %w", r.ID, err)
			}
		}
	}
	if n.Settings, err = json.Marshal(set); err != nil {
		return n, fmt.Errorf("settings of the fanout: %w", err)
	}
	if n.PlanHash, err = canonjson.Hash(p.Plan); err != nil {
		return n, fmt.Errorf("hash the plan: %w", err)
	}
	return n, nil
}

// window says how much of a fanout may run at a time.
func (p Policy) window() store.Window {
	return store.Window{Most: homeboy.FanoutConfig{Concurrency: p.MaxConcurrency}.Workers(), Capacity: p.capacity()}
}

// load returns the settings of a fanout. They never change, so that they are read once.
func (s *Service) load(ctx context.Context, id string) (*settings, error) {
	s.mu.Lock()
	set := s.settings[id]
	s.mu.Unlock()
	if set != nil {
		return set, nil
	}
	raw, err := s.Store.FanoutSettings(ctx, id)
	if err != nil {
		return nil, err
	}
	set = new(settings)
	if err := json.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("settings of fanout %s: %w", id, err)
	}
	if set.Version > settingsVersion {
		return nil, fmt.Errorf("fanout %s: %w", id, ErrNewer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == nil {
		s.settings = map[string]*settings{}
	}
	s.settings[id] = set
	return set, nil
}

// forget drops what is kept of a fanout that is over.
func (s *Service) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settings, id)
	delete(s.written, id)
	delete(s.looks, id)
}

// notify reports an item to the observer. Status is ProgressStarted or that of its record.
func (s *Service) notify(f store.Fanout, it store.FanoutItem, status, kind string) {
	if s.Observe == nil {
		return
	}
	extra := homeboy.Extra{}
	if it.Try > 1 {
		extra["try"] = homeboy.Value(fmt.Sprint(it.Try))
	}
	s.Observe(homeboy.FanoutProgress{
		Schema: homeboy.SchemaFanoutProgress, Status: status, ID: it.Name, GroupKey: it.GroupKey, GroupIndex: it.Ordinal + 1, GroupCount: f.Tasks,
		OutcomeKind: kind, Extra: extra,
	})
}

// triesOf reads the tries that an item has behind it.
func triesOf(it store.FanoutItem) (tries []Try, err error) {
	if len(it.Tries) > 0 {
		if err = json.Unmarshal(it.Tries, &tries); err != nil {
			err = fmt.Errorf("tries of item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
		}
	}
	return tries, err
}

func workOf(it store.FanoutItem) (w work, err error) {
	if err = json.Unmarshal(it.Work, &w); err != nil {
		err = fmt.Errorf("item %d of fanout %s: %w", it.Ordinal, it.FanoutID, err)
	}
	return w, err
}

// request makes the request of the item's next try.
func (set *settings) request(it store.FanoutItem, w work, tries []Try) (q homeboy.Request, entry int) {
	if n := len(tries); n > 0 {
		entry = tries[n-1].Entry
		if tries[n-1].Then == ThenRotate {
			entry++
		}
	}
	q = set.Policy.apply(w.Request, entry)
	q.Limits = set.Policy.limits(q.Limits)
	meta := map[string]homeboy.Value{}
	if !q.Metadata.Null() && json.Unmarshal(q.Metadata, &meta) != nil {
		return q, entry // metadata that is no object stays as it is
	}
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]homeboy.Value{}
	}
	meta["deed_fanout"] = mustJSON(map[string]any{"fanout_id": it.FanoutID, "ordinal": it.Ordinal, "try": it.Try})
	q.Metadata = mustJSON(meta)
	return q, entry
}

func mustJSON(v any) homeboy.Value {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err)) // only for values that deed builds itself
	}
	return raw
}

// task is the item as the rules of records see it.
func task(it store.FanoutItem) homeboy.FanoutTask {
	return homeboy.FanoutTask{ID: it.Name, GroupKey: it.GroupKey}
}

// ended reports whether a task cannot change any more by itself.
func ended(t store.Task) bool {
	return slices.Contains([]agentruntime.TaskStatus{
		agentruntime.TaskCompleted, agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled, agentruntime.TaskBlocked,
	}, t.Record.Status)
}

// OfTask returns the fanout that a task of the queue belongs to, or "".
func OfTask(t store.Task) string {
	parts := strings.Split(t.DedupeKey, "/")
	if len(parts) == 4 && parts[0] == "fanout" {
		return parts[1]
	}
	return ""
}
