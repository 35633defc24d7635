package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/deedrun/deed/contract/agentruntime"
)

// maxNames bounds the values that a label takes from what agents and operators call things. Further ones are "other".
const maxNames = 100

// meters are the measures of work. A nil one measures nothing.
type meters struct {
	meter metric.Meter

	tasks    metric.Int64Counter
	attempts metric.Float64Histogram
	tokens   metric.Int64Counter
	cost     metric.Float64Counter
	answers  metric.Float64Histogram
	tools    metric.Float64Histogram
	checks   metric.Float64Histogram
	verdicts metric.Int64Counter
	reasons  metric.Int64Counter

	mu    sync.Mutex
	names map[string]map[string]bool // guarded by mu; seen values by label
}

func newMeters(m metric.Meter) (*meters, error) {
	out := &meters{meter: m, names: map[string]map[string]bool{}}
	var err error
	counter := func(name, unit, about string) (c metric.Int64Counter) {
		if err == nil {
			c, err = m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		}
		return c
	}
	seconds := func(name, about string, bounds ...float64) (h metric.Float64Histogram) {
		if err == nil {
			h, err = m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		}
		return h
	}
	short := []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300}
	long := []float64{.1, 1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400}
	out.tasks = counter("deed.attempts.settled", "{attempt}", "Attempts that were settled, by what became of their task and why.")
	out.attempts = seconds("deed.attempt.duration", "Time from the claim to the settlement of an attempt.", long...)
	out.tokens = counter("deed.tokens", "{token}", "Tokens that models used, by model and kind.")
	out.answers = seconds("gen_ai.client.operation.duration", "Time that an answer of a model took.", short...)
	out.tools = seconds("deed.tool.duration", "Time that a tool call of an agent took.", short...)
	out.checks = seconds("deed.check.duration", "Time that a check of the gate took.", long...)
	out.verdicts = counter("deed.gate.verdicts", "{verdict}", "Verdicts of the gate.")
	out.reasons = counter("deed.gate.reasons", "{reason}", "Reasons for which the gate refused work.")
	if err == nil {
		out.cost, err = m.Float64Counter("deed.cost", metric.WithUnit("USD"), metric.WithDescription("Money that agents told or that prices of deed.yaml gave, by model."))
	}
	if err != nil {
		return nil, fmt.Errorf("make the measures: %w", err)
	}
	return out, nil
}

// bounded is a value for a label, or "other" when the label has had its fill.
func (m *meters) bounded(label, value string) attribute.KeyValue {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.names[label]
	if seen == nil {
		seen = map[string]bool{}
		m.names[label] = seen
	}
	if !seen[value] {
		if len(seen) >= maxNames {
			return attribute.String(label, "other")
		}
		seen[value] = true
	}
	return attribute.String(label, value)
}

func with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(attrs...)
}

func (m *meters) settled(about claimed, status agentruntime.TaskStatus, class string, took time.Duration) {
	if m == nil {
		return
	}
	ctx, typ := context.Background(), m.bounded("deed.task.type", about.TaskType)
	m.tasks.Add(ctx, 1, with(typ, attribute.String("deed.task.status", string(status)), attribute.String("deed.attempt.class", class)))
	m.attempts.Record(ctx, took.Seconds(), with(typ, attribute.String("deed.adapter.kind", about.AdapterKind)))
}

func (m *meters) usage(about claimed, u agentruntime.Usage) {
	if m == nil {
		return
	}
	ctx, model := context.Background(), m.bounded("gen_ai.response.model", name(u.Model))
	for kind, n := range map[string]int64{"input": u.InputTokens, "output": u.OutputTokens} {
		if n > 0 {
			m.tokens.Add(ctx, n, with(model, attribute.String("gen_ai.token.type", kind), attribute.String("deed.adapter.kind", about.AdapterKind)))
		}
	}
	if u.CostMicroUSD != nil && *u.CostMicroUSD > 0 {
		m.cost.Add(ctx, float64(*u.CostMicroUSD)/1e6, with(model))
	}
}

func (m *meters) answer(about claimed, model string, took time.Duration) {
	if m != nil {
		m.answers.Record(context.Background(), took.Seconds(), with(attribute.String("gen_ai.operation.name", "chat"), m.bounded("gen_ai.response.model", model), attribute.String("deed.adapter.kind", about.AdapterKind)))
	}
}

func (m *meters) tool(tool, status string, took time.Duration) {
	if m != nil {
		m.tools.Record(context.Background(), took.Seconds(), with(m.bounded("gen_ai.tool.name", tool), attribute.String("deed.tool.status", status)))
	}
}

func (m *meters) check(status string, took time.Duration) {
	if m != nil {
		m.checks.Record(context.Background(), took.Seconds(), with(attribute.String("deed.check.status", status)))
	}
}

func (m *meters) verdict(accepted bool, why []string) {
	if m == nil {
		return
	}
	ctx := context.Background()
	m.verdicts.Add(ctx, 1, with(attribute.Bool("deed.gate.accepted", accepted)))
	for _, code := range why {
		m.reasons.Add(ctx, 1, with(m.bounded("deed.gate.reason", code)))
	}
}

// A Gauge is what there is of something now, in parts.
type Gauge struct {
	Name  string // with dots
	About string
	Label string // of the parts; empty: there are no parts
	Read  func(context.Context) (map[string]int64, error)
}

// Watch adds a gauge, which is read when somebody asks.
func (t *Telemetry) Watch(g Gauge) error {
	if t == nil || t.meters == nil {
		return nil
	}
	_, err := t.meters.meter.Int64ObservableGauge(g.Name, metric.WithDescription(g.About), metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
		parts, err := g.Read(ctx)
		if err != nil {
			return fmt.Errorf("read %s: %w", g.Name, err)
		}
		for part, n := range parts {
			if g.Label == "" {
				o.Observe(n)
			} else {
				o.Observe(n, with(attribute.String(g.Label, part)))
			}
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("watch %s: %w", g.Name, err)
	}
	return nil
}
