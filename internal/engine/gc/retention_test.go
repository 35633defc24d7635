package gc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	// Five things, the oldest first: a to e, ten bytes each, one a day.
	all := func(change func(map[string]*item)) []item {
		m := map[string]*item{}
		for i, id := range []string{"a", "b", "c", "d", "e"} {
			m[id] = &item{attempt: id, bytes: 10, ended: now.Add(-time.Duration(5-i) * day)}
		}
		if change != nil {
			change(m)
		}
		return []item{*m["c"], *m["a"], *m["e"], *m["b"], *m["d"]}
	}
	for name, c := range map[string]struct {
		rule   config.Retention
		change func(map[string]*item)
		want   string
	}{
		"off":                        {config.Retention{}, nil, ""},
		"age":                        {config.Retention{MaxAge: 3*day + time.Hour}, nil, "a b"},
		"count":                      {config.Retention{MaxCount: 2}, nil, "a b c"},
		"bytes":                      {config.Retention{MaxBytes: 35}, nil, "a b"},
		"bytes of one that is large": {config.Retention{MaxBytes: 35}, func(m map[string]*item) { m["e"].bytes = 1000 }, "a b c d e"},
		"all together":               {config.Retention{MaxAge: 4*day + time.Hour, MaxCount: 3, MaxBytes: 20}, nil, "a b c"},
		"retained counts and stays":  {config.Retention{MaxCount: 2}, func(m map[string]*item) { m["a"].keep = "retained" }, "b c d"},
		"records push no bundles":    {config.Retention{MaxCount: 2}, func(m map[string]*item) { m["c"].bare, m["d"].bare, m["e"].bare = true, true, true }, "c"},
		"records have no bytes":      {config.Retention{MaxBytes: 25}, func(m map[string]*item) { m["a"].bare, m["a"].bytes = true, 0 }, "b c"},
		"nothing may go":             {config.Retention{MaxCount: 1}, func(m map[string]*item) { each(m, func(i *item) { i.keep = "x" }) }, ""},
		"its own end, no rule":       {config.Retention{}, func(m map[string]*item) { m["d"].due = true }, "d"},
		"its own end, retained":      {config.Retention{}, func(m map[string]*item) { m["d"].due, m["d"].keep = true, "retained" }, ""},
		"failed ones are protected":  {config.Retention{MaxCount: 1, KeepFailed: 4*day + time.Hour}, func(m map[string]*item) { each(m, func(i *item) { i.failed = true }) }, "a"},
		"failed ones, also from age": {config.Retention{MaxAge: day, KeepFailed: 3*day + time.Hour}, func(m map[string]*item) { m["c"].failed, m["a"].failed = true, true }, "a b d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range plan(c.rule, all(c.change), now) {
				got = append(got, p.attempt)
				if p.reason == "" {
					t.Errorf("%s goes without a reason", p.attempt)
				}
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Errorf("what goes, in order (-want +got):\n%s", d)
			}
		})
	}
}

func each(m map[string]*item, fn func(*item)) {
	for _, i := range m {
		fn(i)
	}
}

// Bundles and records really go, oldest first; what a live task, a live run or a person needs stays.
func TestRetentionIsEnforced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "me", Home: b.Home}
	files := filepath.Join(b.Home.Root(), "runs")
	run := func(id string, ref store.Ref, k *evidence.RunRetention) {
		t.Helper()
		r, err := reg.Create(t.Context(), runrecord.New{RunID: id, TaskID: ref.TaskID, AttemptID: ref.AttemptID, Dir: files, Retention: k})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunFailed, Bundle: b.Home.Bundle(ref.AttemptID)}); err != nil {
			t.Fatal(err)
		}
	}
	step := func() { b.now = b.now.Add(time.Hour) }
	bare := b.settled(t, 100, true) // no run
	step()
	withRun := b.settled(t, 100, true)
	run("plain", withRun, nil)
	step()
	kept := b.settled(t, 100, true)
	run("kept", kept, &evidence.RunRetention{Retained: true, Reason: "audit"})
	step()
	outside := filepath.Join(t.TempDir(), "artifacts")
	write(t, filepath.Join(outside, "f"), "x")
	r, err := reg.Create(t.Context(), runrecord.New{RunID: "outside", Dir: filepath.Join(outside, "runs")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunFailed, Bundle: outside}); err != nil {
		t.Fatal(err)
	}
	step()
	running := b.claim(t, "me")
	write(t, filepath.Join(b.Home.Bundle(running.AttemptID), "f"), "x")
	write(t, filepath.Join(b.Home.Bundles(), "not-deeds", "f"), "x")
	step()
	newest := b.settled(t, 100, true)

	b.Retention = config.Retention{MaxCount: 3}
	dry := b.sweep(t, Options{Deep: true, DryRun: true})
	if len(dry.Findings) != 4 || dry.Bytes != 0 {
		t.Errorf("a dry run plans %v", brief(dry))
	}
	rep := b.sweep(t, Options{Deep: true})
	if dry.Planned != rep.Bytes || rep.Bytes == 0 || rep.Planned != 0 {
		t.Errorf("a dry run would reclaim %d bytes, and it were %d", dry.Planned, rep.Bytes)
	}
	var gone []string
	callers := filepath.Join(outside, "runs", "outside.json")
	for _, f := range rep.Findings {
		switch {
		case f.Path == callers && f.Result == ResultLeft && strings.Contains(f.Reason, "goes with the bundle "+outside):
			callers = ""
			continue
		case f.Result != ResultDone:
			t.Errorf("finding %+v", f)
		}
		gone = append(gone, f.Owner)
	}
	if callers != "" {
		t.Errorf("nobody is told of %s", callers)
	}
	if rep.Bytes >= 300 {
		t.Errorf("%d bytes reclaimed: what stays is counted", rep.Bytes)
	}
	if d := cmp.Diff([]string{bare.AttemptID, "plain", "outside"}, gone); d != "" {
		t.Errorf("what went, in order (-want +got):\n%s", d)
	}
	for path, want := range map[string]bool{
		b.Home.Bundle(bare.AttemptID): false, b.Home.Bundle(withRun.AttemptID): false, b.Home.Bundle(kept.AttemptID): true,
		b.Home.Bundle(running.AttemptID): true, b.Home.Bundle(newest.AttemptID): true, filepath.Join(b.Home.Bundles(), "not-deeds"): true,
		filepath.Join(files, "plain.json"): false, filepath.Join(files, "kept.json"): true,
		filepath.Join(outside, "f"): true, filepath.Join(outside, "runs", "outside.json"): true, // the caller's
	} {
		if there(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
	}
	for id, want := range map[string]string{bare.AttemptID: "", kept.AttemptID: "bundles/" + kept.AttemptID} {
		if at, err := b.Store.Attempt(t.Context(), id); err != nil || at.BundleDir != want {
			t.Errorf("attempt %s points at %q, %v", id, at.BundleDir, err)
		}
	}
	left, err := b.Store.Runs(t.Context(), store.RunFilter{})
	if err != nil || len(left) != 1 || left[0].ID() != "kept" {
		t.Errorf("%d runs are left, %v", len(left), err)
	}
	ev, err := b.Store.Events(t.Context(), store.EventFilter{Newest: true, Limit: 1})
	if err != nil || ev[0].Type != EventRetention {
		t.Errorf("events %+v, %v", ev, err)
	}
	if again := b.sweep(t, Options{Deep: true}); len(again.Findings) != 0 {
		t.Errorf("a second sweep finds %v", brief(again))
	}
}

// Requests that were refused left a record and no bundle: they push no bundle out, and are bounded by themselves.
func TestRefusedRunsPushNoBundleOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "me", Home: b.Home}
	work := b.settled(t, 100, true)
	for _, id := range []string{"work", "refused1", "refused2", "refused3"} {
		n, o := runrecord.New{RunID: id}, runrecord.Outcome{Status: evidence.RunFailed}
		if id == "work" {
			n.TaskID, n.AttemptID, o = work.TaskID, work.AttemptID, runrecord.Outcome{Status: evidence.RunFailed, Bundle: b.Home.Bundle(work.AttemptID)}
		}
		b.now = b.now.Add(time.Hour)
		r, err := reg.Create(t.Context(), n)
		if err == nil {
			err = r.Finish(t.Context(), o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.Retention = config.Retention{MaxCount: 2}
	var gone []string
	for _, f := range b.sweep(t, Options{Deep: true}).Findings {
		gone = append(gone, f.Owner)
	}
	if d := cmp.Diff([]string{"refused1"}, gone); d != "" {
		t.Errorf("what went (-want +got):\n%s", d)
	}
	if !there(b.Home.Bundle(work.AttemptID)) {
		t.Error("the bundle is gone")
	}
}

// A run whose bundle went to its caller is one thing with the copy in the home: it counts once, with the bytes of the copy, and the copy goes
// with it. The caller's bundle stays.
func TestACopyInTheHomeBelongsToItsRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "me", Home: b.Home}
	dir := t.TempDir()
	var refs []store.Ref
	for i := range 3 {
		ref := b.settled(t, 100, true)
		refs = append(refs, ref)
		b.now = b.now.Add(time.Hour)
		id := fmt.Sprintf("run%d", i)
		n, bundle := runrecord.New{RunID: id, TaskID: ref.TaskID, AttemptID: ref.AttemptID}, b.Home.Bundle(ref.AttemptID)
		if i != 1 {
			n.Dir, n.Bundle, bundle = dir, filepath.Join(dir, id), filepath.Join(dir, id)
			write(t, filepath.Join(bundle, "files", "x"), strings.Repeat("x", 100))
		}
		r, err := reg.Create(t.Context(), n)
		if err == nil {
			err = r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunFailed, Bundle: bundle})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := func(rule config.Retention) (out []string) {
		t.Helper()
		b.Retention = rule
		rep := b.sweep(t, Options{Deep: true})
		for _, f := range rep.Findings {
			if f.Result == ResultDone {
				out = append(out, fmt.Sprint(f.Kind, " ", f.Owner, " ", f.Bytes))
			}
		}
		return out
	}
	if got := gone(config.Retention{MaxCount: 3, MaxBytes: 300}); len(got) != 0 {
		t.Errorf("within the rule %v went", got)
	}
	if d := cmp.Diff([]string{"run run0 100"}, gone(config.Retention{MaxCount: 2})); d != "" {
		t.Errorf("by count (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"run run1 100"}, gone(config.Retention{MaxBytes: 150})); d != "" {
		t.Errorf("by bytes (-want +got):\n%s", d)
	}
	for path, want := range map[string]bool{
		b.Home.Bundle(refs[0].AttemptID): false, b.Home.Bundle(refs[1].AttemptID): false, b.Home.Bundle(refs[2].AttemptID): true,
		filepath.Join(dir, "run0", "files", "x"): true, filepath.Join(dir, "run2", "files", "x"): true,
	} {
		if there(path) != want {
			t.Errorf("%s is there: %v, want %v", path, !want, want)
		}
	}
}

// What a sweep ends and settles counts at once, and a dry run counts it along: both give up the same.
func TestADryRunCountsWhatEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead(t, "gone")
	var old []store.Ref
	for range 3 {
		old = append(old, b.settled(t, 100, true))
		b.now = b.now.Add(time.Hour)
	}
	withRun := b.claim(t, "gone")
	b.claim(t, "gone")
	for id, attempt := range map[string]string{"lost": withRun.AttemptID, "bare": ""} {
		if _, err := b.Store.InsertRun(t.Context(), store.NewRun{RunID: id, Status: evidence.RunBooting, RunnerID: "gone", AttemptID: attempt}); err != nil {
			t.Fatal(err)
		}
	}
	b.Retention = config.Retention{MaxCount: 3}
	for _, dry := range []bool{true, false} {
		var gone []string
		for _, f := range b.sweep(t, Options{Deep: true, DryRun: dry}).Findings {
			if f.Action == ActionRemove {
				gone = append(gone, f.Owner)
			}
		}
		if d := cmp.Diff([]string{old[0].AttemptID, old[1].AttemptID}, gone); d != "" {
			t.Errorf("dry %v: what goes (-want +got):\n%s", dry, d)
		}
	}
}

// Without any rule a run is still removed when its own record asks for it, and not before.
func TestARunsOwnRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "me", Home: b.Home}
	at := b.now.Add(time.Hour).Format(time.RFC3339)
	for id, k := range map[string]*evidence.RunRetention{
		"goes": {CleanupEligibleAt: at}, "stays": {CleanupEligibleAt: at, RetainUntil: b.now.Add(2 * time.Hour).Format(time.RFC3339)}, "silent": nil,
	} {
		r, err := reg.Create(t.Context(), runrecord.New{RunID: id, Retention: k})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunFailed}); err != nil {
			t.Fatal(err)
		}
	}
	if rep := b.sweep(t, Options{Deep: true}); len(rep.Findings) != 0 {
		t.Errorf("too early: %v", brief(rep))
	}
	b.now = b.now.Add(90 * time.Minute)
	rep := b.sweep(t, Options{Deep: true})
	if len(rep.Findings) != 1 || rep.Findings[0].Owner != "goes" {
		t.Errorf("in time: %v", brief(rep))
	}
}

// The record that deed wrote next to a caller's bundle goes when the bundle is gone, unless somebody changed it; what stays is
// named.
func TestRetentionOfARecordOutside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reg := &runrecord.Recorder{Store: b.Store, Clock: b.Clock, RunnerID: "me", Home: b.Home}
	dir := t.TempDir()
	for _, id := range []string{"same", "changed", "linked", "removed"} {
		r, err := reg.Create(t.Context(), runrecord.New{RunID: id, Dir: dir})
		if err == nil {
			err = r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunFailed, Bundle: filepath.Join(dir, "bundle-"+id)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(id string) string { return filepath.Join(dir, id+".json") }
	text, err := os.ReadFile(at("changed"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("changed"), string(text)+"\n")
	if err := errors.Join(os.Rename(at("linked"), at("own")), os.Symlink("own.json", at("linked")), os.Remove(at("removed"))); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(48 * time.Hour)
	b.Retention = config.Retention{MaxAge: 24 * time.Hour}
	rep := b.sweep(t, Options{Deep: true})
	want := []string{"done remove run same", "done remove run changed", "done remove run linked", "done remove run removed", "left leave run changed.json", "left leave run linked.json"}
	var got []string
	for _, f := range rep.Findings {
		name := f.Owner
		if f.Path != "" {
			name = filepath.Base(f.Path)
		}
		got = append(got, f.Result+" "+f.Action+" "+f.Kind+" "+name)
	}
	if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	for id, want := range map[string]bool{"same": false, "changed": true, "linked": true, "own": true} {
		if there(at(id)) != want {
			t.Errorf("%s is there: %v", id, !want)
		}
	}
}
