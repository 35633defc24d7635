package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// cycleDoc is a cycle as --json shows it.
type cycleDoc struct {
	Schema   string                 `json:"schema"`
	Seq      int64                  `json:"seq"`
	RunnerID string                 `json:"runner_id"`
	BeganAt  agentruntime.Timestamp `json:"began_at"`
	EndedAt  agentruntime.Timestamp `json:"ended_at"`
	store.CycleWork
}

const schemaCycle = "deed/dispatch.cycle/v1"

func (a *app) cyclesCmd() *cobra.Command {
	var limit int
	var since string
	c := &cobra.Command{
		Use: "cycles", Short: "List what the dispatcher did, newest first", Args: cobra.NoArgs,
		Long: `List what the dispatcher did, one line for each stretch of time in which it did anything: what it reclaimed, which tasks schedules,
sensors and workflows made, what became of attempts, what was delivered and sent, and what went wrong. The newest 10,000 are kept. What a
killed process had done since its newest line is in ` + "`deed task events`" + ` alone.`,
		Example: `  deed cycles
  deed cycles --since 12h --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10_000 {
				return usage(fmt.Errorf("--limit %d is not between 1 and 10000", limit))
			}
			from, err := instantOrAge(since)
			if err != nil {
				return err
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			list, err := a.st.Cycles(c.Context(), from, limit)
			if err != nil {
				return err
			}
			for _, x := range list {
				a.hintDamaged(x.Damage)
			}
			return a.showCycles(list)
		},
	}
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	c.Flags().StringVar(&since, "since", "", "only what is not older: an instant such as 2026-01-31T08:00:00Z, or a time such as 10m")
	return c
}

func (a *app) showCycles(list []store.Cycle) error {
	if a.json {
		for _, x := range list {
			if err := a.emit(cycleDoc{
				Schema: schemaCycle, Seq: x.Seq, RunnerID: x.RunnerID, BeganAt: agentruntime.At(x.BeganAt), EndedAt: agentruntime.At(x.EndedAt), CycleWork: x.CycleWork,
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		a.hint("the dispatcher has done nothing yet")
		return nil
	}
	for _, x := range list {
		a.printf("%s  %6s  %s\n", x.BeganAt.UTC().Format(time.RFC3339), cycleSpan(x), cycleText(x.CycleWork))
		for _, f := range x.Faults {
			a.printf("    %s\n", clean(f))
		}
		if more := x.FaultsAll - len(x.Faults); more > 0 {
			a.printf("    and %d faults more\n", more)
		}
	}
	return nil
}

// cycleSpan is how long a stretch was. Most are shorter than a second, and none took no time.
func cycleSpan(x store.Cycle) string {
	d := x.EndedAt.Sub(x.BeganAt)
	if d < time.Second {
		return "<1s"
	}
	return d.Round(time.Second).String()
}

// cycleText says what a cycle did on one line.
func cycleText(w store.CycleWork) string {
	var parts []string
	say := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	say(w.Reclaimed, "reclaimed")
	say(w.Expired, "decided by their deadline")
	for _, k := range slices.Sorted(maps.Keys(w.Created)) {
		say(w.Created[k], "queued by "+clean(k))
	}
	for _, k := range slices.Sorted(maps.Keys(w.Settled)) {
		say(w.Settled[k], clean(k))
	}
	say(w.Delivered, "follow-ups queued")
	say(w.Sent, "messages sent")
	say(w.FaultsAll, "faults")
	return strings.Join(parts, ", ")
}
