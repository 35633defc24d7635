package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/isolate/exectrace"
)

// What drives a check is distinguished from what it tests by who started it, by its name, and by who reads its
// output.
func TestDrivers(t *testing.T) {
	t.Parallel()
	program := func(path string, parent int, under ...string) exectrace.Program {
		return exectrace.Program{Path: path, Parent: parent, Under: under}
	}
	leads := func(p exectrace.Program) exectrace.Program { p.Leads = true; return p }
	read := func(p exectrace.Program) exectrace.Program { p.Captured = true; return p }
	for _, c := range []struct {
		name     string
		programs []exectrace.Program
		runners  []string
		want     []string
	}{
		{"scripts behind a target", []exectrace.Program{leads(program("scripts/run.sh", -1, "make")), program("ci/check.py", 0, "make")}, nil, []string{"scripts/run.sh", "ci/check.py"}},
		{"a test is one anyway", []exectrace.Program{program("test_calc.py", -1, "sh")}, []string{"unittest"}, []string{"test_calc.py"}},
		{"what is run alone is what is tested", []exectrace.Program{program("greet.sh", -1, "sh")}, nil, nil},
		{"what something else reads is tested", []exectrace.Program{read(leads(program("total.sh", -1, "sh")))}, nil, nil},
		{"what a test starts is tested", []exectrace.Program{leads(program("total.test.sh", -1, "sh")), program("scripts/total.sh", 0, "sh")}, nil, []string{"total.test.sh"}},
		{"what bats starts is tested", []exectrace.Program{program("bin/run", -1, "bats-exec-test", "bash")}, []string{"bats"}, nil},
		{"what pytest starts is tested", []exectrace.Program{program("scripts/report.py", -1, "python3.11", "sh")}, []string{"pytest"}, nil},
		{"what a test binary of Go starts is tested", []exectrace.Program{program("scripts/gen.sh", -1, "app.test", "go")}, []string{"go"}, nil},
		{"a script of any name that leads to a runner", []exectrace.Program{leads(program("go.sh", -1, "sh"))}, []string{"pytest"}, []string{"go.sh"}},
		{"the links on the way to it", []exectrace.Program{{Path: "scripts/run.sh", Links: []string{"all"}, Parent: -1}}, nil, []string{"scripts/run.sh", "all"}},
		{"once", []exectrace.Program{program("ci/x", -1), program("ci/x", -1)}, nil, []string{"ci/x"}},
	} {
		if diff := cmp.Diff(c.want, Drivers(c.programs, c.runners)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
