package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/project"
)

// checkFlags are what a user says to deed lint, test and build.
type checkFlags struct {
	capability              string
	extensions              []string
	settings, settingsJSON  []string
	only, skip              []string
	timeout                 time.Duration
	summary, keep           bool
	output                  string
	coverageMin, changedMin float64
	options                 check.Options
	baseline                baselineFlags
	format                  string
	changed                 changedFlags
	analysis                analysisFlags
	fix                     bool
	phase                   string // of deed check; empty: every step
}

var checkWords = map[string]struct{ short, long, example string }{
	runner.Lint: {
		"Look for findings in this component", `Run the lint script of the component's extension and tell what it found. Without any configuration deed's own
extension for the language of the tree serves.`,
		`  deed lint
  deed lint --step gofmt
  deed lint ./plugin --extension ../extensions/wordpress --errors-only`,
	},
	runner.Test: {
		"Run the tests of this component", `Run the test script of the component's extension and tell, by name where the tool does, what passed and what failed.
Without any configuration deed's own extension for the language of the tree serves. What stands behind -- goes to the script.`,
		`  deed test
  deed test --coverage-min 80
  deed test -- -run TestParse`,
	},
	runner.Build: {
		"Build this component", `Run the build script of the component's extension and tell which artifacts it left.`,
		`  deed build`,
	},
}

func (a *app) checkCmd(capability string) *cobra.Command {
	f := &checkFlags{capability: capability}
	w := checkWords[capability]
	c := &cobra.Command{
		Use: capability + " [DIR] [-- ARGS]", Short: w.short, Example: w.example,
		Long: w.long + `

What the script prints goes to standard error and to a log. Exit code 0 means clean, 1 findings, 3 that there is
no result because something around it is broken. A component that has no such capability is skipped, with exit code 0.`,
		Args: func(c *cobra.Command, args []string) error {
			if own, _ := ownArgs(c, args); len(own) > 1 {
				return fmt.Errorf("one directory at most, and there are %d (arguments of the script go behind --)", len(own))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			own, rest := ownArgs(c, args)
			f.options.Args = rest
			return a.reportCheck(f, func() (runner.Report, error) {
				return a.check(c.Context(), f, componentDir(own), c.Flags().Changed)
			})
		},
	}
	f.register(c)
	return c
}

// ownArgs parts the arguments of deed from those of the script.
func ownArgs(c *cobra.Command, args []string) (own, rest []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func (f *checkFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.extensions, "extension", nil, "use this extension, an `ID` or the path of its directory; repeatable")
	fl.StringArrayVar(&f.settings, "setting", nil, "`KEY=TEXT` for the script; repeatable")
	fl.StringArrayVar(&f.settingsJSON, "setting-json", nil, "`KEY=JSON` for the script; repeatable")
	fl.StringArrayVar(&f.only, "step", nil, "run only these `STEPS`, separated by commas; repeatable")
	fl.StringArrayVar(&f.skip, "skip", nil, "leave these `STEPS` out; repeatable")
	fl.DurationVar(&f.timeout, "timeout", check.DefaultTimeout, "end the script after this long")
	fl.BoolVar(&f.summary, "summary", false, "tell the numbers and the first findings only")
	fl.BoolVar(&f.keep, "keep", false, "keep the run directory, also when all is well")
	fl.StringVar(&f.output, "output", "", "write the JSON envelope to this `FILE` as well")
	fl.StringVar(&f.format, "format", formatHuman, "write the report as `FORMAT`: human, json, sarif, junit or github")
	if f.capability != runner.Build {
		f.baseline.register(c)
	}
	o := &f.options
	switch f.capability {
	case runner.Lint:
		fl.StringVar(&o.File, "file", "", "one `FILE`, below the component")
		fl.StringVar(&o.Glob, "glob", "", "files that fit this `GLOB`")
		fl.BoolVar(&o.ErrorsOnly, "errors-only", false, "leave warnings out")
		fl.StringVar(&o.Sniffs, "sniffs", "", "only these `RULES`, where the script knows them")
		fl.StringVar(&o.NoSniffs, "exclude-sniffs", "", "not these `RULES`")
		fl.StringVar(&o.Category, "category", "", "only this `CATEGORY`")
		fl.BoolVar(&f.fix, "fix", false, "let the fixers repair what they can; what cannot be verified is put back")
		f.changed.register(c, f.capability)
	case runner.Test:
		fl.BoolVar(&o.Coverage, "coverage", false, "measure coverage")
		fl.Float64Var(&f.coverageMin, "coverage-min", 0, "at least this `PERCENT` of the lines must be covered")
		fl.Float64Var(&f.changedMin, "coverage-changed-min", 0, "at least this `PERCENT` of the changed lines must be covered; with --changed-since")
		fl.BoolVar(&o.SkipLint, "skip-lint", false, "for scripts that lint before they test: leave that out")
		fl.BoolVar(&o.RequireCounts, "require-counts", false, "a script that counts no test has not passed")
		f.changed.register(c, f.capability)
		f.analysis.register(c)
	}
}

// reportCheck runs a check and shows its report, or the error that kept it from being one.
func (a *app) reportCheck(f *checkFlags, run func() (runner.Report, error)) error {
	if err := errors.Join(a.asked(f.format), f.baseline.contradiction(), f.unwritable()); err != nil {
		return err
	}
	rep, err := run()
	env := runner.Envelope[runner.Report]{Success: err == nil && rep.Passed}
	var code int
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		code = exitCode(err)
		env.Error = envelopeError(err, code)
	default:
		code = rep.ExitCode
		if f.summary && (a.json || f.format == formatHuman) { // the other formats are for programs that count themselves
			shortReport(&rep)
		}
		env.Data = &rep
	}
	var unwritten error // the findings are reported all the same
	if f.output != "" {
		unwritten = writeEnvelope(f.output, env)
	}
	switch {
	case a.json:
		if err := finding.WriteJSON(&safeWriter{w: a.Out, json: true}, env); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := a.writeReport(f.format, rep); err != nil {
			return err
		}
	}
	if unwritten != nil {
		return unwritten
	}
	if code != ExitDone {
		return &exitError{code: code, err: errSilent}
	}
	return nil
}

// envelopeError gives an error the code of its group.
func envelopeError(err error, code int) *runner.EnvelopeError {
	e := &runner.EnvelopeError{Code: "internal.error", Message: err.Error()}
	var missing *extension.NotInstalled
	switch {
	case errors.As(err, &missing):
		e.Code = "extension.not_found"
	case code == ExitUsage:
		e.Code = "validation.invalid_argument"
	}
	return e
}

// unwritable says that the file of --output cannot be written, before a check is run for nothing.
func (f *checkFlags) unwritable() error {
	if f.output == "" {
		return nil
	}
	if fi, err := os.Stat(f.output); err == nil && fi.IsDir() {
		return usage(fmt.Errorf("--output: %s is a directory (name a file)", showPath(f.output)))
	}
	if fi, err := os.Stat(filepath.Dir(f.output)); err != nil || !fi.IsDir() {
		return usage(fmt.Errorf("--output: %s is in no directory that is there (make it first)", showPath(f.output)))
	}
	return nil
}

func writeEnvelope(path string, env any) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return usage(fmt.Errorf("--output: %w", err))
	}
	return errors.Join(finding.WriteJSON(f, env), f.Close())
}

// check runs a capability of the component in a directory.
func (a *app) check(ctx context.Context, f *checkFlags, dir string, said func(flag string) bool) (runner.Report, error) {
	c, err := a.component(dir)
	if err != nil {
		return runner.Report{}, err
	}
	job, err := a.checkJob(f, c, said)
	if err != nil {
		return runner.Report{}, err
	}
	if err := f.consistent(); err != nil {
		return runner.Report{}, err
	}
	if f.analysis.drift {
		return a.drift(ctx, f, job)
	}
	if f.fix {
		return a.fixed(ctx, f, job, false)
	}
	rep, err := a.runJob(ctx, job, f)
	if err != nil {
		return rep, err
	}
	rep.Warnings = append(rep.Warnings, a.pendingFix(c.Path)...)
	if f.analysis.analyze {
		analyze(&rep)
	}
	return rep, nil
}

// component loads the component in a directory.
func (a *app) component(dir string) (project.Component, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return project.Component{}, usage(err)
	}
	if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
		return project.Component{}, usage(fmt.Errorf("%s is not a directory (name the component's)", dir))
	}
	c, err := project.Load(abs)
	if err != nil {
		return c, usage(err)
	}
	for _, n := range c.Notes {
		a.hint("%s", n)
	}
	return c, nil
}

// checkJob turns the flags into a job.
func (a *app) checkJob(f *checkFlags, c project.Component, said func(flag string) bool) (check.Job, error) {
	h, err := a.makeHome()
	if err != nil {
		return check.Job{}, err
	}
	a.h = h
	set, use, err := a.extensions(c.Path, f.extensions)
	if err != nil {
		return check.Job{}, err
	}
	j := check.Job{Component: c, Extensions: set, Capability: f.capability, Options: f.options, Choice: extension.Options{Use: use, Version: Version()}}
	for _, kv := range f.settings {
		s, serr := extension.ParseSetting(kv, false)
		j.Settings, err = append(j.Settings, s), errors.Join(err, serr)
	}
	for _, kv := range f.settingsJSON {
		s, serr := extension.ParseSetting(kv, true)
		j.Settings, err = append(j.Settings, s), errors.Join(err, serr)
	}
	if err != nil {
		return j, usage(err)
	}
	// What the caller's environment asks for counts, as it does for the scripts themselves; a flag wins.
	only, skip := f.only, f.skip
	if len(only) == 0 && len(skip) == 0 {
		only, skip = []string{a.getenv("HOMEBOY_STEP")}, []string{a.getenv("HOMEBOY_SKIP")}
	}
	j.Options.Filter, j.Options.Summary = check.NewFilter(only, skip), f.summary
	if said("coverage-min") {
		j.Options.CoverageMin = &f.coverageMin
	}
	if said("coverage-changed-min") {
		j.Options.ChangedMin = &f.changedMin
	}
	for flag, min := range map[string]*float64{"coverage-min": j.Options.CoverageMin, "coverage-changed-min": j.Options.ChangedMin} {
		if min != nil && !(*min >= 0 && *min <= 100) {
			return j, usage(fmt.Errorf("--%s is %g (give a percentage from 0 to 100)", flag, *min))
		}
	}
	return j, nil
}

// runJob runs a job on this machine, as the user who asked for it.
func (a *app) runJob(ctx context.Context, j check.Job, f *checkFlags) (rep runner.Report, err error) {
	requests, plan, err := j.Requests()
	var none *extension.NotApplicable
	if errors.As(err, &none) {
		return check.NotApplicable(j.Capability, j.Component.ID, j.Component.Path, err.Error()), nil
	}
	if err != nil {
		return rep, usage(err)
	}
	for _, n := range plan.Notes {
		a.hint("%s", n)
	}
	if requests, plan = inPhase(f.phase, requests, plan); len(requests) == 0 {
		return check.NotApplicable(j.Capability, j.Component.ID, j.Component.Path, "the lint script has no step for "+f.phase), nil
	}
	cut, err := a.narrow(ctx, f, j, requests, plan)
	if err != nil {
		return rep, err
	}
	if requests = cut.requests; len(requests) == 0 {
		return cut.finish(check.Merge(cut.settled)), nil
	}
	helpers, err := helper.Materialise(a.h.Runtime())
	if err != nil {
		return rep, err
	}
	exe, err := os.Executable()
	if err != nil {
		return rep, fmt.Errorf("find this binary: %w", err)
	}
	dir, err := newCheckDir(a.h)
	if err != nil {
		return rep, err
	}
	defer func() {
		if (err != nil || rep.Passed) && !f.keep {
			_ = os.RemoveAll(dir)
			rep.Log = ""
		}
	}()
	log, err := os.OpenFile(filepath.Join(dir, "output.log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return rep, fmt.Errorf("open the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return rep, err
	}
	defer func() { _ = sup.Close() }()
	out := a.scriptOutput(log)
	reports := make([]runner.Report, 0, len(requests))
	for i, r := range requests {
		run := filepath.Join(dir, fmt.Sprintf("run-%d", i))
		if err := check.NewRunDir(run); err != nil {
			return rep, err
		}
		r.RunDir, r.Helpers, r.DeedBin, r.Environ, r.Timeout = check.Here(run), helpers, exe, a.environ, f.timeout
		r.Exec, r.Stdout, r.Stderr = sup.Run, out, out
		one, err := check.Run(ctx, r)
		if err != nil {
			return rep, err
		}
		if cut.within != nil {
			check.Within(&one, cut.within[i])
		}
		reports = append(reports, one)
	}
	rep = cut.finish(check.Merge(append(reports, cut.settled...)))
	rep.Log = log.Name()
	if finding.IdentifyIn(rep.LintFindings, j.Component.Path) != nil {
		finding.Identify(rep.LintFindings, j.Component.Path, nil) // without the lines that they are about
	}
	err = a.heldAgainstChanged(f, j, &rep) // before it is known whether the log is kept
	return rep, err
}

// scriptOutput is where the output of scripts goes: the log, and standard error unless the user wants quiet.
func (a *app) scriptOutput(log io.Writer) io.Writer {
	if a.quiet {
		return &lockedWriter{w: log}
	}
	return &lockedWriter{w: io.MultiWriter(log, a.Err)}
}

// keptChecks is how many directories of runs that did not pass are kept.
const keptChecks = 20

// newCheckDir makes a directory for a run, and removes the oldest of those that are kept. Their names sort by time.
func newCheckDir(h *home.Home) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("name a run directory: %w", err)
	}
	root := h.Checks()
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of runs: %w", err)
	}
	if old, err := os.ReadDir(root); err == nil && len(old) >= keptChecks {
		for _, e := range old[:len(old)-keptChecks+1] {
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
	dir := filepath.Join(root, id.String())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a run directory: %w", err)
	}
	return dir, nil
}
