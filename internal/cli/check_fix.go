package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/fix"
	"github.com/deedrun/deed/internal/checks/undo"
)

// defaultVerifyTime bounds a verification command that names no limit.
const defaultVerifyTime = 2 * time.Minute

// refactorCmd is `deed refactor --from lint|test`.
func (a *app) refactorCmd() *cobra.Command {
	var from string
	var write, plan bool
	f := &checkFlags{}
	c := &cobra.Command{
		Use: "refactor [DIR]", Short: "Let the fixers of a linter or test runner repair this component",
		Long: `Run the check, then its fixers, and keep what they did only when it can be verified: it must parse, pass the extension's
own verification command, and lint no worse than before. Otherwise every file is put back byte for byte.

Without --write it is a plan: it reports what would be done, and changes nothing. Exit code 1 means that findings are left. Fixes
that a fixer calls advisory are reported and never applied. A run that is killed is put back by the next one.`,
		Example: `  deed refactor --from lint
  deed refactor --from lint --write`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if from != runner.Lint && from != runner.Test {
				return usage(fmt.Errorf("--from is %q (use %s or %s)", from, runner.Lint, runner.Test))
			}
			f.capability = from
			return a.reportCheck(f, func() (runner.Report, error) {
				comp, err := a.component(slices.Concat(args, []string{"."})[0])
				if err != nil {
					return runner.Report{}, err
				}
				j, err := a.checkJob(f, comp, c.Flags().Changed)
				if err != nil {
					return runner.Report{}, err
				}
				return a.fixed(c.Context(), f, j, !write)
			})
		},
	}
	c.Flags().StringVar(&from, "from", runner.Lint, "whose fixers run: lint or test")
	c.Flags().BoolVar(&write, "write", false, "change files")
	c.Flags().BoolVar(&plan, "plan", false, "only say what would be done; this is the default")
	c.MarkFlagsMutuallyExclusive("write", "plan")
	f.register(c)
	f.changed.register(c, runner.Lint)
	return c
}

// fixed runs the fixers of a capability.
func (a *app) fixed(ctx context.Context, f *checkFlags, j check.Job, plan bool) (runner.Report, error) {
	c := j.Component
	j.Choice.NoScripts = true // a plain command has no way to be asked for fixes
	plain := *f
	plain.baseline = baselineFlags{ignore: true} // what the baseline knows is worth fixing too
	fixing := j
	fixing.Options.FixOnly, fixing.Options.Plan = true, plan
	var before, after *runner.Report
	job := fix.Job{
		Dir: c.Path, Store: a.h.Fixes(), Plan: plan,
		Diagnose: func(ctx context.Context) (runner.Report, error) {
			rep, err := a.runJob(ctx, j, &plain)
			kept := rep
			before = &kept
			return rep, err
		},
		Fix: func(ctx context.Context) (runner.Report, error) { return a.runJob(ctx, fixing, &plain) },
	}
	job.Verify = append(job.Verify, fix.Syntax(c.Path))
	commands, err := a.verifications(j)
	if err != nil {
		return runner.Report{}, err
	}
	job.Verify = append(job.Verify, commands...)
	job.Verify = append(job.Verify, fix.Step{Phase: j.Capability, Run: func(ctx context.Context, _ []string) (runner.Phase, error) {
		rep, err := a.runJob(ctx, j, &plain)
		after = &rep
		return noWorse(before, rep), err
	}})
	rep, err := fix.Run(ctx, job)
	if err == nil && after != nil && !rep.Autofix.Reverted { // what is left to find
		after.Autofix, after.Warnings, after.DurationMS = rep.Autofix, append(rep.Warnings, after.Warnings...), after.DurationMS+rep.DurationMS
		rep = *after
	}
	if err != nil {
		return rep, err
	}
	return rep, a.heldAgainstChanged(f, j, &rep)
}

// noWorse judges the check after a fix: it must come to an end, and find no more than before.
func noWorse(before *runner.Report, after runner.Report) runner.Phase {
	p := after.Phase
	old, now := trouble(*before), trouble(after)
	switch {
	case after.Status == runner.StatusError && !lackedBefore(before, after):
		return p
	case now > old:
		p.Status, p.Summary = runner.StatusFailed, fmt.Sprintf("%d before the fix, %d after it", old, now)
	case now > 0 || after.Status == runner.StatusError:
		p.Status, p.Summary = runner.StatusPassed, fmt.Sprintf("%d of %d are left", now, old)
	}
	return p
}

// lackedBefore reports whether the only thing that keeps a check from completing is missing tools that were missing before the fix
// too: what is installed completed both times.
func lackedBefore(before *runner.Report, after runner.Report) bool {
	return before != nil && after.Failure != nil && after.Failure.Cause == runner.CauseTool && !slices.ContainsFunc(after.Missing, func(m runner.Missing) bool {
		return !slices.Contains(before.Missing, m)
	})
}

// trouble counts what a check found. A check that failed without a finding counts as one.
func trouble(rep runner.Report) int {
	n := len(rep.LintFindings)
	if rep.TestCounts != nil {
		n += rep.TestCounts.Failed
	}
	if n == 0 && rep.Status == runner.StatusFailed {
		return 1
	}
	return n
}

// verifications are the commands that the extensions of a job name for it.
func (a *app) verifications(j check.Job) ([]fix.Step, error) {
	plan, err := j.Extensions.Resolve(j.Component, j.Capability, j.Choice)
	var none *extension.NotApplicable
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, usage(err)
	}
	var steps []fix.Step
	for _, e := range plan.Extensions {
		if v := e.Manifest.AutofixVerify; v != nil && v.Command != "" {
			steps = append(steps, fix.Step{Phase: runner.PhaseTypecheck, Run: func(ctx context.Context, _ []string) (runner.Phase, error) {
				return a.verification(ctx, j.Component.Path, *v)
			}})
		}
	}
	return steps, nil
}

// verification runs one command. Any end but exit code 0 within its time is a failure.
func (a *app) verification(ctx context.Context, dir string, v extension.AutofixVerify) (runner.Phase, error) {
	limit := time.Duration(v.TimeoutSecs) * time.Second
	if limit <= 0 {
		limit = defaultVerifyTime
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return runner.Phase{}, err
	}
	defer func() { _ = sup.Close() }()
	said := &lastBytes{max: 4 << 10}
	out := &lockedWriter{w: said}
	if !a.quiet {
		out.w = io.MultiWriter(said, a.Err)
	}
	argv := append([]string{v.Command}, v.Args...)
	e, err := sup.Run(ctx, proc.Spec{Argv: argv, Dir: dir, Env: a.environ, Stdout: out, Stderr: out, Timeout: limit, Grace: 2 * time.Second})
	name := strings.Join(argv, " ")
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return runner.Phase{Status: runner.StatusError, Summary: fmt.Sprintf("%s could not be started: %v", name, start)}, nil
	case err != nil:
		return runner.Phase{}, err
	case e.Canceled:
		return runner.Phase{}, context.Cause(ctx)
	case e.TimedOut:
		return runner.Phase{Status: runner.StatusError, Summary: fmt.Sprintf("%s was ended at its time limit of %s", name, limit)}, nil
	case e.Code != 0:
		return runner.Phase{Status: runner.StatusFailed, ExitCode: &e.Code, Summary: fmt.Sprintf("%s ended with exit code %d: %s", name, e.Code, said.line())}, nil
	}
	return runner.Phase{Status: runner.StatusPassed, ExitCode: &e.Code, Summary: name + " passed"}, nil
}

// lastBytes keeps the end of what is written.
type lastBytes struct {
	buf []byte
	max int
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	if n := len(l.buf) - l.max; n > 0 {
		l.buf = append(l.buf[:0], l.buf[n:]...)
	}
	return len(p), nil
}

// line is the last line that says something.
func (l *lastBytes) line() string {
	lines := bytes.Split(bytes.TrimSpace(l.buf), []byte("\n"))
	return clean(string(bytes.ToValidUTF8(lines[len(lines)-1], []byte("\uFFFD"))))
}

// pendingFix reports a run of fixers that was killed: the files may be half fixed.
func (a *app) pendingFix(dir string) []string {
	since, ok := undo.Pending(a.h.Fixes(), dir)
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("a run of fixers, begun at %s, was killed and may have left files half fixed (deed refactor, with --write or without, puts them back)", since.Format(time.RFC3339))}
}

// showAutofix shows people what fixers did.
func (a *app) showAutofix(f *runner.Autofix) {
	if f == nil {
		return
	}
	for _, p := range f.Verification {
		a.printf("  %s %s: %s\n", a.mark(p.Status), p.Phase, shorten(clean(p.Summary), 200))
	}
	switch {
	case f.Reverted:
		a.printf("  %s %s; every file is as it was\n", a.color.Yellow("put back:"), clean(f.Reason))
	case f.Planned && len(f.ChangedFiles) > 0:
		a.printf("  would change %d file(s): %s (deed refactor --write does)\n", len(f.ChangedFiles), listed(f.ChangedFiles))
	case f.FilesModified > 0:
		a.printf("  fixed %d file(s): %s\n", f.FilesModified, listed(f.ChangedFiles))
	default:
		a.printf("  nothing was fixed\n")
	}
	for _, x := range f.Advice {
		a.printf("  advice: %s  %s %s\n", showPath(x.File), clean(x.Rule), clean(x.Action))
	}
}
