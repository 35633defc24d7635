package selfprovider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/agent/driver/opencode"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/provider"
)

// An agent is a shipped package that runs an agent's command line.
type agent struct {
	command  string // what its program is called
	variable string // what names it where it is not on the PATH
	driver   func() driver.Driver
	adapter  func(agentOptions) agentruntime.AdapterConfig
}

var agents = map[string]agent{
	"codex":       {"codex", "CODEX_BIN", func() driver.Driver { return codex.New() }, codexAdapter},
	"claude-code": {"claude", "CLAUDE_BIN", func() driver.Driver { return claudecode.New() }, claudeAdapter},
	"opencode":    {"opencode", "OPENCODE_BIN", func() driver.Driver { return opencode.New() }, opencodeAdapter},
}

// agentOptions is executor.config of the agents, by the names that adapters in deed.yaml have.
type agentOptions struct {
	Command    string            `json:"command"`
	Model      string            `json:"model"`
	Provider   service           `json:"provider"`
	BaseURL    string            `json:"base_url"`
	API        string            `json:"api"`
	KeyEnv     string            `json:"key_env"`
	Sandbox    string            `json:"sandbox"`
	Env        map[string]string `json:"env"`
	RuntimeEnv map[string]string `json:"runtime_env"`
	ExtraArgs  []string          `json:"extra_args"`

	timeout  int64
	autonomy *agentruntime.HarnessAutonomy
}

// A service is who is asked: an id, or an object as adapters have it.
type service struct {
	ID      string `json:"id"`
	BaseURL string `json:"base_url"`
	API     string `json:"api"`
	KeyEnv  string `json:"key_env"`
}

func (s *service) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &s.ID) == nil {
		return nil
	}
	type plain service
	return json.Unmarshal(data, (*plain)(s))
}

func codexAdapter(o agentOptions) agentruntime.AdapterConfig {
	a := &agentruntime.CodexAdapter{
		AdapterID: "codex", Kind: agentruntime.KindCodex, Command: o.Command, TimeoutMS: o.timeout, Model: o.Model, Sandbox: o.Sandbox,
		Env: o.Env, ExtraArgs: o.ExtraArgs, Autonomy: o.autonomy,
	}
	if o.Provider.ID != "" || o.BaseURL != "" {
		a.Provider = &agentruntime.CodexProvider{ID: cmp.Or(o.Provider.ID, "openai"), BaseURL: o.BaseURL}
	}
	return agentruntime.AdapterConfig{Codex: a}
}

func claudeAdapter(o agentOptions) agentruntime.AdapterConfig {
	env := maps.Clone(o.Env)
	if o.BaseURL != "" {
		if env == nil {
			env = map[string]string{}
		}
		env["ANTHROPIC_BASE_URL"] = o.BaseURL
	}
	a := &agentruntime.ClaudeCodeAdapter{
		AdapterID: "claude-code", Kind: agentruntime.KindClaudeCode, Command: o.Command, TimeoutMS: o.timeout, Model: o.Model, Sandbox: o.Sandbox,
		Env: env, ExtraArgs: o.ExtraArgs,
	}
	if o.autonomy != nil {
		a.Autonomy = &agentruntime.ClaudeCodeAutonomy{Profile: o.autonomy.Profile}
	}
	return agentruntime.AdapterConfig{ClaudeCode: a}
}

func opencodeAdapter(o agentOptions) agentruntime.AdapterConfig {
	a := &agentruntime.OpencodeAdapter{
		AdapterID: "opencode", Kind: agentruntime.KindOpencode, Command: o.Command, TimeoutMS: o.timeout, Model: o.Model, Sandbox: o.Sandbox,
		Env: o.Env, ExtraArgs: o.ExtraArgs, Autonomy: o.autonomy,
	}
	if o.Provider.ID != "" {
		a.Provider = &agentruntime.OpencodeProvider{ID: o.Provider.ID, BaseURL: o.BaseURL, API: o.API, KeyEnv: o.KeyEnv}
	}
	return agentruntime.AdapterConfig{Opencode: a}
}

// options reads what the request says, and fills in the rest.
func (a agent) options(ctx context.Context, q provider.Request, r *provider.Run) (agentOptions, error) {
	var o agentOptions
	if err := q.Config(&o); err != nil {
		return o, err
	}
	o.Model = q.Model()
	o.Command = cmp.Or(o.Command, r.Env(a.variable), a.command)
	o.BaseURL, o.API, o.KeyEnv = cmp.Or(o.BaseURL, o.Provider.BaseURL), cmp.Or(o.API, o.Provider.API), cmp.Or(o.KeyEnv, o.Provider.KeyEnv)
	o.timeout = q.Limits.WallClockMS()
	env := map[string]string{"PATH": r.Env("PATH")}
	maps.Copy(env, o.RuntimeEnv)
	maps.Copy(env, o.Env)
	o.Env = env
	if r.Env(Contained) != "" {
		o.Sandbox = agentruntime.SandboxFullAccess // the host's sandbox still applies
	}
	if o.Sandbox == agentruntime.SandboxFullAccess {
		o.autonomy = &agentruntime.HarnessAutonomy{Profile: agentruntime.AutonomyTrustedVM}
	}
	return o, ctx.Err()
}

// grace is how long an agent may take to end when it is asked to: a host does not wait for the command much longer.
const grace = 500 * time.Millisecond

// serve runs one conversation of one turn.
func (a agent) serve(ctx context.Context, q provider.Request, r *provider.Run) (_ provider.Outcome, err error) {
	o, err := a.options(ctx, q, r)
	if err != nil {
		return provider.Outcome{}, err
	}
	adapter := a.adapter(o)
	if err := adapter.Validate(); err != nil {
		return provider.Outcome{}, provider.Invalid(fmt.Errorf("executor.config: %w", err))
	}
	d := a.driver()
	if ready := d.Ready(ctx, adapter); ctx.Err() != nil {
		return provider.Outcome{}, context.Cause(ctx) // what was not answered in time is not missing
	} else if !ready.Ready {
		var why []string
		for _, m := range ready.Missing {
			why = append(why, fmt.Sprintf("%s: %s (%s)", m.Name, m.Reason, m.Remedy))
		}
		return provider.Outcome{}, provider.Setup(errors.New(strings.Join(why, "; ")))
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return provider.Outcome{}, provider.Setup(err)
	}
	defer func() { _ = sup.Close() }() // no run is under way
	tmp, err := os.MkdirTemp(r.Env("TMPDIR"), "deed-provider-")
	if err != nil {
		return provider.Outcome{}, provider.Setup(err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the agent's home of this run
	j, err := job(q, r, adapter, tmp)
	if err != nil {
		return provider.Outcome{}, provider.Setup(err)
	}
	j.Supervisor = sup
	// The driver ends the agent a little before the context ends, so that there is time to report it.
	limit := time.Duration(o.timeout) * time.Millisecond
	j.Timeout, j.Grace = limit-min(limit/20, time.Second), grace
	s, err := d.Start(ctx, j)
	if err != nil {
		return provider.Outcome{}, failed(ctx, err)
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }() // no process is left after a turn
	t := &progressSink{run: r}
	y, err := s.Turn(ctx, driver.Input{Turn: 1}, t)
	if err != nil {
		return provider.Outcome{}, failed(ctx, err)
	}
	return a.outcome(ctx, r, t, y)
}

// job is the run as drivers take it: the workspace is the one that the host prepared, the rest is thrown away.
func job(q provider.Request, r *provider.Run, adapter agentruntime.AdapterConfig, tmp string) (driver.Job, error) {
	d := driver.Dirs{
		Workspace: r.Dir(), Artifacts: r.ArtifactsDir(),
		Home: filepath.Join(tmp, "home"), Tmp: filepath.Join(tmp, "tmp"), Exchange: filepath.Join(tmp, "exchange"), Run: filepath.Join(tmp, "run"),
	}
	for _, dir := range []string{d.Artifacts, d.Home, d.Tmp, d.Exchange, d.Run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return driver.Job{}, err
		}
	}
	secrets := r.Secrets()
	return driver.Job{
		TaskID: q.TaskID, AttemptID: cmp.Or(r.Env("DEED_ATTEMPT_ID"), q.TaskID), TaskType: "agent-task", Adapter: adapter, Model: q.Model(), Payload: q.Raw, Brief: brief(q),
		Dirs: d, Redactor: redact.New(secrets), Secrets: secrets,
	}, nil
}

// brief is the text that the agent gets.
func brief(q provider.Request) string {
	text := strings.TrimSpace(q.Instructions) + "\n"
	if !q.Inputs.Null() {
		text += "\nInputs, as JSON:\n\n" + string(q.Inputs) + "\n"
	}
	return text
}

// A progressSink takes the driver's events: it adds up what was used, and reports what happens as progress.
type progressSink struct {
	run *provider.Run

	mu      sync.Mutex
	usage   agentruntime.Usage // guarded by mu, as all below
	session driver.SessionInfo
	tools   int
}

func (t *progressSink) Event(_ string, detail any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := detail.(type) {
	case agentruntime.Usage:
		t.usage.InputTokens += d.InputTokens
		t.usage.CachedInputTokens += d.CachedInputTokens
		t.usage.CacheWriteTokens += d.CacheWriteTokens
		t.usage.OutputTokens += d.OutputTokens
		t.usage.ReasoningTokens += d.ReasoningTokens
	case driver.SessionInfo:
		t.session = d
		t.run.Progress("conversation begun")
	case agentruntime.ToolCall:
		t.tools++
		t.run.Progress("tool %s", d.Tool)
	case driver.Fault:
		t.run.Progress("the model's service failed: %s", d.Message)
	}
}

// outcome makes the outcome of how the turn ended.
func (a agent) outcome(ctx context.Context, r *provider.Run, t *progressSink, y driver.Yield) (provider.Outcome, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := errors.Join(
		copied(r, "transcript", "transcript.jsonl", y.StdoutPath), copied(r, kindStream, "stderr.txt", y.StderrPath),
		r.Metadata("usage", t.usage), r.Metadata("session", t.session), r.Metadata("tool_calls", t.tools), r.Metadata("deed_class", y.Class),
	); err != nil {
		return provider.Outcome{}, err
	}
	if y.Kind != driver.YieldCompletion {
		return provider.Outcome{}, failed(ctx, cmp.Or(y.Err, error(failure.New(y.Class, "run "+a.command, errors.New("it ended without a result"), ""))))
	}
	o := provider.Succeeded("the agent says that it is done")
	if y.Claim != nil {
		if y.Claim.Summary != "" {
			o.Summary = y.Claim.Summary
		}
		if len(y.Claim.Outputs) > 0 {
			_ = json.Unmarshal(y.Claim.Outputs, &o.Outputs) // an object, or nothing that counts
		}
	}
	return o, nil
}

// failures is what the contract calls the classes of deed. Those that are not here are failures of the provider.
var failures = map[failure.Class]provider.Failure{
	failure.Timeout:     {Status: homeboy.Timeout, Class: homeboy.ClassTimeout, Diagnostic: provider.DiagnosticTimeout},
	failure.AgentFailed: {Class: homeboy.ClassExecutionFailed},
	failure.InvalidWord: {Class: homeboy.ClassExecutionFailed},
	failure.Turns:       {Class: homeboy.ClassExecutionFailed, Diagnostic: "max_turns"},
	failure.Limit:       {Class: homeboy.ClassExecutionFailed},
	failure.AskedRetry:  {Class: homeboy.ClassTransient},
	failure.AskedFail:   {Status: homeboy.UnableToRemediate, Class: homeboy.ClassExecutionFailed},
	failure.Blocked:     {Status: homeboy.UnableToRemediate, Class: homeboy.ClassPolicyDenied},
	failure.RateLimited: {Status: homeboy.ProviderError, Class: homeboy.ClassRateLimited},
	failure.Provider:    {Status: homeboy.ProviderError, Class: homeboy.ClassTransient},
	failure.Config:      {Status: homeboy.ProviderError, Class: homeboy.ClassProvider, Diagnostic: provider.DiagnosticSetup, Retryable: new(bool)},
	failure.Spawn:       {Status: homeboy.ProviderError, Class: homeboy.ClassProvider, Diagnostic: provider.DiagnosticSetup, Retryable: new(bool)},
	failure.Canceled:    {Status: homeboy.Cancelled, Class: homeboy.ClassUnknown, Diagnostic: provider.DiagnosticCancelled},
	failure.Interrupted: {Status: homeboy.Cancelled, Class: homeboy.ClassUnknown, Diagnostic: provider.DiagnosticCancelled},
}

// failed says in the words of the contract why a driver failed.
func failed(ctx context.Context, err error) error {
	class := failure.ClassOf(err)
	if class == failure.Interrupted && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		class = failure.Timeout
	}
	f, ok := failures[class]
	if !ok {
		f = provider.Failure{Status: homeboy.ProviderError, Class: homeboy.ClassProvider}
	}
	f.Err, f.Data = err, map[string]any{"deed_class": class}
	var known *failure.Error
	if errors.As(err, &known) && known.RetryAfter > 0 {
		f.Data = map[string]any{"deed_class": class, "retry_after_ms": known.RetryAfter.Milliseconds()}
	}
	return &f
}
