package house

import (
	"regexp"
	"sort"
	"strings"
)

const dependencyList = "docs/DEPENDENCIES.md"

var (
	requirement = regexp.MustCompile(`^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+) v\S+( // indirect)?`)
	// A dependency in the list is a row of a table that begins with the module's path.
	dependencyRow = regexp.MustCompile("^\\| `([^`]+)` \\|")
)

// checkDependencies compares three accounts of the direct dependencies: what the source imports, what go.mod calls
// direct, and what the list gives reasons for.
func checkDependencies(files []*file) []finding {
	required := map[string]int{} // line in go.mod
	direct := map[string]bool{}
	listed := map[string]int{}
	var imports []string
	for _, f := range files {
		switch {
		case f.path == "go.mod":
			forLines(f.text, func(n int, line string) {
				if m := requirement.FindStringSubmatch(line); m != nil {
					required[m[1]], direct[m[1]] = n, m[2] == ""
				}
			})
		case f.path == dependencyList:
			forLines(f.text, func(n int, line string) {
				if m := dependencyRow.FindStringSubmatch(line); m != nil {
					listed[m[1]] = n
				}
			})
		case f.inModule():
			for p := range f.imports() {
				imports = append(imports, p)
			}
		}
	}

	imported := map[string]bool{}
	for _, p := range imports {
		if m := owner(p, required); m != "" {
			imported[m] = true
		}
	}
	var found []finding
	for m := range imported {
		if !direct[m] {
			found = append(found, finding{"go.mod", required[m], m + " is imported and marked as indirect: run go mod tidy"})
		}
		if listed[m] == 0 {
			found = append(found, finding{dependencyList, 0, m + " has no row: why is it here, and what was set aside?"})
		}
	}
	for m := range direct {
		if direct[m] && !imported[m] {
			found = append(found, finding{"go.mod", required[m], m + " is direct and nothing imports it: run go mod tidy"})
		}
	}
	for m, n := range listed {
		if !imported[m] {
			found = append(found, finding{dependencyList, n, m + " is listed and nothing imports it"})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].text < found[j].text })
	return found
}

// owner returns the module among the required that an import path belongs to: the longest one that begins it.
func owner(importPath string, required map[string]int) string {
	longest := ""
	for m := range required {
		if (importPath == m || strings.HasPrefix(importPath, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}

func forLines(text string, do func(n int, line string)) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		do(n, line)
	}
}
