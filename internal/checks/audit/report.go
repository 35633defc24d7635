package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/runner"
)

// maxUnparsedNames bounds the files that a report names for one reason.
const maxUnparsedNames = 20

// report puts the answer together.
func (a *audit) report() Report {
	order(a.findings)
	identify(a.findings)
	r := Report{
		Schema: runner.SchemaAudit, Command: "audit", ComponentID: a.cfg.ID, SourcePath: a.dir,
		Findings: a.findings, Conventions: a.conventions, DuplicateGroups: a.duplicates, Unparsed: a.unparsed(), Warnings: a.warnings,
	}
	if r.Findings == nil {
		r.Findings = []runner.AuditFinding{}
	}
	a.scope(&r)
	r.Summary = a.summary(r)
	Judge(&r)
	return r
}

// order sorts findings by place. Findings of one place keep the order in which their detectors ran.
func order(fs []runner.AuditFinding) {
	slices.SortStableFunc(fs, func(x, y runner.AuditFinding) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Subject, y.Subject))
	})
}

// identify names findings. The fingerprint is that of the runner contract, one for each kind in a file, without the
// description. The identity tells apart what that one does not, and does not know the line: of several findings that are
// the same but for their line, the first is the first wherever they stand.
func identify(fs []runner.AuditFinding) {
	seen := map[string]int{}
	for i := range fs {
		f := &fs[i]
		f.Fingerprint = f.Convention + "::" + f.File + "::" + pascal(f.Kind)
		key := f.Kind + "\x00" + f.Convention + "\x00" + f.File + "\x00" + f.Subject
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, seen[key]))
		seen[key]++
		f.Identity = hex.EncodeToString(sum[:12])
	}
}

// scope keeps the findings in the files of a change. A finding is introduced if it is on a changed line, or is about a whole file
// that is new; any other is adjacent to the change.
func (a *audit) scope(r *Report) {
	if a.cfg.ChangedSince == "" {
		return
	}
	c := &runner.AuditChanged{Ref: a.cfg.ChangedSince, Paths: slices.Sorted(maps.Keys(a.cfg.Changed))}
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		lines, ok := a.cfg.Changed[f.File]
		if !ok {
			continue
		}
		introduced := a.covers(f, lines)
		f.Introduced = &introduced
		if introduced {
			c.IntroducedFindings++
		} else {
			c.ContextualFindings++
		}
		kept = append(kept, f)
	}
	r.Findings, r.ChangedSince = kept, c
}

// covers reports whether the changed lines of a file make a finding. A finding without a line is about the file: the
// change made it when it made the file.
func (a *audit) covers(f runner.AuditFinding, lines [][2]int) bool {
	if f.Line == 0 {
		s := a.tree.byPath[f.File]
		return s != nil && len(lines) == 1 && lines[0][0] <= 1 && lines[0][1] >= s.lines
	}
	return slices.ContainsFunc(lines, func(r [2]int) bool { return r[0] <= f.Line && f.Line <= r[1] })
}

func (a *audit) unparsed() []runner.AuditUnparsed {
	by := map[string]*runner.AuditUnparsed{}
	for _, s := range a.files {
		reason := s.unparsed
		if reason == "" {
			continue
		}
		u := by[reason]
		if u == nil {
			u = &runner.AuditUnparsed{Reason: reason}
			by[reason] = u
		}
		if u.Count++; len(u.Files) < maxUnparsedNames {
			u.Files = append(u.Files, s.path)
		}
	}
	var out []runner.AuditUnparsed
	for _, u := range by {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(x, y runner.AuditUnparsed) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason))
	})
	return out
}

func (a *audit) summary(r Report) runner.AuditSummary {
	s := runner.AuditSummary{FilesScanned: len(a.files), FilesSkipped: a.skipped, ConventionsDetected: len(a.conventions)}
	for _, f := range a.files {
		s.Lines += f.lines
		if f.parsed {
			s.FilesParsed++
		}
		if f.cached {
			s.FilesCached++
		}
	}
	members, conforming := 0, 0
	for _, c := range a.conventions {
		if c.Status == statusFragmented {
			continue
		}
		members += c.Files
		conforming += c.Conforming
		s.OutliersFound += len(c.Outliers)
	}
	if members > 0 {
		score := float64(conforming) / float64(members)
		s.AlignmentScore = &score
	}
	for _, f := range r.Findings {
		if s.Kinds == nil {
			s.Kinds = map[string]int{}
		}
		s.Kinds[f.Kind]++
		if f.Severity == warning {
			s.WarningCount++
		} else {
			s.InfoCount++
		}
	}
	return s
}

// Judge decides whether a report passes. Warnings that the baseline does not know fail it; info never does. Without a
// baseline a run over a change tells and does not fail: what is there to hold it against has not been said.
func Judge(r *Report) {
	fresh := 0
	for _, f := range r.Findings {
		if f.Severity == warning && !f.Known {
			fresh++
		}
	}
	failed := fresh > 0 && (r.ChangedSince == nil || r.Baseline != nil)
	r.Passed, r.ExitCode = !failed, 0
	status := runner.StatusPassed
	if failed {
		r.ExitCode, status = 1, runner.StatusFailed
	}
	code := r.ExitCode
	r.Phase = runner.Phase{Phase: runner.PhaseAudit, Status: status, ExitCode: &code, Summary: phaseSummary(r, fresh)}
}

func phaseSummary(r *Report, fresh int) string {
	switch {
	case len(r.Findings) == 0:
		return "audit phase passed with no findings"
	case r.Baseline != nil:
		return fmt.Sprintf("audit phase reported %d finding(s), %d warning(s) of them new", len(r.Findings), fresh)
	}
	return fmt.Sprintf("audit phase reported %d finding(s), %d of them warning(s)", len(r.Findings), fresh)
}
