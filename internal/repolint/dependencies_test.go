package repolint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
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

// TestWhatIsForTestsIsNotInTheProgram holds the two tables of the document against what the program is linked from, so that
// a module of the tests does not get into the program by way of another one.
func TestWhatIsForTestsIsNotInTheProgram(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("missing tool: go: install Go, https://go.dev/dl")
	}
	cmd := exec.CommandContext(t.Context(), tool, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/deed")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		linked[path] = true
	}
	text, err := os.ReadFile(filepath.Join(cmd.Dir, filepath.FromSlash(dependencyList)))
	if err != nil {
		t.Fatal(err)
	}
	program, tests, found := strings.Cut(string(text), "## In tests and generators")
	if !found {
		t.Fatalf("%s has no table of what is for tests", dependencyList)
	}
	forLines(program, func(_ int, line string) {
		if m := dependencyRow.FindStringSubmatch(line); m != nil && !linked[m[1]] {
			t.Errorf("%s is in the table of the program, and not in the program", m[1])
		}
	})
	forLines(tests, func(_ int, line string) {
		if m := dependencyRow.FindStringSubmatch(line); m != nil && linked[m[1]] {
			t.Errorf("%s is in the table of tests, and in the program: go mod why -m %s says by which way", m[1], m[1])
		}
	})
}
