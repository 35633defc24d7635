package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/checks/undo"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A Job is one run of fixers.
type Job struct {
	Dir   string // of the component
	Store string // where copies are kept
	Plan  bool   // say what would be done, and do nothing

	Diagnose func(ctx context.Context) (runner.Report, error)
	Fix      func(ctx context.Context) (runner.Report, error)
	Verify   []Step // after a write, in order, until one does not pass
}

// A Step is one phase of the verification. files are those that changed and are there, below the component.
type Step struct {
	Phase string
	Run   func(ctx context.Context, files []string) (runner.Phase, error)
}

// restoreTime bounds the restoring of files, which goes on when the caller's context ends.
const restoreTime = 10 * time.Minute

// Run has a component fixed. The report is that of the diagnosis, with what the fixers did in Autofix; the caller knows
// from its verification what is left to find. An error means that nothing is known to be fixed, and every file is as it
// was unless the error says otherwise.
func Run(ctx context.Context, job Job) (rep runner.Report, err error) {
	told, err := Recover(ctx, job.Store, job.Dir)
	if err != nil {
		return rep, err
	}
	rep, err = job.Diagnose(ctx)
	rep.Warnings = append(told, rep.Warnings...)
	if err != nil {
		return rep, err
	}
	rep.Autofix = &runner.Autofix{ChangedFiles: []string{}, Planned: job.Plan, Summary: runner.FixSummary{Rules: []runner.RuleCount{}}}
	if rep.Status != runner.StatusFailed {
		return rep, nil // nothing to fix, or nothing that can be reported
	}
	c, err := undo.Take(ctx, job.Store, job.Dir)
	if err != nil {
		return rep, err
	}
	defer c.Close()
	r := run{job: job, copy: c, rep: &rep}
	if err := r.fix(ctx); err != nil {
		return rep, errors.Join(err, r.back(ctx))
	}
	return rep, nil
}

// Recover restores what a killed run of fixers left in a component, and reports it.
func Recover(ctx context.Context, store, dir string) ([]string, error) {
	if _, ok := undo.Pending(store, dir); !ok {
		return nil, nil
	}
	r, ok, err := undo.Recover(ctx, store, dir)
	if err != nil || !ok {
		return nil, err
	}
	text := fmt.Sprintf("an earlier run of fixers, begun at %s, was killed: ", r.Since.Format(time.RFC3339))
	if len(r.Restored) == 0 {
		return []string{text + "it had changed nothing"}, nil
	}
	text += fmt.Sprintf("%d file(s) were put back as they were before it (%s)", len(r.Restored), shown(r.Restored))
	if r.Aside != "" {
		text += "; what was found in their place is in " + r.Aside
	}
	return []string{text}, nil
}

// shown lists the first few of some files.
func shown(files []string) string {
	const most = 5
	var names []string
	for _, f := range files[:min(most, len(files))] {
		names = append(names, workspace.Display(f))
	}
	if len(files) > most {
		names = append(names, fmt.Sprintf("and %d more", len(files)-most))
	}
	return strings.Join(names, ", ")
}

// A run is a job at work.
type run struct {
	job  Job
	copy *undo.Copy
	rep  *runner.Report
}

func (r *run) fix(ctx context.Context) error {
	fixed, err := r.job.Fix(ctx)
	if err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.FixWritten)
	r.rep.Warnings = append(r.rep.Warnings, fixed.Warnings...)
	r.rep.DurationMS += fixed.DurationMS
	changes, err := r.copy.Changes(ctx)
	if err != nil {
		return err
	}
	a := r.rep.Autofix
	if fixed.Autofix != nil {
		for _, f := range fixed.Autofix.Fixes {
			if f.Confidence == runner.ConfidenceAdvisory {
				a.Advice = append(a.Advice, f)
			} else {
				a.Fixes = append(a.Fixes, f)
			}
		}
	}
	switch {
	case fixed.Status == runner.StatusError:
		return r.revert(ctx, "the fixers did not come to an end: "+fixed.Phase.Summary)
	case r.job.Plan:
		return r.planned(ctx, changes)
	}
	if changes, err = r.withoutAdvice(ctx, changes); err != nil {
		return err
	}
	r.count(changes)
	if len(changes) == 0 {
		return r.copy.Keep()
	}
	return r.verify(ctx, changes)
}

// planned undoes what a fixer without a plan mode did, and reports it as the plan.
func (r *run) planned(ctx context.Context, changes []undo.Change) error {
	r.count(changes)
	a := r.rep.Autofix
	if len(changes) > 0 {
		r.rep.Warnings = append(r.rep.Warnings, fmt.Sprintf("the fixers know no plan: they ran, and %d file(s) were put back", len(changes)))
	} else {
		for _, f := range a.Fixes {
			if !slices.Contains(a.ChangedFiles, f.File) {
				a.ChangedFiles = append(a.ChangedFiles, f.File)
			}
		}
		slices.Sort(a.ChangedFiles)
	}
	a.FilesModified, a.Summary.FilesModified, a.RerunRecommended = 0, 0, false
	return r.copy.Restore(ctx)
}

// withoutAdvice restores the files with advisory fixes. An advisory fix without an action was only reported; one with an action was
// applied, and cannot be separated from other changes to the same file.
func (r *run) withoutAdvice(ctx context.Context, changes []undo.Change) ([]undo.Change, error) {
	var files []string
	kept := slices.DeleteFunc(slices.Clone(changes), func(c undo.Change) bool {
		advised := slices.ContainsFunc(r.rep.Autofix.Advice, func(f runner.FixResult) bool { return f.File == c.Path && f.Action != "" })
		sure := slices.ContainsFunc(r.rep.Autofix.Fixes, func(f runner.FixResult) bool { return f.File == c.Path })
		only := slices.ContainsFunc(r.rep.Autofix.Advice, func(f runner.FixResult) bool { return f.File == c.Path }) && !sure
		if advised || only {
			files = append(files, c.Path)
		}
		return advised || only
	})
	if len(files) == 0 {
		return kept, nil
	}
	if err := r.copy.Restore(ctx, files...); err != nil {
		return nil, err
	}
	a := r.rep.Autofix
	a.Fixes = slices.DeleteFunc(a.Fixes, func(f runner.FixResult) bool { return slices.Contains(files, f.File) })
	r.rep.Warnings = append(r.rep.Warnings, fmt.Sprintf("advisory fixes are told and not applied: %s put back", shown(files)))
	return kept, nil
}

// verify keeps the change when every step passes.
func (r *run) verify(ctx context.Context, changes []undo.Change) error {
	var files []string
	for _, c := range changes {
		if c.Status != undo.Deleted {
			files = append(files, c.Path)
		}
	}
	a := r.rep.Autofix
	for i, s := range r.job.Verify {
		p, err := s.Run(ctx, files)
		if err != nil {
			return err
		}
		p.Phase = s.Phase
		a.Verification = append(a.Verification, p)
		if p.Status == runner.StatusFailed || p.Status == runner.StatusError {
			for _, rest := range r.job.Verify[i+1:] {
				a.Verification = append(a.Verification, runner.Phase{Phase: rest.Phase, Status: runner.StatusNotRun, Summary: "the verification had failed"})
			}
			return r.revert(ctx, fmt.Sprintf("the verification failed in phase %s: %s", s.Phase, p.Summary))
		}
	}
	return r.copy.Keep()
}

// revert puts every file back and says why.
func (r *run) revert(ctx context.Context, why string) error {
	if err := r.back(ctx); err != nil {
		return err
	}
	a := r.rep.Autofix
	a.Reverted, a.Reason, a.RerunRecommended = true, why, false
	a.FilesModified, a.Summary.FilesModified, a.Summary.FixesApplied = 0, 0, 0
	return nil
}

// back restores every file, even if the caller was cancelled meanwhile: that is when it matters most.
func (r *run) back(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	return r.copy.Restore(ctx)
}

// count fills in what was done.
func (r *run) count(changes []undo.Change) {
	a := r.rep.Autofix
	for _, c := range changes {
		a.ChangedFiles = append(a.ChangedFiles, c.Path)
	}
	rules := map[string]int{}
	for _, f := range a.Fixes {
		rules[f.Rule]++
		if f.Primitive != "" && !slices.Contains(a.Summary.Primitives, f.Primitive) {
			a.Summary.Primitives = append(a.Summary.Primitives, f.Primitive)
		}
	}
	for rule, n := range rules {
		a.Summary.Rules = append(a.Summary.Rules, runner.RuleCount{Rule: rule, Count: n})
	}
	slices.SortFunc(a.Summary.Rules, func(x, y runner.RuleCount) int { return strings.Compare(x.Rule, y.Rule) })
	slices.Sort(a.Summary.Primitives)
	a.FilesModified, a.RerunRecommended = len(changes), len(changes) > 0
	a.Summary.FixesApplied, a.Summary.FilesModified = len(a.Fixes), len(changes)
}
