package otlp

import (
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The bits of a span's flags above those of the trace context: whether it is known that the parent is in another process,
// and whether it is.
const (
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

// kinds are the numbers that OTLP has for kinds of spans.
var kinds = map[trace.SpanKind]uint64{
	trace.SpanKindInternal: 1,
	trace.SpanKindServer:   2,
	trace.SpanKindClient:   3,
	trace.SpanKindProducer: 4,
	trace.SpanKindConsumer: 5,
}

// spansRequest is an ExportTraceServiceRequest; empty: there is nothing to tell.
func spansRequest(spans []sdktrace.ReadOnlySpan) []byte {
	known := make([]sdktrace.ReadOnlySpan, 0, len(spans))
	for _, s := range spans {
		if s != nil {
			known = append(known, s)
		}
	}
	return batch(known, sdktrace.ReadOnlySpan.Resource, sdktrace.ReadOnlySpan.InstrumentationScope, func(r *resource.Resource) bool { return r != nil }, (*message).span)
}

func (m *message) span(s sdktrace.ReadOnlySpan) {
	at, parent := s.SpanContext(), s.Parent()
	m.identity(at)
	m.text(3, at.TraceState().String())
	if id := parent.SpanID(); id.IsValid() {
		m.setBytes(4, id[:])
	}
	m.text(5, s.Name())
	m.uvarint(6, kinds[s.SpanKind()])
	m.instant(7, s.StartTime())
	m.instant(8, s.EndTime())
	m.attributes(9, s.Attributes())
	m.count(10, s.DroppedAttributes())
	for _, e := range s.Events() {
		m.nest(11, func(m *message) {
			m.instant(1, e.Time)
			m.text(2, e.Name)
			m.attributes(3, e.Attributes)
			m.count(4, e.DroppedAttributeCount)
		})
	}
	m.count(12, s.DroppedEvents())
	for _, l := range s.Links() {
		m.nest(13, func(m *message) {
			m.identity(l.SpanContext)
			m.attributes(4, l.Attributes)
			m.count(5, l.DroppedAttributeCount)
			m.fixed32(6, spanFlags(l.SpanContext, l.SpanContext))
		})
	}
	m.count(14, s.DroppedLinks())
	m.nest(15, func(m *message) {
		status := s.Status()
		m.text(2, status.Description)
		switch status.Code {
		case codes.Ok:
			m.uvarint(3, 1)
		case codes.Error:
			m.uvarint(3, 2)
		case codes.Unset:
		}
	})
	m.fixed32(16, spanFlags(at, parent))
}

// identity writes the ids of a span, which are told even when they are zero.
func (m *message) identity(at trace.SpanContext) {
	traceID, spanID := at.TraceID(), at.SpanID()
	m.setBytes(1, traceID[:])
	m.setBytes(2, spanID[:])
}

// spanFlags are the flags of a span, or of a link, and whether what it hangs on is in another process.
func spanFlags(at, on trace.SpanContext) uint32 {
	flags := uint32(at.TraceFlags()) | flagRemoteKnown
	if on.IsRemote() {
		flags |= flagRemote
	}
	return flags
}
