package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// A paged list is walked by its cursor while new entries come in: what was there at the beginning comes once, and nothing twice.
func listsJoin(t *testing.T, target Target) {
	b := setup(t, target)
	n := 0
	name := func() string { n++; return fmt.Sprint("n", n) }
	newest := func(list []string) string { return list[len(list)-1] }
	oldest := func(list []string) string { return list[0] }
	ids := func(list any) (out []string) {
		switch list := list.(type) {
		case []store.Task:
			for _, x := range list {
				out = append(out, x.ID())
			}
		case []store.Workflow:
			for _, x := range list {
				out = append(out, x.ID())
			}
		case []store.Action:
			for _, x := range list {
				out = append(out, x.ID)
			}
		case []store.OutboxItem:
			for _, x := range list {
				out = append(out, x.ID)
			}
		}
		return out
	}
	tasks := func(change func(*store.TaskFilter)) func(string) []string {
		return func(cursor string) []string {
			f := store.TaskFilter{Limit: 3, Before: cursor}
			change(&f)
			list, err := b.s.Tasks(b.ctx, f)
			b.ok(err)
			return ids(list)
		}
	}
	flows := func(change func(*store.WorkflowFilter)) func(string) []string {
		return func(cursor string) []string {
			f := store.WorkflowFilter{Limit: 3, Before: cursor}
			change(&f)
			list, err := b.s.Workflows(b.ctx, f)
			b.ok(err)
			return ids(list)
		}
	}
	actions := func(change func(*store.ActionFilter)) func(string) []string {
		return func(cursor string) []string {
			f := store.ActionFilter{Limit: 3, After: cursor}
			change(&f)
			list, err := b.s.Actions(b.ctx, f)
			b.ok(err)
			return ids(list)
		}
	}
	items := func(change func(*store.OutboxFilter)) func(string) []string {
		return func(cursor string) []string {
			f := store.OutboxFilter{Limit: 3, Before: cursor}
			change(&f)
			list, err := b.s.Outbox(b.ctx, f)
			b.ok(err)
			return ids(list)
		}
	}
	addTask := func() { b.add(task(name(), typed("paged"))) }
	addFlow := func() { b.start(flow(name())) }
	addAction := func() { b.start(flow(name(), waits)) }
	addItem := func() {
		b.add(task(name(), priority(9)))
		c := b.begun()
		in := done()
		in.Outbox = []store.OutboxItem{{Kind: store.OutboxFollowUpTask, Body: []byte(`{}`)}}
		b.ok(b.s.Settle(b.ctx, c.Ref, in))
	}
	for _, c := range []struct {
		name string
		add  func()
		page func(cursor string) []string
		next func([]string) string
	}{
		{"tasks", addTask, tasks(func(*store.TaskFilter) {}), newest},
		{"tasks of a type", addTask, tasks(func(f *store.TaskFilter) { f.Type = "paged" }), newest},
		{"tasks of states", addTask, tasks(func(f *store.TaskFilter) {
			f.Status = []agentruntime.TaskStatus{agentruntime.TaskPending, agentruntime.TaskRunning}
		}), newest},
		{"workflows", addFlow, flows(func(*store.WorkflowFilter) {}), newest},
		{"all workflows", addFlow, flows(func(f *store.WorkflowFilter) { f.All = true }), newest},
		{"workflows of a type", addFlow, flows(func(f *store.WorkflowFilter) { f.Type = flow("x").Type }), newest},
		{"actions", addAction, actions(func(*store.ActionFilter) {}), newest},
		{"open actions", addAction, actions(func(f *store.ActionFilter) { f.State = store.ActionOpen }), newest},
		{"outbox", addItem, items(func(*store.OutboxFilter) {}), oldest},
		{"pending outbox", addItem, items(func(f *store.OutboxFilter) { f.State = store.OutboxPending }), oldest},
	} {
		for range 7 {
			c.add()
		}
		whole := func() map[string]bool {
			seen := map[string]bool{}
			for cursor, pages := "", 0; pages < 1000; pages++ {
				list := c.page(cursor)
				if len(list) == 0 {
					break
				}
				if len(list) > 3 {
					t.Fatalf("%s: a page of %d", c.name, len(list))
				}
				for _, id := range list {
					seen[id] = true
				}
				cursor = c.next(list)
			}
			return seen
		}
		before := whole()
		if len(before) < 7 {
			t.Errorf("%s: %d of at least 7 were listed", c.name, len(before))
		}
		var walked []string
		for cursor, left := "", 5; ; left-- {
			list := c.page(cursor)
			if len(list) == 0 {
				break
			}
			walked, cursor = append(walked, list...), c.next(list)
			if left > 0 {
				c.add()
			}
		}
		slices.Sort(walked)
		if len(slices.Compact(slices.Clone(walked))) != len(walked) {
			t.Errorf("%s: something came twice: %v", c.name, walked)
		}
		for id := range before {
			if _, ok := slices.BinarySearch(walked, id); !ok {
				t.Errorf("%s: %s was passed over", c.name, id)
			}
		}
	}
	unknown := store.NewID()
	for name, err := range map[string]error{
		"tasks":     second(b.s.Tasks(b.ctx, store.TaskFilter{Before: unknown})),
		"workflows": second(b.s.Workflows(b.ctx, store.WorkflowFilter{Before: unknown})),
		"actions":   second(b.s.Actions(b.ctx, store.ActionFilter{After: unknown})),
		"outbox":    second(b.s.Outbox(b.ctx, store.OutboxFilter{Before: unknown})),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s behind what is not there: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
