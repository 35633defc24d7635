package otlp

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

func logsOf(t *testing.T, c *collector) (*Logs, *otlploghttp.Exporter) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	ours, err := NewLogs(agent)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := otlploghttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// keeper is a processor that keeps records as the SDK made them.
type keeper struct{ records []sdklog.Record }

func (k *keeper) OnEmit(_ context.Context, r *sdklog.Record) error {
	k.records = append(k.records, r.Clone())
	return nil
}
func (*keeper) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*keeper) Shutdown(context.Context) error                         { return nil }
func (*keeper) ForceFlush(context.Context) error                       { return nil }

func TestRecordsAgree(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := logsOf(t, c)
	var kept keeper
	one := sdklog.NewLoggerProvider(sdklog.WithProcessor(&kept), sdklog.WithResource(resource.NewWithAttributes("https://example.com/r", everyKind...)), sdklog.WithAttributeCountLimit(20))
	other := sdklog.NewLoggerProvider(sdklog.WithProcessor(&kept), sdklog.WithResource(resource.Empty()))
	ctx := trace.ContextWithSpanContext(t.Context(), spanContext(t, 5, false, ""))
	for _, l := range []log.Logger{
		one.Logger("a", log.WithInstrumentationVersion("v1"), log.WithSchemaURL("https://example.com/s"), log.WithInstrumentationAttributes(everyKind...)),
		one.Logger("b"), other.Logger(""), one.Logger("a"), other.Logger("", log.WithSchemaURL("https://example.com/s")),
	} {
		for _, kv := range everyKind {
			var r log.Record
			r.SetBody(kv.Value)
			r.SetSeverityText(string(kv.Key))
			r.SetEventName("event " + string(kv.Key))
			r.SetTimestamp(instant)
			r.AddAttributes(everyKind...)
			l.Emit(ctx, r)
		}
		l.Emit(t.Context(), log.Record{})
	}
	agreeOnRecords(t, c, ours, theirs, kept.records)
	for i := range kept.records {
		agreeOnRecords(t, c, ours, theirs, kept.records[i:i+1])
	}
	for severity := log.Severity(-1); severity < 30; severity++ {
		var r sdklog.Record
		r.SetSeverity(severity)
		r.SetTimestamp(before)
		r.SetObservedTimestamp(instant)
		r.SetTraceFlags(trace.TraceFlags(3))
		r.SetAttributes(attribute.Int("n", int(severity)))
		agreeOnRecords(t, c, ours, theirs, []sdklog.Record{r})
	}
	if err := ours.Export(t.Context(), nil); err != nil || len(c.taken()) != 0 {
		t.Errorf("nothing was sent, or %v", err)
	}
}
