package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
)

// Bounds of sending.
const (
	sendBatch      = 16 // messages that are taken at a time
	sendAtOnce     = 4  // of them under way
	defaultTimeout = 30 * time.Second
)

// lease is how long a message that was taken is reserved for its sender: longer than a whole batch can take. After a crash it has
// to pass before the message is sent again.
func (d *Deliverer) lease() time.Duration {
	slowest := defaultTimeout
	for _, t := range d.Config.Targets {
		slowest = max(slowest, timeout(t))
	}
	return sendBatch/sendAtOnce*slowest + time.Minute
}

func timeout(t settings.Target) time.Duration {
	if t.TimeoutSeconds > 0 {
		return time.Duration(t.TimeoutSeconds) * time.Second
	}
	return defaultTimeout
}

// A refusal is a failure that no retry can fix.
type refusal struct{ error }

// A pause is a failure after which the target asks to be left alone for some time.
type pause struct {
	error
	wait time.Duration
}

// Send sends the messages that are due and returns how many were taken by their targets. It may take as long as the targets do,
// and is called outside of the cycle.
func (d *Deliverer) Send(ctx context.Context) (int, error) {
	sent := 0
	for ctx.Err() == nil {
		items, err := d.Store.OutboxTake(ctx, store.OutboxExternalMessage, sendBatch, d.lease())
		if err != nil {
			return sent, err
		}
		if len(items) == 0 {
			break
		}
		n, err := d.sendAll(ctx, items)
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (d *Deliverer) sendAll(ctx context.Context, items []store.OutboxItem) (int, error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sent, errs := 0, []error(nil)
	slots := make(chan struct{}, sendAtOnce)
	for _, it := range items {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ok, err := d.send(ctx, it)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				sent++
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("send %s: %w", it.ID, err))
			}
		})
	}
	wg.Wait()
	return sent, errors.Join(errs...)
}

// send tries one message once and records the result. An error is the store's.
func (d *Deliverer) send(ctx context.Context, it store.OutboxItem) (bool, error) {
	result, err := d.hand(ctx, it)
	bg := context.WithoutCancel(ctx)
	var no refusal
	var later pause
	switch {
	case err == nil:
		crashpoint.Hit(crashpoint.SendDone)
		return true, d.Store.OutboxDone(bg, it.ID, result)
	case ctx.Err() != nil: // deed was asked to stop: it is due again at once
		return false, d.Store.OutboxFail(bg, it.ID, "interrupted", d.Clock(), false)
	case errors.As(err, &no) || it.Attempts+1 >= d.Config.OutboxAttempts:
		return false, d.giveUp(bg, it, err)
	}
	errors.As(err, &later)
	return false, d.Store.OutboxFail(bg, it.ID, err.Error(), d.Clock().Add(d.Config.Retry.Wait(it.Attempts+1, later.wait)), false)
}

// hand gives a message to its target.
func (d *Deliverer) hand(ctx context.Context, it store.OutboxItem) (result string, err error) {
	parent, err := d.Store.Task(ctx, it.TaskID)
	if err != nil {
		return "", err
	}
	name, target, err := d.target(it, parent)
	if err != nil {
		return "", refusal{err}
	}
	m := deed.Message{
		Schema: deed.SchemaMessage, ID: it.ID, Target: name, TaskID: it.TaskID, AttemptID: it.AttemptID,
		TaskType: parent.Record.TaskType, ProfileID: parent.Record.RequestedProfileID,
		CreatedAt: it.CreatedAt.UTC().Format(time.RFC3339Nano), Delivery: it.Attempts + 1, Body: it.Body,
	}
	if parent.Record.Subject != nil {
		m.Subject = *parent.Record.Subject
	}
	if err := m.Validate(); err != nil {
		return "", refusal{err}
	}
	if target.Kind == settings.TargetTask {
		crashpoint.Hit(crashpoint.SendBefore)
		return d.toTask(ctx, target, m, it, parent)
	}
	return d.post(ctx, target, name, m.ID, m)
}

// Post sends a document of the operator's own to a target that is no task, once. The receiver recognises a repetition by the id.
func (d *Deliverer) Post(ctx context.Context, name, id string, doc any) error {
	target, ok := d.Config.Targets[name]
	if !ok {
		return fmt.Errorf("there is no target %q (add it under `outbox.targets` in the home's deed.yaml)", name)
	}
	_, err := d.post(ctx, target, name, id, doc)
	return err
}

// post sends a document to a target within its timeout.
func (d *Deliverer) post(ctx context.Context, target settings.Target, name, id string, doc any) (string, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return "", refusal{err}
	}
	m := message{id: id, target: name, data: data}
	limit := timeout(target)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the target %s took longer than %v", name, limit))
	defer cancel()
	crashpoint.Hit(crashpoint.SendBefore)
	switch target.Kind {
	case settings.TargetFile:
		return toFile(target, m)
	case settings.TargetCommand:
		return d.toCommand(ctx, target, m)
	case settings.TargetWebhook:
		return d.toWebhook(ctx, target, m)
	}
	return "", refusal{fmt.Errorf("target %s is of the unknown kind %q", name, target.Kind)}
}

// target finds where a message may go. An agent names the target; the operator decides who may use it.
func (d *Deliverer) target(it store.OutboxItem, parent store.Task) (string, settings.Target, error) {
	name := deed.TargetOf(it.Body)
	if name == "" {
		return "", settings.Target{}, errors.New(`the message names no target (an agent writes {"target": NAME, …})`)
	}
	t, ok := d.Config.Targets[name]
	if !ok {
		known := "none is configured"
		if len(d.Config.Targets) > 0 {
			known = "there are " + strings.Join(slices.Sorted(maps.Keys(d.Config.Targets)), ", ")
		}
		return name, t, fmt.Errorf("there is no target %.100q: %s (add it under `outbox.targets` in the home's deed.yaml, then `deed outbox retry`)", name, known)
	}
	for _, rule := range []struct {
		allowed []string
		is      string
		what    string
	}{{t.Profiles, parent.Record.RequestedProfileID, "profile"}, {t.TaskTypes, parent.Record.TaskType, "task type"}} {
		if len(rule.allowed) > 0 && !slices.Contains(rule.allowed, rule.is) {
			return name, t, fmt.Errorf("target %s takes no messages of %s %s", name, rule.what, rule.is)
		}
	}
	return name, t, nil
}

// toTask makes the message a task, exactly once.
func (d *Deliverer) toTask(ctx context.Context, t settings.Target, m deed.Message, it store.OutboxItem, parent store.Task) (string, error) {
	row, err := d.Admission.Prepare(agentruntime.TaskIntent{
		TaskType: t.TaskType, Source: "outbox:" + m.Target, Subject: m.Subject, Payload: m.Body,
	}, callerOf(parent))
	if err != nil {
		return "", refusal{err}
	}
	got, err := d.Store.DeliverTask(ctx, it.ID, row)
	return got.TaskID, err
}
