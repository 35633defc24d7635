package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// recordsRequest is an ExportLogsServiceRequest; empty: there is nothing to tell.
func recordsRequest(records []sdklog.Record) []byte {
	var m message
	for _, g := range byOrigin(records, func(r sdklog.Record) (*resource.Resource, instrumentation.Scope) {
		return r.Resource(), r.InstrumentationScope()
	}) {
		m.nest(1, func(m *message) {
			if g.resource.Len() > 0 {
				m.origin(g.resource)
			}
			for _, s := range g.scopes {
				m.nest(2, func(m *message) {
					if s.scope != (instrumentation.Scope{}) {
						m.scope(s.scope)
					}
					for i := range s.items {
						m.nest(2, func(m *message) { m.record(&s.items[i]) })
					}
					m.text(3, s.scope.SchemaURL)
				})
			}
			m.text(3, g.resource.SchemaURL())
		})
	}
	return m
}

func (m *message) record(r *sdklog.Record) {
	m.instant(1, r.Timestamp())
	// The severities of the API are the numbers of the protocol, but for those that neither knows.
	if s := r.Severity(); s >= log.SeverityTrace1 && s <= log.SeverityFatal4 {
		m.uvarint(2, uint64(s))
	}
	m.text(3, r.SeverityText())
	m.nest(5, func(m *message) { m.value(r.Body()) })
	m.pairs(6, func(yield func(attribute.KeyValue) bool) { r.WalkAttributes(yield) })
	m.count(7, r.DroppedAttributes())
	m.fixed32(8, uint32(r.TraceFlags()))
	if id := r.TraceID(); id.IsValid() {
		m.setBytes(9, id[:])
	}
	if id := r.SpanID(); id.IsValid() {
		m.setBytes(10, id[:])
	}
	m.instant(11, r.ObservedTimestamp())
	m.text(12, r.EventName())
}
