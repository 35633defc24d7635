package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/compat/homeboy/fanoutrun"
	"github.com/deedrun/deed/internal/store"
)

// TestBenchFanout measures what the queue costs for each no-op task of a fanout of 10,000 tasks against one of 100: from
// the record of the plan to the last record, with every step of the store real and durable, and the task itself a
// function. A cost that does not depend on the plan is a ratio of 1. The heap is what is live after the run, without the
// plan that the caller holds.
func TestBenchFanout(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, target := range []storeTarget{sqliteTarget, postgresTarget} {
		name, dsn, _ := target(t)
		st, err := store.Open(t.Context(), dsn, store.Options{})
		must(t, err)
		defer func() { _ = st.Close() }()
		runFanout(t, st, 100) // warm
		var small []float64
		for range 5 {
			per, _, _ := runFanout(t, st, 100)
			small = append(small, per)
		}
		per, heap, result := runFanout(t, st, 10_000)
		_, base, _ := runFanout(t, st, 100)
		line(t, "fanout/"+name+"/10000", per*1e6, median(small)*1e6, "µs for each task at 10,000 against 100", "<=1.25")
		line(t, "fanout/"+name+"/heap", float64(heap)/1e6, float64(base)/1e6, "MB at the peak of 10,000 against 100", "-")
		line(t, "fanout/"+name+"/result", result*1e6, per*1e6, "µs for each record of the result against its task", "-")
	}
}

// runFanout runs a plan of n tasks and returns seconds for each, the highest heap that was seen, and seconds to write
// each record of the result.
func runFanout(t *testing.T, st *store.Store, n int) (per float64, heap uint64, result float64) {
	t.Helper()
	x := &instant{st: st}
	s := &fanoutrun.Service{
		Store: st, Tasks: x, Clock: clock.System, Log: slog.New(slog.DiscardHandler), Runner: store.Runner{ID: "bench" + store.NewID()}, Lease: time.Hour,
	}
	start := time.Now()
	f, err := s.Create(t.Context(), benchPlan(n))
	must(t, err)
	runtime.GC()
	end, err := s.Run(t.Context(), f.ID, x)
	must(t, err)
	took := time.Since(start)
	if end.Status != store.FanoutCompleted || end.Done != int64(n) {
		t.Fatalf("ended as %+v", end)
	}
	start = time.Now()
	must(t, s.Write(t.Context(), f.ID, io.Discard))
	return took.Seconds() / float64(n), x.heap, time.Since(start).Seconds() / float64(n)
}

func benchPlan(n int) fanoutrun.Plan {
	p := homeboy.FanoutPlan{Schema: homeboy.SchemaFanoutPlan}
	for i := range n {
		p.TaskRequests = append(p.TaskRequests, homeboy.FanoutTask{ID: "task-" + strconv.Itoa(i), GroupKey: "group", Extra: homeboy.Extra{
			"instructions": homeboy.Value(`"Mend the finding."`), "executor": homeboy.Value(`{"backend": "noop", "config": {}}`),
			"inputs": homeboy.Value(fmt.Sprintf(`{"finding": %d, "path": "internal/parser/parser.go"}`, i)),
		}})
	}
	return fanoutrun.Plan{Plan: p, Policy: fanoutrun.Policy{MaxConcurrency: 3}}
}

// instant is a provider that is done at once.
type instant struct {
	st   *store.Store
	n    int
	heap uint64
}

func (x *instant) Prepare(_ context.Context, _ json.RawMessage, q homeboy.Request) (store.NewTask, *homeboy.Outcome, error) {
	if x.n++; x.n%50 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		x.heap = max(x.heap, m.HeapAlloc)
	}
	raw, err := json.Marshal(q)
	return store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "agent-task", Source: q.TaskID, Payload: raw}, ProfileID: "p", MaxAttempts: 1}, nil, err
}

func (x *instant) Outcome(_ context.Context, t store.Task) (homeboy.Outcome, error) {
	return homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: t.Record.Source, Status: homeboy.NoOp, Summary: "nothing to do"}, nil
}

func (x *instant) Execute(ctx context.Context, c *store.Claim) error {
	if err := x.st.Begin(ctx, c.Ref, store.Begin{AdapterID: "noop", AdapterKind: "packaged"}); err != nil {
		return err
	}
	return x.st.Settle(ctx, c.Ref, store.Settlement{
		State: "completed", Class: "none", Status: agentruntime.TaskCompleted,
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
	})
}

func (x *instant) Beat(context.Context) error { return nil }

func (*instant) Sweep(context.Context) error { return nil }
