package testreport_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// TestToolsHere runs the tools that this machine has, and reads what they write today: one test that passes, one that fails,
// one that is skipped, in whatever format. A tool that changes what it prints is found here.
func TestToolsHere(t *testing.T) {
	t.Parallel()
	goFiles := map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.24\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T)  { t.Error(\"no\") }\nfunc TestOff(t *testing.T)  { t.Skip(\"later\") }\n",
	}
	nodeFiles := map[string]string{"a.test.js": "const { test } = require('node:test');\ntest('good', () => {});\ntest('bad', () => { throw new Error('no'); });\ntest('off', { skip: 'later' }, () => {});\n"}
	pyFiles := map[string]string{"test_a.py": "import pytest\n\ndef test_good(): pass\n\ndef test_bad(): assert False, 'no'\n\n@pytest.mark.skip(reason='later')\ndef test_off(): pass\n"}
	rustFiles := map[string]string{
		"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
		"src/lib.rs": "#[test]\nfn good() {}\n#[test]\nfn bad() { panic!(\"no\"); }\n#[test]\n#[ignore = \"later\"]\nfn off() {}\n",
	}
	phpFiles := map[string]string{"tests/ATest.php": "<?php\nfinal class ATest extends PHPUnit\\Framework\\TestCase {\n public function testGood(): void { $this->assertTrue(true); }\n public function testBad(): void { $this->fail('no'); }\n public function testOff(): void { $this->markTestSkipped('later'); }\n}\n"}
	batsFiles := map[string]string{"a.bats": "@test good { true; }\n@test bad { echo no; false; }\n@test off { skip later; }\n"}
	for _, c := range []struct {
		name   string
		files  map[string]string
		get    string // how to get the tool
		format string
		argv   []string
	}{
		{"go-json", goFiles, "go.dev/dl", testreport.GoJSON, []string{"go", "test", "-count=1", "-json", "./..."}},
		{"go-text", goFiles, "go.dev/dl", testreport.GoText, []string{"go", "test", "-count=1", "-v", "./..."}},
		{"node-tap", nodeFiles, "nodejs.org", testreport.TAP, []string{"node", "--test", "--test-reporter=tap"}},
		{"node-junit", nodeFiles, "nodejs.org", testreport.JUnit, []string{"node", "--test", "--test-reporter=junit"}},
		{"node-spec", nodeFiles, "nodejs.org", testreport.Summary, []string{"node", "--test", "--test-reporter=spec"}},
		{"pytest", pyFiles, "apt-get install python3-pytest", testreport.Pytest, []string{"/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider"}},
		{"pytest-junit", pyFiles, "apt-get install python3-pytest", testreport.JUnit, []string{"/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"}},
		{"phpunit", phpFiles, "apt-get install phpunit", testreport.Summary, []string{"phpunit", "--no-configuration", "--do-not-cache-result", "tests"}},
		{"phpunit-junit", phpFiles, "apt-get install phpunit", testreport.JUnit, []string{"phpunit", "--no-configuration", "--do-not-cache-result", "--log-junit", "report.xml", "tests"}},
		{"bats", batsFiles, "apt-get install bats", testreport.TAP, []string{"bats", "--tap", "a.bats"}},
		{"cargo", rustFiles, "rustup.rs", testreport.Cargo, []string{"cargo", "test", "--offline"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if testing.Short() {
				t.Skip("short: needs a test runner")
			}
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				t.Skipf("missing tool: %s: %s", c.argv[0], c.get)
			}
			if err := exec.Command(c.argv[0], "--version").Run(); c.argv[0] == "cargo" && err != nil { // rustup's stand-in, without a toolchain
				t.Skip("missing tool: cargo: rustup default stable")
			}
			if c.argv[0] == "/usr/bin/python3" && exec.CommandContext(t.Context(), c.argv[0], "-c", "import pytest").Run() != nil {
				t.Skip("missing tool: pytest: apt-get install python3-pytest")
			}
			cmd := exec.CommandContext(t.Context(), c.argv[0], c.argv[1:]...)
			cmd.Dir = dir
			cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "RUST_BACKTRACE=0", "CARGO_TARGET_DIR="+filepath.Join(dir, "target"))
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if cmd.Run() == nil {
				t.Fatalf("a failing test went by: %s%s", &stdout, &stderr)
			}
			text := stdout.String()
			if report, err := os.ReadFile(filepath.Join(dir, "report.xml")); err == nil {
				text = string(report)
			}
			r, ok := testreport.Output(text, nil)
			if c.format == testreport.JUnit {
				var err error
				r, err = testreport.Parse(strings.NewReader(text))
				ok = err == nil
			}
			if !ok || r.Format != c.format {
				t.Fatalf("read as %q, %v: %s%s", r.Format, ok, text, &stderr)
			}
			if diff := cmp.Diff(counts(3, 1, 1, 1), r.Results); diff != "" {
				t.Errorf("%s\n%s", diff, text)
			}
			for _, k := range r.Cases {
				want := map[bool]string{strings.HasSuffix(strings.ToLower(k.Name), "good"): runner.CasePassed, strings.HasSuffix(strings.ToLower(k.Name), "bad"): runner.CaseFailed, strings.HasSuffix(strings.ToLower(k.Name), "off"): runner.CaseSkipped}[true]
				if k.Status != want {
					t.Errorf("%s is %s", k.ID(), k.Status)
				}
				if k.Status == runner.CaseFailed && !strings.Contains(k.Message, "no") {
					t.Errorf("%s does not say why: %q", k.ID(), k.Message)
				}
			}
		})
	}
}
