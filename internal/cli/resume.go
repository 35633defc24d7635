package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) taskResumeCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "resume TASK", Short: "Go on with an interrupted task here and now", Args: names("TASK"),
		Long: `Run a task that was interrupted, here and now, until it ends. The agent's conversation goes on where it stopped, in the
workspace as it was, when its agent can do that and the task still asks for the same; else a new attempt begins. What a
killed deed left is cleared away first. Going on after an interruption uses up no attempt.`,
		Example: "  deed task resume 0199c0de",
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.open(c.Context()); err != nil {
				return err
			}
			return a.finish(func(step func(attempt.Progress)) (attempt.Result, error) {
				return a.resumeTask(c.Context(), args[0], step)
			})
		},
	}
	return c
}

// resumeTask makes a task that waits due now and runs it to its end.
func (a *app) resumeTask(ctx context.Context, id string, step func(attempt.Progress)) (attempt.Result, error) {
	eng, err := a.engine(1)
	if err != nil {
		return attempt.Result{}, err
	}
	return a.untilSettled(ctx, eng, step, func(ctx context.Context, opt store.ClaimOptions) (*store.Claim, error) {
		return a.claimToResume(ctx, eng, id, opt)
	})
}

// claimToResume claims a task that was interrupted. What a killed process left of it has been settled by now.
func (a *app) claimToResume(ctx context.Context, eng *dispatch.Engine, id string, opt store.ClaimOptions) (*store.Claim, error) {
	t, err := a.st.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := task.Resumable(ctx, a.st, t); errors.Is(err, task.ErrNotResumable) {
		return nil, usage(errors.New(cleanLines(err.Error())))
	} else if err != nil {
		return nil, err
	}
	// What is missing here would fail the task for good, and its conversation with it.
	if err := eng.Runner.Preflight(ctx, store.NewTask{
		Intent: t.Intent, ProfileID: t.Record.RequestedProfileID, AdapterID: deref(t.Record.RequestedAdapterID), Model: deref(t.Record.RequestedModel),
	}); failure.ClassOf(err) == failure.Isolation {
		return nil, err
	} else if err != nil {
		return nil, usage(err)
	}
	opt.TaskID = t.ID()
	if t.Record.Status == agentruntime.TaskRetryableFailure {
		if err := a.st.Retry(ctx, t.ID(), "resumed", a.operator()); err != nil {
			return nil, err
		}
	}
	c, err := a.st.Claim(ctx, opt)
	if errors.Is(err, store.ErrNoTask) {
		return nil, fmt.Errorf("task %s was taken by another runner (follow it: deed task events %[1]s --follow)", t.ID())
	}
	return c, err
}
