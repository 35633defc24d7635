package schedule

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// A place is a store with a clock of its own.
type place struct {
	e   *Engine
	now time.Time
	dir string
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func newPlace(t fataler, dir string) *place {
	t.Helper()
	p := &place{now: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC), dir: dir}
	clock := func() time.Time { return p.now }
	st, err := store.Open(context.Background(), filepath.Join(dir, "deed.db"), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	p.e = &Engine{Store: st, Clock: clock}
	p.configure(t, `adapters: {nightly: {kind: script, command: "true", timeout_ms: 1000}}`)
	return p
}

// configure makes the engine one of a process that was started with this configuration.
func (p *place) configure(t fataler, text string) {
	t.Helper()
	file := filepath.Join(p.dir, "deed.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Explicit: file})
	if err != nil {
		t.Fatal(err)
	}
	p.e.Admission = &task.Admission{Store: p.e.Store, Config: cfg, Clock: p.e.Clock, Drivers: driver.NewSet(script.New())}
}

func nightly(every time.Duration) Plan {
	return Plan{Name: "nightly", Every: every, Task: agentruntime.TaskIntent{TaskType: "script", RequestedAdapterID: "nightly", Payload: json.RawMessage(`{}`)}}
}

func (p *place) put(t fataler, plan Plan) store.Schedule {
	t.Helper()
	s, _, err := p.e.Put(context.Background(), plan, "me")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *place) due(t fataler, want int) store.Schedule {
	t.Helper()
	n, err := p.e.Due(context.Background())
	if err != nil || n != want {
		t.Fatalf("at %v: %d tasks, %v; want %d", p.now, n, err, want)
	}
	s, err := p.e.Store.Schedule(context.Background(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCatchUp coalesces what was missed: one task, and on from the evaluation (§11b, conformance 32).
func TestCatchUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir())
	plan := nightly(time.Hour)
	plan.Overlap = store.OverlapAllow
	p.put(t, plan)
	p.due(t, 0)
	p.now = p.now.Add(time.Hour)
	s := p.due(t, 1)
	made, err := p.e.Store.Task(t.Context(), s.LastTaskID)
	if err != nil || made.Record.Source != "schedule:nightly:2026-01-31T09:00:00.000000Z" {
		t.Fatalf("source %q, %v", made.Record.Source, err)
	}
	p.due(t, 0)
	p.now = p.now.Add(5*time.Hour + 30*time.Minute) // nothing ran meanwhile
	s = p.due(t, 1)
	if want := p.now.Add(time.Hour); string(s.Record.NextRunAt) != string(agentruntime.At(want)) || s.Missed != 4 || s.Runs != 2 || !s.LastSlot.Equal(p.now.Add(-30*time.Minute)) {
		t.Errorf("%+v, want the next run at %v, 4 missed, the slot half an hour ago", s, want)
	}
	p.now = p.now.Add(-24 * time.Hour) // the clock was set back
	p.due(t, 0)
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir())
	p.put(t, nightly(time.Hour))
	p.now = p.now.Add(time.Hour)
	first := p.due(t, 1)
	p.now = p.now.Add(time.Hour)
	s := p.due(t, 0) // its task waits
	if s.Skipped != 1 || s.LastTaskID != first.LastTaskID || string(s.Record.NextRunAt) != string(agentruntime.At(p.now.Add(time.Hour))) {
		t.Fatalf("skipped: %+v", s)
	}
	if _, err := p.e.Store.Cancel(t.Context(), s.LastTaskID, "x", "me"); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(time.Hour)
	p.due(t, 1)
}

// TestBadSchedules refuses what could never run, and suspends what cannot run any more; another schedule keeps
// running.
func TestBadSchedules(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir())
	bad := func(change func(*Plan)) string {
		plan := nightly(time.Hour)
		change(&plan)
		_, _, err := p.e.Put(t.Context(), plan, "me")
		if err == nil {
			return "taken"
		}
		var at []string
		for _, f := range fault.Of(err) {
			at = append(at, f.Path)
		}
		return strings.Join(at, " ")
	}
	for want, change := range map[string]func(*Plan){
		"$.task.requested_adapter_id": func(p *Plan) { p.Task.RequestedAdapterID = "none" },
		"$.task.task_type":            func(p *Plan) { p.Task.TaskType = "no-such-type" },
		"$.interval_seconds":          func(p *Plan) { p.Every = 1500 * time.Millisecond },
		"$.name":                      func(p *Plan) { p.Name = " " },
		"$.overlap":                   func(p *Plan) { p.Overlap = "maybe" },
		"$.task.available_at":         func(p *Plan) { p.Task.AvailableAt = "2026-01-31T08:00:00Z" },
	} {
		if got := bad(change); got != want {
			t.Errorf("faults at %q, want %q", got, want)
		}
	}
	p.put(t, nightly(time.Hour))
	other := nightly(time.Hour)
	other.Name, other.Task.RequestedAdapterID = "other", "other"
	p.configure(t, `adapters: {nightly: {kind: script, command: "true", timeout_ms: 1000}, other: {kind: script, command: "true", timeout_ms: 1000}}`)
	p.put(t, other)
	p.configure(t, `adapters: {other: {kind: script, command: "true", timeout_ms: 1000}}`) // nightly's is gone
	p.now = p.now.Add(time.Hour)
	s := p.due(t, 1)
	if s.Live() || !strings.Contains(s.Suspended, "nightly") {
		t.Fatalf("suspended: %+v", s)
	}
	open, err := p.e.Store.Actions(t.Context(), store.ActionFilter{State: store.ActionOpen})
	if err != nil || len(open) != 1 || open[0].Kind != ActionKind || !strings.Contains(open[0].Prompt, "deed schedule enable nightly") {
		t.Fatalf("actions: %+v, %v", open, err)
	}
	p.now = p.now.Add(time.Hour)
	p.due(t, 0) // the other one's task waits, and this one says nothing more
}

// TestRhythm lets time, evaluations, crashes and operators come in any order: no slot has two tasks, and an enabled schedule that is not
// suspended always has a next run.
func TestRhythm(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir())
	rapid.Check(t, func(r *rapid.T) {
		plan := nightly(time.Minute)
		plan.Overlap = store.OverlapAllow
		mine := p.put(r, plan)
		defer func() {
			if err := p.e.Store.DropSchedule(context.Background(), mine.Record.ScheduleID, "me"); err != nil {
				r.Fatal(err)
			}
		}()
		slots := map[string]bool{}
		for range rapid.IntRange(5, 25).Draw(r, "steps") {
			p.now = p.now.Add(time.Duration(rapid.IntRange(-30, 600).Draw(r, "seconds")) * time.Second)
			before, err := p.e.Store.Schedule(context.Background(), "nightly")
			if err != nil {
				r.Fatal(err)
			}
			n, err := p.e.Due(context.Background())
			if err != nil || n > 1 {
				r.Fatalf("%d tasks, %v", n, err)
			}
			s, err := p.e.Store.Schedule(context.Background(), "nightly")
			if err != nil {
				r.Fatal(err)
			}
			if n == 1 {
				slot := s.LastSlot.String()
				if slots[slot] || s.LastSlot.After(p.now) || s.Runs != before.Runs+1 {
					r.Fatalf("slot %s at %v, twice %v, runs %d after %d", slot, p.now, slots[slot], s.Runs, before.Runs)
				}
				slots[slot] = true
			}
			if at, ok, err := p.e.Next(context.Background()); err != nil || !ok || n == 1 && !at.Equal(p.now.Add(time.Minute)) {
				r.Fatalf("next: %v %v %v", at, ok, err)
			}
		}
	})
}
