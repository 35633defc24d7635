package finding

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// WriteGitHub writes a report as workflow commands, which GitHub shows next to the code. prefix is the component's path in the
// repository, empty at its root. Errors come first, since GitHub shows only the first few of a step. What the baseline knows is
// left out. A failure without a location is an error of its own.
func WriteGitHub(w io.Writer, rep runner.Report, prefix string) error {
	all := notes(&rep)
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(a.level, b.level) })
	all = slices.DeleteFunc(all, func(n note) bool { return n.finding != nil && n.finding.Known })
	if f := rep.Failure; f != nil && (len(all) == 0 || f.Category == runner.CategoryInfrastructure) {
		all = append(all, note{level: levelError, title: "deed " + rep.Capability, message: f.Summary})
	}
	out := bufio.NewWriter(w)
	for _, n := range all {
		if _, err := out.WriteString(command(n, prefix)); err != nil {
			return fmt.Errorf("write annotations: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	return nil
}

// command returns one workflow command, with its line feed.
func command(n note, prefix string) string {
	var b strings.Builder
	b.WriteString([...]string{"::error", "::warning", "::notice"}[n.level])
	sep := " "
	property := func(key, value string) {
		if value != "" {
			b.WriteString(sep + key + "=" + escapeProperty(value))
			sep = ","
		}
	}
	if n.file != "" {
		property("file", below(prefix, n.file))
		if n.line > 0 {
			property("line", strconv.Itoa(n.line))
			if n.column > 0 {
				property("col", strconv.Itoa(n.column))
			}
		}
	}
	property("title", n.title)
	b.WriteString("::" + escapeData(cmp.Or(n.message, n.title)) + "\n")
	return b.String()
}

// below puts a component's path in front of a file of it.
func below(prefix, file string) string {
	if prefix == "" || path.IsAbs(file) {
		return file
	}
	return path.Join(prefix, file)
}

// escapeData keeps a message from ending its command, and from beginning another one.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
