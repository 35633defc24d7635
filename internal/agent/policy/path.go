package policy

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Place is a directory as the agent sees it, and where it is on the machine.
type Place struct{ Inside, Host string }

// Places are the agent's paths. Root is where the agent starts, as it sees it: the workspace. Without any places the
// agent sees the machine's own paths.
type Places struct {
	Root      string
	Places    []Place
	Elsewhere bool // a command starts in another directory, so that its relative paths are not below Root
}

// maxLinks bounds a path through links, as the kernel does.
const maxLinks = 40

// part reads a path of the agent's. Rules match where it really leads, below the workspace or absolute. The path as it
// was spelled is another reading, so that no link gets around a deny. An agent can change a link after the decision: what
// holds it then is its sandbox.
func (w Places) part(p string) part {
	p = strings.TrimPrefix(p, "file://")
	if p == "" || strings.ContainsRune(p, 0) || len(p) > 4096 {
		return part{kind: partPath, text: p, opaque: true, why: "it is no path"}
	}
	abs := p
	if !path.IsAbs(p) {
		abs = w.Root + "/" + p // not joined yet: .. after a link is not what it looks like
	}
	real, ok := w.resolve(abs)
	switch {
	case !ok:
		return part{kind: partPath, text: p, opaque: true, why: "its links lead in circles"}
	case isPerProcess(real):
		return part{kind: partPath, text: p, opaque: true, why: "it leads through a process, and nobody knows which before it runs"}
	}
	out := part{kind: partPath, text: w.relative(real), also: []string{path.Clean(abs), w.spelled(path.Clean(abs))}}
	if out.text != real {
		out.same = []string{real}
	}
	return out
}

// isPerProcess reports whether a path means something else for each process that uses it.
func isPerProcess(abs string) bool {
	if abs == "/dev/fd" || strings.HasPrefix(abs, "/dev/fd/") {
		return true
	}
	rest, ok := strings.CutPrefix(abs, "/proc/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && (name == "self" || name == "thread-self" || strings.Trim(name, "0123456789") == "")
}

// relative is a path below the workspace without it, any other as it is.
func (w Places) relative(abs string) string {
	root, ok := w.resolve(w.Root)
	if !ok || w.Root == "" {
		return abs
	}
	if abs == root {
		return "."
	}
	if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(root, "/")+"/"); ok {
		return rest
	}
	return abs
}

// spelled is relative without looking at links.
func (w Places) spelled(abs string) string {
	if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(path.Clean(w.Root), "/")+"/"); ok && w.Root != "" {
		return rest
	}
	return abs
}

// Host is where a path of the agent's is on the machine.
func (w Places) Host(inside string) (string, bool) {
	if !path.IsAbs(inside) {
		inside = path.Join(w.Root, inside)
	}
	if len(w.Places) == 0 {
		return filepath.FromSlash(inside), true
	}
	best, host := -1, ""
	for _, p := range w.Places {
		rest, ok := strings.CutPrefix(inside+"/", strings.TrimSuffix(p.Inside, "/")+"/")
		if ok && len(p.Inside) > best {
			best, host = len(p.Inside), filepath.Join(p.Host, filepath.FromSlash(rest))
		}
	}
	return host, best >= 0
}

// resolve walks an absolute path of the agent's through the links that deed can see. What is not there, or not visible
// from here, is taken as it is spelled.
func (w Places) resolve(abs string) (string, bool) {
	done, rest := "/", strings.Split(abs, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, name)
		if isPerProcess(next) { // deed's own would be another
			return next, true
		}
		target := ""
		if host, ok := w.Host(next); ok && !slices.ContainsFunc(w.Places, func(p Place) bool { return p.Inside == next }) {
			target, _ = os.Readlink(host) // an error means that it is no link
		}
		if target == "" {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, true
}
