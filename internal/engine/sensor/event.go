package sensor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
)

// An Event is what a sensor saw. Type is that of a CloudEvent; others have none.
type Event struct {
	agentruntime.SensorEvent
	Type string
}

// A Read is one document of a sender: an event, or the error that it is.
type Read struct {
	Event Event
	Err   error
}

// Defaults complete what a sender left out.
type Defaults struct {
	SensorID string // who speaks; "": every event names its sensor
	Now      time.Time
}

// ReadAll reads one event, an array of events, or one event a line; each is a sensor event or a CloudEvent of version 1.0. A bad
// document is no reason to give the others up; of very many the last one says that the rest was not read.
func ReadAll(data []byte, d Defaults) []Read {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	if data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err == nil {
			out := make([]Read, 0, min(len(list), maxDocuments+1))
			for _, one := range list {
				if len(out) == maxDocuments {
					return append(out, Read{Err: errTooMany})
				}
				out = append(out, ReadOne(one, d))
			}
			return out
		}
	}
	if json.Valid(data) {
		return []Read{ReadOne(data, d)}
	}
	var out []Read
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(out) == maxDocuments {
			return append(out, Read{Err: errTooMany})
		}
		out = append(out, ReadOne(line, d))
	}
	return out
}

// ReadOne reads one document. All faults are reported together.
func ReadOne(data []byte, d Defaults) Read {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		var l fault.List
		l.Add("$", fault.BadFormat, fmt.Sprintf("%.80q is no JSON object", data), "write one event as one JSON object, a line each")
		return Read{Err: l.Err()}
	}
	var (
		e   Event
		err error
	)
	if _, ok := fields["specversion"]; ok {
		e, err = fromCloud(data, d)
	} else {
		e, err = fromFields(data, fields, d)
	}
	if err == nil && d.SensorID != "" && e.SensorID != d.SensorID {
		var l fault.List
		l.Add("$.sensor_id", fault.NotAllowed, fmt.Sprintf("%q is not %q, who sends it", e.SensorID, d.SensorID), "a sensor speaks for itself alone: leave it out")
		err = l.Err()
	}
	return Read{Event: e, Err: err}
}

// fromFields completes and reads a sensor event.
func fromFields(data []byte, fields map[string]json.RawMessage, d Defaults) (Event, error) {
	given := len(fields)
	missing := func(name string) bool { _, ok := fields[name]; return !ok }
	fill := func(name, value string) {
		if missing(name) && value != "" {
			fields[name], _ = json.Marshal(value)
		}
	}
	fill("sensor_id", d.SensorID)
	fill("observed_at", string(agentruntime.At(d.Now)))
	if d.SensorID != "" {
		fill("source_ref", "sensor:"+d.SensorID)
	}
	if missing("event_id") && !missing("dedupe_key") {
		fields["event_id"] = fields["dedupe_key"]
	}
	if missing("payload") {
		fields["payload"] = json.RawMessage("{}")
	}
	if len(fields) > given {
		var err error
		if data, err = json.Marshal(fields); err != nil {
			return Event{}, err
		}
	}
	e, err := schema.Decode[agentruntime.SensorEvent](agentruntime.SchemaSensorEvent, data)
	return Event{SensorEvent: e}, err
}

// A cloudEvent is the JSON form of a CloudEvent of version 1.0, with deed's extension attributes. Others are let through.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Time        string          `json:"time"`
	Data        json.RawMessage `json:"data"`
	DataBase64  string          `json:"data_base64"`

	Sensor   string          `json:"deedsensor"`
	Key      string          `json:"deeddedupekey"`
	Deadline string          `json:"deedfreshnessdeadline"`
	Task     json.RawMessage `json:"deedtask"`
	Workflow json.RawMessage `json:"deedworkflow"`
}

func fromCloud(data []byte, d Defaults) (Event, error) {
	var c cloudEvent
	var l fault.List
	if err := json.Unmarshal(data, &c); err != nil {
		l.Add("$", fault.WrongType, err.Error(), "write a CloudEvent of version 1.0 in its JSON form")
		return Event{}, l.Err()
	}
	if c.SpecVersion != "1.0" {
		l.Add("$.specversion", fault.BadFormat, fmt.Sprintf("%.20q is not known", c.SpecVersion), "write 1.0")
	}
	l.Name("$.type", c.Type)
	e := Event{Type: c.Type, SensorEvent: agentruntime.SensorEvent{
		SensorID: c.Sensor, EventID: c.ID, SourceRef: c.Source, DedupeKey: c.Key, ObservedAt: agentruntime.Timestamp(c.Time),
		FreshnessDeadline: agentruntime.Timestamp(c.Deadline), Payload: payloadOf(c),
	}}
	if e.SensorID == "" {
		e.SensorID = d.SensorID
	}
	if e.SensorID == "" {
		l.Add("$.deedsensor", fault.MissingField, "says no sensor", "name the sensor with this extension attribute, or with --sensor")
		e.SensorID = "unknown" // so that the other faults are found
	}
	if e.DedupeKey == "" && c.ID != "" { // an event is known by its source and its id
		e.DedupeKey = short(c.Source + "#" + c.ID)
	}
	if e.ObservedAt == "" {
		e.ObservedAt = agentruntime.At(d.Now)
	}
	if err := proposal(c.Task, agentruntime.SchemaTaskIntent, &e.ProposedTask); err != nil {
		l.Within("$.deedtask", err)
	}
	if err := proposal(c.Workflow, "", &e.ProposedWorkflow); err != nil {
		l.Within("$.deedworkflow", err)
	}
	l.Within("$", e.Validate())
	return e, l.Err()
}

// payloadOf is the data of a CloudEvent as an object.
func payloadOf(c cloudEvent) json.RawMessage {
	wrap := func(name string, v any) json.RawMessage {
		text, err := json.Marshal(map[string]any{name: v})
		if err != nil {
			return json.RawMessage("{}")
		}
		return text
	}
	switch data := bytes.TrimSpace(c.Data); {
	case len(data) > 0 && data[0] == '{':
		return data
	case len(data) > 0 && string(data) != "null":
		return wrap("data", json.RawMessage(data))
	case c.DataBase64 != "":
		return wrap("data_base64", c.DataBase64)
	}
	return json.RawMessage("{}")
}

// proposal reads what an extension attribute proposes: an object, or a text that is one, as attributes are texts elsewhere.
func proposal[T any](raw json.RawMessage, id string, to **T) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	v, err := schema.Decode[T](id, raw)
	if err == nil {
		*to = &v
	}
	return err
}

// short is a name, or its digest where it is too long for one.
func short(s string) string {
	if len(s) <= 400 && !strings.ContainsAny(s, "\x00\r\n\t") {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}
