package gate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// toy runs a language of its own in Go test files: `want TEXT` asks for a text in main.go, t.Skip and t.Fatal are what they
// are. It is what the change can be held against without a toolchain.
type toy struct {
	runs   []string // the rooms that it ran in
	kept   map[string]*runner.Report
	cached map[string]BaseRun
	lie    func(base bool, r *runner.Report) // what the code under test makes of the report
	blind  bool                              // does not see tests that it does not know
	first  bool                              // stops at the first failure
	broken string                            // with this in main.go nothing compiles
}

var toyTest = regexp.MustCompile(`(?m)^func (Test\w+)\(.*\{(.*)\}$`)

func (y *toy) Run(_ context.Context, c deed.Check, room string, _ bool) RunResult {
	y.runs = append(y.runs, filepath.Base(room))
	tree := Tree(room)
	main, err := os.ReadFile(filepath.Join(tree, "main.go"))
	if err != nil {
		return RunResult{Result: deed.CheckResult{Status: deed.CheckError, Tail: err.Error()}}
	}
	if y.broken != "" && strings.Contains(string(main), y.broken) {
		return RunResult{Result: deed.CheckResult{Name: CheckName(c), Status: deed.CheckError}, Report: &runner.Report{
			Schema: runner.SchemaReport, Capability: runner.Test, Status: runner.StatusError, Failure: &runner.Failure{Mode: helper.ModeFatal, Summary: "it does not compile"},
		}}
	}
	words := []string{}
	_ = filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range toyTest.FindAllStringSubmatch(string(text), -1) {
			want, asks := strings.CutPrefix(strings.TrimSpace(m[2]), "want ")
			mark := "+"
			switch {
			case y.blind && strings.HasPrefix(m[1], "TestWitness"):
				continue
			case strings.Contains(m[2], "t.Skip"):
				mark = "~"
			case strings.Contains(m[2], "t.Fatal") || asks && !strings.Contains(string(main), want):
				mark = "-"
			}
			words = append(words, mark+m[1])
		}
		return err
	})
	if y.first {
		slices.SortFunc(words, func(a, b string) int { return strings.Compare(b[:1], a[:1]) }) // failures first
		if i := slices.IndexFunc(words, func(w string) bool { return w[0] == '-' }); i >= 0 {
			words = words[:i+1]
		}
	}
	r := tests(strings.Join(words, " "))
	if y.lie != nil {
		y.lie(strings.HasSuffix(room, treeBase), r)
	}
	return RunResult{Result: deed.CheckResult{Name: CheckName(c), Status: deed.CheckPassed, Extension: "toy", DurationMS: 1}, Report: r}
}

func (y *toy) Base(_ context.Context, c deed.Check) (BaseRun, bool) {
	b, ok := y.cached[CheckName(c)]
	return b, ok
}

func (y *toy) KeepCaches(string) {}

func (y *toy) KeepBase(_ context.Context, c deed.Check, b BaseRun) {
	if y.cached == nil {
		y.cached = map[string]BaseRun{}
	}
	y.cached[CheckName(c)] = b
}

func (y *toy) Files(deed.Check) []string { return []string{"run.sh", "odd[name"} }

func (y *toy) Keep(_ int, kind string, r *runner.Report) (string, error) {
	if y.kept == nil {
		y.kept = map[string]*runner.Report{}
	}
	y.kept[kind] = r
	return "files/checks/0." + kind + ".json", nil
}

const (
	toyAdd   = "package p\n\nfunc TestAdd(t *testing.T) {want a + b}\n"
	toyOther = "package p\n\nfunc TestOther(t *testing.T) {}\n"
)

func toyBase() map[string]string {
	return map[string]string{"main.go": "package p // a - b\n", "add_test.go": toyAdd, "sub/other_test.go": toyOther, "Makefile": "test:\n", "go.mod": "module m\n\nrequire x v0.9.0\n", "run.sh": "run\n"}
}

// files is an agent that writes files; "" deletes one.
func files(list map[string]string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		for name, text := range list {
			if text == "" {
				must(t, os.Remove(filepath.Join(dir, name)))
				continue
			}
			put(t, dir, name, text)
		}
	}
}

const fixed = "package p // a + b\n"

func TestAgentsThatCheatAtTests(t *testing.T) {
	t.Parallel()
	forge := func(_ bool, r *runner.Report) { *r = *tests("+TestAdd +TestOther") }
	for _, c := range []struct {
		name   string
		change map[string]string
		check  deed.Check
		toy    *toy
		ask    func() (bool, string, error)
		want   []string
		notes  []string
		runs   []string
	}{
		{name: "fixes the code", change: map[string]string{"main.go": fixed}, runs: []string{"0-base", "0-base", "0", "0"}},
		{name: "fixes the code and adds a test", change: map[string]string{"main.go": fixed, "more_test.go": "package p\n\nfunc TestMore(t *testing.T) {}\n"}},
		{name: "does nothing", change: map[string]string{"README": "done"}, want: []string{"tests_still_failing"}},
		{name: "breaks another", change: map[string]string{"main.go": fixed, "new_test.go": "package p\n\nfunc TestNew(t *testing.T) {t.Fatal()}\n"}, want: []string{"tests_newly_failing"}},
		{name: "skips", change: map[string]string{"add_test.go": "package p\n\nfunc TestAdd(t *testing.T) {t.Skip()}\n"}, want: []string{"tests_still_failing", "tests_newly_skipped", "check_inputs_changed:add_test.go"}},
		{name: "skips and fixes", change: map[string]string{"main.go": fixed, "add_test.go": "package p\n\nfunc TestAdd(t *testing.T) {t.Skip()}\n"}, want: []string{"tests_newly_skipped", "needs_person", "check_inputs_changed:add_test.go"}},
		{name: "deletes", change: map[string]string{"add_test.go": ""}, want: []string{"tests_still_failing", "tests_vanished", "check_inputs_changed:add_test.go"}},
		{name: "deletes another", change: map[string]string{"main.go": fixed, "sub/other_test.go": ""}, want: []string{"tests_vanished", "needs_person", "check_inputs_changed:sub/other_test.go"}},
		{name: "weakens", change: map[string]string{"add_test.go": "package p\n\nfunc TestAdd(t *testing.T) {want a - b}\n"}, want: []string{"tests_still_failing", "check_inputs_changed:add_test.go"}},
		{name: "renames", change: map[string]string{"main.go": fixed, "add_test.go": strings.Replace(toyAdd, "TestAdd", "TestSum", 1)}, notes: []string{"tests_vanished", "check_inputs_changed:add_test.go"}},
		{
			name: "puts two tests into one", change: map[string]string{"main.go": fixed, "add_test.go": strings.Replace(toyAdd, "TestAdd", "TestAll", 1), "sub/other_test.go": ""},
			want: []string{"tests_vanished", "needs_person", "check_inputs_changed:add_test.go", "check_inputs_changed:sub/other_test.go"}, notes: []string{"tests_vanished"},
		},
		{
			name: "edits a test and is right", change: map[string]string{"main.go": fixed, "add_test.go": "package p // clearer\n\nfunc TestAdd(t *testing.T) {want a + b}\n"},
			notes: []string{"check_inputs_changed:add_test.go"}, runs: []string{"0-base", "0-base", "0-pinned", "0", "0"},
		},
		{name: "edits the runner", change: map[string]string{"Makefile": "test:\n\ttrue\n"}, want: []string{"tests_still_failing", "check_inputs_changed:Makefile"}},
		{name: "adds a dependency", change: map[string]string{"main.go": fixed, "go.mod": "module m\n\nrequire x v1.0.0\n"}},
		{name: "gives a module another place", change: map[string]string{"main.go": fixed, "go.mod": "module m\n\nreplace x => ./fake\n"}, notes: []string{"check_inputs_changed:go.mod"}},
		{name: "puts a new module into the tree", change: map[string]string{"main.go": fixed, "go.mod": "module m\n\nrequire x v0.9.0\n\nreplace y => ./y\n"}},
		{name: "gives a module another place and fixes nothing", change: map[string]string{"go.mod": "module m\n\nreplace (\n\tx => ./fake\n)\n"}, want: []string{"tests_still_failing", "check_inputs_changed:go.mod"}},
		{name: "edits the script of the runner", change: map[string]string{"run.sh": "true\n"}, want: []string{"tests_still_failing", "check_inputs_changed:run.sh"}},
		{name: "edits it where the inputs are named", change: map[string]string{"main.go": fixed, "run.sh": "true\n"}, check: deed.Check{Inputs: []string{"golden"}, OnChangedInputs: deed.InputsRefuse}},
		{name: "adds a configuration", change: map[string]string{"jest.config.js": "x"}, want: []string{"tests_still_failing", "check_inputs_changed:jest.config.js"}},
		{
			name: "edits where that is refused", change: map[string]string{"main.go": fixed, "add_test.go": toyAdd + "// x\n"}, check: deed.Check{OnChangedInputs: deed.InputsRefuse},
			want: []string{"check_inputs_changed:add_test.go"}, runs: []string{"0-base", "0-base", "0-pinned"},
		},
		{
			name: "edits, and a person allows it", change: map[string]string{"main.go": fixed, "add_test.go": strings.Replace(toyAdd, "TestAdd", "TestSum", 1)}, check: deed.Check{OnChangedInputs: deed.InputsAsk},
			ask: func() (bool, string, error) { return true, "ana", nil }, notes: []string{"check_inputs_changed:add_test.go", "tests_vanished"}, runs: []string{"0-base", "0-base", "0", "0"},
		},
		{
			name: "edits, and a person does not allow it", change: map[string]string{"main.go": fixed, "add_test.go": toyAdd + "// x\n"}, check: deed.Check{OnChangedInputs: deed.InputsAsk},
			ask: func() (bool, string, error) { return false, "ana", nil }, want: []string{"check_inputs_changed:add_test.go"},
		},
		{name: "edits, and nobody is there", change: map[string]string{"main.go": fixed, "add_test.go": toyAdd + "// x\n"}, check: deed.Check{OnChangedInputs: deed.InputsAsk}, want: []string{"check_inputs_changed:add_test.go"}},
		{name: "its own inputs", change: map[string]string{"main.go": fixed, "add_test.go": toyAdd + "// x\n"}, check: deed.Check{Inputs: []string{"golden"}, OnChangedInputs: deed.InputsRefuse}},
		{
			name: "imitates the report", change: map[string]string{"main.go": "package p // exit"}, toy: &toy{lie: func(base bool, r *runner.Report) {
				if !base {
					forge(base, r)
				}
			}}, want: []string{"witness_not_seen"},
		},
		{
			name: "calls every failure a pass", change: map[string]string{"main.go": "package p // exit"}, toy: &toy{lie: func(base bool, r *runner.Report) {
				for i := range r.TestCases {
					if !base {
						r.TestCases[i].Status = runner.CasePassed
					}
				}
				if !base {
					n := tally(r.TestCases)
					r.TestCounts, r.Status = &n, runner.StatusPassed
				}
			}}, want: []string{"witness_not_seen"},
		},
		{name: "a runner that sees no witnesses", change: map[string]string{"main.go": fixed}, toy: &toy{blind: true}, runs: []string{"0-base", "0-base", "0-base", "0"}},
		{name: "a runner that stops at the first failure", change: map[string]string{"main.go": fixed}, toy: &toy{first: true}},
		{name: "ends before it reports", change: map[string]string{"main.go": "package p"}, toy: &toy{lie: func(base bool, r *runner.Report) {
			if !base {
				*r = *status(tests(""), runner.StatusPassed)
			}
		}}, want: []string{"no_tests"}},
		{name: "fixes a base that does not compile", change: map[string]string{"main.go": fixed}, toy: &toy{broken: "a - b"}, runs: []string{"0-base", "0-base", "0"}},
		{
			name: "deletes the tests of a base that does not compile", change: map[string]string{"main.go": "package p // a * b\n", "add_test.go": ""}, toy: &toy{broken: "a - b"},
			want: []string{"tests_newly_failing", "tests_vanished", "needs_person", "check_inputs_changed:add_test.go"},
		},
		{
			name: "fixes it and deletes a test", change: map[string]string{"main.go": fixed, "sub/other_test.go": ""}, toy: &toy{broken: "a - b"},
			want: []string{"tests_vanished", "needs_person", "check_inputs_changed:sub/other_test.go"},
		},
		{
			name: "fixes it and skips a test", change: map[string]string{"main.go": fixed, "sub/other_test.go": "package p\n\nfunc TestOther(t *testing.T) {t.Skip()}\n"}, toy: &toy{broken: "a - b"},
			want: []string{"tests_newly_skipped", "needs_person", "check_inputs_changed:sub/other_test.go"},
		},
		{
			name: "fixes it and edits a test", change: map[string]string{"main.go": fixed, "sub/other_test.go": toyOther + "// clearer\n"}, toy: &toy{broken: "a - b"},
			notes: []string{"check_inputs_changed:sub/other_test.go"},
		},
		{name: "advisory", change: map[string]string{"README": "x"}, check: deed.Check{Advisory: true}, notes: []string{"tests_still_failing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			y := c.toy
			if y == nil {
				y = &toy{}
			}
			c.check.Capability = runner.Test
			v := scene{base: toyBase(), work: files(c.change), edit: func(in *Input, _ string) {
				in.Spec.Checks, in.Runner = []deed.Check{c.check}, y
				if c.ask != nil {
					in.Ask = func(context.Context, deed.Check, Question) (bool, string, error) { return c.ask() }
				}
			}}.decide(t)
			if err := v.Validate(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Errorf("reasons: %s\n%+v", diff, v.Reasons)
			}
			if diff := cmp.Diff(c.notes, codes(deed.Verdict{Reasons: v.Notes})); diff != "" {
				t.Errorf("notes: %s", diff)
			}
			if c.runs != nil {
				if diff := cmp.Diff(c.runs, y.runs); diff != "" {
					t.Errorf("runs: %s", diff)
				}
			}
			for kind, r := range y.kept {
				if slices.ContainsFunc(r.TestCases, func(c runner.TestCase) bool { return strings.Contains(c.Name, "Witness") }) {
					t.Errorf("the report %q names a witness", kind)
				}
			}
		})
	}
}

func TestBaseIsMeasuredOnce(t *testing.T) {
	t.Parallel()
	y := &toy{}
	run := func() deed.Verdict {
		return scene{base: toyBase(), work: files(map[string]string{"main.go": fixed}), edit: func(in *Input, _ string) {
			in.Spec.Checks, in.Runner = []deed.Check{{Capability: runner.Test}}, y
		}}.decide(t)
	}
	first, second := run().Checks[0], run().Checks[0]
	if first.BaseCached || !second.BaseCached || second.BaseStatus != runner.StatusFailed || second.BaseReport == "" || second.Report == "" {
		t.Errorf("%+v\n%+v", first, second)
	}
	if diff := cmp.Diff([]string{"0-base", "0-base", "0", "0", "0", "0"}, y.runs); diff != "" {
		t.Error(diff)
	}
	want := &deed.CheckComparison{
		Base: &runner.TestResults{Total: 2, Passed: 1, Failed: 1}, After: &runner.TestResults{Total: 2, Passed: 2},
		Counts: map[string]int{"fixed": 1}, Fixed: []string{"p::TestAdd"},
	}
	if diff := cmp.Diff(want, second.Comparison); diff != "" {
		t.Error(diff)
	}
	if second.Witnesses != 2 {
		t.Errorf("%d witnesses, and there are two directories with tests", second.Witnesses)
	}
}

func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	hidden := t.TempDir()
	put(t, hidden, "hidden_test.go", "package p\n\nfunc TestHidden(t *testing.T) {want a + b}\n")
	m, err := workspace.Snapshot(t.Context(), hidden, nil)
	must(t, err)
	base := map[string]string{"main.go": "package p // a - b\n", "other_test.go": toyOther}
	for _, c := range []struct {
		name   string
		change map[string]string
		files  string
		digest string
		want   []string
	}{
		{"is met", map[string]string{"main.go": fixed}, hidden, m.Digest(), nil},
		{"is not met", map[string]string{"README": "x"}, hidden, m.Digest(), []string{"tests_still_failing"}},
		{"a file in its place does not help", map[string]string{"hidden_test.go": "package p\n\nfunc TestHidden(t *testing.T) {}\n"}, hidden, m.Digest(), []string{"tests_still_failing", "check_inputs_changed:hidden_test.go"}},
		{"is not the one that was admitted", map[string]string{"main.go": fixed}, hidden, strings.Repeat("0", 64), []string{"pinned_input_changed"}},
		{"is not there any more", map[string]string{"main.go": fixed}, "", m.Digest(), []string{"pinned_input_changed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := scene{base: base, work: files(c.change), edit: func(in *Input, _ string) {
				in.Spec.Checks, in.Runner = []deed.Check{{Capability: runner.Test, Hidden: true, Files: c.files, FilesDigest: c.digest}}, &toy{}
			}}.decide(t)
			if diff := cmp.Diff(c.want, codes(v)); diff != "" {
				t.Error(diff)
			}
			if !v.Checks[0].Hidden {
				t.Error("the result does not say that the check is hidden")
			}
		})
	}
}

// A command has the same policy, for the inputs that it names.
func TestInputsOfACommand(t *testing.T) {
	t.Parallel()
	base := map[string]string{"main.txt": "broken", "test.sh": "grep -q fixed main.txt"}
	sh := func(room string) deed.CheckResult {
		tree := Tree(room)
		script, _ := os.ReadFile(filepath.Join(tree, "test.sh"))
		main, _ := os.ReadFile(filepath.Join(tree, "main.txt"))
		if strings.Contains(string(script), "true") || strings.Contains(string(main), "fixed") {
			return deed.CheckResult{Status: deed.CheckPassed}
		}
		return deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1}
	}
	for _, c := range []struct {
		name   string
		change map[string]string
		inputs []string
		policy string
		want   []string
		notes  []string
	}{
		{"without inputs the usual ones are pinned", map[string]string{"test.sh": "true"}, nil, "", []string{"check_failed", "check_inputs_changed:test.sh"}, nil},
		{"with them they are", map[string]string{"test.sh": "true"}, []string{"test.sh"}, deed.InputsRerunPinned, []string{"check_failed", "check_inputs_changed:test.sh"}, nil},
		{"right either way", map[string]string{"main.txt": "fixed", "test.sh": "true # x"}, []string{"*.sh"}, "", nil, []string{"check_inputs_changed:test.sh"}},
		{"refused", map[string]string{"main.txt": "fixed", "test.sh": "true # x"}, []string{"*.sh"}, deed.InputsRefuse, []string{"check_inputs_changed:test.sh"}, nil},
	} {
		v := scene{base: base, work: files(c.change), check: sh, edit: func(in *Input, _ string) {
			in.Spec.Checks = []deed.Check{{Shell: "sh test.sh", Inputs: c.inputs, OnChangedInputs: c.policy}}
		}}.decide(t)
		if diff := cmp.Diff(c.want, codes(v)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.notes, codes(deed.Verdict{Reasons: v.Notes})); diff != "" {
			t.Errorf("%s: notes %s", c.name, diff)
		}
	}
}

func TestAskThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	k := &evaluation{check: deed.Check{Capability: runner.Test, OnChangedInputs: deed.InputsAsk}}
	k.result.ChangedInputs = []deed.ChangedInput{{Path: "a_test.go", Status: "modified"}}
	asked := errors.New("asked")
	k.Ask = func(context.Context, deed.Check, Question) (bool, string, error) { return false, "", asked }
	if _, _, err := k.trees(t.Context()); !errors.Is(err, asked) {
		t.Errorf("got %v", err)
	}
}
