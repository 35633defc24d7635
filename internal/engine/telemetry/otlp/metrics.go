package otlp

import (
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricsRequest is an ExportMetricsServiceRequest. A measure that OTLP has no place for is left out of it, and named by the
// error: the others are told all the same.
func metricsRequest(rm *metricdata.ResourceMetrics) ([]byte, error) {
	var m message
	var faults []error
	m.nest(1, func(m *message) {
		m.origin(rm.Resource)
		for _, s := range rm.ScopeMetrics {
			m.nest(2, func(m *message) {
				m.scope(s.Scope)
				for _, one := range s.Metrics {
					before := len(*m)
					var err error
					m.nest(2, func(m *message) { err = m.metric(one) })
					if err != nil {
						*m = (*m)[:before]
						faults = append(faults, fmt.Errorf("measure %q (unit %q): %w", one.Name, one.Unit, err))
					}
				}
				m.text(3, s.Scope.SchemaURL)
			})
		}
		m.text(3, rm.Resource.SchemaURL())
	})
	return m, errors.Join(faults...)
}

func (m *message) metric(one metricdata.Metrics) error {
	m.text(1, one.Name)
	m.text(2, one.Description)
	m.text(3, one.Unit)
	switch data := one.Data.(type) {
	case metricdata.Gauge[int64]:
		m.nest(5, func(m *message) { numbers(m, data.DataPoints) })
	case metricdata.Gauge[float64]:
		m.nest(5, func(m *message) { numbers(m, data.DataPoints) })
	case metricdata.Sum[int64]:
		return sum(m, data)
	case metricdata.Sum[float64]:
		return sum(m, data)
	case metricdata.Histogram[int64]:
		return histogram(m, data)
	case metricdata.Histogram[float64]:
		return histogram(m, data)
	case metricdata.ExponentialHistogram[int64]:
		return exponential(m, data)
	case metricdata.ExponentialHistogram[float64]:
		return exponential(m, data)
	case metricdata.Summary:
		m.nest(11, func(m *message) {
			for _, p := range data.DataPoints {
				m.nest(1, func(m *message) { m.summary(p) })
			}
		})
	default:
		return fmt.Errorf("unknown aggregation %T", data)
	}
	return nil
}

// temporality is the number that OTLP has for one.
func temporality(t metricdata.Temporality) (uint64, error) {
	switch t {
	case metricdata.DeltaTemporality:
		return 1, nil
	case metricdata.CumulativeTemporality:
		return 2, nil
	}
	return 0, fmt.Errorf("unknown temporality %s", t)
}

func sum[N int64 | float64](m *message, s metricdata.Sum[N]) error {
	t, err := temporality(s.Temporality)
	m.nest(7, func(m *message) {
		numbers(m, s.DataPoints)
		m.uvarint(2, t)
		m.bool(3, s.IsMonotonic)
	})
	return err
}

func numbers[N int64 | float64](m *message, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		m.nest(1, func(m *message) {
			m.instant(2, p.StartTime)
			m.instant(3, p.Time)
			number(m, 4, p.Value)
			exemplars(m, 5, p.Exemplars)
			m.set(7, p.Attributes)
		})
	}
}

// number writes a value of a oneof whose floating-point member has the given field, and whose integer has field 6.
func number[N int64 | float64](m *message, float int, v N) {
	switch v := any(v).(type) {
	case int64:
		m.setFixed64(6, uint64(v))
	case float64:
		m.setFixed64(float, math.Float64bits(v))
	}
}

func exemplars[N int64 | float64](m *message, field int, list []metricdata.Exemplar[N]) {
	for _, e := range list {
		m.nest(field, func(m *message) {
			m.instant(2, e.Time)
			number(m, 3, e.Value)
			m.bytes(4, e.SpanID)
			m.bytes(5, e.TraceID)
			m.attributes(7, e.FilteredAttributes)
		})
	}
}

// extreme writes a least or greatest value where there is one.
func extreme[N int64 | float64](m *message, field int, e metricdata.Extrema[N]) {
	if v, ok := e.Value(); ok {
		m.setDouble(field, float64(v))
	}
}

func histogram[N int64 | float64](m *message, h metricdata.Histogram[N]) error {
	t, err := temporality(h.Temporality)
	m.nest(9, func(m *message) {
		for _, p := range h.DataPoints {
			m.nest(1, func(m *message) {
				m.instant(2, p.StartTime)
				m.instant(3, p.Time)
				m.fixed64(4, p.Count)
				m.setDouble(5, float64(p.Sum))
				pack(m, 6, p.BucketCounts, packedFixed64)
				pack(m, 7, p.Bounds, packedDouble)
				exemplars(m, 8, p.Exemplars)
				m.set(9, p.Attributes)
				extreme(m, 11, p.Min)
				extreme(m, 12, p.Max)
			})
		}
		m.uvarint(2, t)
	})
	return err
}

func exponential[N int64 | float64](m *message, h metricdata.ExponentialHistogram[N]) error {
	t, err := temporality(h.Temporality)
	m.nest(10, func(m *message) {
		for _, p := range h.DataPoints {
			m.nest(1, func(m *message) {
				m.set(1, p.Attributes)
				m.instant(2, p.StartTime)
				m.instant(3, p.Time)
				m.fixed64(4, p.Count)
				m.setDouble(5, float64(p.Sum))
				m.sint(6, p.Scale)
				m.fixed64(7, p.ZeroCount)
				m.buckets(8, p.PositiveBucket)
				m.buckets(9, p.NegativeBucket)
				exemplars(m, 11, p.Exemplars)
				extreme(m, 12, p.Min)
				extreme(m, 13, p.Max)
				m.double(14, p.ZeroThreshold)
			})
		}
		m.uvarint(2, t)
	})
	return err
}

func (m *message) buckets(field int, b metricdata.ExponentialBucket) {
	m.nest(field, func(m *message) {
		m.sint(1, b.Offset)
		pack(m, 2, b.Counts, packedUvarint)
	})
}

func (m *message) summary(p metricdata.SummaryDataPoint) {
	m.instant(2, p.StartTime)
	m.instant(3, p.Time)
	m.fixed64(4, p.Count)
	m.double(5, p.Sum)
	for _, q := range p.QuantileValues {
		m.nest(6, func(m *message) {
			m.double(1, q.Quantile)
			m.double(2, q.Value)
		})
	}
	m.set(7, p.Attributes)
}
