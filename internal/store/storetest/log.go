package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func events(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	when := b.clock.Now().Add(-time.Hour)
	b.ok(b.s.Append(b.ctx))
	b.ok(b.s.Append(b.ctx,
		store.Event{Type: "dispatch_idle"},
		store.Event{Type: "a", TaskID: id, AttemptID: "att", At: when, Detail: json.RawMessage(`{"n": 1e999}`)},
		store.Event{Type: "b", TaskID: id},
	))
	b.is(b.s.Append(b.ctx, store.Event{Type: "c"}, store.Event{}), store.ErrInvalid)
	b.is(b.s.Append(b.ctx, store.Event{Type: "c", Detail: json.RawMessage(`x`)}), store.ErrInvalid)
	get := func(f store.EventFilter) (types []string, list []store.Event) {
		t.Helper()
		list, err := b.s.Events(b.ctx, f)
		b.ok(err)
		for _, e := range list {
			types = append(types, e.Type)
		}
		return types, list
	}
	all, list := get(store.EventFilter{})
	b.same(all, []string{"task_enqueued", "dispatch_idle", "a", "b"})
	if list[1].TaskID != "" || string(list[1].Detail) != `{}` || !list[1].At.Equal(b.clock.Now()) {
		t.Fatalf("idle: %+v", list[1])
	}
	if !list[2].At.Equal(when) || string(list[2].Detail) != `{"n": 1e999}` || list[2].AttemptID != "att" {
		t.Fatalf("a: %+v", list[2])
	}
	for name, c := range map[string]struct {
		f    store.EventFilter
		want []string
	}{
		"task":         {store.EventFilter{TaskID: id}, []string{"task_enqueued", "a", "b"}},
		"attempt":      {store.EventFilter{AttemptID: "att"}, []string{"a"}},
		"both":         {store.EventFilter{AttemptID: "att", TaskID: id}, []string{"a"}},
		"neither fits": {store.EventFilter{AttemptID: "att", TaskID: "other"}, nil},
		"after":        {store.EventFilter{After: list[1].Seq}, []string{"a", "b"}},
		"task after":   {store.EventFilter{TaskID: id, After: list[2].Seq}, []string{"b"}},
		"limit":        {store.EventFilter{Limit: 2}, []string{"task_enqueued", "dispatch_idle"}},
		"newest":       {store.EventFilter{Limit: 2, Newest: true}, []string{"a", "b"}},
		"task newest":  {store.EventFilter{TaskID: id, Limit: 2, Newest: true}, []string{"a", "b"}},
	} {
		if got, _ := get(c.f); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func listCounts(t *testing.T, target Target) {
	b := setup(t, target)
	var all []string
	for i := range 4 {
		for _, st := range agentruntime.TaskStatuses {
			id := b.in(st)
			all = append(all, id)
			if i == 3 && st == agentruntime.TaskPending {
				break
			}
		}
	}
	b.add(task("typed", typed("rare")))
	n, err := b.s.Counts(b.ctx)
	b.ok(err)
	want := map[agentruntime.TaskStatus]int64{}
	for _, st := range agentruntime.TaskStatuses {
		want[st] = 3
	}
	want[agentruntime.TaskPending] = 5
	b.same(n, want)

	page := func(f store.TaskFilter) (ids []string) {
		t.Helper()
		list, err := b.s.Tasks(b.ctx, f)
		b.ok(err)
		for _, x := range list {
			ids = append(ids, x.ID())
		}
		return ids
	}
	reversed := func(ids []string) []string {
		out := make([]string, 0, len(ids))
		for i := len(ids) - 1; i >= 0; i-- {
			out = append(out, ids[i])
		}
		return out
	}
	b.same(page(store.TaskFilter{Type: "demo"}), reversed(all))
	// Pages join without a gap or an overlap.
	var joined []string
	for cursor := ""; ; {
		ids := page(store.TaskFilter{Type: "demo", Limit: 5, Before: cursor})
		if len(ids) == 0 {
			break
		}
		joined, cursor = append(joined, ids...), ids[len(ids)-1]
	}
	b.same(joined, reversed(all))
	two := []agentruntime.TaskStatus{agentruntime.TaskBlocked, agentruntime.TaskCompleted, agentruntime.TaskBlocked}
	got := page(store.TaskFilter{Status: two, Limit: 3})
	b.same(got, []string{all[19], all[16], all[12]})
	for _, id := range got {
		if st := b.status(id); st != two[0] && st != two[1] {
			t.Fatalf("listed a %s task", st)
		}
	}
	if ids := page(store.TaskFilter{Type: "rare", Status: two}); ids != nil {
		t.Fatalf("rare: %v", ids)
	}
	if ids := page(store.TaskFilter{Type: "rare"}); len(ids) != 1 {
		t.Fatalf("rare: %v", ids)
	}
	_, err = b.s.Tasks(b.ctx, store.TaskFilter{Before: store.NewID()})
	b.is(err, store.ErrNotFound)
}

func prefixes(t *testing.T, target Target) {
	b := setup(t, target)
	ids := b.add(task("a"), task("b"))
	for _, given := range []string{ids[0], strings.ToUpper(ids[0]), " " + ids[0] + "\n", ids[0][:35]} {
		if got := b.task(given); got.ID() != ids[0] {
			t.Fatalf("%q gave %s", given, got.ID())
		}
	}
	_, err := b.s.Task(b.ctx, ids[0][:8])
	b.is(err, store.ErrAmbiguous)
	for _, bad := range []string{"", ids[0][:5], "zzzzzzzz", "%", "ffffffffff", ids[0] + "0", "' OR 1=1 --", "\x00\x00\x00\x00\x00\x00\x00"} {
		_, err := b.s.Task(b.ctx, bad)
		b.is(err, store.ErrNotFound)
	}
	c := b.claim()
	a, err := b.s.Attempt(b.ctx, c.Ref.AttemptID[:20])
	b.ok(err)
	if a.Record.AttemptID != c.Ref.AttemptID {
		t.Fatalf("attempt %s", a.Record.AttemptID)
	}
	_, err = b.s.Attempt(b.ctx, store.NewID())
	b.is(err, store.ErrNotFound)
	if list, err := b.s.Attempts(b.ctx, store.NewID()); err != nil || list != nil {
		t.Fatalf("attempts of nothing: %v %v", list, err)
	}
}
