package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// seen is an event of sensor s that asks for a task.
func (b *bench) seen(event, key string, change ...func(*store.Intake)) store.Intake {
	in := store.Intake{
		Sensor: &store.NewSensorEvent{
			SensorID: "s", EventID: event, SourceRef: "src", DedupeKey: key, ObservedAt: b.clock.Now(), Payload: json.RawMessage(`{"n": 1.10}`),
		},
		Tasks: []store.NewTask{task(event)},
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func (b *bench) take(in store.Intake) store.IntakeResult {
	b.Helper()
	out, err := b.s.TakeIn(b.ctx, in)
	b.ok(err)
	return out
}

func (b *bench) sensor() store.Sensor {
	b.Helper()
	x, err := b.s.Sensor(b.ctx, "s")
	b.ok(err)
	return x
}

// sensed counts the events of a type.
func (b *bench) sensed(typ agentruntime.RuntimeEvent) int {
	b.Helper()
	list, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	n := 0
	for _, e := range list {
		if e.Type == string(typ) {
			n++
		}
	}
	return n
}

func sensorOnce(t *testing.T, target Target) {
	b := setup(t, target)
	flowing := flow("k", func(n *store.NewWorkflow) { n.Cause = store.CauseSensor })
	first := b.take(b.seen("1", "a", func(in *store.Intake) { in.Start, in.Sensor.Wakes = &flowing, true }))
	if first.Sensor.Deduped || first.Tasks[0].TaskID == "" || first.Started.WorkflowID == "" {
		t.Fatalf("%+v", first)
	}
	for name, in := range map[string]store.Intake{"the same event": b.seen("1", "other"), "the same key": b.seen("2", "a"), "both": b.seen("1", "a")} {
		out := b.take(in)
		if !out.Sensor.Deduped || out.Sensor.TaskID != first.Tasks[0].TaskID || out.Sensor.WorkflowID != first.Started.WorkflowID || out.Tasks != nil {
			t.Errorf("%s: %+v", name, out)
		}
	}
	// Ids are a source's own, and keys a sensor's.
	for name, in := range map[string]store.Intake{
		"another source": b.seen("1", "b", func(in *store.Intake) { in.Sensor.SourceRef = "elsewhere" }),
		"another sensor": b.seen("1", "a", func(in *store.Intake) { in.Sensor.SensorID = "s2" }),
	} {
		if out := b.take(in); out.Sensor.Deduped {
			t.Errorf("%s was deduped", name)
		}
	}
	b.same(b.sensed(agentruntime.EventSensorEventRecorded), 3)
	b.same(b.sensed(agentruntime.EventSensorTaskCreated), 3)
	b.same(b.sensed(agentruntime.EventSensorWorkflowCreated), 1)
	b.same(b.sensed(agentruntime.EventSensorEventDeduped), 1) // said once for each event, counted always
	x := b.sensor()
	if x.Accepted != 2 || x.Deduped != 3 || !x.EventAt.Equal(b.clock.Now()) {
		t.Errorf("%+v", x)
	}
	list, err := b.s.SensorEvents(b.ctx, store.SensorFilter{SensorID: "s"})
	b.ok(err)
	got := list[1]
	if len(list) != 2 || got.Repeats != 3 || got.State != store.SensorAccepted || string(got.Payload) != `{"n": 1.10}` ||
		got.TaskID != first.Tasks[0].TaskID || got.WorkflowID != first.Started.WorkflowID {
		t.Errorf("%+v", got)
	}
	// A task that another one stands for is linked, and a live instance is not created again.
	b.take(b.seen("5", "e", func(in *store.Intake) { in.Tasks[0].DedupeKey = "held" }))
	linked := b.take(b.seen("6", "f", func(in *store.Intake) {
		in.Tasks[0].DedupeKey, in.Start, in.Sensor.Wakes = "held", &flowing, true
	}))
	if !linked.Tasks[0].Deduped || !linked.Started.Deduped {
		t.Fatalf("%+v", linked)
	}
	b.same(b.sensed(agentruntime.EventSensorWorkflowDeduped), 1)
	list, err = b.s.SensorEvents(b.ctx, store.SensorFilter{Limit: 1})
	b.ok(err)
	if list[0].TaskID != linked.Tasks[0].TaskID || list[0].WorkflowID != first.Started.WorkflowID {
		t.Errorf("%+v", list[0])
	}
	b.audit()
}

func sensorWindow(t *testing.T, target Target) {
	b := setup(t, target)
	hour := func(in *store.Intake) { in.Sensor.Window = time.Hour }
	b.take(b.seen("1", "thread", hour))
	b.clock.Advance(time.Hour - time.Microsecond)
	if !b.take(b.seen("2", "thread", hour)).Sensor.Deduped {
		t.Fatal("the window was over too early")
	}
	b.clock.Advance(time.Microsecond)
	if out := b.take(b.seen("2", "thread", hour)); out.Sensor.Deduped {
		t.Fatal("a later message of the thread starves")
	}
	if !b.take(b.seen("1", "thread", hour)).Sensor.Deduped {
		t.Fatal("the same event was taken twice")
	}
	if !b.take(b.seen("3", "thread")).Sensor.Deduped {
		t.Fatal("the new holder does not hold")
	}
	// What came too late is recorded, makes nothing, and holds no key.
	late := b.take(b.seen("4", "x", func(in *store.Intake) { in.Sensor.Late = "stale since 08:00" }))
	if late.Sensor.Deduped || late.Tasks != nil || late.Sensor.TaskID != "" {
		t.Fatalf("%+v", late)
	}
	if b.take(b.seen("5", "x")).Sensor.Deduped {
		t.Fatal("a late event holds its key")
	}
	list, err := b.s.SensorEvents(b.ctx, store.SensorFilter{})
	b.ok(err)
	if list[1].State != store.SensorLate || list[1].Reason == "" || b.sensor().Late != 1 {
		t.Errorf("%+v", list[1])
	}
}

// A batch is taken as its events would be one by one.
func sensorBatch(t *testing.T, target Target) {
	b := setup(t, target)
	var list []store.Intake
	for i := range 140 {
		list = append(list, b.seen(fmt.Sprint(i), fmt.Sprint(i%130), func(in *store.Intake) {
			if i%50 == 7 {
				in.Sensor.Late = "late"
			}
			if i%60 == 5 {
				in.Tasks[0].DedupeKey = "shared"
			}
		}))
	}
	list = append(list, list[3], b.seen("w", "w", func(in *store.Intake) {
		n := flow("k")
		in.Start, in.Sensor.Wakes = &n, true
	}))
	out, err := b.s.TakeAll(b.ctx, list...)
	b.ok(err)
	// The keys of the second round are held, but for that of event 7, which was late.
	repeats := map[int]int{130: 0, 131: 1, 132: 2, 133: 3, 134: 4, 135: 5, 136: 6, 138: 8, 139: 9, 140: 3}
	for i, r := range out {
		first, want := repeats[i]
		if r.Sensor.Deduped != want || r.Sensor.Seq == 0 || want && r.Sensor.Seq != out[first].Sensor.Seq {
			t.Errorf("%d: %+v, want deduped %v", i, r.Sensor, want)
		}
	}
	x := b.sensor()
	if x.Accepted != 129 || x.Deduped != 10 || x.Late != 3 {
		t.Errorf("%+v", x)
	}
	b.same(b.sensed(agentruntime.EventSensorTaskCreated), 127) // three of one key are one task
	b.same(b.sensed(agentruntime.EventSensorEventRecorded), 132)
	b.audit()
}

// What is plain is taken in few statements, and leaves exactly what the same events leave that are taken step by step.
func sensorPlain(t *testing.T, target Target) {
	b := setup(t, target)
	big := json.RawMessage(`{"text": "` + strings.Repeat("x", 5000) + `"}`)
	batch := []store.Intake{
		b.seen("1", "a"),
		b.seen("2", "b", func(in *store.Intake) { in.Tasks[0].Intent.Payload = big }),
		b.seen("3", "c", func(in *store.Intake) { in.Sensor.Late = "late" }),
		b.seen("4", "d", func(in *store.Intake) { in.Tasks = nil }),
		b.seen("1", "x"), // the first one again
		b.seen("5", "b"), // the key of the second
		b.seen("6", `e"\`, func(in *store.Intake) { in.Sensor.Payload, in.Sensor.SensorID = nil, "s2" }), // of another sensor
	}
	out, err := b.s.TakeAll(b.ctx, batch...)
	b.ok(err)
	out = append(out, b.take(b.seen("7", "f", func(in *store.Intake) { in.Tasks[0].Intent.Payload = big })))
	out = append(out, b.take(b.seen("8", "f")))
	for i, dup := range []bool{4: true, 5: true, 8: true} {
		r := out[i]
		made := !dup && i != 2 && i != 3
		if r.Sensor.Deduped != dup || r.Sensor.Seq == 0 || made != (len(r.Tasks) == 1) || made && r.Tasks[0].TaskID != r.Sensor.TaskID {
			t.Errorf("%d: %+v", i, r)
		}
	}
	b.same(out[4].Sensor.Seq, out[0].Sensor.Seq)
	b.same(out[8].Sensor.TaskID, out[7].Sensor.TaskID)
	for i, id := range []string{out[1].Sensor.TaskID, out[7].Sensor.TaskID} {
		x, err := b.s.Task(b.ctx, id)
		b.ok(err)
		if string(x.Intent.Payload) != string(big) {
			t.Errorf("payload %d: %.40s", i, x.Intent.Payload)
		}
	}
	events, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	of := map[string]int{}
	for i, r := range out {
		if id := r.Sensor.TaskID; id != "" && !r.Sensor.Deduped {
			of[id] = i
		}
	}
	var got []string
	for _, e := range events {
		line := e.Type
		if e.TaskID != "" {
			line += fmt.Sprint(" ", of[e.TaskID])
		}
		if len(e.Detail) > 0 {
			var d map[string]any
			b.ok(json.Unmarshal(e.Detail, &d))
			for i, r := range out {
				if !r.Sensor.Deduped && float64(r.Sensor.Seq) == d["sensor_event"] {
					d["sensor_event"] = i
				}
			}
			text, err := json.Marshal(d)
			b.ok(err)
			line += " " + string(text)
		}
		got = append(got, line)
	}
	slices.Sort(got) // the order is that of the causes, and below
	want := []string{
		`sensor_event_deduped 0 {"dedupe_key":"a","event_id":"1","sensor_event":0,"sensor_id":"s","workflow_id":""}`,
		`sensor_event_deduped 1 {"dedupe_key":"b","event_id":"2","sensor_event":1,"sensor_id":"s","workflow_id":""}`,
		`sensor_event_deduped 7 {"dedupe_key":"f","event_id":"7","sensor_event":7,"sensor_id":"s","workflow_id":""}`,
		`sensor_event_recorded {"dedupe_key":"a","event_id":"1","sensor_event":0,"sensor_id":"s"}`,
		`sensor_event_recorded {"dedupe_key":"b","event_id":"2","sensor_event":1,"sensor_id":"s"}`,
		`sensor_event_recorded {"dedupe_key":"c","dropped":"late","event_id":"3","sensor_event":2,"sensor_id":"s"}`,
		`sensor_event_recorded {"dedupe_key":"d","event_id":"4","sensor_event":3,"sensor_id":"s"}`,
		`sensor_event_recorded {"dedupe_key":"e\"\\","event_id":"6","sensor_event":6,"sensor_id":"s2"}`,
		`sensor_event_recorded {"dedupe_key":"f","event_id":"7","sensor_event":7,"sensor_id":"s"}`,
	}
	for _, i := range []string{"0", "1", "6", "7"} {
		sensor, event := "s", map[string]string{"0": "1", "1": "2", "6": "6", "7": "7"}[i]
		if i == "6" {
			sensor = "s2"
		}
		want = append(want, "task_enqueued "+i+" {}", `sensor_task_created `+i+` {"event_id":"`+event+`","sensor_event":`+i+`,"sensor_id":"`+sensor+`"}`)
	}
	slices.Sort(want)
	b.same(got, want)
	// A task is queued after the record of its event and before it is said what made it.
	step := map[string]int{}
	for _, e := range events {
		switch e.Type {
		case string(agentruntime.EventTaskEnqueued):
			step[e.TaskID] = 1
		case string(agentruntime.EventSensorTaskCreated):
			b.same(step[e.TaskID], 1)
		}
	}
	b.same(events[0].Type, string(agentruntime.EventSensorEventRecorded))
	x := b.sensor()
	if x.Accepted != 4 || x.Late != 1 || x.Deduped != 3 {
		t.Errorf("%+v", x)
	}
	_, err = b.s.EnableSensor(b.ctx, "s", false, "me")
	b.ok(err)
	_, err = b.s.TakeAll(b.ctx, b.seen("20", "20", func(in *store.Intake) { in.Sensor.SensorID = "s2" }), b.seen("21", "21"))
	b.is(err, store.ErrDisabled)
	again, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	b.same(len(again), len(events)+1) // that it was switched off, and nothing else
	b.audit()
}

// Runs of fresh, repeated and late events, whose keys are held for ever, for a while or by earlier runs, leave what the same events
// leave that are taken one by one, whatever the size of a run.
func sensorRuns(t *testing.T, target Target) {
	b := setup(t, target)
	r := rand.New(rand.NewPCG(1, 2))
	said := func(sensor string) (lines []string) {
		list, err := b.s.SensorEvents(b.ctx, store.SensorFilter{SensorID: sensor, Limit: 10000})
		b.ok(err)
		for _, e := range list {
			lines = append(lines, fmt.Sprint(e.EventID, e.DedupeKey, e.State, e.Reason, e.Repeats, e.TaskID != ""))
		}
		return lines
	}
	first := map[string]map[int64]int{"run": {}, "one": {}} // the place of each event by its number
	place := 0
	for _, size := range []int{1, 2, 24, 25, 26, 60, 99, 100, 101, 230} {
		var list []store.Intake
		for range size {
			id := r.IntN(600)
			list = append(list, b.seen(fmt.Sprintf("https://example.com/ä/%d", id), fmt.Sprint("key ", id%500), func(in *store.Intake) {
				if id%7 == 3 {
					in.Sensor.Late = "late"
				}
				if id%500 >= 250 {
					in.Sensor.Window = time.Minute
				}
				if id%11 == 5 {
					in.Tasks = nil
				}
			}))
		}
		of := func(sensor string) []store.Intake {
			out := slices.Clone(list)
			for i := range out {
				e := *out[i].Sensor
				e.SensorID = sensor
				out[i].Sensor = &e
			}
			return out
		}
		whole, err := b.s.TakeRun(b.ctx, store.SensorRun{SensorID: "run", Intakes: of("run"), OK: true})
		b.ok(err)
		for i, in := range of("one") {
			one := b.take(in)
			if whole[i].Sensor.Deduped != one.Sensor.Deduped || len(whole[i].Tasks) != len(one.Tasks) {
				t.Fatalf("%d of %d: %+v, one by one %+v", i, size, whole[i], one)
			}
			if !one.Sensor.Deduped {
				first["run"][whole[i].Sensor.Seq], first["one"][one.Sensor.Seq] = place+i, place+i
			}
			b.same(first["run"][whole[i].Sensor.Seq], first["one"][one.Sensor.Seq])
		}
		place += size
		b.clock.Advance(40 * time.Second)
	}
	b.same(said("run"), said("one"))
	all, err := b.s.Sensors(b.ctx)
	b.ok(err)
	b.same([]int64{all[0].Accepted, all[0].Deduped, all[0].Late}, []int64{all[1].Accepted, all[1].Deduped, all[1].Late})
	b.audit()
}

// What cannot be taken whole leaves nothing, and its sender may send it again.
func sensorAtomic(t *testing.T, target Target) {
	b := setup(t, target)
	bad := flow("bad", func(n *store.NewWorkflow) { n.Task.MaxAttempts = 0 })
	for name, in := range map[string]store.Intake{
		"a bad task":     b.seen("1", "a", func(in *store.Intake) { in.Tasks[0].MaxAttempts = 0 }),
		"a bad workflow": b.seen("1", "a", func(in *store.Intake) { in.Start = &bad }),
		"no key":         b.seen("1", ""),
		"a bad payload":  b.seen("1", "a", func(in *store.Intake) { in.Sensor.Payload = json.RawMessage(`{`) }),
	} {
		_, err := b.s.TakeIn(b.ctx, in)
		if err == nil {
			t.Fatalf("%s was taken", name)
		}
		_, err = b.s.TakeAll(b.ctx, b.seen("2", "b"), in)
		b.is(err, store.ErrInvalid)
	}
	list, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	if len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	for _, e := range []string{"1", "2"} {
		if b.take(b.seen(e, e)).Sensor.Deduped {
			t.Fatalf("event %s was lost", e)
		}
	}
	changed, err := b.s.EnableSensor(b.ctx, "s", false, "me")
	b.ok(err)
	again, err := b.s.EnableSensor(b.ctx, "s", false, "me")
	b.ok(err)
	if !changed || again || !b.sensor().Disabled {
		t.Fatal("it is not off")
	}
	_, err = b.s.TakeIn(b.ctx, b.seen("3", "c"))
	b.is(err, store.ErrDisabled)
	_, err = b.s.EnableSensor(b.ctx, "s", true, "me")
	b.ok(err)
	b.take(b.seen("3", "c"))
	b.same(int(b.sensor().Accepted), 3)
}

func sensorCursor(t *testing.T, target Target) {
	b := setup(t, target)
	run := func(version int64, cursor string, in ...store.Intake) error {
		_, err := b.s.TakeRun(b.ctx, store.SensorRun{SensorID: "s", Intakes: in, Cursor: json.RawMessage(cursor), Version: version, OK: true})
		return err
	}
	b.ok(run(0, `{"at":1}`, b.seen("1", "a")))
	b.is(run(0, `{"at":2}`, b.seen("2", "b")), store.ErrStale)
	if x := b.sensor(); string(x.Cursor) != `{"at":1}` || x.Version != 1 || x.Accepted != 1 || !x.OKAt.Equal(b.clock.Now()) {
		t.Fatalf("%+v", x)
	}
	b.ok(run(1, `{"at":2}`, b.seen("2", "b")))
	b.is(run(2, `{`), store.ErrInvalid)
	b.ok(b.s.SensorMalformed(b.ctx, "s", 3, "no key"))
	if x := b.sensor(); x.Version != 2 || x.Malformed != 3 || x.LastError != "no key" || x.Accepted != 2 {
		t.Fatalf("%+v", x)
	}
}

func sensorHealth(t *testing.T, target Target) {
	b := setup(t, target)
	ask := func(x store.Sensor) store.NewAction {
		return store.NewAction{Kind: "sensor", Prompt: fmt.Sprintf("%d failures", x.Failures)}
	}
	fail := func() store.Sensor {
		b.Helper()
		x, err := b.s.SensorFailed(b.ctx, "s", "it hangs", time.Hour, ask)
		b.ok(err)
		return x
	}
	open := func() int {
		b.Helper()
		list, err := b.s.Actions(b.ctx, store.ActionFilter{Owner: "sensor/s"})
		b.ok(err)
		n := 0
		for _, a := range list {
			if a.State == store.ActionOpen {
				n++
			}
		}
		return n
	}
	for range 5 {
		if fail().ActionID != "" {
			t.Fatal("a person is asked too early")
		}
	}
	b.clock.Advance(time.Hour)
	x := fail()
	if x.ActionID == "" || x.Failures != 6 || fail().ActionID != x.ActionID || open() != 1 {
		t.Fatalf("%+v", x)
	}
	b.ok(b.s.AnswerAction(b.ctx, x.ActionID, json.RawMessage(`true`), "me"))
	if y := b.sensor(); y.ActionID != "" || y.Failures != 0 || !y.Since.IsZero() || open() != 0 {
		t.Fatalf("after the answer: %+v", y)
	}
	for range 3 {
		fail()
		b.clock.Advance(time.Hour)
	}
	if open() != 1 {
		t.Fatal("it is not asked about again")
	}
	_, err := b.s.TakeRun(b.ctx, store.SensorRun{SensorID: "s", OK: true})
	b.ok(err)
	if y := b.sensor(); y.ActionID != "" || y.Failures != 0 || open() != 0 || y.LastError != "it hangs" {
		t.Fatalf("after it went well: %+v", y)
	}
	list, err := b.s.Sensors(b.ctx)
	b.ok(err)
	b.same(len(list), 1)
}

// Many senders, few keys: every key is accepted once.
func sensorConcurrent(t *testing.T, target Target) {
	b := setup(t, target)
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 10 {
				key := fmt.Sprint(i)
				out, err := b.s.TakeAll(b.ctx, b.seen(key, key), b.seen(key+"'", fmt.Sprint((i+3)%10)))
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range out {
					if !r.Sensor.Deduped {
						accepted.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	b.same(int(accepted.Load()), 10)
	b.same(b.sensed(agentruntime.EventSensorTaskCreated), 10)
	x := b.sensor()
	b.same(int(x.Accepted+x.Deduped), 160)
	b.audit()
}
