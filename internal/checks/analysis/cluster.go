package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/runner"
)

// maxExamples is how many tests a cluster names.
const maxExamples = 5

// maxPattern is how many characters of a message stand for a cluster, and minPrefix how many messages must share for
// their beginning to say anything.
const (
	maxPattern = 120
	minPrefix  = 20
)

// Clusters groups failures by what they have in common. results, where the caller has them, are the counts of the same
// run: without any failure that could be read they say whether that is good news.
func Clusters(component string, failures []runner.TestFailure, results *runner.TestResults) runner.Analysis {
	a := runner.Analysis{Component: component, TotalFailures: len(failures), Clusters: []runner.Cluster{}}
	if results != nil {
		a.TotalTests, a.TotalPassed = results.Total, results.Passed
	}
	if a.TotalTests == 0 {
		a.TotalTests = len(failures)
	}
	a.TotalPassed = min(a.TotalPassed, a.TotalTests)
	groups := map[string][]runner.TestFailure{}
	for _, f := range failures {
		k := key(f)
		groups[k] = append(groups[k], f)
	}
	for id, fs := range groups {
		a.Clusters = append(a.Clusters, cluster(id, fs))
	}
	slices.SortFunc(a.Clusters, func(x, y runner.Cluster) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.ID, y.ID))
	})
	a.Hints = hints(a, results)
	return a
}

func cluster(id string, fs []runner.TestFailure) runner.Cluster {
	c := runner.Cluster{ID: id, Pattern: pattern(fs), Category: category(fs[0]), Count: len(fs), AffectedFiles: []string{}, ExampleTests: []string{}}
	for _, f := range fs {
		if f.TestFile != "" {
			c.AffectedFiles = append(c.AffectedFiles, f.TestFile)
		}
		if f.TestName != "" && len(c.ExampleTests) < maxExamples && !slices.Contains(c.ExampleTests, f.TestName) {
			c.ExampleTests = append(c.ExampleTests, f.TestName)
		}
	}
	slices.Sort(c.AffectedFiles)
	c.AffectedFiles = slices.Compact(c.AffectedFiles)
	c.SuggestedFix = suggestion(id, c.Category)
	return c
}

// pattern is the message that all failures share, or how all of their messages begin.
func pattern(fs []runner.TestFailure) string {
	shared := collapse(fs[0].Message)
	same := true
	variants := map[string]bool{shared: true}
	for _, f := range fs[1:] {
		m := collapse(f.Message)
		same = same && variants[m]
		variants[m] = true
		shared = commonPrefix(shared, m)
	}
	switch {
	case same:
		return cut(shared, maxPattern)
	case utf8.RuneCountInString(shared) > minPrefix:
		return fmt.Sprintf("%s (%d variants)", cut(strings.TrimSpace(shared), maxPattern), len(variants))
	default:
		return cut(collapse(fs[0].Message), maxPattern)
	}
}

// commonPrefix never ends within a character.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// collapse makes every run of white space one space, and every text valid.
func collapse(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// cut keeps the first n characters.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// suggestion is what to try first, where the category says that much.
func suggestion(id, category string) string {
	_, what, _ := strings.Cut(id, "::")
	switch category {
	case catFatal:
		return "repair this first: what it stops cannot say anything else"
	case catMissingMethod:
		return "the tests call " + what + ", which is not there: look for its new name (deed test --drift) or bring it back"
	case catMissingClass:
		return "the tests use " + what + ", which cannot be found: look for its new name (deed test --drift), or for an autoloader or import that has to be brought up to date"
	case catSignature:
		return "the parameters changed: bring the calls in the tests in line with the declaration"
	case catReturnType:
		return "something returns another type than the tests expect: correct it, or the expectation"
	case catErrorCode:
		return "an error has another code than the tests expect: replace the code, or keep the old one"
	case catMock:
		return "a double no longer fits what it stands for: bring its methods in line"
	case catEnvironment:
		return "the environment of the tests is not ready: look at its services and its setup before the code"
	default:
		return ""
	}
}

// hints say where to begin.
func hints(a runner.Analysis, results *runner.TestResults) []string {
	if a.TotalFailures == 0 {
		if results != nil && results.Failed > 0 {
			return []string{fmt.Sprintf("%d failed, and the runner told nothing about them: it wrote no failures (HOMEBOY_TEST_FAILURES_FILE), so there is nothing to group", results.Failed)}
		}
		return []string{"all passing: there is nothing to group"}
	}
	var out []string
	top := a.Clusters[0]
	out = append(out, fmt.Sprintf("the largest cluster has %d of %d: %s", top.Count, a.TotalFailures, top.Pattern))
	if len(a.Clusters) > 1 {
		n := 0
		for _, c := range a.Clusters[:min(3, len(a.Clusters))] {
			n += c.Count
		}
		out = append(out, fmt.Sprintf("the first %d clusters are %d%% of all failures", min(3, len(a.Clusters)), n*100/a.TotalFailures))
	}
	fatal, replaceable := 0, 0
	for _, c := range a.Clusters {
		switch c.Category {
		case catFatal:
			fatal += c.Count
		case catMissingMethod, catMissingClass, catErrorCode:
			replaceable += c.Count
		}
	}
	if fatal > 0 {
		out = append(out, fmt.Sprintf("begin with the fatal ones (%d): they hide what comes after them", fatal))
	}
	if replaceable > 0 {
		out = append(out, fmt.Sprintf("%d can be repaired by replacing a name in the tests: see deed test --drift", replaceable))
	}
	return out
}
