// Package telemetry owns what deed exports to an OpenTelemetry collector and a Prometheus scraper: spans of tasks,
// attempts, turns, model calls, tools, the gate and its checks; metrics of the work and of the queue; the lines of the
// log. It reads journal entries and the counts of the store, decides nothing, and never delays the work. It exports
// names, states, counts and times, never the texts of agents, the inputs and outputs of their tools, prompts or diffs.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	promexport "go.opentelemetry.io/otel/exporters/prometheus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/deedrun/deed/internal/base/clock"
)

// scope names the instrumentation.
const scope = "github.com/deedrun/deed"

// patience bounds how long the end of a process waits for a collector.
const patience = 5 * time.Second

// Options configure Start.
type Options struct {
	Settings Settings
	Version  string
	RunnerID string
	Clock    clock.Clock  // nil: clock.System
	Log      *slog.Logger // gets the faults of exporters; nil: no log
}

// A Telemetry exports what happens in this process. A nil one exports nothing.
type Telemetry struct {
	clock clock.Clock
	log   *slog.Logger

	traces  *sdktrace.TracerProvider
	metrics *metric.MeterProvider
	logs    *sdklog.LoggerProvider
	scrape  http.Handler
	tracer  trace.Tracer
	meters  *meters

	mu     sync.Mutex
	trails map[string]*trail // guarded by mu; of the attempts that run here, by id
	said   map[string]bool   // guarded by mu; faults of exporters that were logged
}

// Start sets up what the settings ask for. With nothing to export it returns nil.
func Start(ctx context.Context, o Options) (_ *Telemetry, err error) {
	if !o.Settings.On() {
		return nil, nil
	}
	t := &Telemetry{clock: o.Clock, log: o.Log, trails: map[string]*trail{}, said: map[string]bool{}}
	if t.clock == nil {
		t.clock = clock.System
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	about, err := about(ctx, o)
	if err != nil {
		return nil, err
	}
	// An error message of the exporters about a variable repeats its value, and headers are secrets. So their log is discarded
	// while they read the variables, and the check below names what is wrong.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	for _, start := range []func(context.Context, Settings, *resource.Resource) error{t.startTraces, t.startMetrics, t.startLogs} {
		if err := start(ctx, o.Settings, about); err != nil {
			return nil, err
		}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.fault))
	for _, err := range checkVariables(os.Getenv, o.Settings) {
		t.fault(err)
	}
	return t, nil
}

// about describes this process. What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say wins.
func about(ctx context.Context, o Options) (*resource.Resource, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this machine: %w", err)
	}
	own := resource.NewSchemaless(
		attribute.String("service.name", "deed"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.RunnerID), attribute.String("host.name", host), attribute.Int("process.pid", os.Getpid()),
	)
	fromEnv, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES (want key=value,key=value): %w", err)
	}
	return resource.Merge(own, fromEnv)
}

func (t *Telemetry) startTraces(ctx context.Context, s Settings, about *resource.Resource) error {
	if s.Traces != OTLP {
		return nil
	}
	e, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("export traces: %w", err)
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(about), sdktrace.WithIDGenerator(&ids{}))
	t.tracer = t.traces.Tracer(scope)
	return nil
}

func (t *Telemetry) startMetrics(ctx context.Context, s Settings, about *resource.Resource) error {
	readers := []metric.Option{metric.WithResource(about)}
	if s.Metrics == OTLP {
		e, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("export metrics: %w", err)
		}
		readers = append(readers, metric.WithReader(metric.NewPeriodicReader(e)))
	}
	if s.Scraped {
		registry := prometheus.NewRegistry()
		e, err := promexport.New(promexport.WithRegisterer(registry))
		if err != nil {
			return fmt.Errorf("serve measures: %w", err)
		}
		readers = append(readers, metric.WithReader(e))
		t.scrape = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	}
	if len(readers) == 1 {
		return nil
	}
	t.metrics = metric.NewMeterProvider(readers...)
	m, err := newMeters(t.metrics.Meter(scope))
	t.meters = m
	return err
}

func (t *Telemetry) startLogs(ctx context.Context, s Settings, about *resource.Resource) error {
	if s.Logs != OTLP {
		return nil
	}
	e, err := otlploghttp.New(ctx)
	if err != nil {
		return fmt.Errorf("export logs: %w", err)
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(e)), sdklog.WithResource(about))
	return nil
}

// fault logs what an exporter could not do, each kind of it once: a collector that is away must not fill the log.
func (t *Telemetry) fault(err error) {
	kind, _, _ := strings.Cut(err.Error(), ":")
	t.mu.Lock()
	again := t.said[kind] || len(t.said) > 20
	t.said[kind] = true
	t.mu.Unlock()
	if !again {
		t.log.Warn("telemetry", "error", err, "note", "not told again; the work goes on without it")
	}
}

// Handler serves the metrics to a Prometheus scraper; nil where scraping is off.
func (t *Telemetry) Handler() http.Handler {
	if t == nil {
		return nil
	}
	return t.scrape
}

// Logger returns a logger whose lines go to the collector as well.
func (t *Telemetry) Logger(l *slog.Logger) *slog.Logger {
	if t == nil || t.logs == nil {
		return l
	}
	return slog.New(slog.NewMultiHandler(l.Handler(), otelslog.NewHandler(scope, otelslog.WithLoggerProvider(t.logs))))
}

// Close exports what is still buffered, within a bound, and ends.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t.mu.Lock()
	left := t.trails
	t.trails = map[string]*trail{}
	t.mu.Unlock()
	for _, tr := range left {
		tr.cut(t.clock())
	}
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.Shutdown(ctx))
	}
	if t.metrics != nil {
		errs = append(errs, t.metrics.Shutdown(ctx))
	}
	if t.logs != nil {
		errs = append(errs, t.logs.Shutdown(ctx))
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
