package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// TestBenchCycle measures a whole cycle of the dispatcher that finds nothing to do, in a home with 10,000 schedules of which none is
// due, 1,000 workflows that wait and a million finished tasks (DEED_BENCH_TASKS), against the same in an empty home.
func TestBenchCycle(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	finished := 1_000_000
	if text := os.Getenv("DEED_BENCH_TASKS"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		finished = n
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		benchCycle(t, "sqlite", filepath.Join(dir, "empty.db"), filepath.Join(dir, "full.db"), finished)
	})
	t.Run("postgres", func(t *testing.T) { benchCycle(t, "pgx", pgtest.DSN(t), pgtest.DSN(t), finished) })
}

func benchCycle(t *testing.T, driverName, emptyDSN, fullDSN string, finished int) {
	empty, full := cycleEngine(t, emptyDSN), cycleEngine(t, fullDSN)
	fillHome(t, full, driverName, fullDSN, finished)
	const looks = 200
	cycle := func(e *dispatch.Engine) float64 {
		return rate(looks, func() {
			for range looks {
				rep, err := e.Once(t.Context())
				must(t, err)
				if rep.Status != "idle" || len(rep.Faults) > 0 {
					t.Fatalf("%+v", rep)
				}
			}
		})
	}
	cycle(empty)
	cycle(full)
	var with, without []float64
	for range 7 {
		with, without = append(with, 1e6/cycle(full)), append(without, 1e6/cycle(empty))
	}
	line(t, "cycle/full-home-"+full.Store.Dialect(), median(with), median(without), "µs a cycle, against an empty home", "<=2")
}

// cycleEngine is a dispatcher as `deed serve` has it.
func cycleEngine(t *testing.T, dsn string) *dispatch.Engine {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	must(t, err)
	key, err := bundle.LoadOrCreateKey(h.Keys())
	must(t, err)
	self, err := proc.SelfIdentity()
	must(t, err)
	st, cfg, drivers := openStore(t, dsn), config.Default(), driver.NewSet(script.New())
	adm := &task.Admission{Store: st, Config: cfg, Clock: clock.System, Drivers: drivers}
	flows := &workflow.Engine{Store: st, Admission: adm, Clock: clock.System, Root: h.Root(), Catalog: func() *workflow.Catalog { return workflow.Load(workflow.Options{}) }}
	plans := &schedule.Engine{Store: st, Admission: adm, Clock: clock.System}
	return &dispatch.Engine{
		Home: h, Store: st, Clock: clock.System, Self: self, Slots: 1, Log: slog.New(slog.DiscardHandler),
		Parts: dispatch.Parts{
			Runner: &attempt.Runner{Home: h, Store: st, Config: cfg, Clock: clock.System, RunnerID: "bench", Lease: time.Minute, Drivers: drivers, Key: key},
			Outbox: &outbox.Deliverer{Store: st, Admission: adm, Config: cfg, Clock: clock.System},
			Hooks: []dispatch.Hook{
				{Name: "schedules", Due: plans.Due, Next: plans.Next},
				{Name: "workflows", Due: flows.Due, Next: flows.Next},
			},
		},
	}
}

// fillHome gives a home a long past and much that waits. The past is written by a statement of its own: to live it would take hours.
func fillHome(t *testing.T, e *dispatch.Engine, driverName, dsn string, finished int) {
	t.Helper()
	ctx := t.Context()
	later := time.Now().Add(1000 * time.Hour)
	fill(t, e.Store, finished, func(n *store.NewTask) { n.AvailableAt = later })
	now := time.Now()
	_, _, err := e.Store.PutSchedule(ctx, agentruntime.RecurringScheduleRecord{
		Schema: agentruntime.SchemaRecurringSchedule, ScheduleID: "new", Name: "s0", Enabled: true, IntervalSeconds: 3_600_000, NextRunAt: agentruntime.At(later),
		Task: benchIntent(1), CreatedAt: agentruntime.At(now), UpdatedAt: agentruntime.At(now),
	}, store.OverlapSkip, "bench")
	must(t, err)
	db, err := sql.Open(driverName, dsn)
	must(t, err)
	defer func() { _ = db.Close() }()
	statements := []string{
		`UPDATE tasks SET status = 'completed', lane = 0, finished_at = updated_at`,
		`INSERT INTO schedules (id, name, enabled, interval_seconds, overlap, due_at, next_run_at, task, created_at, updated_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
			SELECT 'id' || i, 's' || i, enabled, interval_seconds, overlap, due_at, next_run_at, task, created_at, updated_at FROM schedules, n WHERE name = 's0'`,
		`ANALYZE`,
	}
	if driverName == "pgx" {
		statements[len(statements)-1] = `VACUUM ANALYZE` // as the server does by itself after so many changes
	}
	for _, q := range statements {
		_, err := db.ExecContext(ctx, q)
		must(t, err)
	}
	for i := range 1000 {
		n := store.NewWorkflow{
			Type: "w", InstanceKey: fmt.Sprint(i), Definition: json.RawMessage(`{}`), Hash: "h", State: "s", Cause: store.CauseStart,
			Action: &store.NewAction{Kind: workflow.ActionKind},
		}
		if i%2 == 0 {
			one := benchTask(i)
			one.AvailableAt = later
			n.Action, n.Task = nil, &one
		}
		_, err := e.Store.StartWorkflow(ctx, n)
		must(t, err)
	}
}
