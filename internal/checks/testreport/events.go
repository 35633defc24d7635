package testreport

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// anEvent is one line of the format Events: that a test begins, or how it ended.
type anEvent struct {
	Event string `json:"event"`
	runner.TestCase
}

// readEvents reads what deed's reporters write. A test that began and has no end is reported as failed.
func readEvents(r io.Reader, c *collector) error {
	lenient := toolreport.Lenient()
	open := map[string]runner.TestCase{}
	for line, err := range toolreport.Lines(r) {
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		var e anEvent
		if err := json.Unmarshal(line, &e, lenient); err != nil {
			return fmt.Errorf("%q is no event: %w", begin(line), err)
		}
		switch {
		case e.Event == "start":
			open[e.ID()] = e.TestCase
		case e.Event != "test" || !slices.Contains(runner.CaseStatuses, e.Status):
			return fmt.Errorf("event %q with status %q is unknown", e.Event, e.Status)
		default:
			delete(open, e.ID())
			e.Message = ansi.Strip(e.Message)
			if err := c.add(e.TestCase); err != nil {
				return err
			}
		}
	}
	return c.unfinished(open)
}

// unfinished reports tests that began and did not end.
func (c *collector) unfinished(open map[string]runner.TestCase) error {
	for _, t := range slices.SortedFunc(maps.Values(open), func(a, b runner.TestCase) int { return strings.Compare(a.ID(), b.ID()) }) {
		t.Status, t.Type = runner.CaseFailed, TypeUnfinished
		if err := c.add(t); err != nil {
			return err
		}
	}
	return nil
}
