package exposition

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/attribute"
	promexport "go.opentelemetry.io/otel/exporters/prometheus"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
)

// A pair is this package's handler and the published one, over the same measures.
type pair struct {
	ours, theirs http.Handler
	provider     *metric.MeterProvider
}

func newPair(t testing.TB, r *resource.Resource, scopes ...metricdata.ScopeMetrics) pair {
	t.Helper()
	reader := metric.NewManualReader(metric.WithProducer(given(scopes)))
	registry := prometheus.NewRegistry()
	e, err := promexport.New(promexport.WithRegisterer(registry), promexport.WithProducer(given(scopes)))
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		New(reader), promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}),
		metric.NewMeterProvider(metric.WithReader(reader), metric.WithReader(e), metric.WithResource(r)),
	}
}

// given are measures as a producer hands them to a reader, past the checks of instruments.
type given []metricdata.ScopeMetrics

func (g given) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	return slices.Clone(g), nil
}

func scrape(h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	for _, line := range header {
		k, v, _ := strings.Cut(line, ": ")
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// agree holds ours against theirs, byte for byte, and as a scraper reads them.
func (p pair) agree(t testing.TB) string {
	t.Helper()
	ours, theirs := scrape(p.ours, "/metrics"), scrape(p.theirs, "/metrics")
	if ours.Code != theirs.Code {
		t.Fatalf("ours answers %d, theirs %d:\n%s\n%s", ours.Code, theirs.Code, ours.Body, theirs.Body)
	}
	if ours.Code != http.StatusOK {
		return ours.Body.String()
	}
	text, want := ours.Body.String(), theirs.Body.String()
	if text != want {
		t.Errorf("(-theirs +ours)\n%s", cmp.Diff(want, text))
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	a, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	b, err := parser.TextToMetricFamilies(strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, a, protocmp.Transform(), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("read (-theirs +ours)\n%s", d)
	}
	return text
}

var everyKind = []attribute.KeyValue{
	attribute.String("text", "é 😀 \"quoted\" \\ \n next"), attribute.String("none", ""), attribute.Bool("bool", true), attribute.Int64("least", math.MinInt64), attribute.Float64("nan", math.NaN()),
	attribute.Float64("f", 1e100), attribute.StringSlice("texts", []string{"a", "b"}), attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, 2}),
	attribute.Float64Slice("floats", []float64{.5, math.Inf(1)}), attribute.ByteSlice("bytes", []byte{0, 255}), attribute.Slice("mixed", attribute.StringValue("x"), attribute.Int64Value(3)), attribute.Map("map", attribute.String("k", "v")),
	attribute.String("a.b", "2"), attribute.String("a-b", "1"), attribute.String("1st", "digit"), attribute.String("_x", "underscore"), attribute.String("a__..b", "many"),
}

func one(name, unit string, data metricdata.Aggregation) metricdata.ScopeMetrics {
	return metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: "scope"}, Metrics: []metricdata.Metrics{{Name: name, Unit: unit, Description: "about " + name, Data: data}}}
}

func points[N int64 | float64](values ...N) (out []metricdata.DataPoint[N]) {
	for i, v := range values {
		out = append(out, metricdata.DataPoint[N]{Attributes: attribute.NewSet(attribute.Int("i", i)), Value: v})
	}
	return out
}

func TestInstrumentsAgree(t *testing.T) {
	t.Parallel()
	p := newPair(t, resource.NewWithAttributes("https://example.com/r", everyKind...))
	m := p.provider.Meter("github.com/deedrun/deed", api.WithInstrumentationVersion("v1"), api.WithSchemaURL("https://example.com/s"), api.WithInstrumentationAttributes(append(everyKind, attribute.String("name", "taken"))...))
	other := p.provider.Meter("another")
	if text := p.agree(t); !strings.Contains(text, "target_info{") {
		t.Errorf("before anything was measured: %s", text)
	}
	for _, m := range []api.Meter{m, other} {
		count, _ := m.Int64Counter("deed.attempts.settled", api.WithUnit("{attempt}"), api.WithDescription("Attempts \\ that\nwere settled."))
		cost, _ := m.Float64Counter("deed.cost", api.WithUnit("USD"))
		hist, _ := m.Float64Histogram("deed.tool.duration", api.WithUnit("s"), api.WithExplicitBucketBoundaries(.01, 1, 1e21))
		ints, _ := m.Int64Histogram("size", api.WithUnit("By"))
		level, _ := m.Int64UpDownCounter("level", api.WithUnit("1"))
		now, _ := m.Float64Gauge("share", api.WithUnit("1"))
		_, _ = m.Int64ObservableGauge("deed.queue", api.WithInt64Callback(func(_ context.Context, o api.Int64Observer) error {
			o.Observe(7, api.WithAttributes(attribute.String("deed.queue.state", "ready")))
			return nil
		}))
		for i := range 12 {
			with := api.WithAttributes(append(slices.Clone(everyKind), attribute.Int("deed.i", i))...)
			count.Add(t.Context(), int64(i), with)
			cost.Add(t.Context(), .1, with)
			hist.Record(t.Context(), float64(i)/3, with)
			ints.Record(t.Context(), int64(i*1000), with)
			level.Add(t.Context(), -1, with)
			now.Record(t.Context(), math.Inf(-1), with)
		}
		count.Add(t.Context(), 3)
	}
	text := p.agree(t)
	for _, want := range []string{"deed_attempts_settled_total{", "deed_cost_USD_total{", "deed_tool_duration_seconds_bucket{", "size_bytes_sum{", "level{", "share_ratio{", `deed_queue{deed_queue_state="ready",otel_scope_name="another"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if err := p.provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := p.agree(t); text != "" {
		t.Errorf("after the end: %s", text)
	}
}

func TestMeasuresAgree(t *testing.T) {
	t.Parallel()
	set := attribute.NewSet(everyKind...)
	hist := metricdata.HistogramDataPoint[float64]{Count: 6, Sum: 1.5, Bounds: []float64{-1, 0, 2.5}, BucketCounts: []uint64{1, 2, 0, 3}}
	exp := metricdata.ExponentialHistogramDataPoint[int64]{Count: 3, Sum: 7, Scale: 20, ZeroCount: 1, PositiveBucket: metricdata.ExponentialBucket{Offset: 3, Counts: []uint64{2}}}
	low := exp
	low.Scale = -5
	bars := func(p ...metricdata.HistogramDataPoint[float64]) metricdata.Aggregation {
		return metricdata.Histogram[float64]{DataPoints: p, Temporality: metricdata.CumulativeTemporality}
	}
	full := hist
	full.Bounds, full.BucketCounts = []float64{1, math.Inf(1)}, []uint64{1, 5, 0}
	same := metricdata.DataPoint[int64]{Attributes: set, Value: 1}
	for name, c := range map[string]struct {
		scopes []metricdata.ScopeMetrics
		fails  bool
	}{
		"nothing":             {},
		"no points":           {scopes: []metricdata.ScopeMetrics{one("g", "", metricdata.Gauge[int64]{})}},
		"edges of floats":     {scopes: []metricdata.ScopeMetrics{one("g", "", metricdata.Gauge[float64]{DataPoints: points(0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64)})}},
		"edges of integers":   {scopes: []metricdata.ScopeMetrics{one("c", "", metricdata.Sum[int64]{IsMonotonic: true, DataPoints: points[int64](0, math.MaxInt64, math.MinInt64)})}},
		"histogram":           {scopes: []metricdata.ScopeMetrics{one("h", "ms", bars(hist))}},
		"an infinite bound":   {scopes: []metricdata.ScopeMetrics{one("h", "ms", bars(full))}},
		"exponential":         {scopes: []metricdata.ScopeMetrics{one("e", "s", metricdata.ExponentialHistogram[int64]{DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{exp}})}},
		"too coarse":          {scopes: []metricdata.ScopeMetrics{one("e", "s", metricdata.ExponentialHistogram[int64]{DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{low}})}, fails: true},
		"summary":             {scopes: []metricdata.ScopeMetrics{one("s", "", metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{Count: 1}}})}, fails: true},
		"two kinds":           {scopes: []metricdata.ScopeMetrics{one("x.total", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}), one("x", "", metricdata.Sum[int64]{IsMonotonic: true, DataPoints: points[int64](1)})}, fails: true},
		"two descriptions":    {scopes: []metricdata.ScopeMetrics{one("x.y", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}), {Scope: instrumentation.Scope{Name: "b"}, Metrics: []metricdata.Metrics{{Name: "x_y", Description: "other", Data: metricdata.Gauge[float64]{DataPoints: points(2.)}}}}}},
		"a series twice":      {scopes: []metricdata.ScopeMetrics{one("x", "", metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{same, same}})}, fails: true},
		"no name":             {scopes: []metricdata.ScopeMetrics{one("é", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)})}, fails: true},
		"a part of histogram": {scopes: []metricdata.ScopeMetrics{one("h", "", bars(hist)), one("h.count", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)})}, fails: true},
		"no part of a gauge":  {scopes: []metricdata.ScopeMetrics{one("h", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}), one("h.count", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)})}},
		"no text":             {scopes: []metricdata.ScopeMetrics{one("x", "", metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(attribute.String("a", "\xff"))}}})}, fails: true},
		"a label of a scope":  {scopes: []metricdata.ScopeMetrics{one("x", "", metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(attribute.String("otel.scope.name", "x"))}}})}, fails: true},
		"a reserved label":    {scopes: []metricdata.ScopeMetrics{one("x", "", metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(attribute.String("__x__", "x"))}}})}, fails: true},
		"no label":            {scopes: []metricdata.ScopeMetrics{one("x", "", metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(attribute.String("é", "x"))}}})}, fails: true},
		"a scope without":     {scopes: []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: "s", Attributes: attribute.NewSet(attribute.String("é", "x"))}}}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, resource.NewSchemaless(attribute.String("service.name", "deed")), c.scopes...)
			for range 2 { // what was first used for a name is remembered
				text := p.agree(t)
				if failed := strings.HasPrefix(text, "The measures do not fit together"); failed != c.fails {
					t.Errorf("failed: %v, want %v:\n%s", failed, c.fails, text)
				}
			}
		})
	}
}

// A resource that has no labels for Prometheus costs target_info, and nothing else.
func TestAResourceWithoutLabels(t *testing.T) {
	t.Parallel()
	for _, r := range []*resource.Resource{resource.Empty(), resource.NewSchemaless(attribute.String("é", "x")), resource.NewSchemaless(attribute.String("__x__", "x")), resource.NewSchemaless(attribute.String("x", "\xff"))} {
		p := newPair(t, r, one("g", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}))
		p.agree(t)
		if text := p.agree(t); !strings.Contains(text, "\ng{") && !strings.HasPrefix(text, "# HELP g ") {
			t.Errorf("%v: %s", r, text)
		}
	}
}

func TestUnitsAgree(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"", "d", "h", "min", "s", "ms", "us", "ns", "By", "KiBy", "MiBy", "GiBy", "TiBy", "KBy", "MBy", "GBy", "TBy", "m", "V", "A", "J", "W", "g", "Cel", "Hz", "1", "%", "{x}", "USD", "{a}/s", "By/s", "m/m", "1/s", "x/w", "x/mo", "x/y", "x/{y}", "x/é", "é/s", "x é/s", "/s", "s/", "a/b/c", " s ", "__", "per/per", "total", "a_/s", "é",
	} {
		for _, name := range []string{"x", "x.seconds", "seconds", "total", "x.total.total", "ratio.x", "1x", "a:b", "per.second", "x_.._y_", "a"} {
			p := newPair(t, resource.Empty(), one(name, unit, metricdata.Gauge[int64]{DataPoints: points[int64](1)}), one(name+".c", unit, metricdata.Sum[int64]{IsMonotonic: true, DataPoints: points[int64](1)}), one(name+".u", unit, metricdata.Sum[float64]{DataPoints: points(1.)}))
			p.agree(t)
		}
	}
}

// Whatever names, units and labels are, ours and theirs tell the same or refuse alike.
func TestAnythingAgrees(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c_.:1é]{0,6}`))
	rapid.Check(t, func(rt *rapid.T) {
		var scopes []metricdata.ScopeMetrics
		for range rapid.IntRange(1, 3).Draw(rt, "scopes") {
			set := func(label string) attribute.Set {
				var list []attribute.KeyValue
				for range rapid.IntRange(0, 3).Draw(rt, label) {
					list = append(list, attribute.String(text.Draw(rt, "key"), text.Draw(rt, "value")))
				}
				return attribute.NewSet(list...)
			}
			s := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: text.Draw(rt, "scope"), Version: text.Draw(rt, "version"), Attributes: set("scope attributes")}}
			for range rapid.IntRange(0, 3).Draw(rt, "measures") {
				p := []metricdata.DataPoint[float64]{{Attributes: set("attributes"), Value: rapid.Float64().Draw(rt, "value")}, {Attributes: set("attributes")}}
				data := []metricdata.Aggregation{metricdata.Gauge[float64]{DataPoints: p}, metricdata.Sum[float64]{DataPoints: p, IsMonotonic: true}, metricdata.Sum[float64]{DataPoints: p}}
				s.Metrics = append(s.Metrics, metricdata.Metrics{Name: text.Draw(rt, "name"), Unit: text.Draw(rt, "unit"), Description: text.Draw(rt, "about"), Data: rapid.SampledFrom(data).Draw(rt, "data")})
			}
			scopes = append(scopes, s)
		}
		p := newPair(t, resource.NewSchemaless(attribute.String(text.Draw(rt, "key"), text.Draw(rt, "value"))), scopes...)
		p.agree(t)
	})
}

// What a callback cannot read costs nothing else.
func TestACallbackThatFails(t *testing.T) {
	t.Parallel()
	p := newPair(t, resource.Empty())
	m := p.provider.Meter("m")
	_, _ = m.Int64ObservableGauge("bad", api.WithInt64Callback(func(context.Context, api.Int64Observer) error { return errors.New("cannot be read") }))
	_, _ = m.Int64ObservableGauge("good", api.WithInt64Callback(func(_ context.Context, o api.Int64Observer) error { o.Observe(1); return nil }))
	if text := p.agree(t); !strings.Contains(text, "good{") || strings.Contains(text, "bad") {
		t.Errorf("%s", text)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	p := newPair(t, resource.Empty(), one("g", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}), one("h", "", metricdata.Gauge[int64]{DataPoints: points[int64](2)}))
	for _, query := range []string{"/metrics", "/metrics?name[]=g", "/metrics?name[]=g&name[]=target_info", "/metrics?name[]=none"} {
		ours, theirs := scrape(p.ours, query), scrape(p.theirs, query)
		if ours.Body.String() != theirs.Body.String() || ours.Code != theirs.Code {
			t.Errorf("%s: %d %s, theirs %d %s", query, ours.Code, ours.Body, theirs.Code, theirs.Body)
		}
	}
	w := scrape(p.ours, "/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	if got := w.Header().Get("Content-Type"); got != ContentType || !strings.HasPrefix(scrape(p.theirs, "/metrics").Header().Get("Content-Type"), ContentType) {
		t.Errorf("content type %q", got)
	}
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "GZIP;q=0.5, deflate": "gzip", "gzip;q=0": "", "zstd": "", "deflate, gzip": "gzip"} {
		ours, theirs := scrape(p.ours, "/metrics", "Accept-Encoding: "+accept), scrape(p.theirs, "/metrics", "Accept-Encoding: "+accept)
		if got, published := ours.Header().Get("Content-Encoding"), theirs.Header().Get("Content-Encoding"); got != want || published != want && accept != "GZIP;q=0.5, deflate" {
			t.Errorf("asked for %q: %q, theirs %q", accept, got, published)
		}
		body := io.Reader(ours.Body)
		if want == "gzip" {
			z, err := gzip.NewReader(ours.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil || string(text) != scrape(p.theirs, "/metrics").Body.String() {
			t.Errorf("%q: %v %s", accept, err, text)
		}
	}
}

func TestErrorsNameWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := newPair(t, resource.Empty(), one("x.total", "", metricdata.Gauge[int64]{DataPoints: points[int64](1)}), one("x", "", metricdata.Sum[int64]{IsMonotonic: true, DataPoints: points[int64](1)}))
	w := scrape(p.ours, "/metrics")
	if want := `measure "x": x_total is a gauge already, and cannot be a counter: give it another name`; w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s", fmt.Sprint(w.Code, w.Body))
	}
}
