package agentruntime

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/fault"
)

// Validate returns every fault of the record. A harness that is told to bypass its own permission checks must
// declare trusted-vm: the flag alone, in its arguments or as its sandbox, is refused.
func (a AdapterConfig) Validate() error {
	var l fault.List
	m, err := a.member()
	if err != nil {
		l.Add("$", fault.Conflict, err.Error(), "set one of "+strings.Join(Kinds, ", "))
		return l.Err()
	}
	a.shared().check(&l)
	switch m := m.(type) {
	case *ClaudeCodeAdapter:
		posture(&l, a.Common(), m.Autonomy != nil)
	case *CodexAdapter:
		posture(&l, a.Common(), m.Autonomy != nil)
		if m.Provider != nil {
			m.Provider.check(&l)
		}
	case *HermesAgentAdapter:
		posture(&l, a.Common(), m.Autonomy != nil)
	case *OllamaGenerateAdapter:
		l.HTTPURL("$.endpoint", m.Endpoint)
		l.Name("$.model", m.Model)
	case *ScriptAdapter:
		if m.Autonomy != nil {
			fault.OneOf(&l, "$.autonomy.profile", m.Autonomy.Profile, AutonomyRuntimeNative)
		}
	case *ACPAdapter:
		posture(&l, a.Common(), m.Autonomy != nil)
		hosts(&l, m.Hosts)
	case *CommandAdapter:
		posture(&l, a.Common(), m.Autonomy != nil, arguments{"$.args", m.Args}, arguments{"$.resume_args", m.ResumeArgs})
		m.check(&l)
	case *NativeAdapter:
		m.check(&l)
	case *OpencodeAdapter:
		posture(&l, a.Common(), m.Autonomy != nil)
		if m.Provider != nil {
			m.Provider.check(&l)
		}
	case *PackagedAdapter:
		m.check(&l)
	}
	return l.Err()
}

// check holds for every kind.
func (s shared) check(l *fault.List) {
	schemaIs(l, *s.schema, SchemaAdapterConfig)
	l.Name("$.adapter_id", *s.id)
	fault.OneOf(l, "$.kind", *s.named, s.kind)
	l.Between("$.timeout_ms", *s.timeoutMS, 1, MaxTimeoutMS)
	if s.command != nil {
		l.Path("$.command", *s.command)
	}
	l.OptionalPath("$.working_dir", at(s.workingDir))
	l.OptionalPath("$.env_file", at(s.envFile))
	l.Env("$.env", at(s.env))
	texts(l, "$.extra_args", at(s.extraArgs))
	if mode := at(s.sandbox); mode != "" {
		fault.OneOf(l, "$.sandbox", mode, Sandboxes...)
	}
	if s.kind != KindOllamaGenerate && s.kind != KindNative { // which cannot do without
		l.OptionalName("$.model", at(s.model))
	}
}

func texts(l *fault.List, path string, values []string) {
	for i, v := range values {
		l.Text(fault.Index(path, i), v)
	}
}

func (p CodexProvider) check(l *fault.List) {
	l.Name("$.provider.id", p.ID)
	l.OptionalName("$.provider.name", p.Name)
	optionalURL(l, "$.provider.base_url", p.BaseURL)
	if p.WireAPI != "" {
		fault.OneOf(l, "$.provider.wire_api", p.WireAPI, "responses")
	}
}

func (p OpencodeProvider) check(l *fault.List) {
	l.Name("$.provider.id", p.ID)
	if strings.ContainsAny(p.ID, "/ ") {
		l.Add("$.provider.id", fault.BadFormat, fmt.Sprintf("%q holds a slash or a blank", clip(p.ID)), "write a name that can stand before the slash in provider/model")
	}
	l.OptionalName("$.provider.name", p.Name)
	optionalURL(l, "$.provider.base_url", p.BaseURL)
	if p.API != "" {
		fault.OneOf(l, "$.provider.api", p.API, "chat", "responses", "anthropic")
	}
	optionalEnvName(l, "$.provider.key_env", p.KeyEnv)
}

func optionalURL(l *fault.List, path, value string) {
	if value != "" {
		l.HTTPURL(path, value)
	}
}

func optionalEnvName(l *fault.List, path, value string) {
	if value != "" {
		l.EnvName(path, value)
	}
}

// hosts demands a port with each host: the walls of a sandbox open no other.
func hosts(l *fault.List, list []string) {
	for i, h := range list {
		host, port, err := net.SplitHostPort(h)
		n, perr := strconv.ParseUint(port, 10, 16)
		if err != nil || perr != nil || n == 0 || host == "" || strings.ContainsAny(host, "/ \t\n*") {
			l.Add(fault.Index("$.hosts", i), fault.BadFormat, fmt.Sprintf("%q is not a host with its port", clip(h)), "write it as api.example.com:443, without a scheme or a path")
		}
		if slices.Contains(list[:i], h) {
			l.Add(fault.Index("$.hosts", i), fault.Duplicate, fmt.Sprintf("%q is there twice", clip(h)), "name it once")
		}
	}
}

// maxPattern bounds a session_pattern, in bytes.
const maxPattern = 1024

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z_]+\}`) })

func (m CommandAdapter) check(l *fault.List) {
	hosts(l, m.Hosts)
	for _, list := range []arguments{{"$.args", m.Args}, {"$.resume_args", m.ResumeArgs}} {
		texts(l, list.path, list.args)
		for i, arg := range list.args {
			for _, p := range placeholder().FindAllString(arg, -1) {
				if !slices.Contains(Placeholders, p) {
					l.Add(fault.Index(list.path, i), fault.BadFormat, fmt.Sprintf("%s is no placeholder", clip(p)), "use "+strings.Join(Placeholders, ", ")+"; what is to be taken as it is stands in extra_args")
				}
			}
		}
		m.checkPrompt(l, list)
	}
	if m.Prompt != "" {
		fault.OneOf(l, "$.prompt", m.Prompt, PromptStdin, PromptFile)
	}
	if m.Events != "" {
		fault.OneOf(l, "$.events", m.Events, EventsText, EventsClaudeStreamJSON, EventsCodexJSON)
	}
	m.checkSession(l)
}

// checkPrompt demands that the program is told its prompt in one way.
func (m CommandAdapter) checkPrompt(l *fault.List, list arguments) {
	switch named := list.name(PlacePromptFile); {
	case m.Prompt == PromptFile && !named && (list.path == "$.args" || len(list.args) > 0):
		l.Add(list.path, fault.Conflict, "name no "+PlacePromptFile+", and prompt is file", "put "+PlacePromptFile+" where the program expects the file, or set prompt to stdin")
	case m.Prompt != PromptFile && named:
		l.Add(list.path, fault.Conflict, "name "+PlacePromptFile+", and the prompt comes by stdin", `set "prompt": "file"`)
	}
}

// checkSession demands that an id which the arguments need can be had.
func (m CommandAdapter) checkSession(l *fault.List) {
	if m.SessionPattern != "" {
		re, err := regexp.Compile(m.SessionPattern)
		switch {
		case len(m.SessionPattern) > maxPattern:
			l.Add("$.session_pattern", fault.OutOfRange, fmt.Sprintf("has %d bytes", len(m.SessionPattern)), fmt.Sprintf("use at most %d", maxPattern))
		case err != nil:
			l.Add("$.session_pattern", fault.BadFormat, fmt.Sprintf("%q is not a regular expression", clip(m.SessionPattern)), "write one in the syntax of RE2")
		case re.NumSubexp() > 1:
			l.Add("$.session_pattern", fault.BadFormat, fmt.Sprintf("%q has %d groups", clip(m.SessionPattern), re.NumSubexp()), "put one group around the id; (?:…) groups without capturing")
		}
	}
	made := arguments{"$.args", m.Args}.name(PlaceSession)
	told := m.SessionPattern != "" || m.Events == EventsClaudeStreamJSON || m.Events == EventsCodexJSON
	if resume := (arguments{"$.resume_args", m.ResumeArgs}); resume.name(PlaceSession) && !made && !told {
		l.Add(resume.path, fault.Conflict, "name "+PlaceSession+", and nothing says which it is", "set session_pattern, use events that carry it, or give the program an id with "+PlaceSession+" in args")
	}
}

func (m NativeAdapter) check(l *fault.List) {
	fault.OneOf(l, "$.provider.api", m.Provider.API, APIAnthropic, APIOpenAIResponses, APIOpenAIChat, APIOllama)
	optionalURL(l, "$.provider.base_url", m.Provider.BaseURL)
	optionalEnvName(l, "$.provider.key_env", m.Provider.KeyEnv)
	l.Name("$.model", m.Model)
	l.Between("$.context_tokens", m.ContextTokens, 0, MaxTokens)
	l.Between("$.max_output_tokens", m.MaxOutputTokens, 0, MaxTokens)
	if m.ContextTokens > 0 && m.MaxOutputTokens >= m.ContextTokens {
		l.Add("$.max_output_tokens", fault.Conflict, fmt.Sprintf("%d leaves nothing of the window of %d", m.MaxOutputTokens, m.ContextTokens), "make it smaller than context_tokens")
	}
	for i, t := range m.Tools {
		fault.OneOf(l, fault.Index("$.tools", i), t, NativeTools...)
		if slices.Contains(m.Tools[:i], t) {
			l.Add(fault.Index("$.tools", i), fault.Duplicate, fmt.Sprintf("%q is there twice", clip(t)), "name it once")
		}
	}
	if s := m.Subagents; s != nil {
		l.Between("$.subagents.max_depth", int64(s.MaxDepth), 0, 8)
		l.Between("$.subagents.max_count", int64(s.MaxCount), 0, 256)
		l.Between("$.subagents.max_turns", int64(s.MaxTurns), 0, 10_000)
	}
	if c := m.CompactAt; c != nil && !(*c >= MinCompactAt && *c <= MaxCompactAt) {
		l.Add("$.compact_at", fault.OutOfRange, fmt.Sprintf("%g is out of range", *c), fmt.Sprintf("use %g to %g", MinCompactAt, MaxCompactAt))
	}
}

func (m PackagedAdapter) check(l *fault.List) {
	l.Name("$.backend", m.Backend)
	l.OptionalName("$.selector", m.Selector)
	l.OptionalName("$.runtime", m.Runtime)
	for i, dir := range m.RuntimeDirs {
		l.Path(fault.Index("$.runtime_dirs", i), dir)
	}
	l.OptionalObject("$.config", m.Config)
	l.Names("$.required_capabilities", m.RequiredCapabilities)
	for i, name := range m.SecretEnv {
		l.EnvName(fault.Index("$.secret_env", i), name)
		if slices.Contains(m.SecretEnv[:i], name) {
			l.Add(fault.Index("$.secret_env", i), fault.Duplicate, fmt.Sprintf("%q is there twice", clip(name)), "name it once")
		}
	}
	hosts(l, m.Hosts)
}

// arguments are a list of arguments with its path in the record.
type arguments struct {
	path string
	args []string
}

// name reports whether one of the arguments holds a placeholder.
func (a arguments) name(place string) bool {
	return slices.ContainsFunc(a.args, func(arg string) bool { return strings.Contains(arg, place) })
}

// posture refuses a sandbox and arguments that lift a harness's own guards unless trusted-vm is declared. Whether deed
// contains the agent does not matter: behind deed's walls those guards are lifted without being asked for.
func posture(l *fault.List, c Common, declared bool, more ...arguments) {
	if declared {
		fault.OneOf(l, "$.autonomy.profile", c.Profile, AutonomyRestricted, AutonomyTrustedVM)
	}
	texts(l, "$.autonomy.required_args", c.RequiredArgs)
	for i, f := range c.SettingsFiles {
		l.Path(fault.Index("$.autonomy.required_settings_files", i), f)
	}
	if c.Profile == AutonomyTrustedVM {
		return
	}
	if c.Sandbox == SandboxFullAccess {
		l.Add("$.sandbox", fault.Undeclared, fmt.Sprintf("%q lifts the agent's own guards", c.Sandbox), `declare "autonomy": {"profile": "trusted-vm"}, or leave sandbox out`)
	}
	for _, list := range append([]arguments{{"$.extra_args", c.ExtraArgs}, {"$.autonomy.required_args", c.RequiredArgs}}, more...) {
		for i, arg := range list.args {
			with, lifted := lifts(list.args, i)
			if !lifted {
				continue
			}
			if with != "" {
				arg += " " + with
			}
			l.Add(fault.Index(list.path, i), fault.Undeclared, fmt.Sprintf("%q lifts the agent's own guards", clip(arg)), `declare "autonomy": {"profile": "trusted-vm"}, or remove it`)
		}
	}
}

// lifts reports whether the argument at i, alone or with the one after it (with), bypasses approvals or the sandbox of
// a harness: those of Claude Code, Codex, Hermes Agent and opencode, and those of others that
// the general kinds may run.
func lifts(args []string, i int) (with string, lifted bool) {
	name, value, joined := strings.Cut(args[i], "=")
	if !joined && i+1 < len(args) {
		value, with = args[i+1], args[i+1]
	}
	switch {
	case strings.HasPrefix(name, "--dangerously-"), strings.HasPrefix(name, "--allow-dangerously-"), name == "--yolo",
		name == "--auto", name == "--always-approve", name == "--allow-all-tools", name == "--trust-all-tools":
		return "", true
	case name == "--permission-mode":
		return with, value == "bypassPermissions"
	case name == "--settings": // a file's content is its driver's to look at
		return with, strings.Contains(value, "bypassPermissions")
	case name == "--approval-mode":
		return with, value == "yolo"
	case name == "--sandbox", name == "-s":
		return with, value == SandboxFullAccess
	case name == "-c", name == "--config":
		return with, strings.Contains(value, SandboxFullAccess)
	case strings.HasPrefix(name, "-c"), name == "-s"+SandboxFullAccess: // a short option with its value attached
		return "", strings.Contains(args[i], SandboxFullAccess)
	}
	return "", false
}
