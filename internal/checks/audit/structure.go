package audit

import (
	"context"
	"fmt"

	"github.com/deedrun/deed/contract/runner"
)

// conventionStructure and its like stand in findings where no group of files has a convention.
const (
	conventionStructure   = "structure"
	conventionDuplication = "duplication"
	conventionDeadCode    = "dead_code"
	conventionComments    = "comments"
	conventionTests       = "test_coverage"
	conventionDocs        = "docs"
	conventionFeatures    = "features"
	conventionRequested   = "requested_detectors"
)

func (a *audit) detectStructure(context.Context) error {
	l := a.set.Limits
	for _, s := range a.files {
		if s.generated || !languages[extOf(s.path)].structure {
			continue
		}
		if s.lines > l.MaxFileLines {
			a.add(runner.AuditFinding{
				Convention: conventionStructure, Kind: kindGodFile, File: s.path,
				Description: fmt.Sprintf("%d lines, more than %d", s.lines, l.MaxFileLines),
				Suggestion:  "divide it by what its parts are about",
			})
		}
		if n := len(s.funcs) + len(s.types); n > l.MaxItems && !isTestFile(s.path) {
			a.add(runner.AuditFinding{
				Convention: conventionStructure, Kind: kindItemCount, File: s.path,
				Description: fmt.Sprintf("%d functions and types, more than %d", n, l.MaxItems),
				Suggestion:  "divide it by what its parts are about",
			})
		}
	}
	for _, dir := range a.tree.dirs {
		n := 0
		for _, s := range a.tree.byDir[dir] {
			if languages[extOf(s.path)].structure && !isTestFile(s.path) {
				n++
			}
		}
		if n > l.MaxDirectoryFiles {
			a.add(runner.AuditFinding{
				Convention: conventionStructure, Kind: kindSprawl, File: dir,
				Description: fmt.Sprintf("%d source files in one directory, more than %d", n, l.MaxDirectoryFiles),
				Suggestion:  "make directories of what belongs together",
			})
		}
	}
	return nil
}
