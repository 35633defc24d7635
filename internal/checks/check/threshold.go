package check

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/coverage"
	"github.com/deedrun/deed/internal/checks/sidecar"
)

// halfCovered is the share of lines, in percent, below which a file is named in the report.
const halfCovered = 50

// thresholds reports the coverage and compares it with what was asked for. deed does so itself, whatever the script did.
func (r *Request) thresholds(rep *runner.Report, set sidecar.Set) {
	o := r.Options
	wanted := o.CoverageMin != nil || o.ChangedMin != nil
	if set.Coverage == nil {
		if wanted && rep.Status == runner.StatusPassed {
			broken("no_coverage", "a coverage was asked for, and the test runner wrote no report of it").into(rep)
		}
		return
	}
	view := &runner.CoverageView{Lines: set.Coverage.Totals.Lines, Methods: set.Coverage.Totals.Methods, Min: o.CoverageMin, ChangedMin: o.ChangedMin, Format: set.CoverageFormat}
	for _, f := range set.Coverage.Files {
		if f.LinePct < halfCovered {
			view.UncoveredFiles = append(view.UncoveredFiles, f)
		}
	}
	rep.Coverage = view
	var faults []string
	if o.CoverageMin != nil && view.Lines.Pct < *o.CoverageMin {
		faults = append(faults, fmt.Sprintf("%.2f%% of the lines are covered, and %g%% are asked for", view.Lines.Pct, *o.CoverageMin))
	}
	if o.ChangedLines != nil {
		n, _ := coverage.Changed(*set.Coverage, o.ChangedLines)
		view.Changed = &n
		for _, file := range coverage.Unmeasured(*set.Coverage, o.ChangedLines) {
			rep.Warnings = append(rep.Warnings, "the coverage says nothing of "+file+", which changed")
		}
		if o.ChangedMin != nil && n.Total > 0 && n.Pct < *o.ChangedMin {
			faults = append(faults, fmt.Sprintf("%.2f%% of the changed lines are covered (%d of %d), and %g%% are asked for", n.Pct, n.Covered, n.Total, *o.ChangedMin))
		}
	}
	switch {
	case len(faults) == 0:
	case rep.Status == runner.StatusPassed:
		found("coverage", "%s", strings.Join(faults, "; ")).into(rep)
	default:
		rep.Warnings = append(rep.Warnings, faults...)
	}
}
