package otlp

import (
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// instant writes a time as nanoseconds since 1970. What was before is told as zero, which means unknown.
func (m *message) instant(field int, t time.Time) {
	m.fixed64(field, uint64(max(0, t.UnixNano())))
}

// pairs writes attributes as a repeated KeyValue.
func (m *message) pairs(field int, list iter.Seq[attribute.KeyValue]) {
	for kv := range list {
		m.nest(field, func(m *message) {
			m.text(1, string(kv.Key))
			m.nest(2, func(m *message) { m.value(kv.Value) })
		})
	}
}

func (m *message) attributes(field int, list []attribute.KeyValue) {
	m.pairs(field, slices.Values(list))
}

func (m *message) set(field int, s attribute.Set) {
	m.pairs(field, func(yield func(attribute.KeyValue) bool) {
		for i := s.Iter(); i.Next(); {
			if !yield(i.Attribute()) {
				return
			}
		}
	})
}

// value writes the members of an AnyValue.
func (m *message) value(v attribute.Value) {
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.STRING:
		m.setText(1, v.AsString())
	case attribute.BOOL:
		m.setBool(v.AsBool())
	case attribute.INT64:
		m.setUvarint(3, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		m.setDouble(4, v.AsFloat64())
	case attribute.BYTESLICE:
		m.setBytes(7, v.AsByteSlice())
	case attribute.MAP:
		m.nest(6, func(m *message) { m.attributes(1, v.AsMap()) })
	case attribute.SLICE:
		array(m, v.AsSlice(), (*message).value)
	case attribute.STRINGSLICE:
		array(m, v.AsStringSlice(), func(m *message, s string) { m.setText(1, s) })
	case attribute.BOOLSLICE:
		array(m, v.AsBoolSlice(), (*message).setBool)
	case attribute.INT64SLICE:
		array(m, v.AsInt64Slice(), func(m *message, n int64) { m.setUvarint(3, uint64(n)) })
	case attribute.FLOAT64SLICE:
		array(m, v.AsFloat64Slice(), func(m *message, f float64) { m.setDouble(4, f) })
	default:
		m.setText(1, "INVALID")
	}
}

func (m *message) setBool(v bool) {
	var n uint64
	if v {
		n = 1
	}
	m.setUvarint(2, n)
}

func array[T any](m *message, list []T, one func(*message, T)) {
	m.nest(5, func(m *message) {
		for _, v := range list {
			m.nest(1, func(m *message) { one(m, v) })
		}
	})
}

// origin writes a Resource, which the three signals have in the same place.
func (m *message) origin(r *resource.Resource) {
	m.nest(1, func(m *message) { m.set(1, *r.Set()) })
}

// scope writes an InstrumentationScope, which the three signals have in the same place.
func (m *message) scope(s instrumentation.Scope) {
	m.nest(1, func(m *message) {
		m.text(1, s.Name)
		m.text(2, s.Version)
		m.set(3, s.Attributes)
	})
}

// A group is what one resource told, by scope.
type group[T any] struct {
	resource *resource.Resource
	scopes   []*scoped[T]
}

type scoped[T any] struct {
	scope instrumentation.Scope
	items []T
}

// batch is a request with spans or log records, which have their places alike: by resource and by scope. known says that a
// resource is told.
func batch[T any](list []T, from func(T) *resource.Resource, of func(T) instrumentation.Scope, known func(*resource.Resource) bool, one func(*message, T)) (m message) {
	for _, g := range byOrigin(list, from, of) {
		m.nest(1, func(m *message) {
			if known(g.resource) {
				m.origin(g.resource)
			}
			for _, s := range g.scopes {
				m.nest(2, func(m *message) {
					if s.scope != (instrumentation.Scope{}) {
						m.scope(s.scope)
					}
					for _, item := range s.items {
						m.nest(2, func(m *message) { one(m, item) })
					}
					m.text(3, s.scope.SchemaURL)
				})
			}
			m.text(3, g.resource.SchemaURL())
		})
	}
	return m
}

// byOrigin sorts a batch by resource and scope, both in the order in which they first appear.
func byOrigin[T any](list []T, from func(T) *resource.Resource, of func(T) instrumentation.Scope) (out []*group[T]) {
	type place struct {
		resource attribute.Distinct
		scope    instrumentation.Scope
	}
	groups, scopes := map[attribute.Distinct]*group[T]{}, map[place]*scoped[T]{}
	for _, item := range list {
		r, s := from(item), of(item)
		at := place{r.Equivalent(), s}
		in := scopes[at]
		if in == nil { // always for a scope with an attribute that is not a number, which equals nothing
			g := groups[at.resource]
			if g == nil {
				g = &group[T]{resource: r}
				groups[at.resource], out = g, append(out, g)
			}
			in = &scoped[T]{scope: s}
			scopes[at], g.scopes = in, append(g.scopes, in)
		}
		in.items = append(in.items, item)
	}
	return out
}
