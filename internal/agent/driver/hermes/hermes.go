// Package hermes owns the dialect of the Hermes Agent CLI: its command line, its configuration and its stream of events.
// How a turn becomes a process is package agentcli's.
//
// It follows the documented command line of Hermes Agent 0.21 and is tested against a stand-in that keeps to it, not
// against the program itself, which is in no registry that the tests use.
package hermes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Dialect is the Hermes Agent CLI.
type Dialect struct{}

// New makes the driver of Hermes Agent.
func New() *agentcli.Driver { return agentcli.New(Dialect{}) }

var _ agentcli.Dialect = Dialect{}

// Kind returns "hermes-agent".
func (Dialect) Kind() string { return agentruntime.KindHermesAgent }

// Install says how to get Hermes Agent.
func (Dialect) Install() string {
	return "install Hermes Agent 0.21 or later as its documentation says, or give the path of its hermes command"
}

// Locate returns the file itself.
func (Dialect) Locate(file string) agentcli.Program { return agentcli.Program{File: file} }

// baseURL is the variable that names an endpoint which speaks as OpenAI does.
const baseURL = "OPENAI_BASE_URL"

// hostsByKey are the hosts of the providers that Hermes chooses by the key that is there.
var hostsByKey = []struct{ key, host string }{
	{"OPENROUTER_API_KEY", "openrouter.ai:443"},
	{"ANTHROPIC_API_KEY", "api.anthropic.com:443"},
	{"OPENAI_API_KEY", "api.openai.com:443"},
}

// Hosts returns the host of the model: that of OPENAI_BASE_URL, else those of the keys that the adapter's environment holds.
func (Dialect) Hosts(_ agentruntime.AdapterConfig, env map[string]string) ([]string, error) {
	if raw := env[baseURL]; raw != "" {
		host, err := agentcli.HostPort(raw)
		return []string{host}, err
	}
	var out []string
	for _, h := range hostsByKey {
		if env[h.key] != "" {
			out = append(out, h.host)
		}
	}
	return out, nil
}

// reserved are the options that deed sets, or that would make Hermes do something else than a turn.
var reserved = []string{
	"chat", "-z", "--oneshot", "-q", "--query", "--query-file", "-Q", "--quiet", "--format", "-m", "--model", "--resume", "-r", "--continue", "-c",
	"--create-if-missing", "--no-restore-cwd", "--in", "--worktree", "-w", "--max-turns", "--source", "--profile", "-p", "--tui", "--cli", "--yolo",
	"--ignore-user-config", "--safe-mode", "--usage-file", "--accept-hooks", "--",
}

// Begin makes a conversation with Hermes.
func (Dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	a := p.Job.Adapter.HermesAgent
	if err := agentcli.CheckArgs(a.ExtraArgs, reserved...); err != nil {
		return nil, err
	}
	if !p.Posture.Lifted && a.Sandbox != "" {
		return nil, failure.New(failure.Config, "set the agent's guards", fmt.Errorf("hermes-agent has nothing that holds sandbox %q", a.Sandbox),
			"contain the agent (isolation namespace), or leave sandbox out")
	}
	return &conversation{plan: p}, nil
}

// A conversation is one with Hermes.
type conversation struct {
	plan   agentcli.Plan
	stream *stream
}

var _ agentcli.Conversation = (*conversation)(nil)

// Launch starts `hermes chat`, which reads the query from stdin and answers with events. A command that Hermes calls
// dangerous is denied, unless its guards are lifted.
func (c *conversation) Launch(_ context.Context, _ string, report *agentcli.Reporter, _ func(*failure.Error)) (agentcli.Launch, error) {
	j, state := c.plan.Job, c.plan.State
	model := c.plan.Model()
	if err := c.configure(model); err != nil {
		return agentcli.Launch{}, err
	}
	args := []string{"chat", "--query-file", "-", "--oneshot", "-Q", "--format", "stream-json", "--source", "tool"}
	if model != "" {
		args = append(args, "-m", model)
	}
	if j.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(j.MaxTurns))
	}
	if c.plan.Posture.Lifted {
		args = append(args, "--yolo")
	}
	if state.ID != "" {
		args = append(args, "--resume", state.ID)
	}
	args = append(args, c.plan.Config.ExtraArgs...)
	c.stream = &stream{report: report, state: state, model: model}
	return agentcli.Launch{Args: args, Env: map[string]string{"HERMES_HOME": j.Inside(c.plan.Home)}}, nil
}

// configFile is Hermes's configuration in its home. What is written there is JSON, which is YAML too.
const configFile = "config.yaml"

// configure writes the configuration again for every turn, because the agent can change it.
func (c *conversation) configure(model string) error {
	approve := "deny"
	if c.plan.Posture.Lifted {
		approve = "approve"
	}
	config := map[string]any{"approvals": map[string]string{"mode": "manual", "single_query_mode": approve}}
	if url := c.plan.Vars[baseURL].Value; url != "" {
		endpoint := map[string]string{"provider": "custom", "base_url": url}
		if model != "" {
			endpoint["default"] = model
		}
		config["model"] = endpoint
	}
	text, err := json.Marshal(config)
	if err != nil {
		return failure.New(failure.Infra, "write Hermes's configuration", err, "")
	}
	root, err := os.OpenRoot(c.plan.Home)
	if err == nil {
		err = errors.Join(driver.WriteFile(root, configFile, text), root.Close())
	}
	if err != nil {
		return failure.New(failure.Infra, "write Hermes's configuration", err, "")
	}
	return nil
}

// Feed reads one line of the stream.
func (c *conversation) Feed(line []byte) { c.stream.line(line) }

// Outcome is the result according to the stream.
func (c *conversation) Outcome() agentcli.Outcome {
	o := c.stream.outcome()
	if n := len(c.plan.Job.Rules); n > 0 {
		o.Notes = map[string]any{"rules": fmt.Sprintf("%d rules are declared: Hermes takes none, so only deed's isolation and the gate hold", n)}
	}
	return o
}
