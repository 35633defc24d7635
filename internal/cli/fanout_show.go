package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/fanoutrun"
	"github.com/deedrun/deed/internal/engine/gc"
	"github.com/deedrun/deed/internal/store"
)

// fanoutDoc is a fanout as --json shows it.
type fanoutDoc struct {
	Schema    string          `json:"schema"`
	ID        string          `json:"fanout_id"`
	Status    string          `json:"status"`
	State     string          `json:"state"` // running, interrupted, left_to_dispatcher or finished: derived from who runs it
	Owner     string          `json:"owner,omitempty"`
	Alive     *bool           `json:"owner_alive,omitempty"`
	Tasks     int64           `json:"task_count"`
	Pending   int64           `json:"pending_count"`
	Running   int64           `json:"running_count"`
	Lost      int64           `json:"interrupted_count,omitempty"` // what ran when its process went
	Done      int64           `json:"done_count"`
	Succeeded int64           `json:"succeeded_count"`
	Retries   int64           `json:"retry_count"`
	Cancelled bool            `json:"cancel_requested,omitempty"`
	Why       string          `json:"cancel_reason,omitempty"`
	Created   string          `json:"created_at"`
	Updated   string          `json:"updated_at"`
	Finished  string          `json:"finished_at,omitempty"`
	Runs      []fanoutItemDoc `json:"running,omitempty"`
	Stopped   []fanoutItemDoc `json:"interrupted,omitempty"`
	Waits     []fanoutWaitDoc `json:"waits_for,omitempty"`
	Failed    []fanoutItemDoc `json:"failed,omitempty"` // the first ones
	Result    string          `json:"result,omitempty"` // the result of a cancel
}

type fanoutItemDoc struct {
	Task   string `json:"task"`
	Group  string `json:"group_key,omitempty"`
	Try    int    `json:"try"`
	TaskID string `json:"deed_task_id,omitempty"`
	Error  string `json:"error,omitempty"`
}

// A fanoutWaitDoc is a key that tasks wait for, and who holds it.
type fanoutWaitDoc struct {
	Key    string `json:"key"`
	Fanout string `json:"held_by_fanout"`
	TaskID string `json:"held_by_task"`
}

// The states of a fanout.
const (
	fanoutRuns        = "running"
	fanoutInterrupted = "interrupted"
	fanoutLeft        = "left_to_dispatcher"
	fanoutFinished    = "finished"
)

func fanoutDocOf(f store.Fanout, alive *bool, running []store.FanoutItem) fanoutDoc {
	d := fanoutDoc{
		Schema: "deed/fanout/v1", State: fanoutRuns, ID: f.ID, Status: f.Status, Owner: f.Owner, Alive: alive, Tasks: f.Tasks, Pending: f.Pending, Running: f.Released,
		Done: f.Done, Succeeded: f.Succeeded, Retries: f.Retries, Cancelled: f.CancelRequested, Why: f.CancelReason,
		Created: f.CreatedAt.Format(time.RFC3339Nano), Updated: f.UpdatedAt.Format(time.RFC3339Nano),
	}
	var list []fanoutItemDoc
	for _, it := range running {
		list = append(list, fanoutItemDoc{Task: it.Name, Group: it.GroupKey, Try: it.Try, TaskID: it.TaskID})
	}
	switch {
	case !f.Live():
		d.State, d.Finished = fanoutFinished, f.FinishedAt.Format(time.RFC3339Nano)
	case f.Owner == "":
		d.State, d.Runs = fanoutLeft, list
	case alive != nil && !*alive:
		d.State, d.Stopped, d.Running, d.Lost = fanoutInterrupted, list, 0, f.Released
	default:
		d.Runs = list
	}
	return d
}

// shownFailed bounds the failures that are shown; the run document has all.
const shownFailed = 20

// fanoutDetail adds what runs and what failed.
func (a *app) fanoutDetail(ctx context.Context, f store.Fanout) (fanoutDoc, error) {
	var running []store.FanoutItem
	var alive *bool
	var err error
	if f.Live() {
		if running, err = a.st.ReleasedItems(ctx, f.ID); err != nil {
			return fanoutDoc{}, err
		}
		if f.Owner != "" {
			lives, err := a.ownerLives(ctx, f)
			if err != nil {
				return fanoutDoc{}, err
			}
			alive = &lives
		}
	}
	d := fanoutDocOf(f, alive, running)
	waits, err := a.st.SharedWaits(ctx, f.ID)
	if err != nil {
		return d, err
	}
	for _, w := range waits {
		if w.FanoutID != "" && w.FanoutID != f.ID {
			d.Waits = append(d.Waits, fanoutWaitDoc{Key: strings.TrimPrefix(w.Resource, store.SharedResource), Fanout: w.FanoutID, TaskID: w.TaskID})
		}
	}
	failed, err := a.st.FailedItems(ctx, f.ID, -1, shownFailed)
	if err != nil {
		return d, err
	}
	for _, it := range failed {
		d.Failed = append(d.Failed, fanoutItemDoc{Task: it.Name, Group: it.GroupKey, Try: it.Try, TaskID: it.TaskID, Error: fanoutrun.RecordOf(it).ErrorMessage})
	}
	return d, nil
}

// ownerLives reports whether the process that runs a fanout is there.
func (a *app) ownerLives(ctx context.Context, f store.Fanout) (bool, error) {
	list, err := a.st.Runners(ctx)
	return err == nil && lives(list, f.Owner), err
}

// lives reports whether a runner is alive: on this machine the process itself shows that, by its pid and when it
// started.
func lives(list []store.Runner, id string) bool {
	i := slices.IndexFunc(list, func(r store.Runner) bool { return r.ID == id })
	if i < 0 {
		return false
	}
	r := list[i]
	boot, ns, _ := strings.Cut(r.BootID, "|")
	return proc.Alive(proc.Identity{Host: r.Host, PID: r.PID, BootID: boot, Namespace: ns, StartTime: uint64(r.ProcStart)})
}

// fanout finds a fanout by its id.
func (a *app) fanout(ctx context.Context, id string) (store.Fanout, error) {
	f, err := a.st.Fanout(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w (deed fanout list shows those that there are)", err)
	}
	return f, err
}

func (a *app) fanoutStatusCmd() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "status ID", Short: "Show how far a fanout is, and write what it came to", Args: names("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			f, err := a.fanout(c.Context(), args[0])
			if err != nil {
				return err
			}
			if output != "" {
				if err := a.writeRun(c.Context(), a.fanoutReader(), f.ID, output); err != nil || output == "-" {
					return err
				}
			}
			d, err := a.fanoutDetail(c.Context(), f)
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(d)
			}
			a.showFanout(d)
			return nil
		},
	}
	c.Flags().StringVar(&output, "output", "", "write the run, with every record so far, to `FILE`, or - for standard output")
	return c
}

// fanoutReader is a service that only reads.
func (a *app) fanoutReader() *fanoutrun.Service {
	return &fanoutrun.Service{Store: a.st, Clock: clock.System, Log: a.logger(slog.LevelWarn)}
}

func (a *app) writeRun(ctx context.Context, s *fanoutrun.Service, id, output string) error {
	if output == "-" {
		return s.Write(ctx, id, &safeWriter{w: a.Out, json: true})
	}
	file, err := filepath.Abs(output)
	if err == nil {
		err = checkResult(file)
	}
	if err != nil {
		return usage(fmt.Errorf("--output: %w", err))
	}
	return atomicfile.Write(file, 0o600, func(w io.Writer) error { return s.Write(ctx, id, w) })
}

func (a *app) showFanout(d fanoutDoc) {
	a.field("fanout", d.ID)
	a.field("status", a.fanoutState(d))
	counts := fmt.Sprintf("%d: %d succeeded, %d failed, %d running, ", d.Tasks, d.Succeeded, d.Done-d.Succeeded, d.Running)
	if d.Lost > 0 {
		counts += fmt.Sprintf("%d interrupted, ", d.Lost)
	}
	a.field("tasks", counts+fmt.Sprintf("%d pending", d.Pending))
	if d.Retries > 0 {
		a.field("retries", strconv.FormatInt(d.Retries, 10))
	}
	if d.Cancelled {
		a.field("cancelled", clean(d.Why))
	}
	for _, r := range d.Runs {
		a.field("running", clean(r.Task)+"  "+r.TaskID)
	}
	for _, r := range d.Stopped {
		a.field("interrupted", clean(r.Task)+"  "+r.TaskID)
	}
	for _, w := range d.Waits {
		a.field("waits for", fmt.Sprintf("the key %s, which fanout %s holds  %s", clean(w.Key), w.Fanout, w.TaskID))
	}
	for _, r := range d.Failed {
		a.field("failed", clean(r.Task)+"  "+shorten(clean(r.Error), 100))
	}
	if n := d.Done - d.Succeeded - int64(len(d.Failed)); n > 0 {
		a.field(" ", fmt.Sprintf("… and %d more", n))
	}
	switch d.State {
	case fanoutRuns:
		a.field("run by", clean(d.Owner))
	case fanoutInterrupted:
		a.hint("\nthe process that ran it is gone; go on:  deed fanout resume %s", d.ID)
	case fanoutLeft:
		a.hint("\nit is left to deed serve; to run it here:  deed fanout resume %s", d.ID)
	}
}

// fanoutState is the status of a fanout and, while it is incomplete, whether anybody runs it.
func (a *app) fanoutState(d fanoutDoc) string {
	if d.State == fanoutInterrupted {
		return a.fanoutWord(d.Status) + ", " + d.State
	}
	return a.fanoutWord(d.Status)
}

func (a *app) fanoutWord(status string) string {
	switch status {
	case store.FanoutCompleted:
		return a.color.Green(status)
	case store.FanoutFailed:
		return a.color.Red(status)
	}
	return a.color.Yellow(status)
}

// hintChosen says how the chosen result of a matrix is used.
func (a *app) hintChosen(m homeboy.MatrixAggregate) {
	for _, c := range m.Cells {
		var md struct {
			Deed struct {
				AttemptID string `json:"attempt_id"`
			} `json:"deed"`
		}
		if c.ID != m.Chosen || c.Outcome == nil || c.Outcome.Status != homeboy.Succeeded || json.Unmarshal(c.Outcome.Metadata, &md) != nil || md.Deed.AttemptID == "" {
			continue
		}
		a.hint("\npromote it:  deed promote %s --to REPO --branch NAME", md.Deed.AttemptID)
	}
}

// fanoutEnd reports how a fanout ended, and ends the command with it.
func (a *app) fanoutEnd(ctx context.Context, s *fanoutrun.Service, f store.Fanout) error {
	matrix, err := a.matrixOf(ctx, s, f)
	if err != nil {
		return err
	}
	if a.json {
		if err := s.Write(ctx, f.ID, &safeWriter{w: a.Out, json: true}); err != nil {
			return err
		}
	} else {
		d, err := a.fanoutDetail(ctx, f)
		if err != nil {
			return err
		}
		a.showFanout(d)
		if matrix != nil {
			a.field("chosen", strings.TrimPrefix(clean(matrix.Chosen+": "+matrix.Why), ": "))
			a.hintChosen(*matrix)
		}
		a.hint("\nall records:  deed fanout status %s --output FILE", f.ID)
	}
	enough := f.Succeeded > 0 && s.Candidates(ctx, f.ID)
	if matrix != nil {
		enough = matrix.Chosen != ""
	}
	if enough || f.Status == store.FanoutCompleted {
		return nil
	}
	return errNotDone
}

// matrixOf chooses among the cells, when the fanout is a matrix.
func (a *app) matrixOf(ctx context.Context, s *fanoutrun.Service, f store.Fanout) (*homeboy.MatrixAggregate, error) {
	if f.Live() || !s.IsMatrix(ctx, f.ID) {
		return nil, nil
	}
	m, err := s.Matrix(ctx, f.ID)
	return &m, err
}

func (a *app) fanoutListCmd() *cobra.Command {
	var status, before string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List fanouts, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if known := []string{store.FanoutIncomplete, store.FanoutCompleted, store.FanoutFailed}; status != "" && !slices.Contains(known, status) {
				return usage(fmt.Errorf("--status %q is unknown; there are: %s", status, strings.Join(known, ", ")))
			}
			if limit < 1 || limit > 10000 {
				return usage(fmt.Errorf("--limit %d is not between 1 and 10000", limit))
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			list, err := a.st.Fanouts(c.Context(), store.FanoutFilter{Status: status, Limit: limit, Before: before})
			if err != nil {
				return err
			}
			runners, err := a.st.Runners(c.Context())
			if err != nil {
				return err
			}
			return a.showFanouts(list, runners)
		},
	}
	c.Flags().StringVar(&status, "status", "", "only those that are incomplete, completed or failed")
	c.Flags().IntVar(&limit, "limit", 20, "how many at most")
	c.Flags().StringVar(&before, "before", "", "only fanouts older than the one with this `ID`")
	return c
}

func (a *app) showFanouts(list []store.Fanout, runners []store.Runner) error {
	docs, rows := []fanoutDoc{}, [][]string{}
	for _, f := range list {
		var alive *bool
		if f.Owner != "" {
			there := lives(runners, f.Owner)
			alive = &there
		}
		d := fanoutDocOf(f, alive, nil)
		docs = append(docs, d)
		rows = append(rows, []string{f.ID, a.fanoutState(d), fmt.Sprintf("%d/%d", f.Done, f.Tasks), strconv.FormatInt(f.Done-f.Succeeded, 10), f.CreatedAt.Format(time.DateTime)})
	}
	if a.json {
		return a.emit(map[string]any{"schema": "deed/fanout-list/v1", "fanouts": docs})
	}
	a.table([]string{"FANOUT", "STATUS", "DONE", "FAILED", "CREATED"}, rows)
	return nil
}

func (a *app) fanoutResumeCmd() *cobra.Command {
	var progress string
	var detach bool
	c := &cobra.Command{
		Use: "resume ID", Short: "Go on with a fanout whose process was stopped or died", Args: names("ID"),
		Long: `Go on with a fanout. What has a record keeps it; results that were whole when deed died are taken as they are; what was lost is
tried again. A fanout that a live process runs is left to it (exit code 2). With --detach it is left to deed serve.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkProgress(progress); err != nil {
				return usage(err)
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			if detach {
				return a.resumeDetached(c.Context(), args[0])
			}
			return a.fanoutHere(c.Context(), progress, func(s *fanoutrun.Service, dead []string) (store.Fanout, error) {
				f, err := a.fanout(c.Context(), args[0])
				if err != nil {
					return f, err
				}
				return s.Resume(context.WithoutCancel(c.Context()), f.ID, dead)
			})
		},
	}
	c.Flags().StringVar(&progress, "progress", "", "`FORMAT` of progress on standard error: jsonl writes homeboy/fanout-reconcile-progress/v1 lines")
	c.Flags().BoolVar(&detach, "detach", false, "leave it to deed serve, and end")
	return c
}

func (a *app) resumeDetached(ctx context.Context, id string) error {
	f, err := a.fanout(ctx, id)
	if err != nil {
		return err
	}
	var dead []string
	if lives, err := a.ownerLives(ctx, f); err != nil {
		return err
	} else if !lives && f.Owner != "" {
		dead = []string{f.Owner}
	}
	if f, err = a.fanoutReader().Resume(ctx, f.ID, dead); err != nil {
		return ownedHint(err)
	}
	a.h.Wake()
	return a.reportDetached(f)
}

func (a *app) fanoutCancelCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel ID", Short: "End a fanout: start nothing more of it, and stop what runs", Args: names("ID"),
		Long: `End a fanout. Tasks that are pending are never started, those that run are asked to end, once, and one that comes to its result
first keeps it. The result of the cancel is reported: cancelled, cancellation_requested while something still runs, or
terminal_without_cancellation for a fanout that was over. Exit code 1 means that something still runs.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			return a.fanoutCancel(c.Context(), args[0], reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func (a *app) fanoutCancel(ctx context.Context, id, reason string) error {
	eng, err := a.engine(1)
	if err != nil {
		return err
	}
	eng.Log = a.logger(slog.LevelWarn)
	defer func() { _ = eng.Close(context.WithoutCancel(ctx)) }()
	f, err := a.fanout(ctx, id)
	if err != nil {
		return err
	}
	lives, err := a.ownerLives(ctx, f)
	if err != nil {
		return err
	}
	if !lives { // what its dead process ran is lost, and no one else may ever report it
		if _, err := eng.Reclaim(ctx, gc.Options{Wary: true}); err != nil {
			eng.Log.Warn("sweep", "error", err)
		}
	}
	got, err := a.fanoutService(eng).Cancel(ctx, f.ID, reason, a.operator(), func(store.Fanout) bool { return lives })
	if err != nil {
		return err
	}
	a.h.Wake()
	d, err := a.fanoutDetail(ctx, got.Fanout)
	if err != nil {
		return err
	}
	d.Result = got.Result
	if a.json {
		err = a.emit(d)
	} else {
		a.printf("%s\n", got.Result)
		a.showFanout(d)
	}
	if err == nil && got.Result == fanoutrun.CancelledRequested {
		return errNotDone
	}
	return err
}
