package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/checks/audit"
	"github.com/deedrun/deed/internal/checks/baseline"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/project"
)

// auditFlags are what a user says to deed audit.
type auditFlags struct {
	path                              string
	only, exclude                     []string
	since, format                     string
	conventions                       bool
	baseline, ratchet, ignoreBaseline bool
	noCache                           bool
}

var auditFormats = []string{"human", "json", "sarif", "github"}

func (a *app) auditCmd() *cobra.Command {
	f := &auditFlags{}
	c := &cobra.Command{
		Use: "audit [DIR]", Short: "Look at this component with deed's own detectors",
		Long: `Read the component and report what its files do differently from their siblings, code that is there twice or for
nobody, tests that are missing or test nothing, old markers, forbidden imports, and documents that lead nowhere. Nothing
of the component is run or changed. docs/AUDIT.md describes every kind of finding and every setting.

Exit code 1 means warnings that the baseline does not know; info never fails. With --changed-since and no baseline
nothing fails.`,
		Example: `  deed audit
  deed audit --only duplicate_function --only unreferenced_export
  deed audit --changed-since main --format github
  deed audit --baseline`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if c.Flags().Changed("path") {
					return usage(errors.New("the directory is given twice (give DIR or --path)"))
				}
				f.path = args[0]
			}
			return a.audit(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.path, "path", ".", "the component's `DIR`")
	fl.StringSliceVar(&f.only, "only", nil, "report only these `KINDS`; repeatable")
	fl.StringSliceVar(&f.exclude, "exclude", nil, "do not report these `KINDS`; it wins over --only; repeatable")
	fl.StringVar(&f.since, "changed-since", "", "report only findings in files that changed since `REF`")
	fl.BoolVar(&f.conventions, "conventions", false, "show the conventions that the files keep, and no findings")
	fl.BoolVar(&f.baseline, "baseline", false, "save the findings as the baseline")
	fl.BoolVar(&f.ratchet, "ratchet", false, "save the baseline anew when findings are gone and none is new")
	fl.BoolVar(&f.ignoreBaseline, "ignore-baseline", false, "compare with no baseline")
	fl.BoolVar(&f.noCache, "no-cache", false, "read every file, and keep nothing for the next run")
	fl.StringVar(&f.format, "format", "human", "`FORMAT` of the output: "+strings.Join(auditFormats, ", "))
	c.MarkFlagsMutuallyExclusive("baseline", "ratchet", "ignore-baseline")
	return c
}

// audit runs the audit and shows its report, or the error that kept it from being one.
func (a *app) audit(ctx context.Context, f *auditFlags) error {
	if !slices.Contains(auditFormats, f.format) {
		return usage(fmt.Errorf("--format %q is not one of %s", f.format, strings.Join(auditFormats, ", ")))
	}
	if f.format == "json" {
		a.json = true
	}
	r, err := a.auditReport(ctx, f)
	if err != nil {
		if !a.json || errors.Is(err, context.Canceled) {
			return err
		}
		code := exitCode(err)
		if err := a.emit(runner.Envelope[runner.AuditReport]{Error: auditError(err, code)}); err != nil {
			return err
		}
		return &exitError{code: code, err: errSilent}
	}
	if err := a.showAudit(f, r); err != nil {
		return err
	}
	if r.ExitCode != ExitDone {
		return errNotDone
	}
	return nil
}

// auditError is an error in the form of the envelope, with what a program can go on with.
func auditError(err error, code int) *runner.EnvelopeError {
	e := envelopeError(err, code)
	var details any
	var kinds *audit.KindError
	if fs := fault.Of(err); fs != nil {
		details = map[string]any{"faults": fs}
	} else if errors.As(err, &kinds) {
		details = map[string]any{"unknown": kinds.Unknown, "kinds": kinds.Known}
	}
	if b, merr := json.Marshal(details); merr == nil && details != nil {
		e.Details = b
	}
	return e
}

func (a *app) auditReport(ctx context.Context, f *auditFlags) (runner.AuditReport, error) {
	c, err := a.component(f.path)
	if err != nil {
		return runner.AuditReport{}, err
	}
	cfg := audit.Config{
		Root: c.Path, ID: c.ID, Component: c.Audit, Rules: c.AuditRules, Version: versionOf(c),
		Only: f.only, Exclude: f.exclude, ChangedSince: f.since,
	}
	notes := a.auditExtensions(&cfg, c, f.noCache)
	if f.since != "" {
		files, err := changed.Since(ctx, c.Path, f.since)
		if err != nil {
			return runner.AuditReport{}, usage(err)
		}
		cfg.Changed = map[string][][2]int{}
		for _, file := range files {
			if file.There() {
				cfg.Changed[file.Path] = file.Lines
			}
		}
	}
	if f.baseline { // a baseline is of everything: what is not shown today is not new tomorrow
		cfg.Only, cfg.Exclude = nil, nil
	}
	p := a.newProgress()
	defer p.clear()
	p.say("auditing " + c.ID)
	cfg.Progress = func(done, total int) { p.say(fmt.Sprintf("auditing %s: %d of %d files", c.ID, done, total)) }
	r, err := audit.Run(ctx, cfg)
	p.clear()
	var kinds *audit.KindError
	if errors.As(err, &kinds) || errors.Is(err, audit.ErrRoot) {
		err = usage(err)
	}
	if err != nil {
		return r, err
	}
	r.Warnings = append(r.Warnings, notes...)
	if f.conventions {
		r.Command, r.Findings = "audit.conventions", []runner.AuditFinding{}
		audit.Judge(&r)
		return r, nil
	}
	return r, a.auditBaseline(f, c, &r)
}

// auditExtensions takes the audit settings and fingerprint scripts of the component's extensions, and a place for the
// cache. An audit needs none of them, so a fault in them is reported and does not end it.
func (a *app) auditExtensions(cfg *audit.Config, c project.Component, noCache bool) (notes []string) {
	h, err := a.makeHome()
	if err != nil {
		return []string{fmt.Sprintf("no extension is used and no cache is kept: %v", err)}
	}
	if !noCache {
		cfg.Cache = filepath.Join(h.Cache(), "audit")
	}
	set, ids, err := extensionsOf(h, c)
	if err != nil {
		return []string{err.Error()}
	}
	for _, id := range ids {
		e, err := set.Get(id)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		cfg.Manifests = append(cfg.Manifests, audit.Manifest{Where: "$.audit of the extension " + id, Audit: e.Manifest.Audit})
		if e.From == extension.FromProject && e.Manifest.Scripts["fingerprint"] != "" {
			notes = append(notes, fmt.Sprintf("the fingerprint script of the extension %s is code of this tree, and an audit runs none (install the extension to use it)", id))
			continue
		}
		cfg.Scripts = append(cfg.Scripts, a.fingerprintScripts(e, c)...)
	}
	// A file of these languages needs no project of them around it.
	for _, id := range []string{"php", "python"} {
		e, err := set.BuiltIn(id)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		if !slices.ContainsFunc(cfg.Scripts, func(s audit.Script) bool { return s.Digest == e.Digest }) {
			cfg.Scripts = append(cfg.Scripts, a.fingerprintScripts(e, c)...)
		}
	}
	return notes
}

// fingerprintScripts is the fingerprint script of an extension, or none.
func (a *app) fingerprintScripts(e extension.Extension, c project.Component) []audit.Script {
	script := e.Manifest.Scripts["fingerprint"]
	if script == "" || !filepath.IsLocal(script) {
		return nil
	}
	s := audit.Script{
		Path: filepath.Join(e.Path, script), Extensions: e.Manifest.Provides.FileExtensions, Digest: e.Digest,
		Env: append(slices.Clone(a.environ), "HOMEBOY_EXTENSION_PATH="+e.Path, "HOMEBOY_COMPONENT_PATH="+c.Path, "HOMEBOY_COMPONENT_ID="+c.ID),
	}
	if f := e.Manifest.Fingerprint; f != nil {
		s.Interpreter, s.Lines = f.Interpreter, f.Lines
	}
	return []audit.Script{s}
}

// extensionsOf are the extensions that a component links, or else those that its files call for.
func extensionsOf(h *home.Home, c project.Component) (*extension.Set, []string, error) {
	set, err := extension.Find(extension.PlacesOf(h, c.Path))
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for id := range c.Extensions {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		if ids, err = set.Detect(c.Path); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(ids)
	return set, ids, nil
}

// auditBaseline compares a report with the baseline, or saves it as the new one.
func (a *app) auditBaseline(f *auditFlags, c project.Component, r *runner.AuditReport) error {
	items := make([]baseline.Item, len(r.Findings))
	for i, x := range r.Findings {
		items[i] = baseline.Item{ID: x.Fingerprint, Fingerprint: x.Identity, Description: x.Description, Label: "audit:" + x.Kind}
	}
	var known baseline.Baseline
	raw, there := c.Baseline(runner.Audit)
	if there && !f.ignoreBaseline {
		var err error
		if known, err = baseline.Parse(raw); err != nil && !f.baseline {
			return usage(err)
		}
	}
	seen := func(id string) bool { return inSight(f, r, id) }
	if there && !f.ignoreBaseline && !f.baseline {
		cmp, old := baseline.Compare(known, items)
		for i := range r.Findings {
			r.Findings[i].Known = old[i]
		}
		cmp.Resolved = slices.DeleteFunc(cmp.Resolved, func(id string) bool { return !seen(id) })
		r.Baseline, r.Command = &cmp, "audit.compared"
		audit.Judge(r)
		if !f.ratchet || !baseline.Better(cmp) {
			return nil
		}
	} else if !f.baseline {
		return nil
	}
	meta := baseline.AuditMetadata{OutliersCount: r.Summary.OutliersFound, AlignmentScore: r.Summary.AlignmentScore, KnownOutliers: outliers(*r)}
	b, err := baseline.New(c.ID, clock.System(), items, meta)
	if err != nil {
		return err
	}
	if there && (f.since != "" || !f.baseline) {
		b = baseline.Merge(known, b, seen)
	}
	if err := project.SaveBaseline(c.Path, runner.Audit, b); err != nil {
		return err
	}
	if r.Baseline != nil {
		r.Baseline.Saved = true
		return nil
	}
	r.Command = "audit.baseline"
	r.BaselineSaved = &runner.AuditBaselineRecord{
		Path: project.BaselineFile(c.Path), FindingsCount: b.ItemCount, OutliersCount: meta.OutliersCount, AlignmentScore: meta.AlignmentScore,
	}
	for i := range r.Findings {
		r.Findings[i].Known = true
	}
	audit.Judge(r)
	return nil
}

// inSight reports whether a run would have found what a fingerprint names: convention::file::Kind.
func inSight(f *auditFlags, r *runner.AuditReport, fingerprint string) bool {
	rest, kind, ok := cutLast(fingerprint, "::")
	if !ok {
		return true
	}
	if !f.baseline {
		is := func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "_", ""), kind) }
		if slices.ContainsFunc(f.exclude, is) || len(f.only) > 0 && !slices.ContainsFunc(f.only, is) {
			return false
		}
	}
	if r.ChangedSince == nil {
		return true
	}
	_, file, _ := cutLast(rest, "::")
	return slices.Contains(r.ChangedSince.Paths, file)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// outliers are the files that break a convention.
func outliers(r runner.AuditReport) []string {
	out := []string{}
	for _, c := range r.Conventions {
		out = append(out, c.Outliers...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxVersionFile bounds a file that names the version.
const maxVersionFile = 1 << 20

// versionOf is the version that the component's first target with a pattern names; "" when none does.
func versionOf(c project.Component) string {
	for _, t := range c.VersionTargets {
		re, err := regexp.Compile(t.Pattern)
		if err != nil || t.Pattern == "" || !filepath.IsLocal(t.File) {
			continue
		}
		file := filepath.Join(c.Path, t.File)
		if fi, err := os.Lstat(file); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxVersionFile {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if m := re.FindStringSubmatch(string(text)); len(m) > 1 {
			return m[1]
		}
	}
	return ""
}

// showAudit writes a report in the form that was asked for.
func (a *app) showAudit(f *auditFlags, r runner.AuditReport) error {
	switch {
	case a.json:
		return a.emit(runner.Envelope[runner.AuditReport]{Success: r.Passed, Data: &r})
	case f.format == "sarif":
		return finding.WriteSARIF(&safeWriter{w: a.Out, json: true}, lintReport(r), "")
	case f.format == "github":
		return finding.WriteGitHub(&safeWriter{w: a.Out}, lintReport(r), "")
	case f.conventions:
		a.showConventions(r)
	default:
		a.showAuditFindings(r)
	}
	return nil
}

// lintReport is a report in the form that the writers of other formats take.
func lintReport(r runner.AuditReport) runner.Report {
	out := runner.Report{
		Schema: runner.SchemaReport, Capability: runner.Audit, Component: r.ComponentID, ComponentPath: r.SourcePath, Extension: "deed",
		Passed: r.Passed, Status: r.Phase.Status, ExitCode: r.ExitCode, Phase: r.Phase, Baseline: r.Baseline,
	}
	for _, x := range r.Findings {
		severity := x.Severity
		if severity == runner.SeverityInfo {
			severity = "note"
		}
		out.LintFindings = append(out.LintFindings, runner.LintFinding{
			ID: x.Fingerprint, Message: x.Description + " (" + x.Suggestion + ")", Category: x.Convention, Tool: "deed audit", Rule: x.Kind,
			File: x.File, Line: x.Line, Severity: severity, Fingerprint: x.Identity, Known: x.Known,
		})
	}
	return out
}

func (a *app) showAuditFindings(r runner.AuditReport) {
	for _, x := range r.Findings {
		if !x.Known {
			a.showAuditFinding(x)
		}
	}
	s := r.Summary
	a.printf("%s, %s parsed: %s, %d info", count(s.FilesScanned, "file"), fmt.Sprint(s.FilesParsed), count(s.WarningCount, "warning"), s.InfoCount)
	if c := r.Baseline; c != nil {
		a.printf("; %d known, %d new, %d resolved", c.Unchanged, len(c.Introduced), len(c.Resolved))
	}
	a.printf("\n")
	if b := r.BaselineSaved; b != nil {
		a.hint("saved a baseline of %s in %s", count(b.FindingsCount, "finding"), showPath(b.Path))
	}
	if r.Baseline != nil && r.Baseline.Saved {
		a.hint("saved the baseline anew: %s resolved", count(len(r.Baseline.Resolved), "finding"))
	}
	for _, u := range r.Unparsed {
		a.hint("%s looked at as text only: %s", count(u.Count, "file"), clean(u.Reason))
	}
	for _, w := range r.Warnings {
		a.hint("note: %s", clean(w))
	}
}

func (a *app) showAuditFinding(x runner.AuditFinding) {
	at := showPath(x.File)
	if x.Line > 0 {
		at += fmt.Sprintf(":%d", x.Line)
	}
	severity := a.color.Yellow(x.Severity)
	if x.Severity == runner.SeverityInfo {
		severity = a.color.Dim(x.Severity)
	}
	suffix := ""
	if x.Introduced != nil && !*x.Introduced {
		suffix = a.color.Dim(" (beside the change)")
	}
	a.printf("%s: %s %s: %s%s\n", a.color.Bold(at), severity, x.Kind, clean(x.Description), suffix)
}

func (a *app) showConventions(r runner.AuditReport) {
	var rows [][]string
	for _, c := range r.Conventions {
		rows = append(rows, []string{showPath(c.Name), c.Status, fmt.Sprintf("%d of %d", c.Conforming, c.Files), clean(strings.Join(slices.Concat(c.Methods, c.Interfaces), ", "))})
	}
	if len(rows) == 0 {
		a.hint("no convention was found: a directory needs files that do something alike")
		return
	}
	a.table([]string{"GROUP", "STATUS", "CONFORM", "EXPECTED"}, rows)
}
