package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/runner"
)

// minTestedSize is how many nodes the functions of a package have together before a test is missed.
const minTestedSize = 25

func (a *audit) detectTests(context.Context) error {
	tested := map[string]bool{} // packages that a test imports, by path
	for _, s := range a.files {
		if s.lang == "go" && (s.test || servesTests(path.Dir(s.path))) {
			for _, i := range s.imports {
				tested[i.path] = true
			}
		}
	}
	for _, dir := range a.tree.dirs {
		if a.tree.module[dir] != "" {
			a.goPackageTests(dir, tested[a.tree.module[dir]])
		}
	}
	for _, s := range a.files {
		for _, fn := range s.funcs {
			if fn.vacuous {
				a.add(runner.AuditFinding{
					Convention: conventionTests, Kind: kindVacuousTest, File: s.path, Line: fn.line, Subject: fn.name,
					Description: fn.name + " checks nothing: it is empty, or is always skipped",
					Suggestion:  "let it fail when the code is wrong, or remove it",
				})
			}
		}
	}
	if m := a.set.TestMapping; m != nil {
		a.mappedTests(m)
	}
	return nil
}

// goPackageTests reports a package with code that no test reaches, and examples of what is not there.
func (a *audit) goPackageTests(dir string, tested bool) {
	first, size := "", 0
	names := map[string]bool{}
	var tests []*source
	for _, s := range a.tree.byDir[dir] {
		if s.lang != "go" || !s.parsed {
			continue
		}
		if s.test {
			tests = append(tests, s)
			if strings.HasSuffix(s.pkg, "_test") {
				continue
			}
		}
		for _, fn := range s.funcs {
			names[fn.name], names[fn.recv+"_"+fn.name] = true, true
			if !s.test && !s.generated {
				size += fn.size
			}
		}
		for _, t := range s.types {
			names[t.name] = true
			for _, m := range t.methods {
				names[t.name+"_"+m] = true
			}
		}
		for _, v := range s.values {
			names[v.name] = true
		}
		if first == "" && !s.test && !s.generated {
			first = s.path
		}
	}
	if first != "" && len(tests) == 0 && !tested && size >= minTestedSize && !servesTests(dir) {
		f := runner.AuditFinding{
			Convention: conventionTests, Kind: kindMissingTestFile, File: first, Subject: dir,
			Description: "the package " + dir + " has code and no test, and no test imports it",
			Suggestion:  "add a test to the package",
		}
		if a.tree.byPath[first].pkg == "main" {
			f.Severity = info // a program is tested by running it
		}
		a.add(f)
	}
	if first == "" {
		return // tests alone: of something that is not here
	}
	for _, s := range tests {
		for _, fn := range s.funcs {
			if of, ok := exampleOf(fn); ok && !names[of] {
				a.add(runner.AuditFinding{
					Convention: conventionTests, Kind: kindOrphanedTest, File: s.path, Line: fn.line, Subject: fn.name,
					Description: fmt.Sprintf("%s is an example of %s, which the package does not have", fn.name, strings.ReplaceAll(of, "_", ".")),
					Suggestion:  "rename it after what it shows, or remove it",
				})
			}
		}
	}
}

// exampleOf is what a Go example is named after, by the rules of go vet: F, T or T_M, and a suffix in lower case.
func exampleOf(fn funcFact) (string, bool) {
	rest, ok := strings.CutPrefix(fn.name, "Example")
	if !ok || !fn.isTest || rest == "" || rest[0] == '_' {
		return "", false
	}
	parts := strings.Split(rest, "_")
	if r, _ := utf8.DecodeRuneInString(parts[len(parts)-1]); len(parts) > 1 && unicode.IsLower(r) {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "_"), len(parts) <= 2
}

// mappedTests holds source and tests against each other by the mapping of the project.
func (a *audit) mappedTests(m *TestMapping) {
	pattern := m.TestFilePattern
	if pattern == "" {
		return
	}
	expected := map[string]string{} // test file and its source
	stems := map[string]string{}
	for _, s := range a.files {
		if !languages[extOf(s.path)].structure || s.generated {
			continue
		}
		rel, ok := below(s.path, m.SourceDirs)
		if !ok || isMapped(s.path, m) || (len(m.TestDirs) == 0 && isTestFile(s.path)) {
			continue
		}
		test := testPath(pattern, rel, s.path)
		expected[test] = s.path
		stems[stem(s.path)] = s.path
		if matchesAny(m.SkipTestPatterns, s.path) {
			continue
		}
		t := a.tree.byPath[test]
		switch {
		case t != nil:
			a.mappedMethods(m, s, t)
		case !m.InlineTests && !slices.Contains(indexFiles, path.Base(s.path)):
			f := runner.AuditFinding{
				Convention: conventionTests, Kind: kindMissingTestFile, File: s.path, Subject: test,
				Description: "has no test: " + test + " is not there", Suggestion: "add " + test,
			}
			if len(m.CriticalPatterns) > 0 && !matchesAny(m.CriticalPatterns, s.path) {
				f.Severity = info
			}
			a.add(f)
		}
	}
	for _, s := range a.files {
		if !isMapped(s.path, m) || expected[s.path] != "" || !languages[extOf(s.path)].structure || matchesAny(m.SkipTestPatterns, s.path) || !fits(pattern, s.path) {
			continue
		}
		a.orphan(s, pattern, stems)
	}
}

// orphan reports a test file whose source is not where the mapping says.
func (a *audit) orphan(s *source, pattern string, stems map[string]string) {
	f := runner.AuditFinding{
		Convention: conventionTests, Kind: kindOrphanedTest, File: s.path, Subject: s.path,
		Description: "tests a source file that is not there", Suggestion: "remove it, or name it after what it tests",
	}
	before, after, _ := strings.Cut(path.Base(pattern), "{name}")
	after = strings.ReplaceAll(after, "{ext}", strings.TrimPrefix(path.Ext(s.path), "."))
	name := strings.TrimSuffix(strings.TrimPrefix(path.Base(s.path), before), after)
	if at := stems[name]; at != "" {
		f.Description, f.Suggestion = "is not where the test of "+at+" belongs", "move it to where the mapping looks for it"
	}
	a.add(f)
}

// mappedMethods reports public methods without a test of their name.
func (a *audit) mappedMethods(m *TestMapping, s, t *source) {
	if m.MethodPrefix == "" || !s.parsed || !t.parsed {
		return
	}
	for _, fn := range s.funcs {
		if !fn.exported || strings.HasPrefix(fn.name, "_") {
			continue
		}
		want := strings.ToLower(strings.ReplaceAll(m.MethodPrefix+fn.name, "_", ""))
		if !slices.ContainsFunc(t.funcs, func(f funcFact) bool {
			return strings.HasPrefix(strings.ToLower(strings.ReplaceAll(f.name, "_", "")), want)
		}) {
			a.add(runner.AuditFinding{
				Convention: conventionTests, Kind: kindMissingTestMethod, File: s.path, Line: fn.line, Subject: fn.name,
				Description: fmt.Sprintf("%s has no test that begins with %s%s in %s", fn.name, m.MethodPrefix, fn.name, t.path),
				Suggestion:  "add a test of it",
			})
		}
	}
}

// below cuts the source directory off a path. No directories is the whole tree.
func below(name string, dirs []string) (string, bool) {
	if len(dirs) == 0 {
		return name, true
	}
	for _, d := range dirs {
		d = strings.Trim(d, "/")
		if rest, ok := strings.CutPrefix(name, d+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// isMapped reports whether a file is where tests are.
func isMapped(name string, m *TestMapping) bool {
	if len(m.TestDirs) == 0 {
		return isTestFile(name)
	}
	_, ok := below(name, m.TestDirs)
	return ok
}

// testPath fills the pattern for a source file. {dir} is its directory below the source directory.
func testPath(pattern, rel, full string) string {
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	p := strings.NewReplacer("{dir}", dir, "{name}", stem(full), "{ext}", strings.TrimPrefix(path.Ext(full), ".")).Replace(pattern)
	return strings.TrimPrefix(path.Clean(strings.ReplaceAll(p, "//", "/")), "/")
}

// fits reports whether a file could be what a pattern makes.
func fits(pattern, name string) bool {
	before, after, _ := strings.Cut(path.Base(pattern), "{name}")
	after = strings.ReplaceAll(after, "{ext}", strings.TrimPrefix(path.Ext(name), "."))
	base := path.Base(name)
	return len(base) > len(before)+len(after) && strings.HasPrefix(base, before) && strings.HasSuffix(base, after)
}

func stem(name string) string {
	base := path.Base(name)
	return strings.TrimSuffix(base, path.Ext(base))
}

// matchesAny reports whether a path contains one of the texts: the patterns of a test mapping are parts of paths.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p != "" && strings.Contains(name, p) })
}

func extOf(name string) string { return strings.ToLower(path.Ext(name)) }
