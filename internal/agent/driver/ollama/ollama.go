// Package ollama owns the driver for adapters of kind ollama-generate: a model at an Ollama endpoint that is given the brief
// and answers in words. deed itself asks the endpoint, so there is no process and nothing to contain. Such an agent changes
// no file: its work is its answer, which becomes the artifact response.md.
//
// The endpoint completes a prompt and knows no conversation. A later turn therefore sends all that was said so far, as text.
// What was said is kept in the attempt's directory, so that another attempt can go on with it.
//
// How a turn ends:
//
//	the last JSON object of the answer has a status    as that status says; see driver.ParseClaim
//	any other answer                                    a completion, with the answer as its summary
//	no answer, or one that was cut at the model's bound  failure.InvalidWord
//	the model is not there, or the endpoint refuses      failure.Config
//	the endpoint asks to wait                            failure.RateLimited
//	it fails, breaks off, or cannot be reached           failure.Provider
//	the brief is too long for the model                  failure.Config; what was said since: failure.AgentFailed
package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Driver asks Ollama endpoints.
type Driver struct{}

var _ driver.Driver = (*Driver)(nil)

// New makes the driver.
func New() *Driver { return &Driver{} }

// Kind is ollama-generate.
func (*Driver) Kind() string { return agentruntime.KindOllamaGenerate }

// Bounds of what readiness asks: it must not hang, and a list of models is small.
const (
	readyTimeout = 5 * time.Second
	maxList      = 4 << 20
)

// Ready asks the endpoint for its version and its models.
func (*Driver) Ready(ctx context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	o := a.OllamaGenerate
	if o == nil {
		return missing("adapter", fmt.Sprintf("%q is of kind %q", a.ID(), a.Kind()), "use an adapter of kind "+agentruntime.KindOllamaGenerate)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var version struct {
		Version string `json:"version"`
	}
	if err := get(ctx, o.Endpoint, "/api/version", &version); err != nil {
		return missing("ollama", "does not answer at "+o.Endpoint+": "+err.Error(), "start it with `ollama serve`, or correct the adapter's endpoint")
	}
	var tags struct {
		Models []struct {
			Name  string `json:"name"`
			Model string `json:"model"`
		} `json:"models"`
	}
	if err := get(ctx, o.Endpoint, "/api/tags", &tags); err != nil {
		return missing("ollama", "does not tell its models: "+err.Error(), "look at the log of `ollama serve`")
	}
	want := tagged(o.Model)
	for _, m := range tags.Models {
		if strings.EqualFold(tagged(m.Name), want) || strings.EqualFold(tagged(m.Model), want) {
			return driver.Readiness{Ready: true}
		}
	}
	return missing("model "+o.Model, "is not at "+o.Endpoint, "get it with `ollama pull "+o.Model+"`")
}

// tagged is a model's name with its tag, which is latest where none is written.
func tagged(name string) string {
	if name == "" || strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name
	}
	return name + ":latest"
}

func missing(name, reason, remedy string) driver.Readiness {
	return driver.Readiness{Missing: []driver.Missing{{Name: name, Reason: driver.Shorten(reason), Remedy: remedy}}}
}

// asking follows no redirect: the endpoint is where the operator said it is.
var asking = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func get(ctx context.Context, endpoint, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(endpoint, "/")+path, nil)
	if err != nil {
		return err
	}
	resp, err := asking.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s to %s", resp.Status, path)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("its answer to %s is not that of Ollama: %w", path, err)
	}
	return nil
}

const op = "ask the model of ollama"

// Start checks the adapter and takes up what was said before.
func (*Driver) Start(_ context.Context, j driver.Job) (driver.Session, error) {
	a := j.Adapter.OllamaGenerate
	if a == nil {
		return nil, failure.New(failure.Config, op, fmt.Errorf("adapter %q is of kind %q", j.Adapter.ID(), j.Adapter.Kind()), "")
	}
	s := &session{job: j, model: cmp.Or(j.Model, a.Model), endpoint: strings.TrimRight(a.Endpoint, "/"), timeout: j.Timeout}
	if s.timeout <= 0 {
		s.timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
	switch {
	case s.model == "":
		return nil, failure.New(failure.Config, op, errors.New("the adapter names no model"), "give it a model")
	case s.timeout <= 0:
		return nil, failure.New(failure.Config, op, fmt.Errorf("timeout_ms is %d", a.TimeoutMS), "give the adapter a timeout_ms above 0")
	}
	var err error
	// The turn's own time limit is the only one: a model may take minutes to be loaded.
	wait := s.timeout + time.Minute
	if s.client, err = model.NewOllamaGenerate(model.Options{BaseURL: s.endpoint, HeaderTimeout: wait, IdleTimeout: wait, MaxResponse: maxAnswer}); err != nil {
		return nil, failure.New(failure.Config, op, err, "correct the adapter's endpoint")
	}
	if s.run, err = os.OpenRoot(j.Dirs.Run); err != nil {
		return nil, failure.New(failure.Infra, op, err, "")
	}
	if s.artifacts, err = os.OpenRoot(j.Dirs.Artifacts); err != nil {
		return nil, errors.Join(failure.New(failure.Infra, op, err, ""), s.run.Close())
	}
	if j.Resume != "" {
		if err := s.load(); err != nil {
			return nil, errors.Join(failure.New(failure.Config, "go on with the conversation", err, "retry the task: it begins anew"), s.Close(context.Background()))
		}
	}
	return s, nil
}

// The conversation's file in Dirs.Run, and how long one may become.
const (
	conversationFile = "conversation.json"
	maxConversation  = 8 << 20
)

// A word is what one side said.
type word struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"text"`
}

func (s *session) load() error {
	data, err := driver.TakeFile(s.run, conversationFile)
	if err != nil {
		return err
	}
	var said []word
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	if slices.ContainsFunc(said, func(w word) bool { return w.Role != model.RoleUser && w.Role != model.RoleAssistant }) {
		return errors.New("somebody else spoke in it")
	}
	s.said, s.ref = said, conversationFile
	return nil
}
