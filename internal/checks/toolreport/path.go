package toolreport

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// Paths brings the paths in the reports of one component below it. A tool writes them as it saw them: absolute, below a
// directory of its own, or below the directory that a sandbox showed it.
type Paths struct {
	dir   string   // of the component, absolute
	root  *os.Root // nil: there is nothing to look at
	known map[string]string
}

// maxKnownPaths bounds what Paths remembers; a report that names more files than this is asked about each time.
const maxKnownPaths = 1 << 17

// OpenPaths looks at a component. A directory that cannot be opened gives paths that are only cleaned. Close it.
func OpenPaths(dir string) *Paths {
	p := &Paths{known: map[string]string{}}
	if dir == "" {
		return p
	}
	if abs, err := filepath.Abs(dir); err == nil {
		p.dir = abs
	}
	if root, err := os.OpenRoot(dir); err == nil {
		p.root = root
	}
	return p
}

// Close ends the look.
func (p *Paths) Close() {
	if p.root != nil {
		_ = p.root.Close()
	}
}

// Below returns a path relative to the component and with slashes. A path that leads out of the component is cleaned and
// otherwise returned unchanged: it is shown to people, and deed does not read such a file.
func (p *Paths) Below(told string) string {
	if told == "" {
		return ""
	}
	if known, ok := p.known[told]; ok {
		return known
	}
	below := p.find(told)
	if len(p.known) < maxKnownPaths {
		p.known[told] = below
	}
	return below
}

func (p *Paths) find(told string) string {
	clean := path.Clean(strings.ReplaceAll(strings.TrimPrefix(told, "file://"), `\`, "/"))
	if !path.IsAbs(clean) && !hasDrive(clean) {
		if rest, ok := p.ending(clean); ok {
			return rest
		}
		return clean
	}
	if rel, ok := strings.CutPrefix(clean, strings.TrimSuffix(filepath.ToSlash(p.dir), "/")+"/"); ok && p.dir != "" {
		return rel
	}
	if rest, ok := p.ending(clean); ok {
		return rest
	}
	return clean
}

func hasDrive(clean string) bool {
	return len(clean) > 2 && clean[1] == ':' && clean[2] == '/'
}

// ending returns the longest ending of a path that names a file of the component. It looks at no more than maxParts
// endings, since each is a call of the system.
func (p *Paths) ending(clean string) (string, bool) {
	const maxParts = 64
	rest := strings.TrimPrefix(clean, "/")
	if p.root == nil || strings.Count(rest, "/") >= maxParts {
		return "", false
	}
	for more := true; more; _, rest, more = strings.Cut(rest, "/") {
		if !filepath.IsLocal(rest) {
			continue
		}
		if info, err := p.root.Stat(rest); err == nil && info.Mode().IsRegular() {
			return rest, true
		}
	}
	return "", false
}

// ReadFile reads a regular file of the component of at most so many bytes. It is nil when there is none.
func (p *Paths) ReadFile(name string, most int64) []byte {
	if p.root == nil || !filepath.IsLocal(name) {
		return nil
	}
	data, err := plainfile.ReadIn(p.root, name, most)
	if err != nil {
		return nil
	}
	return data
}
