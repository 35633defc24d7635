package finding

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// paths makes the paths of findings relative to a component.
type paths struct {
	roots []string          // as it is named, and without its symbolic links; each ends in a slash
	known map[string]string // by what the tool wrote
}

func newPaths(root string) paths {
	p := paths{known: map[string]string{}}
	if root == "" {
		return p
	}
	root = filepath.Clean(root)
	p.add(root)
	if real, err := filepath.EvalSymlinks(root); err == nil { // a tool may name the directory either way
		p.add(real)
	}
	return p
}

func (p *paths) add(root string) {
	root = strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
	if !path.IsAbs(root) || root == "/" {
		return
	}
	p.roots = append(p.roots, root)
}

// relative returns a path below the component in the one form that deed uses, and every other one cleaned.
func (p *paths) relative(file string) string {
	if file == "" {
		return ""
	}
	if known, ok := p.known[file]; ok {
		return known
	}
	clean := p.clean(file)
	if len(p.known) < maxWords {
		p.known[strings.Clone(file)] = clean
	}
	return clean
}

func (p *paths) clean(file string) string {
	if strings.HasPrefix(file, "file:") {
		if u, err := url.Parse(file); err == nil && u.Path != "" {
			file = u.Path
		}
	}
	file = path.Clean(file)
	for _, root := range p.roots {
		if rest, ok := strings.CutPrefix(file, root); ok {
			return rest
		}
	}
	return file
}

// A place is what an id says of a finding.
type place struct {
	tool, rule, file string
	line, column     int
}

// parseID reads the forms that lint runners give their ids: FILE::RULE::LINE, and TOOL:RULE:FILE:LINE with what follows.
func parseID(id string) place {
	if file, rest, ok := strings.Cut(id, "::"); ok {
		if i := strings.LastIndex(rest, "::"); i > 0 && file != "" {
			if line, ok := digits(rest[i+2:]); ok {
				return place{file: file, rule: rest[:i], line: int(line)}
			}
		}
		return place{}
	}
	parts := strings.SplitN(id, ":", 6)
	if len(parts) < 4 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return place{}
	}
	line, ok := digits(parts[3])
	if !ok {
		return place{}
	}
	p := place{tool: parts[0], rule: parts[1], file: parts[2], line: int(line)}
	if len(parts) > 4 {
		column, _ := digits(parts[4])
		p.column = int(column)
	}
	return p
}
