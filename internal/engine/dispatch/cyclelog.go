package dispatch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/store"
)

// Bounds of what one entry of the cycle log says about faults.
const (
	maxFaults = 5
	maxFault  = 500
)

// A cycleLog gathers what this process does until it is written, so that the log costs one row for a stretch of work and none for an
// idle day. What a killed process had gathered is lost: the log is for people, and nothing is decided by it.
type cycleLog struct {
	began time.Time // zero: nothing was done since the newest entry
	did   store.CycleWork
}

// did records work of this process.
func (e *Engine) did(note func(*store.CycleWork)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cycle.began.IsZero() {
		e.cycle.began = e.Clock()
	}
	note(&e.cycle.did)
}

// didBefore records what was done before claiming.
func (e *Engine) didBefore(rep Report, expired int, made map[string]int) {
	if rep.Reclaimed+rep.Delivered+expired+len(made)+len(rep.Faults) == 0 {
		return
	}
	e.did(func(w *store.CycleWork) {
		w.Reclaimed += rep.Reclaimed
		w.Delivered += rep.Delivered
		w.Expired += expired
		for name, n := range made {
			count(&w.Created, name, n)
		}
		for _, f := range rep.Faults {
			fault(w, f)
		}
	})
}

// didSettle records how an attempt ended.
func (e *Engine) didSettle(r Ran, err error) {
	e.did(func(w *store.CycleWork) {
		if err != nil {
			fault(w, "attempt "+r.AttemptID+": "+err.Error())
			return
		}
		count(&w.Settled, string(r.Status), 1)
	})
}

func count(m *map[string]int, key string, n int) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key] += n
}

func fault(w *store.CycleWork, text string) {
	w.FaultsAll++
	if len(w.Faults) < maxFaults {
		w.Faults = append(w.Faults, truncate.Head(text, maxFault))
	}
}

// writeCycle puts what was gathered into the log. It is called when nothing runs, and once in a while when something always does.
func (e *Engine) writeCycle(ctx context.Context) {
	e.mu.Lock()
	c := store.Cycle{RunnerID: e.Runner.RunnerID, BeganAt: e.cycle.began, EndedAt: e.Clock(), CycleWork: e.cycle.did}
	e.cycle = cycleLog{}
	e.mu.Unlock()
	if c.Idle() {
		return
	}
	var args []any
	say := func(name string, n int) {
		if n > 0 { // listing what did not happen would hide what did
			args = append(args, name, n)
		}
	}
	say("reclaimed", c.Reclaimed)
	for _, k := range slices.Sorted(maps.Keys(c.Created)) {
		say("queued_by_"+k, c.Created[k])
	}
	for _, k := range slices.Sorted(maps.Keys(c.Settled)) {
		say(k, c.Settled[k])
	}
	say("delivered", c.Delivered)
	say("sent", c.Sent)
	say("faults", c.FaultsAll)
	e.Log.Info("cycle", args...)
	if err := e.Store.PutCycle(context.WithoutCancel(ctx), c); err != nil {
		e.Log.Error("cycle log", "error", err)
	}
}

// cycleDue reports whether the gathered work is old enough to be written although more is going on.
func (e *Engine) cycleDue() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.cycle.began.IsZero() && e.Clock().Sub(e.cycle.began) >= cycleEvery
}

// cycleEvery is how long a busy dispatcher gathers at most.
const cycleEvery = time.Minute
