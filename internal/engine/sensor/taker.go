package sensor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/store"
)

// A taker is one run of one sensor: it looks, and hands on what it sees.
type taker struct {
	*Runner
	name string
	s    settings.Sensor
	p    *place
	row  store.Sensor // as the run found it
	rep  Report
	bad  bool // the run has failed, whatever it brought
}

// look looks at what the sensor is for. When it returns nil, what is new was taken.
func (t *taker) look(ctx context.Context) error {
	switch t.s.Kind {
	case settings.SensorCommand:
		return t.command(ctx)
	case settings.SensorGit:
		return t.git(ctx)
	case settings.SensorDirectory:
		return t.directory(ctx)
	case settings.SensorMailbox:
		return t.mailbox(ctx)
	case settings.SensorHTTP:
		return t.http(ctx)
	}
	return fmt.Errorf("a sensor of kind %q cannot be run", t.s.Kind)
}

func (t *taker) defaults() Defaults { return Defaults{SensorID: t.name, Now: t.Clock()} }

// cursor reads what the runs before have seen; to is left as it is when there were none.
func (t *taker) cursor(to any) (first bool, err error) {
	if len(t.row.Cursor) == 0 {
		return true, nil
	}
	if err := json.Unmarshal(t.row.Cursor, to); err != nil {
		return false, fmt.Errorf("read what it has seen: %w", err)
	}
	return false, nil
}

// took is what became of the documents of a run, in their order.
type took struct {
	results []Result
	errs    []error // of the same length: why one was refused
}

// take takes what a run brought together with what the sensor has seen now; cursor is nil when that did not change. A sensor
// that has nothing new to say writes nothing.
func (t *taker) take(ctx context.Context, reads []Read, cursor any) (took, error) {
	out := took{results: make([]Result, len(reads)), errs: make([]error, len(reads))}
	run := store.SensorRun{SensorID: t.name, Version: t.row.Version, OK: !t.bad}
	accepted := t.rep.Accepted
	var (
		rows []store.Intake
		of   []int
	)
	if len(reads) > 0 {
		crashpoint.Hit(crashpoint.SensorLooked)
	}
	seen := map[string]struct{}{}
	flush := func() error {
		err := t.store(ctx, run, rows, of, reads, &out)
		run.Version = t.row.Version
		run.Malformed, run.Deduped, run.LastError, rows, of = 0, 0, "", nil, nil
		return err
	}
	for i, read := range reads {
		if t.rep.Accepted-accepted+len(rows) >= maxEvents(t.s) && len(rows) > 0 {
			if err := flush(); err != nil {
				return out, err
			}
		}
		if t.rep.Accepted-accepted >= maxEvents(t.s) {
			t.rep.More, cursor = true, nil // the rest comes with the next run
			break
		}
		mark := read.Event.DedupeKey + "\n" + read.Event.EventID + "\n" + read.Event.SourceRef
		if read.Err == nil && t.s.DedupeWindowSeconds == 0 {
			if _, again := t.p.seen[mark]; again {
				seen[mark] = struct{}{}
				t.p.repeats++
				t.rep.Deduped++
				out.results[i] = Result{Status: Deduped, SensorID: t.name, EventID: read.Event.EventID}
				continue
			}
		}
		err := read.Err
		var row store.Intake
		if err == nil {
			if row, err = t.Intake.prepare(ctx, read.Event); ours(err) {
				return out, err
			}
		}
		if err != nil {
			out.errs[i] = err
			run.Malformed++
			run.LastError = truncate.Head(err.Error(), 500)
			t.rep.Malformed++
			continue
		}
		seen[mark] = struct{}{}
		rows, of = append(rows, row), append(of, i)
		if len(rows) >= chunk {
			if err := flush(); err != nil {
				return out, err
			}
		}
	}
	if cursor != nil {
		var err error
		if run.Cursor, err = json.Marshal(cursor); err != nil {
			return out, err
		}
	}
	if idle := len(rows) == 0 && run.Malformed == 0 && run.Cursor == nil && t.row.Failures == 0 && t.row.ActionID == ""; !idle || t.Clock().Sub(t.row.OKAt) >= healthEvery {
		run.Deduped, t.p.repeats = t.p.repeats, 0
		if err := flush(); err != nil {
			return out, err
		}
	}
	t.p.seen = seen
	return out, nil
}

// store stores a part of a run. Where the whole does not fit into one transaction, because a workflow moved or one of the events
// cannot be stored, each event is taken alone; then the sensor has seen them.
func (t *taker) store(ctx context.Context, run store.SensorRun, rows []store.Intake, of []int, reads []Read, out *took) error {
	run.Intakes = rows
	crashpoint.Hit(crashpoint.SensorPrepared)
	res, err := t.Store.TakeRun(ctx, run)
	if err == nil {
		crashpoint.Hit(crashpoint.SensorTaken)
		t.stored(run)
		for n, i := range of {
			t.record(i, result(reads[i].Event, rows[n], res[n]), out)
		}
		return nil
	}
	if ours(err) || len(rows) == 0 {
		return err
	}
	for _, i := range of {
		r, err := t.Intake.TakeEvent(ctx, reads[i].Event)
		switch {
		case Refused(err):
			out.errs[i] = err
			t.rep.Malformed++
		case err != nil:
			return err
		default:
			t.record(i, r, out)
		}
	}
	run.Intakes = nil
	if _, err := t.Store.TakeRun(ctx, run); err != nil {
		return err
	}
	t.stored(run)
	return nil
}

// stored follows what the store knows of the sensor now.
func (t *taker) stored(run store.SensorRun) {
	if run.Cursor != nil {
		t.row.Version++
		t.row.Cursor = run.Cursor
	}
	if run.OK {
		t.row.Failures, t.row.ActionID, t.row.OKAt = 0, "", t.Clock()
	}
}

func (t *taker) record(i int, r Result, out *took) {
	out.results[i] = r
	switch r.Status {
	case Accepted:
		t.rep.Accepted++
	case Deduped:
		t.rep.Deduped++
	case Late:
		t.rep.Late++
	}
}

// event makes an event of what a built-in sensor saw.
func (t *taker) event(key, source string, payload any) Read {
	body, err := json.Marshal(payload)
	if err != nil {
		return Read{Err: err}
	}
	head, err := json.Marshal(map[string]any{"dedupe_key": short(key), "source_ref": source, "payload": json.RawMessage(body)})
	if err != nil {
		return Read{Err: err}
	}
	return ReadOne(head, t.defaults())
}

var (
	errTooMuch = errors.New("it brings more than one run may (8 MiB)")
	errTooMany = fmt.Errorf("it brings more than %d events at once, of which the rest was not looked at (bring them in parts)", maxDocuments)
)
