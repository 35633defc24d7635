package otlp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func spanContext(t *testing.T, id byte, remote bool, state string) trace.SpanContext {
	t.Helper()
	s, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id, 1}, SpanID: trace.SpanID{id, 2}, TraceFlags: trace.FlagsSampled, TraceState: s, Remote: remote})
}

func tracesOf(t *testing.T, c *collector) (*Traces, sdktrace.SpanExporter) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	ours, err := NewTraces(agent)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := otlptracehttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func TestSpansAgree(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := tracesOf(t, c)
	process := resource.NewWithAttributes("https://example.com/resource", everyKind...)
	scope := instrumentation.Scope{Name: "scope", Version: "v1", SchemaURL: "https://example.com/scope", Attributes: attribute.NewSet(everyKind...)}
	var many []sdktrace.Link
	for i := range 300 {
		many = append(many, sdktrace.Link{SpanContext: spanContext(t, byte(i), i%2 == 0, "a=b"), Attributes: everyKind[:i%5], DroppedAttributeCount: i})
	}
	full := tracetest.SpanStub{
		Name: "full", SpanContext: spanContext(t, 1, false, "a=b,c=d"), Parent: spanContext(t, 2, true, ""), SpanKind: trace.SpanKindServer,
		StartTime: instant, EndTime: instant.Add(5), Attributes: everyKind, Links: many,
		Events:            []sdktrace.Event{{Name: "event", Time: instant, Attributes: everyKind, DroppedAttributeCount: 3}, {}},
		Status:            sdktrace.Status{Code: codes.Error, Description: "why"},
		DroppedAttributes: 1, DroppedEvents: math.MaxInt, DroppedLinks: -1, Resource: process, InstrumentationScope: scope,
	}
	for name, list := range map[string]tracetest.SpanStubs{
		"full":             {full},
		"nothing":          {{}},
		"no parent":        {{Name: "root", SpanContext: spanContext(t, 3, false, ""), Resource: process}},
		"local parent":     {{Name: "child", SpanContext: spanContext(t, 3, false, ""), Parent: spanContext(t, 4, false, ""), Resource: process}},
		"before 1970":      {{StartTime: before, EndTime: before}},
		"ok":               {{Status: sdktrace.Status{Code: codes.Ok}}},
		"many origins":     {full, {Name: "b", Resource: process}, full, {Name: "c", Resource: resource.Empty(), InstrumentationScope: scope}, {Name: "d", Resource: process, InstrumentationScope: instrumentation.Scope{Name: "another"}}},
		"schema url alone": {{Resource: resource.NewWithAttributes("https://example.com/alone"), InstrumentationScope: instrumentation.Scope{SchemaURL: "https://example.com/scope"}}},
	} {
		t.Run(name, func(t *testing.T) { agreeOnSpans(t, c, ours, theirs, list.Snapshots()) })
	}
	for kind := trace.SpanKindUnspecified; kind <= trace.SpanKindConsumer+1; kind++ {
		t.Run(fmt.Sprint("kind ", int(kind)), func(t *testing.T) {
			agreeOnSpans(t, c, ours, theirs, tracetest.SpanStubs{{SpanKind: kind}}.Snapshots())
		})
	}
	for _, none := range [][]sdktrace.ReadOnlySpan{nil, {}, {nil}} {
		if err := ours.ExportSpans(t.Context(), none); err != nil || len(c.taken()) != 0 {
			t.Errorf("%v was sent, or %v", none, err)
		}
	}
}

// What the SDK itself makes, with its limits and its clock, agrees as well.
func TestSpansOfTheSDKAgree(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := tracesOf(t, c)
	kept := tracetest.NewInMemoryExporter()
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit, limits.EventCountLimit, limits.LinkCountLimit, limits.AttributeValueLengthLimit = 3, 2, 2, 4
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithRawSpanLimits(limits))
	ctx, parent := p.Tracer("t").Start(trace.ContextWithRemoteSpanContext(t.Context(), spanContext(t, 9, true, "a=b")), "parent")
	_, child := p.Tracer("t").Start(ctx, "child", trace.WithAttributes(everyKind...))
	for i := range 5 {
		child.AddEvent(fmt.Sprint("e", i), trace.WithAttributes(everyKind...))
		child.AddLink(trace.Link{SpanContext: spanContext(t, byte(i+1), false, ""), Attributes: everyKind})
	}
	child.RecordError(fmt.Errorf("bad"))
	child.End()
	parent.End()
	agreeOnSpans(t, c, ours, theirs, kept.GetSpans().Snapshots())
}

// protobuf has no place for bytes that are no UTF-8. The published exporter refuses the batch; ours tells it, with U+FFFD.
func TestTextThatIsNoUTF8CostsNoBatch(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := tracesOf(t, c)
	spans := tracetest.SpanStubs{{Name: "bad \xff", Attributes: []attribute.KeyValue{attribute.String("k\xfe", "v\xff"), attribute.StringSlice("l", []string{"\xff"})}}}.Snapshots()
	if err := theirs.ExportSpans(t.Context(), spans); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("the published exporter says %v; this test is about a difference that is gone", err)
	}
	if err := ours.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	var got coltrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(c.taken()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	s := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if s.Name != "bad \uFFFD" || s.Attributes[0].Key != "k\uFFFD" || s.Attributes[0].Value.GetStringValue() != "v\uFFFD" {
		t.Errorf("told %v", s)
	}
}
