package cli

import (
	"context"
	"errors"
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
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/store"
)

// schemaUsage is the id of what `deed usage --json` writes.
const schemaUsage = "deed/usage/v1"

// usageDoc is what `deed usage` shows as JSON. Money is in millionths of a dollar.
type usageDoc struct {
	Schema string                    `json:"schema"`
	From   string                    `json:"from,omitempty"`
	To     string                    `json:"to,omitempty"`
	TaskID string                    `json:"task_id,omitempty"`
	Budget *deed.Budget              `json:"budget,omitempty"` // of the task, or of the day
	Lines  []store.UsageLine         `json:"lines,omitempty"`
	Days   map[string]store.UsageSum `json:"days,omitempty"`
	Rows   []store.UsageRow          `json:"rows,omitempty"`
	By     string                    `json:"by,omitempty"`
	Groups []store.UsageGroup        `json:"groups,omitempty"`
	Total  store.UsageSum            `json:"total"`
	Prices string                    `json:"price_table"`

	Attempts int `json:"attempts"` // in the total: one that used two models is in two lines
}

func (a *app) usageCmd() *cobra.Command {
	var taskID, day, by string
	var days int
	c := &cobra.Command{
		Use: "usage", Short: "Show tokens, money, turns and time, by day and model", Args: cobra.NoArgs,
		Long: `Show what agents used, by day (UTC) and model, by attempt with --task, or by one thing with --by. Cost is what deed computes from the tokens
and its prices; told is what the agents themselves report. A budget of money counts the larger one of the two.`,
		Example: `  deed usage --days 7
  deed usage --days 30 --by profile
  deed usage --task 019ad2c4`,
		RunE: func(c *cobra.Command, _ []string) error {
			changed := c.Flags().Changed
			switch {
			case changed("task") && (changed("day") || changed("days") || changed("by")):
				return usage(errors.New("--task excludes --day, --days and --by: it shows all days by attempt"))
			case changed("by") && used.Keys[by] == nil:
				return usage(fmt.Errorf("--by %q is not one of %s", by, strings.Join(slices.Sorted(maps.Keys(used.Keys)), ", ")))
			case changed("day") && changed("days"):
				return usage(errors.New("--day and --days exclude each other (give one)"))
			case days < 1 || days > 3660:
				return usage(fmt.Errorf("--days %d is not between 1 and 3660", days))
			case changed("task"):
				return a.usageOfTask(c.Context(), taskID)
			}
			to := clock.System()
			if changed("day") {
				var err error
				if to, err = time.Parse(time.DateOnly, day); err != nil {
					return usage(fmt.Errorf("--day %q is not of the form %s", day, time.DateOnly))
				}
				days = 1
			}
			from, last := used.Day(to.AddDate(0, 0, 1-days)), used.Day(to)
			if changed("by") {
				return a.usageBy(c.Context(), by, from, last)
			}
			return a.usageOfDays(c.Context(), from, last)
		},
	}
	c.Flags().StringVar(&taskID, "task", "", "only this `TASK`, by attempt")
	c.Flags().StringVar(&by, "by", "", "add up by `WHAT`: agent, adapter, day, kind, model, profile, task or type")
	c.Flags().StringVar(&day, "day", "", "only this `DAY`, as 2006-01-02 in UTC")
	c.Flags().IntVar(&days, "days", 1, "this many days, today included")
	return c
}

func (a *app) usageBy(ctx context.Context, by, from, to string) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	var g store.UsageGroups
	key := used.Keys[by]
	if err := a.st.EachUsage(ctx, from, to, func(r store.UsageShare) { g.Add(key(r), r.UsageRow) }); err != nil {
		return err
	}
	lines, total := g.Lines(), g.Total()
	if a.json {
		return a.emit(usageDoc{Schema: schemaUsage, From: from, To: to, By: by, Groups: lines, Total: total.UsageSum, Attempts: total.Attempts, Prices: used.TableVersion()})
	}
	if len(lines) == 0 {
		a.hint("nothing was used from %s to %s", from, to)
		return nil
	}
	row := func(name string, l store.UsageGroup) []string {
		return append([]string{name, fmt.Sprint(l.Tasks), fmt.Sprint(l.Attempts)}, usageCells(l.Usage)...)
	}
	var rows [][]string
	for _, l := range lines {
		rows = append(rows, row(modelName(l.Key), l))
	}
	a.table(append([]string{strings.ToUpper(by), "TASKS", "ATTEMPTS"}, usageHead...), append(rows, row("total", total)))
	return nil
}

func (a *app) usageOfDays(ctx context.Context, from, to string) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	r, err := a.st.UsageByModel(ctx, from, to)
	if err != nil {
		return err
	}
	if a.json {
		doc := usageDoc{Schema: schemaUsage, From: from, To: to, Lines: r.Lines, Days: r.Days, Total: r.Total, Attempts: r.Attempts, Prices: used.TableVersion()}
		if b := a.cfg.Budgets.Day; !b.IsZero() {
			doc.Budget = &b
		}
		return a.emit(doc)
	}
	if len(r.Lines) == 0 {
		a.hint("nothing was used from %s to %s", from, to)
		return nil
	}
	rows := make([][]string, 0, len(r.Lines)+1)
	for _, l := range r.Lines {
		rows = append(rows, append([]string{l.Day, modelName(l.Model), fmt.Sprint(l.Attempts)}, usageCells(l.Usage)...))
	}
	rows = append(rows, append([]string{"total", "", fmt.Sprint(r.Attempts)}, usageCells(r.Total.Usage)...))
	a.table(append([]string{"DAY", "MODEL", "ATTEMPTS"}, usageHead...), rows)
	a.showBudget("day", a.cfg.Budgets.Day)
	return nil
}

func (a *app) usageOfTask(ctx context.Context, id string) error {
	t, err := a.oneTask(ctx, id)
	if err != nil {
		return err
	}
	rows, err := a.st.UsageOfTask(ctx, t.ID())
	if err != nil {
		return err
	}
	limits := a.taskLimits(t)
	attempts := map[string]bool{}
	for _, r := range rows {
		attempts[r.AttemptID] = true
	}
	if a.json {
		doc := usageDoc{Schema: schemaUsage, TaskID: t.ID(), Rows: rows, Total: store.SumUsage(rows), Attempts: len(attempts), Prices: used.TableVersion()}
		if !limits.IsZero() {
			doc.Budget = &limits
		}
		return a.emit(doc)
	}
	if len(rows) == 0 {
		a.hint("task %s has used nothing", t.ID())
		return nil
	}
	var out [][]string
	for _, r := range rows {
		out = append(out, append([]string{r.AttemptID, r.Day, modelName(r.Model)}, usageCells(r.Usage)...))
	}
	out = append(out, append([]string{"total of " + count(len(attempts), "attempt"), "", ""}, usageCells(store.SumUsage(rows).Usage)...))
	a.table(append([]string{"ATTEMPT", "DAY", "MODEL"}, usageHead...), out)
	a.showBudget("task", limits)
	return nil
}

// taskLimits is the budget that holds for a task.
func (a *app) taskLimits(t store.Task) deed.Budget {
	var own *deed.Budget
	if t.Intent.Deed != nil {
		own = t.Intent.Deed.Budget
	}
	return used.LimitsOf(a.cfg, t.ID(), own).Task
}

var usageHead = []string{"TURNS", "TOOLS", "INPUT", "CACHED", "OUTPUT", "COST", "TOLD", "TIME"}

func usageCells(u store.Usage) []string {
	cost, claimed := "$"+used.USD(u.CostMicroUSD), ""
	switch {
	case u.UnpricedTokens > 0 && u.CostMicroUSD == 0:
		cost = "unknown"
	case u.UnpricedTokens > 0:
		cost += "+"
	}
	if u.ReportedMicroUSD != nil {
		claimed = "$" + used.USD(*u.ReportedMicroUSD)
	}
	return []string{
		fmt.Sprint(u.Turns), fmt.Sprint(u.ToolCalls), fmt.Sprint(u.InputTokens), fmt.Sprint(u.CachedInputTokens), fmt.Sprint(u.OutputTokens),
		cost, claimed, (time.Duration(u.AgentMS) * time.Millisecond).Round(100 * time.Millisecond).String(),
	}
}

// modelName comes from an agent, so it is cleaned.
func modelName(m string) string {
	if m == "" {
		return "-"
	}
	return shorten(clean(m), 60)
}

// showUsage prints what a task used and may use, where there is anything to say.
func (a *app) showUsage(t store.Task, s store.UsageSum) {
	if s.Tokens() > 0 || s.Turns > 0 || s.CountedMicroUSD > 0 {
		a.field("usage", fmt.Sprintf("%s, %s, %d tokens, $%s", count(s.Turns, "turn"), count(s.ToolCalls, "tool call"), s.Tokens(), used.USD(s.CountedMicroUSD)))
	}
	a.showBudget("", a.taskLimits(t))
}

func (a *app) showBudget(of string, b deed.Budget) {
	if text := budgetText(b); text != "" {
		a.field(strings.TrimSpace("budget "+of), text)
	}
}

func budgetText(b deed.Budget) string {
	var parts []string
	for _, p := range []struct {
		set  bool
		text string
	}{
		{b.CostUSD > 0, "$" + used.USD(b.CostMicroUSD())},
		{b.Tokens > 0, fmt.Sprintf("%d tokens", b.Tokens)},
		{b.Turns > 0, count(b.Turns, "turn")},
		{b.ToolCalls > 0, count(b.ToolCalls, "tool call")},
		{b.WallSeconds > 0, (time.Duration(b.WallSeconds) * time.Second).String()},
	} {
		if p.set {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) taskBudgetCmd() *cobra.Command {
	var b deed.Budget
	var wall time.Duration
	c := &cobra.Command{
		Use: "budget TASK", Short: "Give a task another budget; one that waits for that goes on", Args: names("TASK"),
		Long: `Change what a task may use, over all its attempts. Bounds that are not named stay; 0 leaves a bound to the configured
budget. A task that is blocked because its budget is used up becomes due at once, and goes on where it stopped. An attempt
that runs keeps the budget that it began with.`,
		Example: `  deed task budget 019ad2c4 --usd 5 --tokens 4000000`,
		RunE: func(c *cobra.Command, args []string) error {
			changed := c.Flags().Changed
			if !changed("usd") && !changed("tokens") && !changed("turns") && !changed("tool-calls") && !changed("wall") {
				return usage(errors.New("no bound is named (give --usd, --tokens, --turns, --tool-calls or --wall)"))
			}
			if wall < 0 || wall%time.Second != 0 {
				return usage(fmt.Errorf("--wall %s is not a number of whole seconds", wall))
			}
			b.WallSeconds = int64(wall / time.Second)
			if err := b.Validate(); err != nil {
				return usage(err)
			}
			t, err := a.oneTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			merge := func(now deed.Budget) deed.Budget {
				for flag, set := range map[string]func(){
					"usd": func() { now.CostUSD = b.CostUSD }, "tokens": func() { now.Tokens = b.Tokens }, "turns": func() { now.Turns = b.Turns },
					"tool-calls": func() { now.ToolCalls = b.ToolCalls }, "wall": func() { now.WallSeconds = b.WallSeconds },
				} {
					if changed(flag) {
						set()
					}
				}
				return now
			}
			return a.setBudget(c.Context(), t, merge)
		},
	}
	f := c.Flags()
	f.Float64Var(&b.CostUSD, "usd", 0, "`DOLLARS`")
	f.Int64Var(&b.Tokens, "tokens", 0, "tokens, input and output together")
	f.IntVar(&b.Turns, "turns", 0, "answers of the model")
	f.IntVar(&b.ToolCalls, "tool-calls", 0, "tool calls")
	f.DurationVar(&wall, "wall", 0, "time that the agent may run, for example 2h")
	return c
}

func (a *app) setBudget(ctx context.Context, t store.Task, merge func(deed.Budget) deed.Budget) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	res, err := desk.Budget(ctx, t, a.operator(), merge)
	if errors.Is(err, answer.ErrAnswer) {
		return usage(err)
	}
	if err != nil {
		return refused(err)
	}
	if a.json {
		return a.emit(map[string]any{"task_id": t.ID(), "previous": res.Previous, "budget": res.Budget, "answered": len(res.Answered), "status": res.Status})
	}
	a.printf("%s %s\n", t.ID(), a.status(res.Status))
	a.showBudget("", a.taskLimits(store.Task{Intent: agentruntime.TaskIntent{Deed: &deed.TaskSpec{Budget: &res.Budget}}}))
	if res.Status == agentruntime.TaskRunning {
		a.hint("the attempt that runs keeps its budget; the next one gets this")
	}
	return nil
}
