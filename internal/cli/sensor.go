package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/store"
)

// maxEvents is how many bytes of events one command takes.
const maxEventsFile = 64 << 20

func (a *app) sensorCmd() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sensors, what they brought and how they fare", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.sensorList(c.Context()) },
	}
	show := &cobra.Command{
		Use: "show SENSOR", Short: "Show one sensor with its counters, its health and what it has seen", Args: names("SENSOR"),
		RunE: func(c *cobra.Command, args []string) error { return a.sensorShow(c.Context(), args[0]) },
	}
	var file, as string
	emit := &cobra.Command{
		Use: "emit --file FILE|-", Short: "Take events in: one, an array, or one a line; CloudEvents too", Args: cobra.NoArgs,
		Example: "  deed sensor emit --file event.json\n  tail -f events.jsonl | head -1 | deed sensor emit --file - --sensor mail",
		RunE:    func(c *cobra.Command, _ []string) error { return a.sensorEmit(c.Context(), file, as) },
	}
	emit.Flags().StringVar(&file, "file", "", "the events: `FILE`, or - for standard input")
	emit.Flags().StringVar(&as, "sensor", "", "whose events they are: `SENSOR`, where they do not say so")
	run := &cobra.Command{
		Use: "run SENSOR", Short: "Let a sensor look now, once", Args: names("SENSOR"),
		RunE: func(c *cobra.Command, args []string) error { return a.sensorRun(c.Context(), args[0]) },
	}
	enable := &cobra.Command{
		Use: "enable SENSOR", Short: "Let a sensor look again, and take its events", Args: names("SENSOR"),
		RunE: func(c *cobra.Command, args []string) error { return a.sensorSwitch(c.Context(), args[0], true) },
	}
	disable := &cobra.Command{
		Use: "disable SENSOR", Short: "Let a sensor rest: it does not look, and nothing is taken from it", Args: names("SENSOR"),
		RunE: func(c *cobra.Command, args []string) error { return a.sensorSwitch(c.Context(), args[0], false) },
	}
	var f store.SensorFilter
	events := &cobra.Command{
		Use: "events [SENSOR]", Short: "List the events that were taken, and those that came too late, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.SensorID = args[0]
			}
			return a.sensorEvents(c.Context(), f)
		},
	}
	events.Flags().IntVar(&f.Limit, "limit", 100, "at most `N`")
	return group("sensor", "See what brings work into the queue, and bring some", list, show, emit, run, enable, disable, events)
}

// sensorIntake composes the intake. The home, the settings and the store are open.
func (a *app) sensorIntake() *sensor.Intake {
	a.joinSensors()
	return &sensor.Intake{Store: a.st, Admission: a.admission(), Workflows: a.workflows(), Config: a.cfg, Clock: clock.System}
}

// sensors composes the runner of the sensors.
func (a *app) sensors(exe string) *sensor.Runner {
	return &sensor.Runner{
		Intake: a.sensorIntake(), Store: a.st, Config: a.cfg, Clock: clock.System, Environ: a.environ, Exe: exe, Log: a.logger(a.level()), Wake: a.h.Wake,
	}
}

// sensorDoc is a sensor as --json shows it.
type sensorDoc struct {
	Schema    string          `json:"schema"`
	ID        string          `json:"sensor_id"`
	Kind      string          `json:"kind,omitempty"` // absent: it is not configured
	Enabled   bool            `json:"enabled"`
	Accepted  int64           `json:"accepted"`
	Deduped   int64           `json:"deduped"`
	Late      int64           `json:"late"`
	Malformed int64           `json:"malformed"`
	Failures  int             `json:"failures"` // in a row
	Since     string          `json:"failing_since,omitempty"`
	OKAt      string          `json:"last_ok_at,omitempty"`
	FailedAt  string          `json:"last_failed_at,omitempty"`
	EventAt   string          `json:"last_event_at,omitempty"`
	LastError string          `json:"last_error,omitempty"`
	ActionID  string          `json:"action_id,omitempty"`
	Cursor    json.RawMessage `json:"cursor,omitempty"`

	health string
}

func newSensorDoc(x store.Sensor, conf settings.Sensor) sensorDoc {
	d := sensorDoc{
		Schema: "deed/sensor/v1", ID: x.ID, Kind: conf.Kind, Enabled: !x.Disabled, Accepted: x.Accepted, Deduped: x.Deduped, Late: x.Late,
		Malformed: x.Malformed, Failures: x.Failures, LastError: x.LastError, ActionID: x.ActionID, Cursor: x.Cursor,
		health: x.Health(),
	}
	for to, at := range map[*string]time.Time{&d.Since: x.Since, &d.OKAt: x.OKAt, &d.FailedAt: x.FailedAt, &d.EventAt: x.EventAt} {
		if !at.IsZero() {
			*to = string(agentruntime.At(at))
		}
	}
	return d
}

func (a *app) sensorList(ctx context.Context) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	a.joinSensors()
	list, err := a.st.Sensors(ctx)
	if err != nil {
		return err
	}
	known := map[string]store.Sensor{}
	for name := range a.cfg.Sensors {
		known[name] = store.Sensor{ID: name}
	}
	for _, x := range list {
		a.hintDamaged(x.Damage)
		known[x.ID] = x
	}
	docs := []sensorDoc{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		docs = append(docs, newSensorDoc(known[name], a.cfg.Sensors[name]))
	}
	if a.json {
		for i := range docs {
			docs[i].Cursor = nil // it may be long; `show` has it
		}
		return a.emit(map[string]any{"schema": "deed/sensors/v1", "sensors": docs})
	}
	if len(docs) == 0 {
		a.hint("no sensor is configured (`sensors` in the home's deed.yaml), and none has sent anything")
		return nil
	}
	rows := make([][]string, len(docs))
	for i, d := range docs {
		rows[i] = []string{clean(d.ID), d.Kind, d.health, fmt.Sprint(d.Accepted), fmt.Sprint(d.Deduped), fmt.Sprint(d.Late), fmt.Sprint(d.Malformed), shorten(clean(d.LastError), 60)}
	}
	a.table([]string{"SENSOR", "KIND", "STATE", "ACCEPTED", "DEDUPED", "LATE", "REFUSED", "LAST ERROR"}, rows)
	return nil
}

// oneSensor finds a sensor that is configured or has sent something.
func (a *app) oneSensor(ctx context.Context, name string) (sensorDoc, error) {
	if err := a.view(ctx); err != nil {
		return sensorDoc{}, err
	}
	a.joinSensors()
	conf, configured := a.cfg.Sensors[name]
	x, err := a.st.Sensor(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound) && configured:
		x.ID = name
	case errors.Is(err, store.ErrNotFound):
		return sensorDoc{}, usage(fmt.Errorf("no sensor %q is configured, and none of the name has sent anything (`deed sensor list` shows them)", name))
	case err != nil:
		return sensorDoc{}, err
	}
	return newSensorDoc(x, conf), nil
}

func (a *app) sensorShow(ctx context.Context, name string) error {
	d, err := a.oneSensor(ctx, name)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(d)
	}
	failing := d.Since
	if d.Failures > 0 {
		failing += fmt.Sprintf(" (%d in a row)", d.Failures)
	}
	for _, line := range [][2]string{
		{"sensor", clean(d.ID)},
		{"kind", d.Kind},
		{"state", d.health},
		{"events", fmt.Sprintf("%d accepted, %d deduped, %d late, %d refused", d.Accepted, d.Deduped, d.Late, d.Malformed)},
		{"last ok", d.OKAt},
		{"last event", d.EventAt},
		{"last failure", d.FailedAt},
		{"failing since", failing},
		{"last error", clean(d.LastError)},
		{"action", d.ActionID},
		{"has seen", shorten(clean(string(d.Cursor)), 1000)},
	} {
		if line[1] != "" {
			a.printf("%-13s %s\n", line[0], line[1])
		}
	}
	return nil
}

// takenDoc is what became of an event as --json shows it.
type takenDoc struct {
	Status     string `json:"status"`
	SensorID   string `json:"sensor_id,omitempty"`
	EventID    string `json:"event_id,omitempty"`
	TaskID     string `json:"task_id,omitempty"`
	WorkflowID string `json:"workflow_id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (a *app) sensorEmit(ctx context.Context, file, as string) error {
	if file == "" {
		return usage(errors.New("--file is missing (name a file with events, or - for standard input)"))
	}
	data, err := a.readDocument(ctx, file, maxEventsFile)
	if err != nil {
		return usage(fmt.Errorf("--file: %w", err))
	}
	reads := sensor.ReadAll(data, sensor.Defaults{SensorID: as, Now: clock.System()})
	if len(reads) == 0 {
		return usage(errors.New("--file: there is no event in it"))
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	in := a.sensorIntake()
	docs := make([]takenDoc, len(reads))
	refusedAny := false
	for i, read := range reads {
		res, err := sensor.Result{Status: sensor.Malformed, SensorID: as}, read.Err
		if err == nil {
			res, err = in.TakeEvent(ctx, read.Event)
		} else if cerr := in.CountRefused(ctx, as, err); cerr != nil {
			return cerr
		}
		switch {
		case read.Err != nil || sensor.Refused(err):
			res.Reason, refusedAny = err.Error(), true
		case errors.Is(err, store.ErrDisabled):
			return usage(err)
		case err != nil:
			return err
		}
		docs[i] = takenDoc{res.Status, res.SensorID, res.EventID, res.TaskID, res.WorkflowID, res.Reason}
		if !a.json {
			a.showTaken(i, docs[i])
		}
	}
	a.h.Wake()
	if a.json {
		if err := a.emit(map[string]any{"schema": "deed/sensor.taken/v1", "events": docs}); err != nil {
			return err
		}
	}
	if refusedAny {
		return &exitError{code: ExitNotDone, err: errSilent}
	}
	return nil
}

func (a *app) showTaken(i int, d takenDoc) {
	line := fmt.Sprintf("%d %s", i+1, d.Status)
	for _, part := range [][2]string{{"", d.EventID}, {"task ", d.TaskID}, {"workflow ", d.WorkflowID}, {"", d.Reason}} {
		if part[1] != "" {
			line += "  " + part[0] + clean(part[1])
		}
	}
	a.printf("%s\n", line)
}

func (a *app) sensorRun(ctx context.Context, name string) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	rep, err := a.sensors(exe).Once(ctx, name)
	if errors.Is(err, sensor.ErrUnknown) {
		return usage(fmt.Errorf("%w (`sensors` in the home's deed.yaml; one of kind push is not run)", err))
	}
	if rep.Accepted > 0 {
		a.h.Wake()
	}
	if a.json {
		doc := map[string]any{"schema": "deed/sensor.run/v1", "sensor_id": name, "result": rep}
		if err != nil {
			doc["error"] = err.Error()
		}
		if err := a.emit(doc); err != nil {
			return err
		}
	} else {
		more := ""
		if rep.More {
			more = "; there is more for the next run"
		}
		a.printf("%d accepted, %d deduped, %d late, %d refused%s\n", rep.Accepted, rep.Deduped, rep.Late, rep.Malformed, more)
	}
	switch {
	case err != nil && a.json:
		return &exitError{code: ExitNotDone, err: errSilent}
	case err != nil:
		return &exitError{code: ExitNotDone, err: fmt.Errorf("sensor %s: %w", name, err)}
	}
	return nil
}

func (a *app) sensorSwitch(ctx context.Context, name string, on bool) error {
	if _, err := a.oneSensor(ctx, name); err != nil {
		return err
	}
	changed, err := a.st.EnableSensor(ctx, name, on, a.operator())
	if err != nil {
		return err
	}
	a.h.Wake()
	if a.json {
		return a.sensorShow(ctx, name)
	}
	word := map[bool]string{true: "enabled", false: "disabled"}[on]
	if !changed {
		word += " already"
	}
	a.hint("%s is %s", name, word)
	return nil
}

// sensedDoc is an event that was taken as --json shows it.
type sensedDoc struct {
	Seq        int64           `json:"seq"`
	SensorID   string          `json:"sensor_id"`
	EventID    string          `json:"event_id"`
	SourceRef  string          `json:"source_ref"`
	DedupeKey  string          `json:"dedupe_key"`
	State      string          `json:"state"`
	Reason     string          `json:"reason,omitempty"`
	ObservedAt string          `json:"observed_at"`
	ReceivedAt string          `json:"received_at"`
	TaskID     string          `json:"task_id,omitempty"`
	WorkflowID string          `json:"workflow_id,omitempty"`
	Repeats    int             `json:"repeats"`
	Payload    json.RawMessage `json:"payload"`
}

func (a *app) sensorEvents(ctx context.Context, f store.SensorFilter) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	list, err := a.st.SensorEvents(ctx, f)
	if err != nil {
		return err
	}
	for _, e := range list {
		a.hintDamaged(e.Damage)
	}
	if a.json {
		docs := make([]sensedDoc, len(list))
		for i, e := range list {
			docs[i] = sensedDoc{
				e.Seq, e.SensorID, e.EventID, e.SourceRef, e.DedupeKey, e.State, e.Reason, string(agentruntime.At(e.ObservedAt)),
				string(agentruntime.At(e.ReceivedAt)), e.TaskID, e.WorkflowID, e.Repeats, e.Payload,
			}
		}
		return a.emit(map[string]any{"schema": "deed/sensor.events/v1", "events": docs})
	}
	if len(list) == 0 {
		a.hint("no event was taken")
		return nil
	}
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{fmt.Sprint(e.Seq), clean(e.SensorID), shorten(clean(e.EventID), 40), e.State, e.TaskID, e.WorkflowID, fmt.Sprint(e.Repeats), shorten(clean(e.Reason), 60)}
	}
	a.table([]string{"SEQ", "SENSOR", "EVENT", "STATE", "TASK", "WORKFLOW", "AGAIN", "REASON"}, rows)
	return nil
}
