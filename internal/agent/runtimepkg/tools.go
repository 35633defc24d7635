package runtimepkg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/proc"
)

// What is said of tools that a request wants attached and that cannot be.
const (
	ToolUnavailable = "agent_task.runtime_tool_unavailable"
	ToolDenied      = "agent_task.runtime_tool_denied"
)

// toolAttachment is the capability of a provider that attaches tools to its agent.
const toolAttachment = "runtime_tool_attachment"

// A ToolsError names every tool that a request wants and cannot have.
type ToolsError struct {
	Code   string
	Class  homeboy.FailureClass
	Faults []string // each with the tool's name
	Remedy string
}

func (e *ToolsError) Error() string { return strings.Join(e.Faults, "; ") }

// A Tool is a tool that was found, and the commands by which it shows that it works, if there are any: its version, and what
// it can do.
type Tool struct {
	homeboy.ResolvedRuntimeTool
	VersionCommand, Probe []string
}

// Tools finds the tools that a request wants the provider to attach to its agent: what the package itself declares under that
// id, else what the request names, in the package or on the PATH. Nothing is run. The error is a *ToolsError with everything
// that is wrong.
func (s *Selection) Tools(q homeboy.Request, path string) ([]Tool, error) {
	if len(q.RuntimeTools) == 0 {
		return nil, nil
	}
	if !slices.Contains(s.Provider.Capabilities, toolAttachment) {
		var names []string
		for _, t := range q.RuntimeTools {
			names = append(names, t.ID)
		}
		return nil, &ToolsError{
			Code: ToolUnavailable, Class: homeboy.ClassCapabilityMissing,
			Faults: []string{fmt.Sprintf("the provider %s attaches no tools, and the request wants %s", s.Provider.ID, strings.Join(names, ", "))},
			Remedy: "choose a provider that declares " + toolAttachment + ", or leave runtime_tools out",
		}
	}
	own, err := s.ownTools()
	if err != nil {
		return nil, &ToolsError{Code: ToolUnavailable, Class: homeboy.ClassProvider, Faults: []string{err.Error()}, Remedy: "correct the manifest"}
	}
	denied := &ToolsError{Code: ToolDenied, Class: homeboy.ClassPolicyDenied, Remedy: "allow them in policy.tools, or leave them out"}
	missing := &ToolsError{Code: ToolUnavailable, Class: homeboy.ClassCapabilityMissing, Remedy: "install them, name them by a path, or take a package that declares them"}
	var out []Tool
	for _, t := range q.RuntimeTools {
		if o, ok := own[t.ID]; ok {
			t = merged(t, o)
		}
		if why := refusedTool(q.Policy, t); why != "" {
			denied.Faults = append(denied.Faults, fmt.Sprintf("the tool %s is not allowed: %s", t.ID, why))
			continue
		}
		argv := make([]string, len(t.Command))
		for i, word := range t.Command {
			argv[i] = fill(word, s.Package.Real)
		}
		file, err := proc.LookPath(argv[0], path, s.Package.Real)
		if err != nil {
			missing.Faults = append(missing.Faults, fmt.Sprintf("the tool %s is not there: %v", t.ID, err))
			continue
		}
		argv[0] = file
		out = append(out, resolvedTool(t, argv))
	}
	switch {
	case len(denied.Faults) > 0:
		denied.Faults = append(denied.Faults, missing.Faults...)
		return nil, denied
	case len(missing.Faults) > 0:
		return nil, missing
	}
	return out, nil
}

// ownTools are the tools that the manifest declares, by their ids.
func (s *Selection) ownTools() (map[string]homeboy.RuntimeTool, error) {
	raw := s.Provider.Extra["runtime_tools"]
	if raw.Null() {
		return nil, nil
	}
	var list []homeboy.RuntimeTool
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("runtime_tools of provider %s: %w", s.Provider.ID, err)
	}
	out := map[string]homeboy.RuntimeTool{}
	for _, t := range list {
		if len(t.Command) == 0 || t.ID == "" {
			return nil, errors.New("runtime_tools of provider " + s.Provider.ID + ": a tool has no id or no command")
		}
		out[t.ID] = t
	}
	return out, nil
}

// merged is a tool of the package, with what the request gives it besides.
func merged(asked, own homeboy.RuntimeTool) homeboy.RuntimeTool {
	env := maps.Clone(own.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, asked.Env)
	own.Env = env
	for _, name := range asked.SecretEnv {
		if !slices.Contains(own.SecretEnv, name) {
			own.SecretEnv = append(slices.Clip(own.SecretEnv), name)
		}
	}
	if own.Readiness == nil {
		own.Readiness, own.RequiredCapabilities = asked.Readiness, asked.RequiredCapabilities
	}
	return own
}

// refusedTool says why the policy of a request does not let it have a tool; "": it does.
func refusedTool(p *homeboy.Policy, t homeboy.RuntimeTool) string {
	if p == nil || p.Tools == nil {
		return ""
	}
	rule := p.Tools.Tools[t.ID]
	at := rule.ExecutionLocation
	if at == "" {
		at = p.Tools.DefaultLocation
	}
	switch {
	case at == homeboy.LocationRunner:
	case rule.Reason != "":
		return rule.Reason
	case at == homeboy.LocationControlPlane:
		return "policy.tools has it run on the control plane, and a provider runs here"
	default:
		return "policy.tools disables it"
	}
	commands := [][]string{t.Command}
	if r := t.Readiness; r != nil {
		commands = append(commands, r.VersionCommand)
		if r.CapabilityProbe != nil {
			commands = append(commands, r.CapabilityProbe.Argv)
		}
	}
	for _, argv := range commands {
		if ok, why := p.Tools.Commands.Allows(argv); len(argv) > 0 && !ok {
			return "policy.tools.commands: " + why
		}
	}
	return ""
}

func resolvedTool(t homeboy.RuntimeTool, argv []string) Tool {
	out := Tool{ResolvedRuntimeTool: homeboy.ResolvedRuntimeTool{
		Schema: homeboy.SchemaResolvedRuntimeTool, ID: t.ID, Transport: homeboy.TransportStdio, Executable: argv[0], Argv: argv, Env: t.Env,
		EnvNames: slices.Sorted(maps.Keys(t.Env)), SecretEnvNames: t.SecretEnv, Lifecycle: homeboy.LifecycleRuntime,
		Readiness: &homeboy.ResolvedState{Status: "found"},
	}}
	if r := t.Readiness; r != nil {
		out.VersionCommand = out.shows(r.VersionCommand)
		if r.CapabilityProbe != nil {
			out.Capabilities, out.CapabilityProbe, out.Probe = t.RequiredCapabilities, r.CapabilityProbe, out.shows(r.CapabilityProbe.Argv)
		}
	}
	return out
}

// shows is a command of the tool as it is run: options alone are the program's, and its name is the file that was found.
func (t Tool) shows(argv []string) []string {
	switch {
	case len(argv) == 0:
		return nil
	case strings.HasPrefix(argv[0], "-"):
		return append([]string{t.Executable}, argv...)
	case filepath.Base(argv[0]) == filepath.Base(t.Executable):
		return append([]string{t.Executable}, argv[1:]...)
	}
	return argv
}
