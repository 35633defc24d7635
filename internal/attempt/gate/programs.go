package gate

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/isolate/exectrace"
)

// Drivers returns the executed programs of a tree that drive a check, as opposed to what it tests. A script that a
// build runs is one (make test, scripts/run.sh, ci/check.py). A program that a test runs, or whose output something
// else reads, is what the check is about: pinning it would make every change of it fail.
//
// Where no run can tell the two apart, the name decides: a script whose output is not read and that starts nothing
// else drives the check if its name is typical for checking, and is under test otherwise.
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

// driverName matches the words that people use in names of scripts that check.
var driverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[/._-])(ci|checks?|checker|tests?|verify|validate|lint|run|runner|runtests?|specs?|scripts?|gradlew|mvnw|tox|nox)([/._-]|$)`)
})

// underTest reports whether a test started the program: then it is under test, or a tool of the test. A test that
// Python runs is part of the interpreter's process, so the tree has no program for it.
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
