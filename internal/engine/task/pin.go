package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// pinFiles takes the digests of the files that hidden checks bring with them, so that the work is judged by the files that
// were there when the task was admitted. A digest that the caller gives must match.
func pinFiles(faults *fault.List, s *deed.TaskSpec) {
	s.Checks = slices.Clone(s.Checks)
	for i := range s.Checks {
		c := &s.Checks[i]
		at := fault.Index("$.deed.checks", i)
		if c.Files == "" {
			if c.FilesDigest != "" {
				faults.Add(at+".files_digest", fault.Conflict, "is set and files is not", "leave it out: deed sets it")
			}
			continue
		}
		m, err := workspace.Snapshot(context.Background(), c.Files, nil)
		switch {
		case err != nil:
			faults.Add(at+".files", fault.Dangling, err.Error(), "name a directory that deed may read")
		case len(m.Entries) == 0:
			faults.Add(at+".files", fault.Blank, fmt.Sprintf("%q is empty", c.Files), "put the files of the check into it, or leave it out")
		case c.FilesDigest != "" && c.FilesDigest != m.Digest():
			faults.Add(at+".files_digest", fault.Conflict, "is not that of the files, which is "+m.Digest(), "leave it out, or restore the files")
		default:
			c.FilesDigest = m.Digest()
		}
	}
}
