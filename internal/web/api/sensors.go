package api

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

type sensorPath struct {
	Name string `path:"name" doc:"its name"`
}

type sensorEventQuery struct {
	Name   string `path:"name" doc:"of the sensor"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"500" doc:"at most so many"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

// Sensor is a sensor with what it brought and how it fares.
type Sensor struct {
	Schema    string                 `json:"schema"`
	ID        string                 `json:"sensor_id"`
	Kind      string                 `json:"kind,omitempty"` // absent: it is not configured
	State     string                 `json:"state"`          // ok, new, failing, unhealthy or disabled
	Enabled   bool                   `json:"enabled"`
	Signed    bool                   `json:"signed"` // it takes events over HTTP from senders that sign them
	Accepted  int64                  `json:"accepted"`
	Deduped   int64                  `json:"deduped"`
	Late      int64                  `json:"late"`
	Malformed int64                  `json:"malformed"`
	Failures  int                    `json:"failures"` // in a row
	Since     agentruntime.Timestamp `json:"failing_since,omitempty"`
	OKAt      agentruntime.Timestamp `json:"last_ok_at,omitempty"`
	FailedAt  agentruntime.Timestamp `json:"last_failed_at,omitempty"`
	EventAt   agentruntime.Timestamp `json:"last_event_at,omitempty"`
	LastError string                 `json:"last_error,omitempty"`
	ActionID  string                 `json:"action_id,omitempty"`
}

// Sensors is the list of them.
type Sensors struct {
	Schema string   `json:"schema"`
	Items  []Sensor `json:"items"`
}

// SensedEvent is an event that was taken, or came too late.
type SensedEvent struct {
	Seq        int64                  `json:"seq"`
	SensorID   string                 `json:"sensor_id"`
	EventID    string                 `json:"event_id"`
	SourceRef  string                 `json:"source_ref"`
	DedupeKey  string                 `json:"dedupe_key"`
	State      string                 `json:"state"`
	Reason     string                 `json:"reason,omitempty"`
	ObservedAt agentruntime.Timestamp `json:"observed_at"`
	ReceivedAt agentruntime.Timestamp `json:"received_at"`
	TaskID     string                 `json:"task_id,omitempty"`
	WorkflowID string                 `json:"workflow_id,omitempty"`
	Repeats    int                    `json:"repeats"`
	Payload    json.RawMessage        `json:"payload"`
}

// Taken is what became of an event.
type Taken struct {
	Status     string `json:"status"` // accepted, deduped, late or refused
	SensorID   string `json:"sensor_id,omitempty"`
	EventID    string `json:"event_id,omitempty"`
	TaskID     string `json:"task_id,omitempty"`
	WorkflowID string `json:"workflow_id,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Intake is what became of the events of one request, in their order.
type Intake struct {
	Schema string  `json:"schema"`
	Events []Taken `json:"events"`
}

// The media types of CloudEvents over HTTP.
const (
	cloudEvent  = "application/cloudevents+json"
	cloudEvents = "application/cloudevents-batch+json"
)

const (
	maxIntake    = 4 << 20
	maxTaken     = 1000            // events of one request
	signatureAge = 5 * time.Minute // how far the time of a signature may be off
)

func (a *API) sensors() {
	get(a, "/sensors", about{id: "listSensors", tag: "sensors", summary: "List the sensors, what they brought and how they fare", need: access.Read}, a.listSensors)
	get(a, "/sensors/{name}", about{id: "getSensor", tag: "sensors", summary: "Show one sensor with its counters and its health", need: access.Read}, func(ctx context.Context, in sensorPath) (Sensor, error) {
		return a.oneSensor(ctx, in.Name)
	})
	get(a, "/sensors/{name}/events", about{id: "listSensorEvents", tag: "sensors", summary: "List the events of a sensor, newest first", need: access.Read}, a.listSensed)
	for _, on := range []bool{true, false} {
		verb, id, summary := "disable", "disableSensor", "Let a sensor rest: it does not look, and nothing is taken from it"
		if on {
			verb, id, summary = "enable", "enableSensor", "Let a sensor look again, and take its events"
		}
		post(a, "/sensors/{name}/"+verb, about{id: id, tag: "sensors", summary: summary, need: access.Operate, of: "getSensor", repeatable: true}, func(ctx context.Context, in sensorPath, _ none) (Sensor, error) {
			if _, err := a.oneSensor(ctx, in.Name); err != nil {
				return Sensor{}, err
			}
			if _, err := a.Store.EnableSensor(ctx, in.Name, on, by(ctx)); err != nil {
				return Sensor{}, err
			}
			a.changed()
			return a.oneSensor(ctx, in.Name)
		})
	}
	detail := "One CloudEvent in the structured mode (application/cloudevents+json), in the binary mode (ce- headers), a batch (application/cloudevents-batch+json), or " +
		"deed's own sensor events as application/json. Events dedupe by their own ids, so that a request may be sent again without a key."
	a.intake("/sensors/{name}/events", about{id: "emitEvents", tag: "sensors", summary: "Take events of a sensor in", detail: detail, need: access.Operate}, false)
	a.intake("/hooks/{name}", about{
		id: "hookEvents", tag: "sensors", summary: "Take events from a sender without a token, who signs what it sends", need: access.Public,
		detail: detail + " The sensor is one of kind push with a secret_env; the request carries Webhook-Id, Webhook-Timestamp and Webhook-Signature (Standard Webhooks, HMAC-SHA256).",
	}, true)
}

func (a *API) intake(path string, d about, signed bool) {
	d.maxBody, d.unnamed, d.accepts = maxIntake, true, []string{cloudEvent, cloudEvents, "application/json", "application/octet-stream"}
	op := &operation{about: d, method: http.MethodPost, path: path, input: typeOf[sensorPath](), answer: typeOf[Intake]()}
	op.act = func(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) error {
		in, err := bind[sensorPath](r)
		if err != nil {
			return err
		}
		if signed {
			if err := a.checkSignature(r, in.Name, body); err != nil {
				return err
			}
		}
		out, err := a.take(ctx, r, in.Name, body)
		if err != nil {
			return err
		}
		return a.writeJSON(w, r, http.StatusOK, out)
	}
	a.add(op)
}

// errUnsigned is the one answer to a sender that is not who it should be: it does not disclose which part was wrong.
func errUnsigned() error {
	return httperror.New(http.StatusUnauthorized, "bad_signature", "there is no such hook, or the request is not signed with its key; nothing was taken")
}

// checkSignature makes sure that the sender knows the key of the sensor, and that the request is not an old one.
func (a *API) checkSignature(r *http.Request, name string, body []byte) error {
	conf, ok := a.Config.Sensors[name]
	if !ok || conf.Kind != settings.SensorPush || conf.SecretEnv == "" {
		return errUnsigned()
	}
	key := a.Getenv(conf.SecretEnv)
	if key == "" {
		a.Log.Warn("api: a hook has no key", "sensor", name, "variable", conf.SecretEnv)
		return errUnsigned()
	}
	id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	sec, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" || len(id) > 255 {
		return errUnsigned()
	}
	if off := a.Clock().Sub(time.Unix(sec, 0)); off > signatureAge || off < -signatureAge {
		return errUnsigned()
	}
	want := outbox.Signature(key, id, at, body)
	for _, given := range strings.Fields(r.Header.Get("Webhook-Signature")) { // several while a key is changed
		if hmac.Equal([]byte(given), []byte(want)) {
			return nil
		}
	}
	return errUnsigned()
}

// take takes the events of a request. Each is taken whole or not at all; a bad one is no reason to give the others up.
func (a *API) take(ctx context.Context, r *http.Request, name string, body []byte) (Intake, error) {
	data, err := eventDocuments(r, body)
	if err != nil {
		return Intake{}, err
	}
	reads := sensor.ReadAll(data, sensor.Defaults{SensorID: name, Now: a.Clock()})
	if len(reads) == 0 || len(reads) > maxTaken {
		return Intake{}, httperror.New(http.StatusUnprocessableEntity, "invalid", "the body has "+strconv.Itoa(len(reads))+" events; send 1 to "+strconv.Itoa(maxTaken))
	}
	out := Intake{Schema: "deed/sensor.taken/v1", Events: []Taken{}}
	for _, read := range reads {
		res, err := sensor.Result{Status: sensor.Malformed, SensorID: name}, read.Err
		switch {
		case err == nil && read.Event.SensorID != name:
			// A token or a key is for one sensor's path: no sensor can speak for another with it.
			err = errors.New("the event says that it is of sensor " + strconv.Quote(clip(read.Event.SensorID)))
			read.Err = err
		case err == nil:
			res, err = a.Sensors.TakeEvent(ctx, read.Event)
		default:
			if cerr := a.Sensors.CountRefused(ctx, name, err); cerr != nil {
				return out, cerr
			}
		}
		switch {
		case read.Err != nil || sensor.Refused(err):
			res.Reason = err.Error()
		case err != nil:
			return out, err
		}
		out.Events = append(out.Events, Taken{res.Status, res.SensorID, res.EventID, res.TaskID, res.WorkflowID, res.Reason})
	}
	a.changed()
	return out, nil
}

// eventDocuments returns the events of a request as JSON documents: in the binary mode of CloudEvents the attributes are headers and
// the body is the data.
func eventDocuments(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Ce-Specversion") == "" {
		return body, nil
	}
	doc := map[string]any{}
	for name, values := range r.Header {
		attr, ok := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !ok {
			continue
		}
		v, err := url.PathUnescape(values[0]) // the binding escapes what a header cannot hold
		if err != nil || len(values) > 1 {
			return nil, httperror.New(http.StatusBadRequest, "invalid_parameter", "the header "+clip(name)+" is not an attribute of a CloudEvent")
		}
		doc[attr] = v
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	media = strings.TrimSpace(strings.ToLower(media))
	switch {
	case len(body) == 0:
	case media == "application/json" || strings.HasSuffix(media, "+json") || media == "":
		if !json.Valid(body) {
			return nil, httperror.New(http.StatusUnprocessableEntity, "invalid", "the data of the event is not JSON, as its Content-Type says")
		}
		doc["data"], doc["datacontenttype"] = json.RawMessage(body), "application/json"
	default:
		doc["data_base64"], doc["datacontenttype"] = base64.StdEncoding.EncodeToString(body), media
	}
	return json.Marshal(doc)
}

func (a *API) sensorOf(x store.Sensor) Sensor {
	conf := a.Config.Sensors[x.ID]
	d := Sensor{
		Schema: "deed/sensor/v1", ID: x.ID, Kind: conf.Kind, Enabled: !x.Disabled, Signed: conf.Kind == settings.SensorPush && conf.SecretEnv != "", Accepted: x.Accepted,
		Deduped: x.Deduped, Late: x.Late, Malformed: x.Malformed, Failures: x.Failures, LastError: x.LastError, ActionID: x.ActionID,
	}
	for to, at := range map[*agentruntime.Timestamp]time.Time{&d.Since: x.Since, &d.OKAt: x.OKAt, &d.FailedAt: x.FailedAt, &d.EventAt: x.EventAt} {
		if !at.IsZero() {
			*to = agentruntime.At(at)
		}
	}
	d.State = x.Health()
	return d
}

func (a *API) oneSensor(ctx context.Context, name string) (Sensor, error) {
	x, err := a.Store.Sensor(ctx, name)
	if _, configured := a.Config.Sensors[name]; configured && errors.Is(err, store.ErrNotFound) {
		x, err = store.Sensor{ID: name}, nil
	}
	return a.sensorOf(x), err
}

func (a *API) listSensors(ctx context.Context, _ none) (Sensors, error) {
	list, err := a.Store.Sensors(ctx)
	if err != nil {
		return Sensors{}, err
	}
	known := map[string]store.Sensor{}
	for name := range a.Config.Sensors {
		known[name] = store.Sensor{ID: name}
	}
	for _, x := range list {
		known[x.ID] = x
	}
	out := Sensors{Schema: "deed/sensors/v1", Items: []Sensor{}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out.Items = append(out.Items, a.sensorOf(known[name]))
	}
	return out, nil
}

func (a *API) listSensed(ctx context.Context, in sensorEventQuery) (Page[SensedEvent], error) {
	if _, err := a.oneSensor(ctx, in.Name); err != nil {
		return Page[SensedEvent]{}, err
	}
	before, err := readCursor(in.Cursor, "sensor_events", in.Name)
	if err != nil {
		return Page[SensedEvent]{}, err
	}
	f := store.SensorFilter{SensorID: in.Name, Limit: in.Limit + 1}
	if before != "" {
		if f.Before, err = strconv.ParseInt(before, 10, 64); err != nil || f.Before < 1 {
			return Page[SensedEvent]{}, stale("this is not a cursor of this API")
		}
	}
	found, err := a.Store.SensorEvents(ctx, f)
	if err != nil {
		return Page[SensedEvent]{}, err
	}
	return pageOf("deed/sensor.events/v1", "sensor_events", in.Name, in.Limit, found, func(e store.SensorEvent) string { return strconv.FormatInt(e.Seq, 10) }, func(e store.SensorEvent) SensedEvent {
		return SensedEvent{
			e.Seq, e.SensorID, e.EventID, e.SourceRef, e.DedupeKey, e.State, e.Reason, agentruntime.At(e.ObservedAt), agentruntime.At(e.ReceivedAt), e.TaskID,
			e.WorkflowID, e.Repeats, e.Payload,
		}
	}), nil
}
