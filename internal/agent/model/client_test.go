package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/model/scripted"
)

const key = "sk-deed-not-a-real-key-0123456789"

// A wire is one interface and the client of it.
type wire struct {
	name   string
	path   string // below the scenario's URL
	make   func(model.Options) (model.Client, error)
	cached int64 // of the usage that the interface can tell
	reason int64
}

var wires = []wire{
	{"responses", "/v1", model.NewOpenAIResponses, 100, 7},
	{"chat", "/v1", model.NewOpenAIChat, 100, 7},
	{"messages", "", model.NewAnthropic, 100, 0},
	{"ollama", "", model.NewOllama, 0, 0},
}

const script = `
schema: deed/model-script/v1
scenarios:
  text: {steps: [{text: "Grüße aus dem Skript, in mehreren Stücken."}]}
  think: {steps: [{thinking: "I think <first> & then speak.", text: "Spoken.", tool: look, input: {at: "a<b"}}, {text: done}]}
  calls:
    steps:
      - text: Let me look.
        calls: [{tool: shell, command: ls -l}, {tool: read, path: a.go}]
      - {text: Seen.}
  broken: {steps: [{tool: read, arguments: '{"path": "a'}, {text: went on}]}
  full: {steps: [{text: and then, stop: length}]}
  refused: {steps: [{text: I will not., stop: refused}]}
  unauthorized: {steps: [{error: 401, message: "bad key sk-deed-not-a-real-key-0123456789 given"}]}
  limited: {steps: [{error: 429, retry_after: 7, times: 1}, {text: after the wait}]}
  dated: {steps: [{error: 429, retry_after: "Sun, 15 Nov 2026 10:00:30 GMT"}]}
  broke: {steps: [{error: 429, code: insufficient_quota}]}
  down: {steps: [{error: 500}]}
  busy: {steps: [{error: 503}]}
  missing: {steps: [{error: 404}]}
  long: {steps: [{error: context_too_long, times: 1}, {text: fits}]}
  cut: {steps: [{cut: true}]}
  html: {steps: [{garbage: html}]}
  nonsense: {steps: [{garbage: sse}]}
  silent: {steps: [{hang: headers}]}
  stuck: {steps: [{hang: stream}]}
`

func serve(t *testing.T) *scripted.Server {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.New(s)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return server
}

// client makes the wire's client of a scenario. Its connections end with the test.
func (w wire) client(t *testing.T, server *scripted.Server, scenario string, change ...func(*model.Options)) model.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := model.Options{
		BaseURL: server.URL(scenario) + w.path, Key: key, HTTPClient: &http.Client{Transport: transport},
		Clock: func() time.Time { return time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC) },
	}
	for _, c := range change {
		c(&o)
	}
	c, err := w.make(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var tools = []model.Tool{
	{Name: "shell", Description: "Run a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
	{Name: "read", Description: "Read a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
}

func ask(words string) model.Request {
	return model.Request{
		Model: "the-model", System: "You are careful.", Tools: tools, MaxOutput: 1000,
		Messages: []model.Message{{Role: model.RoleUser, Blocks: []model.Block{{Text: words}}}},
	}
}

// each runs a test for every wire.
func each(t *testing.T, f func(t *testing.T, w wire, server *scripted.Server)) {
	t.Helper()
	server := serve(t)
	t.Run("wires", func(t *testing.T) {
		for _, w := range wires {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				f(t, w, server)
			})
		}
	})
}

func TestTextStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		var heard []string
		got, err := w.client(t, server, "text").Stream(t.Context(), ask("hello"), func(d model.Delta) { heard = append(heard, d.Text) })
		if err != nil {
			t.Fatal(err)
		}
		const want = "Grüße aus dem Skript, in mehreren Stücken."
		if got.Text() != want || got.Stop != model.StopEnd || got.Served != "the-model" {
			t.Errorf("got %+v", got)
		}
		if len(heard) < 2 || strings.Join(heard, "") != want {
			t.Errorf("heard %q", heard)
		}
		usage := agentruntime.Usage{Model: "the-model", InputTokens: 1100, CachedInputTokens: w.cached, OutputTokens: 21, ReasoningTokens: w.reason}
		if diff := cmp.Diff(usage, got.Usage); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSeveralCallsAndTheirResults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		c := w.client(t, server, "calls")
		var named []string
		req := ask("look around")
		got, err := c.Stream(t.Context(), req, func(d model.Delta) {
			if d.Call != nil {
				named = append(named, d.Call.Name)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		calls := got.Calls()
		if len(calls) != 2 || got.Stop != model.StopTools || got.Text() != "Let me look." {
			t.Fatalf("got %+v", got)
		}
		if diff := cmp.Diff([]string{"shell", "read"}, named); diff != "" {
			t.Error(diff)
		}
		if string(calls[0].Input) != `{"command":"ls -l"}` || string(calls[1].Input) != `{"path":"a.go"}` || calls[0].ID == calls[1].ID {
			t.Errorf("calls %s %s", calls[0].Input, calls[1].Input)
		}
		req.Messages = append(req.Messages, got.Message(), model.Message{Role: model.RoleUser, Blocks: []model.Block{
			{Result: &model.Result{CallID: calls[0].ID, Output: "total 0"}},
			{Result: &model.Result{CallID: calls[1].ID, Output: "no such file", Failed: true}},
		}})
		got, err = c.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text() != "Seen." || got.Stop != model.StopEnd {
			t.Errorf("after the results: %+v", got)
		}
	})
}

// TestThinkingGoesBackUnchanged: what a service signed comes back as it was.
func TestThinkingGoesBackUnchanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		c := w.client(t, server, "think~"+w.name)
		thought := ""
		req := ask("think")
		got, err := c.Stream(t.Context(), req, func(d model.Delta) { thought += d.Thinking })
		if err != nil {
			t.Fatal(err)
		}
		if thought != "I think <first> & then speak." {
			t.Errorf("thought %q", thought)
		}
		if w.name == "chat" {
			return // it has no form for that
		}
		if len(got.Blocks) != 3 || len(got.Blocks[0].Opaque) == 0 {
			t.Fatalf("got %+v", got.Blocks)
		}
		kept := checkpoint(t, append(req.Messages, got.Message(), model.Message{Role: model.RoleUser, Blocks: []model.Block{
			{Result: &model.Result{CallID: got.Calls()[0].ID, Output: "seen"}},
		}}))
		req.Messages = kept
		if _, err := c.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		sent := string(lastBody(t, server, "think~"+w.name))
		want := map[string]string{
			"responses": `"encrypted_content":"c2lnbmF0dXJl`, "messages": `"signature":"c2lnbmF0dXJl`,
			"ollama": `"thinking":"I think`,
		}[w.name]
		if !strings.Contains(sent, want) {
			t.Errorf("%s is not in %s", want, sent)
		}
	})
}

// checkpoint writes a conversation and reads it back, as a run that is resumed does.
func checkpoint(t *testing.T, messages []model.Message) []model.Message {
	t.Helper()
	data, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	var back []model.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func lastBody(t *testing.T, server *scripted.Server, scenario string) []byte {
	t.Helper()
	var body []byte
	for _, r := range server.Requests() {
		if r.Scenario == scenario {
			body = r.Body
		}
	}
	if body == nil {
		t.Fatalf("no request for %s came", scenario)
	}
	return body
}

// TestMalformedCallCanBeAnswered: a model that writes no JSON gets a failure, and the conversation goes on.
func TestMalformedCallCanBeAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		c := w.client(t, server, "broken")
		req := ask("read it")
		got, err := c.Stream(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Calls()) != 1 {
			t.Fatalf("got %+v", got)
		}
		raw, malformed := got.Calls()[0].Malformed()
		if !malformed || !strings.Contains(raw, `{"path": "a`) {
			t.Errorf("malformed %t, %q", malformed, raw)
		}
		req.Messages = append(req.Messages, got.Message(), model.Message{Role: model.RoleUser, Blocks: []model.Block{
			{Result: &model.Result{CallID: got.Calls()[0].ID, Output: "the arguments are not JSON", Failed: true}},
		}})
		got, err = c.Stream(t.Context(), req, nil)
		if err != nil || got.Text() != "went on" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestStops(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		got, err := w.client(t, server, "full").Stream(t.Context(), ask("go"), nil)
		if err != nil || got.Stop != model.StopLength {
			t.Errorf("full: %+v, %v", got, err)
		}
		if w.name == "ollama" {
			return // it has no refusals
		}
		got, err = w.client(t, server, "refused").Stream(t.Context(), ask("go"), nil)
		if err != nil || got.Stop != model.StopRefused || got.Text() != "I will not." {
			t.Errorf("refused: %+v, %v", got, err)
		}
	})
}

func TestFailuresHaveKinds(t *testing.T) {
	t.Parallel()
	cases := []struct {
		scenario string
		kind     model.Kind
		status   int
		after    time.Duration
	}{
		{"unauthorized", model.KindAuth, 401, 0},
		{"limited", model.KindRateLimited, 429, 7 * time.Second},
		{"dated", model.KindRateLimited, 429, 30 * time.Second},
		{"broke", model.KindRateLimited, 429, 0},
		{"down", model.KindServer, 500, 0},
		{"busy", model.KindOverloaded, 503, 0},
		{"missing", model.KindBadRequest, 404, 0},
		{"long", model.KindContextTooLong, 400, 0},
		{"cut", model.KindCut, 0, 0},
		{"html", model.KindGarbage, 200, 0},
		{"nonsense", model.KindGarbage, 0, 0},
		{"no-such-scenario", model.KindBadRequest, 404, 0},
	}
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		for _, c := range cases {
			_, err := w.client(t, server, c.scenario+"~"+w.name).Stream(t.Context(), ask("go"), nil)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %v", c.scenario, err)
				continue
			}
			if openAI := w.path != ""; e.Final != (c.scenario == "broke" && openAI) {
				t.Errorf("%s: final is %t", c.scenario, e.Final)
			}
			if e.Kind != c.kind || e.Status != c.status || e.RetryAfter != c.after {
				t.Errorf("%s: kind %s, status %d, retry after %v: %v", c.scenario, e.Kind, e.Status, e.RetryAfter, err)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("%s: the key is in %q", c.scenario, err)
			}
		}
		for scenario, want := range map[string]string{"limited": "after the wait", "long": "fits"} {
			got, err := w.client(t, server, scenario+"~"+w.name).Stream(t.Context(), ask("go"), nil)
			if err != nil || got.Text() != want {
				t.Errorf("%s, again: %+v, %v", scenario, got, err)
			}
		}
	})
}

// TestNoWaitIsWithoutEnd: a service that says nothing, or stops in the middle, is given up.
func TestNoWaitIsWithoutEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		short := func(o *model.Options) { o.HeaderTimeout = 50 * time.Millisecond }
		_, err := w.client(t, server, "silent", short).Stream(t.Context(), ask("go"), nil)
		if model.KindOf(err) != model.KindTimeout || !strings.Contains(err.Error(), "no answer began") {
			t.Errorf("silent: %v", err)
		}
		idle := func(o *model.Options) { o.IdleTimeout = 50 * time.Millisecond }
		_, err = w.client(t, server, "stuck", idle).Stream(t.Context(), ask("go"), nil)
		if model.KindOf(err) != model.KindTimeout || !strings.Contains(err.Error(), "stood still") {
			t.Errorf("stuck: %v", err)
		}
	})
}

func TestCallerEndsTheWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		cause := errors.New("the budget is used up")
		for _, scenario := range []string{"silent", "stuck"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
			_, err := w.client(t, server, scenario).Stream(ctx, ask("go"), nil)
			if !errors.Is(err, cause) {
				t.Errorf("%s: %v", scenario, err)
			}
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		_, err := w.client(t, server, "text", func(o *model.Options) { o.MaxResponse = 100 }).Stream(t.Context(), ask("go"), nil)
		if model.KindOf(err) != model.KindGarbage || !strings.Contains(err.Error(), "100 bytes") {
			t.Errorf("%v", err)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	server := serve(t)
	base := server.URL("text")
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, w := range wires {
		c, err := w.make(model.Options{BaseURL: base + w.path, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Stream(t.Context(), ask("go"), nil); model.KindOf(err) != model.KindUnreachable {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]model.Options{
		"no scheme":   {BaseURL: "api.example.com"},
		"ftp":         {BaseURL: "ftp://api.example.com"},
		"password":    {BaseURL: "https://me:hunter2@api.example.com"},
		"query":       {BaseURL: "https://api.example.com/?a=b"},
		"not a url":   {BaseURL: "http://[::hunter2"},
		"key newline": {Key: "sk-hunter2\n"},
	} {
		for _, w := range wires {
			_, err := w.make(o)
			if err == nil {
				t.Errorf("%s: %s takes it", name, w.name)
			} else if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v tells a secret", name, err)
			}
		}
	}
}

func TestBadSchemaIsToldBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w wire, server *scripted.Server) {
		req := ask("go")
		req.Tools = []model.Tool{{Name: "bad", Schema: json.RawMessage(`[1`)}}
		_, err := w.client(t, server, "text~unsent").Stream(t.Context(), req, nil)
		if model.KindOf(err) != model.KindBadRequest || !strings.Contains(err.Error(), "bad") {
			t.Error(err)
		}
		for _, r := range server.Requests() {
			if r.Scenario == "text~unsent" {
				t.Error("it was sent")
			}
		}
	})
}
