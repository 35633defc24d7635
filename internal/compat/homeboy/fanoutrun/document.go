package fanoutrun

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
	"github.com/deedrun/deed/internal/store"
)

// How often a run file is written while a fanout runs: each time it holds every record so far, so that writing it with
// each record would cost a plan of n tasks n² records. It is written at the start, at the end, and in between no more
// often than this, and for no more than a twentieth of the time.
const (
	writeEvery = time.Second
	writeShare = 20
)

// writeFile writes the run file of a fanout, if it has one and it is time. A reader sees a whole document or the one
// before it.
func (s *Service) writeFile(ctx context.Context, f store.Fanout, now bool) error {
	set, err := s.load(ctx, f.ID)
	if err != nil || set.Output == "" {
		return err
	}
	s.mu.Lock()
	next := s.written[f.ID]
	s.mu.Unlock()
	if !now && f.Live() && s.Clock().Before(next) {
		return nil
	}
	start := clock.Start()
	err = atomicfile.Write(set.Output, 0o600, func(w io.Writer) error { return s.Write(ctx, f.ID, w) })
	pause := max(writeEvery, writeShare*clock.Since(start))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		s.written = map[string]time.Time{}
	}
	s.written[f.ID] = s.Clock().Add(pause)
	if err != nil {
		err = fmt.Errorf("run file: %w", err)
	}
	return err
}

// page is how many items are in memory at a time.
const page = 200

// Write writes the fanout as homeboy/fanout-reconcile-run/v1: what it has come to, records in the order of the plan. It
// holds a page of them in memory, however many there are.
func (s *Service) Write(ctx context.Context, id string, to io.Writer) error {
	f, err := s.Store.Fanout(ctx, id)
	if err != nil {
		return err
	}
	set, err := s.load(ctx, f.ID)
	if err != nil {
		return err
	}
	var running []string
	if f.Live() {
		items, err := s.Store.ReleasedItems(ctx, f.ID)
		if err != nil {
			return err
		}
		for _, it := range items {
			running = append(running, it.GroupKey)
		}
	}
	w := bufio.NewWriterSize(to, 64<<10)
	d := &document{Service: s, f: f, set: set, w: w}
	if err := d.write(ctx, running); err != nil {
		return err
	}
	return w.Flush()
}

// a document is a run on its way to a writer.
type document struct {
	*Service
	f   store.Fanout
	set *settings
	w   *bufio.Writer

	members  int
	recorded int64
	failed   []string
	outcomes int64
}

func (d *document) write(ctx context.Context, running []string) error {
	// The head is that of any run: only the records come one by one.
	head := fanout.Run(homeboy.FanoutPlan{Schema: d.set.PlanSchema, Orchestrator: d.set.Orchestrator, Summary: d.set.Summary}, nil, d.set.Options, running, false)
	d.member("schema", head.Schema)
	d.member("plan_schema", head.PlanSchema)
	d.member("status", d.f.Status)
	if len(head.Orchestrator) > 0 {
		d.member("orchestrator", head.Orchestrator)
	}
	if len(head.Summary) > 0 {
		d.member("summary", head.Summary)
	}
	if d.f.Live() {
		first := homeboy.Value("null")
		if len(running) > 0 {
			first = mustJSON(running[0])
			d.member("current_groups", running)
		}
		d.member("current_group", first)
	}
	if err := d.list(ctx, "records", func(rec homeboy.FanoutRecord) homeboy.Value {
		d.recorded++
		if rec.Status != homeboy.RecordCompleted {
			d.failed = append(d.failed, rec.Name())
		}
		return mustJSON(rec)
	}); err != nil {
		return err
	}
	if err := d.list(ctx, "outcomes", func(rec homeboy.FanoutRecord) homeboy.Value {
		if rec.Outcome.Null() {
			return nil
		}
		d.outcomes++
		return rec.Outcome
	}); err != nil {
		return err
	}
	d.member("reconciliation", d.reconciliation())
	if d.set.Matrix && !d.f.Live() {
		m, err := d.Matrix(ctx, d.f.ID)
		if err != nil {
			return err
		}
		d.member("matrix", m)
	}
	for _, name := range slices.Sorted(maps.Keys(head.Extra)) {
		d.member(name, head.Extra[name])
	}
	d.member("metadata", map[string]any{
		"fanout_id": d.f.ID, "plan_hash": d.f.PlanHash, "retries": d.f.Retries, "cancelled": d.f.CancelRequested,
		"pending_count": d.f.Pending, "running_count": d.f.Released,
	})
	d.text("\n}\n")
	return nil
}

func (d *document) reconciliation() homeboy.FanoutReconciliation {
	r := homeboy.FanoutReconciliation{
		Schema: d.set.Options.ReconciliationSchema, GroupCount: d.set.Groups, TaskCount: d.f.Tasks, RecordCount: d.recorded,
		SuccessCount: d.recorded - int64(len(d.failed)), FailureCount: int64(len(d.failed)), OutcomeCount: d.outcomes, FailedTaskIDs: d.failed,
	}
	if r.Schema == "" {
		r.Schema = homeboy.SchemaFanoutReconciliation
	}
	if r.FailedTaskIDs == nil {
		r.FailedTaskIDs = []string{}
	}
	return r
}

// RecordOf reads the record of an item that is done. One that cannot be read is a failure that says so: it does not affect
// the others.
func RecordOf(it store.FanoutItem) homeboy.FanoutRecord {
	var rec homeboy.FanoutRecord
	if err := json.Unmarshal(it.Record, &rec); err != nil {
		return homeboy.FanoutRecord{ID: it.Name, GroupKey: it.GroupKey, Status: homeboy.RecordFailed, ErrorMessage: "the record cannot be read: " + err.Error()}
	}
	return rec
}

// text writes; the first error stays in the writer and is returned by Flush.
func (d *document) text(s string) { _, _ = d.w.WriteString(s) }

func (d *document) member(name string, v any) {
	d.name(name)
	d.text(string(mustJSON(v)))
}

// name begins a member.
func (d *document) name(name string) {
	if d.members++; d.members == 1 {
		d.text("{\n  ")
	} else {
		d.text(",\n  ")
	}
	d.text(string(mustJSON(name)) + ": ")
}

// list writes a member with what is made of each record; nil leaves one out.
func (d *document) list(ctx context.Context, name string, of func(homeboy.FanoutRecord) homeboy.Value) error {
	d.name(name)
	d.text("[")
	first := true
	for after := int64(-1); ; {
		items, err := d.Store.FanoutItems(ctx, d.f.ID, after, page)
		if err != nil {
			return err
		}
		for _, it := range items {
			after = it.Ordinal
			if len(it.Record) == 0 {
				continue
			}
			v := of(RecordOf(it))
			if v == nil {
				continue
			}
			if !first {
				d.text(",")
			}
			first = false
			d.text("\n    " + string(v))
		}
		if len(items) < page {
			break
		}
	}
	if !first {
		d.text("\n  ")
	}
	d.text("]")
	return nil
}
