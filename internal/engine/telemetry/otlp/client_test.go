package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collog "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Both implementations make the same of the answers of a collector.
func TestAnswersAreReadAlike(t *testing.T) {
	partial := map[string][3]proto.Message{
		"rejected": {
			&coltrace.ExportTraceServiceResponse{PartialSuccess: &coltrace.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too old"}},
			&colmetric.ExportMetricsServiceResponse{PartialSuccess: &colmetric.ExportMetricsPartialSuccess{RejectedDataPoints: 3, ErrorMessage: "too old"}},
			&collog.ExportLogsServiceResponse{PartialSuccess: &collog.ExportLogsPartialSuccess{RejectedLogRecords: 3, ErrorMessage: "too old"}},
		},
		"warned": {
			&coltrace.ExportTraceServiceResponse{PartialSuccess: &coltrace.ExportTracePartialSuccess{ErrorMessage: "soon"}},
			&colmetric.ExportMetricsServiceResponse{PartialSuccess: &colmetric.ExportMetricsPartialSuccess{ErrorMessage: "soon"}},
			&collog.ExportLogsServiceResponse{PartialSuccess: &collog.ExportLogsPartialSuccess{ErrorMessage: "soon"}},
		},
		"without a message": {
			&coltrace.ExportTraceServiceResponse{PartialSuccess: &coltrace.ExportTracePartialSuccess{RejectedSpans: -1}},
			&colmetric.ExportMetricsServiceResponse{PartialSuccess: &colmetric.ExportMetricsPartialSuccess{RejectedDataPoints: -1}},
			&collog.ExportLogsServiceResponse{PartialSuccess: &collog.ExportLogsPartialSuccess{RejectedLogRecords: -1}},
		},
		"all taken": {
			&coltrace.ExportTraceServiceResponse{PartialSuccess: &coltrace.ExportTracePartialSuccess{}},
			&colmetric.ExportMetricsServiceResponse{},
			&collog.ExportLogsServiceResponse{PartialSuccess: &collog.ExportLogsPartialSuccess{}},
		},
	}
	type answer struct {
		status      int
		contentType string
		header      string
		body        func(signal string) []byte
	}
	text := func(s string) func(string) []byte { return func(string) []byte { return []byte(s) } }
	answers := map[string]answer{
		"empty":                {status: 200, body: text("")},
		"accepted":             {status: 202, contentType: contentType, body: text("")},
		"another content type": {status: 200, contentType: "text/plain", body: text("fine")},
		"damaged":              {status: 200, contentType: contentType, body: text("\xff\xff")},
		"cut off":              {status: 200, contentType: contentType, body: text("\x0a\x05\x08")},
		"JSON":                 {status: 200, contentType: "application/json", body: text(`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`)},
		"JSON with a number":   {status: 200, contentType: "application/json", body: text(`{"partialSuccess":{"rejectedSpans":3}}`)},
		"empty JSON":           {status: 200, contentType: "application/json", body: text(`{}`)},
		"damaged JSON":         {status: 200, contentType: "application/json", body: text(`{`)},
		"too long":             {status: 200, contentType: contentType, body: func(string) []byte { return make([]byte, maxResponse+1) }},
		"too long an error":    {status: 500, body: func(string) []byte { return make([]byte, maxResponse+1) }},
		"bad request":          {status: 400, body: text("no such thing")},
		"unauthorized":         {status: 401, body: text("")},
		"server error":         {status: 500, body: text("oops")},
		"not implemented":      {status: 501, body: text("")},
		"later than we wait":   {status: 503, header: "3600", body: text("later")},
		"at a date":            {status: 429, header: "Thu, 31 Dec 2099 23:59:59 GMT", body: text("later")},
		"moved":                {status: 301, body: text("")},
		"found":                {status: 302, body: text("")},
		"see other":            {status: 303, body: text("")},
		"moved for now":        {status: 307, body: text("")},
		"moved for good":       {status: 308, body: text("")},
	}
	for name, three := range partial {
		answers[name] = answer{status: 200, contentType: contentType, body: func(signal string) []byte {
			b, _ := proto.Marshal(three[map[string]int{"traces": 0, "metrics": 1, "logs": 2}[signal]])
			return b
		}}
	}
	for name, s := range senders {
		for what, a := range answers {
			t.Run(name+" "+what, func(t *testing.T) {
				c := newCollector(t, func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(r.URL.Path, "/moved") {
						return
					}
					w.Header().Set("Content-Type", a.contentType)
					w.Header().Set("Retry-After", a.header)
					w.Header().Set("Location", "/moved")
					w.WriteHeader(a.status)
					_, _ = w.Write(a.body(name))
				})
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
				t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
				var errs [2]error
				var requests [2]string
				for i, fresh := range []func(*testing.T) (sender, error){s.ours, s.theirs} {
					e, err := fresh(t)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					errs[i] = e.send(ctx)
					cancel()
					for _, r := range c.taken() {
						requests[i] += fmt.Sprintf("%s %s %x\n", r.Method, r.Path, r.Body)
					}
				}
				if (errs[0] == nil) != (errs[1] == nil) {
					t.Errorf("ours says %v, theirs %v", errs[0], errs[1])
				}
				if requests[0] != requests[1] {
					t.Errorf("ours sent\n%s\ntheirs\n%s", requests[0], requests[1])
				}
				var p *PartialError
				if errs[1] != nil && strings.Contains(errs[1].Error(), "OTLP partial success") && (!errors.As(errs[0], &p) || !strings.Contains(errs[1].Error(), p.Error())) {
					t.Errorf("ours says %v, theirs %v", errs[0], errs[1])
				}
			})
		}
	}
}

// newTestClient speaks to a collector and pauses for no time.
func newTestClient(t *testing.T, c *collector) (*client, *[]time.Duration) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	own, err := newClient(traces, agent)
	if err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	own.wait = func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}
	t.Cleanup(func() { _ = own.shutdown(context.Background()) })
	return own, &pauses
}

// What may be taken later is sent again, the same bytes, after pauses that grow and that are no shorter than was asked for.
func TestWhatMayBeTakenLaterIsSentAgain(t *testing.T) {
	var n atomic.Int64
	statuses := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 503, 503, 503, 503, 503, http.StatusOK}
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		i := n.Add(1) - 1
		if i == 2 {
			w.Header().Set("Retry-After", "40")
		}
		w.WriteHeader(statuses[i])
	})
	own, pauses := newTestClient(t, c)
	if err := own.send(t.Context(), []byte("body")); err != nil {
		t.Fatal(err)
	}
	got := c.taken()
	if len(got) != len(statuses) || len(*pauses) != len(statuses)-1 {
		t.Fatalf("%d requests and %d pauses", len(got), len(*pauses))
	}
	for _, r := range got {
		if string(r.Body) != "body" || r.Method != http.MethodPost {
			t.Errorf("sent %s %q", r.Method, r.Body)
		}
	}
	base := firstPause
	for i, p := range *pauses {
		if i != 2 && (p < base/2 || p > base*3/2) || i == 2 && p != 40*time.Second {
			t.Errorf("pause %d is %v, with a base of %v", i, p, base)
		}
		base = min(base*3/2, longestWait)
	}
}

// roundTrip answers requests without a network, which a clock of tests could not wait for.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Ours and theirs try for as long, and leave at least the pause that they were asked for, and end when the context does.
func TestTriesEndAlike(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, c := range []struct {
		name, after string
		within      time.Duration // of the context; zero: no bound
		least, most time.Duration
		requests    [2]int // least and most
	}{
		{name: "without end", least: tryFor - 45*time.Second, most: tryFor + 45*time.Second, requests: [2]int{4, 12}},
		{name: "asked for ten seconds", after: "10", least: 45 * time.Second, most: tryFor + 45*time.Second, requests: [2]int{3, 6}},
		{name: "asked for a minute and more", after: "61", most: time.Millisecond, requests: [2]int{1, 1}},
		{name: "bounded", within: 12 * time.Second, least: 12 * time.Second, most: 12 * time.Second, requests: [2]int{2, 5}},
	} {
		for _, who := range []string{"ours", "theirs"} {
			t.Run(c.name+" "+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := 0
					answer := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						n++
						return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {c.after}}, Body: http.NoBody, Request: r}, nil
					})}
					ctx, cancel := context.WithCancel(t.Context())
					if c.within > 0 {
						ctx, cancel = context.WithTimeout(t.Context(), c.within)
					}
					defer cancel()
					start := time.Now()
					err := tracesBy(t, who, answer).ExportSpans(ctx, someSpans())
					if took := time.Since(start); err == nil || took < c.least || took > c.most || n < c.requests[0] || n > c.requests[1] {
						t.Errorf("%d requests in %v: %v", n, took, err)
					}
				})
			})
		}
	}
}

// How long a collector asks to be left alone. Beyond what a duration can hold the published exporters count past its end, and
// wait; ours give up.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "nonsense": 0, "-1": 0, "0": 0, "7": 7 * time.Second, "99999999999999": time.Hour,
		instant.Add(time.Minute).Format(http.TimeFormat): time.Minute, instant.Add(-time.Minute).Format(http.TimeFormat): 0, "Fri, 31 Dec 9999 23:59:59 GMT": 1<<63 - 1,
	} {
		if got := retryAfter(text, instant.Truncate(time.Second)); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestALongWaitIsNotBegun(t *testing.T) {
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	own, pauses := newTestClient(t, c)
	if err := own.send(t.Context(), []byte("x")); err == nil || !strings.Contains(err.Error(), "given up after") || len(*pauses) != 0 {
		t.Errorf("%v after %v", err, *pauses)
	}
}

// A pause ends with the context, and with the exporter.
func TestAPauseEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(cancel context.CancelFunc, own *client)
		want error
	}{
		{"with the context", func(cancel context.CancelFunc, _ *client) { cancel() }, context.Canceled},
		{"with the exporter", func(_ context.CancelFunc, own *client) { _ = own.shutdown(context.Background()) }, errShutdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
			t.Cleanup(server.Close)
			own := &client{signal: traces, target: target{url: server.URL}, http: server.Client(), running: map[*http.Request]context.CancelCauseFunc{}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			own.wait = func(ctx context.Context, d time.Duration) error {
				c.end(cancel, own)
				return pause(ctx, d)
			}
			if err := own.send(ctx, []byte("x")); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "503") {
				t.Errorf("%v, want %v and what the collector said", err, c.want)
			}
		})
	}
}

// A request that hangs ends with the exporter, and nothing is sent after its end.
func TestShutdownEndsWhatIsUnderWay(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	e, err := NewTraces(agent)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- e.ExportSpans(context.Background(), someSpans()) }()
	<-began
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a request that hung was sent")
	}
	if err := e.ExportSpans(t.Context(), someSpans()); !errors.Is(err, errShutdown) {
		t.Errorf("after the end: %v", err)
	}
	l, err := NewLogs(agent)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Shutdown(t.Context()), l.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if err := l.Export(t.Context(), someRecords(t)); !errors.Is(err, sdklog.ErrExporterShutdown) {
		t.Errorf("after the end: %v", err)
	}
}

// The timeout of the variables bounds one request in both implementations; what ran out of time is tried again, until the
// context ends.
func TestATimeoutBoundsARequest(t *testing.T) {
	for name, s := range senders {
		t.Run(name, func(t *testing.T) {
			gone := make(chan bool, 1)
			c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) {
				limit := time.NewTimer(3 * time.Second)
				defer limit.Stop()
				select {
				case <-r.Context().Done():
					gone <- true
				case <-limit.C:
					gone <- false
				}
			})
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
			t.Setenv("OTEL_EXPORTER_OTLP_"+strings.ToUpper(name)+"_TIMEOUT", "50")
			for i, fresh := range []func(*testing.T) (sender, error){s.ours, s.theirs} {
				e, err := fresh(t)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- e.send(ctx) }()
				if !<-gone {
					t.Errorf("%d waited longer than its timeout", i)
				}
				cancel()
				if err := <-done; err == nil || len(c.taken()) != 1 {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
}

// What the network says may pass is tried again, in both implementations.
func TestAFaultThatMayPassIsTriedAgain(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, who := range []string{"ours", "theirs"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				answer := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return nil, &net.DNSError{Err: "busy", IsTemporary: true}
					}
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
				})}
				if err := tracesBy(t, who, answer).ExportSpans(t.Context(), someSpans()); err != nil || n != 2 {
					t.Errorf("%d requests: %v", n, err)
				}
			})
		})
	}
}

// tracesBy is one of the two exporters of traces, with a client of the test's.
func tracesBy(t *testing.T, who string, answer *http.Client) sdktrace.SpanExporter {
	t.Helper()
	if who == "ours" {
		own, err := NewTraces(agent)
		if err != nil {
			t.Fatal(err)
		}
		own.client.http = answer
		return own
	}
	published, err := otlptracehttp.New(t.Context(), otlptracehttp.WithHTTPClient(answer))
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// A collector that nobody reaches is no reason to try again; a proxy of the environment is used.
func TestWhoIsNotThere(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.URL)
	e, err := NewMetrics(agent)
	if err != nil {
		t.Fatal(err)
	}
	e.client.wait = func(context.Context, time.Duration) error { t.Error("waited"); return nil }
	var at *url.Error
	if err := e.Export(t.Context(), someMetrics()); !errors.As(err, &at) || !strings.HasPrefix(err.Error(), "export metrics: ") {
		t.Errorf("%v", err)
	}
	if p := e.client.http.Transport.(*http.Transport).Proxy; p == nil {
		t.Error("no proxy is asked for")
	}
}
