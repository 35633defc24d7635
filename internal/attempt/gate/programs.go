package gate

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/isolate/exectrace"
)

// Drivers names the programs of a tree that drive a check, of those that it was seen to execute: what it consists of, as opposed
// to what it tests. A script that a build runs is one (make test, scripts/run.sh, ci/check.py). A program that a test runs, or
// whose output something else reads, is what the check is about: to pin it would have every change of it fail.
//
// What no run can tell apart is decided by name: a script that nobody reads and that leads to nothing else drives the check when it
// is called like one that checks, and is what is checked otherwise.
func Drivers(programs []exectrace.Program, runners []string) []string {
	var out []string
	for i, p := range programs {
		if !drives(programs, i, runners) {
			continue
		}
		for _, name := range append([]string{p.Path}, p.Links...) {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func drives(programs []exectrace.Program, i int, runners []string) bool {
	p := programs[i]
	switch {
	case underTest(programs, i, runners):
		return false
	case matchAny(testFiles, p.Path) || driverName().MatchString(p.Path):
		return true
	case p.Captured:
		return false
	}
	return p.Leads && (len(runners) > 0 || leadsToTests(programs, i))
}

// driverName are the words by which people call what checks.
var driverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[/._-])(ci|checks?|checker|tests?|verify|validate|lint|run|runner|runtests?|specs?|scripts?|gradlew|mvnw|tox|nox)([/._-]|$)`)
})

// underTest reports whether a test started the program: it is what is tested, or its tool. A test that Python runs is a part of
// the interpreter's process, which is no program of the tree.
func underTest(programs []exectrace.Program, i int, runners []string) bool {
	p := programs[i]
	python := slices.Contains(runners, "pytest") || slices.Contains(runners, "unittest")
	for _, name := range p.Under {
		name = path.Base(name)
		if slices.Contains(runnerNames, name) || strings.HasSuffix(name, ".test") || python && p.Parent < 0 && strings.HasPrefix(name, "python") {
			return true
		}
	}
	for n := p.Parent; n >= 0 && n < len(programs); n = programs[n].Parent {
		if matchAny(testNames, programs[n].Path) || matchAny(testTools, programs[n].Path) {
			return true
		}
	}
	return false
}

// leadsToTests reports whether a program started a test, another driver or a test runner.
func leadsToTests(programs []exectrace.Program, i int) bool {
	for n := range programs {
		for up := programs[n].Parent; up >= 0 && up < len(programs); up = programs[up].Parent {
			if up == i && (matchAny(testFiles, programs[n].Path) || driverName().MatchString(programs[n].Path)) {
				return true
			}
		}
	}
	return false
}

// runnerNames are programs that run tests.
var runnerNames = []string{"pytest", "py.test", "bats", "bats-exec-test", "bats-exec-file", "mocha", "_mocha", "jest", "vitest", "ava", "tap", "phpunit", "nextest", "cargo-nextest", "rspec"}
