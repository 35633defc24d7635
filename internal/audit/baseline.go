package audit

import (
	"slices"

	"github.com/deedrun/deed/contract/runner"
)

// A Known is what a baseline has of an earlier run.
type Known struct {
	Fingerprints []string // one for each kind in a file
	Identities   []string // one for each finding; none: the baseline is another tool's, and its fingerprints count
	ItemCount    int
}

// Compare holds a report against a baseline: it marks the findings that are known, and judges again.
func Compare(r *Report, k Known) {
	known := map[string]bool{}
	name := func(f runner.AuditFinding) string { return f.Identity }
	if len(k.Identities) > 0 {
		for _, id := range k.Identities {
			known[id] = true
		}
	} else {
		name = func(f runner.AuditFinding) string { return f.Fingerprint }
		for _, id := range k.Fingerprints {
			known[id] = true
		}
	}
	c := &runner.BaselineComparison{Introduced: []runner.BaselineItem{}, Resolved: []string{}}
	now, told := map[string]bool{}, map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		id := name(*f)
		now[id] = true
		if f.Known = known[id]; f.Known {
			c.Unchanged++
			continue
		}
		if told[id] {
			continue
		}
		told[id] = true
		c.Introduced = append(c.Introduced, runner.BaselineItem{Fingerprint: id, Description: f.Description, ContextLabel: "audit:" + f.Kind})
	}
	if r.ChangedSince == nil { // a part of the findings cannot tell what is gone
		for id := range known {
			if !now[id] {
				c.Resolved = append(c.Resolved, id)
			}
		}
	}
	slices.Sort(c.Resolved)
	c.Delta = len(now) - len(known)
	c.DriftIncrease = len(c.Introduced) > 0
	r.Baseline, r.Command = c, "audit.compared"
	Judge(r)
}
