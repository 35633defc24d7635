package cli

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/engine/promote"
)

// shippedAgents are the packages that deed ships for agents' own programs: the program, the variable that names it, the
// secret, and executor.config with the address of the scripted model.
var shippedAgents = map[string]struct {
	tool, variable, secret string
	config                 func(base string) map[string]any
}{
	"codex": {"codex", "CODEX_BIN", "OPENAI_API_KEY", func(base string) map[string]any {
		return map[string]any{"model": "gpt-5.5", "provider": map[string]any{"id": "scripted", "base_url": base + "/v1"}}
	}},
	"claude-code": {"claude", "CLAUDE_BIN", "ANTHROPIC_API_KEY", func(base string) map[string]any {
		return map[string]any{"model": "claude-sonnet-4-5", "base_url": base}
	}},
	"opencode": {"opencode", "OPENCODE_BIN", "OPENAI_API_KEY", func(base string) map[string]any {
		return map[string]any{"model": "scripted/any", "provider": map[string]any{"id": "scripted", "base_url": base + "/v1", "api": "chat", "key_env": "OPENAI_API_KEY"}}
	}},
}

// Each package that deed ships for an agent fixes a failing test through deed runtime run: the real program in a sandbox, with
// its model as the only host that it reaches. The result can be promoted.
func TestShippedPackagesDoTheWork(t *testing.T) {
	needBwrap(t)
	for backend, a := range shippedAgents {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			program := drivertest.Agent(t, a.tool)
			script, err := scripted.Load(filepath.Join("testdata", "model.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			server := scripted.New(script)
			if _, err := server.Start("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			base := server.URL("fix")
			at, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, nil)
			writeFile(t, filepath.Join(s.dir, "deed.yaml"), "defaults: {lease_seconds: 30}\nruntimes: {backends: {"+backend+": {isolation: namespace, hosts: [\""+at.Host+"\"]}}}\n")
			project := filepath.Join(s.dir, "project")
			if err := os.MkdirAll(project, 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(project, "calc.py"), "def add(a, b):\n    return a - b\n")
			writeFile(t, filepath.Join(project, "test_calc.py"), "from calc import add\nassert add(2, 3) == 5, 'wrong sum'\nprint('ok')\n")
			request := map[string]any{
				"schema": homeboy.SchemaRequest, "task_id": "mend", "instructions": "make the failing test pass",
				"executor":  map[string]any{"backend": backend, "secret_env": []string{a.secret}, "config": a.config(base)},
				"workspace": map[string]any{"mode": "existing", "root": project}, "limits": map[string]any{"timeout_ms": 240_000},
			}
			text, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(s.dir, "request.json")
			writeFile(t, file, string(text))
			r := s.deed([]string{a.variable + "=" + program, a.secret + "=sk-scripted-0f91c7"}, "runtime", "run", file, "--json", "--check", "python3 test_calc.py", "--result-file", "outcome.json")
			var o homeboy.Outcome
			if err := json.Unmarshal([]byte(r.stdout), &o); err != nil {
				t.Fatalf("exit %d, %v\n%s\n%s", r.code, err, r.stdout, r.stderr)
			}
			if r.code != ExitDone || o.Status != homeboy.Succeeded || o.Decide() != homeboy.DecideApply {
				t.Fatalf("exit %d: %s: %s\n%s\n%s", r.code, o.Status, o.Summary, r.stdout, r.stderr)
			}
			kept, err := os.ReadFile(filepath.Join(s.dir, "outcome.json"))
			if err != nil {
				t.Fatal(err)
			}
			if dir, claims, err := promote.FromFile(kept); err != nil || dir == "" || len(claims) != 1 {
				t.Errorf("what can be promoted: %q, %v, %v", dir, claims, err)
			}
			s.tidy()
		})
	}
}

// TestPlaygroundCommandsRun runs what docs/PLAYGROUND.md shows: WordPress in WebAssembly, in a sandbox and without a network.
func TestPlaygroundCommandsRun(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	o := wordpresstest.Options(t)
	cache := filepath.Dir(filepath.Dir(o.Archive))
	if _, err := os.Stat(filepath.Join(cache, "playground", "node_modules")); err != nil {
		t.Skip("missing tool: wp-playground: run scripts/setup.sh")
	}
	out := runBlocks(t, "docs/PLAYGROUND.md", 2, "WORDPRESS="+filepath.Dir(o.Archive), "PLAYGROUND="+filepath.Join(cache, "playground"))
	for _, want := range []string{"wp-playground.deed of wp-playground: ready", "wp-playground conforms: 27 passed, 0 failed", "succeeded: done in WordPress " + wordpresstest.Version, "verdict    accepted"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
