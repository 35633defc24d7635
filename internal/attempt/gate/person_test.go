package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// A person is asked where no run can tell, and only there.
func TestWhenAPersonIsAsked(t *testing.T) {
	t.Parallel()
	renamed := map[string]string{"main.go": "package p // a + c\n", "add_test.go": "package p\n\nfunc TestAdd(t *testing.T) {want a + c}\n"}
	for _, c := range []struct {
		name   string
		base   map[string]string
		change map[string]string
		policy string
		says   bool // what the person says
		asked  bool
		want   []string
		grade  string
	}{
		{name: "code and tests change together", base: green(), change: renamed, says: true, asked: true, grade: deed.GradePassing},
		{name: "and the person says no", base: green(), change: renamed, asked: true, want: []string{"tests_newly_failing", "needs_person", "check_inputs_changed:add_test.go"}},
		{name: "nobody is asked", base: green(), change: renamed, policy: deed.InputsRerunPinned, want: []string{"tests_newly_failing", "check_inputs_changed:add_test.go"}},
		{name: "a test that passes as it was", base: green(), change: map[string]string{"main.go": "package p // a + b, clearer\n", "add_test.go": toyAdd + "// clearer\n"}, grade: deed.GradePassing},
		{name: "a new test", base: green(), change: map[string]string{"more_test.go": "package p\n\nfunc TestMore(t *testing.T) {}\n"}, grade: deed.GradePassing},
		{name: "nothing but a configuration", base: green(), change: map[string]string{"Makefile": "test:\n\ttrue\n"}, says: true, asked: true, grade: deed.GradePassing},
		{name: "a dependency", base: green(), change: map[string]string{"package.json": "{\n  \"dependencies\": {},\n  \"version\": \"2.0.0\"\n}\n"}, grade: deed.GradePassing},
		{name: "a script of a package", base: green(), change: map[string]string{"package.json": "{\n  \"scripts\": {\"test\": \"true\"},\n  \"version\": \"1.0.0\"\n}\n"}, says: true, asked: true, grade: deed.GradePassing},
		{
			name: "a test that moved", base: green(), change: map[string]string{"sub/other_test.go": "", "moved_test.go": "package q\n\nfunc TestOther(t *testing.T) {}\n", "main.go": "package p // a + b, moved\n"},
			grade: deed.GradePassing,
		},
		{name: "broken either way", base: green(), change: map[string]string{"main.go": "package p // x\n", "add_test.go": "package p\n\nfunc TestAdd(t *testing.T) {want a + c}\n"}, want: []string{"tests_newly_failing", "check_inputs_changed:add_test.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			v := scene{base: c.base, work: files(c.change), edit: func(in *Input, _ string) {
				in.Spec.Checks, in.Runner = []deed.Check{{Capability: runner.Test, OnChangedInputs: c.policy}}, &toy{}
				in.Ask = func(_ context.Context, _ deed.Check, q Question) (bool, string, error) {
					asked = true
					if !q.Optional || len(q.Changed) == 0 {
						t.Errorf("asked %+v", q)
					}
					return c.says, "ana", nil
				}
			}}.decide(t)
			if asked != c.asked {
				t.Errorf("asked: %v", asked)
			}
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Errorf("reasons: %s\n%+v", diff, v.Reasons)
			}
			if v.Grade != c.grade {
				t.Errorf("grade %q, want %q", v.Grade, c.grade)
			}
			if err := v.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// green is a base on which every test passes.
func green() map[string]string {
	b := toyBase()
	b["main.go"] = fixed
	b["package.json"] = "{\n  \"dependencies\": {},\n  \"version\": \"1.0.0\"\n}\n"
	return b
}

// A test that fails once and passes when it is run again proves nothing.
func TestAFailureThatDoesNotLast(t *testing.T) {
	t.Parallel()
	runs := 0
	y := &toy{lie: func(base bool, r *runner.Report) {
		if base {
			return
		}
		if runs++; runs == 1 {
			*r = *tests("+TestAdd -TestOther")
		}
	}, blind: true}
	v := scene{base: toyBase(), work: files(map[string]string{"main.go": fixed}), edit: func(in *Input, _ string) {
		in.Spec.Checks, in.Runner = []deed.Check{{Capability: runner.Test}}, y
	}}.decide(t)
	if !v.Accepted || v.Grade != deed.GradeFixed {
		t.Errorf("%+v", v)
	}
	if got := codes(deed.Verdict{Reasons: v.Notes}); len(got) != 1 || got[0] != CodeTestsUnstable {
		t.Errorf("notes %v", got)
	}
}

// A test that fails on the base by chance was not fixed by whoever does nothing.
func TestAFailureOfTheBaseThatDoesNotLast(t *testing.T) {
	t.Parallel()
	runs := 0
	v := scene{base: toyBase(), work: files(map[string]string{"README": "done"}), edit: func(in *Input, _ string) {
		in.Spec.Checks = []deed.Check{{Shell: "npm test"}}
		in.Runner = commands(func(_ context.Context, _ deed.Check, _ string, base bool) RunResult {
			if runs++; base && runs == 1 {
				return RunResult{Result: deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}, Report: tests("-a +b")}
			}
			return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}, Report: tests("+a +b")}
		})
	}}.decide(t)
	if c := v.Checks[0].Comparison; len(c.Fixed) > 0 || len(c.Unstable) != 1 || v.Grade != deed.GradePassing {
		t.Errorf("%s %+v", v.Grade, c)
	}
}

// A command that showed tests on the base and shows none now has not run them.
func TestACommandThatRunsNoTestAnyMore(t *testing.T) {
	t.Parallel()
	run := func(after RunResult) deed.Verdict {
		return scene{base: toyBase(), work: files(map[string]string{"main.go": fixed}), edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "npm test"}}
			in.Runner = commands(func(_ context.Context, _ deed.Check, _ string, base bool) RunResult {
				if base {
					return RunResult{Result: deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}, Report: tests("-a +b"), Runners: []string{"mocha"}}
				}
				return after
			})
		}}.decide(t)
	}
	passed := deed.CheckResult{Status: deed.CheckPassed}
	for _, c := range []struct {
		name string
		ran  RunResult
		want string
	}{
		{"it ends early", RunResult{Result: passed}, CodeReportMissing},
		{"it ends in the middle", RunResult{Result: passed, Report: tests("+a +b"), Faults: []string{"mocha did not end"}}, CodeReportMissing},
		{"all pass", RunResult{Result: passed, Report: tests("+a +b")}, ""},
		{"one is gone", RunResult{Result: passed, Report: tests("+a")}, CodeTestsVanished},
	} {
		v := run(c.ran)
		if got := strings.Join(codes(v), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.want == "" && (v.Grade != deed.GradeFixed || v.Observed != deed.ObservedTests) {
			t.Errorf("%s: grade %q by %q", c.name, v.Grade, v.Observed)
		}
	}
}

// A grade that is asked for refuses work that proves less.
func TestAGradeThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, least, want string
		checks            []deed.Check
	}{
		{"", "", "", nil},
		{"", deed.GradePassing, CodeGradeTooLow, nil},
		{runner.StatusPassed, deed.GradePassing, "", []deed.Check{{Shell: "x"}}},
		{runner.StatusPassed, deed.GradeFixed, CodeGradeTooLow, []deed.Check{{Shell: "x"}}},
		{runner.StatusFailed, deed.GradeFixed, "", []deed.Check{{Shell: "x"}}},
		{runner.StatusFailed, deed.GradeFixed, CodeGradeTooLow, []deed.Check{{Shell: "x", Advisory: true}}},
	} {
		v := scene{work: change("main.go", "package main // better\n"), edit: func(in *Input, _ string) {
			in.Spec.Checks, in.Spec.RequireGrade = c.checks, c.least
			in.Runner = commands(func(_ context.Context, k deed.Check, _ string, base bool) RunResult {
				r := deed.CheckResult{Name: CheckName(k), Status: deed.CheckPassed}
				if base {
					r.Status = c.base
				}
				return RunResult{Result: r}
			})
		}}.decide(t)
		if got := strings.Join(codes(v), " "); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A test steers nothing but itself, also where the check runs it as a program; scripts and configuration do.
func TestWhatSteersACheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check deed.Check
		path  string
		want  bool
	}{
		{deed.Check{Shell: "python3 test_calc.py"}, "test_calc.py", false},
		{deed.Check{Shell: "make test"}, "tests/data.txt", false},
		{deed.Check{Shell: "make test"}, "tests/run", true},
		{deed.Check{Shell: "make test"}, "Makefile", true},
		{deed.Check{Shell: "make test"}, "tests/conftest.py", true},
		{deed.Check{Shell: "cargo test"}, "rustfmt.toml", false},
		{deed.Check{Capability: runner.Lint}, "rustfmt.toml", true},
	} {
		k := &evaluation{check: c.check, base: BaseRun{Programs: []string{"test_calc.py", "tests/run"}}}
		k.result.ChangedInputs = []deed.ChangedInput{{Path: c.path, Status: "modified"}}
		if got := k.steered(); got != c.want {
			t.Errorf("%s for %+v: %v, want %v", c.path, c.check, got, c.want)
		}
	}
}
