package task

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// ErrNotResumable marks why a task cannot go on now.
var ErrNotResumable = errors.New("the task cannot go on now")

// notResumable is such a reason, with what to do instead.
type notResumable struct{ why string }

func (e notResumable) Error() string        { return e.why }
func (e notResumable) Is(target error) bool { return target == ErrNotResumable }

// RefuseSecrets refuses an intent whose texts hold the value of a secret that it names: they are stored and shown.
func RefuseSecrets(in agentruntime.TaskIntent, getenv func(string) string) error {
	if in.Deed == nil {
		return nil
	}
	var faults fault.List
	for _, name := range in.Deed.SecretEnv {
		v := getenv(name)
		if v == "" {
			continue
		}
		for _, f := range [][2]string{{"source", in.Source}, {"subject", in.Subject}, {"description", in.Description}, {"payload", string(in.Payload)}} {
			if strings.Contains(f[1], v) {
				faults.Add("$."+f[0], fault.NotAllowed, fmt.Sprintf("the task's %s holds the value of the secret %s", f[0], name), fmt.Sprintf("leave it out: the agent gets it as $%s", name))
			}
		}
	}
	return faults.Err()
}

// Resumable reports why a task cannot go on now, with what to do instead, as an ErrNotResumable.
func Resumable(ctx context.Context, st *store.Store, t store.Task) error {
	id, status := t.ID(), t.Record.Status
	switch {
	case status == agentruntime.TaskCompleted:
		return notResumable{fmt.Sprintf("task %s is completed: there is nothing to go on with", id)}
	case state.TaskTerminal(status):
		return notResumable{fmt.Sprintf("task %s has ended (%s): give it another attempt with `deed task retry %[1]s`", id, status)}
	case status == agentruntime.TaskRunning:
		return notResumable{fmt.Sprintf("task %s is running (follow it: deed task events %[1]s --follow)", id)}
	case status != agentruntime.TaskBlocked:
		return nil
	}
	open, err := st.Actions(ctx, store.ActionFilter{TaskID: id, State: store.ActionOpen})
	if err != nil {
		return err
	}
	list := make([]error, 0, len(open))
	for _, x := range open {
		list = append(list, notResumable{fmt.Sprintf("task %s waits for an answer: %s (deed action show %s)", id, x.Prompt, x.ID)})
	}
	return errors.Join(list...)
}
