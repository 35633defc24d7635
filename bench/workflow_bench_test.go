package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"

	"github.com/deedrun/deed/internal/base/clock"
)

// TestBenchWorkflowCycle measures what a cycle does about workflows when 1,000 of them wait, beside 100,000 tasks,
// against the same in an empty home.
func TestBenchWorkflowCycle(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	const waiting, looks = 1000, 2000
	engine := func() *workflow.Engine {
		s := openStore(t, t.TempDir()+"/deed.db")
		return &workflow.Engine{
			Store: s, Clock: clock.System, Root: t.TempDir(), Catalog: func() *workflow.Catalog { return workflow.Load(workflow.Options{}) },
			Admission: &task.Admission{Store: s, Config: config.Default(), Clock: clock.System, Drivers: driver.NewSet(script.New())},
		}
	}
	cycle := func(e *workflow.Engine) float64 {
		return rate(looks, func() {
			for range looks {
				_, err := e.Due(t.Context())
				must(t, err)
				_, _, err = e.Next(t.Context())
				must(t, err)
			}
		})
	}
	empty, full := engine(), engine()
	for i := range waiting {
		n := store.NewWorkflow{
			Type: "w", InstanceKey: fmt.Sprint(i), Definition: json.RawMessage(`{}`), Hash: "h", State: "s", Cause: store.CauseStart,
			Action: &store.NewAction{Kind: workflow.ActionKind},
		}
		if i%2 == 0 {
			one := benchTask(i)
			n.Action, n.Task = nil, &one
		}
		_, err := full.Store.StartWorkflow(t.Context(), n)
		must(t, err)
	}
	fill(t, full.Store, 100_000, func(*store.NewTask) {})
	var with, without []float64
	for range 5 {
		with, without = append(with, cycle(full)), append(without, cycle(empty))
	}
	line(t, "workflow/cycle-1000-waiting", median(with), median(without), "cycles/s, against an empty home", ">=0.5")
}
