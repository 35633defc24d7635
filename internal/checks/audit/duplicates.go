package audit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// Sizes in nodes below which equal bodies are no copy of each other, only short.
const (
	minDuplicateSize = 24
	minNearSize      = 120
)

// entryPoints are functions that each program or test binary must have for itself.
var entryPoints = []string{"main", "init", "TestMain"}

type copyOf struct {
	s  *source
	fn *funcFact
}

func (a *audit) detectDuplicates(context.Context) error {
	exact, shape := map[uint64][]copyOf{}, map[uint64][]copyOf{}
	for _, s := range a.files {
		if s.generated {
			continue
		}
		for i := range s.funcs {
			fn := &s.funcs[i]
			lines := fn.lines()
			if fn.exact == 0 || slices.Contains(entryPoints, fn.name) || (lines > 0 && lines < a.set.Limits.DuplicateMinLines) || fn.size < minDuplicateSize {
				continue
			}
			exact[fn.exact] = append(exact[fn.exact], copyOf{s, fn})
			if fn.shape != 0 && fn.size >= minNearSize && lines >= 2*a.set.Limits.DuplicateMinLines && !isTestFile(s.path) {
				shape[fn.shape] = append(shape[fn.shape], copyOf{s, fn})
			}
		}
	}
	a.copies(kindDuplicate, exact, "the same body")
	for h, list := range shape {
		if !slices.ContainsFunc(list, func(c copyOf) bool { return c.fn.exact != list[0].fn.exact }) {
			delete(shape, h) // reported already
		}
	}
	a.copies(kindNearDuplicate, shape, "the same body but for names and literals")
	slices.SortFunc(a.duplicates, func(x, y runner.AuditDuplicate) int {
		return cmp.Or(cmp.Compare(x.Locations[0].File, y.Locations[0].File), cmp.Compare(x.Locations[0].Line, y.Locations[0].Line), cmp.Compare(x.Kind, y.Kind))
	})
	return nil
}

// copies reports each group of equal functions, one finding at each place.
func (a *audit) copies(kind string, groups map[uint64][]copyOf, what string) {
	for _, list := range groups {
		if len(list) < 2 || variants(list) {
			continue
		}
		slices.SortFunc(list, func(x, y copyOf) int {
			return cmp.Or(strings.Compare(x.s.path, y.s.path), cmp.Compare(x.fn.line, y.fn.line))
		})
		d := runner.AuditDuplicate{Kind: kind, Name: list[0].fn.name, Lines: list[0].fn.lines()}
		tests := true
		for _, c := range list {
			d.Locations = append(d.Locations, runner.AuditLocation{File: c.s.path, Line: c.fn.line, Name: c.fn.name})
			tests = tests && isTestFile(c.s.path)
		}
		if a.reports(kind) {
			a.duplicates = append(a.duplicates, d)
		}
		for i, c := range list {
			f := runner.AuditFinding{
				Convention: conventionDuplication, Kind: kind, File: c.s.path, Line: c.fn.line, Subject: c.fn.name,
				Description: fmt.Sprintf("%s has %s as %s", c.fn.name, what, others(d.Locations, i)),
				Suggestion:  "keep one of them and let the others call it",
			}
			if tests {
				f.Severity = info // tests are read one by one, and may repeat themselves
			}
			a.add(f)
		}
	}
}

// variants reports whether functions are the same one for several systems: one name in one directory, of which a build
// takes one.
func variants(list []copyOf) bool {
	first := list[0]
	return first.s.lang == "go" && !slices.ContainsFunc(list, func(c copyOf) bool {
		return c.fn.name != first.fn.name || c.fn.recv != first.fn.recv || path.Dir(c.s.path) != path.Dir(first.s.path)
	})
}

// others names the places of a copy but one.
func others(all []runner.AuditLocation, but int) string {
	var names []string
	for i, l := range all {
		if i == but {
			continue
		}
		if len(names) == 3 {
			names = append(names, fmt.Sprintf("%d more", len(all)-1-3))
			break
		}
		names = append(names, fmt.Sprintf("%s in %s:%d", l.Name, l.File, l.Line))
	}
	return strings.Join(names, ", ")
}
