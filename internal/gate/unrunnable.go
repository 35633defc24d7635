package gate

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/helper"
)

// A missing thing is told by the shell, by an interpreter or by a package manager. What a pattern finds is its name.
var missing = []struct {
	pattern *regexp.Regexp
	why     string
	remedy  string
}{
	{regexp.MustCompile(`(?m)^(?:\S*/)?(?:ba|da|z|k)?sh: (?:line )?\d+: ([^\s/:]+): (?:command )?not found$`), "the program %s is not installed", "install %s, or give another check"},
	{regexp.MustCompile(`(?m)^(?:\S*/)?(?:ba)?sh: ([^\s/:]+): command not found$`), "the program %s is not installed", "install %s, or give another check"},
	{regexp.MustCompile(`(?m)^make(?:\[\d+\])?: ([^\s/:]+): No such file or directory$`), "the program %s is not installed", "install %s, or give another check"},
	{regexp.MustCompile(`(?m)^/usr/bin/env: ['‘]([^\s/'’]+)['’]: No such file or directory$`), "the program %s is not installed", "install %s, or give another check"},
	{regexp.MustCompile(`(?m)^\S*python[\d.]*: No module named ([\w.]+)$`), "Python has no module %s", "install %s for the Python that the check runs, or give another check"},
	{regexp.MustCompile(`(?m)^npm (?:error|ERR!) [Mm]issing script: "?([\w:-]+)"?`), "package.json has no script %s", "add the script %s, or give another check"},
	{regexp.MustCompile(`(?m)^make(?:\[\d+\])?: \*\*\* No rule to make target ['‘]([\w.-]+)['’]\.`), "the Makefile has no target %s", "add the target %s, or give another check"},
	{regexp.MustCompile(`(?m)^make: \*\*\* (No targets specified and no makefile found)\.`), "make says: %s", "give a check that the project has"},
	{regexp.MustCompile(`(?m)no required module provides package (\S+);`), "the Go module that has %s is not required", "add it to go.mod (go get %s)"},
	{regexp.MustCompile(`(?m)(missing go\.sum entry) `), "go says: %s", "run go mod download, and commit go.sum"},
	{regexp.MustCompile(`(?m)^go: (\S+@\S+): (?:Get|module lookup disabled|dial tcp)`), "the Go module %s cannot be downloaded here", "run go mod download first: a check has no network"},
}

// unrunnable says why a check could not be run on its base, and what to do; "" when it could. That it fails there is no
// fault: the task may be about that, and a program or module of the project's own may be what is to be written.
func unrunnable(c deed.Check, b BaseRun) (why, remedy string) {
	switch {
	case b.Status == "" || b.Status == runner.StatusPassed:
		return "", ""
	case c.Capability != "":
		return unrunnableCapability(c, b)
	case b.Status == runner.StatusError:
		return cmp.Or(lastLine(b.Tail), "it could not be started"), "give a check that runs here"
	}
	if why, remedy = missingIn(b.Tail); why != "" {
		return why, remedy
	}
	if len(b.Runners) > 0 && !b.named() && len(b.Faults) == 0 && b.ExitCode != 0 && noTests.MatchString(b.Tail) {
		return fmt.Sprintf("%s found no test", strings.Join(b.Runners, ", ")), "give a check that runs the project's tests"
	}
	return "", ""
}

// noTests is how runners say that there was nothing to run.
var noTests = regexp.MustCompile(`(?im)no tests? (?:ran|found|files? found|executed)|collected 0 items|ran 0 tests`)

// missingIn finds what is missing in what a check printed.
func missingIn(text string) (why, remedy string) {
	for _, m := range missing {
		if found := m.pattern.FindStringSubmatch(text); found != nil {
			why, remedy = fmt.Sprintf(m.why, found[1]), m.remedy
			if strings.Contains(remedy, "%s") {
				remedy = fmt.Sprintf(remedy, found[1])
			}
			return why, remedy
		}
	}
	return "", ""
}

// unrunnableCapability reads what the runner of a capability says of itself.
func unrunnableCapability(c deed.Check, b BaseRun) (why, remedy string) {
	if b.Report == nil {
		return cmp.Or(lastLine(b.Tail), "it could not be run"), "give a check that runs here"
	}
	r := b.Report
	switch {
	case r.Status == runner.StatusSkipped && c.Capability == runner.Test:
		return cmp.Or(r.Phase.Summary, "there is nothing to run"), "give a check that the project has"
	case r.Status != runner.StatusError || r.Failure == nil:
		return "", ""
	case r.Failure.Mode == helper.ModeNoTestFiles, r.Failure.Mode == helper.ModeZeroTests:
		return "no test is found", "give a check that runs the project's tests; for a task that writes the first ones: --allow-broken-base"
	}
	if why, remedy = missingIn(r.Failure.Summary + "\n" + b.Tail); why != "" {
		return why, remedy
	}
	return "", ""
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return oneLine(text[strings.LastIndexByte(text, '\n')+1:])
}
