package testreport

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/runner"
)

// nextestLine is `PASS [   0.004s] (1/3) crate::binary module::test`, where the counter is of newer versions, and what a test
// is tried again has `TRY 2` before it.
var nextestLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ *(?:TRY \d+ )?([A-Z]+(?:-[A-Z]+)?) +\[ *>? *([0-9.]+)s\] +(?:\( *\d+/\d+\) +)?(\S+) +(\S.*)$`)
})

// nextestStatuses are the words for what is no failure. What is slow goes on, and ends with another word.
var nextestStatuses = map[string]string{
	"PASS": runner.CasePassed, "LEAK": runner.CasePassed, "SKIP": runner.CaseSkipped, "SLOW": "", "START": "", "SETUP": "",
}

// readNextest reads what cargo nextest prints. The last word on a test counts. Behind the summary the failures are listed once more.
func readNextest(r io.Reader, c *collector) error {
	at := map[string]int{}
	var tests []runner.TestCase
	announced, summed := false, false
	broken, errors := false, new(tail)
	for line, err := range textLines(r) {
		if err != nil {
			return err
		}
		text := strings.TrimSpace(line)
		announced = announced || strings.HasPrefix(text, "Starting ") && strings.Contains(text, " test")
		broken = broken || strings.HasPrefix(line, "error: could not compile ")
		if summed = summed || strings.HasPrefix(text, "Summary ["); summed {
			continue
		}
		if !announced {
			errors.add(line + "\n")
		}
		t, ok := nextestCase(line)
		if !ok || !announced {
			continue
		}
		if i, again := at[t.ID()]; again {
			tests[i] = t
			continue
		}
		at[t.ID()] = len(tests)
		tests = append(tests, t)
	}
	for i := range tests {
		if err := c.add(tests[i]); err != nil {
			return err
		}
	}
	switch {
	case broken && !announced:
		return c.add(brokenBuild("", errors.String()))
	case announced && !summed:
		return c.add(runner.TestCase{
			Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: TypeUnfinished,
			Message: fmt.Sprintf("%d tests ran, and nextest did not sum them up", len(tests)),
		})
	}
	return nil
}

func nextestCase(line string) (runner.TestCase, bool) {
	m := nextestLine().FindStringSubmatch(line)
	if m == nil {
		return runner.TestCase{}, false
	}
	status, known := nextestStatuses[m[1]]
	if known && status == "" {
		return runner.TestCase{}, false
	}
	t := runner.TestCase{Suite: m[3], Name: m[4], Status: status}
	if seconds, err := strconv.ParseFloat(m[2], 64); err == nil {
		t.DurationMS = seconds * 1e3
	}
	if !known {
		t.Status, t.Type = runner.CaseFailed, strings.ToLower(m[1])
	}
	return t, true
}
