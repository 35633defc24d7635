package model_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/model"
)

// A canned service gives the same answer to everything, without a network.
type canned struct {
	status int
	header http.Header
	body   string
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: c.header, Request: req, Body: io.NopCloser(strings.NewReader(c.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func (w wire) media() string {
	if w.name == "ollama" {
		return "application/x-ndjson"
	}
	return "text/event-stream; charset=utf-8"
}

func (w wire) canned(t testing.TB, c canned) model.Client {
	t.Helper()
	if c.header == nil {
		c.header = http.Header{"Content-Type": {w.media()}}
	}
	if c.status == 0 {
		c.status = 200
	}
	client, err := w.make(model.Options{
		Key: key, HTTPClient: &http.Client{Transport: c}, MaxResponse: 1 << 20,
		Clock: func() time.Time { return time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func wireOf(t testing.TB, name string) wire {
	t.Helper()
	for _, w := range wires {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("no wire %s", name)
	return wire{}
}

// TestErrorsInTheirOwnWords reads errors as the services document them, in a status and in the middle of a stream.
func TestErrorsInTheirOwnWords(t *testing.T) {
	t.Parallel()
	const tooLongAnthropic = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
	for _, c := range []struct {
		wire, name string
		status     int
		header     map[string]string
		body       string
		kind       model.Kind
		after      time.Duration
		final      bool
	}{
		{"messages", "too long", 400, nil, tooLongAnthropic, model.KindContextTooLong, 0, false},
		{"messages", "too long with output", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 3"}}`, model.KindContextTooLong, 0, false},
		{"messages", "other bad request", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"tools: too long a name"}}`, model.KindBadRequest, 0, false},
		{"messages", "too large", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, model.KindContextTooLong, 0, false},
		{"messages", "overloaded", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.KindOverloaded, 0, false},
		{"messages", "no credit", 403, nil, `{"type":"error","error":{"type":"billing_error","message":"credit"}}`, model.KindAuth, 0, false},
		{"messages", "in the stream", 200, nil, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.KindOverloaded, 0, false},
		{"messages", "milliseconds", 429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, `{}`, model.KindRateLimited, 1500 * time.Millisecond, false},
		{"messages", "fraction", 429, map[string]string{"Retry-After": "0.5"}, `{}`, model.KindRateLimited, 500 * time.Millisecond, false},
		{"messages", "past date", 429, map[string]string{"Retry-After": "Sun, 15 Nov 2026 09:00:00 GMT"}, `{}`, model.KindRateLimited, 0, false},
		{"messages", "nonsense wait", 429, map[string]string{"Retry-After": "NaN"}, `{}`, model.KindRateLimited, 0, false},
		{"messages", "endless wait", 429, map[string]string{"Retry-After": "1e300"}, `{}`, model.KindRateLimited, 30 * 24 * time.Hour, false},
		{"messages", "do not retry", 500, map[string]string{"X-Should-Retry": "false"}, `{}`, model.KindServer, 0, true},
		{"messages", "do retry", 400, map[string]string{"X-Should-Retry": "true"}, `{}`, model.KindServer, 0, false},
		{"messages", "page", 502, nil, "<html>\n\x1b[31mBad Gateway", model.KindServer, 0, false},
		{"responses", "too long", 400, nil, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, model.KindContextTooLong, 0, false},
		{"responses", "failed: too long", 200, nil, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input\"}}}\n\n", model.KindContextTooLong, 0, false},
		{"responses", "failed: limit", 200, nil, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}}}\n\n", model.KindRateLimited, 0, false},
		{"responses", "error event", 200, nil, "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"sorry\",\"param\":null}\n\n", model.KindServer, 0, false},
		{"responses", "error member", 200, nil, "event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":\"insufficient_quota\",\"message\":\"sorry\"}}\n\n", model.KindRateLimited, 0, true},
		{"chat", "too long by words", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"BadRequestError","param":null,"code":400}}`, model.KindContextTooLong, 0, false},
		{"chat", "too long by type", 400, nil, `{"error":{"code":400,"message":"no","type":"exceed_context_size_error","n_prompt_tokens":9}}`, model.KindContextTooLong, 0, false},
		{"chat", "bare words", 500, nil, `{"error":"the model crashed"}`, model.KindServer, 0, false},
		{"chat", "in the stream", 200, nil, "data: {\"error\":{\"message\":\"overloaded\",\"code\":\"server_is_overloaded\"}}\n\n", model.KindOverloaded, 0, false},
		{"ollama", "too long", 400, nil, `{"error":"the input length exceeds the context length"}`, model.KindContextTooLong, 0, false},
		{"ollama", "no such model", 404, nil, `{"error":"model 'nope' not found"}`, model.KindBadRequest, 0, false},
		{"ollama", "in the stream", 200, nil, `{"error":"llama runner process has terminated"}`, model.KindServer, 0, false},
		{"ollama", "redirect", 307, map[string]string{"Location": "https://elsewhere.example"}, ``, model.KindBadRequest, 0, false},
		{"chat", "redirect", 301, map[string]string{"Location": "https://elsewhere.example"}, ``, model.KindBadRequest, 0, false},
		{"chat", "empty", 200, nil, "", model.KindCut, 0, false},
		{"messages", "empty", 200, nil, "", model.KindCut, 0, false},
		{"responses", "only pings", 200, nil, ": ping\n\n: ping\n\n", model.KindCut, 0, false},
		{"ollama", "half a line", 200, nil, `{"model":"m","message":{"role"`, model.KindGarbage, 0, false},
	} {
		t.Run(c.wire+" "+c.name, func(t *testing.T) {
			t.Parallel()
			w := wireOf(t, c.wire)
			header := http.Header{"Content-Type": {w.media()}}
			for k, v := range c.header {
				header.Set(k, v)
			}
			_, err := w.canned(t, canned{c.status, header, c.body}).Stream(t.Context(), ask("go"), nil)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.RetryAfter != c.after || e.Final != c.final {
				t.Errorf("%#v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q is not one line", err)
			}
		})
	}
}

// TestChatOfOthers reads what services do that are only nearly compatible.
func TestChatOfOthers(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish string) string {
		return `data: {"id":"1","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	body := chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":"}}]}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"shell","arguments":"{}"}}]}`, "null") +
		chunk(`{"reasoning":"hm"}`, "null") + chunk(`{"content":null}`, `"stop"`)
	thought := ""
	got, err := wireOf(t, "chat").canned(t, canned{body: body}).Stream(t.Context(), ask("go"), func(d model.Delta) { thought += d.Thinking })
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Calls()
	if len(calls) != 2 || string(calls[0].Input) != `{"path":"x"}` || calls[1].Name != "shell" || got.Stop != model.StopTools || thought != "hm" {
		t.Errorf("%+v, thought %q", got, thought)
	}
}

// FuzzAnswers: whatever comes is a whole answer or an *Error, and everything in an answer can be kept as JSON.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\",\"usage\":{\"input_tokens\":-1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read\",\"input\":{}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"new_thing\",\"x\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"m\",\"output\":[{\"type\":\"function_call\",\"arguments\":7}]}}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":99999999999,\"function\":{\"name\":\"x\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		`{"model":"m","message":{"role":"assistant","content":"hi","tool_calls":[{"function":{"name":"x","arguments":"{"}}]},"done":true,"eval_count":-5}` + "\n",
		"\xff\xfe\x00", "data: \n\n", "event: error\ndata: null\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, w := range wires {
			got, err := w.canned(t, canned{body: body}).Stream(t.Context(), ask("go"), func(model.Delta) {})
			if err != nil {
				var e *model.Error
				if !errors.As(err, &e) || e.Kind == "" {
					t.Fatalf("%s: %#v", w.name, err)
				}
				continue
			}
			if _, err := json.Marshal(got.Message()); err != nil {
				t.Fatalf("%s: the answer cannot be kept: %v", w.name, err)
			}
			if got.Usage.InputTokens < 0 || got.Usage.OutputTokens < 0 || got.Stop == "" {
				t.Fatalf("%s: %+v", w.name, got)
			}
			for _, c := range got.Calls() {
				if c.Malformed(); !json.Valid(c.Input) {
					t.Fatalf("%s: input %q", w.name, c.Input)
				}
			}
		}
	})
}

// Services that say in each piece that there was no error have not failed.
func TestNoErrorIsNone(t *testing.T) {
	t.Parallel()
	for wire, body := range map[string]string{
		"chat": `data: {"error":null,"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\n",
		"responses": `data: {"type":"response.output_item.done","error":null,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}` + "\n\n" +
			`data: {"type":"response.completed","error": null,"response":{"id":"r"}}` + "\n\n",
	} {
		r, err := wireOf(t, wire).canned(t, canned{body: body}).Stream(t.Context(), model.Request{Model: "m"}, nil)
		if err != nil || len(r.Blocks) != 1 || r.Blocks[0].Text != "Hi" {
			t.Errorf("%s: %+v, %v", wire, r, err)
		}
	}
}
