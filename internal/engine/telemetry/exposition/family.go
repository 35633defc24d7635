package exposition

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// A kind is what Prometheus calls the type of a measure.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// about is what all series of a name have in common.
type about struct {
	kind kind
	help string
}

// A family is what is told under one name.
type family struct {
	about
	name   string
	series []series
	seen   map[string]bool // by labels
}

// A series is what is told of one set of labels.
type series struct {
	labels  []label
	value   float64 // the sum of a histogram
	buckets []bucket
	count   uint64
}

type label struct{ name, value string }

// A bucket counts what was no greater than its bound.
type bucket struct {
	bound float64
	count uint64
}

// gathering brings together the families of one scrape.
type gathering struct {
	known    map[string]about
	families map[string]*family
	faults   []error
}

// target adds what is known of the process, as labels of a measure that is always one.
func (g *gathering) target(r *resource.Resource) error {
	labels, err := labelsOf("", *r.Set(), nil)
	if err == nil {
		err = checkLabels(labels)
	}
	if err != nil {
		return fmt.Errorf("target_info is left out: %w", err)
	}
	g.families["target_info"] = &family{name: "target_info", about: about{gauge, "Target metadata"}, series: []series{{labels: labels, value: 1}}, seen: map[string]bool{}}
	return nil
}

// scope adds the measures of a scope, whose name, version, schema and attributes become labels of all of them.
func (g *gathering) scope(s metricdata.ScopeMetrics) {
	const prefix = "otel_scope_"
	own := []label{{prefix + "name", s.Scope.Name}, {prefix + "version", s.Scope.Version}, {prefix + "schema_url", s.Scope.SchemaURL}}
	attributes, err := labelsOf(prefix, s.Scope.Attributes, own)
	if err != nil {
		g.faults = append(g.faults, fmt.Errorf("scope %q: %w", s.Scope.Name, err))
		return
	}
	own = append(own, attributes...)
	for _, m := range s.Metrics {
		switch data := m.Data.(type) {
		case metricdata.Gauge[int64]:
			numbers(g, own, m, gauge, data.DataPoints)
		case metricdata.Gauge[float64]:
			numbers(g, own, m, gauge, data.DataPoints)
		case metricdata.Sum[int64]:
			numbers(g, own, m, sumKind(data.IsMonotonic), data.DataPoints)
		case metricdata.Sum[float64]:
			numbers(g, own, m, sumKind(data.IsMonotonic), data.DataPoints)
		case metricdata.Histogram[int64]:
			histograms(g, own, m, data.DataPoints)
		case metricdata.Histogram[float64]:
			histograms(g, own, m, data.DataPoints)
		case metricdata.ExponentialHistogram[int64]:
			exponentials(g, own, m, data.DataPoints)
		case metricdata.ExponentialHistogram[float64]:
			exponentials(g, own, m, data.DataPoints)
		default:
			g.faults = append(g.faults, fmt.Errorf("measure %q: Prometheus has no place for a %T", m.Name, data))
		}
	}
}

func sumKind(rises bool) kind {
	if rises {
		return counter
	}
	return gauge
}

// family finds the family of a measure, or begins it; nil: it does not fit. The first description of a name stays.
func (g *gathering) family(m metricdata.Metrics, k kind) *family {
	name, err := metricName(m.Name, m.Unit, suffix(m))
	if err != nil {
		g.faults = append(g.faults, err)
		return nil
	}
	known, ok := g.known[name]
	if !ok {
		known = about{k, m.Description}
		g.known[name] = known
	}
	if known.kind != k {
		g.faults = append(g.faults, fmt.Errorf("measure %q: %s is a %s already, and cannot be a %s: give it another name", m.Name, name, known.kind, k))
		return nil
	}
	f := g.families[name]
	if f == nil {
		f = &family{name: name, about: known, seen: map[string]bool{}}
		g.families[name] = f
	}
	return f
}

// suffix is the last word of a measure's name. A gauge without a dimension is a ratio; sums are not.
func suffix(m metricdata.Metrics) string {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if data.IsMonotonic {
			return "total"
		}
	case metricdata.Sum[float64]:
		if data.IsMonotonic {
			return "total"
		}
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		if m.Unit == "1" {
			return "ratio"
		}
	}
	return ""
}

// add adds a series with the labels of its attributes and of its scope.
func (g *gathering) add(f *family, scope []label, attributes attribute.Set, s series) {
	labels, err := labelsOf("", attributes, nil)
	if err == nil {
		s.labels = append(labels, scope...)
		slices.SortFunc(s.labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
		err = checkLabels(s.labels)
	}
	if key := string(appendLabels(nil, s.labels)); err == nil && f.seen[key] {
		err = fmt.Errorf("there are two series %s", key)
	} else {
		f.seen[key] = true
	}
	if err != nil {
		g.faults = append(g.faults, fmt.Errorf("%s: %w", f.name, err))
		return
	}
	f.series = append(f.series, s)
}

func numbers[N int64 | float64](g *gathering, scope []label, m metricdata.Metrics, k kind, points []metricdata.DataPoint[N]) {
	if f := g.family(m, k); f != nil {
		for _, p := range points {
			g.add(f, scope, p.Attributes, series{value: float64(p.Value)})
		}
	}
}

func histograms[N int64 | float64](g *gathering, scope []label, m metricdata.Metrics, points []metricdata.HistogramDataPoint[N]) {
	f := g.family(m, histogram)
	if f == nil {
		return
	}
	for _, p := range points {
		s := series{value: float64(p.Sum), count: p.Count}
		var n uint64
		for i, bound := range p.Bounds {
			n += p.BucketCounts[i]
			s.buckets = append(s.buckets, bucket{bound, n})
		}
		g.add(f, scope, p.Attributes, s)
	}
}

// exponentials adds histograms whose buckets the text format has no place for: their sum and their count are left.
func exponentials[N int64 | float64](g *gathering, scope []label, m metricdata.Metrics, points []metricdata.ExponentialHistogramDataPoint[N]) {
	f := g.family(m, histogram)
	if f == nil {
		return
	}
	for _, p := range points {
		if p.Scale < -4 {
			g.faults = append(g.faults, fmt.Errorf("%s: Prometheus has no exponential histogram of scale %d (-4 is the least)", f.name, p.Scale))
			continue
		}
		g.add(f, scope, p.Attributes, series{value: float64(p.Sum), count: p.Count})
	}
}

// labelsOf are the labels of attributes, sorted. Attributes whose names become one have their values one after the other. Names
// that are taken are left out.
func labelsOf(prefix string, set attribute.Set, taken []label) ([]label, error) {
	values := map[string][]string{}
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		name, err := labelName(string(kv.Key))
		if err != nil {
			return nil, err
		}
		values[prefix+name] = append(values[prefix+name], kv.Value.String())
	}
	for _, l := range taken {
		delete(values, l.name)
	}
	var out []label
	for _, name := range slices.Sorted(maps.Keys(values)) {
		slices.Sort(values[name])
		out = append(out, label{name, strings.Join(values[name], ";")})
	}
	return out, nil
}

// checkLabels refuses what a scraper would refuse: a label twice, or a value that is no text. The labels are sorted.
func checkLabels(labels []label) error {
	for i, l := range labels {
		if i > 0 && labels[i-1].name == l.name {
			return fmt.Errorf("the label %s is there twice", l.name)
		}
		if !utf8.ValidString(l.value) {
			return fmt.Errorf("the label %s has the value %q, which is not UTF-8", l.name, l.value)
		}
	}
	return nil
}

// sorted is what was gathered, in the order in which it is told.
func (g *gathering) sorted() ([]*family, error) {
	var out []*family
	for _, name := range slices.Sorted(maps.Keys(g.families)) {
		f := g.families[name]
		if len(f.series) == 0 {
			continue
		}
		slices.SortStableFunc(f.series, func(a, b series) int {
			return cmp.Or(cmp.Compare(len(a.labels), len(b.labels)), slices.CompareFunc(a.labels, b.labels, func(x, y label) int { return strings.Compare(x.value, y.value) }))
		})
		out = append(out, f)
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if other := g.families[name+suffix]; f.kind == histogram && other != nil && len(other.series) > 0 {
				g.faults = append(g.faults, fmt.Errorf("%s is a measure, and a part of the histogram %s: give one of them another name", other.name, name))
			}
		}
	}
	return out, errors.Join(g.faults...)
}

// infinite reports whether the last bucket of a series has everything.
func (s *series) infinite() bool {
	return len(s.buckets) > 0 && math.IsInf(s.buckets[len(s.buckets)-1].bound, 1)
}
