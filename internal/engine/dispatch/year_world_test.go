package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

// A world is what happens around a home: who sends events, who writes definitions, who answers, and how late.
type world struct {
	events int
	unsure []agentruntime.SensorEvent // sent, and the process died before it answered: a sender sends again
	flows  int
	calm   bool // everybody means well, and every message is taken
}

// pick returns one of several things that may happen, by weight.
func (l *life) pick(from ...any) func() {
	total := 0
	for i := 0; i < len(from); i += 2 {
		total += from[i].(int)
	}
	n := l.rng.IntN(total)
	for i := 0; ; i += 2 {
		if n -= from[i].(int); n < 0 {
			return from[i+1].(func())
		}
	}
}

// step lets something happen, and then a process that dies once in a while look.
func (l *life) step() {
	l.Helper()
	l.pick(
		30, func() { l.pass(time.Duration(l.rng.IntN(3600)) * time.Second) },
		40, func() { l.pass(time.Duration(l.rng.IntN(20)) * time.Hour) },
		2, func() { l.pass(10 * 24 * time.Hour) }, // the machine slept
		2, func() { l.pass(-time.Duration(1+l.rng.IntN(72*60)) * time.Minute) }, // its clock was set back
	)()
	if l.rng.IntN(4) == 0 {
		l.arm(1 + l.rng.IntN(40))
	}
	l.pick(
		20, func() {},
		20, func() { l.send(1 + l.rng.IntN(3)) },
		1, func() { l.send(120) }, // a flood
		8, l.resend,
		8, l.spoil,
		8, l.post,
		6, l.begin,
		4, l.wake,
		20, func() { l.answer(36 * time.Hour) },
		4, l.retry,
		3, l.cancel,
		3, l.restart,
		2, func() { l.healthy = false; l.restart() },
		6, func() { l.healthy = true; l.restart() },
		2, func() { l.do(func(ctx context.Context, p *process) error { return p.Store.Pause(ctx, "lunch", "op") }) },
		8, func() { l.do(func(ctx context.Context, p *process) error { return p.Store.Resume(ctx, "op") }) },
		3, l.runNow,
		3, l.mail,
	)()
	l.cycles(30)
	l.disarm()
}

// cycles looks until nothing is left to do at this moment, and a few times at most. A cycle that found nothing may have sent a
// message that became a task; after a second one nothing is due.
func (l *life) cycles(most int) {
	l.Helper()
	idle := 0
	for range most {
		var rep Report
		shallow := l.rng.IntN(10) > 0
		lived := l.do(func(ctx context.Context, p *process) (err error) {
			if shallow && !p.deep.IsZero() {
				p.deep = l.clock() // a deep sweep reads the whole machine: now and then is enough
			}
			rep, err = p.Once(ctx)
			return err
		})
		for _, f := range rep.Faults {
			l.fault("a cycle has a fault: %s", f)
		}
		if idle++; !lived || rep.Status != "idle" || rep.Created+rep.Delivered > 0 {
			idle = 0
		}
		l.check(idle == 2)
		if idle == 2 || rep.Status == "paused" {
			return
		}
	}
}

func (l *life) event() agentruntime.SensorEvent {
	l.world.events++
	n := l.world.events
	e := agentruntime.SensorEvent{
		SensorID: "push", EventID: fmt.Sprint("e", n), SourceRef: "world", DedupeKey: fmt.Sprint("k", n), ObservedAt: agentruntime.At(l.clock()),
		Payload: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
	}
	switch l.rng.IntN(10) {
	case 0:
		e.SensorID, e.DedupeKey = "windowed", fmt.Sprint("w", l.rng.IntN(5))
	case 1:
		e.ObservedAt = agentruntime.At(l.clock().Add(-5 * time.Hour))
		e.FreshnessDeadline = agentruntime.At(l.clock().Add(time.Duration(l.rng.IntN(7)-3) * time.Hour))
	}
	return proposing(e)
}

// proposing gives an event a task that belongs to this event only.
func proposing(e agentruntime.SensorEvent) agentruntime.SensorEvent {
	e.ProposedTask = &agentruntime.TaskIntent{
		TaskType: "script", Source: "world", Payload: json.RawMessage(fmt.Sprintf(`{"event": %q}`, e.SensorID+"/"+e.EventID)),
	}
	return e
}

func (l *life) send(n int) {
	for range n {
		l.take(l.event())
	}
}

// take sends an event; one whose sender got no answer is sent again later.
func (l *life) take(e agentruntime.SensorEvent) {
	l.Helper()
	var res sensor.Result
	if !l.do(func(ctx context.Context, p *process) (err error) {
		res, err = p.intake.Take(ctx, e)
		return err
	}) {
		l.world.unsure = append(l.world.unsure, e)
		return
	}
	l.seen.answered(l, e, res)
}

// resend sends what may not have arrived, or once more what did.
func (l *life) resend() {
	list := l.world.unsure
	l.world.unsure = nil
	for _, e := range list {
		l.take(e)
	}
	if n := l.world.events; len(list) == 0 && n > 0 {
		k := 1 + l.rng.IntN(n)
		l.take(proposing(agentruntime.SensorEvent{
			SensorID: "push", EventID: fmt.Sprint("e", k), SourceRef: "world", DedupeKey: fmt.Sprint("k", k), ObservedAt: agentruntime.At(l.clock()),
			Payload: json.RawMessage(fmt.Sprintf(`{"n": %d}`, k)),
		}))
	}
}

// spoil sends events that cannot be taken.
func (l *life) spoil() {
	e := l.event()
	e.FreshnessDeadline = "" // one that is late is only recorded
	switch l.rng.IntN(4) {
	case 0:
		e.DedupeKey = ""
	case 1:
		e.ProposedTask.TaskType = "no-such-type"
	case 2:
		e.Payload = json.RawMessage(`[1]`)
	case 3:
		e.ProposedTask, e.ProposedWorkflow = nil, &agentruntime.ProposedWorkflow{Template: "no-such", InstanceKey: "x"}
	}
	l.do(func(ctx context.Context, p *process) error {
		_, err := p.intake.Take(ctx, e)
		if err == nil {
			return errors.New("a bad event was taken")
		}
		if !sensor.Refused(err) {
			return err
		}
		return nil
	})
}

// post drops a letter into the mailbox; some letters are no letters.
func (l *life) post() {
	var list []agentruntime.SensorEvent
	for range 1 + l.rng.IntN(4) {
		e := l.event()
		e.SensorID = "box"
		list = append(list, proposing(e))
	}
	text, err := json.Marshal(list)
	l.must(err)
	if l.rng.IntN(5) == 0 {
		text = text[:len(text)/2]
	} else {
		for _, e := range list {
			l.seen.posted(e)
		}
	}
	tmp := filepath.Join(l.dir, "letter")
	l.must(os.WriteFile(tmp, text, 0o600))
	l.must(os.Rename(tmp, filepath.Join(l.dir, "box", fmt.Sprintf("%06d.json", l.world.events))))
}

// begin starts a workflow, some of them a second time under the same key.
func (l *life) begin() {
	l.world.flows++
	key := fmt.Sprint("goal-", l.world.flows-l.rng.IntN(min(l.world.flows, 3)))
	l.do(func(ctx context.Context, p *process) error {
		_, err := p.flows.Start(ctx, workflow.StartRequest{
			Type: "goal-loop", InstanceKey: key, Context: json.RawMessage(`{"objective": "every link works", "scope": ["docs"]}`), By: "op",
		})
		return err
	})
}

// wake lets a sensor start a review or move one on that waits.
func (l *life) wake() {
	e := l.event()
	e.SensorID, e.DedupeKey = "push", fmt.Sprint("review-", e.EventID)
	e.ProposedTask = nil
	e.ProposedWorkflow = &agentruntime.ProposedWorkflow{Template: "review", InstanceKey: fmt.Sprint("r", l.rng.IntN(6)), Context: json.RawMessage(`{}`)}
	if l.rng.IntN(2) == 0 {
		e.ProposedWorkflow.State = "work"
	}
	l.do(func(ctx context.Context, p *process) error {
		_, err := p.intake.Take(ctx, e)
		if sensor.Refused(err) && !l.healthy {
			return nil // its definition is bad for now
		}
		return err
	})
}

// answer answers what was asked long enough ago, as people do: some of it, and not always well.
func (l *life) answer(after time.Duration) {
	l.Helper()
	list, err := l.seen.watch.Actions(context.Background(), store.ActionFilter{State: store.ActionOpen, Limit: 1000})
	l.must(err)
	for _, x := range list {
		if l.clock().Sub(x.OpenedAt) < after || !l.world.calm && l.rng.IntN(3) > 0 {
			continue
		}
		said := json.RawMessage(`"yes, go on"`)
		if x.Kind == workflow.ActionKind {
			said = l.decide(x)
		}
		l.do(func(ctx context.Context, p *process) error {
			err := p.Store.AnswerAction(ctx, x.ID, said, "op")
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
			return err
		})
	}
}

func (l *life) decide(x store.Action) json.RawMessage {
	var q workflow.Question
	l.must(json.Unmarshal(x.Subject, &q))
	words := []string{workflow.AnswerAbandon}
	if !l.world.calm {
		for _, s := range q.Signals {
			words = append(words, "signal "+s)
		}
		if q.Retry {
			words = append(words, workflow.AnswerRetry, workflow.AnswerRetry)
		}
	}
	text, err := json.Marshal(words[l.rng.IntN(len(words))])
	l.must(err)
	if l.rng.IntN(8) == 0 && !l.world.calm {
		return json.RawMessage(`"as you like"`) // it came past the command, which checks
	}
	out, err := workflow.ReadAnswer(x, text)
	l.must(err)
	return out
}

// oneOf returns the id of a task in one of the states, or nothing.
func (l *life) oneOf(states ...agentruntime.TaskStatus) string {
	list, err := l.seen.watch.Tasks(context.Background(), store.TaskFilter{Status: states, Limit: 20})
	l.must(err)
	if len(list) == 0 {
		return ""
	}
	return list[l.rng.IntN(len(list))].ID()
}

func (l *life) retry() {
	if id := l.oneOf(agentruntime.TaskPermanentFailure, agentruntime.TaskBlocked, agentruntime.TaskOperatorCanceled); id != "" {
		l.do(func(ctx context.Context, p *process) error {
			err := p.Store.Retry(ctx, id, "once more", "op")
			var dup *store.DuplicateError
			if errors.As(err, &dup) || errors.Is(err, store.ErrTerminal) {
				return nil
			}
			return err
		})
	}
}

func (l *life) cancel() {
	if id := l.oneOf(agentruntime.TaskPending, agentruntime.TaskRetryableFailure, agentruntime.TaskBlocked); id != "" {
		l.do(func(ctx context.Context, p *process) error {
			_, err := p.Store.Cancel(ctx, id, "not needed", "op")
			return err
		})
	}
}

// plans are the schedules of a life.
var plans = []struct {
	name, typ, overlap string
	every              time.Duration
}{
	{"quarter", "script", store.OverlapSkip, 6 * time.Hour},
	{"daily", "chore", store.OverlapAllow, 24 * time.Hour},
	{"weekly", "chore", store.OverlapSkip, 7 * 24 * time.Hour},
	{"odd", "script", store.OverlapAllow, 55 * time.Hour},
}

// settle writes the schedules.
func (l *life) settle() {
	l.Helper()
	for _, s := range plans {
		l.do(func(ctx context.Context, p *process) error {
			_, _, err := p.plans.Put(ctx, schedule.Plan{
				Name: s.name, Every: s.every, Overlap: s.overlap, Task: agentruntime.TaskIntent{TaskType: s.typ, Payload: json.RawMessage(`{}`)},
			}, "op")
			return err
		})
	}
}

func (l *life) runNow() {
	sc, err := l.seen.watch.Schedule(context.Background(), plans[l.rng.IntN(len(plans))].name)
	l.must(err)
	l.do(func(ctx context.Context, p *process) error {
		if _, err := p.plans.RunNow(ctx, sc, "op"); err != nil && p.cfg != nil && l.healthy {
			return err
		}
		return nil
	})
}

// mail tries a dead letter again, or throws it away.
func (l *life) mail() {
	list, err := l.seen.watch.Outbox(context.Background(), store.OutboxFilter{State: store.OutboxFailed, Limit: 5})
	l.must(err)
	for _, it := range list {
		again := l.rng.IntN(2) == 0
		l.do(func(ctx context.Context, p *process) error {
			if again {
				return p.Store.OutboxRetry(ctx, it.ID, "op")
			}
			return p.Store.OutboxDrop(ctx, it.ID, "old", "op")
		})
	}
}
