package ability_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/compat/codebox/ability"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// shared is one cache of unpacked archives for all tests.
var shared = sync.OnceValues(wordpresstest.Cache)

func TestMain(m *testing.M) {
	componenttest.Serve()
	code := m.Run()
	if dir, err := shared(); err == nil {
		_ = workspace.Remove(dir)
	}
	os.Exit(code)
}

const secret = "s3cret-capability-token-0123456789"

func lookup(name string) (string, bool) {
	switch name {
	case "CAP_TOKEN":
		return secret, true
	case "OTHER_TOKEN":
		return "another-capability-token-987654", true
	case "SHORT_TOKEN":
		return "abc", true
	}
	return "", false
}

// commands is a component without a line of PHP. The digest in it is the secret's.
const commands = `
-- tools/deed-abilities.json --
{
  "schema": "deed/abilities/v1",
  "abilities": [
    {"name": "demo/count", "command": ["sh", "bin/count.sh"],
     "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false},
     "output_schema": {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}},
    {"name": "demo/script", "command": ["bin/run", "one", "two"]},
    {"name": "demo/top", "command": ["./run", "one", "two"]},
    {"name": "demo/guarded", "command": ["sh", "-c", "printf '{\"len\":%s,\"leak\":\"%s\"}' ${#DEMO_TOKEN} \"$DEMO_TOKEN\"; echo \"$DEMO_TOKEN\" >&2"], "token_env": "DEMO_TOKEN",
     "token_sha256": "DIGEST"},
    {"name": "demo/handed", "command": ["sh", "-c", "echo ${#CAP_TOKEN}"]},
    {"name": "demo/fails", "command": ["sh", "-c", "echo broken >&2; echo 1; exit 7"]},
    {"name": "demo/leaks", "command": ["sh", "-c", "head -c 520 /dev/zero | tr '\\0' x >&2; echo \"$CAP_TOKEN\" >&2; head -c 480 /dev/zero | tr '\\0' x >&2; exit 1"]},
    {"name": "demo/talks", "command": ["sh", "-c", "echo hello; echo 1"]},
    {"name": "demo/lies", "command": ["sh", "-c", "echo '{\"bytes\":\"many\"}'"], "output_schema": {"type": "object", "properties": {"bytes": {"type": "integer"}}}},
    {"name": "demo/policy", "command": ["sh", "-c", "printf %s \"$DEED_SANDBOX_TOOL_POLICY\""]},
    {"name": "demo/network", "command": ["sh", "-c", "ls /sys/class/net >/dev/null 2>&1; grep -c : /proc/net/dev"]},
    {"name": "demo/php", "php": "posts.php"}
  ]
}
-- tools/bin/count.sh --
n=$(wc -c); printf '{"bytes": %d}' "$n"
-- tools/posts.php --
<?php
return function ( $input ) { return array( 'posts' => count( get_posts() ), 'asked' => $input, 'token' => getenv( 'CAP_TOKEN' ) ); };
`

// tools resolves the component of commands.
func tools(t *testing.T) string {
	t.Helper()
	src := componenttest.Tree(t, strings.Replace(commands, "DIGEST", sum(secret), 1))
	for _, run := range []string{filepath.Join(src, "tools", "bin", "run"), filepath.Join(src, "tools", "run")} {
		if err := os.WriteFile(run, []byte("#!/bin/sh\nprintf '[\"%s\", \"%s\", \"%s\"]' \"$1\" \"$2\" \"$PWD\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return src + "/tools"
}

func plainRuntime(t *testing.T) ability.Runtime {
	t.Helper()
	componenttest.Needs(t)
	res, err := component.Resolve(t.Context(), component.Request{
		Components: []component.Contract{{Slug: "tools", Path: tools(t)}}, Dir: filepath.Join(t.TempDir(), "prepared"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return ability.Runtime{Components: res.MUPlugins, Run: watched(t, componenttest.Contained(t, res.Mounts, time.Minute)), Lookup: lookup}
}

// watched demands that the token is nowhere in a command but in its environment.
func watched(t *testing.T, run component.Runner) component.Runner {
	return func(ctx context.Context, c component.Command) (component.Output, error) {
		if all := strings.Join(c.Argv, " ") + c.Dir + string(c.Stdin); strings.Contains(all, secret) {
			t.Errorf("the token is in the command %q", c.Argv)
		}
		return run(ctx, c)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	rt := plainRuntime(t)
	anything := json.RawMessage(`true`)
	for name, c := range map[string]struct {
		req    ability.Request
		result string // contained in the result
		kind   string // of the failure
		says   string // contained in error or diagnostics
	}{
		"counts":       {req: ability.Request{Ability: "demo/count", Input: json.RawMessage(`{"text":"hello"}`), Expected: json.RawMessage(`{"type":"object","required":["bytes"]}`)}, result: `{"bytes": 16}`},
		"at the top":   {req: ability.Request{Ability: "demo/top", Expected: anything}, result: `["one", "two", "/wordpress/wp-content/mu-plugins/contained-runtime/tools"]`},
		"script":       {req: ability.Request{Ability: "demo/script", Expected: anything}, result: `["one", "two", "/wordpress/wp-content/mu-plugins/contained-runtime/tools"]`},
		"unexpected":   {req: ability.Request{Ability: "demo/count", Input: json.RawMessage(`{"text":""}`), Expected: json.RawMessage(`{"type":"object","required":["words"]}`)}, result: `bytes`, kind: ability.FailureResultInvalid, says: "words"},
		"own schema":   {req: ability.Request{Ability: "demo/lies"}, result: "many", kind: ability.FailureResultInvalid, says: "$.bytes"},
		"unknown":      {req: ability.Request{Ability: "demo/none"}, kind: ability.FailureNotFound, says: "demo/count"},
		"no WordPress": {req: ability.Request{Ability: "demo/php"}, kind: ability.FailureWordPress, says: "components.wordpress"},
		"fails":        {req: ability.Request{Ability: "demo/fails"}, kind: ability.FailureAbility, says: "exit code 7: broken"},
		"talks":        {req: ability.Request{Ability: "demo/talks"}, kind: ability.FailureResultUnreadable, says: "JSON"},
		"no network":   {req: ability.Request{Ability: "demo/network"}, result: "1"},
		"default deny": {req: ability.Request{Ability: "demo/policy"}, result: codebox.SourceDefaultDeny},
		"policy": {req: ability.Request{Ability: "demo/policy", Policy: codebox.SandboxToolPolicy{Schema: codebox.SchemaSandboxToolPolicy, Version: 1, Tools: []codebox.ToolRule{{
			ID: "workspace.read", RuntimeToolID: "read", ExecutionLocation: "sandbox", TransportVisibility: "sandbox", Allowed: true,
			Runtime: codebox.ToolRuntime{Environment: "runtime_local", CapabilityScope: "runtime_local"},
		}}}}, result: "workspace.read"},
		"guarded":         {req: ability.Request{Ability: "demo/guarded", TokenEnv: "CAP_TOKEN"}, result: `"len":34`},
		"guarded, none":   {req: ability.Request{Ability: "demo/guarded"}, kind: ability.FailureUnauthorized, says: "capability_token_env"},
		"guarded, other":  {req: ability.Request{Ability: "demo/guarded", TokenEnv: "OTHER_TOKEN"}, kind: ability.FailureUnauthorized, says: "not the one"},
		"guarded, unset":  {req: ability.Request{Ability: "demo/guarded", TokenEnv: "NO_TOKEN"}, kind: ability.FailureUnauthorized, says: "NO_TOKEN"},
		"token too short": {req: ability.Request{Ability: "demo/handed", TokenEnv: "SHORT_TOKEN"}, kind: ability.FailureUnauthorized, says: "too short"},
		"handed":          {req: ability.Request{Ability: "demo/handed", TokenEnv: "CAP_TOKEN"}, result: "34"},
		"cut message":     {req: ability.Request{Ability: "demo/leaks", TokenEnv: "CAP_TOKEN"}, kind: ability.FailureAbility, says: "exit code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, out, err := ability.Run(t.Context(), c.req, rt)
			if err != nil {
				t.Fatal(err)
			}
			if verr := res.Validate(); verr != nil {
				t.Errorf("the result is not valid: %v", verr)
			}
			text, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			if res.FailureType != c.kind || res.Success != (c.kind == "") || !strings.Contains(string(res.Result), c.result) || !strings.Contains(string(text), c.says) {
				t.Errorf("got %s\n%s\n%s", text, out.Stdout, out.Stderr)
			}
			for _, s := range []string{string(text), string(out.Stdout), string(out.Stderr)} {
				if strings.Contains(s, secret) || strings.Contains(s, secret[len(secret)-12:]) {
					t.Errorf("the token, or a part of it, is in %.2000s", s)
				}
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	rt := plainRuntime(t)
	for name, c := range map[string]struct {
		req  ability.Request
		want string
	}{
		"blank":          {ability.Request{}, "$.ability"},
		"input is list":  {ability.Request{Ability: "demo/count", Input: json.RawMessage(`[]`)}, "$.input"},
		"input is wrong": {ability.Request{Ability: "demo/count", Input: json.RawMessage(`{"txt":1}`)}, "$.input"},
		"schema":         {ability.Request{Ability: "demo/count", Expected: json.RawMessage(`{"type":"objekt"}`)}, "$.expected_result_schema"},
		"remote schema":  {ability.Request{Ability: "demo/count", Expected: json.RawMessage(`{"$ref":"http://127.0.0.1/x"}`)}, "$.expected_result_schema"},
		"token value":    {ability.Request{Ability: "demo/count", TokenEnv: "my token"}, "$.capability_token_env"},
		"policy":         {ability.Request{Ability: "demo/count", Policy: codebox.SandboxToolPolicy{Version: 2}}, "$.sandbox_tool_policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ability.Run(t.Context(), c.req, rt)
			fs := fault.Of(err)
			if len(fs) == 0 || !strings.HasPrefix(fs[0].Path, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	t.Parallel()
	declare := func(ability string) string {
		return "-- c/deed-abilities.json --\n" + `{"schema":"deed/abilities/v1","abilities":[` + ability + `]}` + "\n"
	}
	for name, c := range map[string]struct{ archive, want string }{
		"not JSON":         {"-- c/deed-abilities.json --\nno\n", "invalid"},
		"absent file":      {declare(`{"name":"a","php":"a.php"}`), "a.php is not a file"},
		"absent command":   {declare(`{"name":"a","command":["bin/a"]}`), "bin/a is not a file"},
		"climbing command": {declare(`{"name":"a","command":["../../bin/sh"]}`), "climbs"},
		"bad schema":       {declare(`{"name":"a","command":["sh"],"output_schema":{"type":"nothing"}}`), "output_schema"},
		"two of a name":    {declare(`{"name":"a","command":["sh"]}`) + strings.ReplaceAll(declare(`{"name":"a","command":["sh"]}`), "c/", "d/"), "components c and d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := componenttest.Tree(t, c.archive)
			var list []component.Plugin
			for _, slug := range []string{"c", "d"} {
				if _, err := os.Stat(filepath.Join(src, slug)); err == nil {
					list = append(list, component.Plugin{Slug: slug, Dir: filepath.Join(src, slug)})
				}
			}
			if _, err := ability.Offered(list); err == nil || !strings.Contains(err.Error(), c.want) && c.want != "invalid" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInWordPress(t *testing.T) {
	t.Parallel()
	cache, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	api := componenttest.Tree(t, `
-- api/api.php --
<?php
class Api_Ability {
	public function execute( $input ) { return isset( $input['fail'] ) ? new WP_Error( 'no', 'denied ' . getenv( 'CAP_TOKEN' ) ) : array( 'user' => get_current_user_id() ); }
}
function wp_get_ability( $name ) { return 'core/whoami' === $name ? new Api_Ability() : null; }
`)
	src := tools(t)
	site, res := wordpresstest.Prepare(t, cache, component.Request{Components: []component.Contract{{Slug: "tools", Path: src}, {Slug: "api", Path: api + "/api"}}})
	rt := ability.Runtime{Components: res.MUPlugins, Site: site, Run: watched(t, componenttest.Contained(t, site.Mounts(), time.Minute)), Lookup: lookup}
	for name, c := range map[string]struct {
		req    ability.Request
		result string
		kind   string
	}{
		"declared": {req: ability.Request{Ability: "demo/php", Input: json.RawMessage(`{"a":1}`), TokenEnv: "CAP_TOKEN", Expected: json.RawMessage(`{"type":"object","properties":{"posts":{"const":1}},"required":["posts"]}`)}, result: `"posts":1,"asked":{"a":1}`},
		"command":  {req: ability.Request{Ability: "demo/count", Input: json.RawMessage(`{"text":"x"}`)}, result: `{"bytes": 12}`},
		"api":      {req: ability.Request{Ability: "core/whoami", Expected: json.RawMessage(`{"type":"object"}`)}, result: `{"user":1}`},
		"denied":   {req: ability.Request{Ability: "core/whoami", Input: json.RawMessage(`{"fail":1}`), TokenEnv: "CAP_TOKEN"}, kind: ability.FailureAbility},
		"unknown":  {req: ability.Request{Ability: "core/none"}, kind: ability.FailureNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, out, err := ability.Run(t.Context(), c.req, rt)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(res)
			if verr := res.Validate(); verr != nil {
				t.Errorf("the result is not valid: %v", verr)
			}
			// The order of members is PHP's own for what it made, and the redactor's for what it wrote again.
			var got, want map[string]any
			if c.kind == "" {
				if err := json.Unmarshal(res.Result, &got); err != nil {
					t.Fatalf("%s\n%s", text, out.Stderr)
				}
				if json.Unmarshal([]byte("{"+strings.Trim(c.result, "{}")+"}"), &want) == nil {
					for k, v := range want {
						if a, b := jsonOf(got[k]), jsonOf(v); a != b {
							t.Errorf("%s is %s, want %s", k, a, b)
						}
					}
				}
			}
			if res.FailureType != c.kind || strings.Contains(string(text), secret) {
				t.Errorf("got %s\n%s", text, out.Stderr)
			}
		})
	}
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}
