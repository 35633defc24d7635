package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/task"
)

// TestBenchSensor measures the intake of events that make a task each against the enqueue of the same tasks, in turns: one
// durable transaction for each, and a run of a sensor against a batch of tasks.
func TestBenchSensor(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, target := range []storeTarget{sqliteTarget, postgresTarget} {
		name, dsn, _ := target(t)
		t.Run(name, func(t *testing.T) { benchSensor(t, name, dsn) })
	}
}

func benchSensor(t *testing.T, name, dsn string) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "deed.yaml")
	must(t, os.WriteFile(file, []byte("adapters: {\"true\": {kind: script, command: \"true\", timeout_ms: 1000}}\ndefaults: {adapter_id: \"true\"}\n"), 0o600))
	cfg, err := config.Load(config.Options{Explicit: file})
	must(t, err)
	cfg.Sensors = map[string]settings.Sensor{"push": {Kind: settings.SensorPush}}
	st := openStore(t, dsn)
	adm := &task.Admission{Store: st, Config: cfg, Clock: clock.System, Drivers: driver.NewSet(script.New())}
	in := &sensor.Intake{Store: st, Admission: adm, Config: cfg, Clock: clock.System}
	n := 0
	intent := func() agentruntime.TaskIntent {
		n++
		i := benchIntent(n)
		i.TaskType = config.TypeScript
		return i
	}
	event := func() agentruntime.SensorEvent {
		i := intent()
		return agentruntime.SensorEvent{
			SensorID: "push", EventID: strconv.Itoa(n), SourceRef: "bench", DedupeKey: strconv.Itoa(n), ObservedAt: agentruntime.At(time.Now()),
			Payload: json.RawMessage(`{}`), ProposedTask: &i,
		}
	}
	const rounds, ops = 20, 100
	var ours, floor []float64
	for range rounds {
		floor = append(floor, rate(ops, func() {
			for range ops {
				_, err := adm.Add(ctx, task.Caller{}, intent())
				must(t, err)
			}
		}))
		ours = append(ours, rate(ops, func() {
			for range ops {
				_, err := in.Take(ctx, event())
				must(t, err)
			}
		}))
	}
	line(t, "sensor_intake_"+name, median(ours), median(floor), "events/s", ">=0.50")

	runner := &sensor.Runner{Intake: in, Store: st, Config: cfg, Clock: clock.System, Environ: os.Environ()}
	box := t.TempDir()
	cfg.Sensors["box"] = settings.Sensor{Kind: settings.SensorMailbox, Directory: box}
	ours, floor = nil, nil
	for r := range rounds {
		floor = append(floor, rate(ops, func() {
			list := make([]agentruntime.TaskIntent, ops)
			for i := range list {
				list[i] = intent()
			}
			_, err := adm.Add(ctx, task.Caller{}, list...)
			must(t, err)
		}))
		list := make([]agentruntime.SensorEvent, ops)
		for i := range list {
			list[i] = event()
			list[i].SensorID = "box"
		}
		text, err := json.Marshal(list)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(box, fmt.Sprint(r, ".json")), text, 0o600))
		ours = append(ours, rate(ops, func() {
			rep, err := runner.Once(ctx, "box")
			must(t, err)
			if rep.Accepted != ops {
				t.Fatalf("%+v", rep)
			}
		}))
	}
	line(t, "sensor_run_"+name, median(ours), median(floor), "events/s", ">=0.50")
	if x, err := st.Sensors(ctx); err != nil || len(x) != 2 {
		t.Fatal(x, err)
	}
}
