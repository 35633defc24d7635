// Package usage owns the account of what agents use: tokens, money, turns, tool calls and time, held against the budgets
// of a task and of a day, and the prices that turn tokens into money. It ends nothing by itself: it returns the failure
// with which the caller ends the agent. Where the account is kept is the store's.
package usage

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/store"
)

// Limits are the budgets that an attempt is held to.
type Limits struct {
	TaskID string      // for the remedy
	Task   deed.Budget // over all attempts of the task
	Day    deed.Budget // over all tasks, from midnight to midnight in UTC
}

// LimitsOf are the limits of a task: its own budget, with the operator's default where it leaves a bound open, and the
// operator's budget of the day.
func LimitsOf(c *config.Config, taskID string, own *deed.Budget) Limits {
	l := Limits{TaskID: taskID, Task: c.Budgets.Task, Day: c.Budgets.Day}
	if own != nil {
		l.Task = own.Over(c.Budgets.Task)
	}
	return l
}

// Before is what was used before an attempt, or concurrently with it.
type Before struct {
	Task  store.UsageSum // by the earlier attempts of its task
	Day   store.UsageSum // by all other attempts on the day Today
	Today string         // YYYY-MM-DD in UTC
}

// Bounds on what one event may add: the numbers are an agent's own words.
const (
	maxTokens      = int64(1e12)
	maxReportedUSD = int64(1e12) // a million dollars
	maxModels      = 200         // that an attempt may name; what it names beyond them has no name
	maxNameSize    = 256
)

// A Meter is the running account of one attempt. It is safe for concurrent use. Once a bound is reached, every method that
// adds returns its failure.
type Meter struct {
	limits Limits
	prices Prices
	now    clock.Clock

	mu      sync.Mutex // guards what follows
	before  Before
	model   string // that answered last, or that was asked for
	parts   map[[2]string]*part
	models  map[string]bool
	unknown *string // a model that answered and has no price
}

// A part is the account of a day and a model.
type part struct {
	store.Usage
	pico int64 // its cost; see Price.pico
}

// NewMeter begins the account of an attempt that asks for a model.
func NewMeter(model string, l Limits, b Before, p Prices, now clock.Clock) *Meter {
	return &Meter{limits: l, before: b, prices: p, now: now, model: name(model), parts: map[[2]string]*part{}, models: map[string]bool{}}
}

// Others replaces what other attempts used on the day: they run concurrently with this one.
func (m *Meter) Others(day store.UsageSum, today string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before.Day, m.before.Today = day, today
	return m.over(false)
}

// Add counts what a stretch of work used.
func (m *Meter) Add(u agentruntime.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range []*int64{&u.InputTokens, &u.CachedInputTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), maxTokens)
	}
	if u.Model != "" {
		m.model = m.known(name(u.Model))
	}
	p := m.part()
	price, ok := m.prices.Of(m.model)
	add := store.Usage{
		InputTokens: u.InputTokens, CachedInputTokens: u.CachedInputTokens, CacheWriteTokens: u.CacheWriteTokens,
		OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens,
	}
	if tokens := add.Tokens(); !ok && tokens > 0 {
		add.UnpricedTokens = tokens
		if u.CostMicroUSD == nil {
			model := m.model
			m.unknown = &model
		}
	}
	if u.CostMicroUSD != nil {
		told := min(max(*u.CostMicroUSD, 0), maxReportedUSD)
		add.ReportedMicroUSD = &told
	}
	p.Usage = p.Usage.Add(add)
	p.pico = plus(p.pico, price.pico(u))
	p.CostMicroUSD = dollars(p.pico)
	return m.over(false)
}

// dollars rounds up to whole millionths of a dollar, so that use is never reported too low.
func dollars(pico int64) int64 {
	whole := pico / 1e6
	if pico%1e6 > 0 {
		whole++
	}
	return whole
}

// Turn counts an answer of the model. The one that uses up the budget may be the last that is needed, so only the one after
// it is too many; see Check.
func (m *Meter) Turn() error { return m.count(store.Usage{Turns: 1}) }

// ToolCall counts a tool call that is about to be made.
func (m *Meter) ToolCall() error { return m.count(store.Usage{ToolCalls: 1}) }

// WallTime counts time that the agent ran.
func (m *Meter) WallTime(d time.Duration) error {
	return m.count(store.Usage{AgentMS: max(d.Milliseconds(), 0)})
}

func (m *Meter) count(u store.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.part()
	p.Usage = p.Usage.Add(u)
	return m.over(false)
}

// Check reports, before more work begins, whether there is anything left for it.
func (m *Meter) Check() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over(true)
}

// Left is how much time the budget leaves the agent, and false without such a bound.
func (m *Meter) Left() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	task, day := m.sums()
	left, bounded := time.Duration(0), false
	for _, b := range []struct{ limit, used int64 }{{m.limits.Task.WallSeconds, task.AgentMS}, {m.limits.Day.WallSeconds, day.AgentMS}} {
		if b.limit == 0 {
			continue
		}
		d := max(time.Duration(b.limit)*time.Second-time.Duration(b.used)*time.Millisecond, 0)
		if !bounded || d < left {
			left, bounded = d, true
		}
	}
	return left, bounded
}

// Totals is what this attempt used so far.
func (m *Meter) Totals() store.UsageSum {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.SumUsage(m.rows(""))
}

// Parts is the same by day and model, for the store.
func (m *Meter) Parts() []store.UsagePart {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []store.UsagePart
	for _, r := range m.rows("") {
		out = append(out, r.UsagePart)
	}
	slices.SortFunc(out, func(a, b store.UsagePart) int { return strings.Compare(a.Day+a.Model, b.Day+b.Model) })
	return out
}

// rows are the parts of a day, or of all days.
func (m *Meter) rows(day string) []store.UsageRow {
	var out []store.UsageRow
	for key, p := range m.parts {
		if day == "" || key[0] == day {
			out = append(out, store.UsageRow{UsagePart: store.UsagePart{Day: key[0], Model: key[1], Usage: p.Usage}})
		}
	}
	return out
}

func (m *Meter) today() string { return Day(m.now()) }

// Day is the day of an instant, as the store has it.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// part is the account that is written to now.
func (m *Meter) part() *part {
	key := [2]string{m.today(), m.model}
	if m.parts[key] == nil {
		m.parts[key] = &part{}
	}
	return m.parts[key]
}

// known keeps an agent from naming ever more models.
func (m *Meter) known(model string) string {
	if !m.models[model] && len(m.models) >= maxModels {
		return ""
	}
	m.models[model] = true
	return model
}

// name bounds the name of a model, which is an agent's word.
func name(model string) string {
	model, _ = truncate.Cut(model, maxNameSize)
	return model
}

// sums are what the task and the day have used, this attempt included.
func (m *Meter) sums() (task, day store.UsageSum) {
	today := m.today()
	task = join(m.before.Task, store.SumUsage(m.rows("")))
	day = store.SumUsage(m.rows(today))
	if m.before.Today == today {
		day = join(m.before.Day, day)
	}
	return task, day
}

func join(a, b store.UsageSum) store.UsageSum {
	return store.UsageSum{Usage: a.Add(b.Usage), CountedMicroUSD: plus(a.CountedMicroUSD, b.CountedMicroUSD)}
}

// A Bound is a bound of a budget that is reached.
type Bound struct {
	Scope string `json:"scope"` // task or day
	Name  string `json:"bound"` // as in the budget
	Used  string `json:"used"`
	Limit string `json:"limit"`
}

func (b *Bound) Error() string {
	return fmt.Sprintf("the budget of the %s is used up: %s %s of %s", b.Scope, b.Name, b.Used, b.Limit)
}

const op = "stop the agent"

// over returns the failure for the first bound that is reached, and nil when there is none. Before more work begins, a
// bound on turns and tool calls is reached when none is left; else when there was one too many.
func (m *Meter) over(before bool) error {
	task, day := m.sums()
	for _, s := range []struct {
		scope string
		limit deed.Budget
		used  store.UsageSum
	}{{"task", m.limits.Task, task}, {"day", m.limits.Day, day}} {
		if b := reached(s.limit, s.used, before); b != nil {
			b.Scope = s.scope
			return failure.New(failure.Budget, op, b, m.remedy(b))
		}
		if s.limit.CostMicroUSD() > 0 && m.unknown != nil {
			return failure.New(failure.Budget, op, fmt.Errorf("the model %q answered, and its price is not known, so that the %s's budget of money cannot be held", *m.unknown, s.scope),
				fmt.Sprintf("put its price under `prices:` in the home's deed.yaml, then `deed task budget %s --usd N`", m.limits.TaskID))
		}
	}
	return nil
}

// reached is the first bound of a budget that is reached.
func reached(l deed.Budget, u store.UsageSum, before bool) *Bound {
	for _, b := range bounds(l, u) {
		if b.limit == 0 || b.used < b.limit || b.used == b.limit && b.counts && !before {
			continue
		}
		return &Bound{Name: b.name, Used: b.show(b.used), Limit: b.show(b.limit)}
	}
	return nil
}

// A bound is one number of a budget, and what counts against it.
type bound struct {
	name        string
	record      string // its name in agentruntime.Budget, which has its unit
	used, limit int64
	counts      bool // in steps that are allowed or not
	show        func(int64) string
}

func bounds(l deed.Budget, u store.UsageSum) []bound {
	return []bound{
		{"turns", "turns", u.Turns, int64(l.Turns), true, plain},
		{"tool_calls", "tool_calls", u.ToolCalls, int64(l.ToolCalls), true, plain},
		{"tokens", "tokens", u.Tokens(), l.Tokens, false, plain},
		{"cost_usd", "cost_micro_usd", u.CountedMicroUSD, l.CostMicroUSD(), false, USD},
		{"wall_seconds", "wall_ms", u.AgentMS, l.WallSeconds * 1000, false, seconds},
	}
}

// Budgets is how much of each bound is used, of the task and of the day.
func (m *Meter) Budgets() []agentruntime.Budget {
	m.mu.Lock()
	defer m.mu.Unlock()
	task, day := m.sums()
	at := agentruntime.At(m.now())
	var out []agentruntime.Budget
	for _, s := range []struct {
		scope string
		limit deed.Budget
		used  store.UsageSum
	}{{"", m.limits.Task, task}, {"day.", m.limits.Day, day}} {
		for _, b := range bounds(s.limit, s.used) {
			if b.limit > 0 {
				out = append(out, agentruntime.Budget{Name: s.scope + b.record, Limit: b.limit, Used: b.used, Exhausted: b.used >= b.limit, At: at})
			}
		}
	}
	return out
}

func plain(n int64) string { return fmt.Sprint(n) }

func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// USD writes millionths of a dollar as dollars.
func USD(micro int64) string {
	s := fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6)
	for strings.HasSuffix(s, "0") && len(s)-strings.IndexByte(s, '.') > 3 { // at least cents
		s = s[:len(s)-1]
	}
	return s
}

// flags name the flag of `deed task budget` for each bound.
var flags = map[string]string{"turns": "turns", "tool_calls": "tool-calls", "tokens": "tokens", "cost_usd": "usd", "wall_seconds": "wall"}

func (m *Meter) remedy(b *Bound) string {
	if b.Scope == "day" {
		return fmt.Sprintf("raise budgets.day.%s in the home's deed.yaml or wait until tomorrow (UTC), then `deed task retry %s`", b.Name, m.limits.TaskID)
	}
	return fmt.Sprintf("raise it with `deed task budget %s --%s N`, and the task goes on", m.limits.TaskID, flags[b.Name])
}
