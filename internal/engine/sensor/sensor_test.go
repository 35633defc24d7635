package sensor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

// A place is a store with a standing clock, an intake and a runner for it.
type place struct {
	testing.TB
	in    *sensor.Intake
	r     *sensor.Runner
	clock *storetest.Clock
	dir   string
}

func newPlace(t testing.TB, sensors map[string]settings.Sensor) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{TB: t, clock: storetest.NewClock(), dir: dir}
	file := filepath.Join(dir, "deed.yaml")
	p.ok(os.WriteFile(file, []byte("adapters: {\"true\": {kind: script, command: \"true\", timeout_ms: 1000}}\ndefaults: {adapter_id: \"true\"}\n"), 0o600))
	cfg, err := config.Load(config.Options{Explicit: file})
	p.ok(err)
	cfg.Sensors = sensors
	cfg.Retry = config.Retry{Base: time.Minute, Max: time.Hour, RetryAfterCap: time.Hour}
	st, err := store.Open(t.Context(), filepath.Join(dir, "deed.db"), store.Options{Clock: p.clock.Now})
	p.ok(err)
	t.Cleanup(func() { _ = st.Close() })
	adm := &task.Admission{Store: st, Config: cfg, Clock: p.clock.Now, Drivers: driver.NewSet(script.New())}
	known := workflow.Known{
		Type:    func(n string) error { _, err := cfg.Type(n); return err },
		Profile: func(n string) error { _, err := cfg.Profile(n); return err },
		Skill:   func(n string) error { return errors.New("no skill " + n) },
	}
	defs := filepath.Join(dir, "workflows")
	p.ok(os.MkdirAll(defs, 0o700))
	p.ok(os.WriteFile(filepath.Join(defs, "review.json"), []byte(`{
		"schema": "agent-runtime/workflow.definition/v1", "workflow_type": "review", "initial_state": "wait", "states": [
		{"state_id": "wait", "emits_task_intent": false, "completion_signals": [], "transitions": [{"signal": "go", "next_state": "work"}, {"signal": "stop", "next_state": "end"}]},
		{"state_id": "work", "emits_task_intent": true, "task_type": "script", "completion_signals": ["completed"], "transitions": []},
		{"state_id": "end", "emits_task_intent": false, "completion_signals": [], "transitions": []}]}`), 0o600))
	flows := &workflow.Engine{Store: st, Admission: adm, Clock: p.clock.Now, Root: dir, Catalog: func() *workflow.Catalog {
		return workflow.Load(workflow.Options{Home: defs, Known: known})
	}}
	p.in = &sensor.Intake{Store: st, Admission: adm, Workflows: flows, Config: cfg, Clock: p.clock.Now}
	p.r = &sensor.Runner{
		Intake: p.in, Store: st, Config: cfg, Clock: p.clock.Now, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TOKEN=sesame"},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	return p
}

func (p *place) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) tasks() []store.Task {
	p.Helper()
	list, err := p.in.Store.Tasks(p.Context(), store.TaskFilter{Limit: 10_000})
	p.ok(err)
	return list
}

func (p *place) sensor(name string) store.Sensor {
	p.Helper()
	x, err := p.in.Store.Sensor(p.Context(), name)
	if !errors.Is(err, store.ErrNotFound) {
		p.ok(err)
	}
	return x
}

// writes is how many events the store has recorded.
func (p *place) writes() int {
	p.Helper()
	list, err := p.in.Store.Events(p.Context(), store.EventFilter{})
	p.ok(err)
	return len(list)
}

func (p *place) event(id, key string, change ...func(*agentruntime.SensorEvent)) agentruntime.SensorEvent {
	e := agentruntime.SensorEvent{
		SensorID: "s", EventID: id, SourceRef: "src", DedupeKey: key, ObservedAt: agentruntime.At(p.clock.Now()), Payload: json.RawMessage(`{"n": 1}`),
		ProposedTask: &agentruntime.TaskIntent{TaskType: config.TypeScript, Source: "s", Payload: json.RawMessage(`{}`)},
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func (p *place) take(e agentruntime.SensorEvent) sensor.Result {
	p.Helper()
	out, err := p.in.Take(p.Context(), e)
	p.ok(err)
	return out
}

// A second identical event is not accepted, and the workflow is created at its initial state (conformance 33).
func TestIntake(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]settings.Sensor{"s": {Kind: settings.SensorPush, DedupeWindowSeconds: 3600}})
	wake := func(state, context string) func(*agentruntime.SensorEvent) {
		return func(e *agentruntime.SensorEvent) {
			e.ProposedTask = nil
			e.ProposedWorkflow = &agentruntime.ProposedWorkflow{Template: "review", InstanceKey: "pr-7", State: state, Context: json.RawMessage(context)}
		}
	}
	first := p.take(p.event("1", "a", wake("", `{"pr": 7}`)))
	w, err := p.in.Store.Workflow(t.Context(), first.WorkflowID)
	p.ok(err)
	if first.Status != sensor.Accepted || w.Record.CurrentState != "wait" || w.StartedBy != "sensor:s" {
		t.Fatalf("%+v %+v", first, w)
	}
	if again := p.take(p.event("1", "a", wake("", `{"pr": 7}`))); again.Status != sensor.Deduped || again.WorkflowID != first.WorkflowID {
		t.Fatalf("%+v", again)
	}
	if out := p.take(p.event("2", "b", wake("work", `{"commit": "c0ffee"}`))); out.Status != sensor.Accepted || out.WorkflowID != first.WorkflowID {
		t.Fatalf("%+v", out)
	}
	w, err = p.in.Store.Workflow(t.Context(), first.WorkflowID)
	p.ok(err)
	if w.Record.CurrentState != "work" || w.TaskID == "" || !strings.Contains(string(w.Record.Context), "c0ffee") || !strings.Contains(string(w.Record.Context), `"pr"`) {
		t.Fatalf("it was not woken: %+v", w)
	}
	p.take(p.event("3", "c", wake("work", "")))
	if n := len(p.tasks()); n != 1 {
		t.Fatalf("%d tasks: an instance that works goes its own way", n)
	}
	if out := p.take(p.event("4", "thread")); out.TaskID == "" {
		t.Fatalf("%+v", out)
	}
	p.clock.Advance(time.Hour)
	if out := p.take(p.event("5", "thread")); out.Status != sensor.Accepted {
		t.Fatalf("a later message of a thread is never seen: %+v", out)
	}
	late := p.take(p.event("6", "d", func(e *agentruntime.SensorEvent) {
		e.ObservedAt, e.FreshnessDeadline = agentruntime.At(p.clock.Now().Add(-time.Hour)), agentruntime.At(p.clock.Now())
	}))
	if late.Status != sensor.Late || late.TaskID != "" || late.Reason == "" || len(p.tasks()) != 3 {
		t.Fatalf("%+v", late)
	}
}

// A faulty event is refused with all its faults, is counted, and leaves nothing behind; once fixed it is taken (pain
// point 11).
func TestIntakeRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	good := p.event("1", "a")
	for name, c := range map[string]struct {
		change func(*agentruntime.SensorEvent)
		want   []string
	}{
		"fields are missing": {func(e *agentruntime.SensorEvent) { e.SourceRef, e.DedupeKey = "", " " }, []string{"$.source_ref", "$.dedupe_key"}},
		"an unknown type":    {func(e *agentruntime.SensorEvent) { e.ProposedTask.TaskType = "nope" }, []string{"$.proposed_task.task_type"}},
		"rights":             {func(e *agentruntime.SensorEvent) { e.ProposedTask.AvailableAt = agentruntime.At(p.clock.Now()) }, []string{"$.proposed_task.available_at"}},
		"both proposals": {func(e *agentruntime.SensorEvent) {
			e.ProposedTask.TaskType = "nope"
			e.ProposedWorkflow = &agentruntime.ProposedWorkflow{Template: "nope", InstanceKey: "k"}
		}, []string{"$.proposed_task.task_type", "$.proposed_workflow.template"}},
		"a state that is none": {func(e *agentruntime.SensorEvent) {
			e.ProposedWorkflow = &agentruntime.ProposedWorkflow{Template: "review", InstanceKey: "k", State: "nope"}
		}, []string{"$.proposed_workflow.state"}},
		"no object": {func(e *agentruntime.SensorEvent) { e.Payload = json.RawMessage(`[]`) }, []string{"$.payload"}},
	} {
		e := good
		intent := *good.ProposedTask
		e.ProposedTask = &intent
		c.change(&e)
		res, err := p.in.Take(t.Context(), e)
		if !sensor.Refused(err) || res.Status != sensor.Malformed {
			t.Errorf("%s: %+v, %v", name, res, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not name %s", name, err, w)
			}
		}
	}
	if x := p.sensor("s"); x.Malformed != 6 || x.Accepted != 0 || x.LastError == "" || p.writes() != 0 {
		t.Errorf("%+v", x)
	}
	if out := p.take(good); out.Status != sensor.Accepted {
		t.Errorf("%+v", out)
	}
}

func TestCloudEvents(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]settings.Sensor{"ci": {
		Kind: settings.SensorPush,
		Task: &settings.SensorTask{TaskType: config.TypeScript, Subject: "${type} of ${payload.build.name} costs $$5", Payload: json.RawMessage(`{"kind": "mine"}`)},
	}})
	reads := sensor.ReadAll([]byte(`[
		{"specversion": "1.0", "id": "7", "source": "https://ci.example/builds", "type": "build.failed", "time": "2026-01-31T08:00:00Z", "datacontenttype": "application/json", "custom": "x", "data": {"build": {"name": "main\nline"}, "kind": "theirs"}},
		{"specversion": "1.0", "id": "7", "source": "https://ci.example/other", "type": "t", "data": [1, 2]},
		{"specversion": "1.0", "id": "8", "source": "s", "type": "t", "deedtask": "{\"task_type\": \"script\", \"source\": \"x\", \"subject\": \"mine\", \"payload\": {}}"},
		{"specversion": "1.0", "id": "9", "source": "s", "type": "t", "deedworkflow": {"template": "review", "instance_key": "k"}},
		{"specversion": "0.3", "source": "s", "type": "", "deedtask": {"task_type": ""}},
		{"specversion": "1.0", "id": "7", "source": "https://ci.example/builds", "type": "build.failed"}
	]`), sensor.Defaults{SensorID: "ci", Now: p.clock.Now()})
	if len(reads) != 6 {
		t.Fatalf("%d events", len(reads))
	}
	for _, at := range []string{"$.specversion", "$.event_id", "$.type", "$.deedtask.task_type"} {
		if reads[4].Err == nil || !strings.Contains(reads[4].Err.Error(), at) {
			t.Errorf("%v does not name %s", reads[4].Err, at)
		}
	}
	var got []sensor.Result
	for i, r := range reads {
		if i == 4 {
			continue
		}
		p.ok(r.Err)
		out, err := p.in.TakeEvent(t.Context(), r.Event)
		p.ok(err)
		got = append(got, out)
	}
	if got[1].Status != sensor.Accepted || got[3].WorkflowID == "" || got[3].TaskID != "" || got[4].Status != sensor.Deduped {
		t.Fatalf("%+v", got)
	}
	one, err := p.in.Store.Task(t.Context(), got[0].TaskID)
	p.ok(err)
	if *one.Record.Subject != "build.failed of main line costs $5" || one.Record.Source != "sensor:ci" || !strings.Contains(string(one.Record.Payload), `"mine"`) {
		t.Errorf("%+v", one.Record)
	}
	own, err := p.in.Store.Task(t.Context(), got[2].TaskID)
	p.ok(err)
	if *own.Record.Subject != "mine" {
		t.Errorf("%+v", own.Record)
	}
	for text, want := range map[string]string{
		`{"specversion": "1.0", "id": "1", "source": "s", "type": "t", "deedsensor": "mail"}`: "$.sensor_id",
		`{"sensor_id": "mail", "dedupe_key": "k"}`:                                            "$.sensor_id",
		`{"dedupe_key": "k", "dedupe_keys": 1}`:                                               "$.dedupe_keys",
		`"text"`:                                                                              "no JSON object",
		`{"dedupe_key": "k"`:                                                                  "no JSON object",
	} {
		r := sensor.ReadAll([]byte(text), sensor.Defaults{SensorID: "ci", Now: p.clock.Now()})
		if len(r) != 1 || r[0].Err == nil || !strings.Contains(r[0].Err.Error(), want) {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if r := sensor.ReadAll([]byte("{\"dedupe_key\": \"k\"}\nrubbish\n\n{\"dedupe_key\": \"l\"}"), sensor.Defaults{SensorID: "ci", Now: p.clock.Now()}); len(r) != 3 || r[0].Err != nil || r[1].Err == nil || r[2].Event.EventID != "l" {
		t.Errorf("%+v", r)
	}
}

func FuzzReadAll(f *testing.F) {
	for _, s := range []string{`{"dedupe_key":"k"}`, `[{"specversion":"1.0","id":"1","source":"s","type":"t","deedtask":"{}"}]`, "{}\n{", `[null, 1]`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range sensor.ReadAll(data, sensor.Defaults{SensorID: "s", Now: time.Unix(0, 0)}) {
			if r.Err == nil && r.Event.Validate() != nil {
				t.Fatalf("it read what is not valid: %v", r.Event.Validate())
			}
		}
	})
}

// Duplicates, late and bad events in any order, with the clock going on: every event that was accepted made one task, and
// nothing else made any.
func TestIntakeProperty(t *testing.T) {
	t.Parallel()
	sensors := map[string]settings.Sensor{} // one for each check, of one store
	for n := range 1000 {
		sensors[fmt.Sprint("s", n)] = settings.Sensor{Kind: settings.SensorPush, DedupeWindowSeconds: 60}
	}
	p := newPlace(t, sensors)
	waiting := func(rt *rapid.T) int {
		counts, err := p.in.Store.Counts(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		return int(counts[agentruntime.TaskPending])
	}
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		name, before := fmt.Sprint("s", checks%1000), waiting(rt)
		checks++
		held, ids, accepted, want := map[string]time.Time{}, map[string]bool{}, 0, [4]int64{}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			p.clock.Advance(time.Duration(rapid.IntRange(0, 40).Draw(rt, "seconds")) * time.Second)
			id, key := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "id")), fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "key"))
			kind := rapid.SampledFrom([]string{"good", "good", "late", "bad"}).Draw(rt, "kind")
			res, err := p.in.Take(t.Context(), p.event(id, key, func(e *agentruntime.SensorEvent) {
				e.SensorID = name
				switch kind {
				case "late":
					e.ObservedAt, e.FreshnessDeadline = agentruntime.At(p.clock.Now().Add(-time.Hour)), agentruntime.At(p.clock.Now().Add(-time.Minute))
				case "bad":
					e.ProposedTask.TaskType = "nope"
				}
			}))
			now := p.clock.Now()
			until, taken := held[key]
			switch {
			case kind == "bad":
				want[3]++
				if !sensor.Refused(err) {
					rt.Fatalf("%+v %v", res, err)
				}
				continue
			case ids[id] || kind == "good" && taken && now.Before(until):
				want[1]++
			case kind == "late":
				want[2]++
				ids[id] = true
			default:
				want[0]++
				accepted++
				ids[id], held[key] = true, now.Add(time.Minute)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		x := p.sensor(name)
		if got := [4]int64{x.Accepted, x.Deduped, x.Late, x.Malformed}; got != want {
			rt.Fatalf("accepted, deduped, late, malformed %v, want %v", got, want)
		}
		if n := waiting(rt) - before; n != accepted {
			rt.Fatalf("%d tasks of %d accepted events", n, accepted)
		}
	})
}

// The context of a workflow is a text like others: it names parts of the event, and what is no text stays as it is.
func TestContextNamesPartsOfTheEvent(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]settings.Sensor{"ci": {Kind: settings.SensorPush, Workflow: &settings.SensorWorkflow{
		Template: "review", InstanceKey: "${payload.commit}", Context: json.RawMessage(`{"objective": "look at ${payload.commit} for $$5", "n": 1.50, "list": ["${event_id}"], "none": null, "kind": "mine"}`),
	}}})
	reads := sensor.ReadAll([]byte(`{"event_id": "e1", "dedupe_key": "k1", "payload": {"commit": "ab\"c", "kind": "theirs"}}`), sensor.Defaults{SensorID: "ci", Now: p.clock.Now()})
	p.ok(reads[0].Err)
	out, err := p.in.TakeEvent(t.Context(), reads[0].Event)
	p.ok(err)
	w, err := p.in.Store.Workflow(t.Context(), out.WorkflowID)
	p.ok(err)
	var got map[string]json.RawMessage
	p.ok(json.Unmarshal(w.Record.Context, &got))
	for name, want := range map[string]string{"objective": `"look at ab\"c for $5"`, "n": "1.50", "list": `["${event_id}"]`, "none": "null", "kind": `"mine"`, "commit": `"ab\"c"`} {
		if string(got[name]) != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
}
