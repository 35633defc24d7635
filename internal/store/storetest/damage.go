package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store"
)

// A row of which a part cannot be read is in its list, with all the others, and says which part that is. Whoever asks for it alone is
// told the same. Edge case 100.
func damagedRows(t *testing.T, target Target) {
	b := setup(t, target)
	b.settled(store.OutboxItem{Kind: "external_message", Body: json.RawMessage(`{}`)})
	whole := b.add(task("whole"))[0]
	for _, id := range []string{"run_whole", "run_bad"} {
		b.run(id, evidence.RunSucceeded)
	}
	for _, name := range []string{"bad", "whole"} {
		_, err := b.s.AddAgent(b.ctx, agentOf(name, ""), "me")
		b.ok(err)
		_, err = b.s.AddWallet(b.ctx, walletOf("whole", name, ""), "me")
		b.ok(err)
		b.schedule(name, time.Hour)
		b.start(flow(name))
		b.take(b.seen(name, name, func(in *store.Intake) { in.Sensor.SensorID = name }))
		b.ok(b.s.PutCycle(b.ctx, store.Cycle{RunnerID: name, CycleWork: store.CycleWork{Sent: 1}}))
	}
	c := b.begun()
	for _, why := range []string{"bad", "whole"} {
		_, err := b.s.OpenAction(b.ctx, c.Ref, store.NewAction{Kind: "permission", Prompt: why, ContextDigest: why, MayAnswer: []string{"me"}})
		b.ok(err)
	}
	done, err := b.s.Tasks(b.ctx, store.TaskFilter{Status: []agentruntime.TaskStatus{agentruntime.TaskCompleted}})
	b.ok(err)
	bad := done[0].ID()
	db := b.raw()
	for _, q := range []string{
		`UPDATE tasks SET outcome = '{' WHERE id = '` + bad + `'`,
		`UPDATE attempts SET evidence = 'nothing' WHERE task_id = '` + bad + `'`,
		`UPDATE runs SET record = '[]' WHERE id = 'run_bad'`,
		`UPDATE agents SET record = '' WHERE id = 'bad'`,
		`UPDATE wallets SET record = '{"address": 7}' WHERE address = 'bad'`,
		`UPDATE schedules SET task = '"text"' WHERE name = 'bad'`,
		`UPDATE workflows SET context = '{', progress = '}' WHERE instance_key = 'bad'`,
		`UPDATE sensors SET cursor = '}' WHERE id = 'bad'`,
		`UPDATE sensor_events SET payload = '}' WHERE sensor_id = 'bad'`,
		`UPDATE cycles SET did = '}' WHERE runner_id = 'bad'`,
		`UPDATE actions SET may_answer = '}', detail = '}' WHERE prompt = 'bad'`,
		`UPDATE outbox SET body = '}'`,
	} {
		res, err := db.ExecContext(b.ctx, q)
		b.ok(err)
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", q, n, err)
		}
	}

	type row struct{ id, damage string }
	lists := map[string]func() ([]row, error){
		"outcome of task " + bad:     rowsOf(func() ([]store.Task, error) { return b.s.Tasks(b.ctx, store.TaskFilter{}) }, func(x store.Task) row { return row{x.ID(), x.Damage} }),
		"evidence of attempt ":       rowsOf(func() ([]store.Attempt, error) { return b.s.Attempts(b.ctx, bad) }, func(x store.Attempt) row { return row{x.Record.AttemptID, x.Damage} }),
		"record of run run_bad":      rowsOf(func() ([]store.Run, error) { return b.s.Runs(b.ctx, store.RunFilter{}) }, func(x store.Run) row { return row{x.ID(), x.Damage} }),
		"record of agent bad":        rowsOf(func() ([]store.Agent, error) { return b.s.Agents(b.ctx, "", 10) }, func(x store.Agent) row { return row{x.Record.AgentID, x.Damage} }),
		"record of wallet bad on st": rowsOf(func() ([]store.Wallet, error) { return b.s.Wallets(b.ctx, store.WalletFilter{}) }, func(x store.Wallet) row { return row{x.Record.Address, x.Damage} }),
		"task of schedule bad":       rowsOf(func() ([]store.Schedule, error) { return b.s.Schedules(b.ctx, "", 10) }, func(x store.Schedule) row { return row{x.Record.Name, x.Damage} }),
		"context of workflow ":       rowsOf(func() ([]store.Workflow, error) { return b.s.Workflows(b.ctx, store.WorkflowFilter{}) }, func(x store.Workflow) row { return row{x.Record.InstanceKey, x.Damage} }),
		"cursor of sensor bad":       rowsOf(func() ([]store.Sensor, error) { return b.s.Sensors(b.ctx) }, func(x store.Sensor) row { return row{x.ID, x.Damage} }),
		"payload of event bad of se": rowsOf(func() ([]store.SensorEvent, error) { return b.s.SensorEvents(b.ctx, store.SensorFilter{}) }, func(x store.SensorEvent) row { return row{x.EventID, x.Damage} }),
		"work of cycle ":             rowsOf(func() ([]store.Cycle, error) { return b.s.Cycles(b.ctx, time.Time{}, 10) }, func(x store.Cycle) row { return row{x.RunnerID, x.Damage} }),
		"may_answer of action ":      rowsOf(func() ([]store.Action, error) { return b.s.Actions(b.ctx, store.ActionFilter{TaskID: c.Ref.TaskID}) }, func(x store.Action) row { return row{x.Prompt, x.Damage} }),
		"body of outbox item ":       rowsOf(func() ([]store.OutboxItem, error) { return b.s.Outbox(b.ctx, store.OutboxFilter{}) }, func(x store.OutboxItem) row { return row{x.ID, x.Damage} }),
	}
	for what, list := range lists {
		rows, err := list()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var told, other int
		for _, r := range rows {
			switch {
			case r.id == "":
				t.Errorf("%s: a row without its name: %+v", what, r)
			case strings.HasPrefix(r.damage, what):
				told++
			case r.damage == "":
				other++
			default:
				t.Errorf("%s: %+v", what, r)
			}
		}
		alone := strings.HasPrefix(what, "evidence") || strings.HasPrefix(what, "body")
		if told != 1 || other == 0 && !alone {
			t.Errorf("%s: %d damaged of %d: %+v", what, told, len(rows), rows)
		}
	}
	list, err := b.s.Tasks(b.ctx, store.TaskFilter{})
	b.ok(err)
	if _, err := json.Marshal(list); err != nil {
		t.Errorf("the list makes no document: %v", err)
	}

	one := map[string]error{}
	_, one["task"] = b.s.Task(b.ctx, bad)
	_, one["run"] = b.s.Run(b.ctx, "run_bad")
	_, one["agent"] = b.s.Agent(b.ctx, "bad")
	for what, err := range one {
		var d *store.DamagedError
		if !errors.As(err, &d) || !strings.Contains(err.Error(), "bad") && !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = b.s.Task(b.ctx, whole)
	b.ok(err)

	// An unknown state is shown unchanged.
	_, err = db.ExecContext(b.ctx, `UPDATE tasks SET status = 'odd' WHERE id = '`+whole+`'`)
	b.ok(err)
	if list, err = b.s.Tasks(b.ctx, store.TaskFilter{}); err != nil || !strings.Contains(fmt.Sprint(statuses(list)), "odd") {
		t.Errorf("%v %v", statuses(list), err)
	}
}

func statuses(list []store.Task) (out []agentruntime.TaskStatus) {
	for _, t := range list {
		out = append(out, t.Record.Status)
	}
	return out
}

func rowsOf[T, R any](list func() ([]T, error), row func(T) R) func() ([]R, error) {
	return func() ([]R, error) {
		all, err := list()
		var out []R
		for _, x := range all {
			out = append(out, row(x))
		}
		return out, err
	}
}

// A claimer gets a task that cannot be read, and reports that; the others come after it. A schedule that cannot be read can still be
// suspended, rewritten and dropped.
func damagedTasks(t *testing.T, target Target) {
	b := setup(t, target)
	big := json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)
	ids := b.add(task("intent"), task("payload"), task("body", func(n *store.NewTask) { n.Intent.Payload = big }), task("whole"))
	db := b.raw()
	for _, q := range []string{
		`UPDATE tasks SET intent = '{' WHERE id = '` + ids[0] + `'`,
		`UPDATE tasks SET payload = '{' WHERE id = '` + ids[1] + `'`,
		`DELETE FROM task_bodies WHERE task_id = '` + ids[2] + `'`,
	} {
		_, err := db.ExecContext(b.ctx, q)
		b.ok(err)
	}
	for i, part := range []string{"intent of task ", "payload of task ", "body of task ", ""} {
		c := b.claim()
		b.same(c.Ref.TaskID, ids[i])
		if !strings.HasPrefix(c.Task.Damage, part) || (part == "") != (c.Task.Damage == "") {
			t.Errorf("%s: %q", part, c.Task.Damage)
		}
		b.ok(b.s.Settle(b.ctx, c.Ref, store.Settlement{State: "failed_terminal", Class: "config", Status: agentruntime.TaskPermanentFailure, LastError: c.Task.Damage}))
	}
	list, err := b.s.Tasks(b.ctx, store.TaskFilter{})
	b.ok(err)
	b.same(len(list), 4)

	s := b.schedule("bad", 30*time.Minute)
	_, err = db.ExecContext(b.ctx, `UPDATE schedules SET task = '{'`)
	b.ok(err)
	b.clock.Advance(2 * time.Hour)
	due, err := b.s.DueSchedules(b.ctx, 10)
	b.ok(err)
	if len(due) != 1 || due[0].Damage == "" {
		t.Fatalf("due: %+v", due)
	}
	_, err = b.s.SuspendSchedule(b.ctx, s.Record.ScheduleID, due[0].Damage, store.NewAction{Kind: "schedule", Prompt: "mend it"})
	b.ok(err)
	if due, err = b.s.DueSchedules(b.ctx, 10); err != nil || len(due) != 0 {
		t.Fatalf("due: %+v %v", due, err)
	}
	mended, fresh, err := b.s.PutSchedule(b.ctx, s.Record, store.OverlapAllow, "me")
	if err != nil || fresh || mended.Damage != "" || !mended.Live() {
		t.Errorf("%+v %v", mended, err)
	}
	b.ok(b.s.DropSchedule(b.ctx, s.Record.ScheduleID, "me"))
}
