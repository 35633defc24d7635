package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/engine/telemetry/collectortest"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

var ref = store.Ref{TaskID: "task-1", AttemptID: "attempt-1"}

// A play writes entries a second apart.
type play struct {
	t   *testing.T
	tel *Telemetry
	at  time.Time
	n   int64
}

func (p *play) say(kind string, detail any) {
	p.t.Helper()
	text, err := json.Marshal(detail)
	if err != nil {
		p.t.Fatal(err)
	}
	p.n++
	p.at = p.at.Add(time.Second)
	p.tel.OnEntry(ref, journal.Entry{Seq: p.n, At: agentruntime.At(p.at), Kind: kind, Detail: text})
}

func begin(t *testing.T, s Settings) *play {
	t.Helper()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tel, err := Start(t.Context(), Options{Settings: s, Version: "test", RunnerID: "runner"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Close() })
	return &play{t: t, tel: tel, at: start}
}

// conversation is an attempt that is refused once, then accepted.
func (p *play) conversation() {
	p.say(history.KindClaimed, map[string]any{"task_type": "script", "adapter_id": "codex", "adapter_kind": "codex", "attempt": 1, "model": "m-1", "created_at": agentruntime.At(p.at.Add(-time.Minute))})
	p.say(history.KindBegun, map[string]any{})
	p.say(history.KindToolCall, agentruntime.ToolCall{CallID: "c1", Tool: "shell\x1b[31m", Input: json.RawMessage(`{"command":"cat /private/place"}`)})
	p.say(history.KindToolResult, agentruntime.ToolResult{CallID: "c1", Status: agentruntime.ToolFailure, Output: "words of the agent", ErrorType: "exit"})
	p.say(history.KindUsage, agentruntime.Usage{Model: "m-1", InputTokens: 100, OutputTokens: 20, CostMicroUSD: new(int64(5_000))})
	p.say(history.KindTurn, agentruntime.Turn{ID: "t1", Index: 1, Model: "m-1", StopReason: "end_turn"})
	p.say(history.KindToolCall, agentruntime.ToolCall{CallID: "c2", Tool: "edit"}) // never answered
	p.say(history.KindEnded, map[string]any{"turn": 1, "class": "none"})
	p.say(history.KindJudging, map[string]any{})
	p.say(history.KindCheck, map[string]any{"name": "test", "status": "failed", "started_at": agentruntime.At(p.at)})
	p.say(history.KindVerdict, deed.Verdict{Reasons: []deed.Reason{{Code: "check_failed", Message: "words of the agent"}, {Code: "check_failed"}}})
	p.say(history.KindRecovery, map[string]any{"number": 1})
	p.say(history.KindEnded, map[string]any{"turn": 2, "class": "none"})
	p.say(history.KindJudging, map[string]any{})
	p.say(history.KindVerdict, deed.Verdict{Accepted: true})
	p.say(history.KindSettling, map[string]any{"status": agentruntime.TaskCompleted, "class": "none"})
}

func only(t *testing.T, c *collectortest.Collector, name string) *tracepb.Span {
	t.Helper()
	list := c.Spans(name)
	if len(list) != 1 {
		t.Fatalf("%d spans are called %q, want one; all: %v", len(list), name, names(c))
	}
	return list[0]
}

func names(c *collectortest.Collector) (out []string) {
	for _, s := range c.Spans("") {
		out = append(out, s.Name)
	}
	return out
}

func TestAnAttemptIsOneTrace(t *testing.T) {
	c := collectortest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=night")
	p := begin(t, Settings{Traces: OTLP, Metrics: OTLP})
	p.conversation()
	if err := p.tel.Close(); err != nil {
		t.Fatal(err)
	}
	task, attempt := only(t, c, "task"), only(t, c, "attempt")
	turns, gates := c.Spans("turn"), c.Spans("gate")
	if len(turns) != 2 || len(gates) != 2 {
		t.Fatalf("%d turns and %d gates, want two of each: %v", len(turns), len(gates), names(c))
	}
	chat, tool, open, check := only(t, c, "chat m-1"), only(t, c, "execute_tool shell"), only(t, c, "execute_tool edit"), only(t, c, "check test")
	for _, s := range c.Spans("") {
		if !bytes.Equal(s.TraceId, task.TraceId) {
			t.Errorf("%s is in another trace", s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s ends before it starts", s.Name)
		}
	}
	for _, pair := range [][2]*tracepb.Span{{attempt, task}, {turns[0], attempt}, {turns[1], attempt}, {gates[0], attempt}, {chat, turns[0]}, {tool, turns[0]}, {open, turns[0]}, {check, gates[0]}} {
		if !bytes.Equal(pair[0].ParentSpanId, pair[1].SpanId) {
			t.Errorf("%s is not below %s", pair[0].Name, pair[1].Name)
		}
	}
	if len(task.ParentSpanId) != 0 {
		t.Errorf("the task has a parent: %x", task.ParentSpanId)
	}
	if got := time.Duration(task.EndTimeUnixNano - task.StartTimeUnixNano); got != time.Minute+16*time.Second {
		t.Errorf("the task took %v", got)
	}
	if want := "00-" + hex.EncodeToString(task.TraceId) + "-" + hex.EncodeToString(attempt.SpanId) + "-01"; NewParent(t, ref) != want {
		t.Errorf("children go on from %s, want %s", NewParent(t, ref), want)
	}
	for _, s := range []*tracepb.Span{tool, open, check, gates[0]} {
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%s is no error", s.Name)
		}
	}
	if task.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR || attempt.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		t.Error("work that was accepted is an error")
	}
	if n := collectortest.Attr(chat, "gen_ai.usage.input_tokens").GetIntValue(); n != 100 {
		t.Errorf("the answer used %d tokens", n)
	}
	if r := c.Resource(); r["service.name"] != "deed" || r["team"] != "night" || r["service.instance.id"] != "runner" {
		t.Errorf("the resource is %v", r)
	}
	for _, text := range []string{"words of the agent", "/private/place"} {
		if bytes.Contains(c.Raw(), []byte(text)) {
			t.Errorf("the collector was told %q", text)
		}
	}
	for _, m := range []string{"deed.attempts.settled", "deed.tokens", "deed.gate.reasons", "deed.check.duration", "deed.tool.duration", "gen_ai.client.operation.duration"} {
		if len(c.Metrics(m)) == 0 {
			t.Errorf("no measure %s", m)
		}
	}
}

// NewParent is what another process would hand to the attempt's children.
func NewParent(t *testing.T, r store.Ref) string {
	t.Helper()
	p := begin(t, Settings{Traces: OTLP})
	return p.tel.Parent(r.TaskID, r.AttemptID)
}

// An attempt that another runner took over, and one that was running when the process ended, are exported as cut off.
func TestWhatIsCutOffIsTold(t *testing.T) {
	c := collectortest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	p := begin(t, Settings{Traces: OTLP})
	p.say(history.KindClaimed, map[string]any{})
	p.say(history.KindBegun, map[string]any{})
	p.say(history.KindFenced, map[string]any{})
	p.say(history.KindClaimed, map[string]any{})
	if err := p.tel.Close(); err != nil {
		t.Fatal(err)
	}
	list := c.Spans("attempt")
	if len(list) != 2 || len(c.Spans("task")) != 0 {
		t.Fatalf("told %v", names(c))
	}
	for _, s := range list {
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("%v is no error", s)
		}
	}
}

func TestMeasuresCanBeScraped(t *testing.T) {
	p := begin(t, Settings{Scraped: true})
	if err := p.tel.Watch(Gauge{Name: "deed.queue", Label: "deed.queue.state", Read: func(context.Context) (map[string]int64, error) { return map[string]int64{"ready": 7}, nil }}); err != nil {
		t.Fatal(err)
	}
	p.conversation()
	for i := range maxNames + 50 { // an agent that calls its tools by ever new names
		id := fmt.Sprint(i)
		p.say(history.KindToolCall, agentruntime.ToolCall{CallID: id, Tool: "tool-" + id})
		p.say(history.KindToolResult, agentruntime.ToolResult{CallID: id, Status: agentruntime.ToolSuccess})
	}
	w := httptest.NewRecorder()
	p.tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("status %d, content type %q", w.Code, kind)
	}
	for _, want := range []string{`target_info{`, `service_name="deed"`, `deed_tool_duration_seconds_bucket{`, `# TYPE deed_tool_duration_seconds histogram`, `deed_cost_USD_total{`, `deed_queue{`, `deed_queue_state="ready"`, `deed_attempts_settled_total{`, `deed_gate_reason="check_failed"`, `gen_ai_tool_name="other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "deed_tool_duration_seconds_count{"); n > maxNames+5 {
		t.Errorf("%d series of tools", n)
	}
}

func TestLogsGoToBoth(t *testing.T) {
	c := collectortest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	var own bytes.Buffer
	tel, err := Start(t.Context(), Options{Settings: Settings{Logs: OTLP}, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	tel.Logger(slog.New(slog.NewTextHandler(&own, nil))).Info("serving", "home", "h")
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
	if l := c.Logs(); len(l) != 1 || l[0].Body.GetStringValue() != "serving" || !strings.Contains(own.String(), "serving") {
		t.Errorf("the collector has %v, the log %q", l, own.String())
	}
}

// A collector that is away costs a line in the log and a bounded wait, never the work.
func TestACollectorThatIsAway(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
	var log bytes.Buffer
	tel, err := Start(t.Context(), Options{Settings: Settings{Traces: OTLP}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, tel: tel}
	p.conversation()
	err = tel.Close()
	if err == nil && strings.Count(log.String(), "telemetry") != 1 {
		t.Errorf("of spans that nobody took was said %q", log.String())
	}
}

// A variable that cannot be used is reported with the remedy, and telemetry works as far as it can without it.
func TestAVariableThatCannotBeUsed(t *testing.T) {
	c := collectortest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "key=topsecret%")
	var log bytes.Buffer
	tel, err := Start(t.Context(), Options{Settings: Settings{Traces: OTLP, Metrics: OTLP, Logs: OTLP}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, tel: tel}
	p.conversation()
	if err := tel.Close(); err != nil {
		t.Error(err)
	}
	if want := "OTEL_EXPORTER_OTLP_TIMEOUT=soon: want a number of milliseconds"; strings.Count(log.String(), want) != 1 || len(c.Spans("task")) != 1 {
		t.Errorf("the log has %q, the collector %v", log.String(), names(c))
	}
	if want := `OTEL_EXPORTER_OTLP_HEADERS: the value of \"key\" is not percent-encoded`; !strings.Contains(log.String(), want) || strings.Contains(log.String(), "topsecret") {
		t.Errorf("of a header that cannot be used the log has %q", log.String())
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  string
		want Settings
		bad  string
	}{
		{env: ""},
		{env: "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318", want: Settings{Traces: OTLP, Metrics: OTLP, Logs: OTLP}},
		{env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces", want: Settings{Traces: OTLP}},
		{env: "OTEL_TRACES_EXPORTER=otlp", want: Settings{Traces: OTLP}},
		{env: "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_LOGS_EXPORTER=none", want: Settings{Traces: OTLP, Metrics: OTLP}},
		{env: "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_SDK_DISABLED=true", want: Settings{Off: true}},
		{env: "OTEL_METRICS_EXPORTER=prometheus"},
		{env: "OTEL_TRACES_EXPORTER=zipkin", bad: "OTEL_TRACES_EXPORTER=zipkin"},
		{env: "OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", bad: "http/protobuf"},
		{env: "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, // for other programs of the shell: nothing is exported
	} {
		vars := map[string]string{}
		for kv := range strings.FieldsSeq(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			vars[k] = v
		}
		got, err := Read(func(k string) string { return vars[k] })
		switch {
		case c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)):
			t.Errorf("%q: %v, want a fault about %s", c.env, err, c.bad)
		case c.bad == "" && (err != nil || got != c.want):
			t.Errorf("%q: %+v %v, want %+v", c.env, got, err, c.want)
		}
	}
	if got, err := Start(t.Context(), Options{}); got != nil || err != nil {
		t.Errorf("without settings there is %v, %v", got, err)
	}
	var none *Telemetry
	if none.Handler() != nil || none.Close() != nil || none.Parent("a", "b") != "" || none.Watch(Gauge{}) != nil || none.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))) == nil {
		t.Error("one that tells nobody does something")
	}
}
