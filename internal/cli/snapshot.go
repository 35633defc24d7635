package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	used "github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/report"
)

func (a *app) snapshotCmd() *cobra.Command {
	var output, old string
	c := &cobra.Command{
		Use: "snapshot", Short: "Write how this home stands now, or what changed since an older snapshot", Args: cobra.NoArgs,
		Long: `Write one JSON document with the counts of tasks, the queue, schedules, workflows, sensors and usage. Keep one for
every day, and compare: --compare says what changed from an older snapshot to now.`,
		Example: `  deed snapshot --output monday.json
  deed snapshot --compare monday.json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "" && old != "" {
				return usage(errors.New("--output and --compare exclude each other (give one)"))
			}
			var was deed.Snapshot
			if old != "" {
				var err error
				if was, err = a.readSnapshot(c.Context(), old); err != nil {
					return err
				}
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			now, err := report.Take(c.Context(), a.st, clock.System(), Version())
			if err != nil {
				return err
			}
			if old != "" {
				return a.showComparison(report.Compare(was, now))
			}
			return a.writeSnapshot(now, output)
		},
	}
	c.Flags().StringVar(&output, "output", "", "write to `FILE` instead of standard output")
	c.Flags().StringVar(&old, "compare", "", "say what changed since the snapshot in `FILE`, - for standard input")
	return c
}

// maxSnapshotFile bounds a snapshot that is read: its lists are bounded when it is written.
const maxSnapshotFile = 16 << 20

func (a *app) readSnapshot(ctx context.Context, file string) (deed.Snapshot, error) {
	data, err := a.readDocument(ctx, file, maxSnapshotFile)
	if err != nil {
		return deed.Snapshot{}, unread(err)
	}
	s, err := schema.Decode[deed.Snapshot](deed.SchemaSnapshot, data)
	if err != nil {
		return s, usage(fmt.Errorf("%s: %w", shownInput(file), err))
	}
	return s, nil
}

func (a *app) writeSnapshot(s deed.Snapshot, output string) error {
	for _, name := range s.Truncated {
		a.hint("the snapshot has the first part of %s only", name)
	}
	if output == "" {
		return a.emit(s)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the snapshot: %w", err)
	}
	if err := atomicfile.WriteFile(output, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	a.hint("wrote %s", showPath(output))
	return nil
}

func (a *app) showComparison(c report.Comparison) error {
	if a.json {
		return a.emit(c)
	}
	a.printf("%s\n", a.color.Dim(clean(c.From)+" to "+clean(c.To)))
	if len(c.Changes) == 0 && len(c.Workflows) == 0 && len(c.Schedules) == 0 {
		a.printf("nothing changed\n")
	}
	for _, x := range c.Changes {
		a.printf("%-28s %d → %d (%+d)\n", clean(x.Name), x.From, x.To, x.Delta)
	}
	for _, w := range c.Workflows {
		text := clean(w.State)
		if w.Change == "advanced" {
			text = clean(w.Was) + " → " + text
		}
		a.printf("workflow %-19s %s %s: %s\n", w.Change, clean(w.WorkflowType), shorten(clean(w.InstanceKey), 40), text)
	}
	for _, s := range c.Schedules {
		a.printf("schedule %-19s %s\n", s.Change, clean(s.Name))
	}
	if u := c.Usage; u.CostMicroUSD != 0 || u.InputTokens+u.OutputTokens != 0 {
		a.printf("%-28s $%s, %d tokens in, %d out\n", "used", used.USD(u.CostMicroUSD), u.InputTokens, u.OutputTokens)
	}
	for _, name := range c.Truncated {
		a.hint("%s are not compared: there are more than a snapshot holds", clean(name))
	}
	if c.EndedIdle {
		a.printf("nothing is ready or running\n")
	}
	return nil
}
