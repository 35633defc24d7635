// Package opencode owns the dialect of the opencode CLI: its command line, its configuration and its stream of events. How
// a turn becomes a process is package agentcli's.
//
// opencode is configured only by its environment and its command line. Its own directories lie in the attempt's home, and a
// configuration in the workspace is not read. It has no sandbox: a shell that it starts can get around its permissions, so only
// deed's sandbox isolates it.
package opencode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// patience is how long deed waits for a model that does not answer. opencode itself waits and asks again for ever.
const patience = 10 * time.Minute

// A Dialect is the opencode CLI.
type Dialect struct{ patience time.Duration }

// New makes the driver of opencode.
func New() *agentcli.Driver { return agentcli.New(Dialect{patience}) }

var _ agentcli.Dialect = Dialect{}

// Kind returns "opencode".
func (Dialect) Kind() string { return agentruntime.KindOpencode }

// Install says how to get opencode.
func (Dialect) Install() string {
	return "install it with npm install -g opencode-ai, or give the path of its native binary"
}

// Locate finds the native program behind the file that npm puts on the PATH, which is a stand-in when the package's
// installation scripts did not run.
func (Dialect) Locate(file string) agentcli.Program {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if dir := filepath.Dir(filepath.Dir(file)); filepath.Base(dir) == "opencode-ai" {
		native := filepath.Join(filepath.Dir(dir), "opencode-"+runtime.GOOS+"-"+arch, "bin", "opencode")
		if st, err := os.Stat(native); err == nil && st.Mode().IsRegular() {
			return agentcli.Program{File: native}
		}
	}
	return agentcli.Program{File: file}
}

// knownHosts are the hosts of providers that need no base_url.
var knownHosts = map[string]string{
	"anthropic": "api.anthropic.com:443",
	"openai":    "api.openai.com:443",
	"google":    "generativelanguage.googleapis.com:443",
	"opencode":  "opencode.ai:443",
}

// Hosts returns the host of the provider. One that deed does not know is named by base_url, or by the task.
func (Dialect) Hosts(a agentruntime.AdapterConfig, _ map[string]string) ([]string, error) {
	o := a.Opencode
	if o.Provider == nil || o.Provider.BaseURL == "" {
		id, _, err := modelName(o, "")
		if host, known := knownHosts[id]; err == nil && known {
			return []string{host}, nil
		}
		return nil, nil // the model may be the task's to name
	}
	host, err := agentcli.HostPort(o.Provider.BaseURL)
	return []string{host}, err
}

// reserved are the options that deed sets, or that would make opencode do something else than a turn.
var reserved = []string{
	"--format", "--dir", "--title", "--pure", "--model", "-m", "--session", "-s", "--continue", "-c", "--fork", "--share", "--attach",
	"--command", "--interactive", "-i", "--print-logs", "--log-level", "--port", "--password", "-p", "--username", "-u", "--file", "-f", "--",
}

// Begin makes a conversation with opencode.
func (d Dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	a := p.Job.Adapter.Opencode
	if err := agentcli.CheckArgs(a.ExtraArgs, reserved...); err != nil {
		return nil, err
	}
	if err := onlyOptions(a.ExtraArgs); err != nil {
		return nil, err
	}
	if a.Sandbox == agentcli.Workspace && !p.Posture.Lifted {
		return nil, failure.New(failure.Config, "set the agent's guards", errors.New("opencode holds its own tools to the workspace, and not the shell that it starts"),
			"contain the agent (isolation namespace), or leave sandbox out")
	}
	id, model, err := modelName(a, p.Job.Model)
	if err != nil {
		return nil, err
	}
	c := &conversation{plan: p, patience: d.patience, model: id + "/" + model}
	c.config, c.rulings, err = configure(p, id, model)
	return c, err
}

// A conversation is one with opencode.
type conversation struct {
	plan     agentcli.Plan
	patience time.Duration
	model    string // provider/model
	config   []byte
	rulings  []ruling
	stream   *stream
}

var _ agentcli.Conversation = (*conversation)(nil)

// Launch starts `opencode run`, which reads the prompt from stdin.
func (c *conversation) Launch(_ context.Context, _ string, report *agentcli.Reporter, stop func(*failure.Error)) (agentcli.Launch, error) {
	j, state := c.plan.Job, c.plan.State
	args := []string{
		"run", "--format", "json", "--pure", "--title", "deed " + j.AttemptID, "-m", c.model, "--dir", j.Inside(c.plan.Dir),
		"--print-logs", "--log-level", "ERROR",
	}
	if state.ID != "" {
		args = append(args, "-s", state.ID)
	}
	args = append(args, j.Adapter.Opencode.ExtraArgs...)
	env := map[string]string{"OPENCODE_CONFIG_CONTENT": string(c.config)}
	for name, value := range switchedOff {
		env[name] = value
	}
	home := j.Inside(c.plan.Home)
	for name, dir := range xdg {
		env[name] = filepath.Join(home, dir)
	}
	c.stream = newStream(report, state, c.model, c.patience, stop)
	return agentcli.Launch{Args: args, Env: env, Done: c.stream.end}, nil
}

// Feed reads one line of the stream.
func (c *conversation) Feed(line []byte) { c.stream.line(line) }

// Outcome is the result according to the stream.
func (c *conversation) Outcome() agentcli.Outcome {
	o := c.stream.outcome()
	if len(c.rulings) > 0 {
		o.Notes = map[string]any{"rules": c.rulings}
	}
	return o
}
