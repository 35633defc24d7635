package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = `
schema: deed/model-script/v1
usage: {input: 10, cached: 1, output: 2}
scenarios:
  turns:
    turns:
      - [{tool: look}, {text: "I am done."}]
      - [{tool: mend}, {text: "Now I am."}]
  on:
    on: [{contains: refused, steps: [{text: "I see."}]}]
    steps: [{text: "Hello."}]
  complete:
    turns:
      - [{tool: complete, summary: lie}]
      - [{tool: mend}, {tool: complete, summary: truth}]
  flaky: {steps: [{error: 500, times: 2}, {tool: look}, {error: 529, times: 1}, {text: done}]}
  forever: {steps: [{tool: look}]}
  aside: {aside: "A title", steps: [{tool: look}]}
  hang: {steps: [{hang: headers}]}
`

func start(t *testing.T) *Server {
	t.Helper()
	parsed, err := Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s := New(parsed)
	if _, err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// post sends a document without keeping the connection.
func post(t *testing.T, url string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, http.MethodPost, url, data)
}

func do(t *testing.T, method, url string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("X-Api-Key", "secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A chat keeps a conversation of Chat Completions.
type chat struct {
	url      string
	messages []object
}

func (c *chat) user(words string) {
	c.messages = append(c.messages, object{"role": "user", "content": words})
}

var look = []object{{"type": "function", "function": object{"name": "look"}}, {"type": "function", "function": object{"name": "task_complete"}}}

// ask gets the next answer: its words, or the name of the tool that it calls, whose result is added.
func (c *chat) ask(t *testing.T, result string) string {
	t.Helper()
	status, body := post(t, c.url+"/v1/chat/completions", object{"model": "m", "messages": c.messages, "tools": look})
	if status != http.StatusOK {
		return http.StatusText(status)
	}
	var got struct {
		Choices []struct {
			Message struct {
				Content   string           `json:"content"`
				ToolCalls []map[string]any `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	m := got.Choices[0].Message
	c.messages = append(c.messages, object{"role": "assistant", "content": m.Content, "tool_calls": m.ToolCalls})
	if len(m.ToolCalls) == 0 {
		return m.Content
	}
	c.messages = append(c.messages, object{"role": "tool", "tool_call_id": m.ToolCalls[0]["id"], "content": result})
	return m.ToolCalls[0]["function"].(map[string]any)["name"].(string)
}

// TestTurns: an agent that lies in its first turn repairs in its second, and so on for ever.
func TestTurns(t *testing.T) {
	t.Parallel()
	c := &chat{url: start(t).URL("turns")}
	c.user("<system-reminder>not a prompt</system-reminder>")
	c.user("Fix it.")
	want := [][]string{{"look", "I am done."}, {"mend", "Now I am."}, {"mend", "Now I am."}}
	for i, turn := range want {
		for _, answer := range turn {
			if got := c.ask(t, "ok"); got != answer {
				t.Fatalf("turn %d: %q, want %q", i+1, got, answer)
			}
		}
		c.user("<system-reminder>more</system-reminder>")
		c.user("The gate refused.")
	}
}

// TestCompletionEndsATurn: its result is the refusal, with or without words of the user after it.
func TestCompletionEndsATurn(t *testing.T) {
	t.Parallel()
	for _, words := range []bool{false, true} {
		c := &chat{url: start(t).URL("complete")}
		c.user("Fix it.")
		for i, want := range []string{"task_complete", "mend", "task_complete", "mend"} {
			if got := c.ask(t, "refused: the test fails"); got != want {
				t.Fatalf("words %t, answer %d: %q, want %q", words, i, got, want)
			}
			if words && want == "task_complete" {
				c.user("The test fails.")
			}
		}
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	c := &chat{url: start(t).URL("on")}
	c.user("Fix it.")
	if got := c.ask(t, ""); got != "Hello." {
		t.Error(got)
	}
	c.user("That was refused.")
	if got := c.ask(t, ""); got != "I see." {
		t.Error(got)
	}
}

// TestFaultsAreCounted for each tag by itself, and stand before the answer that follows them.
func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, tag := range []string{"", "~a", "~b"} {
		c := &chat{url: s.URL("flaky" + tag)}
		c.user("Go.")
		for i, want := range []string{"Internal Server Error", "Internal Server Error", "look", "", "done"} {
			if got := c.ask(t, "ok"); got != want {
				t.Fatalf("%s %d: %q, want %q", tag, i, got, want)
			}
		}
	}
}

func TestLastStepServesForEver(t *testing.T) {
	t.Parallel()
	c := &chat{url: start(t).URL("forever")}
	c.user("Go.")
	ids := map[any]bool{}
	for range 5 {
		if got := c.ask(t, "ok"); got != "look" {
			t.Fatal(got)
		}
		ids[c.messages[len(c.messages)-1]["tool_call_id"]] = true
	}
	if len(ids) != 5 {
		t.Errorf("ids repeat: %v", ids)
	}
}

func TestRequestsOnTheSide(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, body := post(t, s.URL("aside")+"/v1/chat/completions", object{"model": "m", "messages": []object{{"role": "user", "content": "a title?"}}})
	if !strings.Contains(body, "A title") {
		t.Error(body)
	}
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/v1/responses", http.StatusUpgradeRequired, ""},
		{"GET", "/v1/models", 200, `"id":"scn-turns"`},
		{"POST", "/v1/messages/count_tokens", 200, `"input_tokens":`},
		{"GET", "/api/version", 200, `"version":"0.17.4"`},
		{"GET", "/api/tags", 200, `"name":"scn-turns:latest"`},
		{"POST", "/api/show", 200, `"capabilities":["completion","tools"]`},
		{"HEAD", "/", 200, ""},
		{"GET", "/nothing", 404, "there is nothing at GET /nothing"},
	} {
		for _, base := range []string{s.base, s.URL("turns")} {
			status, body := do(t, c.method, base+c.path, []byte(`{}`))
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
			}
		}
	}
}

// TestWholeAnswers: every interface can also answer without a stream, and select the scenario by the name of the model.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := []object{{"role": "user", "content": "hello"}}
	for path, c := range map[string]struct {
		body object
		want string
	}{
		"/v1/responses":        {object{"input": "hello"}, `"text":"Hello."`},
		"/v1/chat/completions": {object{"messages": ask}, `"content":"Hello."`},
		"/v1/messages":         {object{"messages": ask}, `"text":"Hello."`},
		"/api/chat":            {object{"messages": ask}, `"content":"Hello."`},
		"/api/generate":        {object{"prompt": "hello"}, `"response":"Hello."`},
	} {
		c.body["model"], c.body["stream"] = "some-scn-on", false
		status, body := post(t, s.base+path, c.body)
		if status != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		status, body = do(t, http.MethodPost, s.URL("on")+path, []byte(`{"messages": 1, "input": 1, "prompt": 1`))
		if status != 400 || !strings.Contains(body, "cannot be read") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestRecordsHoldNoKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	post(t, s.URL("on")+"/v1/chat/completions", object{"model": "m"})
	got := s.Requests()
	if len(got) != 1 || got[0].API != "chat" || got[0].Scenario != "on" || !strings.Contains(string(got[0].Body), `"model":"m"`) {
		t.Fatalf("%+v", got)
	}
	if got[0].Header.Get("Authorization")+got[0].Header.Get("X-Api-Key") != "" {
		t.Errorf("%v", got[0].Header)
	}
}

// TestCloseEndsWhatHangs: a request that waits for ever is ended with the server.
func TestCloseEndsWhatHangs(t *testing.T) {
	t.Parallel()
	s := start(t)
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.URL("hang")+"/v1/messages", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			err = errors.New("it answered")
		}
		failed <- err
	}()
	for len(s.Requests()) == 0 { // it hangs from here on
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, io.EOF) {
		t.Errorf("the client got %v", err)
	}
}

func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	s := New(Script{})
	for _, addr := range []string{"0.0.0.0:0", ":0", "localhost:0", "192.0.2.1:0", "nonsense"} {
		if url, err := s.Start(addr); err == nil {
			t.Errorf("it serves on %s", url)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
