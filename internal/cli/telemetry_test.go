package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/engine/telemetry/collectortest"
)

// A run exports its task, attempt, turn, gate and checks to a collector, hands the trace on to the agent, and exports no
// secret.
func TestARunIsTraced(t *testing.T) {
	t.Parallel()
	c := collectortest.New(t)
	s := newSite(t, map[string]string{
		"worker": `echo "parent $TRACEPARENT"; echo "endpoint [$OTEL_EXPORTER_OTLP_ENDPOINT]"; echo $TOKEN; echo "$TRACEPARENT" > parent.txt; echo '{"status": "completed", "operator_summary": "done"}'`,
	})
	if err := os.Mkdir(filepath.Join(s.dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	const secret = "s3cr3t-0123456789-never-told"
	o := s.deed([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + secret, "TOKEN=" + secret},
		"run", "--json", "--workspace", "project", "--agent", "worker", "--secret", "TOKEN", "--check", "test -s parent.txt", "leave the trace")
	if o.code != 0 {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for _, name := range []string{"task", "attempt", "turn", "gate"} {
		if n := len(c.Spans(name)); n != 1 {
			t.Errorf("%d spans are called %s", n, name)
		}
	}
	checks := 0
	for _, span := range c.Spans("") {
		if strings.HasPrefix(span.Name, "check ") {
			checks++
		}
	}
	if checks == 0 || len(c.Metrics("deed.attempts.settled")) == 0 {
		t.Errorf("%d checks and %d settled attempts were told", checks, len(c.Metrics("deed.attempts.settled")))
	}
	if bytes.Contains(c.Raw(), []byte(secret)) || strings.Contains(o.stdout+o.stderr, secret) {
		t.Error("a secret was told")
	}
	attempt := c.Spans("attempt")[0]
	if out := s.deed(nil, "attempt", "show", collectortest.Attr(attempt, "deed.attempt.id").GetStringValue(), "--json"); out.code != 0 {
		t.Errorf("the attempt of the span is not there: %s", out.stderr)
	}
}

// Variables that deed cannot follow stop it before it runs anything.
func TestTelemetryThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"worker": "touch ran; exit 0"})
	o := s.deed([]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "run", "--no-workspace", "--agent", "worker", "work")
	if o.code != ExitUsage || !strings.Contains(o.stderr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc") || !strings.Contains(o.stderr, "http/protobuf") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}
