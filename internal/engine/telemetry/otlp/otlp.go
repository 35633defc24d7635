// Package otlp owns how telemetry gets to an OpenTelemetry collector: OTLP over HTTP with protobuf bodies, and the standard
// variables that say where to. It owns no telemetry: the SDK makes it and hands it over in batches. The exporters that the
// OpenTelemetry project publishes link gRPC and set it up in every process before main; in tests they have to agree with
// these on every byte's meaning.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Traces sends spans.
type Traces struct{ client *client }

// NewTraces makes an exporter as the environment asks for. agent is how this program calls itself to the collector.
func NewTraces(agent string) (*Traces, error) {
	c, err := newClient(traces, agent)
	if err != nil {
		return nil, err
	}
	return &Traces{c}, nil
}

// ExportSpans sends a batch, within the time that ctx has.
func (e *Traces) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body := spansRequest(spans)
	if len(body) == 0 {
		return nil
	}
	if err := e.client.send(ctx, body); err != nil {
		return fmt.Errorf("export traces: %w", err)
	}
	return nil
}

// Shutdown ends what is under way.
func (e *Traces) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

// Logs sends log records.
type Logs struct{ client *client }

// NewLogs makes an exporter as the environment asks for. agent is how this program calls itself to the collector.
func NewLogs(agent string) (*Logs, error) {
	c, err := newClient(logs, agent)
	if err != nil {
		return nil, err
	}
	return &Logs{c}, nil
}

// Export sends a batch, within the time that ctx has.
func (e *Logs) Export(ctx context.Context, records []sdklog.Record) error {
	body := recordsRequest(records)
	if len(body) == 0 {
		return nil
	}
	err := e.client.send(ctx, body)
	if errors.Is(err, errShutdown) {
		return sdklog.ErrExporterShutdown
	}
	if err != nil {
		return fmt.Errorf("export logs: %w", err)
	}
	return nil
}

// ForceFlush has nothing to do: nothing is kept.
func (*Logs) ForceFlush(context.Context) error { return nil }

// Shutdown ends what is under way.
func (e *Logs) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

// Metrics sends measures.
type Metrics struct {
	client      *client
	temporality metric.TemporalitySelector
	aggregation metric.AggregationSelector
}

// NewMetrics makes an exporter as the environment asks for. agent is how this program calls itself to the collector.
func NewMetrics(agent string) (*Metrics, error) {
	c, err := newClient(metrics, agent)
	if err != nil {
		return nil, err
	}
	e := &Metrics{client: c, temporality: metric.DefaultTemporalitySelector, aggregation: metric.DefaultAggregationSelector}
	const preference, shape = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
	switch value := strings.ToLower(strings.TrimSpace(os.Getenv(preference))); value {
	case "", "cumulative":
	case "delta":
		e.temporality = metric.DeltaTemporalitySelector
	case "lowmemory":
		e.temporality = metric.LowMemoryTemporalitySelector
	default:
		otel.Handle(fmt.Errorf("%s=%s: want cumulative, delta or lowmemory", preference, value))
	}
	switch value := strings.ToLower(strings.TrimSpace(os.Getenv(shape))); value {
	case "", "explicit_bucket_histogram":
	case "base2_exponential_bucket_histogram":
		e.aggregation = exponentialHistograms
	default:
		otel.Handle(fmt.Errorf("%s=%s: want explicit_bucket_histogram or base2_exponential_bucket_histogram", shape, value))
	}
	return e, nil
}

// exponentialHistograms has the size and the scale that OpenTelemetry's specification begins with.
func exponentialHistograms(kind metric.InstrumentKind) metric.Aggregation {
	if kind == metric.InstrumentKindHistogram {
		return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
	}
	return metric.DefaultAggregationSelector(kind)
}

// Temporality is what the environment asked for.
func (e *Metrics) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

// Aggregation is what the environment asked for.
func (e *Metrics) Aggregation(k metric.InstrumentKind) metric.Aggregation { return e.aggregation(k) }

// Export sends what was measured, within the time that ctx has. What OTLP has no place for is left out and named by the error.
func (e *Metrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	body, left := metricsRequest(rm)
	if err := errors.Join(left, e.client.send(ctx, body)); err != nil {
		return fmt.Errorf("export metrics: %w", err)
	}
	return nil
}

// ForceFlush has nothing to do: nothing is kept.
func (*Metrics) ForceFlush(ctx context.Context) error { return ctx.Err() }

// Shutdown ends what is under way.
func (e *Metrics) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

var (
	_ sdktrace.SpanExporter = (*Traces)(nil)
	_ sdklog.Exporter       = (*Logs)(nil)
	_ metric.Exporter       = (*Metrics)(nil)
)
