package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/attempt/wordpress/wordpresstest"
	"github.com/deedrun/deed/internal/cli/binarytest"
)

// repository is the root of the module.
const repository = "../.."

var fence = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// elsewhere are the blocks that set the machine up instead of using deed: the make targets and the module path in
// them are checked, and make test itself is what runs this test.
var elsewhere = regexp.MustCompile(`^(make [a-z]+|go install github\.com/deedrun/deed/cmd/deed@latest.*|go run \./cmd/deed demo)\n$`)

// runBlocks runs the command blocks of a document, one after the other as a reader would, and returns what they print.
func runBlocks(t *testing.T, file string, least int, env ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	deed := binarytest.Deed(t)
	if err := os.Symlink(deed, filepath.Join(bin, "deed")); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	ran := 0
	for _, b := range fence.FindAllStringSubmatch(string(text), -1) {
		if elsewhere.MatchString(b[1]) {
			continue
		}
		ran++
		script.WriteString(b[1])
	}
	if ran < least {
		t.Fatalf("ran %d blocks of %s: it or this test has lost them", ran, file)
	}
	c := exec.Command("/bin/sh", "-c", script.String())
	c.Dir = dir
	c.Env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "USER=reader", "DEED_LISTEN=127.0.0.1:0"}, env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of %s: %v\n%s", file, err, out)
	}
	return string(out)
}

// TestWordPressCommandsRun runs what docs/WORDPRESS.md shows.
func TestWordPressCommandsRun(t *testing.T) {
	t.Parallel()
	o := wordpresstest.Options(t)
	out := runBlocks(t, "docs/WORDPRESS.md", 3, "WORDPRESS="+filepath.Dir(o.Archive))
	for _, want := range []string{"wordpress    " + wordpresstest.Version, "succeeded: Let the plugin", "hello, the answer is new", `"text": "hello world"`} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestCheckCommandsRun runs what docs/CHECKS.md, docs/AUDIT.md, docs/OPERATING.md and docs/WORKFLOWS.md show.
func TestCheckCommandsRun(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		blocks int
		want   []string
	}{
		"docs/CHECKS.md": {3, []string{
			"✓ test: test phase passed: 1 passed", "✓ syntax", "words      1.0.0    lint", "the baseline is saved", "baseline: 1 new, 0 gone, 1 known",
			"one finding is new", "verdict    accepted", "✓ check test: passed", "✓ check lint: passed",
		}},
		"docs/WORKFLOWS.md": {2, []string{
			"goal-loop  Plan a goal", "verify → execute   continue", "verify → complete  complete", "status     completed", "workflow release", "s0 --> s1: built",
		}},
		"docs/OPERATING.md": {5, []string{
			"1 task was done, 1 failed. Nothing waits for you.", "deed task retry ", "tasks.completed              0 → 1 (+1)", "AGENT         TASKS  ATTEMPTS", "WatchdogSec=",
		}},
		"docs/BRIEF.md": {1, []string{
			"profile    scribe", "replay     inputs_frozen", "memory: 2: dropped, max_prompt_chars", "You work as: scribe.", "“first line”: completed; accepted, 1 file changed",
			"-# first line\n+# second line", "they differ", "the same brief",
		}},
		"docs/AUDIT.md":    {1, []string{"README.md:3: warning broken_doc_reference", "1 known, 0 new"}},
		"docs/IDENTITY.md": {3, []string{"agent loom is in loom.tar.gz", "agent spark is imported", "registered  Trustless Indra by bc1q9", "agent/loom  open", "+Calm and kind.", "-Calm and kind.\n+Calm, kind and brief.", "version     1.0.0 of"}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			out := runBlocks(t, file, c.blocks)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestServerCommandsRun runs what docs/SERVER.md and docs/API.md show.
func TestServerCommandsRun(t *testing.T) {
	t.Parallel()
	for tool, get := range map[string]string{"curl": "apt-get install curl", "openssl": "apt-get install openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("missing tool: %s: %s", tool, get)
		}
	}
	for file, c := range map[string]struct {
		blocks int
		want   []string
	}{
		"docs/SERVER.md": {5, []string{
			"ok\n", `"name":"ci","role":"operate","how":"token"`, "ci    operate  live", "303\n", `"role":"read","how":"session"`, `"role":"admin","how":"socket"`,
			"revoked token ci", "the token lets nobody in: revoked", "ci    operate  revoked", "token revoke", "POST /access/code",
		}},
		"docs/API.md": {5, []string{
			`"schema":"deed/tasks.added/v1"`, "event: task_finished", `"status":"completed"`, `"schema":"deed/tasks/v1"`, `"path":"$.tasks[0].task_type"`, `"schema":"deed/counts/v1"`, `"status":"accepted","sensor_id":"builds"`,
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			out := runBlocks(t, file, c.blocks)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestProviderCommandsRun runs what docs/PROVIDERS.md shows.
func TestProviderCommandsRun(t *testing.T) {
	t.Parallel()
	for tool, get := range map[string]string{"jq": "apt-get install jq", "node": "apt-get install nodejs", "python3": "apt-get install python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("missing tool: %s: %s", tool, get)
		}
	}
	out := runBlocks(t, "docs/PROVIDERS.md", 3)
	for _, want := range []string{"made ", "ok - it does what it is asked", "hello conforms: 31 passed, 0 failed, 0 warnings", "linked hello", "hello.run of hello: ready", "OK", "local-shell conforms"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestBoundaryCommandsRun runs what docs/BOUNDARY.md begins with.
func TestBoundaryCommandsRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	out := runBlocks(t, "docs/BOUNDARY.md", 3)
	for _, want := range []string{`"schema": "wp-codebox/agent-task-run/v1"`, `"status": "completed"`, "applied", `"status": "published"`, `"url": "https://example.com/pull/7"`} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// TestREADMECommandsRun runs every command block of the README.
func TestREADMECommandsRun(t *testing.T) {
	t.Parallel()
	out := runBlocks(t, "README.md", 2)
	for _, want := range []string{"verdict    accepted", "modified greeting.txt", "completed", "valid "} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "rejected") {
		t.Errorf("something was rejected:\n%s", out)
	}
}

// TestREADMEShowsTheRealDemo compares the README's output with what the demo prints.
func TestREADMEShowsTheRealDemo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```text\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README shows no output")
	}
	s := newSite(t, nil)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(s.dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	o := s.deed([]string{"GOCACHE=" + filepath.Join(cache, "go-build"), "TMPDIR=" + tmp}, "demo")
	if o.code != 0 {
		t.Fatalf("demo: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if !strings.HasPrefix(o.stdout, shown) {
		t.Errorf("the README shows\n%s\nand the demo prints\n%s", shown, o.stdout)
	}
	if !strings.Contains(o.stdout, "tampering caught") {
		t.Errorf("the demo does not catch tampering:\n%s", o.stdout)
	}
	s.home = filepath.Join(demoRoot(t, tmp), "home")
	s.tidy()
}

func demoRoot(t *testing.T, tmp string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(tmp, "deed-demo-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the demo left %v, %v", dirs, err)
	}
	return dirs[0]
}

// TestLifeCommandsRun runs what docs/SCHEDULES.md and docs/OUTBOX.md show.
func TestLifeCommandsRun(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"docs/SCHEDULES.md": {"schedule nightly is added", "nightly   enabled  24h  ", "completed"},
		"docs/OUTBOX.md":    {"the build is green", `nowhere  failed`, `"state": "failed"`},
	} {
		out := runBlocks(t, file, 1)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: output lacks %q:\n%s", file, w, out)
			}
		}
	}
}

// TestSkillCommandsRun runs what docs/SKILLS.md and the README of the example agent show.
func TestSkillCommandsRun(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs(filepath.Join(repository, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"docs/SKILLS.md": {"✓ links: skill links 1.0", "skill links 1.0 is added", `{"links": 1}`, "verdict    accepted", `unknown skill "lynx"; there are: links`, "refused"},
		"examples/caretaker/README.md": {
			"agent caretaker would be imported", "agent caretaker is imported: 1 version of its constitution, 1 skill, 1 schedule", "this one is it",
			"1 accepted, 0 deduped", "goal-loop  commit-", "author of commit ", `{"commits": 1, "files": 1, "sound": true, "todo": 1}`, "agent caretaker is in caretaker.tar.gz",
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			out := runBlocks(t, file, 1, "EXAMPLES="+examples)
			for _, w := range want {
				if !strings.Contains(out, w) {
					t.Errorf("output lacks %q:\n%s", w, out)
				}
			}
			if strings.Contains(out, "blocked") || strings.Contains(out, "permanent_failure") {
				t.Errorf("something did not work:\n%s", out)
			}
		})
	}
}

// TestFanoutCommandsRun runs what docs/FANOUT.md shows.
func TestFanoutCommandsRun(t *testing.T) {
	t.Parallel()
	out := runBlocks(t, "docs/FANOUT.md", 4)
	for _, want := range []string{
		"licence-core  core   2", "2 tasks of 3 items, written to plan.json", "finding-packet-no-todo-warning  no-todo:warning  2", "fanout-core-a.go  core/a.go  1",
		"completed: 2 tasks, 2 completed, 0 failed, written to result.json", "mend-claude-code  claude-code", "2 cells, written to matrix.json",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
