package gate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// TestWitnessPlaces: the kept keys of the places mean what they meant.
func TestWitnessPlaces(t *testing.T) {
	t.Parallel()
	m := &workspace.Manifest{}
	for _, name := range []string{
		"a_test.go", "web/a.test.ts", "tests/test_a.py", "tests/ATest.php", "tests/a.rs", "crate/tests/more.rs", "crate/tests/common/mod.rs", "src/tests/a.rs", "src/lib.rs",
		"sh/a.bats", "sh/a.test.sh", "ci/a_test.sh", "ci/test.sh",
	} {
		m.Entries = append(m.Entries, workspace.Entry{Path: name, Kind: workspace.KindFile})
	}
	want := []string{"0:.", "1:web", "2:tests", "3:tests", "4:crate/tests", "4:tests", "5:sh", "6:ci", "6:sh"}
	if got := sites(m); !slices.Equal(got, want) {
		t.Errorf("places are %q, want %q", got, want)
	}
}

// TestWitnessesRun: the runners take the witnesses for tests, which pass or fail as they should.
func TestWitnessesRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, site, format, how string
		files                   map[string]string
		argv                    []string
	}{
		{"rust", "4:tests", testreport.Cargo, "rustup.rs", map[string]string{
			"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
			"src/lib.rs": "", "tests/more.rs": "#[test]\nfn good() {}\n",
		}, []string{"cargo", "test", "--offline", "--no-fail-fast"}},
		{"bats", "5:tests", testreport.TAP, "apt-get install bats", map[string]string{"tests/a.bats": "@test good { true; }\n"}, []string{"bats", "--tap", "tests"}},
		{"shell", "6:tests", testreport.TAP, "your system", map[string]string{"tests/a.test.sh": "exit 0\n"}, []string{"sh", "-c", `
			set -- tests/*.test.sh
			echo "1..$#"
			for t in "$@"; do if sh "$t" >&2; then echo "ok - $t"; else echo "not ok - $t"; fi; done`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("short: needs a test runner")
			}
			if err := exec.CommandContext(t.Context(), c.argv[0], "--version").Run(); err != nil && c.argv[0] != "sh" {
				t.Skipf("missing tool: %s: %s", c.argv[0], c.how)
			}
			for _, fails := range []bool{false, true} {
				dir := t.TempDir()
				for name, text := range c.files {
					file := filepath.Join(dir, name)
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				ws, err := plant(dir, []string{c.site}, fails)
				if err != nil || len(ws) != 1 {
					t.Fatal(ws, err)
				}
				cmd := exec.CommandContext(t.Context(), c.argv[0], c.argv[1:]...)
				cmd.Dir = dir
				cmd.Env = append(cmd.Environ(), "CARGO_TARGET_DIR="+filepath.Join(dir, "target"))
				out, err := cmd.CombinedOutput()
				if fails == (err == nil) && c.name != "shell" {
					t.Errorf("fails %v: %v\n%s", fails, err, out)
				}
				report, err := testreport.ParseAs(c.format, strings.NewReader(string(out)))
				if err != nil {
					t.Fatal(err)
				}
				status := runner.CasePassed
				if fails {
					status = runner.CaseFailed
				}
				r := &runner.Report{TestCases: report.Cases}
				if seen := takeWitnesses(r, ws, status); len(seen) != 1 || len(r.TestCases) != 1 {
					t.Errorf("a witness that has to be %s: seen at %q, and other tests are %s\n%s", status, seen, fmt.Sprint(r.TestCases), out)
				}
			}
		})
	}
}
