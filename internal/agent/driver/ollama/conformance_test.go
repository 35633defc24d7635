package ollama_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/ollama"
	"github.com/deedrun/deed/internal/base/proc"
)

func TestMain(m *testing.M) { drivertest.Main(m, func(m *testing.M) { os.Exit(m.Run()) }) }

func TestConformance(t *testing.T) {
	elsewhere := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { generate(t, elsewhere, w, r) }))
	t.Cleanup(server.Close)
	drivertest.Run(t, drivertest.Harness{
		Driver: ollama.New(), Part: drivertest.Model,
		Prelude: `say() { printf '%s\n' "$1"; }; finish() { printf '\n%s\n' "$1"; }`,
		Adapter: func(path string, timeout time.Duration) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{OllamaGenerate: &agentruntime.OllamaGenerateAdapter{
				AdapterID: "o", Kind: agentruntime.KindOllamaGenerate, Endpoint: server.URL, Model: path, TimeoutMS: timeout.Milliseconds(),
			}}
		},
	})
}

// generate answers as Ollama does, with what the script that the request has for its model prints, as it prints it. It is on
// another machine, so to speak: of the attempt it knows no more than where to leave a sign that it is at work.
func generate(t *testing.T, dir string, w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model string `json:"model"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		t.Error(err)
		return
	}
	sup, err := proc.NewSupervisor(context.WithoutCancel(r.Context()), proc.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = sup.Close() }()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := pieces{json.NewEncoder(w), http.NewResponseController(w)}
	exit, err := sup.Run(r.Context(), proc.Spec{
		Argv: []string{ask.Model}, Dir: dir, Stdout: out, Grace: 100 * time.Millisecond,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "TOKEN=" + drivertest.Secret, "DEED_ARTIFACTS=" + dir,
			"DEED_WORKSPACE=" + filepath.Join(filepath.Dir(ask.Model), "workspace"),
		},
	})
	if err != nil || exit.Code != 0 {
		panic(http.ErrAbortHandler) // the answer breaks off
	}
	_ = out.Encode(map[string]any{"model": ask.Model, "response": "", "done": true, "done_reason": "stop"})
}

// pieces sends what is written to it as pieces of an answer.
type pieces struct {
	*json.Encoder
	*http.ResponseController
}

func (p pieces) Write(text []byte) (int, error) {
	if err := p.Encode(map[string]any{"response": string(text), "done": false}); err != nil {
		return 0, err
	}
	return len(text), p.Flush()
}
