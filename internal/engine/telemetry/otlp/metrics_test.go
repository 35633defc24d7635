package otlp

import (
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

func metricsOf(t *testing.T, c *collector) (*Metrics, *otlpmetrichttp.Exporter) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	ours, err := NewMetrics(agent)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := otlpmetrichttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// aggregations has every one of a number, at the edges of what it can hold.
func aggregations[N int64 | float64](values ...N) map[string]metricdata.Aggregation {
	set := attribute.NewSet(everyKind...)
	marks := []metricdata.Exemplar[N]{{FilteredAttributes: everyKind, Time: instant, Value: values[0], SpanID: []byte{1, 2}, TraceID: []byte{3}}, {}}
	var points []metricdata.DataPoint[N]
	var bars []metricdata.HistogramDataPoint[N]
	var exps []metricdata.ExponentialHistogramDataPoint[N]
	for _, v := range values {
		points = append(points, metricdata.DataPoint[N]{Attributes: set, StartTime: before, Time: instant, Value: v, Exemplars: marks})
		bars = append(bars, metricdata.HistogramDataPoint[N]{
			Attributes: set, StartTime: instant, Time: instant, Count: math.MaxUint64, Sum: v, Bounds: []float64{math.Inf(-1), 0, 1.5},
			BucketCounts: []uint64{0, 1, math.MaxUint64, 3}, Exemplars: marks, Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(v),
		})
		exps = append(exps, metricdata.ExponentialHistogramDataPoint[N]{
			Attributes: set, StartTime: instant, Time: instant, Count: 3, Sum: v, Scale: math.MinInt32, ZeroCount: 7, ZeroThreshold: .25, Exemplars: marks,
			PositiveBucket: metricdata.ExponentialBucket{Offset: -5, Counts: []uint64{0, 1, 300, math.MaxUint64}}, NegativeBucket: metricdata.ExponentialBucket{Offset: math.MaxInt32},
			Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(v),
		}, metricdata.ExponentialHistogramDataPoint[N]{Scale: 20})
	}
	points, bars = append(points, metricdata.DataPoint[N]{}), append(bars, metricdata.HistogramDataPoint[N]{})
	return map[string]metricdata.Aggregation{
		"gauge":       metricdata.Gauge[N]{DataPoints: points},
		"no gauge":    metricdata.Gauge[N]{},
		"sum":         metricdata.Sum[N]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true},
		"delta":       metricdata.Sum[N]{DataPoints: points, Temporality: metricdata.DeltaTemporality},
		"histogram":   metricdata.Histogram[N]{DataPoints: bars, Temporality: metricdata.DeltaTemporality},
		"exponential": metricdata.ExponentialHistogram[N]{DataPoints: exps, Temporality: metricdata.CumulativeTemporality},
	}
}

func resourceMetrics(data ...metricdata.Aggregation) *metricdata.ResourceMetrics {
	out := &metricdata.ResourceMetrics{Resource: resource.NewWithAttributes("https://example.com/r", everyKind...)}
	for _, name := range []string{"", "scope"} {
		s := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: name, Version: name, SchemaURL: name, Attributes: attribute.NewSet(everyKind...)}}
		for _, d := range data {
			s.Metrics = append(s.Metrics, metricdata.Metrics{Name: "measure", Description: "what it is", Unit: "By", Data: d})
		}
		out.ScopeMetrics = append(out.ScopeMetrics, s)
	}
	return out
}

func TestMetricsAgree(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := metricsOf(t, c)
	for name, list := range map[string]map[string]metricdata.Aggregation{
		"integers": aggregations[int64](0, 1, -1, math.MinInt64, math.MaxInt64),
		"floats":   aggregations(0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64),
	} {
		for kind, data := range list {
			t.Run(name+" "+kind, func(t *testing.T) { agreeOnMetrics(t, c, ours, theirs, resourceMetrics(data, data)) })
		}
	}
	t.Run("summary", func(t *testing.T) {
		agreeOnMetrics(t, c, ours, theirs, resourceMetrics(metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{
			{}, {Attributes: attribute.NewSet(everyKind...), StartTime: instant, Time: instant, Count: 5, Sum: -2, QuantileValues: []metricdata.QuantileValue{{}, {Quantile: .5, Value: math.NaN()}}},
		}}))
	})
	t.Run("nothing", func(t *testing.T) {
		agreeOnMetrics(t, c, ours, theirs, &metricdata.ResourceMetrics{Resource: resource.Empty()})
		agreeOnMetrics(t, c, ours, theirs, &metricdata.ResourceMetrics{})
	})
}

// A measure that cannot be told is named, and the others are told.
func TestAMeasureThatCannotBeToldCostsNoOther(t *testing.T) {
	c := newCollector(t, nil)
	ours, theirs := metricsOf(t, c)
	rm := resourceMetrics(metricdata.Sum[int64]{}, metricdata.Histogram[int64]{}, metricdata.ExponentialHistogram[float64]{}, nil, metricdata.Gauge[int64]{})
	ourErr, theirErr := ours.Export(t.Context(), rm), theirs.Export(t.Context(), rm)
	if ourErr == nil || theirErr == nil || !strings.Contains(ourErr.Error(), `measure "measure"`) || !strings.Contains(ourErr.Error(), "unknown temporality") {
		t.Errorf("ours says %v, theirs %v", ourErr, theirErr)
	}
	got := c.taken()
	if len(got) != 2 || string(got[0].Body) != string(got[1].Body) {
		t.Errorf("told %d times, and not the same", len(got))
	}
}

// What the SDK makes of instruments agrees, exemplars and the preferences of the environment included.
func TestMetricsOfTheSDKAgree(t *testing.T) {
	for _, preference := range []string{"", "cumulative", "DELTA", "lowmemory", "nonsense"} {
		for _, shape := range []string{"", "explicit_bucket_histogram", "Base2_exponential_bucket_histogram", "nonsense"} {
			t.Run(preference+"/"+shape, func(t *testing.T) {
				t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", preference)
				t.Setenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", shape)
				c := newCollector(t, nil)
				ours, theirs := metricsOf(t, c)
				for kind := metric.InstrumentKindCounter; kind <= metric.InstrumentKindGauge; kind++ {
					if a, b := ours.Temporality(kind), theirs.Temporality(kind); a != b {
						t.Errorf("%v is %v, theirs %v", kind, a, b)
					}
				}
				reader := metric.NewManualReader(metric.WithTemporalitySelector(ours.Temporality), metric.WithAggregationSelector(ours.Aggregation))
				mirror := metric.NewManualReader(metric.WithTemporalitySelector(theirs.Temporality), metric.WithAggregationSelector(theirs.Aggregation))
				p := metric.NewMeterProvider(metric.WithReader(reader), metric.WithReader(mirror), metric.WithExemplarFilter(exemplar.AlwaysOnFilter))
				m := p.Meter("m")
				ctx := trace.ContextWithSpanContext(t.Context(), spanContext(t, 7, false, ""))
				count, _ := m.Int64Counter("count")
				level, _ := m.Float64UpDownCounter("level")
				hist, _ := m.Float64Histogram("hist", api.WithUnit("s"))
				gauge, _ := m.Int64Gauge("gauge")
				for i := range 20 {
					with := api.WithAttributes(attribute.Int("i", i%3))
					count.Add(ctx, int64(i), with)
					level.Add(ctx, -1.5, with)
					hist.Record(ctx, float64(i*i-40), with)
					gauge.Record(ctx, int64(i), with)
				}
				var a, b metricdata.ResourceMetrics
				if err := reader.Collect(t.Context(), &a); err != nil {
					t.Fatal(err)
				}
				if err := mirror.Collect(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				for i, one := range a.ScopeMetrics[0].Metrics {
					if x, y := one.Data, b.ScopeMetrics[0].Metrics[i].Data; strings.Split(kindOf(x), " ")[0] != strings.Split(kindOf(y), " ")[0] {
						t.Errorf("%s is %s, theirs %s", one.Name, kindOf(x), kindOf(y))
					}
				}
				agreeOnMetrics(t, c, ours, theirs, &a)
			})
		}
	}
}

func kindOf(a metricdata.Aggregation) string {
	switch a := a.(type) {
	case metricdata.Histogram[float64]:
		return "histogram " + a.Temporality.String()
	case metricdata.ExponentialHistogram[float64]:
		return "exponential " + a.Temporality.String()
	}
	return "other"
}
