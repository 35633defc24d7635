package changed

import (
	"path"
	"slices"
	"strings"
)

// A Mapping says where the tests of a component are, as a manifest's `audit.test_mapping` and `test.drift` do. The zero
// one goes by what files are called.
type Mapping struct {
	SourceDirs  []string
	TestDirs    []string
	TestPattern string // with {dir}, {name} and {ext}: the test file of a source file
}

// A Selection is what changed files mean for the tests.
type Selection struct {
	Tests    []string // the test files to run, sorted
	Untested []string // source files that changed and that no selected test speaks for
	Sources  int      // source files that changed, deleted ones too
}

// Select chooses the test files that changed files ask for: those that changed themselves, those that the sources which
// changed map to, and those of more, which are known to speak of them. all are the files of the component.
//
// In Go a package is tested as a whole, so a source selects every test of its directory. Elsewhere it selects the test
// files that are named after it. Tests of other code that uses the source are not found by name: the whole suite is what
// proves a change, and a selection what says something about it soon.
func Select(files []File, all []string, m Mapping, more ...string) Selection {
	s := Selection{Tests: slices.Clone(more)}
	index := indexTests(all, m)
	for _, f := range files {
		switch {
		case m.IsTest(f.Path):
			if f.There() {
				s.Tests = append(s.Tests, f.Path)
			}
			continue
		case !m.IsSource(f.Path):
			continue
		}
		s.Sources++
		found := index.of(f.Path, m)
		if f.Old != "" {
			found = append(found, index.of(f.Old, m)...)
		}
		if f.There() && hasInlineTests(f.Path) {
			found = append(found, f.Path)
		}
		if len(found) == 0 && f.There() {
			s.Untested = append(s.Untested, f.Path)
		}
		s.Tests = append(s.Tests, found...)
	}
	slices.Sort(s.Tests)
	s.Tests = slices.Compact(s.Tests)
	return s
}

// sourceExtensions are the endings of files that tests are about.
var sourceExtensions = []string{".go", ".php", ".rs", ".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".rb", ".java", ".kt", ".swift", ".c", ".cc", ".cpp", ".h", ".sh", ".bash", ".bats"}

// testDirs are the names of directories that hold tests.
var testDirs = []string{"tests", "test", "__tests__"}

// notTests are directories below those that hold what tests use.
var notTests = []string{"testdata", "fixtures", "__fixtures__", "__snapshots__", "__mocks__", "node_modules", "vendor"}

// IsTest reports whether a file is one of tests: by the mapping, where a directory of tests is the narrowest that it names
// for the file, else by what it is called. A directory that is named for both has both.
func (m Mapping) IsTest(p string) bool {
	if !slices.Contains(sourceExtensions, path.Ext(p)) || inNamed(p, notTests) {
		return false
	}
	return depth(p, m.TestDirs) > depth(p, m.SourceDirs) || IsTest(p)
}

// depth is how long the longest of the directories is that has the file; -1 when none has.
func depth(p string, dirs []string) int {
	longest := -1
	for _, d := range dirs {
		if d = strings.Trim(path.Clean(d), "/"); d == "." {
			longest = max(longest, 0)
		} else if strings.HasPrefix(p, d+"/") {
			longest = max(longest, len(d))
		}
	}
	return longest
}

// IsTest reports whether a file is one of tests by what it, or a directory that it lies in, is called.
func IsTest(p string) bool {
	ext := path.Ext(p)
	if !slices.Contains(sourceExtensions, ext) || inNamed(p, notTests) {
		return false
	}
	if _, ok := testedName(p); ok {
		return true
	}
	return ext != ".go" && inNamed(p, testDirs) // go test takes nothing but _test.go
}

// IsSource reports whether a file is one that tests are about, by the mapping's directories or by its ending.
func (m Mapping) IsSource(p string) bool {
	if !slices.Contains(sourceExtensions, path.Ext(p)) || inNamed(p, notTests) {
		return false
	}
	return len(m.SourceDirs) == 0 || depth(p, m.SourceDirs) >= 0
}

// hasInlineTests reports whether files of this kind bring their own tests.
func hasInlineTests(p string) bool { return path.Ext(p) == ".rs" }

func inNamed(p string, names []string) bool {
	for d := range strings.SplitSeq(path.Dir(p), "/") {
		if slices.Contains(names, d) {
			return true
		}
	}
	return false
}

// IsFixture reports whether a file lies where tests keep what they use, or where tools put what others wrote.
func IsFixture(p string) bool { return inNamed(p, notTests) }

// testedName is what a test file is named after, and whether it has the name of a test file at all.
func testedName(p string) (string, bool) {
	name := path.Base(p)
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	cut := func(suffixes ...string) (string, bool) {
		for _, s := range suffixes {
			if rest, ok := strings.CutSuffix(stem, s); ok && rest != "" {
				return rest, true
			}
		}
		return "", false
	}
	switch ext {
	case ".go":
		return cut("_test")
	case ".rs":
		return cut("_tests", "_test")
	case ".php":
		if rest, ok := strings.CutPrefix(stem, "test-"); ok && rest != "" { // as WordPress names them
			return strings.TrimPrefix(rest, "class-"), true
		}
		return cut("Test", "_test")
	case ".py":
		if rest, ok := strings.CutPrefix(stem, "test_"); ok && rest != "" {
			return rest, true
		}
		return cut("_test")
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		return cut(".test", ".spec", "_test")
	case ".rb":
		return cut("_spec", "_test")
	case ".java", ".kt", ".swift":
		return cut("Tests", "Test")
	case ".bats":
		return stem, true
	case ".sh", ".bash":
		if rest, ok := strings.CutPrefix(stem, "test_"); ok && rest != "" {
			return rest, true
		}
		return cut("_test", ".test")
	}
	return "", false
}

// family groups the endings that tests of one kind are written in: a .tsx file is tested by a .test.ts file.
func family(p string) string {
	switch ext := path.Ext(p); ext {
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte":
		return "js"
	case ".c", ".cc", ".cpp", ".h":
		return "c"
	case ".sh", ".bash", ".bats":
		return "sh"
	default:
		return ext
	}
}

// A testIndex finds the tests of a source file.
type testIndex struct {
	byDir  map[string][]string // Go's, by directory
	byName map[string][]string // the others, by family and the name that they are about
	there  map[string]bool     // every file
}

func nameKey(family, name string) string { return family + "\x00" + fold(name) }

// fold makes UserService, user-service and user_service one name.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func indexTests(all []string, m Mapping) testIndex {
	x := testIndex{map[string][]string{}, map[string][]string{}, map[string]bool{}}
	for _, p := range all {
		x.there[p] = true
		if !m.IsTest(p) {
			continue
		}
		if path.Ext(p) == ".go" {
			x.byDir[path.Dir(p)] = append(x.byDir[path.Dir(p)], p)
			continue
		}
		name, ok := testedName(p)
		if !ok { // a test by its directory alone
			name = strings.TrimSuffix(path.Base(p), path.Ext(p))
		}
		k := nameKey(family(p), name)
		x.byName[k] = append(x.byName[k], p)
	}
	return x
}

// entryNames are given to files for what they do in their directory; the directory says what they are about.
var entryNames = []string{"index", "mod", "lib", "main", "__init__", "init"}

func (x testIndex) of(p string, m Mapping) []string {
	if path.Ext(p) == ".go" {
		return x.byDir[path.Dir(p)]
	}
	if m.TestPattern != "" {
		if t := m.testOf(p); x.there[t] {
			return []string{t}
		}
	}
	name := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if path.Ext(p) == ".php" {
		name = strings.TrimPrefix(name, "class-")
	}
	if slices.Contains(entryNames, name) {
		return x.near(p, name)
	}
	return x.byName[nameKey(family(p), name)]
}

// near are the tests of an entry file: those with its name that lie in its directory or below it, and those that are
// named after the directory.
func (x testIndex) near(p, name string) []string {
	dir := path.Dir(p)
	var found []string
	for _, t := range x.byName[nameKey(family(p), name)] {
		if path.Dir(t) == dir || strings.HasPrefix(t, dir+"/") {
			found = append(found, t)
		}
	}
	if dir == "." {
		return found
	}
	return append(found, x.byName[nameKey(family(p), path.Base(dir))]...)
}

// testOf fills in the pattern. {dir} is the path below the source directory.
func (m Mapping) testOf(p string) string {
	dir := path.Dir(p)
	for _, d := range m.SourceDirs {
		d = strings.Trim(path.Clean(d), "/")
		if dir == d {
			dir = ""
			break
		}
		if rest, ok := strings.CutPrefix(dir, d+"/"); ok {
			dir = rest
			break
		}
	}
	if dir == "." {
		dir = ""
	}
	ext := path.Ext(p)
	t := strings.NewReplacer("{dir}", dir, "{name}", strings.TrimSuffix(path.Base(p), ext), "{ext}", strings.TrimPrefix(ext, ".")).Replace(m.TestPattern)
	return strings.TrimPrefix(path.Clean(t), "/")
}
