// Package claudecode owns the dialect of the Claude Code CLI: `claude -p` with JSON events in both directions. What all agent
// CLIs share is in package agentcli.
//
// # Whom it asks
//
// If the job has a Guard, Claude Code has to ask deed before and after each tool call (the hooks PreToolUse and PostToolUse of
// its control protocol), in every permission mode: what the Guard denies is not done, and the agent gets the reason. If a person
// has to decide first, the agent is interrupted and the turn ends as blocked.
//
// # What an adapter decides
//
//	sandbox    read-only: plan mode; workspace-write: edits are accepted, and commands are refused unless --allowedTools in
//	           extra_args or a rule of the Guard allows them; danger-full-access: everything, for a declared trusted VM
//	autonomy   required_settings_files must be there, and are given to Claude Code with --settings
//	env        ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL for another service than Anthropic's
//
// In deed's sandbox everything is allowed (see agentcli.Posture), except what the Guard denies. Settings and instructions in
// the workspace (.claude, CLAUDE.md) have no effect: its settings can name commands that would run as deed's user.
//
// Success is a result event without is_error; its subtype is "success" even for a refused key. Usage comes from that event; the
// messages before it carry only what was known when they began.
package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
func (Dialect) Kind() string { return agentruntime.KindClaudeCode }

// AsksFirst is true: see the hooks in the package's documentation.
func (Dialect) AsksFirst() bool { return true }

// Install says how to get the CLI.
func (Dialect) Install() string {
	return "npm install --global @anthropic-ai/claude-code, or give its absolute path"
}

// natives are the packages of the native program, by architecture.
var natives = map[string]string{"amd64": "claude-code-linux-x64", "arm64": "claude-code-linux-arm64"}

// Locate finds the native program of the npm package. Its launcher is the program itself where the package's own script ran
// at install, and a stub where it did not.
func (Dialect) Locate(file string) agentcli.Program {
	name, ok := natives[runtime.GOARCH]
	if !ok || filepath.Base(file) == "claude" {
		return agentcli.Program{File: file}
	}
	pkg := filepath.Dir(filepath.Dir(file)) // of …/@anthropic-ai/claude-code/bin/claude.exe
	for _, dir := range []string{filepath.Join(pkg, "node_modules", "@anthropic-ai"), filepath.Dir(pkg)} {
		native := filepath.Join(dir, name, "claude")
		if st, err := os.Stat(native); err == nil && st.Mode().IsRegular() {
			return agentcli.Program{File: native}
		}
	}
	return agentcli.Program{File: file}
}

// Hosts returns the host of ANTHROPIC_BASE_URL, else Anthropic's.
func (Dialect) Hosts(_ agentruntime.AdapterConfig, env map[string]string) ([]string, error) {
	if u := env["ANTHROPIC_BASE_URL"]; u != "" {
		host, err := agentcli.HostPort(u)
		return []string{host}, err
	}
	return []string{"api.anthropic.com:443"}, nil
}

// reserved are the options that deed sets itself.
var reserved = []string{
	"-p", "--print", "--output-format", "--input-format", "--verbose", "--model", "--permission-mode", "--permission-prompt-tool", "--setting-sources",
	"--settings", "--resume", "-r", "--continue", "-c", "--session-id", "--fork-session", "--no-session-persistence", "--worktree", "-w", "--max-turns",
}

// Begin checks the adapter.
func (Dialect) Begin(p agentcli.Plan) (agentcli.Conversation, error) {
	if err := agentcli.CheckArgs(p.Config.ExtraArgs, reserved...); err != nil {
		return nil, err
	}
	c := &conversation{plan: p, model: p.Model()}
	if a := p.Job.Adapter.ClaudeCode.Autonomy; a != nil {
		var err error
		if c.settings, err = readSettings(a.RequiredSettingsFiles, a.Profile); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// maxSettings bounds a settings file.
const maxSettings = 1 << 20

// readSettings joins the settings files that an adapter requires; a later one wins, by its top members. They are read here
// and handed over as they were, because a contained agent does not see them.
func readSettings(files []string, profile string) (map[string]json.RawMessage, error) {
	joined := map[string]json.RawMessage{}
	for i, file := range files {
		bad := func(err error, remedy string) error {
			return failure.New(failure.Config, fmt.Sprintf("read autonomy.required_settings_files[%d] %s", i, file), err, remedy)
		}
		st, err := os.Stat(file)
		switch {
		case err != nil:
			return nil, bad(err, "make it, or take it out of the adapter")
		case !st.Mode().IsRegular() || st.Size() > maxSettings:
			return nil, bad(errors.New("it is not a regular file of at most 1 MiB"), "name a settings file")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, bad(err, "let the user that runs deed read it")
		}
		if err := json.Unmarshal(text, &joined); err != nil {
			return nil, bad(err, "write a JSON object")
		}
		if profile != agentruntime.AutonomyTrustedVM && strings.Contains(string(text), "bypassPermissions") {
			return nil, bad(errors.New("it names bypassPermissions, which lifts the agent's own guards"), `declare "autonomy": {"profile": "trusted-vm"}, or remove it`)
		}
	}
	if len(joined) == 0 {
		return nil, nil
	}
	return joined, nil
}

// A conversation is one session of Claude Code's.
type conversation struct {
	plan     agentcli.Plan
	model    string
	settings map[string]json.RawMessage
	run      *run
}

// Launch says how a turn is started: the prompt goes in as the first message, and the way in stays open for deed's answers
// until the result is there.
func (c *conversation) Launch(ctx context.Context, prompt string, report *agentcli.Reporter, stop func(*failure.Error)) (agentcli.Launch, error) {
	answers, in := io.Pipe()
	r := &run{plan: c.plan, report: report, stop: stop, model: c.model, resumed: c.plan.State.ID != "", control: newControl(ctx, c.plan.Job.Guard, in), over: make(chan struct{})}
	r.control.run = r
	c.run = r
	args, err := c.args()
	if err != nil {
		return agentcli.Launch{}, err
	}
	return agentcli.Launch{
		Args: args,
		Env:  c.env(),
		Defaults: map[string]string{
			"CLAUDE_CODE_MAX_RETRIES": "2", // deed's own retries wait longer, and are reported
			"API_TIMEOUT_MS":          "300000",
		},
		Stdin:  io.MultiReader(strings.NewReader(r.control.opening(prompt)), answers),
		Done:   func() { r.control.close(); _ = answers.Close() },
		Over:   r.over,
		Cancel: r.control.interrupt,
	}, nil
}

func (c *conversation) args() ([]string, error) {
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-mode", mode(c.plan.Posture), "--setting-sources", "user", "--strict-mcp-config",
	}
	if c.model != "" {
		args = append(args, "--model", c.model)
	}
	if n := c.plan.Job.MaxTurns; n > 0 {
		args = append(args, "--max-turns", strconv.Itoa(max(n-c.plan.State.Turns, 1)))
	}
	if c.settings != nil {
		text, err := json.Marshal(c.settings)
		if err != nil {
			return nil, failure.New(failure.Config, "read the settings files", err, "")
		}
		args = append(args, "--settings", string(text))
	}
	if id := c.plan.State.ID; id != "" {
		args = append(args, "--resume", id)
	}
	if !c.plan.Posture.Lifted {
		j := c.plan.Job // where the result and declared artifacts go
		args = append(args, "--add-dir", j.Inside(j.Dirs.Exchange), j.Inside(j.Dirs.Artifacts))
	}
	return append(args, c.plan.Config.ExtraArgs...), nil
}

// mode is the permission mode that holds a posture.
func mode(p agentcli.Posture) string {
	switch p.Sandbox {
	case agentcli.FullAccess:
		return "bypassPermissions"
	case agentcli.ReadOnly:
		return "plan"
	}
	return "acceptEdits"
}

// env keeps Claude Code to its model's service and to the attempt's own files.
func (c *conversation) env() map[string]string {
	env := map[string]string{
		"CLAUDE_CONFIG_DIR":                        c.plan.Job.Inside(c.plan.Home),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_AUTOUPDATER":                      "1",
	}
	if c.plan.Posture.Lifted {
		env["IS_SANDBOX"] = "1" // without it, Claude Code refuses to run as root with its guards lifted
	}
	return env
}
