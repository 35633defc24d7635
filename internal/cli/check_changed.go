package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/checks/analysis"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/project"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// changedFlags narrow a run to what changed.
type changedFlags struct {
	since string
	only  bool // what is not committed
}

func (f *changedFlags) register(c *cobra.Command, capability string) {
	fl := c.Flags()
	switch capability {
	case runner.Lint:
		fl.StringVar(&f.since, "changed-since", "", "only files that changed since HEAD parted from this `REF`, committed or not")
		fl.BoolVar(&f.only, "changed-only", false, "only files that are not committed: staged, unstaged and untracked")
		c.MarkFlagsMutuallyExclusive("changed-since", "changed-only")
	case runner.Test:
		fl.StringVar(&f.since, "changed-since", "", "only tests that changed, or that changed code maps to, since HEAD parted from this `REF`")
	}
}

func (f *changedFlags) asked() bool { return f.since != "" || f.only }

// label names what the changes are counted from.
func (f *changedFlags) label() string {
	if f.only {
		return "the last commit"
	}
	return f.since
}

func (f *changedFlags) files(ctx context.Context, dir string) (files []changed.File, err error) {
	if f.only {
		files, err = changed.Worktree(ctx, dir)
	} else {
		files, err = changed.Since(ctx, dir, f.since)
	}
	if errors.Is(err, workspace.ErrSource) || errors.Is(err, workspace.ErrShallow) {
		return nil, usage(err)
	}
	return files, err
}

// consistent is the error for flags that make no sense together.
func (f *checkFlags) consistent() error {
	switch {
	case f.analysis.since != "" && !f.analysis.drift:
		return usage(errors.New("--since goes with --drift (to narrow a run, use --changed-since)"))
	case f.changed.asked() && (f.baseline.save || f.baseline.ratchet):
		return usage(errors.New("a run of what changed cannot be saved as the baseline of everything (leave --changed-since, or --baseline and --ratchet, out)"))
	}
	return nil
}

// heldAgainstChanged compares a report with the baseline. A run of what changed shows which findings are new; it knows
// nothing of findings elsewhere, and counts of some tests cannot be compared with counts of all.
func (a *app) heldAgainstChanged(f *checkFlags, j check.Job, rep *runner.Report) error {
	if !f.changed.asked() {
		return a.heldAgainst(f.baseline, j, rep)
	}
	if rep.Capability == runner.Test {
		return nil
	}
	if err := a.heldAgainst(f.baseline, j, rep); err != nil || rep.Baseline == nil {
		return err
	}
	rep.Baseline.Resolved, rep.Baseline.Delta = []string{}, len(rep.Baseline.Introduced)
	return nil
}

// A narrowed is a job cut down to what changed.
type narrowed struct {
	requests []check.Request
	within   [][]string // by request: the files in which findings count; nil is all
	settled  []runner.Report
	scope    *runner.TestScope
	warnings []string
	hints    []string
}

// finish adds the notes about the narrowing.
func (n narrowed) finish(rep runner.Report) runner.Report {
	rep.Scope = n.scope
	rep.Warnings = append(rep.Warnings, n.warnings...)
	for _, h := range n.hints {
		rep.Hints = append(rep.Hints, runner.Hint{Message: h})
	}
	return rep
}

// narrow cuts the requests of a job down to what changed.
func (a *app) narrow(ctx context.Context, f *checkFlags, j check.Job, requests []check.Request, plan extension.Plan) (narrowed, error) {
	if !f.changed.asked() {
		if j.Options.ChangedMin != nil {
			return narrowed{}, usage(errors.New("--coverage-changed-min needs --changed-since, which says which lines those are"))
		}
		return narrowed{requests: requests}, nil
	}
	files, err := f.changed.files(ctx, j.Component.Path)
	if err != nil {
		return narrowed{}, err
	}
	if j.Capability == runner.Test {
		return narrowTests(ctx, f, j, requests, plan, files)
	}
	return narrowLint(f, j, requests, plan, files), nil
}

// narrowLint makes one request for every route that changed files take.
func narrowLint(f *checkFlags, j check.Job, requests []check.Request, plan extension.Plan, files []changed.File) narrowed {
	var n narrowed
	taken := map[string]bool{}
	var unmatched []string
	for i, r := range requests {
		var routes []changed.Route
		if i < len(plan.Extensions) {
			for _, x := range plan.Extensions[i].Manifest.Lint.ChangedFileRoutes {
				routes = append(routes, changed.Route(x))
			}
		}
		runs, left := changed.Routes(files, routes, r.Component.Inside)
		unmatched = append(unmatched, left...)
		for _, run := range runs {
			if one, ok := routed(r, run, f.changed.since); ok {
				n.requests, n.within = append(n.requests, one), append(n.within, run.Files)
				for _, p := range run.Files {
					taken[p] = true
				}
			}
		}
	}
	// What comes before the capability comes before its first run, and what comes after, after its last.
	for i := range n.requests {
		n.requests[i].Hooks = check.Hooks{}
	}
	if k := len(n.requests); k > 0 {
		n.requests[0].Hooks.Pre, n.requests[k-1].Hooks.Post = requests[0].Hooks.Pre, requests[len(requests)-1].Hooks.Post
	}
	unmatched = slices.DeleteFunc(unmatched, func(p string) bool { return taken[p] })
	slices.Sort(unmatched)
	if unmatched = slices.Compact(unmatched); len(unmatched) > 0 {
		n.hints = append(n.hints, fmt.Sprintf("%d changed file(s) are nothing that is linted here: %s", len(unmatched), listed(unmatched)))
	}
	if len(n.requests) == 0 {
		rep := check.New(j.Capability, j.Component.ID, j.Component.Path)
		check.Settle(&rep, runner.StatusPassed, "", fmt.Sprintf("no file to lint changed since %s", f.changed.label()))
		n.settled = append(n.settled, rep)
	}
	return n
}

// routed is a request cut down to one route. ok is false when the user's own filter leaves nothing of it.
func routed(r check.Request, run changed.Run, since string) (check.Request, bool) {
	r.Options.ChangedSince = since
	if _, ok := changed.Lines(run.Files); ok { // else the script looks at everything
		r.Options.ChangedFiles = run.Files
	}
	if run.Step == "" {
		return r, true
	}
	steps := check.NewFilter([]string{run.Step}, nil).Only
	if only := r.Options.Filter.Only; len(only) > 0 {
		steps = slices.DeleteFunc(steps, func(s string) bool { return !slices.Contains(only, s) })
	}
	r.Options.Filter.Only = steps
	return r, len(steps) > 0
}

// narrowTests gives every extension the tests that changed files select.
func narrowTests(ctx context.Context, f *checkFlags, j check.Job, requests []check.Request, plan extension.Plan, files []changed.File) (narrowed, error) {
	n := narrowed{scope: &runner.TestScope{Mode: "changed", ChangedSince: f.changed.since, SelectedFiles: []string{}}}
	all, err := changed.All(ctx, j.Component.Path)
	if err != nil {
		return n, err
	}
	for i, r := range requests {
		var e extension.Extension
		if i < len(plan.Extensions) {
			e = plan.Extensions[i]
		}
		cfg := driftConfig(j.Component, e, f.changed.since)
		drift, err := analysis.Drift(ctx, cfg)
		if err != nil {
			return n, err
		}
		s := changed.Select(filesOf(files, e), all, cfg.Mapping, analysis.DriftedFiles(drift)...)
		if len(s.Untested) > 0 {
			n.warnings = append(n.warnings, fmt.Sprintf("%d changed source file(s) have no test that is named after them: %s", len(s.Untested), listed(s.Untested)))
		}
		r.Options.ChangedSince, r.Options.ChangedLines = f.changed.since, changed.LinesOf(files)
		switch _, fits := changed.Variable(s.Tests); {
		case len(s.Tests) == 0 && s.Sources == 0:
			continue
		case len(s.Tests) == 0:
			rep := check.New(j.Capability, j.Component.ID, j.Component.Path)
			rep.Extension = r.ExtensionID
			check.Settle(&rep, runner.StatusFailed, "nothing_selected", fmt.Sprintf("%d source file(s) changed since %s, and no test was selected", s.Sources, f.changed.since))
			rep.Hints = append(rep.Hints, runner.Hint{Message: "run the whole suite: deed test"})
			n.settled = append(n.settled, rep)
			continue
		case fits:
			r.Options.ChangedTests = s.Tests
		default:
			n.warnings = append(n.warnings, fmt.Sprintf("the names of the %d selected test files cannot be told to the script: every test runs", len(s.Tests)))
		}
		n.scope.SelectedFiles = append(n.scope.SelectedFiles, s.Tests...)
		n.requests = append(n.requests, r)
	}
	slices.Sort(n.scope.SelectedFiles)
	n.scope.SelectedFiles = slices.Compact(n.scope.SelectedFiles)
	n.scope.SelectedCount = len(n.scope.SelectedFiles)
	if len(n.requests) == 0 && len(n.settled) == 0 {
		n.settled = append(n.settled, check.NotApplicable(j.Capability, j.Component.ID, j.Component.Path,
			fmt.Sprintf("nothing that tests are about changed since %s: no test was run", f.changed.since)))
	}
	return n, nil
}

// filesOf are the files of the languages that an extension says it understands.
func filesOf(files []changed.File, e extension.Extension) []changed.File {
	kinds := e.Manifest.Provides.FileExtensions
	if len(kinds) == 0 {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f changed.File) bool {
		return !slices.Contains(kinds, strings.TrimPrefix(path.Ext(f.Path), "."))
	})
}

// testMapping is audit.test_mapping of a manifest or a component, as far as it says where tests are.
type testMapping struct {
	TestMapping struct {
		SourceDirs []string `json:"source_dirs"`
		TestDirs   []string `json:"test_dirs"`
		Pattern    string   `json:"test_file_pattern"`
	} `json:"test_mapping"`
}

// driftConfig says where the sources and tests of a component are: as the component says, else as its extension does.
func driftConfig(c project.Component, e extension.Extension, since string) analysis.DriftConfig {
	cfg := analysis.DriftConfig{Component: c.ID, Dir: c.Path, Since: since}
	for _, raw := range []json.RawMessage{e.Manifest.Audit, c.Audit} {
		var m testMapping
		if len(raw) == 0 || json.Unmarshal(raw, &m) != nil || m.TestMapping.Pattern == "" {
			continue // the audit itself says what is wrong with it
		}
		cfg.Mapping = changed.Mapping{SourceDirs: m.TestMapping.SourceDirs, TestDirs: m.TestMapping.TestDirs, TestPattern: m.TestMapping.Pattern}
	}
	var drift *settings.TestDrift
	if e.Manifest.Test != nil {
		drift = e.Manifest.Test.Drift
	}
	if c.TestDrift != nil {
		drift = c.TestDrift
	}
	if drift != nil {
		cfg.Mapping.SourceDirs, cfg.Mapping.TestDirs = drift.SourceDirs, drift.TestDirs
		cfg.Extensions, cfg.InlineTests = drift.FileExtensions, drift.InlineTests
	}
	return cfg
}

// listed names the first of some files.
func listed(files []string) string {
	const most = 5
	var names []string
	for _, p := range files[:min(most, len(files))] {
		names = append(names, showPath(p))
	}
	if len(files) > most {
		names = append(names, fmt.Sprintf("and %d more", len(files)-most))
	}
	return strings.Join(names, ", ")
}
