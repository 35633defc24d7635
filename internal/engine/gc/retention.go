package gc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// EventRetention is the event of a sweep by which bundles or records were given up.
const EventRetention = "retention_reclaimed"

// An item is something that is kept: a run with what it left behind, or the bundle of an attempt that had no run.
type item struct {
	run     *store.Run
	bundle  string // absolute, below the home's bundles; "": none
	attempt string
	ended   time.Time
	bytes   int64
	failed  bool
	keep    string // why it never goes; "": it may
	due     bool   // its own record says that it may go now
	bare    bool   // a record, and no bundle anywhere
}

// retention gives up what the rule says, oldest first.
func (s *sweep) retention(ctx context.Context) error {
	items, err := s.items(ctx)
	if err != nil || len(items) == 0 {
		return err
	}
	bundles, _, err := s.inside(s.Home.Bundles())
	if err != nil {
		return err
	}
	if bundles != nil {
		defer func() { _ = bundles.Close() }()
	}
	var gone []string
	var freed int64
	for _, p := range plan(s.Retention, items, s.Clock()) {
		f := Finding{Kind: KindBundle, Path: p.bundle, Owner: p.attempt, Bytes: p.bytes, Reason: p.reason, Action: ActionRemove}
		if p.run != nil {
			f.Kind, f.Owner = KindRun, p.run.ID()
		}
		file, why := s.callers(p.item)
		if s.do(f, func() error { return s.discardEvidence(ctx, bundles, p.item) }) {
			gone, freed = append(gone, f.Owner), freed+p.bytes
		}
		if file != "" && why != "" {
			s.leave(Finding{Kind: KindRun, Path: file, Owner: f.Owner, Reason: why})
		}
	}
	if len(gone) == 0 {
		return nil
	}
	detail, err := json.Marshal(map[string]any{"count": len(gone), "bytes": freed, "owners": gone[:min(len(gone), 100)]})
	if err != nil {
		return err
	}
	return s.Store.Append(ctx, store.Event{Type: EventRetention, At: s.Clock(), Detail: detail})
}

// sensorEvents forgets what sensors saw long ago, a bounded part in each sweep.
func (s *sweep) sensorEvents(ctx context.Context) error {
	if s.Retention.SensorEvents <= 0 || s.DryRun {
		return nil
	}
	before := s.Clock().Add(-s.Retention.SensorEvents)
	n, err := s.Store.ForgetSensorEvents(ctx, before, maxForgotten)
	if err != nil || n == 0 {
		return err
	}
	detail, err := json.Marshal(map[string]any{"count": n, "what": "sensor_events", "before": agentruntime.At(before)})
	if err != nil {
		return err
	}
	return s.Store.Append(ctx, store.Event{Type: EventRetention, At: s.Clock(), Detail: detail})
}

// maxForgotten bounds one sweep; ten minutes later the next one continues.
const maxForgotten = 10_000

const page = 500

// items lists what is kept. Without a limit only runs whose own record names an end are of interest.
func (s *sweep) items(ctx context.Context) ([]item, error) {
	var runs []store.Run
	if !s.Retention.Limited() {
		due, err := s.Store.EligibleRuns(ctx, s.Clock(), page)
		if err != nil {
			return nil, err
		}
		runs = due
	} else {
		var last store.Run
		for {
			part, err := s.Store.EndedRuns(ctx, last, page)
			if err != nil {
				return nil, err
			}
			runs = append(runs, part...)
			if len(part) < page {
				break
			}
			last = part[len(part)-1]
		}
	}
	var out []item
	have := map[string]bool{} // bundles that belong to a run
	for i := range runs {
		it, err := s.ofRun(ctx, &runs[i])
		if err != nil {
			return nil, err
		}
		have[it.bundle] = true
		out = append(out, it)
	}
	if !s.Retention.Limited() {
		return out, nil
	}
	out = append(out, s.expected(have)...)
	more, err := s.bundles(ctx, have)
	return append(out, more...), err
}

// expected lists the items that a sweep that is no dry run would have made by ending runs and settling attempts: they count with the rest.
// The size of a lost attempt's future bundle is unknown.
func (s *sweep) expected(have map[string]bool) []item {
	var out []item
	add := func(attempt string, lost bool) {
		it := item{attempt: attempt, ended: s.Clock(), keep: "it ends now"}
		if attempt != "" {
			it.bundle = s.Home.Bundle(attempt)
			it.bytes, _ = runrecord.Size(it.bundle)
		}
		_, err := os.Lstat(it.bundle)
		it.bare = !lost && (it.bundle == "" || err != nil)
		have[it.bundle] = true
		out = append(out, it)
	}
	for _, r := range s.ending {
		add(r.AttemptID, s.lost[r.AttemptID])
	}
	for id := range s.lost {
		if !slices.ContainsFunc(s.ending, func(r store.Run) bool { return r.AttemptID == id }) {
			add(id, true)
		}
	}
	return out
}

func (s *sweep) ofRun(ctx context.Context, r *store.Run) (item, error) {
	now := s.Clock()
	it := item{run: r, attempt: r.AttemptID, ended: r.EndedAt, bytes: r.ArtifactBytes, failed: r.Record.Status != evidence.RunSucceeded}
	callers := filepath.IsAbs(r.BundleDir)
	if dir := filepath.Join(s.Home.Root(), r.BundleDir); r.BundleDir != "" && !callers && filepath.Dir(dir) == s.Home.Bundles() {
		it.bundle = dir
	} else if (r.BundleDir == "" || callers) && ids().FindString(r.AttemptID) == r.AttemptID && r.AttemptID != "" {
		it.bundle = s.Home.Bundle(r.AttemptID) // also of a run whose bundle went to its caller: the home keeps a copy of its own, as large
	}
	if _, err := os.Lstat(it.bundle); it.bundle == "" || errors.Is(err, os.ErrNotExist) {
		it.bare, it.bytes = !callers, 0 // what is the caller's counts as one, and giving it up frees nothing
	}
	switch {
	case r.Retained:
		it.keep = "it is retained"
	case r.RetainUntil.After(now):
		it.keep = "it is retained until " + r.RetainUntil.Format(time.RFC3339)
	case r.EligibleAt.After(now):
		it.keep = "it may not go before " + r.EligibleAt.Format(time.RFC3339)
	case !r.EligibleAt.IsZero():
		it.due = true
	}
	if it.keep == "" && r.TaskID != "" {
		var err error
		if it.keep, err = s.taskKeeps(ctx, r.TaskID); err != nil {
			return it, err
		}
	}
	return it, nil
}

// taskKeeps says whether a task still needs what its attempts left.
func (s *sweep) taskKeeps(ctx context.Context, id string) (string, error) {
	t, err := s.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case !state.TaskTerminal(t.Record.Status):
		return "its task " + id + " has not ended", nil
	}
	return "", nil
}

// bundles lists the bundles that belong to no run.
func (s *sweep) bundles(ctx context.Context, have map[string]bool) ([]item, error) {
	f, list, err := s.inside(s.Home.Bundles())
	if f == nil {
		return nil, err
	}
	_ = f.Close()
	var out []item
	for _, e := range list {
		path := filepath.Join(s.Home.Bundles(), e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || have[path] {
			continue
		}
		fi, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		it := item{bundle: path, attempt: ids().FindString(e.Name()), ended: fi.ModTime(), failed: true}
		if it.attempt == "" {
			continue // not deed's
		}
		at, err := s.Store.Attempt(ctx, it.attempt)
		switch {
		case errors.Is(err, store.ErrNotFound):
			it.keep = "the store does not know its attempt"
		case err != nil:
			return nil, err
		case at.Live:
			it.keep = "its attempt is alive"
		default:
			it.failed = at.Class != string(failure.None)
			if at.Record.EndedAt != nil {
				if t, err := at.Record.EndedAt.Time(); err == nil {
					it.ended = t
				}
			}
			if it.keep, err = s.stillNeeded(ctx, at); err != nil {
				return nil, err
			}
		}
		if s.Retention.MaxBytes > 0 || it.keep == "" {
			if it.bytes, err = runrecord.Size(path); err != nil {
				continue // gone meanwhile
			}
		}
		out = append(out, it)
	}
	return out, nil
}

// stillNeeded says why the bundle of a settled attempt is kept whatever the rule says, or "".
func (s *sweep) stillNeeded(ctx context.Context, at store.Attempt) (string, error) {
	runs, err := s.Store.Runs(ctx, store.RunFilter{AttemptID: at.Record.AttemptID, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(runs) > 0 && runs[0].Live {
		return "its run " + runs[0].ID() + " has not ended", nil
	}
	return s.taskKeeps(ctx, at.Record.TaskID)
}

// A removal is an item that is given up, and why.
type removal struct {
	item
	reason string
}

// plan decides what goes. It looks at nothing but its arguments. Records without a bundle are counted by themselves: a caller whose requests are
// refused one after the other would push out the evidence of everybody's work. They have no bytes to give.
func plan(r config.Retention, items []item, now time.Time) []removal {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b item) int { return a.ended.Compare(b.ended) }) // oldest first
	count, bytes := map[bool]int{}, int64(0)
	for _, it := range items {
		count[it.bare]++
		bytes += it.bytes
	}
	var out []removal
	for _, it := range items {
		age := now.Sub(it.ended)
		reason := ""
		switch {
		case it.keep != "":
		case it.due:
			reason = "its own retention ended"
		case it.failed && age < r.KeepFailed:
		case r.MaxAge > 0 && age > r.MaxAge:
			reason = fmt.Sprintf("it is older than max_age_days (%d)", int(r.MaxAge/(24*time.Hour)))
		case r.MaxCount > 0 && count[it.bare] > r.MaxCount:
			reason = fmt.Sprintf("there are more than max_count (%d)", r.MaxCount)
		case r.MaxBytes > 0 && bytes > r.MaxBytes && !it.bare:
			reason = fmt.Sprintf("together they are larger than max_bytes (%d)", r.MaxBytes)
		}
		if reason == "" {
			continue
		}
		out = append(out, removal{it, reason})
		count[it.bare]--
		bytes -= it.bytes
	}
	return out
}

// callers returns the file of a run, if there is one, and why it stays. What a caller keeps outside of the home is the caller's. While the
// bundle is there, the record next to it belongs to it; once the caller has removed the bundle, deed's own file goes unless somebody changed it.
func (s *sweep) callers(it item) (file, why string) {
	if it.run == nil {
		return "", ""
	}
	file = runrecord.FilePath(*it.run)
	if file == "" {
		return "", ""
	}
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		return "", ""
	}
	if below(file, s.Home.Root()) {
		return file, ""
	}
	if dir := it.run.BundleDir; filepath.IsAbs(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			return file, "it is outside of the home and goes with the bundle " + dir + ", which is its caller's"
		}
	}
	if !runrecord.AsWritten(*it.run) {
		return file, "it is outside of the home, and is not as deed wrote it"
	}
	return file, ""
}

// discardEvidence gives one item up: first nothing points at the bundle any more, then it loses its name in one step, then it is
// removed. A crash leaves an unfinished bundle, which the next sweep removes, or a run that goes with the next one.
func (s *sweep) discardEvidence(ctx context.Context, bundles *os.File, it item) error {
	if it.bundle != "" && bundles != nil {
		if it.attempt != "" {
			if err := s.Store.DropBundle(ctx, it.attempt); err != nil {
				return err
			}
		}
		name := filepath.Base(it.bundle)
		hidden := "." + name + ".gone.tmp"
		err := os.Rename(it.bundle, filepath.Join(s.Home.Bundles(), hidden))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove bundle: %w", err)
		}
		if err := workspace.RemoveAt(bundles, hidden); err != nil {
			return err
		}
	}
	if it.run == nil {
		return nil
	}
	if file, why := s.callers(it); file != "" && why == "" {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the file of run %s: %w", it.run.ID(), err)
		}
	}
	err := s.Store.DeleteRun(ctx, it.run.ID())
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
