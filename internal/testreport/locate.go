package testreport

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/coverage"
	"github.com/deedrun/deed/internal/toolreport"
)

// Locate brings the files of a report below the component in root, in the names of the tests too: the same test in another
// copy of the component then has the same name. A file of a Go test, which go tells without its directory, gets the one
// of its package.
func (r *Report) Locate(root string) {
	paths := toolreport.OpenPaths(root)
	defer paths.Close()
	modules := coverage.GoModules(paths)
	here, err := filepath.Abs(root)
	if err != nil || root == "" || here == "/" {
		here = ""
	}
	for i := range r.Cases {
		t := &r.Cases[i]
		if t.File == "" {
			if here != "" { // PHPUnit calls a suite after its directory
				t.Suite = strings.ReplaceAll(t.Suite, filepath.ToSlash(here)+"/", "")
			}
			continue
		}
		told := t.File
		if r.goFormat() && !path.IsAbs(told) {
			if dir, ok := modules.Dir(t.Suite); ok {
				told = path.Join(dir, told)
			}
		}
		below := paths.Below(told)
		if rest, ok := strings.CutPrefix(t.Suite, t.File); ok && (rest == "" || strings.HasPrefix(rest, separator) || strings.HasPrefix(rest, "::")) {
			t.Suite = below + rest
		}
		t.File = below
	}
	number(r.Cases)
	r.Failures = Failures(r.Cases)
}

// separator stands between the parts of a suite.
const separator = " > "

func (r *Report) goFormat() bool { return r.Format == GoJSON || r.Format == GoText }
