package extension

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// Where an extension was found.
const (
	FromPath    = "path"     // --extension PATH
	FromProject = "project"  // .deed/extensions of the component or of its repository
	FromHome    = "home"     // installed below deed's home
	FromBuiltIn = "built-in" // embedded in deed
)

// ProjectDir is where a project has extensions of its own.
const ProjectDir = ".deed/extensions"

// maxManifest bounds a manifest.
const maxManifest = 4 << 20

// Places are where extensions are looked for, in this order. A project's extensions are code of the repository: who runs
// what an agent may have changed gives the directories of the base, not those of the change.
type Places struct {
	Extra   []string // directories of single extensions
	Project []string // directories that hold a project's extensions, the nearest first
	Home    string   // the directory of those that the operator installed; may be absent
	BuiltIn string   // where the embedded ones are put; empty: they are not used
}

// PlacesOf is where extensions are looked for by whoever uses a home and works on a component. An empty directory stands
// for no project.
func PlacesOf(h *home.Home, component string) Places {
	p := Places{Home: h.Extensions(), BuiltIn: filepath.Join(h.Runtime(), "extensions")}
	if component != "" {
		p.Project = ProjectPlaces(component)
	}
	return p
}

// Use takes what a person gave with --extension, an id or the path of a directory, and returns the id.
func (p *Places) Use(arg string) (string, error) {
	switch {
	case arg == "." || arg == "..": // directories
	case arg == "" || !strings.Contains(arg, "/") && strings.HasPrefix(arg, "."):
		return "", fmt.Errorf("extension %q: name an id, or the path of a directory as in ./mine", arg)
	case !strings.Contains(arg, "/"):
		return arg, nil
	}
	abs, err := filepath.Abs(arg)
	if err != nil {
		return "", fmt.Errorf("extension %s: %w", arg, err)
	}
	p.Extra = append(p.Extra, abs)
	return filepath.Base(abs), nil
}

// ProjectPlaces lists the directories for Places.Project of a component: its own, and that of the work tree that it is in.
func ProjectPlaces(dir string) []string {
	list := []string{filepath.Join(dir, ProjectDir)}
	if root := Root(dir); root != "" && root != dir {
		list = append(list, filepath.Join(root, ProjectDir))
	}
	return list
}

// Root returns the top of the work tree that a directory is in, or "".
func Root(dir string) string {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		// A directory without a HEAD is no repository; a file leads to one.
		for _, mark := range []string{".git/HEAD", ".git"} {
			if fi, err := os.Lstat(filepath.Join(dir, mark)); err == nil && !fi.IsDir() {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// An Extension is a directory with a manifest, and the scripts that serve its capabilities.
type Extension struct {
	ID       string // the directory's name
	Path     string // absolute, as it was found: a link is not followed, since its name is the id
	From     string // FromPath, FromProject, FromHome or FromBuiltIn
	Manifest Manifest
	Digest   string // over its files, so that a later run can be held against this one
	BuiltIn  bool
	Hides    []string // directories of the same id in later places
}

// A Set is the extensions of all places. Manifests are read when they are asked for, so that a broken one affects no one
// who does not use it.
type Set struct {
	places Places
	found  map[string][]entry // by id, in the order of the places
	loaded map[string]Extension
	odd    []string
}

// Odd lists the directories, in places for extensions, that are none because they have no manifest of their name.
func (s *Set) Odd() []string { return s.odd }

// An entry is an extension that was found and not read.
type entry struct{ id, path, from string }

// Find looks into every place. A place that is not there has no extensions; an extension that was named by its path must
// be there.
func Find(p Places) (*Set, error) {
	s := &Set{places: p, found: map[string][]entry{}, loaded: map[string]Extension{}}
	for _, dir := range p.Extra {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("extension %s: %w", dir, err)
		}
		id := filepath.Base(abs)
		if !isExtension(abs, id) {
			return nil, fmt.Errorf("extension %s: there is no %s.json in it (name the directory of an extension; its manifest has the directory's name)", dir, id)
		}
		s.add(entry{id, abs, FromPath})
	}
	for _, dir := range p.Project {
		if err := s.scan(dir, FromProject); err != nil {
			return nil, err
		}
	}
	if p.Home != "" {
		if err := s.scan(p.Home, FromHome); err != nil {
			return nil, err
		}
	}
	if p.BuiltIn != "" {
		for _, id := range builtInIDs() {
			s.add(entry{id, "", FromBuiltIn})
		}
	}
	return s, nil
}

func (s *Set) add(e entry) {
	for _, there := range s.found[e.id] {
		if there.path == e.path && e.path != "" {
			return
		}
	}
	s.found[e.id] = append(s.found[e.id], e)
}

func (s *Set) scan(dir, from string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for extensions: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("look for extensions: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(abs, e.Name())
		switch {
		case isExtension(path, e.Name()):
			s.add(entry{e.Name(), path, from})
		case e.IsDir() && !strings.HasPrefix(e.Name(), "."):
			s.odd = append(s.odd, path)
		}
	}
	return nil
}

// isExtension reports whether a directory, or a link to one, holds a manifest of its own name.
func isExtension(dir, id string) bool {
	if strings.HasPrefix(id, ".") {
		return false
	}
	fi, err := os.Stat(filepath.Join(dir, id+".json"))
	return err == nil && fi.Mode().IsRegular()
}

// IDs lists the extensions that there are.
func (s *Set) IDs() []string {
	var ids []string
	for id := range s.found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Get reads an extension: the one of the first place that has it. The error is a *NotInstalled when no place does.
func (s *Set) Get(id string) (Extension, error) {
	if e, ok := s.loaded[id]; ok {
		return e, nil
	}
	list := s.found[id]
	if len(list) == 0 {
		return Extension{}, &NotInstalled{ID: id, Looked: s.looked(), Known: s.IDs()}
	}
	e, err := s.load(list[0])
	if err != nil {
		return Extension{}, err
	}
	for _, hidden := range list[1:] {
		where := hidden.path
		if hidden.from == FromBuiltIn {
			where = "deed's own " + id
		}
		e.Hides = append(e.Hides, where)
	}
	s.loaded[id] = e
	return e, nil
}

// BuiltIn reads the extension of this name that deed brings, whatever other places have. The error is a *NotInstalled when
// there is none, or the built-in ones are not used.
func (s *Set) BuiltIn(id string) (Extension, error) {
	list := s.found[id]
	if len(list) == 0 || list[len(list)-1].from != FromBuiltIn {
		return Extension{}, &NotInstalled{ID: id, Looked: s.looked(), Known: s.IDs()}
	}
	return s.load(list[len(list)-1])
}

// load reads the manifest of an entry, and its files for the digest.
func (s *Set) load(en entry) (Extension, error) {
	e := Extension{ID: en.id, Path: en.path, From: en.from}
	if en.from == FromBuiltIn {
		path, digest, err := materialise(s.places.BuiltIn, en.id)
		if err != nil {
			return e, fmt.Errorf("extension %s: %w", en.id, err)
		}
		e.Path, e.Digest, e.BuiltIn = path, digest, true
	}
	file := filepath.Join(e.Path, e.ID+".json")
	data, err := plainfile.Read(file, maxManifest)
	if err != nil {
		return e, fmt.Errorf("extension %s: %w", en.id, err)
	}
	if e.Manifest, err = decodeManifest(file, data); err != nil {
		return e, fmt.Errorf("extension %s: %w", en.id, err)
	}
	if e.Digest == "" {
		if e.Digest, err = Digest(e.Path); err != nil {
			return e, fmt.Errorf("extension %s: %w", en.id, err)
		}
	}
	return e, nil
}

// looked names the places for a message.
func (s *Set) looked() []string {
	list := slices.Concat(s.places.Extra, s.places.Project)
	if s.places.Home != "" {
		list = append(list, s.places.Home)
	}
	return list
}
