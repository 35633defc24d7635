package testreport

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/coverage"
	"github.com/deedrun/deed/internal/checks/toolreport"
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
		standIn(t, paths)
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

// standIn gives one name to what tools report in the place of a file whose tests could not be loaded: node the file as a
// test, by its path on this machine, unittest and pytest the module as one. It is the name that Jest's files have.
func standIn(t *runner.TestCase, paths *toolreport.Paths) {
	module, load := "", false
	switch {
	case path.IsAbs(t.Name) && t.Suite == "":
		module = paths.Below(t.Name)
		load = !path.IsAbs(module)
		if load && t.Status != runner.CaseFailed { // it has no tests, and ended well
			t.Name, load = module, false
		}
	case strings.HasPrefix(t.Name, failedModule):
		module, load = strings.TrimPrefix(t.Name, failedModule), true
	case t.Type == "error" && strings.HasPrefix(t.Message, "collection failure"):
		module, load = t.Name, true
	}
	if load && t.Status == runner.CaseFailed {
		t.Suite, t.Name, t.Type = module, "["+TypeLoad+"]", TypeLoad
	}
}

const failedModule = "unittest.loader._FailedTest."

// separator stands between the parts of a suite.
const separator = " > "

func (r *Report) goFormat() bool { return r.Format == GoJSON || r.Format == GoText }
