package fix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/undo"
)

// A testBundle is a component with three files and a job on it.
type testBundle struct {
	t   *testing.T
	dir string
	job Job
}

// setup makes a job whose fixer writes the files it is given and reports the fixes.
func setup(t *testing.T, writes map[string]string, fixes ...runner.FixResult) *testBundle {
	t.Helper()
	b := &testBundle{t: t, dir: t.TempDir()}
	b.write(map[string]string{"a.go": "package a\n", "b.go": "package  b\n", "c.txt": "c\n"})
	b.job = Job{
		Dir: b.dir, Store: t.TempDir(),
		Diagnose: func(context.Context) (runner.Report, error) {
			return runner.Report{Status: runner.StatusFailed, LintFindings: []runner.LintFinding{{Message: "m"}}}, nil
		},
		Fix: func(context.Context) (runner.Report, error) {
			b.write(writes)
			return runner.Report{Status: runner.StatusPassed, Autofix: &runner.Autofix{Fixes: fixes}}, nil
		},
		Verify: []Step{Syntax(b.dir)},
	}
	return b
}

func (b *testBundle) write(files map[string]string) {
	b.t.Helper()
	for p, text := range files {
		p = filepath.Join(b.dir, p)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// state is the text of every file.
func (b *testBundle) state() map[string]string {
	b.t.Helper()
	list, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(b.dir, e.Name()))
		if err != nil {
			b.t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	return got
}

func (b *testBundle) run() runner.Report {
	b.t.Helper()
	rep, err := Run(b.t.Context(), b.job)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, ok := undo.Pending(b.job.Store, b.dir); ok {
		b.t.Error("there is still something to undo")
	}
	return rep
}

func (b *testBundle) unchanged(before map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(before, b.state()); diff != "" {
		b.t.Error(diff)
	}
}

func TestAFixThatPassesIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"b.go": "package b\n", "new.go": "package b\n"},
		runner.FixResult{File: "b.go", Rule: "gofmt", Confidence: runner.ConfidenceSafe}, runner.FixResult{File: "b.go", Rule: "gofmt"}, runner.FixResult{File: "new.go", Rule: "gen", Primitive: "insert"})
	rep := b.run()
	want := &runner.Autofix{
		FilesModified: 2, RerunRecommended: true, ChangedFiles: []string{"b.go", "new.go"},
		Summary:      runner.FixSummary{FixesApplied: 3, FilesModified: 2, Rules: []runner.RuleCount{{Rule: "gen", Count: 1}, {Rule: "gofmt", Count: 2}}, Primitives: []string{"insert"}},
		Verification: []runner.Phase{{Phase: runner.PhaseSyntax, Status: runner.StatusPassed, Summary: "2 file(s) parse"}},
	}
	if diff := cmp.Diff(want, rep.Autofix, cmpopts.IgnoreFields(runner.Autofix{}, "Fixes")); diff != "" {
		t.Error(diff)
	}
	if b.state()["b.go"] != "package b\n" {
		t.Error("the fix was not kept")
	}
}

func TestAFixThatFailsIsPutBack(t *testing.T) {
	t.Parallel()
	failing := func(s string) Step {
		return Step{Phase: runner.PhaseLint, Run: func(context.Context, []string) (runner.Phase, error) {
			return runner.Phase{Status: s, Summary: "no"}, nil
		}}
	}
	for name, change := range map[string]func(b *testBundle){
		"it does not parse": func(b *testBundle) {
			b.write(map[string]string{"c.txt": "d\n"})
			b.job.Fix = writing(b, "b.go", "packag b\n")
		},
		"the lint is worse":         func(b *testBundle) { b.job.Verify = append(b.job.Verify, failing(runner.StatusFailed)) },
		"the verification broke":    func(b *testBundle) { b.job.Verify = append(b.job.Verify, failing(runner.StatusError)) },
		"the fixers were not ended": func(b *testBundle) { b.job.Fix = ending(b.job.Fix, runner.StatusError) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, map[string]string{"b.go": "package b\n", "new.go": "package b\n"})
			change(b)
			before := b.state() // a file that is dirty already counts as it is
			rep := b.run()
			if !rep.Autofix.Reverted || rep.Autofix.Reason == "" || rep.Autofix.FilesModified != 0 {
				t.Errorf("got %+v", rep.Autofix)
			}
			b.unchanged(before)
		})
	}
}

func writing(b *testBundle, p, text string) func(context.Context) (runner.Report, error) {
	return func(context.Context) (runner.Report, error) {
		b.write(map[string]string{p: text})
		return runner.Report{Status: runner.StatusPassed}, nil
	}
}

func ending(fix func(context.Context) (runner.Report, error), status string) func(context.Context) (runner.Report, error) {
	return func(ctx context.Context) (runner.Report, error) {
		rep, err := fix(ctx)
		rep.Status = status
		return rep, err
	}
}

func TestAnErrorPutsEverythingBack(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	b := setup(t, map[string]string{"b.go": "package b\n"})
	ctx, cancel := context.WithCancelCause(t.Context())
	b.job.Verify = []Step{{Phase: "x", Run: func(ctx context.Context, _ []string) (runner.Phase, error) {
		cancel(boom) // the user pressed control and C
		return runner.Phase{}, context.Cause(ctx)
	}}}
	before := b.state()
	if _, err := Run(ctx, b.job); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	b.unchanged(before)
}

func TestAPlanChangesNothing(t *testing.T) {
	t.Parallel()
	fixes := []runner.FixResult{{File: "b.go", Rule: "gofmt", Action: "format"}}
	for name, writes := range map[string]map[string]string{
		"the fixers know plans": nil,
		"the fixers know none":  {"b.go": "package b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writes, fixes...)
			b.job.Plan = true
			before := b.state()
			rep := b.run()
			if a := rep.Autofix; !a.Planned || a.FilesModified != 0 || !cmp.Equal(a.ChangedFiles, []string{"b.go"}) || !cmp.Equal(a.Fixes, fixes) {
				t.Errorf("got %+v", a)
			}
			if told := len(rep.Warnings) > 0; told != (writes != nil) {
				t.Errorf("got %q", rep.Warnings)
			}
			b.unchanged(before)
		})
	}
}

func TestAdviceIsToldAndNotApplied(t *testing.T) {
	t.Parallel()
	advice := func(file, action string) runner.FixResult {
		return runner.FixResult{File: file, Rule: "maybe", Action: action, Confidence: runner.ConfidenceAdvisory}
	}
	sure := runner.FixResult{File: "b.go", Rule: "gofmt", Confidence: runner.ConfidenceGuarded}
	for name, c := range map[string]struct {
		fixes []runner.FixResult
		kept  bool // of b.go
	}{
		"told only, beside a sure fix":     {[]runner.FixResult{sure, advice("b.go", "")}, true},
		"done, beside a sure fix":          {[]runner.FixResult{sure, advice("b.go", "rewrote")}, false},
		"nothing but advice":               {[]runner.FixResult{advice("b.go", "")}, false},
		"advice on another file":           {[]runner.FixResult{advice("a.go", "rewrote")}, true},
		"a fixer that says nothing at all": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, map[string]string{"b.go": "package b\n"}, c.fixes...)
			rep := b.run()
			if got := b.state()["b.go"] == "package b\n"; got != c.kept {
				t.Errorf("kept: %v", got)
			}
			for _, f := range rep.Autofix.Fixes {
				if f.Confidence == runner.ConfidenceAdvisory {
					t.Errorf("advice is among the fixes: %+v", f)
				}
			}
			for _, f := range c.fixes {
				if f.Confidence == runner.ConfidenceAdvisory && len(rep.Autofix.Advice) == 0 {
					t.Error("the advice was not told")
				}
			}
		})
	}
}

func TestNothingIsFixedWithoutFindings(t *testing.T) {
	t.Parallel()
	for _, status := range []string{runner.StatusPassed, runner.StatusSkipped, runner.StatusError} {
		b := setup(t, map[string]string{"b.go": "changed\n"})
		b.job.Diagnose = func(context.Context) (runner.Report, error) { return runner.Report{Status: status}, nil }
		before := b.state()
		if rep := b.run(); rep.Status != status || rep.Autofix.FilesModified != 0 {
			t.Errorf("got %+v", rep)
		}
		b.unchanged(before)
	}
}

func TestAKilledRunIsRecoveredFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c, err := undo.Take(t.Context(), b.job.Store, b.dir)
	if err != nil {
		t.Fatal(err)
	}
	before := b.state()
	b.write(map[string]string{"a.go": "half done"})
	c.Close()
	rep := b.run()
	if len(rep.Warnings) != 1 || !strings.Contains(rep.Warnings[0], "was killed") || !strings.Contains(rep.Warnings[0], "a.go") {
		t.Errorf("got %q", rep.Warnings)
	}
	b.unchanged(before)
}
