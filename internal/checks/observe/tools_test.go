package observe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

const howCargo = "rustup.rs"

var cargoProject = map[string]string{
	"Makefile":      ".PHONY: test\ntest:\n\tcargo test --no-fail-fast\n",
	"Cargo.toml":    "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
	"src/lib.rs":    "#[test]\nfn good() {}\n#[test]\nfn bad() { panic!(\"no\"); }\n#[test]\n#[ignore = \"later\"]\nfn off() {}\n",
	"tests/more.rs": "#[test]\nfn good() {}\n",
}

func TestCargo(t *testing.T) {
	t.Parallel()
	needs(t, howCargo, "cargo", "--version")
	p := newProject(t, cargoProject)
	all := []string{"failed src/lib.rs::bad", "passed src/lib.rs::good", "passed tests/more.rs::good", "skipped src/lib.rs::off"}
	want := p.plain(t, "cargo test --no-fail-fast")
	r, seen := p.observed(t, "true && make test")
	if diff := cmp.Diff(all, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 || strings.Join(seen.Runners, " ") != "cargo" {
		t.Errorf("%s %q %q\n%s%s", diff, seen.Faults, seen.Runners, r.stdout, r.stderr)
	}
	for _, part := range []string{"test bad ... FAILED", "Running unittests src/lib.rs", "test result: ok. 1 passed"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("people do not see %q in %s", part, r.stdout)
		}
	}
	if r, _ := p.observed(t, "cargo test --no-fail-fast"); r.code != want.code || r.code == 0 {
		t.Errorf("ended with %d, and without a shim with %d", r.code, want.code)
	}
	for _, line := range []string{"cargo --version", "cargo test --no-run 2>/dev/null", "cargo metadata --format-version 1 --no-deps | head -c 10", "cargo check -q; echo $?"} {
		want := p.plain(t, line)
		got, seen := p.observed(t, line)
		if want.stdout != got.stdout || want.code != got.code || len(seen.Runners) > 0 {
			t.Errorf("%s: %q and %d, without a shim %q and %d; %+v", line, got.stdout, got.code, want.stdout, want.code, seen)
		}
	}
	write(t, p.dir, map[string]string{"tests/more.rs": "#[test]\nfn good() {}\n#[test]\nfn leaves() { std::process::exit(0); }\n"})
	if r, seen := p.observed(t, "cargo test --test more"); !strings.Contains(strings.Join(results(seen.Cases), "\n"), "failed tests/more.rs::[suite]") {
		t.Errorf("a program of tests that ended early: %q %q\n%s", results(seen.Cases), seen.Faults, r.stdout)
	}
	write(t, p.dir, map[string]string{"tests/more.rs": "not rust\n"})
	if _, seen := p.observed(t, "cargo test"); !strings.Contains(strings.Join(results(seen.Cases), "\n"), "failed [build]") {
		t.Errorf("a crate that cannot be built: %q", results(seen.Cases))
	}
}

// TestNextest runs a stand-in: what the real one prints is in the tests of testreport.
func TestNextest(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	write(t, tools, map[string]string{"cargo": "#!/bin/sh\necho \"    Starting 2 tests across 1 binary\" >&2\necho '        PASS [   0.012s] (1/2) m good' >&2\necho '        FAIL [   0.012s] (2/2) m bad' >&2\necho '     Summary [   0.013s] 2 tests run: 1 passed, 1 failed' >&2\nexit 100\n"})
	p := newProject(t, nil)
	p.env["PATH"] = tools + ":" + p.env["PATH"]
	r, seen := p.observed(t, "cargo nextest run --no-fail-fast")
	if diff := cmp.Diff([]string{"failed m::bad", "passed m::good"}, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 || r.code != 100 {
		t.Errorf("%s %+v %+v", diff, seen, r)
	}
	if _, seen := p.observed(t, "cargo nextest list"); len(seen.Runners) > 0 {
		t.Errorf("a list is taken for a run: %+v", seen)
	}
}

var phpTests = `<?php
final class ATest extends PHPUnit\Framework\TestCase {
    public function testGood(): void { $this->assertTrue(true); }
    public function testBad(): void { $this->fail('no'); }
    public function testOff(): void { $this->markTestSkipped('later'); }
    public function testNested(): void { exec('phpunit --no-configuration --do-not-cache-result inner', $out, $code); $this->assertNotSame(0, $code); }
}
`

func TestPHPUnit(t *testing.T) {
	t.Parallel()
	needs(t, "apt-get install phpunit", "phpunit", "--version")
	p := newProject(t, map[string]string{
		"Makefile":              ".PHONY: test\ntest:\n\tphpunit --no-configuration --do-not-cache-result tests\n",
		"tests/ATest.php":       phpTests,
		"inner/InnerTest.php":   "<?php\nfinal class InnerTest extends PHPUnit\\Framework\\TestCase { public function testInner(): void { $this->fail('no'); } }\n",
		"leaves/LeavesTest.php": "<?php\nfinal class LeavesTest extends PHPUnit\\Framework\\TestCase { public function testLeaves(): void { exit(0); } public function testBad(): void { $this->fail('no'); } }\n",
		"broken/BrokenTest.php": "<?php\nrequire 'nosuchfile.php';\n",
		"vendor/bin/phpunit":    "#!/usr/bin/env php\n<?php\nrequire '/usr/bin/phpunit';\n",
	})
	p.plain(t, "phpunit --no-configuration --do-not-cache-result --log-junit report.xml tests")
	want := junit(t, p, "report.xml")
	if len(want) != 4 {
		t.Fatalf("unobserved there are %q", want)
	}
	for _, line := range []string{
		"true && make test", "php vendor/bin/phpunit --no-configuration --do-not-cache-result tests", "vendor/bin/phpunit --no-configuration --do-not-cache-result tests",
		"phpunit --no-configuration --do-not-cache-result --log-junit own.xml tests", "phpunit --no-configuration --do-not-cache-result --log-junit=again.xml tests",
	} {
		r, seen := p.observed(t, line)
		if diff := cmp.Diff(want, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 || strings.Join(seen.Runners, " ") != "phpunit" {
			t.Errorf("%s: %s %q %q\n%s%s", line, diff, seen.Faults, seen.Runners, r.stdout, r.stderr)
		}
	}
	if got := junit(t, p, "own.xml"); cmp.Diff(want, got) != "" {
		t.Errorf("the project's own report is not what it was: %q", got)
	}
	for _, line := range []string{"phpunit --no-configuration --do-not-cache-result leaves", "phpunit --no-configuration --do-not-cache-result broken"} {
		if r, seen := p.observed(t, line); len(seen.Faults) != 1 {
			t.Errorf("%s: nothing shows that it ended early: %+v\n%s", line, seen, r.stdout)
		}
	}
	for _, line := range []string{"phpunit --version", "php -r 'echo php_ini_loaded_file(), 1 + 1;'", "echo '<?php echo $argc;' | php -- a b", "php -n -r 'echo 2;'"} {
		want := p.plain(t, line)
		if got, seen := p.observed(t, line); got.stdout != want.stdout || got.stderr != want.stderr || len(seen.Runners) > 0 {
			t.Errorf("%s: %q, and unobserved %q; %+v", line, got.stdout, want.stdout, seen)
		}
	}
}

func junit(t *testing.T, p *project, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := testreport.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	r.Locate(p.dir)
	return results(r.Cases)
}

func TestBats(t *testing.T) {
	t.Parallel()
	needs(t, "apt-get install bats", "bats", "--version")
	p := newProject(t, map[string]string{
		"Makefile":      ".PHONY: test\ntest:\n\tbats tests\n",
		"tests/a.bats":  "@test good { true; }\n@test bad { echo no; false; }\n@test off { skip later; }\n@test leaves { exit 0; }\n@test nested { run bats inner; [ \"$status\" -eq 1 ]; }\n",
		"tests/b.bats":  "@test good { true; }\n",
		"inner/c.bats":  "@test inner { false; }\n",
		"broken/d.bats": "@test good {\n",
	})
	all := []string{"failed bad", "failed leaves", "passed good", "passed good#2", "passed nested", "skipped off"}
	for _, line := range []string{"true && make test", "bats --tap tests", "bats --pretty tests", "bats --formatter junit --timing tests"} {
		want := p.plain(t, line)
		r, seen := p.observed(t, line)
		if diff := cmp.Diff(all, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 || strings.Join(seen.Runners, " ") != "bats" {
			t.Errorf("%s: %s %q %q\n%s%s", line, diff, seen.Faults, seen.Runners, r.stdout, r.stderr)
		}
		if r.code != want.code || r.code == 0 {
			t.Errorf("%s: ended with %d, and without a shim with %d", line, r.code, want.code)
		}
	}
	got, _ := p.observed(t, "bats --tap tests")
	if want := p.plain(t, "bats --tap tests"); got.stdout != want.stdout || got.stderr != want.stderr {
		t.Errorf("%q, and without a shim %q", got.stdout, want.stdout)
	}
	r, seen := p.observed(t, "bats broken")
	if got := strings.Join(results(seen.Cases), "\n"); r.code == 0 || !strings.Contains(got, "failed ") && len(seen.Faults) == 0 {
		t.Errorf("a file that cannot be loaded: %d %q %q", r.code, got, seen.Faults)
	}
	if r, seen := p.observed(t, "bats --version; bats --count tests"); len(seen.Runners) > 0 || !strings.Contains(r.stdout, "\n6\n") {
		t.Errorf("%q %+v", r.stdout, seen)
	}
}
