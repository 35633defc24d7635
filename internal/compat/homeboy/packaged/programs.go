package packaged

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/failure"
)

// linksDir is where, in the home of a contained provider, the programs that its readiness checks found go by their names.
const linksDir = ".local/bin"

// link lets a contained provider call the programs that its checks found by their names. A check without a variable does not
// pass the path of its program on, and a sandbox shows no directory of the operator's PATH. The links are made before
// anything of the provider runs.
func (p *plan) link(j driver.Job) error {
	found := p.readiness.Programs()
	if !j.Sandbox.Contained() || !p.trusted || len(found) == 0 {
		return nil
	}
	root, err := os.OpenRoot(j.Dirs.Home)
	if err != nil {
		return failure.New(failure.Infra, opStart, err, "")
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(linksDir, 0o755); err != nil {
		return failure.New(failure.Infra, opStart, err, "")
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		at := filepath.Join(linksDir, name)
		if err := root.RemoveAll(at); err != nil { // of an earlier start
			return failure.New(failure.Infra, opStart, err, "")
		}
		if err := root.Symlink(runtimepkg.Launched(found[name]), at); err != nil {
			return failure.New(failure.Infra, opStart, fmt.Errorf("link %s: %w", name, err), "")
		}
	}
	p.links = j.Inside(filepath.Join(j.Dirs.Home, linksDir))
	return nil
}
