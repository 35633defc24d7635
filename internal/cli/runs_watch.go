package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) runsWatchCmd() *cobra.Command {
	var limit time.Duration
	c := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run until it ends", Args: names("RUN"),
		Long: `Print the progress of a run until it ends: the newest line of each look, a line for each change of state, and a
heartbeat when there is nothing new. With --json: deed/progress/v1, one line each, and at last one line of
deed/error/v1 when there is no end to report. Exit code 0 when the run succeeded, 1 when it did not, when the time
limit passed, or when the process that ran it is gone: nothing more comes from that.`,
		RunE: func(c *cobra.Command, args []string) error {
			a.lines = true
			if limit < 0 {
				return usage(fmt.Errorf("--timeout %s is negative", limit))
			}
			r, err := a.oneRun(c.Context(), args[0])
			if err != nil {
				return err
			}
			ctx := c.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			w := &watcher{app: a}
			err = w.follow(ctx, r)
			if errors.Is(err, context.DeadlineExceeded) {
				return &exitError{code: ExitNotDone, err: fmt.Errorf("run %s is still %s after %s", r.ID(), w.status, limit)}
			}
			if err == nil && w.status != evidence.RunSucceeded {
				return errNotDone
			}
			return err
		},
	}
	c.Flags().DurationVar(&limit, "timeout", 0, "stop watching after this long, for example 10m (default: no limit)")
	return c
}

// A watcher follows one run from another process: it sees the newest line of progress at each look.
type watcher struct {
	*app
	status evidence.RunStatus
	seen   int64 // seq of the newest line that was printed
	beat   string
	said   time.Time // when something was printed last
}

const (
	lookEvery  = 250 * time.Millisecond
	beatNotice = 5 * time.Second
)

func (w *watcher) follow(ctx context.Context, r store.Run) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := w.look(r); err != nil || r.Record.Status.Terminal() {
			return err
		}
		gone, err := w.models().GoneRuns(ctx, r)
		if err != nil {
			return err
		}
		if len(gone) > 0 {
			return &exitError{code: ExitNotDone, err: fmt.Errorf("run %s is %s on record, but the process that ran it is gone (%s)", r.ID(), w.status, settlesRun)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		next, err := w.st.Run(ctx, r.ID())
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("run %s was given up by a retention rule while it was watched", r.ID())
		}
		if err != nil {
			return err
		}
		r = next
	}
}

// look prints what is new.
func (w *watcher) look(r store.Run) error {
	var p deed.Progress
	if len(r.Progress) > 0 && json.Unmarshal(r.Progress, &p) == nil && p.Seq > w.seen {
		w.status = evidence.RunStatus(p.Status)
		if err := w.print(p, r); err != nil {
			return err
		}
	}
	now := r.HeartbeatAt
	switch {
	case r.Record.Status != w.status:
		w.status = r.Record.Status
		text := string(w.status)
		if r.Record.Error != nil {
			text += ": " + r.Record.Error.Message
		}
		return w.print(deed.Progress{Seq: w.seen + 1, Step: "status", Text: text}, r)
	case r.Record.HeartbeatAt != w.beat && now.Sub(w.said) >= beatNotice:
		return w.print(deed.Progress{Seq: w.seen + 1, Step: "heartbeat", Heartbeat: true}, r)
	}
	return nil
}

func (w *watcher) print(p deed.Progress, r store.Run) error {
	w.seen, w.beat, w.said = p.Seq, r.Record.HeartbeatAt, r.HeartbeatAt
	if p.Schema == "" {
		p.Schema, p.RunID, p.TaskID, p.AttemptID = deed.SchemaProgress, r.ID(), r.TaskID, r.AttemptID
		p.At, p.Phase, p.Status, p.Terminal = r.Record.UpdatedAt, r.Record.Lifecycle.Phase, string(r.Record.Status), r.Record.Status.Terminal()
		if p.Heartbeat {
			p.At = r.Record.HeartbeatAt
		}
	}
	if w.json {
		b, err := json.Marshal(p)
		if err != nil {
			return err
		}
		w.printf("%s\n", terminal.SafeJSON(b))
		return nil
	}
	w.printf("%s  %-15s  %s\n", p.At, clean(p.Step), clean(p.Text))
	return nil
}
