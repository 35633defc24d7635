package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collog "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// A request is what a collector was sent.
type request struct {
	Method, Path, Encoding string
	Header                 http.Header
	Body                   []byte // unpacked
}

// A collector keeps requests, and answers as it is told.
type collector struct {
	*httptest.Server
	answer http.HandlerFunc

	mu  sync.Mutex
	got []request
}

func newCollector(t *testing.T, answer http.HandlerFunc) *collector {
	t.Helper()
	c := &collector{answer: answer}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	got := request{Method: r.Method, Path: r.URL.EscapedPath(), Header: r.Header.Clone(), Encoding: r.Header.Get("Content-Encoding")}
	body := io.Reader(r.Body)
	if got.Encoding == "gzip" {
		if z, err := gzip.NewReader(r.Body); err == nil {
			body = z
		}
	}
	got.Body, _ = io.ReadAll(body)
	c.mu.Lock()
	c.got = append(c.got, got)
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(w, r)
	}
}

// taken is what came since it was last asked.
func (c *collector) taken() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

const agent = "deed/test"

// A sender is one of the two implementations of one signal, with something to send.
type sender struct {
	send     func(context.Context) error
	shutdown func(context.Context) error
}

// senders make, for each signal, this package's exporter and the published one, which read the environment then.
var senders = map[string]struct {
	ours, theirs func(t *testing.T) (sender, error)
}{
	"traces": {
		func(*testing.T) (sender, error) {
			e, err := NewTraces(agent)
			return sender{func(ctx context.Context) error { return e.ExportSpans(ctx, someSpans()) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
		func(t *testing.T) (sender, error) {
			e, err := otlptracehttp.New(t.Context())
			return sender{func(ctx context.Context) error { return e.ExportSpans(ctx, someSpans()) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
	},
	"metrics": {
		func(*testing.T) (sender, error) {
			e, err := NewMetrics(agent)
			return sender{func(ctx context.Context) error { return e.Export(ctx, someMetrics()) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
		func(t *testing.T) (sender, error) {
			e, err := otlpmetrichttp.New(t.Context())
			return sender{func(ctx context.Context) error { return e.Export(ctx, someMetrics()) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
	},
	"logs": {
		func(t *testing.T) (sender, error) {
			e, err := NewLogs(agent)
			return sender{func(ctx context.Context) error { return e.Export(ctx, someRecords(t)) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
		func(t *testing.T) (sender, error) {
			e, err := otlploghttp.New(t.Context())
			return sender{func(ctx context.Context) error { return e.Export(ctx, someRecords(t)) }, func(ctx context.Context) error { return e.Shutdown(ctx) }}, err
		},
	},
}

func someSpans() []sdktrace.ReadOnlySpan {
	return tracetest.SpanStubs{{Name: "a span", Resource: resource.NewSchemaless(attribute.String("service.name", "deed"))}}.Snapshots()
}

func someMetrics() *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{Resource: resource.Empty(), ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "a gauge", Data: metricdata.Gauge[int64]{}}}}}}
}

func someRecords(t *testing.T) []sdklog.Record {
	t.Helper()
	var r sdklog.Record
	r.SetBody(attribute.StringValue("a line"))
	return []sdklog.Record{r}
}

// both sends the same by both implementations and returns the two requests.
func both(t testing.TB, c *collector, ours, theirs func(context.Context) error) (own, want []byte) {
	t.Helper()
	var out [2][]byte
	for i, send := range []func(context.Context) error{ours, theirs} {
		if err := send(t.Context()); err != nil {
			t.Fatalf("%s: %v", []string{"ours", "theirs"}[i], err)
		}
		got := c.taken()
		if len(got) != 1 {
			t.Fatalf("%s sent %d requests, want one", []string{"ours", "theirs"}[i], len(got))
		}
		out[i] = got[0].Body
	}
	return out[0], out[1]
}

// agree fails unless two encodings mean the same. Resources are in no order.
func agree[M interface{ proto.Message }](t testing.TB, ours, theirs []byte, own, want M) {
	t.Helper()
	for _, one := range []struct {
		body []byte
		into proto.Message
	}{{ours, own}, {theirs, want}} {
		if err := proto.Unmarshal(one.body, one.into); err != nil {
			t.Fatalf("%v in %x", err, one.body)
		}
		switch m := one.into.(type) {
		case *coltrace.ExportTraceServiceRequest:
			inOrder(m.ResourceSpans)
		case *collog.ExportLogsServiceRequest:
			inOrder(m.ResourceLogs)
		}
	}
	if len(own.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("fields that the protocol does not know: %x", own.ProtoReflect().GetUnknown())
	}
	if !proto.Equal(own, want) {
		t.Errorf("ours is not theirs (-theirs +ours):\n%s", gocmp.Diff(want, own, protocmp.Transform()))
	}
	if a, b := canonical(t, own), canonical(t, want); !bytes.Equal(a, b) {
		t.Error("the two are equal and not written alike")
	}
}

func canonical(t testing.TB, m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inOrder[M proto.Message](list []M) {
	slices.SortFunc(list, func(a, b M) int {
		x, _ := proto.MarshalOptions{Deterministic: true}.Marshal(a)
		y, _ := proto.MarshalOptions{Deterministic: true}.Marshal(b)
		return cmp.Or(bytes.Compare(x, y), 0)
	})
}

// agreeOnSpans, agreeOnMetrics and agreeOnRecords hold ours against theirs.
func agreeOnSpans(t testing.TB, c *collector, ours *Traces, theirs sdktrace.SpanExporter, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	a, b := both(t, c, func(ctx context.Context) error { return ours.ExportSpans(ctx, spans) }, func(ctx context.Context) error { return theirs.ExportSpans(ctx, spans) })
	agree(t, a, b, &coltrace.ExportTraceServiceRequest{}, &coltrace.ExportTraceServiceRequest{})
}

func agreeOnMetrics(t testing.TB, c *collector, ours, theirs metric.Exporter, rm *metricdata.ResourceMetrics) {
	t.Helper()
	a, b := both(t, c, func(ctx context.Context) error { return ours.Export(ctx, rm) }, func(ctx context.Context) error { return theirs.Export(ctx, rm) })
	agree(t, a, b, &colmetric.ExportMetricsServiceRequest{}, &colmetric.ExportMetricsServiceRequest{})
}

func agreeOnRecords(t testing.TB, c *collector, ours, theirs sdklog.Exporter, records []sdklog.Record) {
	t.Helper()
	a, b := both(t, c, func(ctx context.Context) error { return ours.Export(ctx, records) }, func(ctx context.Context) error { return theirs.Export(ctx, records) })
	agree(t, a, b, &collog.ExportLogsServiceRequest{}, &collog.ExportLogsServiceRequest{})
}

// everyKind has an attribute of each kind of value, and the edges of each.
var everyKind = []attribute.KeyValue{
	{},
	{Key: "empty"},
	attribute.String("", "no key"), attribute.String("text", "é 😀 \x00"), attribute.String("no.text", ""),
	attribute.Bool("yes", true), attribute.Bool("no", false),
	attribute.Int64("least", math.MinInt64), attribute.Int64("greatest", math.MaxInt64), attribute.Int64("zero", 0), attribute.Int64("minus", -1),
	attribute.Float64("nan", math.NaN()), attribute.Float64("inf", math.Inf(-1)), attribute.Float64("minus.zero", math.Copysign(0, -1)), attribute.Float64("tiny", math.SmallestNonzeroFloat64),
	attribute.StringSlice("texts", []string{"a", "", "b"}), attribute.StringSlice("no.texts", nil),
	attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{math.MinInt64, 0, 7}), attribute.Float64Slice("floats", []float64{0, math.Inf(1), -2.5}),
	attribute.ByteSlice("bytes", []byte{0, 0xff, 0x80}), attribute.ByteSlice("no.bytes", nil),
	attribute.Slice("mixed", attribute.StringValue("x"), attribute.Int64Value(3), attribute.Value{}, attribute.SliceValue(attribute.BoolValue(true))), attribute.Slice("no.mixed"),
	attribute.Map("map", attribute.String("k", "v"), attribute.Map("deeper", attribute.Float64("f", 1.5))), attribute.Map("no.map"),
}

var (
	instant = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	before  = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
)
