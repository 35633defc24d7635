package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	used "github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/engine/view"
)

func (a *app) reportCmd() *cobra.Command {
	var since, until string
	c := &cobra.Command{
		Use: "report", Short: "Tell what happened since yesterday, and what waits for you", Args: cobra.NoArgs,
		Long: `Report what happened in a span of time: what was done and what proves it, what failed and why, what the gate refused, which
workflows moved, which schedules ran, and what it cost. What waits for you is listed as of now, with the command that
answers it. A span is given as a duration back from now, or as an instant.`,
		Example: `  deed report
  deed report --since 2026-11-14T18:00:00Z --until 2026-11-15T08:00:00Z --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			now := clock.System()
			to := now
			from, err := instant("--since", since, now)
			if err == nil && until != "" {
				to, err = instant("--until", until, now)
			}
			if err != nil {
				return usage(err)
			}
			if !from.Before(to) {
				return usage(fmt.Errorf("--since %s is not before the end of the span, %s (give an earlier one)", agentruntime.At(from), agentruntime.At(to)))
			}
			return a.morning(c.Context(), report.Options{From: from, To: to, Now: now})
		},
	}
	c.Flags().StringVar(&since, "since", "24h", "the beginning: a `SPAN` back from now such as 24h, or an instant")
	c.Flags().StringVar(&until, "until", "", "the end: a `SPAN` back from now, or an instant (default now)")
	return c
}

// instant reads a duration back from now, a day, or an instant.
func instant(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d < 0 {
			return time.Time{}, fmt.Errorf("%s %s is in the future (give a span back from now, without a sign)", flag, text)
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q is neither a span such as 24h nor an instant such as 2006-01-02T15:04:05Z or 2006-01-02", flag, text)
}

func (a *app) morning(ctx context.Context, o report.Options) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	ap, err := a.applier(false)
	if err != nil {
		return err
	}
	staged, err := ap.Pending(false)
	if err != nil {
		return err
	}
	for _, s := range staged {
		o.Also = append(o.Also, deed.ReportWaiting{Kind: view.KindApply, ID: s.ActionID, About: s.Summary, Command: "deed action approve " + s.ActionID})
	}
	o.Sensors = slices.Collect(maps.Keys(a.cfg.Sensors))
	r, err := report.Make(ctx, a.st, o)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(r)
	}
	a.showMorning(r)
	return nil
}

// shownLines bounds each section for people; --json has more.
const shownLines = 12

// section prints a heading and at most shownLines lines; nothing when there are none.
func (a *app) section(title string, lines []string, all int, command string) {
	if len(lines) == 0 {
		return
	}
	a.printf("\n%s\n", a.color.Bold(title))
	for _, l := range lines[:min(len(lines), shownLines)] {
		a.printf("%s\n", l)
	}
	if n := all - min(len(lines), shownLines); n > 0 {
		a.printf("%s\n", a.color.Dim(fmt.Sprintf("  and %d more (%s)", n, command)))
	}
}

func (a *app) showMorning(r deed.Report) {
	a.printf("%s\n%s\n", a.color.Bold(r.Headline), a.color.Dim(toSecond(r.From)+" to "+toSecond(r.To)))
	if r.Truncated {
		a.printf("%s\n", a.color.Yellow("More happened than is read at once: the numbers are those of the newest part (give a shorter --since)."))
	}
	a.section("Waits for you", a.waitingLines(r.Waiting), r.Totals.Waiting, "deed action list, deed outbox list")
	a.section("Tried again", a.retryLines(r.Retries, r.CreatedAt), r.Totals.Retrying, "deed task list --status retryable_failure")
	var lines []string
	for _, s := range r.Sensors {
		lines = append(lines, fmt.Sprintf("  %s  %s since %s; last: %s\n    %s", a.color.Red(clean(s.SensorID)), timesText(int64(s.Failures)), toSecond(s.Since), shorten(clean(s.LastError), 140), clean(s.Command)))
	}
	a.section("Sensors that fail", lines, len(r.Sensors)+r.More["sensors"], "deed sensor list")
	a.section("Done", a.doneLines(r.Done), r.Totals.Completed, "deed task list --status completed")
	a.section("Failed", a.failureLines(r.Failures), len(r.Failures)+r.More["failures"], "deed task list --status permanent_failure")
	lines = nil
	for _, x := range r.Refusals {
		lines = append(lines, fmt.Sprintf("  %s  %s  %s", a.color.Yellow(clean(x.Code)), count(x.Attempts, "attempt"), shorten(clean(x.Message), 100)), "    "+x.Command)
	}
	a.section("Refused by the gate", lines, len(lines), "deed report --json")
	a.section("Workflows", a.flowLines(r.Workflows), len(r.Workflows)+r.More["workflows"], "deed workflow list --all")
	lines = nil
	for _, s := range r.Schedules {
		parts := []string{"ran " + timesText(int64(s.Ran))}
		if s.Missed > 0 {
			parts = append(parts, "missed "+timesText(s.Missed))
		}
		if s.Skipped > 0 {
			parts = append(parts, "skipped "+timesText(int64(s.Skipped)))
		}
		lines = append(lines, fmt.Sprintf("  %s  %s", clean(s.Name), strings.Join(parts, ", ")))
	}
	a.section("Schedules", lines, len(lines)+r.More["schedules"], "deed schedule list")
	lines = nil
	if n := r.Totals.Delivered; n > 0 {
		lines = append(lines, "  "+count(n, "message")+" delivered")
	}
	if n := r.Totals.Given; n > 0 {
		lines = append(lines, "  "+a.color.Red(count(n, "message")+" given up"))
	}
	a.section("Messages", lines, len(lines), "deed outbox list")
	lines = a.costLines(r.Cost)
	a.section("Cost", lines, len(lines), "deed usage --by model")
}

func timesText(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (a *app) waitingLines(list []deed.ReportWaiting) (out []string) {
	for _, w := range list {
		out = append(out, fmt.Sprintf("  %s  %s\n    %s", a.color.Yellow(strings.ReplaceAll(w.Kind, "_", " ")), shorten(clean(w.About), 140), clean(w.Command)))
	}
	return out
}

func (a *app) doneLines(list []deed.ReportTask) (out []string) {
	for _, d := range list {
		var proof []string
		if d.Grade != "" {
			proof = append(proof, d.Grade)
		}
		if n := len(d.ChecksPassed); n > 0 {
			proof = append(proof, count(n, "check")+" passed: "+shorten(clean(strings.Join(d.ChecksPassed, ", ")), 60))
		}
		switch {
		case d.NoOp:
			proof = append(proof, "nothing had to be changed")
		case d.FilesChanged > 0:
			proof = append(proof, count(d.FilesChanged, "file")+" changed")
		}
		if d.BundleID != "" {
			proof = append(proof, "bundle "+shorten(strings.TrimPrefix(d.BundleID, "artifact-bundle-"), 19))
		}
		name := clean(d.Subject)
		if name == "" {
			name = d.TaskType
		}
		out = append(out, fmt.Sprintf("  %s  %s\n    %s", a.color.Green(d.TaskID), shorten(name, 90), strings.Join(proof, "; ")))
	}
	return out
}

func (a *app) failureLines(list []deed.ReportFailure) (out []string) {
	for _, f := range list {
		text := fmt.Sprintf("  %s  %s: %s", a.color.Red(f.Class), count(f.Tasks, "task"), f.About)
		if last := strings.Trim(clean(f.Subject)+": "+clean(f.LastError), ": "); last != "" {
			text += "\n    last: " + shorten(last, 200)
		}
		if f.Command != "" {
			text += "\n    " + f.Command
		}
		out = append(out, text)
	}
	return out
}

func (a *app) retryLines(list []deed.ReportRetry, now string) (out []string) {
	for _, t := range list {
		when := "at " + toSecond(t.TryAt)
		if t.TryAt <= now {
			when = "as soon as deed serve or deed dispatch looks"
		}
		name := clean(t.Subject)
		if name == "" {
			name = t.TaskType
		}
		text := fmt.Sprintf("  %s  %s\n    %s; %d of %s failed", a.color.Yellow(t.TaskID), shorten(name, 90), when, t.Attempts, count(t.MaxAttempts, "attempt"))
		if t.LastError != "" {
			text += "; last: " + shorten(clean(t.LastError), 200)
		}
		out = append(out, text+"\n    "+t.Command)
	}
	return out
}

func (a *app) flowLines(list []deed.ReportWorkflow) (out []string) {
	for _, w := range list {
		from := clean(w.From)
		if from == "" {
			from = "start"
		}
		text := fmt.Sprintf("  %s %s  %s → %s in %s", clean(w.WorkflowType), shorten(clean(w.InstanceKey), 40), from, clean(w.To), count(w.Steps, "step"))
		switch {
		case w.Ending != "":
			text += ", " + a.color.Green(w.Ending)
		case w.Blocked != "":
			text += ", " + a.color.Yellow("blocked: "+shorten(clean(w.Blocked), 100))
		}
		out = append(out, text)
	}
	return out
}

func (a *app) costLines(c deed.ReportCost) (out []string) {
	if c.Total.Turns == 0 && c.Total.InputTokens+c.Total.OutputTokens == 0 && c.Total.CostMicroUSD == 0 && c.Total.AgentMS == 0 {
		return nil
	}
	line := func(name string, u deed.UsageTotals) string {
		cost := "$" + used.USD(u.CostMicroUSD)
		if u.UnpricedTokens > 0 {
			cost += " and more: tokens without a price"
		}
		if u.InputTokens+u.OutputTokens > 0 {
			cost += fmt.Sprintf(", %d tokens in, %d out", u.InputTokens, u.OutputTokens)
		}
		return fmt.Sprintf("  %-24s %s, agents ran %s", name, cost, (time.Duration(u.AgentMS) * time.Millisecond).Round(time.Second))
	}
	out = append(out, line("all", c.Total))
	for _, by := range []struct {
		name string
		list []deed.UsageTotals
	}{{"model", c.ByModel}, {"profile", c.ByProfile}, {"adapter", c.ByAdapter}} {
		if len(by.list) == 1 && by.list[0].Key == "" {
			continue // no model at all: the line above covers it
		}
		for _, u := range by.list[:min(len(by.list), 3)] {
			out = append(out, line(by.name+" "+modelName(u.Key), u))
		}
	}
	return out
}
