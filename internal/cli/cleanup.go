package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/gc"
)

func (a *app) cleanupCmd() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "cleanup", Short: "Clear away what dead runs left, and what retention gives up", Args: cobra.NoArgs,
		Long: `Find what has no owner any more, say for each thing what it is and why, and clear it away: attempts whose process
died, their processes, mounts, workspaces, clean rooms and temporary files, half-written bundles, and records of runs
that nobody will end. Then hold bundles, records and versions of skills to the retention rule of deed.yaml and of each run. What belongs to a
live process is left alone and named. A dispatcher does the same at its start.

It takes the dispatch lock of the home. With --dry-run it takes none and changes nothing.`,
		Example: `  deed cleanup --dry-run
  deed cleanup --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			rep, err := a.cleanup(c.Context(), dry)
			if err != nil && len(rep.Findings) == 0 {
				return err
			}
			if eerr := a.showCleanup(rep, dry); eerr != nil {
				return eerr
			}
			if err != nil { // each fault is in its finding
				return &exitError{code: ExitInfra, err: errSilent}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	return c
}

func (a *app) cleanup(ctx context.Context, dry bool) (rep gc.Report, err error) {
	if dry {
		self, err := proc.SelfIdentity()
		if err != nil {
			return rep, fmt.Errorf("identify this process: %w", err)
		}
		r := &gc.Collector{Home: a.h, Store: a.st, Self: self, Clock: clock.System, Log: a.logger(a.level()), Retention: a.cfg.Retention, Temp: os.TempDir()}
		return r.Sweep(ctx, gc.Options{DryRun: true, Deep: true, Whole: true})
	}
	eng, release, err := a.locked(ctx, 1)
	if err != nil {
		return rep, err
	}
	rep, err = eng.Reclaim(ctx, gc.Options{Deep: true, Whole: true})
	if rerr := release(); err == nil {
		err = rerr
	}
	return rep, err
}

func (a *app) showCleanup(rep gc.Report, dry bool) error {
	if a.json {
		return a.emit(struct {
			DryRun bool `json:"dry_run"`
			gc.Report
		}{dry, rep})
	}
	rows := make([][]string, len(rep.Findings))
	for i, f := range rep.Findings {
		what := f.Path
		switch {
		case f.PID != 0:
			what = fmt.Sprint("pid ", f.PID)
		case what == "":
			what = f.Owner
		}
		why := f.Reason
		if f.Error != "" {
			why += ": " + a.color.Red(clean(f.Error))
		}
		rows[i] = []string{f.Result, f.Action, f.Kind, clean(what), why}
	}
	if len(rows) == 0 {
		a.hint("nothing is left behind")
		return nil
	}
	a.table([]string{"RESULT", "ACTION", "KIND", "WHAT", "WHY"}, rows)
	if dry {
		a.hint("%d bytes would be reclaimed", rep.Planned)
	} else {
		a.hint("%d bytes reclaimed", rep.Bytes)
	}
	return nil
}
