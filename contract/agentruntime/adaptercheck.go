package agentruntime

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Validate returns every fault of the record. A harness that is told to bypass its own permission checks must
// declare trusted-vm: the flag alone, in extra_args, is refused.
func (a AdapterConfig) Validate() error {
	var l fault.List
	m, err := a.member()
	if err != nil {
		l.Add("$", fault.Conflict, err.Error(), "set one of "+strings.Join(Kinds, ", "))
		return l.Err()
	}
	switch m := m.(type) {
	case *ClaudeCodeAdapter:
		c := common{m.Schema, m.AdapterID, m.Kind, KindClaudeCode, m.Command, m.WorkingDir, m.TimeoutMS, m.EnvFile, m.Env, m.ExtraArgs}
		c.check(&l)
		sandbox(&l, m.Sandbox)
		l.OptionalName("$.model", m.Model)
		if m.Autonomy == nil {
			posture(&l, "", m.ExtraArgs, nil)
			break
		}
		fault.OneOf(&l, "$.autonomy.profile", m.Autonomy.Profile, AutonomyRestricted, AutonomyTrustedVM)
		posture(&l, m.Autonomy.Profile, m.ExtraArgs, m.Autonomy.RequiredArgs)
		for i, f := range m.Autonomy.RequiredSettingsFiles {
			l.Path(fault.Index("$.autonomy.required_settings_files", i), f)
		}
	case *CodexAdapter:
		c := common{m.Schema, m.AdapterID, m.Kind, KindCodex, m.Command, m.WorkingDir, m.TimeoutMS, m.EnvFile, m.Env, m.ExtraArgs}
		c.check(&l)
		sandbox(&l, m.Sandbox)
		l.OptionalName("$.model", m.Model)
		harness(&l, m.Autonomy, m.ExtraArgs)
		if p := m.Provider; p != nil {
			l.Name("$.provider.id", p.ID)
			l.OptionalName("$.provider.name", p.Name)
			if p.BaseURL != "" {
				l.HTTPURL("$.provider.base_url", p.BaseURL)
			}
			if p.WireAPI != "" {
				fault.OneOf(&l, "$.provider.wire_api", p.WireAPI, "responses")
			}
		}
	case *HermesAgentAdapter:
		c := common{m.Schema, m.AdapterID, m.Kind, KindHermesAgent, m.Command, m.WorkingDir, m.TimeoutMS, m.EnvFile, m.Env, m.ExtraArgs}
		c.check(&l)
		sandbox(&l, m.Sandbox)
		l.OptionalName("$.model", m.Model)
		harness(&l, m.Autonomy, m.ExtraArgs)
	case *OllamaGenerateAdapter:
		head(&l, m.Schema, m.AdapterID, m.Kind, KindOllamaGenerate, m.TimeoutMS)
		l.HTTPURL("$.endpoint", m.Endpoint)
		l.Name("$.model", m.Model)
	case *ScriptAdapter:
		c := common{m.Schema, m.AdapterID, m.Kind, KindScript, m.Command, m.WorkingDir, m.TimeoutMS, m.EnvFile, m.Env, m.ExtraArgs}
		c.check(&l)
		if m.Autonomy != nil {
			fault.OneOf(&l, "$.autonomy.profile", m.Autonomy.Profile, AutonomyRuntimeNative)
		}
	}
	return l.Err()
}

// common is what every adapter that starts a process shares.
type common struct {
	schema, id, kind, want string
	command, workingDir    string
	timeoutMS              int64
	envFile                string
	env                    map[string]string
	extraArgs              []string
}

func (c common) check(l *fault.List) {
	head(l, c.schema, c.id, c.kind, c.want, c.timeoutMS)
	l.Path("$.command", c.command)
	l.OptionalPath("$.working_dir", c.workingDir)
	l.OptionalPath("$.env_file", c.envFile)
	l.Env("$.env", c.env)
	for i, arg := range c.extraArgs {
		l.Text(fault.Index("$.extra_args", i), arg)
	}
}

func head(l *fault.List, schema, id, kind, want string, timeoutMS int64) {
	schemaIs(l, schema, SchemaAdapterConfig)
	l.Name("$.adapter_id", id)
	fault.OneOf(l, "$.kind", kind, want)
	l.Between("$.timeout_ms", timeoutMS, 1, MaxTimeoutMS)
}

func sandbox(l *fault.List, mode string) {
	if mode != "" {
		fault.OneOf(l, "$.sandbox", mode, Sandboxes...)
	}
}

func harness(l *fault.List, a *HarnessAutonomy, extra []string) {
	if a == nil {
		posture(l, "", extra, nil)
		return
	}
	fault.OneOf(l, "$.autonomy.profile", a.Profile, AutonomyRestricted, AutonomyTrustedVM)
	posture(l, a.Profile, extra, a.RequiredArgs)
}

// posture refuses arguments that lift a harness's own guards unless trusted-vm is declared.
func posture(l *fault.List, profile string, extra, required []string) {
	for i, arg := range required {
		l.Text(fault.Index("$.autonomy.required_args", i), arg)
	}
	if profile == AutonomyTrustedVM {
		return
	}
	for _, list := range []struct {
		at   string
		args []string
	}{{"$.extra_args", extra}, {"$.autonomy.required_args", required}} {
		for i, arg := range list.args {
			with, lifted := lifts(list.args, i)
			if !lifted {
				continue
			}
			if with != "" {
				arg += " " + with
			}
			l.Add(fault.Index(list.at, i), fault.Undeclared, fmt.Sprintf("%q lifts the agent's own guards", clip(arg)), `declare "autonomy": {"profile": "trusted-vm"}, or remove it`)
		}
	}
}

// lifts reports whether the argument at i, alone or with the one after it (with), bypasses approvals or the sandbox of
// Claude Code, Codex or Hermes Agent.
func lifts(args []string, i int) (with string, lifted bool) {
	name, value, joined := strings.Cut(args[i], "=")
	if !joined && i+1 < len(args) {
		value, with = args[i+1], args[i+1]
	}
	switch {
	case strings.HasPrefix(name, "--dangerously-"), strings.HasPrefix(name, "--allow-dangerously-"), name == "--yolo":
		return "", true
	case name == "--permission-mode":
		return with, value == "bypassPermissions"
	case name == "--sandbox", name == "-s":
		return with, value == "danger-full-access"
	case name == "-c", name == "--config":
		return with, strings.Contains(value, "danger-full-access")
	case strings.HasPrefix(name, "-c"), name == "-sdanger-full-access": // a short option with its value attached
		return "", strings.Contains(args[i], "danger-full-access")
	}
	return "", false
}
