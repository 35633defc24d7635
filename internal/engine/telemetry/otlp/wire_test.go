package otlp

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// A drawn draws telemetry at random.
type drawn struct{ *rapid.T }

func (d drawn) text() string    { return rapid.String().Draw(d.T, "text") }
func (d drawn) bytes() []byte   { return rapid.SliceOf(rapid.Byte()).Draw(d.T, "bytes") }
func (d drawn) int() int64      { return rapid.Int64().Draw(d.T, "int") }
func (d drawn) uint() uint64    { return rapid.Uint64().Draw(d.T, "uint") }
func (d drawn) float() float64  { return math.Float64frombits(d.uint()) }
func (d drawn) few() int        { return rapid.IntRange(0, 3).Draw(d.T, "few") }
func (d drawn) when() time.Time { return time.Unix(0, d.int()) }
func (d drawn) counts() []uint64 {
	return rapid.SliceOf(rapid.Uint64()).Draw(d.T, "counts")
}

func (d drawn) value(depth int) attribute.Value {
	kinds := 9
	if depth > 0 {
		kinds = 11
	}
	switch rapid.IntRange(0, kinds-1).Draw(d.T, "kind") {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.StringValue(d.text())
	case 2:
		return attribute.BoolValue(d.few() > 1)
	case 3:
		return attribute.Int64Value(d.int())
	case 4:
		return attribute.Float64Value(d.float())
	case 5:
		return attribute.ByteSliceValue(d.bytes())
	case 6:
		return attribute.StringSliceValue([]string{d.text(), d.text()})
	case 7:
		return attribute.Int64SliceValue([]int64{d.int(), d.int()})
	case 8:
		return attribute.Float64SliceValue([]float64{d.float()})
	case 9:
		var list []attribute.Value
		for range d.few() {
			list = append(list, d.value(depth-1))
		}
		return attribute.SliceValue(list...)
	}
	return attribute.MapValue(d.attributes(depth - 1)...)
}

func (d drawn) attributes(depth int) (out []attribute.KeyValue) {
	for range d.few() {
		out = append(out, attribute.KeyValue{Key: attribute.Key(d.text()), Value: d.value(depth)})
	}
	return out
}

func (d drawn) set() attribute.Set { return attribute.NewSet(d.attributes(2)...) }

func (d drawn) context() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(d.few()), Remote: d.few() > 1}
	copy(c.TraceID[:], d.bytes())
	copy(c.SpanID[:], d.bytes())
	return trace.NewSpanContext(c)
}

func (d drawn) span() tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: d.text(), SpanContext: d.context(), Parent: d.context(), SpanKind: trace.SpanKind(d.few()), StartTime: d.when(), EndTime: d.when(), Attributes: d.attributes(3),
		Status: sdktrace.Status{Code: codes.Code(d.few()), Description: d.text()}, DroppedAttributes: int(d.int()), DroppedEvents: d.few(), DroppedLinks: int(d.int()),
		Resource:             resource.NewWithAttributes(d.text(), attribute.Int("n", d.few())),
		InstrumentationScope: instrumentation.Scope{Name: d.text(), Version: d.text(), SchemaURL: d.text(), Attributes: d.set()},
	}
	for range d.few() {
		s.Events = append(s.Events, sdktrace.Event{Name: d.text(), Time: d.when(), Attributes: d.attributes(1), DroppedAttributeCount: d.few()})
		s.Links = append(s.Links, sdktrace.Link{SpanContext: d.context(), Attributes: d.attributes(1), DroppedAttributeCount: d.few()})
	}
	return s
}

func data[N int64 | float64](d drawn, number func() N) metricdata.Aggregation {
	marks := []metricdata.Exemplar[N]{{FilteredAttributes: d.attributes(1), Time: d.when(), Value: number(), SpanID: d.bytes(), TraceID: d.bytes()}}
	temporality := []metricdata.Temporality{metricdata.DeltaTemporality, metricdata.CumulativeTemporality}[d.few()%2]
	switch d.few() {
	case 0:
		return metricdata.Gauge[N]{DataPoints: []metricdata.DataPoint[N]{{Attributes: d.set(), StartTime: d.when(), Time: d.when(), Value: number(), Exemplars: marks}}}
	case 1:
		return metricdata.Sum[N]{Temporality: temporality, IsMonotonic: d.few() > 1, DataPoints: []metricdata.DataPoint[N]{{Attributes: d.set(), Time: d.when(), Value: number(), Exemplars: marks}}}
	case 2:
		return metricdata.Histogram[N]{Temporality: temporality, DataPoints: []metricdata.HistogramDataPoint[N]{
			{Attributes: d.set(), Time: d.when(), Count: d.uint(), Sum: number(), Bounds: []float64{d.float(), d.float()}, BucketCounts: d.counts(), Min: metricdata.NewExtrema(number()), Exemplars: marks},
		}}
	}
	bucket := func() metricdata.ExponentialBucket {
		return metricdata.ExponentialBucket{Offset: int32(d.int()), Counts: d.counts()}
	}
	return metricdata.ExponentialHistogram[N]{Temporality: temporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[N]{
		{Attributes: d.set(), Time: d.when(), Count: d.uint(), Sum: number(), Scale: int32(d.int()), ZeroCount: d.uint(), ZeroThreshold: d.float(), PositiveBucket: bucket(), NegativeBucket: bucket(), Max: metricdata.NewExtrema(number()), Exemplars: marks},
	}}
}

// Whatever there is to tell, ours and theirs tell the same.
func TestAnythingAgrees(t *testing.T) {
	c := newCollector(t, nil)
	ourTraces, theirTraces := tracesOf(t, c)
	ourMetrics, theirMetrics := metricsOf(t, c)
	ourLogs, theirLogs := logsOf(t, c)
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		spans := tracetest.SpanStubs{d.span()}
		for range d.few() {
			spans = append(spans, d.span())
		}
		agreeOnSpans(t, c, ourTraces, theirTraces, spans.Snapshots())
		agreeOnMetrics(t, c, ourMetrics, theirMetrics, &metricdata.ResourceMetrics{
			Resource: resource.NewWithAttributes(d.text(), d.attributes(1)...),
			ScopeMetrics: []metricdata.ScopeMetrics{{Scope: spans[0].InstrumentationScope, Metrics: []metricdata.Metrics{
				{Name: d.text(), Description: d.text(), Unit: d.text(), Data: data(d, d.int)}, {Name: d.text(), Data: data(d, d.float)},
			}}},
		})
		var r sdklog.Record
		r.SetBody(d.value(3))
		r.SetAttributes(d.attributes(2)...)
		r.SetEventName(d.text())
		r.SetTimestamp(d.when())
		agreeOnRecords(t, c, ourLogs, theirLogs, []sdklog.Record{r})
	})
}

// What is written can be read, whatever its bytes are.
func FuzzTextIsAlwaysReadable(f *testing.F) {
	f.Add("name", "key", "\xff\x00", []byte{1})
	f.Fuzz(func(t *testing.T, name, key, value string, raw []byte) {
		body := spansRequest(tracetest.SpanStubs{{Name: name, Attributes: []attribute.KeyValue{
			attribute.String(key, value), attribute.ByteSlice(value, raw), attribute.Map(name, attribute.StringSlice(key, []string{value})),
		}}}.Snapshots())
		var got coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		s := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
		if s.Name != strings.ToValidUTF8(name, "\uFFFD") || s.Attributes[0].Value.GetStringValue() != strings.ToValidUTF8(value, "\uFFFD") || string(s.Attributes[1].Value.GetBytesValue()) != string(raw) {
			t.Errorf("%q %q %x became %v", name, value, raw, s)
		}
	})
}

// An answer is read as protobuf reads it, or refused.
func FuzzAnswersAreReadAsProtobufReadsThem(f *testing.F) {
	f.Add([]byte("\x0a\x04\x08\x03\x12\x00"))
	f.Add([]byte("\x0a\x02\x08\x03\x12\x01x\x2d1234"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		err := traces.rejected(contentType, answer)
		var want coltrace.ExportTraceServiceResponse
		if proto.Unmarshal(answer, &want) != nil {
			return
		}
		p := want.GetPartialSuccess()
		if (p.GetRejectedSpans() != 0 || p.GetErrorMessage() != "") != (err != nil) && !strings.Contains(strings.ToValidUTF8(errText(err), ""), errCut.Error()) {
			t.Errorf("%x is %v, and %v", answer, err, p)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
