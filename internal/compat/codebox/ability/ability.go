// Package ability owns the invocation of one named ability in a disposable runtime: finding the component that offers
// it, checking who asks and what is asked, running it, and checking the result against the schemas of component and
// caller. It makes no runtime: the components are resolved by internal/attempt/component, WordPress is prepared by
// internal/attempt/wordpress, and commands go through a component.Runner.
//
// The capability token is named in a request and never written into it. Its value reaches the ability as an environment
// variable, on no command line and in no file, and is removed from everything that comes back.
package ability

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Failure types of a result, in addition to those of the vocabulary.
const (
	FailureNotFound         = "ability_not_found"    // no component offers it
	FailureUnauthorized     = "unauthorized"         // the capability token is missing, or is another one
	FailureWordPress        = "wordpress_missing"    // it needs WordPress, and the runtime has none
	FailureAbility          = "ability_failed"       // it ran and failed
	FailureResultUnreadable = "result_not_json"      // it ran, and what it printed is not one JSON value
	FailureResultInvalid    = "result_schema_failed" // it ran, and its result is not what was agreed
)

// PolicyEnv is the variable that gives an ability the tool policy of its run, as JSON. Whether it keeps to it is up to
// the component; what the sandbox does not give it cannot use anyway.
const PolicyEnv = "DEED_SANDBOX_TOOL_POLICY"

// maxResult bounds the result of an ability.
const maxResult = 4 << 20

// A Request is one invocation.
type Request struct {
	Ability  string
	Input    json.RawMessage           // "": {}
	Expected json.RawMessage           // a JSON Schema (2020-12) that the result must satisfy; "": none
	Policy   codebox.SandboxToolPolicy // the empty one is the default: no tool
	TokenEnv string                    // the name of the capability token; "": none
}

// A Runtime is where an ability runs.
type Runtime struct {
	Components []component.Plugin // what is mounted, in the order of the request
	Site       *wordpress.Site    // nil: no WordPress
	Run        component.Runner   // with the mounts of the components, and of the site
	Env        []string           // for commands, in addition to deed's own
	// Lookup returns the value of a secret by name, from the caller's environment.
	Lookup func(name string) (string, bool)
}

// Run invokes an ability. A request that is not usable is reported as fault.Faults with paths of the wire request, and
// nothing is run. Everything that can go wrong after that is in the result; an error then means that the runtime
// itself failed. The output, for the evidence, and the result have no secret in them.
func Run(ctx context.Context, req Request, rt Runtime) (codebox.AbilityRunResult, component.Output, error) {
	call, err := prepare(req)
	if err != nil {
		return codebox.AbilityRunResult{}, component.Output{}, fmt.Errorf("run ability: %w", err)
	}
	if failed := call.find(rt); failed != nil {
		return call.refused(failed), component.Output{}, nil
	}
	if failed := call.authorize(rt); failed != nil {
		return call.refused(failed), component.Output{}, nil
	}
	if faults := call.checkInput(); faults != nil {
		return codebox.AbilityRunResult{}, component.Output{}, fmt.Errorf("run ability: %w", faults)
	}
	value, out, failed, err := call.invoke(ctx, rt)
	out.Stdout, out.Stderr = call.redactor.Bytes(out.Stdout), call.redactor.Bytes(out.Stderr)
	if err != nil {
		return codebox.AbilityRunResult{}, out, fmt.Errorf("run ability %s: %w", req.Ability, err)
	}
	return call.result(value, out, failed), out, nil
}

// A call is one invocation on its way.
type call struct {
	req      Request
	input    json.RawMessage
	expected *schema.Payload // nil: any result
	policy   []byte
	found    *Offer // nil: an ability that only WordPress knows
	token    string
	redactor *redact.Redactor
}

// A refusal is why an ability was not run, or did not succeed.
type refusal struct {
	kind, status, message string
	diagnostics           []codebox.WorkspaceError
}

func prepare(req Request) (*call, error) {
	var l fault.List
	c := &call{req: req, input: req.Input, redactor: redact.New(nil)}
	l.Name("$.ability", req.Ability)
	if len(c.input) == 0 {
		c.input = json.RawMessage(`{}`)
	}
	l.Object("$.input", c.input)
	if len(req.Expected) > 0 {
		p, err := schema.CompilePayload(req.Expected)
		if err != nil {
			l.Within("$.expected_result_schema", err)
		}
		c.expected = p
	}
	policy := req.Policy
	if policy.Empty() {
		policy = codebox.DefaultDeny()
	}
	l.Within("$.sandbox_tool_policy", policy.Validate())
	var err error
	if c.policy, err = json.Marshal(policy); err != nil {
		l.Within("$.sandbox_tool_policy", err)
	}
	if req.TokenEnv != "" {
		l.EnvName("$.capability_token_env", req.TokenEnv)
	}
	return c, l.Err()
}

// find looks the ability up. What components declare comes before what WordPress has registered.
func (c *call) find(rt Runtime) *refusal {
	all, err := Offered(rt.Components)
	if err != nil {
		return &refusal{kind: codebox.FailureInvalidRequest, status: codebox.WorkspaceFailed, message: err.Error()}
	}
	var names []string
	for _, o := range all {
		if o.Ability.Name == c.req.Ability {
			c.found = &o
		}
		names = append(names, o.Ability.Name)
	}
	switch {
	case c.found != nil && c.found.Ability.PHP != "" && rt.Site == nil:
		return &refusal{kind: FailureWordPress, status: codebox.WorkspaceUnavailable, message: fmt.Sprintf("%s of component %s needs WordPress, and this runtime has none (set components.wordpress in deed.yaml)", c.req.Ability, c.found.Component.Slug)}
	case c.found == nil && rt.Site == nil:
		have := "no component declares any"
		if len(names) > 0 {
			have = "there are: " + strings.Join(names, ", ")
		}
		return &refusal{kind: FailureNotFound, status: codebox.WorkspaceUnavailable, message: fmt.Sprintf("no component offers the ability %q; %s", c.req.Ability, have)}
	}
	return nil
}

// authorize takes the token from the caller's environment and compares it with what the component expects. The digests
// are compared, in constant time: nothing about the token or its length can be learned from how long that takes.
func (c *call) authorize(rt Runtime) *refusal {
	no := func(format string, a ...any) *refusal {
		return &refusal{kind: FailureUnauthorized, status: codebox.WorkspaceFailed, message: fmt.Sprintf(format, a...)}
	}
	if name := c.req.TokenEnv; name != "" {
		ok := false
		if rt.Lookup != nil {
			c.token, ok = rt.Lookup(name)
		}
		if !ok || c.token == "" {
			return no("the capability token %s is not set in the environment of the caller", name)
		}
		c.redactor = redact.New(map[string]string{name: c.token})
		if len(c.redactor.Unredactable()) > 0 {
			return no("the capability token %s is too short to be kept out of the output (use a longer one)", name)
		}
	}
	if c.found == nil || c.found.Ability.TokenSHA256 == "" {
		return nil
	}
	if c.token == "" {
		return no("%s asks for a capability token (name its variable as capability_token_env)", c.req.Ability)
	}
	have := sha256.Sum256([]byte(c.token))
	want, err := hex.DecodeString(c.found.Ability.TokenSHA256)
	if err != nil || subtle.ConstantTimeCompare(have[:], want) != 1 {
		return no("the capability token %s is not the one that %s expects", c.req.TokenEnv, c.req.Ability)
	}
	return nil
}

// checkInput checks the input against what the component declares.
func (c *call) checkInput() error {
	if c.found == nil || c.found.input == nil {
		return nil
	}
	var l fault.List
	l.Within("$.input", c.found.input.Check(c.input))
	return l.Err()
}

// invoke runs the ability and returns its result.
func (c *call) invoke(ctx context.Context, rt Runtime) (json.RawMessage, component.Output, *refusal, error) {
	env := []string{PolicyEnv + "=" + string(c.policy)}
	if c.token != "" {
		name := c.req.TokenEnv
		if c.found != nil && c.found.Ability.TokenEnv != "" {
			name = c.found.Ability.TokenEnv
		}
		env = append(env, name+"="+c.token)
	}
	if c.found != nil && len(c.found.Ability.Command) > 0 {
		return c.command(ctx, rt, env)
	}
	inv := rt.Site.Ability(c.req.Ability, c.input)
	if c.found != nil {
		inv = rt.Site.AbilityFile(path.Join(c.found.Component.Target, c.found.Ability.PHP), c.input)
	}
	inv.Command.Env = append(inv.Command.Env, env...)
	res, err := inv.Do(ctx, rt.Run)
	if err != nil {
		return nil, res.Output, nil, err
	}
	return res.Value, res.Output, c.ofPHP(res), nil
}

func (c *call) command(ctx context.Context, rt Runtime, env []string) (json.RawMessage, component.Output, *refusal, error) {
	argv := slices.Clone(c.found.Ability.Command)
	if strings.Contains(argv[0], "/") {
		argv[0] = path.Join(c.found.Component.Target, argv[0])
	}
	base := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8"}
	out, err := rt.Run(ctx, component.Command{
		Argv: argv, Dir: c.found.Component.Target, Stdin: c.input,
		Env: append(append(append(base, rt.Env...), "WP_AGENT_RUNTIME=1"), env...),
	})
	switch {
	case err != nil:
		return nil, out, nil, err
	case out.TimedOut:
		return nil, out, c.timedOut(), nil
	case out.ExitCode != 0:
		return nil, out, c.failed(fmt.Sprintf("%s ended with exit code %d%s", c.req.Ability, out.ExitCode, c.said(out.Stderr))), nil
	}
	value := bytes.TrimSpace(out.Stdout)
	switch {
	case out.Truncated || len(value) > maxResult:
		return nil, out, &refusal{kind: FailureResultUnreadable, status: codebox.WorkspaceFailed, message: fmt.Sprintf("the result has more than %d bytes", maxResult)}, nil
	case !json.Valid(value):
		return nil, out, &refusal{kind: FailureResultUnreadable, status: codebox.WorkspaceFailed, message: "what the command printed is not one JSON value (everything else belongs on standard error)"}, nil
	}
	return value, out, nil, nil
}

func (c *call) timedOut() *refusal {
	return &refusal{kind: codebox.FailureTimeout, status: codebox.WorkspaceFailed, message: c.req.Ability + " was stopped when its time was up"}
}

func (c *call) failed(message string) *refusal {
	return &refusal{kind: FailureAbility, status: codebox.WorkspaceFailed, message: message}
}

// ofPHP takes over the result of an invocation in WordPress.
func (c *call) ofPHP(res wordpress.Result) *refusal {
	switch {
	case res.Output.TimedOut:
		return c.timedOut()
	case res.Status == wordpress.StatusOK && len(res.Value) > maxResult:
		return &refusal{kind: FailureResultUnreadable, status: codebox.WorkspaceFailed, message: fmt.Sprintf("the result has more than %d bytes", maxResult)}
	case res.Status == wordpress.StatusOK:
		return nil
	case res.Error != nil && res.Error.Code == FailureNotFound:
		return &refusal{kind: FailureNotFound, status: codebox.WorkspaceUnavailable, message: res.Error.Message}
	case res.Error != nil:
		return c.failed(res.Error.String())
	}
	return c.failed(fmt.Sprintf("PHP ended with status %s and exit code %d%s", res.Status, res.Output.ExitCode, c.said(res.Output.Stderr)))
}

// said is the end of a command's output, for a message. It is redacted before it is cut: a part of a token would not
// be recognised.
func (c *call) said(stderr []byte) string {
	s := strings.TrimSpace(strings.ToValidUTF8(string(c.redactor.Bytes(stderr)), "?"))
	if s == "" {
		return ""
	}
	if len(s) > 500 {
		s = "… " + strings.ToValidUTF8(s[len(s)-500:], "")
	}
	return ": " + s
}

// refused is the result of an ability that was not run.
func (c *call) refused(f *refusal) codebox.AbilityRunResult {
	r := c.base()
	c.fail(&r, f)
	return r
}

func (c *call) base() codebox.AbilityRunResult {
	return codebox.AbilityRunResult{
		Schema: codebox.SchemaAbilityRunResult, Ability: c.req.Ability,
		EvidenceRefs: []evidence.FileReference{}, Diagnostics: []codebox.WorkspaceError{},
	}
}

func (c *call) fail(r *codebox.AbilityRunResult, f *refusal) {
	r.Success, r.Status, r.FailureType = false, f.status, f.kind
	r.Error = &codebox.WorkspaceError{Code: f.kind, Message: c.redactor.String(f.message)}
	r.Diagnostics = append(r.Diagnostics, f.diagnostics...)
}

// result is the result of an ability that was run. It is redacted by its decoded values, so that no escape hides the
// token, and only then checked against the schemas: the caller gets exactly what was checked.
func (c *call) result(value json.RawMessage, out component.Output, failed *refusal) codebox.AbilityRunResult {
	r := c.base()
	r.ExitCode = &out.ExitCode
	if failed != nil {
		c.fail(&r, failed)
		return r
	}
	clean, err := c.clean(value)
	if err != nil {
		c.fail(&r, &refusal{kind: FailureResultUnreadable, status: codebox.WorkspaceFailed, message: err.Error()})
		return r
	}
	r.Result = evidence.Value(clean)
	if wrong := c.checkResult(clean); len(wrong) > 0 {
		c.fail(&r, &refusal{kind: FailureResultInvalid, status: codebox.WorkspaceFailed, message: "the result of " + c.req.Ability + " is not what was agreed", diagnostics: wrong})
		return r
	}
	r.Success, r.Status, r.ResultValid = true, codebox.WorkspaceCompleted, true
	return r
}

// clean takes the token out of a result.
func (c *call) clean(value json.RawMessage) (json.RawMessage, error) {
	if !c.redactor.Active() {
		return value, nil
	}
	clean := slices.Clone(value)
	return clean, c.redactor.Value(&clean)
}

// checkResult lists every fault of a result, by component's schema and by the caller's.
func (c *call) checkResult(value json.RawMessage) []codebox.WorkspaceError {
	var out []codebox.WorkspaceError
	check := func(code string, p *schema.Payload) {
		if p == nil {
			return
		}
		err := p.Check(value)
		for _, f := range fault.Of(err) {
			out = append(out, codebox.WorkspaceError{Code: code, Message: c.redactor.String(f.String())})
		}
		if err != nil && len(fault.Of(err)) == 0 {
			out = append(out, codebox.WorkspaceError{Code: code, Message: c.redactor.String(err.Error())})
		}
	}
	if c.found != nil {
		check("output_schema", c.found.output)
	}
	check("expected_result_schema", c.expected)
	return out
}
