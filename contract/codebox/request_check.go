package codebox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

// Validate returns every fault of the request. It looks at the request alone: whether a source is there, and what a
// link makes of it, is for whoever opens it.
func (r TaskRequest) Validate() error {
	var l fault.List
	wrongSchema(&l, r.Schema, SchemaTaskInput)
	if r.Version != 0 {
		l.Between("$.version", int64(r.Version), TaskInputVersion, TaskInputVersion)
	}
	r.checkRawCode(&l)
	r.checkAliases(&l)
	r.checkTask(&l)
	r.checkRuntime(&l)
	r.checkEnv(&l)
	for i, s := range r.VerifySteps {
		l.Within(fault.Index("$.verify_steps", i), s.Validate())
		if s.Name != "" && slices.ContainsFunc(r.VerifySteps[:i], func(o VerifyStep) bool { return o.Name == s.Name }) {
			l.Add(fault.Index("$.verify_steps", i)+".name", fault.Duplicate, quote(s.Name)+" is there twice", "give every step its own name")
		}
	}
	r.checkPlaces(&l)
	return l.Err()
}

// Validate returns every fault of the request and of its task input.
func (r WrappedRequest) Validate() error {
	var l fault.List
	wrongSchema(&l, r.Schema, SchemaRequest)
	l.Within("$.task_input", r.TaskInput.Validate())
	l.OptionalName("$.task_id", r.TaskID)
	inner := r.TaskInput.ArtifactsPath
	if r.ArtifactsPath != "" && absolute(&l, "$.artifacts_path", r.ArtifactsPath) {
		if inner != "" && inner != r.ArtifactsPath {
			l.Add("$.artifacts_path", fault.Conflict, "differs from task_input.artifacts_path", "write it once")
		}
		if inner == "" {
			r.TaskInput.ArtifactsPath = r.ArtifactsPath
			r.TaskInput.checkArtifactsPath(&l, "$.artifacts_path", "$.task_input")
		}
	}
	if !r.CallbackData.Null() && !r.TaskInput.CallbackData.Null() && !bytes.Equal(r.CallbackData, r.TaskInput.CallbackData) {
		l.Add("$.callback_data", fault.Conflict, "differs from task_input.callback_data", "write it once")
	}
	return l.Err()
}

// Validate returns every fault of the form that is there.
func (r Request) Validate() error {
	switch {
	case r.Plain != nil:
		return r.Plain.Validate()
	case r.Wrapped != nil:
		return r.Wrapped.Validate()
	}
	return nil // the reader has said that schema is missing or unknown
}

// Validate returns every fault of the task input.
func (t TaskInput) Validate() error {
	var l fault.List
	l.Say("$.goal", t.Goal)
	for i, a := range t.StructuredArtifacts {
		l.Within(fault.Index("$.structured_artifacts", i), a.Validate())
	}
	l.Within("$.sandbox_tool_policy", t.SandboxToolPolicy.Validate())
	return l.Err()
}

// checkRawCode refuses a request that brings code. The code itself is never repeated.
func (r TaskRequest) checkRawCode(l *fault.List) {
	for _, m := range []struct {
		at string
		v  evidence.Value
	}{{"$.code", r.Code}, {"$.code_file", r.CodeFile}} {
		if s, ok := m.v.Text(); m.v.Null() || ok && strings.Trim(s, " \t\n\f\r") == "" {
			continue
		}
		l.Add(m.at, fault.NotAllowed, CodeRawForbidden+": a request cannot bring code to run", "say in goal what is to be done")
	}
}

// checkAliases refuses two spellings of one member, even when they agree: one of them would be edited alone some day.
func (r TaskRequest) checkAliases(l *fault.List) {
	for _, m := range []struct {
		name, alias string
		both        bool
	}{
		{"staged_files", "stagedFiles", r.StagedFiles != nil && r.StagedFilesAlias != nil},
		{"runtime_config_mounts", "runtimeConfigMounts", r.RuntimeConfigMounts != nil && r.RuntimeConfigMountsAlias != nil},
		{"runtime_state_mounts", "runtimeStateMounts", r.RuntimeStateMounts != nil && r.RuntimeStateMountsAlias != nil},
		{"runtime_env", "runtimeEnv", r.RuntimeEnv != nil && r.RuntimeEnvAlias != nil},
		{"runtime_profile", "runtimeProfile", r.RuntimeProfile != nil && r.RuntimeProfileAlias != nil},
	} {
		if m.both {
			twoSpellings(l, "$."+m.alias, m.name)
		}
	}
}

func twoSpellings(l *fault.List, at, other string) {
	l.Add(at, fault.Conflict, "is set beside "+other+", which means the same", "use "+other+" only")
}

func (r TaskRequest) checkTask(l *fault.List) {
	l.Say("$.goal", r.Goal)
	object(l, "$.target", r.Target, TargetMembers)
	r.checkPolicy(l)
	for i, n := range r.AllowedTools {
		l.Name(fault.Index("$.allowed_tools", i), n)
	}
	for i, n := range r.ExpectedArtifacts {
		at := fault.Index("$.expected_artifacts", i)
		l.Name(at, n)
		if n == "." || fault.IsName(n) && !fs.ValidPath(n) {
			l.Add(at, fault.BadFormat, quote(n)+" is no path in the directory of artifacts", "give a name, or a relative path without . and ..")
		}
	}
	for i, a := range r.StructuredArtifacts {
		at := fault.Index("$.structured_artifacts", i)
		l.Within(at, a.Validate())
		if a.Provenance != nil && a.Provenance.Direction == evidence.DirectionOutput {
			l.Add(at+".provenance.direction", fault.Conflict, "is output in a request", "what goes into a task has the direction input")
		}
		if slices.ContainsFunc(r.StructuredArtifacts[:i], func(o evidence.StructuredArtifact) bool { return o.Name == a.Name }) {
			l.Add(at+".name", fault.Duplicate, quote(a.Name)+" is there twice", "give every artifact its own name")
		}
	}
	if r.AgentBundle != nil {
		l.Within("$.agent_bundle", r.AgentBundle.Validate())
	}
	for i, b := range r.AgentBundles {
		l.Within(fault.Index("$.agent_bundles", i), b.Validate())
	}
	if r.SandboxToolPolicy != nil {
		l.Within("$.sandbox_tool_policy", r.SandboxToolPolicy.Validate())
	}
	for _, m := range []struct {
		at    string
		value string
	}{
		{"$.agent", r.Agent},
		{"$.mode", r.Mode},
		{"$.provider", r.Provider},
		{"$.model", r.Model},
		{"$.session_id", r.SessionID},
		{"$.sandbox_session_id", r.SandboxSessionID},
	} {
		l.OptionalName(m.at, m.value)
		if strings.HasPrefix(m.value, "-") { // it may become an argument of a command
			l.Add(m.at, fault.BadFormat, quote(m.value)+" begins with a dash", "use another name")
		}
	}
	if r.WP != "" && !isVersion(r.WP) {
		l.Add("$.wp", fault.BadFormat, quote(r.WP)+" is not a version", "write latest, or a version such as 6.8.1")
	}
	l.Between("$.max_turns", int64(r.MaxTurns), 0, MaxTurnsLimit)
	l.Between("$.task_timeout_seconds", r.TaskTimeoutSeconds, 0, MaxTaskTimeoutSeconds)
}

func isVersion(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return len(s) <= 64
}

// checkEnv holds for what is given by value and for what is given by name. A text that could be a secret is never
// repeated, not even in a path.
func (r TaskRequest) checkEnv(l *fault.List) {
	given := map[string]bool{}
	for i, name := range r.SecretEnv {
		at := fault.Index("$.secret_env", i)
		switch {
		case looksLikeValue(name):
			l.Add(at, fault.BadFormat, "is not the name of an environment variable and may be a secret's value",
				"write the name only, such as EXAMPLE_AI_API_KEY; if it was a value, replace that secret")
		case name == EnvAgentRuntime || reserved(name):
			l.Add(at, fault.Conflict, quote(name)+" is set by the runtime", "use another name")
		case given[name]:
			l.Add(at, fault.Duplicate, quote(name)+" is there twice", "name it once")
		}
		given[name] = true
	}
	checkValues(l, "$.runtime_env", r.RuntimeEnv, given)
	checkValues(l, "$.runtimeEnv", r.RuntimeEnvAlias, given)
	for at, p := range r.profiles() {
		checkValues(l, at+".env", p.Env, given)
	}
}

func checkValues(l *fault.List, at string, env map[string]string, secret map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if looksLikeValue(name) {
			where, says := at, "has a member that is not named like an environment variable"
			if len(name) < 20 { // a secret is longer
				where, says = fault.Field(at, name), "is not named like an environment variable"
			}
			l.Add(where, fault.BadFormat, says, "use capital letters, digits and _, and no digit first")
			continue
		}
		at := fault.Field(at, name)
		switch {
		case name == EnvAgentRuntime && env[name] != "1":
			l.Add(at, fault.Conflict, "is always 1", "leave it out")
		case reserved(name):
			l.Add(at, fault.Conflict, "is set by the runtime", "use another name")
		case secret[name]:
			l.Add(at, fault.Conflict, "is in secret_env too", "give it by name or by value, not both")
		}
		if LooksLikeCredential(env[name]) {
			l.Add(at, fault.BadFormat, "looks like a credential", "put it into the environment and its name into secret_env; replace the secret, since this file has held it")
		}
		l.Text(at, env[name])
	}
}

// reserved names carry what deed tells an agent.
func reserved(name string) bool {
	return strings.HasPrefix(name, "DEED_") || strings.HasPrefix(name, "AGENT_RUNTIME_")
}

// Validate returns every fault of the step.
func (s VerifyStep) Validate() error {
	var l fault.List
	l.OptionalName("$.name", s.Name)
	switch {
	case s.Command != "" && s.Shell != "":
		l.Add("$.shell", fault.Conflict, "is set beside command", "use a command or a shell line, not both")
	case s.Capability != "":
		s.checkCapability(&l)
	case s.Command == "" && s.Shell == "":
		l.Add("$.command", fault.MissingField, "is missing", `name what to run, as in "command": "composer", "args": ["test"]`)
	case s.Shell != "":
		l.Say("$.shell", s.Shell)
		if len(s.Args) > 0 {
			l.Add("$.args", fault.Conflict, "is set beside shell", "write the arguments into the line")
		}
	default:
		s.checkCommand(&l)
	}
	for i, a := range s.Args {
		l.Text(fault.Index("$.args", i), a)
	}
	if s.Dir != "." {
		l.OptionalRelativePath("$.dir", s.Dir)
	}
	checkValues(&l, "$.env", s.Env, nil)
	l.Between("$.timeout_seconds", s.TimeoutSeconds, 0, MaxTaskTimeoutSeconds)
	s.checkJudged(&l)
	return l.Err()
}

// checkCapability wants a capability alone: the project says what it runs.
func (s VerifyStep) checkCapability(l *fault.List) {
	fault.OneOf(l, "$.capability", s.Capability, runner.Capabilities...)
	if s.Command != "" || s.Shell != "" || len(s.Args) > 0 {
		l.Add("$.capability", fault.Conflict, "is set beside a command", "name a capability, or what to run")
	}
}

// checkJudged looks at what the step judges by, and at what of it the agent is not told.
func (s VerifyStep) checkJudged(l *fault.List) {
	for i, glob := range s.Inputs {
		l.Name(fault.Index("$.inputs", i), glob)
	}
	if s.OnChangedInputs != "" {
		fault.OneOf(l, "$.on_changed_inputs", s.OnChangedInputs, "refuse", "rerun_pinned", "ask")
	}
	if s.Files == "" {
		return
	}
	absolute(l, "$.files", s.Files)
	if !s.Hidden {
		l.Add("$.files", fault.Conflict, "is set and the step is not hidden", `write "hidden": true, or put the files into the workspace`)
	}
}

func (s VerifyStep) checkCommand(l *fault.List) {
	const at = "$.command"
	l.Say(at, s.Command)
	switch {
	case s.Command == RunPHP:
	case s.Command == "wordpress.wp-cli":
		l.Add(at, fault.Dangling, "WP-CLI is not part of the runtime", "use "+RunPHP+", or a program that the workspace brings")
	case strings.HasPrefix(s.Command, "wordpress."), strings.HasPrefix(s.Command, "wp-codebox."):
		l.Add(at, fault.Dangling, quote(s.Command)+" is not a command of the runtime", "use "+RunPHP+" or a program")
	}
}

// Validate returns every fault of the bundle.
func (b AgentBundle) Validate() error {
	var l fault.List
	switch bundle := len(b.Bundle) > 0; {
	case b.Source == "" && !bundle:
		l.Add("$.source", fault.MissingField, "is missing, and so is bundle", "name the bundle's directory, or write the bundle in place")
	case b.Source != "" && bundle:
		l.Add("$.bundle", fault.Conflict, "is set beside source", "use one of them")
	case b.Source != "":
		absolute(&l, "$.source", b.Source)
	default:
		l.Object("$.bundle", b.Bundle)
	}
	l.OptionalName("$.slug", b.Slug)
	if b.OnConflict != "" {
		fault.OneOf(&l, "$.on_conflict", b.OnConflict, ConflictError, ConflictSkip, ConflictUpgrade)
	}
	if b.OwnerID < 0 {
		l.Add("$.owner_id", fault.OutOfRange, strconv.FormatInt(b.OwnerID, 10)+" is negative", "use a positive number")
	}
	if b.TokenEnv != "" && looksLikeValue(b.TokenEnv) {
		l.Add("$.token_env", fault.BadFormat, "is not the name of an environment variable and may be a secret's value", "write the name only")
	}
	if p := b.ImportPrincipal; p != nil {
		for _, m := range []struct {
			at string
			v  evidence.Value
		}{{"agent_id", p.AgentID}, {"owner_id", p.OwnerID}, {"token_id", p.TokenID}} {
			if _, ok := m.v.Positive(); !m.v.Null() && !ok {
				l.Add("$.import_principal."+m.at, fault.BadFormat, "is not a positive whole number", "write it in digits")
			}
		}
		l.Names("$.import_principal.capabilities", p.Capabilities)
		l.OptionalObject("$.import_principal.scope", p.Scope)
	}
	return l.Err()
}

// The members of a request's open objects that have a meaning: each with its words, or nil for any text.
var (
	TargetMembers = map[string][]string{"kind": {"repo", "site", "plugin", "theme", "other"}, "ref": nil, "path": nil, "url": nil}
	PolicyMembers = map[string][]string{"approvals": {"never", "on-write", "on-command"}, "applyBack": {"disabled", "reviewed"}, "sandbox": {"required", "preferred"}}
)

// OwnPolicyMembers are the members of a policy that are deed's own, beside those of PolicyMembers.
var OwnPolicyMembers = []string{"allow_secrets", "limits", "network", "protect", "scope"}

// checkPolicy holds the members of the policy against those that have an effect here. What a caller asks to be kept to is never left
// out without a word.
func (r TaskRequest) checkPolicy(l *fault.List) {
	const at = "$.policy"
	all := slices.Concat(slices.Sorted(maps.Keys(PolicyMembers)), OwnPolicyMembers)
	var members map[string]json.RawMessage
	if len(r.Policy) > 0 && (!fault.IsObject(r.Policy) || json.Unmarshal(r.Policy, &members) != nil) {
		l.Object(at, r.Policy)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if words, ok := PolicyMembers[name]; ok {
			word(l, fault.Field(at, name), members[name], words)
			continue
		}
		near := fault.Nearest(name, all)
		switch {
		case slices.Contains(OwnPolicyMembers, name):
		case near != "":
			l.Add(fault.Field(at, name), fault.Dangling, fmt.Sprintf("is not known here; did you mean %q?", near), "rename it")
		case name == "retention":
			l.Add(fault.Field(at, name), fault.UnknownField, "is not known here: how long evidence is kept is the operator's", "leave it out, and set retention in deed.yaml")
		default:
			l.Add(fault.Field(at, name), fault.UnknownField, "is not known here, and nobody would keep to it", "leave it out; a policy has "+strings.Join(all, ", "))
		}
	}
}

// word reads a member that is one of some words, or any when there are none.
func word(l *fault.List, at string, raw json.RawMessage, words []string) {
	var s string
	if json.Unmarshal(raw, &s) != nil || string(raw) == "null" {
		l.Add(at, fault.BadFormat, "is not a string", "use a string")
		return
	}
	if words != nil {
		fault.OneOf(l, at, s, words...)
	}
	l.Text(at, s)
}

// object checks the known members of an open object. Others pass, but for one that is nearly a known one.
func object(l *fault.List, at string, raw json.RawMessage, known map[string][]string) {
	if len(raw) == 0 {
		return
	}
	var members map[string]json.RawMessage
	if !fault.IsObject(raw) || json.Unmarshal(raw, &members) != nil {
		l.Object(at, raw)
		return
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		words, ok := known[name]
		if !ok {
			if near := fault.Nearest(name, names); near != "" {
				l.Add(fault.Field(at, name), fault.Dangling, fmt.Sprintf("is not known here; did you mean %q?", near), "rename it")
			}
			continue
		}
		word(l, fault.Field(at, name), members[name], words)
	}
}

func wrongSchema(l *fault.List, got, want string) {
	if got != want {
		l.Add("$.schema", fault.WrongSchema, quote(got)+" is not the schema of this record", fmt.Sprintf("write %q", want))
	}
}

// quote quotes a value for a message and keeps it short.
func quote(s string) string {
	if r := []rune(s); len(r) > 64 {
		return strconv.Quote(string(r[:64])) + "…"
	}
	return strconv.Quote(s)
}
