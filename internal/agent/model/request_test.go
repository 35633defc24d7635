package model_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/agent/model"
)

var update = flag.Bool("update", false, "write the requests as they are now into testdata")

// conversation has one of everything that can be sent.
func conversation() model.Request {
	return model.Request{
		Model: "the-model", System: "You are careful.", MaxOutput: 2000, Tools: tools,
		Messages: []model.Message{
			{Role: model.RoleUser, Blocks: []model.Block{{Text: "Fix <a> & b."}}},
			{Role: model.RoleAssistant, Blocks: []model.Block{
				{Opaque: json.RawMessage(`{"type":"thinking","thinking":"hm","signature":"c2ln"}`), OpaqueKind: "anthropic"},
				{Opaque: json.RawMessage(`{"type":"redacted_thinking","data":"eHl6"}`), OpaqueKind: "anthropic"},
				{Opaque: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"eHl6"}`), OpaqueKind: "openai"},
				{Opaque: json.RawMessage(`"commentary"`), OpaqueKind: "openai_phase"},
				{Opaque: json.RawMessage(`"hm"`), OpaqueKind: "ollama_thinking"},
				{Text: "Let me look."},
				{Call: &model.Call{ID: "call_1", Name: "shell", Input: json.RawMessage(`{"command":"ls"}`)}},
				{Call: &model.Call{ID: "call_2", Name: "read", Input: json.RawMessage(`{"path":"a.go"}`)}},
			}},
			{Role: model.RoleUser, Blocks: []model.Block{
				{Result: &model.Result{CallID: "call_1", Output: "a.go"}},
				{Result: &model.Result{CallID: "call_2", Output: "no such file", Failed: true}},
				{Text: "You have three turns left."},
			}},
		},
	}
}

// TestRequestsAreAsDocumented compares what goes over the wire with files that were checked against the services' documents:
// the path, the headers that matter, and the body with one of everything in it.
func TestRequestsAreAsDocumented(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			sent := capture(t, w)
			file := filepath.Join("testdata", "request-"+w.name+".json")
			if *update {
				if err := os.WriteFile(file, sent, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(sent)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// capture returns the request that a client sends, as one indented document.
func capture(t *testing.T, w wire) []byte {
	t.Helper()
	type request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	}
	var got request
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got = request{Method: r.Method, Path: r.URL.RequestURI(), Headers: map[string]string{}}
		for _, h := range []string{"Authorization", "X-Api-Key", "Anthropic-Version", "Content-Type", "Accept"} {
			if v := r.Header.Get(h); v != "" {
				got.Headers[h] = v
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&got.Body); err != nil {
			t.Error(err)
		}
		rw.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	c, err := w.make(model.Options{BaseURL: server.URL + w.path, Key: "the-key", HTTPClient: server.Client(), Window: 32768})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), conversation(), nil); model.KindOf(err) != model.KindBadRequest {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
