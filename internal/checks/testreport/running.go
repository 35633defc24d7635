package testreport

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// Running names the tests that began and did not end.
func Running(cases []runner.TestCase) string {
	const most = 3
	var names []string
	for _, c := range cases {
		if c.Status == runner.CaseFailed && (c.Type == TypeUnfinished || c.Type == "timeout") && !strings.HasPrefix(c.Name, "[") {
			names = append(names, c.ID())
		}
	}
	// A test whose subtest runs waits for it.
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.ContainsFunc(names, func(o string) bool { return strings.HasPrefix(o, path.Clean(n)+"/") })
	})
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
