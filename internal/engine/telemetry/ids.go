package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// The ids of a task's trace, its span and the spans of its attempts are derived from the task's and the attempts' ids. So
// all attempts of a task are in one trace, whichever process runs them, and a process that dies leaves no span with an
// unknown parent.

func traceOf(taskID string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("deed trace\x00" + taskID))
	copy(id[:], sum[:])
	return id
}

func spanOf(kind, of string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("deed " + kind + "\x00" + of))
	copy(id[:], sum[:])
	return id
}

// parent is a span that is known by its ids alone.
func parent(taskID string, span trace.SpanID) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceOf(taskID), SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

// Parent is the W3C trace context of an attempt, for the processes that it starts; empty where no traces are
// exported.
func (t *Telemetry) Parent(taskID, attemptID string) string {
	if t == nil || t.traces == nil {
		return ""
	}
	return "00-" + traceOf(taskID).String() + "-" + spanOf("attempt", attemptID).String() + "-01"
}

type wanted struct {
	trace trace.TraceID
	span  trace.SpanID
}

type wantedKey struct{}

// named asks for the ids of the span that is started next with the context.
func named(ctx context.Context, w wanted) context.Context {
	return context.WithValue(ctx, wantedKey{}, w)
}

// ids gives a span the ids that were asked for, and others random ones.
type ids struct{}

func (*ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.trace, w.span
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, random()
}

func (*ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.span
	}
	return random()
}

func random() (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}
