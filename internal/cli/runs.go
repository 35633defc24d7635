package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) runsCmd() *cobra.Command {
	c := group("runs", "List, watch and cancel runs, and find what they left",
		a.runsListCmd(), a.runsShowCmd(), a.runsWatchCmd(), a.runsCancelCmd(), a.runsArtifactsCmd())
	c.Long = c.Short + `.

A RUN is named by its id, by the beginning of it, or by the sandbox_session_id of its request: then the newest run of that session is meant.`
	return c
}

func (a *app) runsListCmd() *cobra.Command {
	var (
		statuses              []string
		task, session, before string
		limit                 int
	)
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List runs, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter := store.RunFilter{Limit: limit, Before: before, SessionID: session}
			for _, s := range statuses {
				st := evidence.RunStatus(s)
				if !slices.Contains(evidence.RunStatuses, st) {
					return usage(fmt.Errorf("--status %q is unknown; there are: %s", s, join(evidence.RunStatuses)))
				}
				filter.Status = append(filter.Status, st)
			}
			if limit < 1 || limit > 10000 {
				return usage(fmt.Errorf("--limit %d is not between 1 and 10000", limit))
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			if task != "" {
				t, err := a.lookup(c.Context(), task)
				if err != nil {
					return err
				}
				filter.TaskID = t.ID()
			}
			runs, err := a.st.Runs(c.Context(), filter)
			if err != nil {
				return err
			}
			for _, r := range runs {
				a.hintDamaged(r.Damage)
			}
			gone, err := a.models().GoneRuns(c.Context(), runs...)
			if err != nil {
				return err
			}
			if a.json {
				recs := make([]evidence.RunRegistryEntry, len(runs))
				for i, r := range runs {
					recs[i] = view.RunRecord(r, gone)
				}
				return a.emit(map[string]any{"runs": recs})
			}
			rows := make([][]string, len(runs))
			for i, r := range runs {
				rows[i] = []string{r.ID(), a.runState(r, gone), r.CreatedAt.Format(time.RFC3339), runTook(r, gone), r.TaskID}
			}
			if len(rows) == 0 {
				a.hint("no runs")
				return nil
			}
			a.table([]string{"RUN", "STATUS", "CREATED", "TOOK", "TASK"}, rows)
			if len(gone) > 0 {
				a.hint(goneRun)
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&statuses, "status", nil, "only these states")
	c.Flags().StringVar(&task, "task", "", "only runs of this task")
	c.Flags().StringVar(&session, "session", "", "only runs of this session, as its caller named it")
	c.MarkFlagsMutuallyExclusive("task", "session")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	c.Flags().StringVar(&before, "before", "", "only runs older than this one")
	return c
}

const (
	settlesRun = "`deed cleanup` settles it, and so does whoever runs or dispatches next"
	goneRun    = "gone is the process that ran it; " + settlesRun
)

// runState is the status of a run, and whether its process is there.
func (a *app) runState(r store.Run, gone map[string]bool) string {
	s := a.runStatus(r.Record.Status)
	if gone[r.ID()] {
		s += ", " + a.color.Yellow(view.PhaseGone)
	}
	return s
}

func (a *app) runStatus(s evidence.RunStatus) string {
	switch s {
	case evidence.RunSucceeded:
		return a.color.Green(string(s))
	case evidence.RunFailed, evidence.RunTimedOut:
		return a.color.Red(string(s))
	case evidence.RunCancelled:
		return a.color.Yellow(string(s))
	}
	return string(s)
}

// runTook is how long a run has been alive, or was seen to be.
func runTook(r store.Run, gone map[string]bool) string {
	end := r.EndedAt
	if ev, ok := runEvidence(r); ok && !end.IsZero() && ev.Timing.Duration.Value != nil {
		// A run whose process was killed is ended when it is cleared away, which may be days later.
		end = r.CreatedAt.Add(time.Duration(*ev.Timing.Duration.Value * float64(time.Millisecond)))
	}
	switch {
	case end.IsZero() && gone[r.ID()]:
		end = r.HeartbeatAt
	case end.IsZero():
		end = clock.System()
	}
	return end.Sub(r.CreatedAt).Round(time.Millisecond).String()
}

// runEvidence reads what the run took, where its record says so.
func runEvidence(r store.Run) (ev evidence.RunResourceEvidence, ok bool) {
	text, err := json.Marshal(r.Record.Metadata[evidence.MetaResourceEvidence])
	return ev, err == nil && json.Unmarshal(text, &ev) == nil && ev.Schema != ""
}

// oneRun opens the home for reading and finds a run.
func (a *app) oneRun(ctx context.Context, id string) (store.Run, error) {
	if err := a.view(ctx); err != nil {
		return store.Run{}, err
	}
	r, err := a.st.Run(ctx, id)
	return r, a.noRun(id, err)
}

// noRun names the remedy for an id that is not there.
func (a *app) noRun(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return usage(fmt.Errorf("no run %s in %s (`deed runs list` shows what there is)", id, a.h.Root()))
	}
	return err
}

func (a *app) runsShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run: where it stands, what it took and what it left", Args: names("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.oneRun(c.Context(), args[0])
			if err != nil {
				return err
			}
			gone, err := a.models().GoneRuns(c.Context(), r)
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(view.RunRecord(r, gone))
			}
			a.showRunRecord(r, gone)
			if len(gone) > 0 {
				a.hint(goneRun)
			}
			return nil
		},
	}
}

func (a *app) showRunRecord(r store.Run, gone map[string]bool) {
	rec, l := r.Record, r.Record.Lifecycle
	a.field("run", a.color.Bold(r.ID()))
	a.field("status", a.runState(r, gone))
	a.field("task", r.TaskID)
	a.field("attempt", r.AttemptID)
	a.field("session", clean(r.SessionID))
	a.field("runner", r.RunnerID)
	a.field("created", rec.CreatedAt)
	a.field("heartbeat", rec.HeartbeatAt)
	a.field("took", runTook(r, gone))
	if l.Cancellation != nil {
		a.field("cancel", "requested at "+l.Cancellation.RequestedAt+" "+clean(l.Cancellation.Reason))
	}
	if rec.Error != nil {
		a.field("error", clean(rec.Error.Message))
	}
	a.field("clean-up", l.Cleanup.Status)
	if k := rec.Retention; k != nil {
		switch {
		case k.Retained:
			a.field("kept", "for ever "+clean(k.Reason))
		case k.RetainUntil != "":
			a.field("kept", "until "+k.RetainUntil+" "+clean(k.Reason))
		case k.CleanupEligibleAt != "":
			a.field("kept", "may go after "+k.CleanupEligibleAt)
		}
	}
	if ev, ok := runEvidence(r); ok {
		a.metric("start-up", ev.Timing.Startup)
		a.metric("duration", ev.Timing.Duration)
		a.metric("user time", ev.Resources.RuntimeUserTime)
		a.metric("sys time", ev.Resources.RuntimeSystemTime)
		a.metric("peak rss", ev.Resources.RuntimeMemory)
		for _, p := range ev.Phases {
			a.field("phase", fmt.Sprintf("%-17s %-9s %10.1f ms", p.Name, p.Status, p.DurationMS))
		}
	}
	for _, ref := range rec.ArtifactRefs {
		a.field("artifact", ref.Kind+" "+clean(ref.Directory+ref.Path))
	}
	a.field("record", runrecord.FilePath(r))
}

func (a *app) metric(name string, m evidence.RunMetric) {
	if m.Available && m.Value != nil {
		a.field(name, strconv.FormatFloat(*m.Value, 'f', -1, 64)+" "+m.Unit)
	}
}

func (a *app) runsCancelCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel RUN", Short: "Ask a run to end; one that has ended stays as it is", Args: names("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			req, err := a.st.CancelRun(c.Context(), args[0], reason)
			if err != nil {
				return a.noRun(args[0], err)
			}
			r, err := a.st.Run(c.Context(), req.RunID)
			if err != nil {
				return a.noRun(args[0], err)
			}
			gone, err := a.models().GoneRuns(c.Context(), r)
			if err != nil {
				return err
			}
			if a.json {
				if len(gone) > 0 {
					req.Record = view.RunRecord(r, gone)
				}
				return a.emit(req)
			}
			switch {
			case req.Terminal:
				a.printf("%s has ended already: %s\n", req.RunID, a.runStatus(req.Status))
			case len(gone) > 0:
				a.printf("%s has nobody who could end it: the process that ran it is gone; the request is recorded\n", req.RunID)
				a.hint(settlesRun)
			case req.AlreadyRequested:
				a.printf("%s was asked to cancel before\n", req.RunID)
			default:
				a.printf("%s is asked to cancel\n", req.RunID)
			}
			return nil
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

// artifactDoc is one thing that a run left, and whether it is still there.
type artifactDoc struct {
	evidence.RunArtifactRef
	Exists bool  `json:"exists"`
	Bytes  int64 `json:"bytes"`
}

func (a *app) runsArtifactsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "artifacts RUN", Short: "List what a run left behind", Args: names("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.oneRun(c.Context(), args[0])
			if err != nil {
				return err
			}
			docs := []artifactDoc{}
			for _, ref := range r.Record.ArtifactRefs {
				docs = append(docs, a.artifact(ref))
			}
			if a.json {
				return a.emit(map[string]any{"runId": r.ID(), "status": r.Record.Status, "artifacts": docs})
			}
			rows := make([][]string, len(docs))
			for i, d := range docs {
				state := "there"
				if !d.Exists {
					state = a.color.Yellow("gone")
				}
				rows[i] = []string{clean(d.Kind), state, fmt.Sprint(d.Bytes), clean(d.Directory + d.Path)}
			}
			if len(rows) == 0 {
				if !r.Record.Status.Terminal() {
					a.hint("the run is %s: what it leaves is listed when it has ended", r.Record.Status)
					return nil
				}
				a.hint("the run left nothing")
				return nil
			}
			a.table([]string{"KIND", "STATE", "BYTES", "PATH"}, rows)
			return nil
		},
	}
}

// artifact looks whether a reference still leads somewhere. A relative one is below the home.
func (a *app) artifact(ref evidence.RunArtifactRef) artifactDoc {
	path := filepath.Join(ref.Directory, ref.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.h.Root(), path)
	}
	d := artifactDoc{RunArtifactRef: ref}
	if _, err := os.Lstat(path); err == nil {
		d.Exists = true
		d.Bytes, _ = runrecord.Size(path) // 0 when it cannot be read
	}
	return d
}
