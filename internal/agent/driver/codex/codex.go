// Package codex owns the dialect of the Codex CLI: `codex exec --json` for the first turn of a conversation and `codex exec
// resume` for later ones. What all agent CLIs share is in package agentcli.
//
// # What an adapter decides
//
//	provider   with base_url: a provider of its own, asked with the Responses API and the key in CODEX_API_KEY or
//	           OPENAI_API_KEY, with few retries; without: one of Codex's own by its id. Absent: OpenAI.
//	sandbox    Codex's own sandbox, for the commands that it runs; the default is workspace-write
//	model      as it is
//
// In deed's sandbox Codex's own sandbox is off, because it cannot be built there; see agentcli.Posture. The workspace is not
// trusted in Codex's sense: a configuration in it has no effect, and Codex does not read AGENTS.md by itself. Codex does not ask
// before it acts, so rules on tools are only declared. It reports usage as a running total of the conversation; the driver
// reports the difference.
package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// New makes the driver.
func New() *agentcli.Driver { return agentcli.New(Dialect{}) }

// A Dialect is how the CLI is spoken to.
type Dialect struct{}

var _ agentcli.Dialect = Dialect{}

// Kind is the adapter kind.
func (Dialect) Kind() string { return agentruntime.KindCodex }

// Install says how to get the CLI.
func (Dialect) Install() string {
	return "npm install --global @openai/codex, or give its absolute path"
}

// triples are the names of Codex's native programs, by architecture.
var triples = map[string][2]string{
	"amd64": {"codex-linux-x64", "x86_64-unknown-linux-musl"},
	"arm64": {"codex-linux-arm64", "aarch64-unknown-linux-musl"},
}

// Locate finds the native program behind the launcher of the npm package: killed, the launcher would leave it behind.
func (Dialect) Locate(file string) agentcli.Program {
	t, ok := triples[runtime.GOARCH]
	if !ok {
		return agentcli.Program{File: file}
	}
	if filepath.Base(file) == "codex" && filepath.Base(filepath.Dir(file)) == "bin" && filepath.Base(filepath.Dir(filepath.Dir(file))) == t[1] {
		return agentcli.Program{File: file, Dir: filepath.Dir(filepath.Dir(file))}
	}
	pkg := filepath.Dir(filepath.Dir(file)) // of …/@openai/codex/bin/codex.js
	for _, dir := range []string{filepath.Join(pkg, "node_modules", "@openai"), filepath.Dir(pkg), filepath.Join(pkg, "..", "..", "@openai")} {
		root := filepath.Join(dir, t[0], "vendor", t[1])
		native := filepath.Join(root, "bin", "codex")
		if st, err := os.Stat(native); err == nil && st.Mode().IsRegular() {
			return agentcli.Program{File: native, Dir: root}
		}
	}
	return agentcli.Program{File: file}
}

// Hosts returns the provider's host, else OpenAI's.
func (Dialect) Hosts(a agentruntime.AdapterConfig, _ map[string]string) ([]string, error) {
	if p := a.Codex.Provider; p != nil && p.BaseURL != "" {
		host, err := agentcli.HostPort(p.BaseURL)
		return []string{host}, err
	}
	return []string{"api.openai.com:443", "chatgpt.com:443"}, nil
}

// reserved are the options that deed sets itself.
var reserved = []string{
	"--json", "--cd", "-C", "--sandbox", "-s", "--full-auto", "--model", "-m", "--ephemeral", "--last", "--profile", "-p", "--worktree", "--oss",
	"sandbox_mode=", "sandbox_workspace_write=", "model_provider=", "projects=", "profile=",
}

// Begin checks the adapter.
func (Dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	if err := agentcli.CheckArgs(p.Config.ExtraArgs, reserved...); err != nil {
		return nil, err
	}
	return &conversation{plan: p, model: p.Model()}, nil
}

// A conversation is one thread of Codex's.
type conversation struct {
	plan  agentcli.Plan
	model string
	*run  // of the turn that is under way, or was the last
}

// Launch says how a turn is started.
func (c *conversation) Launch(_ context.Context, _ string, report *agentcli.Reporter, _ func(*failure.Error)) (agentcli.Launch, error) {
	resumed := c.plan.State.ID != ""
	c.run = &run{report: report, state: c.plan.State, model: c.model, resumed: resumed, open: map[string]bool{}}
	args := []string{"exec"}
	if resumed {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	if c.model != "" {
		args = append(args, "--model", c.model)
	}
	for _, s := range c.settings() {
		args = append(args, "-c", s)
	}
	args = append(args, c.plan.Config.ExtraArgs...)
	if resumed {
		args = append(args, c.plan.State.ID)
	}
	return agentcli.Launch{
		Args: append(args, "-"), // the prompt is on stdin
		Env:  map[string]string{"CODEX_HOME": c.plan.Job.Inside(c.plan.Home)},
	}, nil
}

// settings are those of this attempt, on top of an empty configuration home. Names of features that a version of Codex
// does not know are ignored by it.
func (c *conversation) settings() []string {
	out := []string{
		"sandbox_mode=" + quote(c.plan.Posture.Sandbox),
		`approval_policy="never"`,
		fmt.Sprintf(`projects={%s={trust_level="untrusted"}}`, quote(c.plan.Job.Inside(c.plan.Dir))),
		"check_for_update_on_startup=false", "analytics.enabled=false", "feedback.enabled=false",
		"features.plugins=false", "features.apps=false", "features.unbounded_connection_retries=false",
	}
	if c.plan.Posture.Sandbox == agentcli.Workspace {
		j := c.plan.Job // where the result and declared artifacts go
		out = append(out, fmt.Sprintf("sandbox_workspace_write.writable_roots=[%s,%s]", quote(j.Inside(j.Dirs.Exchange)), quote(j.Inside(j.Dirs.Artifacts))),
			// The attempt has a place for temporary files. In the machine's own Codex makes a .git, and leaves it there when it is killed.
			"sandbox_workspace_write.exclude_slash_tmp=true")
	}
	p := c.plan.Job.Adapter.Codex.Provider
	switch {
	case p == nil:
	case p.BaseURL == "":
		out = append(out, "model_provider="+quote(p.ID))
	case p.ID == "openai": // Codex's own, which cannot be redefined
		out = append(out, "openai_base_url="+quote(p.BaseURL))
	default:
		out = append(out, "model_provider="+quote(p.ID), "model_providers="+c.provider(p))
	}
	return out
}

// keys are the variables that may carry the key, the first that is set counts.
var keys = []string{"CODEX_API_KEY", "OPENAI_API_KEY"}

// provider defines a provider. Codex would retry a failed request many times by itself. It gets few retries, because deed's own
// wait longer and are reported.
func (c *conversation) provider(p *agentruntime.CodexProvider) string {
	name := p.Name
	if name == "" {
		name = p.ID
	}
	fields := []string{
		"name=" + quote(name), "base_url=" + quote(p.BaseURL), `wire_api="responses"`,
		"request_max_retries=2", "stream_max_retries=2",
	}
	if p.RequiresOpenAIAuth != nil && *p.RequiresOpenAIAuth {
		fields = append(fields, "requires_openai_auth=true")
	} else {
		for _, key := range keys {
			if _, set := c.plan.Vars[key]; set {
				fields = append(fields, "env_key="+quote(key))
				break
			}
		}
	}
	return "{" + quote(p.ID) + "={" + strings.Join(fields, ",") + "}}"
}

// quote writes a TOML string. What Go and TOML escape differently is written as JSON does, which TOML takes.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(text)
}
