package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// recordsRequest is an ExportLogsServiceRequest; empty: there is nothing to tell.
func recordsRequest(records []sdklog.Record) []byte {
	list := make([]*sdklog.Record, len(records))
	for i := range records {
		list[i] = &records[i]
	}
	return batch(list, (*sdklog.Record).Resource, (*sdklog.Record).InstrumentationScope, func(r *resource.Resource) bool { return r.Len() > 0 }, (*message).record)
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
