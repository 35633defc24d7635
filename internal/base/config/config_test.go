package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreJoinedAndPathsAnchored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	homeFile := write(t, filepath.Join(dir, "home", FileName), `
name: box
defaults: {adapter_id: shared, max_attempts: 7, lease_seconds: 30}
retry: {base_seconds: 2, max_seconds: 60}
components: {wordpress: {archive: wp.zip, sqlite: /srv/sqlite, php: php8.2}}
adapters:
  shared: {kind: script, command: ./bin/shared, timeout_ms: 1000}
`)
	write(t, filepath.Join(dir, "project", FileName), `
adapters:
  both: {kind: script, command: tools/mine.sh, env_file: .env, timeout_ms: 5000}
task_types:
  fix:
    payload_schema_id: deed/payload.any/v1
    default_adapter_id: both
    deed: {require_changes: true, checks: [{shell: make test}]}
`)
	c, err := Load(Options{Home: homeFile, Dir: filepath.Join(dir, "project", "deep")})
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "box" || c.MaxAttempts != 7 || c.Lease != 30*time.Second || c.Retry.Base != 2*time.Second || c.Retry.Jitter != 0.2 {
		t.Errorf("settings are %+v", c)
	}
	if w := c.WordPress; w == nil || w.Archive != filepath.Join(dir, "home", "wp.zip") || w.SQLite != "/srv/sqlite" || w.PHP != "php8.2" {
		t.Errorf("wordpress is %+v", w)
	}
	shared, err := c.Adapter("shared")
	if err != nil || shared.Script.Command != filepath.Join(dir, "home", "bin", "shared") || shared.FromProject || shared.ID() != "shared" {
		t.Errorf("adapter shared is %+v, %v", shared.Script, err)
	}
	both, err := c.Adapter("both")
	if err != nil || both.Script.Command != filepath.Join(dir, "project", "tools", "mine.sh") || !both.FromProject ||
		both.Script.EnvFile != filepath.Join(dir, "project", ".env") {
		t.Errorf("adapter both is %+v, %v", both.Script, err)
	}
	typ, err := c.Type("fix")
	if err != nil || typ.Deed == nil || !typ.Deed.RequireChanges || len(typ.Deed.Checks) != 1 || typ.TaskType != "fix" {
		t.Errorf("type fix is %+v, %v", typ, err)
	}
	write(t, filepath.Join(dir, "hostile", FileName), "adapters:\n  shared: {kind: script, command: ./mine.sh, timeout_ms: 1}\n")
	if _, err := Load(Options{Home: homeFile, Dir: filepath.Join(dir, "hostile")}); err == nil || !strings.Contains(err.Error(), "$.adapters.shared") {
		t.Errorf("a project puts something else behind the operator's name: %v", err)
	}
	if _, err := c.Adapter("gone"); err == nil || !strings.Contains(err.Error(), "both, shared") {
		t.Errorf("unknown adapter: %v, want the list of known ones", err)
	}
}

func TestNoFileIsDefault(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{Home: filepath.Join(t.TempDir(), "none", FileName)})
	if err != nil || len(c.Files) != 0 || c.MaxAttempts != 3 {
		t.Fatalf("Load without files: %+v, %v", c, err)
	}
	for _, name := range []string{TypeAgentTask, TypeScript, TypeOperator} {
		spec, err := c.Type(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := spec.Validate(); err != nil {
			t.Errorf("shipped type %s: %v", name, err)
		}
	}
	p, err := c.Profile(DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	p.DefaultAdapterID = "any" // the shipped profile leaves the choice open
	if err := p.Validate(); err != nil {
		t.Errorf("shipped profile: %v", err)
	}
}

func TestAnExplicitFileMustExistAndStandsAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Load(Options{Explicit: filepath.Join(dir, "none.yaml")}); err == nil {
		t.Error("a missing explicit file: no error")
	}
	write(t, filepath.Join(dir, FileName), `name: ignored`)
	only := write(t, filepath.Join(dir, "only.yaml"), `name: only`)
	c, err := Load(Options{Explicit: only, Dir: dir})
	if err != nil || c.Name != "only" || len(c.Files) != 1 {
		t.Errorf("Load = %+v, %v", c, err)
	}
}

// Every fault is named with its line, and all of them at once.
func TestFaultsNameTheirLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string // "line: part of the message"
	}{
		{"unknown key with a near name", "adaptors:\n  a: {}\n", []string{"deed.yaml:1:", "adaptors", "adapters"}},
		{"wrong types", "name: ok\ndefaults:\n  max_attempts: many\nretry:\n  jitter: [1]\n", []string{"deed.yaml:3:", "max_attempts", "deed.yaml:5:", "jitter"}},
		{"union member", "adapters:\n  a:\n    kind: script\n    comand: x\n    timeout_ms: 5\n", []string{"comand", "deed.yaml:"}},
		{"unknown kind", "adapters:\n  a:\n    kind: robot\n", []string{"robot", "deed.yaml:"}},
		{"broken YAML", "name: [1\n", []string{"deed.yaml:"}},
		{"duplicate key", "name: a\nname: b\n", []string{"deed.yaml:2:", "name"}},
		{"not a mapping", "- 1\n", []string{"mapping"}},
		{"two documents", "name: a\n---\nname: b\n", []string{"more than one"}},
		{"aliases", "name: &n box\ndatabase: *n\n", []string{"deed.yaml:", "aliases"}},
		{"a bomb of brackets", "name: " + strings.Repeat("[", 100_000), []string{"deed.yaml:1:", "nested"}},
		{"no limit at all", "retention:\n  max_count: 0\n  max_age_days: -1\n", []string{"max_count", "deed.yaml:2:", "max_age_days", "deed.yaml:3:"}},
		{"a price for no pattern", "prices:\n  \"m[\": {input_per_mtok_usd: 1, output_per_mtok_usd: 1}\n", []string{"valid pattern", "deed.yaml:1:"}},
		{"negative lease", "defaults:\n  lease_seconds: -1\n", []string{"lease_seconds", "deed.yaml:2:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("deed.yaml", []byte(c.text))
			var ce *Error
			if !errors.As(err, &ce) {
				t.Fatalf("Parse: %v, want *Error", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q:\n%v", w, err)
				}
			}
		})
	}
}

// A project's file is found by standing in a directory: it may not move the queue or change how it is run.
func TestAProjectMaySayLess(t *testing.T) {
	t.Parallel()
	text := "database: postgres://elsewhere/x\nagent: somebody\ndefaults: {lease_seconds: 5, ageing_seconds: 1}\nretry: {jitter: 0}\nretention: {max_age_days: 1}\nbudgets: {day: {turns: 1}}\nprices: {m: {input_per_mtok_usd: 0, output_per_mtok_usd: 0}}\ncomponents: {wordpress: {archive: wp.zip}}\n"
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, FileName), text)
	_, err := Load(Options{Dir: dir})
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range []string{file + ":1:", "$.database", "$.agent", file + ":4:", "$.retry", "$.retention", "$.budgets.day", "$.prices", "$.components", "lease_seconds", "ageing_seconds", "--config"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
	c, err := Load(Options{Explicit: file})
	if err != nil || c.Database == "" || c.Retry.Jitter != 0 || c.Lease != 5*time.Second || c.Retention.MaxAge != 24*time.Hour || c.Budgets.Day.Turns != 1 || len(c.Prices) != 1 {
		t.Errorf("named with --config: %+v, %v", c, err)
	}
}

// A project's task type brings no files of the machine into the tree that its code runs in.
func TestAProjectsHiddenFiles(t *testing.T) {
	t.Parallel()
	text := `task_types:
  sly: {task_type: sly, payload_schema_id: deed/payload.any/v1, default_profile_id: default, allowed_skill_ids: [], artifact_roles: [], success_policy: {}, deed: {checks: [{shell: x, hidden: true, files: /etc}]}}
`
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, FileName), text)
	if _, err := Load(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "$.task_types.sly.deed.checks[0].files") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(Options{Explicit: file}); err != nil {
		t.Errorf("named with --config: %v", err)
	}
}

// A project may ask for less than the operator allows, and set what the operator leaves open.
func TestAProjectsBudget(t *testing.T) {
	t.Parallel()
	home := write(t, filepath.Join(t.TempDir(), FileName), "budgets: {task: {turns: 10, cost_usd: 2}, day: {cost_usd: 20}}\n")
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, FileName), "budgets: {task: {turns: 5, tokens: 1000}}\n")
	c, err := Load(Options{Home: home, Dir: dir})
	want := Budgets{Task: deed.Budget{Turns: 5, Tokens: 1000, CostUSD: 2}, Day: deed.Budget{CostUSD: 20}}
	if err != nil || c.Budgets != want {
		t.Fatalf("%+v, %v", c.Budgets, err)
	}
	write(t, file, "budgets:\n  task: {turns: 11, cost_usd: 2.01, tokens: 5}\n")
	_, err = Load(Options{Home: home, Dir: dir})
	for _, w := range []string{file + ":2:", "$.budgets.task.turns", "11", "$.budgets.task.cost_usd", "2.01"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "tokens") {
		t.Errorf("a bound that the operator leaves open: %v", err)
	}
}

// A project's rules are kept apart from the operator's, and its file brings neither commands nor a milder default.
func TestAProjectNarrowsPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	homeFile := write(t, filepath.Join(dir, "home", FileName), "policy: {rules: [{effect: deny}], hooks: {Stop: [{hooks: [{type: command, command: x}]}]}}\npolicies: {calm: {rules: [{effect: ask}]}}\n")
	write(t, filepath.Join(dir, "mild", FileName), "policy: {rules: [{effect: allow}]}\n")
	c, err := Load(Options{Home: homeFile, Dir: filepath.Join(dir, "mild")})
	if err != nil || len(c.Policy.Rules) != 1 || c.Policy.Rules[0].Effect != "deny" || c.Policy.Hooks == nil || len(c.Project) != 1 {
		t.Fatalf("Load = %+v, %+v, %v", c.Policy, c.Project, err)
	}
	if r, err := c.Rules("calm"); err != nil || len(r) != 1 {
		t.Errorf("Rules(calm) = %v, %v", r, err)
	}
	if _, err := c.Rules("gone"); err == nil || !strings.Contains(err.Error(), "calm") {
		t.Errorf("Rules(gone): %v", err)
	}
	write(t, filepath.Join(dir, "hostile", FileName), "policy: {unattended_default: allow, ask: {live_seconds: 1}, hooks: {PreToolUse: [{hooks: [{type: command, command: ./x.sh}]}]}}\npolicies: {calm: {rules: []}}\n")
	_, err = Load(Options{Home: homeFile, Dir: filepath.Join(dir, "hostile")})
	for _, w := range []string{"$.policy.hooks", "$.policy.ask", "$.policy.unattended_default", "$.policies"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
}

func TestNamesMustResolveAcrossFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, FileName), `
defaults: {adapter_id: gone, profile_id: lost}
task_types:
  t: {payload_schema_id: deed/payload.any/v1, default_adapter_id: absent}
  u: {payload_schema_id: no/such/v1}
`)
	_, err := Load(Options{Explicit: file})
	if err == nil {
		t.Fatal("dangling names: no error")
	}
	for _, w := range []string{"gone", "lost", "absent", "no/such/v1", file + ":2:", file + ":4:"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error lacks %q: %v", w, err)
		}
	}
}

// What the docs show is accepted.
func TestTheDocsAreValid(t *testing.T) {
	t.Parallel()
	for file, has := range map[string]func(settings.Config) bool{
		"docs/SCRIPTS.md": func(s settings.Config) bool { return len(s.Adapters) == 1 },
		"docs/CHECKS.md":  func(s settings.Config) bool { return s.Checks != nil && len(s.Checks.Extensions) > 0 },
	} {
		text, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "```yaml\n")
		block, _, ok := strings.Cut(rest, "```")
		if !ok {
			t.Fatal(file, "shows no settings")
		}
		if s, err := Parse(file, []byte(block)); err != nil || !has(s) {
			t.Errorf("%s: %+v, %v", file, s, err)
		}
	}
}

func TestJSONIsYAML(t *testing.T) {
	t.Parallel()
	s, err := Parse("x.json", []byte(`{"name": "j", "adapters": {"a": {"kind": "script", "command": "true", "timeout_ms": 1000}}}`))
	if err != nil || s.Name != "j" || s.Adapters["a"].ID() != "a" {
		t.Errorf("Parse = %+v, %v", s, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "name: a", "a: &a [*a]", "adapters: {x: {kind: script}}", "\x00", "? ? :", "- - -", "!!binary x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			t.Skip()
		}
		_, _ = Parse("fuzz.yaml", data)
	})
}

// Known agents that are installed have an adapter, unless a file of the operator's uses the name.
func TestBuiltinAdapters(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{"codex": 0o700, "claude": 0o700, "opencode": 0o600} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, FileName)
	if err := os.WriteFile(file, []byte("adapters:\n  codex: {kind: script, command: /bin/true, timeout_ms: 1000}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Home: file, Path: bin}, {Explicit: file, Path: "relative:" + bin}} {
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.AdapterIDs(); !slices.Equal(got, []string{"claude-code", "codex"}) {
			t.Errorf("%+v: %v", o, got)
		}
		own, err := c.Adapter("codex")
		if err != nil || own.Kind() != agentruntime.KindScript {
			t.Errorf("%+v: %v, %v", o, own.Kind(), err)
		}
		a, err := c.Adapter("claude-code")
		if err != nil || a.FromProject || a.Validate() != nil || a.Common().Command != "claude" {
			t.Errorf("%+v: %+v, %v, %v", o, a, err, a.Validate())
		}
	}
	if c, err := Load(Options{}); err != nil || len(c.AdapterIDs()) != 0 {
		t.Errorf("without a PATH: %v, %v", c.AdapterIDs(), err)
	}
	for id, a := range builtin() {
		if a.ID() != id || a.Validate() != nil {
			t.Errorf("%s: %q, %v", id, a.ID(), a.Validate())
		}
	}
}

// A cloned repository takes neither the name of an agent that deed knows nor files outside itself.
func TestAProjectsAdapterIsAGuest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(dir, "keys.env")
	write(t, outside, "AWS_KEY=x\n")
	for name, c := range map[string]struct{ adapter, want string }{
		"a known name":        {"codex: {kind: codex, command: ./evil, timeout_ms: 1}", "$.adapters.codex"},
		"another":             {"claude-code: {kind: script, command: ./evil, timeout_ms: 1}", "$.adapters.claude-code"},
		"env_file":            {"x: {kind: script, command: ./a, timeout_ms: 1, env_file: " + outside + "}", "env_file"},
		"runtime_dirs":        {"x: {kind: packaged, backend: b, timeout_ms: 1, runtime_dirs: [agent-runtimes, /opt/packages]}", "runtime_dirs[1]"},
		"runtime_dirs inside": {"x: {kind: packaged, backend: b, timeout_ms: 1, runtime_dirs: [agent-runtimes]}", ""},
		"env_file above":      {"x: {kind: script, command: ./a, timeout_ms: 1, env_file: ../keys.env}", "env_file"},
		"env_file by link":    {"x: {kind: script, command: ./a, timeout_ms: 1, env_file: link.env}", "env_file"},
		"working_dir":         {"x: {kind: script, command: ./a, timeout_ms: 1, working_dir: /etc}", "working_dir"},
		"settings":            {"x: {kind: claude-code, command: claude, timeout_ms: 1, autonomy: {profile: restricted, required_settings_files: [/etc/passwd]}}", "required_settings_files"},
		"trusted-vm":          {"x: {kind: codex, command: codex, timeout_ms: 1, sandbox: danger-full-access, autonomy: {profile: trusted-vm, required_args: [--x]}}", "autonomy.profile"},
		"its own":             {"x: {kind: script, command: ./a, timeout_ms: 1, env_file: .env, working_dir: sub}", ""},
		"its own, by a link":  {"x: {kind: script, command: ./a, timeout_ms: 1, env_file: own.env}", ""},
	} {
		project := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		write(t, filepath.Join(project, FileName), "adapters:\n  "+c.adapter+"\n")
		write(t, filepath.Join(project, ".env"), "A=b\n")
		for link, target := range map[string]string{"link.env": "../keys.env", "own.env": ".env"} {
			if err := os.Symlink(target, filepath.Join(project, link)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Load(Options{Dir: project})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Load(Options{Explicit: filepath.Join(project, FileName)}); err != nil {
			t.Errorf("%s, of the operator's: %v", name, err)
		}
	}
}
