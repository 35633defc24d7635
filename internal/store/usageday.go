package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

const (
	dayParts = 16      // rows of a day, so that attempts do not wait for each other
	addable  = 1 << 40 // what an attempt may have used of anything in a day to be added up with the others
)

// A dayUse is what attempts used on a day, in the order of dayColumns.
type dayUse [13]int64

var dayColumns = []string{
	"turns", "tool_calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_micro_usd",
	"unpriced_tokens", "agent_ms", "told_micro_usd", "told", "counted_micro_usd",
}

// useOf is what one attempt used on a day, by its rows; apart says that it is too much to be added up.
func useOf(rows []UsageRow) (use dayUse, apart bool) {
	sum := SumUsage(rows)
	use = dayUse{
		sum.Turns, sum.ToolCalls, sum.InputTokens, sum.CachedInputTokens, sum.CacheWriteTokens, sum.OutputTokens, sum.ReasoningTokens, sum.CostMicroUSD,
		sum.UnpricedTokens, sum.AgentMS, 0, 0, sum.CountedMicroUSD,
	}
	if sum.ReportedMicroUSD != nil {
		use[10], use[11] = *sum.ReportedMicroUSD, 1
	}
	if slices.Max(use[:]) > addable {
		return dayUse{}, true
	}
	return use, false
}

func (d dayUse) minus(o dayUse) dayUse {
	for i := range d {
		d[i] -= o[i]
	}
	return d
}

func (d dayUse) sum() UsageSum {
	s := UsageSum{CountedMicroUSD: d[12], Usage: Usage{
		Turns: d[0], ToolCalls: d[1], InputTokens: d[2], CachedInputTokens: d[3], CacheWriteTokens: d[4], OutputTokens: d[5], ReasoningTokens: d[6],
		CostMicroUSD: d[7], UnpricedTokens: d[8], AgentMS: d[9],
	}}
	if d[11] > 0 {
		s.ReportedMicroUSD = &d[10]
	}
	return s
}

// putUsage writes what an attempt used so far, and with it what that changes of the sums of its days.
func putUsage(ctx context.Context, t tx, ref Ref, parts []UsagePart) error {
	days := map[string][]UsagePart{}
	for _, p := range parts {
		p.Model = clean(p.Model)
		days[p.Day] = append(days[p.Day], p)
	}
	for _, day := range slices.Sorted(maps.Keys(days)) { // two attempts take the rows of the days in one order
		old, err := usageRows(ctx, t, ` FROM usage WHERE attempt_id = $1 AND day = $2`, ref.AttemptID, day)
		if err != nil {
			return err
		}
		now := map[string]UsageRow{}
		for _, r := range old {
			now[r.Model] = r
		}
		for _, p := range days[day] {
			if err := putPart(ctx, t, ref, p); err != nil {
				return err
			}
			now[p.Model] = UsageRow{AttemptID: ref.AttemptID, UsagePart: p}
		}
		if err := addDay(ctx, t, ref.AttemptID, day, old, slices.Collect(maps.Values(now))); err != nil {
			return err
		}
	}
	return nil
}

func putPart(ctx context.Context, t tx, ref Ref, p UsagePart) error {
	_, err := t.exec(ctx, `INSERT INTO usage (attempt_id, day, model, task_id, turns, tool_calls, input_tokens, cached_tokens,
			cache_write_tokens, output_tokens, reasoning_tokens, cost_micro_usd, told_micro_usd, unpriced_tokens, agent_ms)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (attempt_id, day, model) DO UPDATE SET turns = excluded.turns, tool_calls = excluded.tool_calls,
			input_tokens = excluded.input_tokens, cached_tokens = excluded.cached_tokens,
			cache_write_tokens = excluded.cache_write_tokens, output_tokens = excluded.output_tokens,
			reasoning_tokens = excluded.reasoning_tokens, cost_micro_usd = excluded.cost_micro_usd,
			told_micro_usd = excluded.told_micro_usd, unpriced_tokens = excluded.unpriced_tokens, agent_ms = excluded.agent_ms`,
		ref.AttemptID, p.Day, p.Model, ref.TaskID, p.Turns, p.ToolCalls, p.InputTokens, p.CachedInputTokens,
		p.CacheWriteTokens, p.OutputTokens, p.ReasoningTokens, p.CostMicroUSD, p.ReportedMicroUSD, p.UnpricedTokens, p.AgentMS)
	return err
}

// addDay adds to a day what an attempt used more of it than before.
func addDay(ctx context.Context, t tx, attempt, day string, old, now []UsageRow) error {
	before, was := useOf(old)
	after, is := useOf(now)
	if was != is {
		q := `INSERT INTO usage_apart (day, attempt_id) VALUES ($1, $2)`
		if was {
			q = `DELETE FROM usage_apart WHERE day = $1 AND attempt_id = $2`
		}
		if _, err := t.exec(ctx, q, day, attempt); err != nil {
			return err
		}
	}
	more := after.minus(before)
	if more == (dayUse{}) {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(attempt))
	args := []any{day, int64(h.Sum32() % dayParts)}
	var add []string
	for i, c := range dayColumns {
		args = append(args, more[i])
		add = append(add, c+" = usage_days."+c+" + excluded."+c)
	}
	_, err := t.exec(ctx, `INSERT INTO usage_days (day, part, `+strings.Join(dayColumns, ", ")+`) VALUES `+t.values(1, len(args))+`
		ON CONFLICT (day, part) DO UPDATE SET `+strings.Join(add, ", "), args...)
	return err
}

// UsageOfDay returns what all attempts but one used on a day (YYYY-MM-DD in UTC); an empty id leaves out none. It costs the same
// however many there were.
func (s *Store) UsageOfDay(ctx context.Context, day, but string) (UsageSum, error) {
	if err := checkDay(day); err != nil {
		return UsageSum{}, fmt.Errorf("usage of a day: %w", err)
	}
	out, err := s.usageOfDay(ctx, day, but)
	if err != nil {
		return UsageSum{}, fmt.Errorf("usage of %s: %w", day, classify(err))
	}
	return out, nil
}

func (s *Store) usageOfDay(ctx context.Context, day, but string) (UsageSum, error) {
	c := s.eng.read()
	var total, one dayUse
	rows, err := c.query(ctx, `SELECT `+strings.Join(dayColumns, ", ")+` FROM usage_days WHERE day = $1`, day)
	if err != nil {
		return UsageSum{}, err
	}
	to := make([]any, len(one))
	for i := range one {
		to[i] = &one[i]
	}
	err = eachRow(rows, func() error {
		err := rows.Scan(to...)
		for i := range total {
			total[i] += one[i]
		}
		return err
	})
	if err != nil {
		return UsageSum{}, err
	}
	if but != "" {
		own, err := usageRows(ctx, c, ` FROM usage WHERE attempt_id = $1 AND day = $2`, but, day)
		if err != nil {
			return UsageSum{}, err
		}
		use, _ := useOf(own)
		total = total.minus(use)
	}
	apart, err := usageRows(ctx, c, ` FROM usage_apart x JOIN usage u USING (attempt_id, day) WHERE x.day = $1 AND x.attempt_id <> $2`, day, but)
	if err != nil {
		return UsageSum{}, err
	}
	sum, large := total.sum(), SumUsage(apart)
	return UsageSum{Usage: sum.Add(large.Usage), CountedMicroUSD: plus(sum.CountedMicroUSD, large.CountedMicroUSD)}, nil
}
