package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Usage is what agents used. Input tokens include those that were read from a cache or written to one.
type Usage struct {
	Turns             int64  `json:"turns"`
	ToolCalls         int64  `json:"tool_calls"`
	InputTokens       int64  `json:"input_tokens"`
	CachedInputTokens int64  `json:"cached_input_tokens"`
	CacheWriteTokens  int64  `json:"cache_write_tokens"`
	OutputTokens      int64  `json:"output_tokens"`
	ReasoningTokens   int64  `json:"reasoning_tokens"`
	CostMicroUSD      int64  `json:"cost_micro_usd"`                // as deed computes it from the tokens
	ReportedMicroUSD  *int64 `json:"told_cost_micro_usd,omitempty"` // as the agent reports it; nil: it reports nothing
	UnpricedTokens    int64  `json:"unpriced_tokens"`               // whose price is not known: the cost leaves them out
	AgentMS           int64  `json:"agent_ms"`
}

// Tokens are those of input and output together.
func (u Usage) Tokens() int64 { return plus(u.InputTokens, u.OutputTokens) }

// Add is the sum of two.
func (u Usage) Add(v Usage) Usage {
	for _, f := range []struct {
		dst *int64
		v   int64
	}{
		{&u.Turns, v.Turns},
		{&u.ToolCalls, v.ToolCalls},
		{&u.InputTokens, v.InputTokens},
		{&u.CachedInputTokens, v.CachedInputTokens},
		{&u.CacheWriteTokens, v.CacheWriteTokens},
		{&u.OutputTokens, v.OutputTokens},
		{&u.ReasoningTokens, v.ReasoningTokens},
		{&u.CostMicroUSD, v.CostMicroUSD},
		{&u.UnpricedTokens, v.UnpricedTokens},
		{&u.AgentMS, v.AgentMS},
	} {
		*f.dst = plus(*f.dst, f.v)
	}
	if v.ReportedMicroUSD != nil {
		told := *v.ReportedMicroUSD
		if u.ReportedMicroUSD != nil {
			told = plus(told, *u.ReportedMicroUSD)
		}
		u.ReportedMicroUSD = &told
	}
	return u
}

// plus adds numbers that are not negative, and stays at the largest: an agent's own numbers must not turn a sum round.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// A UsagePart is what an attempt used on one day with one model.
type UsagePart struct {
	Day   string `json:"day"`   // YYYY-MM-DD in UTC
	Model string `json:"model"` // that answered, or that was asked for; empty: not known
	Usage
}

// A UsageRow is a part with its attempt.
type UsageRow struct {
	TaskID    string `json:"task_id"`
	AttemptID string `json:"attempt_id"`
	UsagePart
}

// A UsageSum is what several parts come to. Counted is what a budget of money counts: of each attempt and day the larger of
// what deed computes and what the agent tells.
type UsageSum struct {
	Usage
	CountedMicroUSD int64 `json:"counted_cost_micro_usd"`
}

// SumUsage adds up rows, in any order.
func SumUsage(rows []UsageRow) UsageSum {
	var t tally
	for _, r := range rows {
		t.add(r)
	}
	return t.sum()
}

// A tally adds up rows. Told and computed cost are held against each other for an attempt's whole day, because an agent
// may tell its cost for all of its models at once.
type tally struct {
	total Usage
	costs map[[2]string]Usage // by attempt and day
}

func (t *tally) add(r UsageRow) {
	t.total = t.total.Add(r.Usage)
	if t.costs == nil {
		t.costs = map[[2]string]Usage{}
	}
	key := [2]string{r.AttemptID, r.Day}
	t.costs[key] = t.costs[key].Add(r.Usage)
}

func (t *tally) sum() UsageSum {
	s := UsageSum{Usage: t.total}
	for _, u := range t.costs {
		s.CountedMicroUSD = plus(s.CountedMicroUSD, Counted(u))
	}
	return s
}

// Counted is what a budget of money counts of an attempt's day.
func Counted(u Usage) int64 {
	if u.ReportedMicroUSD != nil {
		return max(u.CostMicroUSD, *u.ReportedMicroUSD)
	}
	return u.CostMicroUSD
}

// maxParts bounds what one attempt records: the models are the agent's words.
const maxParts = 1000

// UpdateUsage records what a live attempt used so far, under its fence. Each part replaces the one of the same day and
// model, so that writing the same again changes nothing.
func (s *Store) UpdateUsage(ctx context.Context, ref Ref, parts []UsagePart) error {
	if err := checkParts(parts); err != nil {
		return fmt.Errorf("usage of attempt %s: %w", ref.AttemptID, err)
	}
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := hold(ctx, t, ref); err != nil {
			return err
		}
		return putUsage(ctx, t, ref, parts)
	})
	if err != nil {
		return fmt.Errorf("usage of attempt %s: %w", ref.AttemptID, err)
	}
	return nil
}

func checkParts(parts []UsagePart) error {
	if len(parts) > maxParts {
		return invalid("%d parts of usage are more than %d", len(parts), maxParts)
	}
	for i, p := range parts {
		if err := checkDay(p.Day); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		for _, n := range []int64{p.Turns, p.ToolCalls, p.InputTokens, p.CachedInputTokens, p.CacheWriteTokens, p.OutputTokens, p.ReasoningTokens, p.CostMicroUSD, p.UnpricedTokens, p.AgentMS} {
			if n < 0 {
				return invalid("part %d: %d is negative", i, n)
			}
		}
		if p.ReportedMicroUSD != nil && *p.ReportedMicroUSD < 0 {
			return invalid("part %d: a told cost of %d is negative", i, *p.ReportedMicroUSD)
		}
	}
	return nil
}

func checkDay(day string) error {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return invalid("day %q is not of the form %s", day, time.DateOnly)
	}
	return nil
}

const usageColumns = `task_id, attempt_id, day, model, turns, tool_calls, input_tokens, cached_tokens, cache_write_tokens,
	output_tokens, reasoning_tokens, cost_micro_usd, told_micro_usd, unpriced_tokens, agent_ms`

func (s *Store) eachUsage(ctx context.Context, where string, fn func(UsageRow), args ...any) error {
	return classify(readUsage(ctx, s.eng.read(), ` FROM usage WHERE `+where, fn, args...))
}

func usageRows(ctx context.Context, c conn, from string, args ...any) (out []UsageRow, err error) {
	err = readUsage(ctx, c, from, func(r UsageRow) { out = append(out, r) }, args...)
	return out, err
}

func readUsage(ctx context.Context, c conn, from string, fn func(UsageRow), args ...any) error {
	rows, err := c.query(ctx, `SELECT `+usageColumns+from, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, func() error {
		var r UsageRow
		err := rows.Scan(&r.TaskID, &r.AttemptID, &r.Day, &r.Model, &r.Turns, &r.ToolCalls, &r.InputTokens, &r.CachedInputTokens,
			&r.CacheWriteTokens, &r.OutputTokens, &r.ReasoningTokens, &r.CostMicroUSD, &r.ReportedMicroUSD, &r.UnpricedTokens, &r.AgentMS)
		if err == nil {
			fn(r)
		}
		return err
	})
}

// UsageOfTask returns what the attempts of a task used, by attempt, day and model. The id is whole.
func (s *Store) UsageOfTask(ctx context.Context, taskID string) ([]UsageRow, error) {
	out := []UsageRow{}
	err := s.eachUsage(ctx, `task_id = $1 ORDER BY attempt_id, day, model`, func(r UsageRow) { out = append(out, r) }, taskID)
	if err != nil {
		return nil, fmt.Errorf("usage of task %s: %w", taskID, err)
	}
	return out, nil
}

// A UsageLine is what a model was used for on a day.
type UsageLine struct {
	Day      string `json:"day"`
	Model    string `json:"model"`
	Attempts int    `json:"attempts"`
	Usage
}

// A UsageReport is what was used, by day and model.
type UsageReport struct {
	Lines []UsageLine         // by day, then model
	Days  map[string]UsageSum // by day
	Total UsageSum

	Attempts int // each once, however many models and days it used
}

// UsageByModel returns what was used from one day to another, both included.
func (s *Store) UsageByModel(ctx context.Context, from, to string) (UsageReport, error) {
	for _, day := range []string{from, to} {
		if err := checkDay(day); err != nil {
			return UsageReport{}, fmt.Errorf("usage by model: %w", err)
		}
	}
	lines := map[[2]string]UsageLine{}
	days := map[string]*tally{}
	var total tally
	err := s.eachUsage(ctx, `day >= $1 AND day <= $2`, func(r UsageRow) {
		key := [2]string{r.Day, r.Model}
		l := lines[key]
		lines[key] = UsageLine{Day: r.Day, Model: r.Model, Attempts: l.Attempts + 1, Usage: l.Usage.Add(r.Usage)}
		if days[r.Day] == nil {
			days[r.Day] = &tally{}
		}
		days[r.Day].add(r)
		total.add(r)
	}, from, to)
	if err != nil {
		return UsageReport{}, fmt.Errorf("usage by model: %w", err)
	}
	out := UsageReport{Lines: make([]UsageLine, 0, len(lines)), Days: map[string]UsageSum{}, Total: total.sum()}
	for _, l := range lines {
		out.Lines = append(out.Lines, l)
	}
	slices.SortFunc(out.Lines, func(a, b UsageLine) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model))
	})
	for day, t := range days {
		out.Days[day] = t.sum()
	}
	attempts := map[string]bool{}
	for key := range total.costs {
		attempts[key[0]] = true
	}
	out.Attempts = len(attempts)
	return out, nil
}
