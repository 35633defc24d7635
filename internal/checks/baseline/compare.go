package baseline

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/finding"
)

// An Item is one thing that a baseline can know.
type Item struct {
	ID          string // the identity that its tool gives it
	Also        string // another one that the tool gave it, by which another program's baseline may know it
	Fingerprint string // deed's second identity, without blanks; empty: it has none
	Description string
	Label       string
}

// LintItems are the items of findings that package finding has identified.
func LintItems(fs []runner.LintFinding) []Item {
	items := make([]Item, len(fs))
	labels := map[string]string{}
	for i := range fs {
		f := &fs[i]
		label, ok := labels[f.Category]
		if !ok {
			label = "lint:" + f.Category
			labels[f.Category] = label
		}
		id, also := finding.IDs(f)
		items[i] = Item{ID: id, Also: also, Fingerprint: f.Fingerprint, Description: f.Message, Label: label}
	}
	return items
}

// Findings holds lint findings against a baseline, and says of each whether it is known.
func Findings(known Baseline, fs []runner.LintFinding) runner.BaselineComparison {
	out, old := Compare(known, LintItems(fs))
	for i := range fs {
		fs[i].Known = old[i]
	}
	return out
}

// Compare holds items against a baseline; the second result says of each item whether the baseline knows it. A baseline
// with second identities counts: of three that it knows and four that are there one is new, and an item that moved away
// from its id does not leave the id behind for another one. In a baseline that another program wrote an id covers every
// item that has it, as it does there.
func Compare(known Baseline, items []Item) (runner.BaselineComparison, []bool) {
	var old []bool
	var resolved []string
	if len(known.Identities) == 0 {
		old, resolved = bySet(known.Known, items)
	} else {
		old, resolved = byIdentity(known, items)
	}
	slices.Sort(resolved)
	out := runner.BaselineComparison{Introduced: []runner.BaselineItem{}, Resolved: resolved, Delta: len(items) - known.ItemCount}
	for i, it := range items {
		if old[i] {
			out.Unchanged++
		} else {
			out.Introduced = append(out.Introduced, runner.BaselineItem{Fingerprint: it.ID, Description: it.Description, ContextLabel: it.Label})
		}
	}
	out.DriftIncrease = len(out.Introduced) > 0
	return out, old
}

// bySet is the comparison that other programs make.
func bySet(known []string, items []Item) (old []bool, resolved []string) {
	met := make(map[string]bool, len(known))
	for _, id := range known {
		met[id] = false
	}
	old = make([]bool, len(items))
	for i, it := range items {
		for _, id := range []string{it.ID, it.Also} {
			if _, ok := met[id]; ok && id != "" {
				met[id] = true
				old[i] = true
			}
		}
	}
	resolved = []string{}
	for id, there := range met {
		if !there {
			resolved = append(resolved, id)
		}
	}
	return old, resolved
}

// byIdentity pairs each item with at most one that is known: first by second identity, which tells more, then by id.
func byIdentity(known Baseline, items []Item) (old []bool, resolved []string) {
	ids, fingerprints := rows(known)
	byFingerprint := newIndex(fingerprints, nil)
	old, taken := make([]bool, len(items)), make([]bool, len(ids))
	left := len(items)
	for i, it := range items {
		if row, ok := byFingerprint.take(it.Fingerprint); ok {
			old[i], taken[row] = true, true
			left--
		}
	}
	if left > 0 {
		rest := newIndex(ids, taken)
		for i, it := range items {
			if old[i] {
				continue
			}
			row, ok := rest.take(it.ID)
			if !ok {
				row, ok = rest.take(it.Also)
			}
			if ok {
				old[i], taken[row] = true, true
			}
		}
	}
	resolved = []string{}
	for row, id := range ids {
		if !taken[row] {
			resolved = append(resolved, id)
		}
	}
	return old, resolved
}

// rows returns what a baseline knows as pairs; an id without a second identity has an empty one.
func rows(b Baseline) (ids, fingerprints []string) {
	if !b.sorted() { // it was edited by hand
		b.Known, b.Identities = slices.Clone(b.Known), slices.Clone(b.Identities)
		b.sort()
	}
	fingerprints = make([]string, len(b.Known))
	at := 0
	for _, entry := range b.Identities {
		fingerprint, id, _ := strings.Cut(entry, " ")
		for at < len(b.Known) && b.Known[at] < id {
			at++
		}
		if at < len(b.Known) && b.Known[at] == id {
			fingerprints[at] = fingerprint
			at++
		}
	}
	return b.Known, fingerprints
}

// An index finds rows by a text, each row once.
type index struct {
	first map[string]int32 // the row to take next
	next  []int32          // the one after it with the same text; -1: none
}

// newIndex indexes the rows that are not taken and have a text.
func newIndex(texts []string, taken []bool) index {
	x := index{first: make(map[string]int32, len(texts)), next: make([]int32, len(texts))}
	for row := len(texts) - 1; row >= 0; row-- {
		if texts[row] == "" || taken != nil && taken[row] {
			continue
		}
		x.next[row] = -1
		if after, ok := x.first[texts[row]]; ok {
			x.next[row] = after
		}
		x.first[texts[row]] = int32(row)
	}
	return x
}

func (x index) take(text string) (row int32, ok bool) {
	row, ok = x.first[text]
	if !ok || row < 0 || text == "" {
		return 0, false
	}
	x.first[text] = x.next[row]
	return row, true
}

// Better reports whether a run is worth a new baseline: something is gone and nothing is new; or more tests pass or fewer
// fail, and none is missing.
func Better(c runner.BaselineComparison) bool {
	if c.CurrentCounts == nil {
		return len(c.Introduced) == 0 && len(c.Resolved) > 0
	}
	if c.Regression || c.CurrentCounts.Partial != "" || fewer(c) {
		return false
	}
	return c.PassedDelta > 0 || c.FailedDelta < 0
}
