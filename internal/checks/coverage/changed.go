package coverage

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/deedrun/deed/contract/runner"
)

// Changed counts the changed lines that a report knows: lines are inclusive ranges by file, below the component. The places that
// were not run are listed as file:line or file:first-last, in order. If no executable line was changed, the coverage is complete.
func Changed(c runner.Coverage, lines map[string][][2]int) (runner.CoverageCount, []string) {
	var all sum
	var missed []string
	for i := range c.Files {
		f := &c.Files[i]
		ranges := lines[f.File]
		if len(ranges) == 0 {
			continue
		}
		var not []int
		for _, line := range slices.Sorted(maps.Keys(f.Hits)) {
			if !within(ranges, line) {
				continue
			}
			all.add(f.Hits[line] > 0)
			if f.Hits[line] <= 0 {
				not = append(not, line)
			}
		}
		missed = append(missed, places(f.File, not)...)
	}
	return runner.CoverageCount{Pct: percent(all, 100), Total: all.total, Covered: all.covered}, missed
}

// Unmeasured names the changed files that a report says nothing about though it knows files of their kind: nothing loaded
// them, so they count neither for nor against.
func Unmeasured(c runner.Coverage, lines map[string][][2]int) []string {
	known, kinds := map[string]bool{}, map[string]bool{}
	for i := range c.Files {
		known[c.Files[i].File] = true
		kinds[path.Ext(c.Files[i].File)] = true
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if !known[name] && kinds[path.Ext(name)] && len(lines[name]) > 0 {
			out = append(out, name)
		}
	}
	return out
}

func within(ranges [][2]int, line int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= line && line <= r[1] })
}

// places formats lines as ranges.
func places(file string, lines []int) []string {
	var out []string
	for i := 0; i < len(lines); {
		end := i
		for end+1 < len(lines) && lines[end+1] == lines[end]+1 {
			end++
		}
		if end == i {
			out = append(out, fmt.Sprintf("%s:%d", file, lines[i]))
		} else {
			out = append(out, fmt.Sprintf("%s:%d-%d", file, lines[i], lines[end]))
		}
		i = end + 1
	}
	return out
}
