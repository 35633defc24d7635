package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// New is the report of a run that has yet to say how it ended.
func New(capability, id, path string) runner.Report {
	return runner.Report{Schema: runner.SchemaReport, Capability: capability, Component: id, ComponentPath: path}
}

// Settle puts a verdict into a report to which the caller came without, or after, a script.
func Settle(rep *runner.Report, status, mode, summary string) {
	v := verdict{status: status, mode: mode, summary: summary}
	switch status {
	case runner.StatusFailed:
		v.category = runner.CategoryFindings
	case runner.StatusError:
		v.category = runner.CategoryInfrastructure
	}
	v.into(rep)
}

// Within leaves the findings that are in one of the files, or in none: a script that was asked about some files may look
// at all of them. A run whose findings are all elsewhere has passed.
func Within(rep *runner.Report, files []string) {
	before := len(rep.LintFindings)
	rep.LintFindings = slices.DeleteFunc(rep.LintFindings, func(f runner.LintFinding) bool {
		file := f.File
		if filepath.IsAbs(file) {
			if rel, ok := strings.CutPrefix(file, rep.ComponentPath+string(filepath.Separator)); ok {
				file = filepath.ToSlash(rel)
			}
		}
		return file != "" && !slices.Contains(files, file)
	})
	gone := before - len(rep.LintFindings)
	if gone == 0 {
		return
	}
	rep.Hints = append(rep.Hints, runner.Hint{Message: fmt.Sprintf("%d finding(s) in files that did not change are not counted", gone)})
	if rep.Status != runner.StatusFailed {
		return
	}
	if n := len(rep.LintFindings); n > 0 {
		Settle(rep, runner.StatusFailed, "", fmt.Sprintf("lint phase reported %d finding(s)", n))
		return
	}
	rep.RawOutput = nil
	Settle(rep, runner.StatusPassed, "", "lint phase passed with no findings in the changed files")
}
