package sensor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/store"
)

// Bounds of a run that the settings do not change.
const (
	defaultEvery    = time.Minute
	defaultTimeout  = 30 * time.Second
	defaultPatience = time.Hour
	defaultEvents   = 100
	maxOutput       = 8 << 20          // bytes that one run of a sensor may bring
	maxLine         = 1 << 20          // bytes of one event
	maxDocuments    = 100_000          // events that one run or one request may bring: short ones cost more than their bytes
	healthEvery     = 10 * time.Minute // how often a sensor that sees nothing new says that it lives
	chunk           = 200              // events of one transaction
)

// ActionKind is the kind of what a person is asked about a sensor.
const ActionKind = "sensor"

// ErrUnknown is returned when the settings have no sensor of the name, or none that can be run.
var ErrUnknown = errors.New("no such sensor is configured")

// A Runner runs the sensors that are configured. A sensor that hangs, floods or fails does not affect the others.
type Runner struct {
	Intake  *Intake
	Store   *store.Store
	Config  *config.Config
	Clock   clock.Clock
	Environ []string // deed's own: PATH, HOME and the variables that sensors name are taken from it
	Exe     string   // the binary that becomes a supervisor
	Log     *slog.Logger
	Wake    func() // wakes a dispatcher: there is work, or another time at which a sensor is due; may be nil

	mu         sync.Mutex
	places     map[string]*place // guarded by mu; nil until the first look
	background context.Context   //nolint:containedctx // guarded by mu; context of runs in the background; nil: Due waits for each run
	wg         sync.WaitGroup
}

// A place is the state of a sensor in this process.
type place struct {
	next    time.Time // guarded by Runner.mu
	running bool      // guarded by Runner.mu

	// Of the run that is under way.
	flaps   int                 // recent failures, taken back one by one
	seen    map[string]struct{} // what the newest run reported: a repetition is not worth a transaction
	repeats int                 // of those, not yet counted in the store
}

// A Report is what one run did.
type Report struct {
	Accepted  int  `json:"accepted"`
	Deduped   int  `json:"deduped"`
	Late      int  `json:"late"`
	Malformed int  `json:"malformed"`
	More      bool `json:"more,omitempty"` // there is more than one run may bring
}

// Start lets Due begin runs and not wait for them. What it returns ends and awaits those that are under way.
func (r *Runner) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	r.background = ctx
	r.mu.Unlock()
	return func() {
		cancel()
		r.mu.Lock()
		r.background = nil
		r.mu.Unlock()
		r.wg.Wait()
	}
}

// Due runs the sensors that are due: in the background after Start, otherwise it waits for them. It is the dispatcher's hook.
func (r *Runner) Due(ctx context.Context) (int, error) {
	if len(r.Config.Sensors) == 0 {
		return 0, nil
	}
	names, background, err := r.due(ctx)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	var wg sync.WaitGroup
	group, in := &wg, ctx
	if background != nil {
		group, in = &r.wg, background
	}
	var mu sync.Mutex
	made := 0
	for _, name := range names {
		group.Go(func() {
			rep := r.scheduled(in, name)
			mu.Lock()
			made += rep.Accepted
			mu.Unlock()
			// The dispatcher asked Next while this ran, and does not know the new time yet.
			if background != nil && r.Wake != nil {
				r.Wake()
			}
		})
	}
	if background != nil {
		return 0, nil
	}
	wg.Wait()
	return made, nil
}

// due marks the sensors that are due as running.
func (r *Runner) due(ctx context.Context) ([]string, context.Context, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.loadLocked(ctx); err != nil {
		return nil, nil, err
	}
	now := r.Clock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.places)) {
		p := r.places[name]
		if p.running || p.next.After(now) || r.Config.Sensors[name].Watch && r.background == nil {
			continue
		}
		p.running = true
		names = append(names, name)
	}
	return names, r.background, nil
}

// loadLocked makes the places at the first look: a sensor continues where the previous process left it.
func (r *Runner) loadLocked(ctx context.Context) error {
	if r.places != nil {
		return nil
	}
	list, err := r.Store.Sensors(ctx)
	if err != nil {
		return err
	}
	places := map[string]*place{}
	for name, s := range r.Config.Sensors {
		if s.Kind != settings.SensorPush {
			places[name] = &place{}
		}
	}
	now := r.Clock()
	for _, x := range list {
		p := places[x.ID]
		if p == nil {
			continue
		}
		s := r.Config.Sensors[x.ID]
		switch {
		case s.Watch:
		case x.Failures > 0:
			p.next = x.FailedAt.Add(r.Config.Retry.Wait(x.Failures, 0))
		case !x.OKAt.IsZero():
			p.next = x.OKAt.Add(every(s))
		}
		if p.next.Sub(now) > every(s)+r.Config.Retry.Max { // the clock was set back
			p.next = now
		}
	}
	r.places = places
	return nil
}

// Next is when Due has something to do.
func (r *Runner) Next(ctx context.Context) (time.Time, bool, error) {
	if len(r.Config.Sensors) == 0 {
		return time.Time{}, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.loadLocked(ctx); err != nil {
		return time.Time{}, false, err
	}
	var at time.Time
	found := false
	for name, p := range r.places {
		if p.running || r.Config.Sensors[name].Watch && r.background == nil {
			continue
		}
		if !found || p.next.Before(at) {
			at, found = p.next, true
		}
	}
	return at, found, nil
}

// scheduled runs a sensor that due marked, and decides when it runs again.
func (r *Runner) scheduled(ctx context.Context, name string) Report {
	r.mu.Lock()
	p := r.places[name]
	r.mu.Unlock()
	s := r.Config.Sensors[name]
	rep, failures, err := r.run(ctx, name, s, p)
	now := r.Clock()
	wait := every(s)
	switch {
	case err != nil && ctx.Err() == nil:
		p.flaps = min(p.flaps+1, 20)
		wait = r.Config.Retry.Wait(max(failures, p.flaps), 0)
		r.Log.Warn("sensor", "sensor", name, "failures", failures, "again", wait, "error", err)
	case p.flaps > 0: // a sensor that fails every other time is not healthy
		p.flaps--
		if p.flaps > 0 {
			wait = max(wait, r.Config.Retry.Wait(p.flaps, 0))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.running, p.next = false, now.Add(wait)
	return rep
}

// Once runs one sensor now, on request.
func (r *Runner) Once(ctx context.Context, name string) (Report, error) {
	s, ok := r.Config.Sensors[name]
	if !ok || s.Kind == settings.SensorPush {
		return Report{}, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	s.Watch = false
	rep, _, err := r.run(ctx, name, s, &place{})
	return rep, err
}

// run runs a sensor once and records how it fared. It returns how often it has failed in a row.
func (r *Runner) run(ctx context.Context, name string, s settings.Sensor, p *place) (Report, int, error) {
	row, err := r.Store.Sensor(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Report{}, 0, err
	}
	if row.ID = name; row.Disabled {
		return Report{}, 0, nil
	}
	limit := timeout(s)
	run, cancel := ctx, context.CancelFunc(func() {})
	if !s.Watch {
		run, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	}
	defer cancel()
	t := &taker{Runner: r, name: name, s: s, p: p, row: row}
	err = t.look(run)
	if err == nil {
		return t.rep, 0, nil
	}
	if cause := context.Cause(run); cause != nil {
		err = cause
	}
	switch {
	case ctx.Err() != nil:
		return t.rep, 0, context.Cause(ctx)
	case errors.Is(err, store.ErrDisabled), errors.Is(err, store.ErrStale): // switched off, or another run was faster
		return t.rep, 0, nil
	}
	patience := defaultPatience
	if s.UnhealthyAfterSeconds > 0 {
		patience = time.Duration(s.UnhealthyAfterSeconds) * time.Second
	}
	x, serr := r.Store.SensorFailed(ctx, name, truncate.Head(err.Error(), 1000), patience, func(x store.Sensor) store.NewAction { return question(x, err) })
	return t.rep, x.Failures, errors.Join(err, serr)
}

// question is what a person is asked about a sensor that fails and fails.
func question(x store.Sensor, why error) store.NewAction {
	detail, _ := json.Marshal(map[string]any{"sensor_id": x.ID, "failures": x.Failures, "since": x.Since.UTC().Format(time.RFC3339)})
	return store.NewAction{
		Kind: ActionKind, Detail: detail, Why: truncate.Head(why.Error(), 1000),
		Prompt: fmt.Sprintf("Sensor %s has failed %d times since %s. Mend it or switch it off (`deed sensor show %s`); any answer makes it be tried with fresh patience.",
			x.ID, x.Failures, x.Since.UTC().Format(time.RFC3339), x.ID),
	}
}

func every(s settings.Sensor) time.Duration {
	if s.EverySeconds > 0 {
		return time.Duration(s.EverySeconds) * time.Second
	}
	return defaultEvery
}

func timeout(s settings.Sensor) time.Duration {
	if s.TimeoutSeconds > 0 {
		return time.Duration(s.TimeoutSeconds) * time.Second
	}
	return defaultTimeout
}

func maxEvents(s settings.Sensor) int {
	if s.MaxEvents > 0 {
		return s.MaxEvents
	}
	return defaultEvents
}
