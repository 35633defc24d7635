package telemetry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A value that the exporters pass over is named with its variable and the remedy; what is in headers and passwords is not repeated.
func TestCheckVariables(t *testing.T) {
	t.Parallel()
	notPEM := filepath.Join(t.TempDir(), "bad.pem")
	if err := os.WriteFile(notPEM, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := Settings{Traces: OTLP, Metrics: OTLP, Logs: OTLP}
	for _, c := range []struct {
		settings Settings
		env      string // NAME=value
		want     string // empty: nothing is wrong
	}{
		{all, "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318", "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318: not a URL such as http://127.0.0.1:4318: it names no host"},
		{all, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=:x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=:x: not a URL"},
		{all, "OTEL_EXPORTER_OTLP_ENDPOINT=http://me:secret@h:port", "OTEL_EXPORTER_OTLP_ENDPOINT=h:port: not a URL"},
		{all, "OTEL_EXPORTER_OTLP_ENDPOINT=me:secret@", "OTEL_EXPORTER_OTLP_ENDPOINT=: not a URL"},
		{all, "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TIMEOUT=10s: want a number of milliseconds"},
		{all, "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION=br", "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION=br: want gzip or none"},
		{all, "OTEL_EXPORTER_OTLP_INSECURE=1", "OTEL_EXPORTER_OTLP_INSECURE=1: want true or false"},
		{all, "OTEL_EXPORTER_OTLP_HEADERS=key=secret%", `OTEL_EXPORTER_OTLP_HEADERS: the value of "key" is not percent-encoded`},
		{all, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=secret", "OTEL_EXPORTER_OTLP_TRACES_HEADERS: a header without"},
		{all, "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such", "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such: "},
		{all, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + notPEM, "holds no certificate (want PEM)"},
		{all, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=always", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=always: want cumulative or delta or lowmemory"},
		{all, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=Delta", ""},
		{all, "OTEL_EXPORTER_OTLP_ENDPOINT=http://h", ""},
		{all, "OTEL_EXPORTER_OTLP_HEADERS=a=b%20c,d=e", ""},
		{Settings{Traces: OTLP}, "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=soon", ""},
		{Settings{Scraped: true}, "OTEL_EXPORTER_OTLP_TIMEOUT=soon", ""},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		faults := checkVariables(func(k string) string {
			if k == name {
				return value
			}
			return ""
		}, c.settings)
		text := fmt.Sprint(faults)
		if c.want == "" && len(faults) > 0 || c.want != "" && (len(faults) != 1 || !strings.Contains(text, c.want)) || strings.Contains(text, "secret") {
			t.Errorf("%s: %s, want %q", c.env, text, c.want)
		}
	}
}
