package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/model/scripted"
)

// A model behind a real endpoint: refused, answered in the same conversation until its budget is used up, and raised.
func TestABudgetWithARealEndpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(script, `schema: deed/model-script/v1
usage: {input: 900, output: 100}
scenarios:
  s:
    steps: [{text: '{"status": "completed", "artifact_paths": ["missing.txt"]}'}]
    on: [{contains: "missing.txt", steps: [{text: "The answer is 42."}]}]
`)
	s, err := scripted.Load(script)
	if err != nil {
		t.Fatal(err)
	}
	srv := scripted.New(s)
	if _, err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	home := filepath.Join(dir, "home")
	write(filepath.Join(home, "deed.yaml"), fmt.Sprintf(`adapters:
  local: {kind: ollama-generate, endpoint: %q, model: scn-s, timeout_ms: 60000}
`, srv.URL("s")))
	run := func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "USER=tester", "DEED_HOME=" + home, "NO_COLOR=1"}
		if got := Main(args, env, Stdio{In: strings.NewReader(""), Out: &out, Err: &errs}); got != code {
			t.Fatalf("%v: exit %d\n%s%s", args, got, &out, &errs)
		}
		return out.String()
	}
	id := strings.TrimSpace(run(0, "task", "add", "--type", "operator", "--adapter", "local", "--description", "say it", "--budget-tokens", "1000", "--budget-usd", "1"))
	run(0, "dispatch", "--once")
	if got := run(0, "task", "show", id); !strings.Contains(got, "budget_exhausted") || !strings.Contains(got, "1000 tokens") {
		t.Fatalf("%s", got)
	}
	if got := run(0, "usage"); !strings.Contains(got, "scn-s") || !strings.Contains(got, "900") {
		t.Errorf("%s", got)
	}
	run(0, "task", "budget", id, "--tokens", "100000")
	run(0, "dispatch", "--once")
	if got := run(0, "task", "show", id); !strings.Contains(got, "status     completed") {
		t.Fatalf("%s", got)
	}
	if got := run(0, "--json", "usage", "--task", id); !strings.Contains(got, `"input_tokens": 1800`) {
		t.Errorf("%s", got)
	}
}
