package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// substrate is what the callers of these tests bring.
const substrate = `
-- agents-api/agents-api.php --
<?php
function agents_api_greeting() { return 'hello from the substrate'; }
-- ai-provider/ai-provider.php --
<?php
/* Plugin Name: AI provider */
register_activation_hook( __FILE__, function () { update_option( 'ai_provider_installed', getenv( 'STAGE' ) ); } );
function ai_provider() { return 'provider'; }
-- helper/helper.php --
<?php
/* Plugin Name: Helper */
function helper() { return agents_api_greeting(); }
-- shaky/shaky.php --
<?php
/* Plugin Name: Shaky */
register_activation_hook( __FILE__, function () { throw new RuntimeException( 'no such table' ); } );
-- broken/broken.php --
<?php
this is not PHP
-- stack/notes.txt --
of the stack
-- bundle/agent.json --
{"slug":"writer"}
-- example/example.php --
<?php
/* Plugin Name: Example */
function example_answer() { return 'old'; }
`

// repairs is an agent that uses WordPress to look at its own work, both ways, and leaves what it saw.
const repairs = `set -eu
sed -i "s/'old'/'new'/" example.php
{
  echo "cwd=$PWD"
  echo "env=$STAGE,$WP_AGENT_RUNTIME"
  echo "stack=$(cat /runtime/stack/notes.txt)"
  echo "bundles=$(cat /run/deed/agent-bundles.json)"
  echo "bundle=$(cat /run/deed/agent-bundles/bundle/agent.json)"
  echo "plain=$(php -r 'require "/wordpress/wp-load.php"; echo get_bloginfo( "version" ), " ", agents_api_greeting();')"
  echo "code=$(wp-php -r 'echo helper(), " ", ai_provider(), " ", $argv[1];' argument)"
  printf '<?php\nrequire "/wordpress/wp-content/plugins/example/example.php";\necho example_answer(), count( $argv );\n' >"$TMPDIR/look.php"
  echo "file=$(wp-php "$TMPDIR/look.php" x y)"
  wp-php -r 'nowhere();' 2>"$TMPDIR/err" && echo "fatal=0" || echo "fatal=$? $(grep -c 'undefined function' "$TMPDIR/err")"
  wp-php || echo "usage=$?"
  echo x 2>/dev/null >/wordpress/wp-content/plugins/helper/helper.php && echo "helper=written" || echo "helper=kept"
} >"$DEED_ARTIFACTS/seen.txt"
`

// A wpSite is a site with an installed WordPress and the substrate of a caller.
type wpSite struct {
	*site
	src string
}

func newWPSite(t *testing.T, adapters map[string]string) *wpSite {
	t.Helper()
	o := wordpresstest.Options(t)
	s := newSite(t, adapters)
	s.configure("components: {wordpress: {archive: " + o.Archive + ", sqlite: " + o.SQLite + "}}\n")
	return &wpSite{s, componenttest.Tree(t, substrate)}
}

// configure adds to the site's settings.
func (s *site) configure(text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "deed.yaml")
	have, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, append(have, text...), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// request is a request that works, with changes.
func (s *wpSite) request(agent string, changes map[string]any) map[string]any {
	r := map[string]any{
		"schema": codebox.SchemaTaskInput, "goal": "Let the plugin give the new answer", "agent": agent, "wp": "6.5",
		"allowed_tools": []string{"workspace.read", "workspace.write", "command.run"}, "expected_artifacts": []string{"patch"},
		"workspaces": []any{map[string]any{
			"target": "/wordpress/wp-content/plugins/example", "seed": map[string]any{"type": "directory", "source": s.src + "/example"},
		}},
	}
	maps.Copy(r, changes)
	return r
}

// run sends a request and returns the envelope, which is checked against its schema.
func (s *site) run(request map[string]any) (codebox.AgentTaskRun, outcome) {
	s.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "request.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	o := s.deed(nil, "agent-task-run", "--input-file="+file, "--json")
	env, err := schema.Decode[codebox.AgentTaskRun](codebox.SchemaAgentTaskRun, []byte(o.stdout))
	if err != nil {
		s.t.Fatalf("the answer is no envelope: %v\n%s%s", err, o.stdout, o.stderr)
	}
	return env, o
}

// failureOf is what a failed run reports, for the log of a test.
func failureOf(env codebox.AgentTaskRun, o outcome) string {
	var b strings.Builder
	for _, d := range env.Diagnostics {
		b.WriteString(d.Class + " " + d.Path + " " + d.Message + "\n")
	}
	if f := env.FailureEvidence; f != nil && f.Stderr != nil {
		b.WriteString(f.Stderr.Value)
	}
	return b.String() + o.stderr
}

// records reads the records of components in an envelope by slug.
func records(t *testing.T, env codebox.AgentTaskRun) map[string]codebox.ComponentContractResult {
	t.Helper()
	out := map[string]codebox.ComponentContractResult{}
	for _, raw := range env.ComponentContracts {
		c, err := schema.Decode[codebox.ComponentContractResult](codebox.SchemaComponentContractResult, raw)
		if err != nil {
			t.Fatal(err)
		}
		out[c.Slug] = c
	}
	return out
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	m, err := workspace.Snapshot(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.Digest()
}

// runPHP is a verify step.
func runPHP(name, code string) map[string]any {
	return map[string]any{"name": name, "command": codebox.RunPHP, "args": []string{"code=" + code}}
}

const loadExample = `require_once '/wordpress/wp-content/plugins/example/example.php'; `

func TestAgentTaskRunWithWordPress(t *testing.T) {
	t.Parallel()
	s := newWPSite(t, map[string]string{"fixer": repairs})
	before := digest(t, s.src)
	artifacts := filepath.Join(s.dir, "out", "bundle")
	env, o := s.run(s.request("fixer", map[string]any{
		"artifacts_path":        artifacts,
		"component_contracts":   []any{map[string]any{"slug": "agents-api", "path": s.src + "/agents-api", "metadata": map[string]any{"team": "core"}}},
		"provider_plugin_paths": []string{s.src + "/ai-provider"},
		"extra_plugins":         []any{map[string]any{"source": s.src + "/helper", "activate": true}, map[string]any{"source": s.src + "/shaky"}},
		"runtime_stack_mounts":  []any{map[string]any{"source": s.src + "/stack", "target": "/runtime/stack"}},
		"agent_bundles":         []any{map[string]any{"source": s.src + "/bundle", "on_conflict": "skip"}},
		"runtime_env":           map[string]string{"STAGE": "test"},
		"verify_steps": []any{
			runPHP("the answer is new", loadExample+`return 'new' === example_answer() && 'test' === get_option( 'ai_provider_installed' );`),
			map[string]any{"command": codebox.RunPHP, "args": []string{"code=return 'check' === getenv( 'STAGE' );"}, "env": map[string]string{"STAGE": "check"}},
			map[string]any{"name": "by the shell", "shell": `test "$(wp-php -r 'echo helper();')" = "hello from the substrate"`},
		},
	}))
	if o.code != 0 || env.AgentTaskRunResult.Status != evidence.StatusSucceeded {
		t.Fatalf("exit %d, %s\n%s", o.code, env.AgentTaskRunResult.Status, failureOf(env, o))
	}
	seen, err := os.ReadFile(filepath.Join(artifacts, "files", "artifacts", "seen.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cwd=/wordpress/wp-content/plugins/example\n", "env=test,1\n", "stack=of the stack\n", `"slug":"bundle"`, `"on_conflict":"skip"`, `bundle={"slug":"writer"}`,
		"plain=" + wordpresstest.Version + " hello from the substrate\n", "code=hello from the substrate provider argument\n", "file=new3\n", "fatal=255 1\n", "usage=2\n", "helper=kept\n",
	} {
		if !strings.Contains(string(seen), want) {
			t.Errorf("the agent did not see %q:\n%s", want, seen)
		}
	}
	got := map[string]string{}
	for slug, c := range records(t, env) {
		got[slug] = c.LoadAs + " " + c.Status + " " + c.ActivationStatus
	}
	want := map[string]string{
		"agents-api": "mu-plugin mounted not_applicable", "ai-provider": "plugin activated activated",
		"helper": "plugin activated activated", "shaky": "plugin failed failed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if f := records(t, env)["shaky"].Failures; len(f) != 1 || f[0].Phase != codebox.ComponentPhaseActivate || !strings.Contains(f[0].Message, "no such table") {
		t.Errorf("the failed activation is told as %+v", f)
	}
	if digest(t, s.src) != before {
		t.Error("the caller's directories were changed")
	}
	s.metadataOf(artifacts)
	s.noProcess()
	s.tidy()
}

// metadataOf holds the bundle's own account of the runtime against what was asked for.
func (s *wpSite) metadataOf(bundle string) {
	s.t.Helper()
	var m struct {
		Mounts  []evidence.Mount `json:"mounts"`
		Context struct {
			Runtime struct {
				WordPress  struct{ WordPress, PHP string } `json:"wordpress"`
				Components []codebox.ComponentContractResult
				MUPlugins  []struct {
					Slug, Digest string
					Metadata     map[string]any
				}
				AgentBundles []struct{ Slug, Digest string }
			} `json:"runtime"`
		} `json:"context"`
	}
	s.readJSON(filepath.Join(bundle, evidence.PathMetadata), &m)
	r := m.Context.Runtime
	if r.WordPress.WordPress != wordpresstest.Version || r.WordPress.PHP == "" || len(r.Components) != 4 || len(r.AgentBundles) != 1 || r.AgentBundles[0].Digest == "" {
		s.t.Errorf("metadata has %+v", r)
	}
	if len(r.MUPlugins) != 1 || r.MUPlugins[0].Digest == "" || r.MUPlugins[0].Metadata["team"] != "core" {
		s.t.Errorf("metadata of MU plugins: %+v", r.MUPlugins)
	}
	for _, target := range []string{"/runtime/stack", "/wordpress/wp-content/mu-plugins/contained-runtime/agents-api", "/wordpress/wp-content/plugins/helper"} {
		if !slices.ContainsFunc(m.Mounts, func(m evidence.Mount) bool { return m.Target == target && m.Mode == "readonly" }) {
			s.t.Errorf("metadata lacks the mount %s: %v", target, m.Mounts)
		}
	}
	err := filepath.WalkDir(bundle, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil && (strings.Contains(string(data), s.src) || strings.Contains(string(data), s.home)) {
			s.t.Errorf("%s names a place of the machine", p)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) readJSON(file string, v any) {
	s.t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", file, err)
	}
}

// Checks in PHP pass only when their code ran to its end and did not report a failure.
func TestChecksInPHP(t *testing.T) {
	t.Parallel()
	s := newWPSite(t, map[string]string{"fixer": `sed -i "s/'old'/'new'/" example.php`})
	for _, c := range []struct {
		name, code string
		passes     bool
	}{
		{"true", loadExample + `return 'new' === example_answer();`, true},
		{"nothing", loadExample + `example_answer();`, true},
		{"false", loadExample + `return 'old' === example_answer();`, false},
		{"exit", `exit( 0 );`, false},
		{"fatal", `nowhere();`, false},
		{"exception", `throw new RuntimeException( 'no' );`, false},
		{"error", `return new WP_Error( 'no', 'no' );`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, o := s.run(s.request("fixer", map[string]any{"verify_steps": []any{runPHP("step", c.code)}}))
			status, exit := evidence.StatusSucceeded, 0
			if !c.passes {
				status, exit = evidence.StatusFailed, 1
			}
			if env.AgentTaskRunResult.Status != status || o.code != exit {
				t.Errorf("%s, exit %d; want %s, %d\n%s", env.AgentTaskRunResult.Status, o.code, status, exit, failureOf(env, o))
			}
			if !c.passes && !slices.ContainsFunc(env.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == evidence.ClassGateReason+".check_failed" }) {
				t.Errorf("the gate's reason is not told: %s", failureOf(env, o))
			}
		})
	}
	s.tidy()
}

func TestWordPressRequestsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	s := newWPSite(t, map[string]string{"fixer": `echo never >"$OUT/ran"`})
	component := func(slug string) map[string]any { return map[string]any{"slug": slug, "path": s.src + "/" + slug} }
	gone := map[string]any{"source": "/nowhere/at-all"}
	for name, c := range map[string]struct {
		changes map[string]any
		paths   []string // of diagnostics
		says    string
		early   bool // refused before there is a run
	}{
		"a broken MU plugin": {
			changes: map[string]any{"component_contracts": []any{component("agents-api"), component("broken")}},
			says:    "component broken",
		},
		"another version": {
			changes: map[string]any{"wp": "5.9"}, paths: []string{"$.wp"}, says: "asks for version \"5.9\", and the archive holds " + wordpresstest.Version,
		},
		"a plugin in the workspace's place": {
			changes: map[string]any{"extra_plugins": []any{map[string]any{"source": s.src + "/helper"}, map[string]any{"slug": "example", "source": s.src + "/helper", "pluginFile": "helper.php"}}},
			paths:   []string{"$.extra_plugins[1]"}, says: "is taken by the workspace or mount at", early: true,
		},
		"sources that are not there": {
			changes: map[string]any{
				"component_contracts":   []any{map[string]any{"slug": "a", "path": "/nowhere/at-all"}},
				"provider_plugin_paths": []string{s.src + "/helper", "/nowhere/at-all"},
				"extra_plugins":         []any{gone},
				"runtime_stack_mounts":  []any{map[string]any{"source": "/nowhere/at-all", "target": "/runtime/x"}},
				"agent_bundle":          gone,
				"runtime_profile":       map[string]any{"plugins": []any{gone}, "mu_plugins": []any{gone}, "component_contracts": []any{component("agents-api")}},
				"runtime_requirements":  map[string]any{"extra_plugins": []any{gone}},
			},
			paths: []string{
				"$.agent_bundle.source", "$.component_contracts[0].path", "$.extra_plugins[0].source", "$.provider_plugin_paths[1]",
				"$.runtime_profile.mu_plugins[0].source", "$.runtime_profile.plugins[0].source", "$.runtime_requirements.extra_plugins[0].source", "$.runtime_stack_mounts[0].source",
			},
			says: "cannot be used", early: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			env, o := s.run(s.request("fixer", c.changes))
			class := "config"
			if c.early {
				class = "invalid_request"
			}
			if o.code != ExitUsage || env.Success || env.AgentTaskRunResult.FailureClassification != class || (env.RunMetadata.RunID == "") != c.early {
				t.Errorf("exit %d, %q, run %q\n%s", o.code, env.AgentTaskRunResult.FailureClassification, env.RunMetadata.RunID, failureOf(env, o))
			}
			var paths []string
			for _, d := range env.Diagnostics {
				if d.Path != "" {
					paths = append(paths, d.Path)
					if d.Remedy == "" {
						t.Errorf("%s has no remedy: %s", d.Path, d.Message)
					}
				}
			}
			slices.Sort(paths)
			if diff := cmp.Diff(c.paths, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if !strings.Contains(env.FailureEvidence.Message, c.says) {
				t.Errorf("it says %q, want %q", env.FailureEvidence.Message, c.says)
			}
			if r, ok := records(t, env)["broken"]; name == "a broken MU plugin" && (!ok || r.Status != codebox.ComponentFailed || !strings.Contains(r.Failures[0].Message, "broken.php:2")) {
				t.Errorf("records: %+v", env.ComponentContracts)
			}
			if c.early {
				return
			}
			events, err := os.ReadFile(filepath.Join(env.Artifacts, evidence.PathEvents))
			if err != nil || name == "a broken MU plugin" && !strings.Contains(string(events), "syntax error") {
				t.Errorf("the bundle does not tell what PHP said: %v", err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
		t.Error("the agent ran")
	}
	s.tidy()
}

func TestWordPressThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	componenttest.Needs(t)
	s := &wpSite{newSite(t, map[string]string{"fixer": "true"}), componenttest.Tree(t, substrate)}
	env, o := s.run(s.request("fixer", map[string]any{"verify_steps": []any{runPHP("step", "return true;")}}))
	var paths []string
	for _, d := range env.Diagnostics {
		if d.Path != "" && strings.Contains(d.Remedy, "components.wordpress.archive") {
			paths = append(paths, d.Path)
		}
	}
	if diff := cmp.Diff([]string{"$.wp", "$.verify_steps[0].command"}, paths); diff != "" || o.code != ExitUsage {
		t.Errorf("exit %d, paths (-want +got):\n%s\n%s", o.code, diff, failureOf(env, o))
	}
}
