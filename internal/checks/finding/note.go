package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// A level is how severe a note is, in the order in which notes are listed.
type level int

const (
	levelError level = iota
	levelWarning
	levelNote
)

// A note is what a report says of one place in the code: a finding, an annotation or a failed test.
type note struct {
	level        level
	tool, rule   string
	title        string
	message      string
	file         string
	line, column int
	finding      *runner.LintFinding // what else there is to say
}

// notes returns the notes of a report, by file and line. An annotation that repeats a finding is listed once.
func notes(rep *runner.Report) []note {
	var all []note
	for i := range rep.LintFindings {
		f := &rep.LintFindings[i]
		all = append(all, note{
			level: levelOf(f.Severity, f.Category), tool: f.Tool, rule: f.Rule, title: title(f.Tool, f.Rule),
			message: f.Message, file: f.File, line: f.Line, column: f.Column, finding: f,
		})
	}
	all = append(all, annotated(rep)...)
	all = append(all, failed(rep)...)
	slices.SortStableFunc(all, func(a, b note) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return all
}

// annotated returns the annotations that no finding stands for.
func annotated(rep *runner.Report) []note {
	if len(rep.Annotations) == 0 {
		return nil
	}
	type what struct {
		file string
		line int
		text string
	}
	told := map[what]bool{}
	for _, f := range rep.LintFindings {
		told[what{f.File, f.Line, f.Message}] = true
		if f.Rule != "" {
			told[what{f.File, f.Line, "\x00" + f.Rule}] = true
		}
	}
	var all []note
	for _, a := range rep.Annotations {
		if told[what{a.File, a.Line, a.Message}] || a.Code != "" && told[what{a.File, a.Line, "\x00" + a.Code}] {
			continue
		}
		all = append(all, note{
			level: levelOf(a.Severity, ""), tool: cmp.Or(a.Source, defaultTool), rule: a.Code, title: title(a.Source, a.Code),
			message: a.Message, file: a.File, line: a.Line,
		})
	}
	return all
}

// The tool and the rule of a failed test.
const (
	testTool = "test"
	testRule = "test-failure"
)

// failed returns the failed tests, each once, from the list that tells most of them.
func failed(rep *runner.Report) []note {
	var all []note
	told := map[string]bool{}
	add := func(name, message, file string, line int) {
		if told[name] && name != "" {
			return
		}
		told[name] = true
		all = append(all, note{
			level: levelError, tool: testTool, rule: testRule, title: cmp.Or(name, "test failed"),
			message: cmp.Or(message, name, "test failed"), file: file, line: line,
		})
	}
	for _, f := range rep.Failures {
		if f.SourceFile != "" {
			add(f.TestName, f.Message, f.SourceFile, f.SourceLine)
		} else {
			add(f.TestName, f.Message, f.TestFile, f.SourceLine)
		}
	}
	for _, c := range rep.TestCases {
		if c.Status != runner.CaseFailed {
			continue
		}
		if told[c.Name] || told[c.ID()] {
			continue
		}
		add(c.ID(), c.Message, c.File, c.Line)
	}
	if len(all) > 0 {
		return all
	}
	for _, f := range rep.FailedTests {
		file, line := splitPlace(f.Location)
		add(f.Name, f.Detail, file, line)
	}
	return all
}

// splitPlace reads FILE, FILE:LINE and FILE:LINE:COLUMN.
func splitPlace(s string) (file string, line int) {
	parts := strings.Split(s, ":")
	for i, p := range parts {
		if n, err := strconv.Atoi(p); i > 0 && err == nil && n > 0 {
			return strings.Join(parts[:i], ":"), n
		}
	}
	return s, 0
}

func title(tool, rule string) string {
	switch {
	case rule == "" || rule == tool:
		return tool
	case tool == "" || tool == defaultTool:
		return rule
	}
	return tool + ": " + rule
}

// levelOf brings the words of many tools down to three. First runners of the contract give the severity as the category.
func levelOf(severity, category string) level {
	switch strings.ToLower(cmp.Or(severity, category)) {
	case "error", "fatal", "critical", "blocker", "high", "major":
		return levelError
	case "note", "notice", "info", "information", "informational", "hint", "low", "minor", "style", "convention", "refactor", "suggestion", "none":
		return levelNote
	}
	return levelWarning
}
