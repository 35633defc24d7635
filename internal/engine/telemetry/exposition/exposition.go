// Package exposition owns what a Prometheus scraper reads: the measures of an OpenTelemetry reader in Prometheus' text format,
// with names and labels as OpenTelemetry's specification translates them. It measures nothing itself. The libraries of
// Prometheus and OpenTelemetry's exporter on them set up registries and protobuf types in every process before main; in tests
// they have to agree with this package.
package exposition

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ContentType is that of the one format there is.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Handler serves the measures of a reader.
type Handler struct {
	reader *metric.ManualReader

	mu       sync.Mutex
	families map[string]about // guarded by mu; what a name was first used for holds as long as the process
	told     bool             // guarded by mu; that the resource has no labels was told
}

// New serves the measures of a reader, which has to belong to a meter provider and to keep totals, as a ManualReader does
// by itself.
func New(reader *metric.ManualReader) *Handler {
	return &Handler{reader: reader, families: map[string]about{}}
}

// ServeHTTP writes all measures, or those that the parameters name[] ask for. Measures that do not fit together, such as two
// kinds under one name, are an error and nothing else: a part would pass for the whole.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	families, err := h.gather(r.Context())
	if err != nil {
		http.Error(w, "The measures do not fit together:\n\n"+err.Error(), http.StatusInternalServerError)
		return
	}
	only := r.URL.Query()["name[]"]
	var text []byte
	for _, f := range families {
		if len(only) == 0 || slices.Contains(only, f.name) {
			text = f.append(text)
		}
	}
	w.Header().Set("Content-Type", ContentType)
	w.Header().Add("Vary", "Accept-Encoding")
	if accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(text)
		if err = errors.Join(err, z.Close()); err == nil {
			w.Header().Set("Content-Encoding", "gzip")
			text = packed.Bytes()
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // a scraper that went away misses nothing that it cannot ask for again
}

// accepts reports whether a header asks for an encoding by name, without refusing it.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			_, q, weighted := strings.Cut(params, "q=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !weighted || err == nil && weight > 0
		}
	}
	return false
}

// gather reads the measures. What a callback could not read is told to OpenTelemetry's handler of faults and left out,
// unless the scraper went away meanwhile. A reader that was shut down has none.
func (h *Handler) gather(ctx context.Context) ([]*family, error) {
	var rm metricdata.ResourceMetrics
	if err := h.reader.Collect(ctx, &rm); err != nil && ctx.Err() == nil && !errors.Is(err, metric.ErrReaderShutdown) {
		otel.Handle(err)
	}
	if rm.Resource == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := gathering{known: h.families, families: map[string]*family{}}
	if err := g.target(rm.Resource); err != nil && !h.told {
		h.told = true
		otel.Handle(err)
	}
	for _, s := range rm.ScopeMetrics {
		g.scope(s)
	}
	return g.sorted()
}
