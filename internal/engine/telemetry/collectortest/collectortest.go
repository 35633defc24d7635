// Package collectortest is an OpenTelemetry collector for tests: it listens on loopback, takes OTLP over HTTP, and keeps
// what it receives.
package collectortest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collog "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one request.
const maxBody = 16 << 20

// A Collector keeps what it receives.
type Collector struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	spans    []*trace.Span
	metrics  []*metrics.Metric
	logs     []*logs.LogRecord
	resource []*common.KeyValue
	raw      []byte
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.take(func(b []byte) error {
		var r coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(b, &r); err != nil {
			return err
		}
		for _, rs := range r.ResourceSpans {
			c.resource = rs.Resource.Attributes
			for _, s := range rs.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
		return nil
	}))
	mux.HandleFunc("POST /v1/metrics", c.take(func(b []byte) error {
		var r colmetric.ExportMetricsServiceRequest
		if err := proto.Unmarshal(b, &r); err != nil {
			return err
		}
		for _, rs := range r.ResourceMetrics {
			for _, s := range rs.ScopeMetrics {
				c.metrics = append(c.metrics, s.Metrics...)
			}
		}
		return nil
	}))
	mux.HandleFunc("POST /v1/logs", c.take(func(b []byte) error {
		var r collog.ExportLogsServiceRequest
		if err := proto.Unmarshal(b, &r); err != nil {
			return err
		}
		for _, rs := range r.ResourceLogs {
			for _, s := range rs.ScopeLogs {
				c.logs = append(c.logs, s.LogRecords...)
			}
		}
		return nil
	}))
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) take(keep func([]byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(http.MaxBytesReader(w, r.Body, maxBody))
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = io.LimitReader(z, maxBody)
		}
		b, err := io.ReadAll(body)
		if err == nil {
			c.mu.Lock()
			c.raw = append(c.raw, b...)
			err = keep(b)
			c.mu.Unlock()
		}
		if err != nil {
			c.t.Errorf("%s: %v", r.URL.Path, err)
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// Spans are those of a name, or all for the empty one.
func (c *Collector) Spans(name string) []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *trace.Span) bool { return name != "" && s.Name != name })
}

// Metrics are those of a name.
func (c *Collector) Metrics(name string) []*metrics.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.metrics), func(m *metrics.Metric) bool { return m.Name != name })
}

// Logs are all lines of logs.
func (c *Collector) Logs() []*logs.LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logs)
}

// Raw is every byte that was received.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw)
}

// Attr is an attribute of a span; nil: it has none of that name.
func Attr(s *trace.Span, key string) *common.AnyValue {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value
		}
	}
	return nil
}

// Resource is what was received about the process.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]string{}
	for _, kv := range c.resource {
		out[kv.Key] = kv.Value.GetStringValue()
	}
	return out
}
