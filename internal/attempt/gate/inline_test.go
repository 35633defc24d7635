package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

const rustSource = `pub fn add(a: i32, b: i32) -> i32 { a - b } // }

pub fn brace<'a>(s: &'a str) -> bool { s == "}" || s == r#"{"# || s.contains('{') }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3); // { } "
        assert!(brace("}"));
        let _ = ('}', '\'', r"{", /* { */ "\"{");
    }
}

pub fn last() {}
`

func TestBlocksOfTests(t *testing.T) {
	t.Parallel()
	got := testBlocks([]byte(rustSource))
	if len(got) != 1 || got[0].name != "tests" || !strings.HasSuffix(rustSource[:got[0].end], "    }\n}") || !strings.HasPrefix(rustSource[got[0].start:], "#[cfg(test)]") {
		t.Fatalf("%+v", got)
	}
	for _, text := range []string{"", "mod tests { }", "#[cfg(test)]\nmod tests;", "#[cfg(test)]\nuse x;\n", "#[cfg(test)]\nmod open {"} {
		if got := testBlocks([]byte(text)); got != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	weak := strings.NewReplacer("a - b", "a + b", "3)", "-1)").Replace(rustSource)
	want := strings.Replace(rustSource, "a - b", "a + b", 1)
	if diff := cmp.Diff(want, strings.ReplaceAll(string(withBlocks([]byte(weak), []byte(rustSource))), "}\n\n\npub", "}\n\npub")); diff != "" {
		t.Errorf("the tests are not as they were: %s", diff)
	}
	if got := string(withBlocks([]byte("pub fn add() {}\n"), []byte(rustSource))); !strings.Contains(got, "fn adds()") {
		t.Errorf("tests that were taken out are not back: %s", got)
	}
	block := rustSource[testBlocks([]byte(rustSource))[0].start:testBlocks([]byte(rustSource))[0].end]
	moved := strings.Replace(rustSource, block, "#[cfg(test)]\nmod tests;", 1)
	if got := string(withBlocks([]byte(moved), []byte(rustSource))); got != rustSource {
		t.Errorf("tests that moved into a file of their own are not back in their place: %s", cmp.Diff(rustSource, got))
	}
}

func FuzzTestBlocks(f *testing.F) {
	f.Add(rustSource)
	f.Add("#[cfg(test)]\nmod a { r#\"\"# } #[cfg(test)] mod b {'{'}")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, b := range testBlocks([]byte(text)) {
			if b.start < at || b.end <= b.start || b.end > len(text) || text[b.end-1] != '}' {
				t.Fatalf("%+v in %q", b, text)
			}
			at = b.end
		}
		withBlocks([]byte(text), []byte(rustSource))
	})
}

// Tests that stand in the source that they test are pinned, and the rest of the source is not.
func TestTestsInsideOfASource(t *testing.T) {
	t.Parallel()
	edit := func(pairs ...string) map[string]string {
		return map[string]string{"src/lib.rs": strings.NewReplacer(pairs...).Replace(rustSource)}
	}
	for _, c := range []struct {
		name   string
		change map[string]string
		want   []string
		notes  []string
		grade  string
	}{
		{name: "fixes the code", change: edit("a - b", "a + b"), grade: deed.GradeFixed},
		{name: "weakens the test", change: edit("2), 3)", "2), -1)"), want: []string{"check_failed", "check_inputs_changed:src/lib.rs"}},
		{name: "weakens the test and edits the code", change: edit("2), 3)", "2), -1)", "pub fn last() {}", "pub fn last() { }"), want: []string{"check_failed", "needs_person", "check_inputs_changed:src/lib.rs"}},
		{
			name: "fixes the code and adds a test", change: edit("a - b", "a + b", "    use super::*;\n", "    use super::*;\n\n    #[test]\n    fn more() {}\n"),
			notes: []string{"check_inputs_changed:src/lib.rs"}, grade: deed.GradeFixed,
		},
		{name: "takes the tests out", change: map[string]string{"src/lib.rs": rustSource[:strings.Index(rustSource, "#[cfg")]}, want: []string{"check_failed", "needs_person", "check_inputs_changed:src/lib.rs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := scene{base: map[string]string{"src/lib.rs": rustSource}, work: files(c.change), edit: func(in *Input, _ string) {
				in.Spec.Checks = []deed.Check{{Shell: "cargo test"}}
				in.Runner = commands(func(_ context.Context, _ deed.Check, room string, _ bool) RunResult {
					text, err := os.ReadFile(filepath.Join(Tree(room), "src", "lib.rs"))
					must(t, err)
					r := deed.CheckResult{Status: deed.CheckPassed}
					if s := string(text); strings.Contains(s, "2), 3)") && strings.Contains(s, "a - b") {
						r.Status, r.ExitCode = deed.CheckFailed, 101
					}
					return RunResult{Result: r}
				})
			}}.decide(t)
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Errorf("reasons: %s\n%+v", diff, v.Reasons)
			}
			if diff := cmp.Diff(c.notes, codes(deed.Verdict{Reasons: v.Notes})); diff != "" {
				t.Errorf("notes: %s", diff)
			}
			if v.Grade != c.grade {
				t.Errorf("grade %q", v.Grade)
			}
		})
	}
}

// What supports tests is pinned wherever it stands, and what only looks like it is not.
func TestSupportOfTests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, was string
		want      bool
	}{
		{"internal/compare/compare.go", "package compare\n\nimport (\n\t\"reflect\"\n\t\"testing\"\n)\n", true},
		{"calc.go", "package calc\n\nimport \"fmt\"\n", false},
		{"shop/testing.py", "import pytest\n\n@pytest.fixture\ndef x(): pass\n", true},
		{"shop/money.py", "def parse(text): pass\n", false},
		{"support/near.js", "const assert = require('node:assert/strict');\n", true},
		{"src/money.js", "const assert = require('node:assert/strict');\n", false},
		{"lib/harness.ts", "import { expect } from 'vitest';\n", true},
		{"src/Base.php", "<?php\nuse PHPUnit\\Framework\\TestCase;\n", true},
		{"src/check.h", "#include <stdio.h>\n#define CHECK(x) assert(x)\n", true},
	} {
		got := scene{base: map[string]string{c.name: c.was}, work: change(c.name, c.was+"\n\n"), edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "x"}}
			in.Runner = commands(func(context.Context, deed.Check, string, bool) RunResult {
				return RunResult{Result: deed.CheckResult{Status: deed.CheckPassed}}
			})
		}}.decide(t).Checks[0].ChangedInputs
		if (len(got) == 1) != c.want {
			t.Errorf("%s: an input is %v, want %v", c.name, len(got) == 1, c.want)
		}
	}
}

// A person is asked where scripts that drove the check on the base are there and do not run any more, and where some of the tests
// that failed together are fixed.
func TestWhatOnlyAPersonCanTell(t *testing.T) {
	t.Parallel()
	passed := deed.CheckResult{Status: deed.CheckPassed}
	scripts := func(base bool, ran ...string) RunResult {
		return RunResult{Result: passed, Programs: map[bool][]string{true: ran}[base], Executed: ran, Traced: true}
	}
	together := func(words string) RunResult {
		r := tests(words)
		for i := range r.TestCases {
			r.TestCases[i].File = "a_test.py"
		}
		return RunResult{Result: deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}, Report: r}
	}
	for _, c := range []struct {
		name        string
		base, after RunResult
		kind        AskKind
		want        string
	}{
		{"all scripts run", scripts(true, "run.sh"), scripts(false, "run.sh", "new.sh"), AskInputs, ""},
		{"one does not", scripts(true, "run.sh"), scripts(false, "new.sh"), AskUnrun, "program_not_run needs_person"},
		{"one is gone", scripts(true, "gone.sh"), scripts(false), AskInputs, ""},
		{"what ran is not known", scripts(true, "run.sh"), RunResult{Result: passed}, AskInputs, ""},
		{"one of two is fixed", together("-a -b"), together("+a -b"), AskUnfinished, "tests_still_failing needs_person"},
		{"none is", together("-a -b"), together("-a -b"), AskInputs, "tests_still_failing tests_still_failing"},
	} {
		for _, allowed := range []bool{true, false} {
			asked := AskInputs
			v := scene{base: toyBase(), work: files(map[string]string{"main.go": fixed}), edit: func(in *Input, _ string) {
				in.Spec.Checks = []deed.Check{{Shell: "make test"}}
				in.Runner = commands(func(_ context.Context, _ deed.Check, _ string, base bool) RunResult {
					ran := c.after
					if base {
						ran = c.base
					}
					if ran.Report != nil {
						r := *ran.Report // witnesses are taken out of it
						ran.Report = &r
					}
					return ran
				})
				in.Ask = func(_ context.Context, _ deed.Check, q Question) (bool, string, error) {
					asked = q.Kind
					return allowed, "ana", nil
				}
			}}.decide(t)
			want := c.want
			if allowed && c.kind != AskInputs {
				want = ""
			}
			if got := strings.Join(codes(v), " "); got != want || asked != c.kind {
				t.Errorf("%s, allowed %v: asked %v, %q, want %q", c.name, allowed, asked, got, want)
			}
		}
	}
}

// A new test that runs in one process with others can change what they see. So the work has to pass without it too.
func TestANewTestThatMakesOthersPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  map[string]string
		runners []string
		want    string
		runs    int // on the change
	}{
		{"it patches the program", map[string]string{"test_aaa.py": "import m; m.add = right\n"}, []string{"pytest"}, CodeCheckFailed, 2},
		{"the program is right", map[string]string{"test_more.py": "x = 1\n", "m.py": "a + b\n"}, []string{"pytest"}, "", 2},
		{"runners are not known", map[string]string{"test_aaa.py": "import m; m.add = right\n"}, nil, CodeCheckFailed, 2},
		{"each file has a process of its own", map[string]string{"more.test.js": "x\n", "m.py": "a + b\n"}, []string{"node"}, "", 1},
		{"no test is new", map[string]string{"m.py": "a + b\n"}, []string{"pytest"}, "", 1},
	} {
		runs := 0
		v := scene{base: map[string]string{"m.py": "a - b\n", "test_m.py": "a + b\n"}, work: files(c.change), edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "make test"}}
			in.Runner = commands(func(_ context.Context, _ deed.Check, room string, base bool) RunResult {
				if !base {
					runs++
				}
				r := deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}
				text, _ := os.ReadFile(filepath.Join(Tree(room), "m.py"))
				if _, err := os.Stat(filepath.Join(Tree(room), "test_aaa.py")); err == nil || strings.Contains(string(text), "+") {
					r = deed.CheckResult{Status: deed.CheckPassed}
				}
				return RunResult{Result: r, Runners: c.runners}
			})
		}}.decide(t)
		if got := strings.Join(codes(v), " "); got != c.want || runs != c.runs {
			t.Errorf("%s: %q in %d runs, want %q in %d", c.name, got, runs, c.want, c.runs)
		}
	}
}

// A check that failed for a test on the base and ends well now, while the test still fails, hides that.
func TestACheckThatHidesFailures(t *testing.T) {
	t.Parallel()
	failed, passed := deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}, deed.CheckResult{Status: deed.CheckPassed}
	for _, c := range []struct {
		name        string
		base, after RunResult
		want        string
	}{
		{"as on the base", RunResult{Result: passed, Report: status(tests("-a +b"), runner.StatusPassed)}, RunResult{Result: passed, Report: status(tests("-a +b"), runner.StatusPassed)}, ""},
		{"it ends well now", RunResult{Result: failed, Report: tests("-a +b")}, RunResult{Result: passed, Report: status(tests("-a +b"), runner.StatusPassed)}, CodeTestsStillFailing},
		{"so it does beside a fix", RunResult{Result: failed, Report: tests("-a -b")}, RunResult{Result: passed, Report: status(tests("-a +b"), runner.StatusPassed)}, CodeTestsStillFailing},
	} {
		v := scene{base: toyBase(), work: files(map[string]string{"main.go": fixed}), edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "make test"}}
			in.Runner = commands(func(_ context.Context, _ deed.Check, _ string, base bool) RunResult {
				ran := c.after
				if base {
					ran = c.base
				}
				r := *ran.Report // witnesses are taken out of it
				ran.Report = &r
				return ran
			})
		}}.decide(t)
		if got := strings.Join(codes(v), " "); got != c.want {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, v.Reasons)
		}
	}
}
