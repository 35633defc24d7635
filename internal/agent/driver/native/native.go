// Package native owns the driver for adapters of kind native: deed's own agent, for which nothing is needed but a model. It
// finds the model's key, gives the agent its tools inside the sandbox of the run, and accounts for each turn. The conversation
// itself is package loop's.
//
// The model is asked by deed's own process. Neither the key nor a way to the model's host is inside: what runs there is
// only the host of the tools.
//
// # What it keeps
//
// Below the directory of the run: conversation.jsonl, which is all that is needed to go on, subagents/ID.jsonl for what was
// delegated, tools/NNN.txt for outputs too long for the model, and for each turn a transcript and the last message.
package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Driver runs deed's own agent.
type Driver struct{}

// New makes the driver.
func New() *Driver { return &Driver{} }

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.Credentialed = (*Driver)(nil)
	_ driver.Asking       = (*Driver)(nil)
)

// Kind returns "native".
func (*Driver) Kind() string { return agentruntime.KindNative }

// AsksFirst is true: no tool runs before the guard has answered.
func (*Driver) AsksFirst() bool { return true }

// dial makes the client of an interface.
func dial(p agentruntime.NativeProvider, o model.Options) (model.Client, error) {
	switch p.API {
	case agentruntime.APIAnthropic:
		return model.NewAnthropic(o)
	case agentruntime.APIOpenAIResponses:
		return model.NewOpenAIResponses(o)
	case agentruntime.APIOpenAIChat:
		return model.NewOpenAIChat(o)
	case agentruntime.APIOllama:
		return model.NewOllama(o)
	}
	return nil, fmt.Errorf("provider.api %q is unknown", p.API)
}

// keyNames are the variables in which the services' own programs look for a key.
var keyNames = map[string]string{
	agentruntime.APIAnthropic: "ANTHROPIC_API_KEY", agentruntime.APIOpenAIResponses: "OPENAI_API_KEY", agentruntime.APIOpenAIChat: "OPENAI_API_KEY",
}

// keyName is the variable that holds the key, and whether there must be one: a service of one's own may need none.
func keyName(p agentruntime.NativeProvider) (name string, needed bool) {
	if p.KeyEnv != "" {
		return p.KeyEnv, true
	}
	name = keyNames[p.API]
	return name, name != "" && p.BaseURL == ""
}

// key finds the key: in the task's secrets, in the adapter's own environment, else in deed's. A guest, whose base_url may be
// anybody's, is given nothing of the latter: a key of the operator's is for it only when the task names it.
func key(a *agentruntime.NativeAdapter, secrets map[string]string, guest bool) (name, value string, err error) {
	name, needed := keyName(a.Provider)
	if name == "" {
		return "", "", nil
	}
	if value = secrets[name]; value != "" {
		return name, value, nil
	}
	own, err := process.Own(process.Config{EnvFile: a.EnvFile, Env: a.Env})
	if err != nil {
		return name, "", err
	}
	if value = own[name]; value == "" && !guest {
		value = os.Getenv(name)
	}
	switch {
	case value != "" || !needed:
	case guest:
		return name, "", failure.New(failure.Config, "find the model's key", fmt.Errorf("the task does not name %s among its secrets, and its adapter is not the operator's own", name),
			"give it with --secret "+name+", or put the adapter into the home's deed.yaml")
	default:
		return name, "", failure.New(failure.Config, "find the model's key", fmt.Errorf("%s is not set", name),
			"set it in deed's environment or in the adapter's env_file, or name another variable in provider.key_env")
	}
	return name, strings.TrimSpace(value), nil
}

// Ready looks whether there is a key and whether the provider can be used as it is described. Nobody is asked.
func (*Driver) Ready(_ context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	if a.Native == nil {
		return driver.Readiness{Missing: []driver.Missing{{Name: "adapter", Reason: "it is not of kind native", Remedy: "name a native adapter"}}}
	}
	var r driver.Readiness
	_, value, err := key(a.Native, nil, false)
	if err != nil {
		r.Missing = append(r.Missing, driver.MissingFor("key", err))
	}
	if _, err := dial(a.Native.Provider, options(a.Native, value)); err != nil {
		r.Missing = append(r.Missing, driver.MissingFor("provider", err))
	}
	r.Ready = len(r.Missing) == 0
	return r
}

func options(a *agentruntime.NativeAdapter, value string) model.Options {
	return model.Options{BaseURL: a.Provider.BaseURL, Key: value, Window: int(window(a, a.Model))}
}

// maxLocalWindow bounds the window that a local server is asked for if the adapter does not set one: the window takes memory there.
const maxLocalWindow = 32 << 10

// window is how much the model takes; 0: what is known of its name. Ollama would otherwise load it with a few thousand
// tokens, and drop the beginning of a longer conversation without a word.
func window(a *agentruntime.NativeAdapter, name string) int64 {
	if a.ContextTokens > 0 || a.Provider.API != agentruntime.APIOllama {
		return a.ContextTokens
	}
	return min(loop.DefaultWindow(name), maxLocalWindow)
}

// Credentials returns the key, and what else of the adapter's own environment looks like a credential.
func (*Driver) Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	if a.Native == nil {
		return nil, nil
	}
	found, err := process.CredentialsOf(process.Config{EnvFile: a.Native.EnvFile, Env: a.Native.Env})
	if err != nil {
		return nil, err
	}
	// That there is none is said by Start.
	if name, value, err := key(a.Native, nil, false); err == nil && value != "" {
		found[name] = value
	}
	return found, nil
}

// Start checks everything that can be known before the model is asked, and begins the conversation or opens the one that
// j.Resume names.
func (*Driver) Start(_ context.Context, j driver.Job) (driver.Session, error) {
	a := j.Adapter.Native
	bad := func(err error, remedy string) (driver.Session, error) {
		return nil, failure.New(failure.Config, "start the native agent", err, remedy)
	}
	switch {
	case a == nil:
		return bad(fmt.Errorf("adapter %q is of kind %q", j.Adapter.ID(), j.Adapter.Kind()), "")
	case j.Supervisor == nil:
		return nil, failure.New(failure.Infra, "start the native agent", errors.New("there is no supervisor"), "")
	}
	name, value, err := key(a, j.Secrets, j.Guest)
	if err != nil {
		return nil, err
	}
	s := &session{job: j, timeout: j.Timeout, model: cmp.Or(j.Model, a.Model)}
	if s.model == "" {
		return bad(errors.New("no model is named"), "give the adapter a model")
	}
	if s.timeout <= 0 {
		s.timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
	if s.timeout <= 0 {
		return bad(fmt.Errorf("timeout_ms is %d", a.TimeoutMS), "give the adapter a timeout_ms above 0")
	}
	client, err := dial(a.Provider, options(a, value))
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the text of it repeats the address
		}
		return bad(err, "check the adapter's provider")
	}
	if s.vars, err = process.Environ(j, process.Config{EnvFile: a.EnvFile, Env: a.Env}); err != nil {
		return nil, err
	}
	// What runs inside has no use for the key, and there are no such files: the conversation has it all.
	for _, name := range []string{name, "DEED_PAYLOAD_FILE", "DEED_BRIEF_FILE"} {
		delete(s.vars, name)
	}
	cfg := loop.Config{
		Client: client, Model: s.model, Workspace: j.Inside(j.Dirs.Workspace), Bounds: bounds(j, a), Dir: j.Dirs.Run, Redactor: j.Redactor,
	}
	if err := s.open(cfg); err != nil {
		_ = s.Close(context.Background())
		return nil, err
	}
	return s, nil
}

// bounds are what adapter and job say, and deed's own where they say nothing.
func bounds(j driver.Job, a *agentruntime.NativeAdapter) loop.Bounds {
	b := loop.Bounds{
		Tools: a.Tools, MaxTurns: j.MaxTurns, MaxOutput: int(a.MaxOutputTokens), Window: window(a, a.Model), Output: j.OutputCap,
		Depth: loop.DefaultDepth, Delegates: loop.DefaultDelegates,
	}
	if len(b.Tools) == 0 {
		b.Tools = tool.Names()
	}
	if a.CompactAt != nil {
		b.CompactAt = *a.CompactAt
	}
	if s := a.Subagents; s != nil {
		b.DelegateTurn = s.MaxTurns
		if s.MaxDepth > 0 {
			b.Depth = s.MaxDepth
		}
		if s.MaxCount > 0 {
			b.Delegates = s.MaxCount
		}
	}
	if j.Guard == nil { // there would be no answer
		b.Tools = slices.DeleteFunc(slices.Clone(b.Tools), func(name string) bool { return name == tool.Ask })
	}
	return b
}
