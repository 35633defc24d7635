package runtimepkg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/checks/extension"
)

// Where a package was found.
const (
	FromDir     = "runtime-dir" // --runtime-dir
	FromProject = "project"     // .deed/agent-runtimes or agent-runtimes of the project
	FromHome    = "home"        // installed below deed's home
	FromDeed    = "deed"        // shipped with deed: it gives way to whatever another place has
)

// PackagesDir is what a directory of packages is called, in a project and in a home.
const PackagesDir = "agent-runtimes"

// maxManifest bounds a manifest.
const maxManifest = 4 << 20

// Places are where packages are looked for. A project's packages are code of the repository: who runs what an agent may
// have changed gives the directories of the base, not those of the change.
type Places struct {
	Dirs    []string // named by the user: directories of packages, or packages
	Project []string // directories that hold a project's packages
	Home    string   // the directory of those that the operator installed; may be absent
	Shipped string   // where deed puts its own; empty: they do not count
}

// PlacesOf is where packages are looked for by whoever uses a home and works in a directory. An empty directory stands for
// no project.
func PlacesOf(h *home.Home, dir string, named ...string) Places {
	p := Places{Dirs: named, Home: h.AgentRuntimes(), Shipped: filepath.Join(h.Cache(), PackagesDir)}
	if dir == "" {
		return p
	}
	for _, top := range []string{dir, extension.Root(dir)} {
		if top == "" || len(p.Project) > 0 && top == dir {
			continue
		}
		p.Project = append(p.Project, filepath.Join(top, ".deed", PackagesDir), filepath.Join(top, PackagesDir))
	}
	return p
}

// A Package is a directory with a manifest of its own name.
type Package struct {
	ID       string // the directory's name, whatever the manifest says
	Path     string // absolute, as it was found
	Real     string // with links followed: what {{runtime_path}} stands for, so that an install does not change a run
	From     string // FromDir, FromProject, FromHome or FromDeed
	Linked   bool   // in the store, but its files are outside it
	Also     []string
	Manifest homeboy.RuntimeManifest
	Raw      []byte // the manifest as it stands
	Findings []Finding

	digest func() (string, error)
	place  func() error // nil: its files are there
}

// Place sees to it that the files of the package are at Path. What deed ships is in the binary until somebody needs it: to look
// at packages makes no home.
func (p *Package) Place() error {
	if p.place == nil {
		return nil
	}
	return p.place()
}

// Digest hashes all files of the package. It is asked for when it is needed: a package can hold thousands.
func (p *Package) Digest() (string, error) { return p.digest() }

// A Problem is something that keeps a package, or a part of one, from being used. It never harms another package.
type Problem struct {
	Code    string `json:"code"`
	ID      string `json:"id"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// The codes of problems. Programs decide on these.
const (
	ReadFailed     = "agent_runtime_manifest.read_failed"
	ParseFailed    = "agent_runtime_manifest.parse_failed"
	SchemaMismatch = "agent_runtime_manifest.schema_mismatch"
	Misnamed       = "agent_runtime_manifest.misnamed"
	Incompatible   = "agent_runtime_manifest.core_incompatible"
	Conflict       = "agent_runtime_catalog.conflict"
	IDConflict     = "agent_task_executor_provider.id_conflict"
)

// A Catalog is every package of all places, and what is wrong with the others.
type Catalog struct {
	Packages []*Package // by id
	Problems []Problem

	places Places
	found  map[string][]entry // by id, in the order of the places
}

// An entry is a package that was found and not read.
type entry struct{ id, path, from string }

// NotInstalled says that a requested package was not found in any place.
type NotInstalled struct {
	ID       string
	Looked   []string
	Known    []string
	Problems []Problem // those that are about it
}

func (e *NotInstalled) Error() string {
	if len(e.Problems) > 0 {
		var why []string
		for _, p := range e.Problems {
			why = append(why, p.Message)
		}
		return fmt.Sprintf("runtime package %q cannot be used: %s", e.ID, strings.Join(why, "; "))
	}
	known := "there is no other"
	if len(e.Known) > 0 {
		known = "there are: " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("there is no runtime package %q: no %s/%s.json in %s (`deed runtime install` or `deed runtime link` one; %s)",
		e.ID, e.ID, e.ID, strings.Join(e.Looked, ", "), known)
}

// Find looks into every place and reads every manifest. A place that is not there has no packages; a directory that the user
// named must be there.
func Find(p Places) (*Catalog, error) {
	c := &Catalog{places: p, found: map[string][]entry{}}
	for _, dir := range p.Dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("runtime directory %s: %w", dir, err)
		}
		if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
			return nil, errors.Join(err, fmt.Errorf("runtime directory %s is not a directory (name a package, or a directory of packages)", dir))
		}
		if id := filepath.Base(abs); isPackage(abs, id) {
			c.add(entry{id, abs, FromDir})
			continue
		}
		if err := c.scan(abs, FromDir); err != nil {
			return nil, err
		}
	}
	for _, dir := range p.Project {
		if err := c.scan(dir, FromProject); err != nil {
			return nil, err
		}
	}
	if p.Home != "" {
		if err := c.scan(p.Home, FromHome); err != nil {
			return nil, err
		}
	}
	if p.Shipped != "" {
		for _, id := range shipped.IDs() {
			c.add(entry{id, filepath.Join(shipped.Dir(p.Shipped), id), FromDeed})
		}
	}
	c.load()
	return c, nil
}

func (c *Catalog) add(e entry) {
	c.found[e.id] = append(c.found[e.id], e)
}

func (c *Catalog) scan(dir, from string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("look for runtime packages: %w", err)
	}
	list, err := os.ReadDir(abs)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for runtime packages: %w", err)
	}
	for _, e := range list {
		id, path := e.Name(), filepath.Join(abs, e.Name())
		if strings.HasPrefix(id, ".") {
			continue
		}
		if isPackage(path, id) {
			c.add(entry{id, path, from})
			continue
		}
		c.odd(id, path, e)
	}
	return nil
}

// odd reports an entry that looks as if it were meant as a package.
func (c *Catalog) odd(id, path string, e fs.DirEntry) {
	if _, err := os.Stat(path); err != nil && e.Type()&fs.ModeSymlink != 0 {
		c.problem(ReadFailed, id, path, fmt.Sprintf("%s is a link that leads nowhere: %v (link it again, or `deed runtime remove %s`)", path, err, id))
		return
	}
	for _, other := range manifestsIn(path) {
		c.problem(Misnamed, id, path, fmt.Sprintf("%s holds the manifest %s.json, and a package's directory has the name of its manifest (call the directory %s)", path, other, other))
	}
}

func (c *Catalog) problem(code, id, path, message string) {
	c.Problems = append(c.Problems, Problem{code, id, path, message})
}

// isPackage reports whether a directory, or a link to one, holds a manifest of its own name.
func isPackage(dir, id string) bool {
	fi, err := os.Stat(filepath.Join(dir, id+".json"))
	return err == nil && !fi.IsDir()
}

func (c *Catalog) load() {
	var ids []string
	for id := range c.found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		list := c.found[id]
		if n := len(list); n > 1 && list[n-1].from == FromDeed { // it was looked at last
			list = list[:n-1]
		}
		c.loadID(id, list)
	}
	c.dropDuplicates()
}

// loadID reads the package of an id. When several places have one, they must have the same files: nobody should have to
// know an order of places to know what runs.
func (c *Catalog) loadID(id string, list []entry) {
	var first *Package
	for _, e := range list {
		p, err := load(e)
		if err != nil {
			c.problem(codeOf(err), id, e.path, err.Error())
			continue
		}
		switch {
		case first == nil:
			first = p
		case same(first, p):
			first.Also = append(first.Also, p.Path)
		default:
			c.problem(Conflict, id, e.path, fmt.Sprintf("runtime package %q is at %s and, with other files, at %s; neither is used (remove or rename one of them)", id, first.Path, p.Path))
			return
		}
	}
	if first != nil {
		c.Packages = append(c.Packages, first)
	}
}

func same(a, b *Package) bool {
	if a.Real == b.Real {
		return true
	}
	x, err := a.Digest()
	y, err2 := b.Digest()
	return err == nil && err2 == nil && x == y
}

// dropDuplicates takes every carrier of a provider id out that several providers have: no order decides between them.
func (c *Catalog) dropDuplicates() {
	carriers := map[string][]string{}
	for _, p := range c.Packages {
		for _, x := range p.Manifest.AgentTaskExecutors {
			if id := strings.TrimSpace(x.ID); id != "" && !slices.Contains(carriers[id], p.ID) {
				carriers[id] = append(carriers[id], p.ID)
			}
		}
	}
	var ids []string
	for id, list := range carriers {
		if len(list) > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		for _, p := range c.Packages {
			if slices.Contains(carriers[id], p.ID) {
				c.problem(IDConflict, p.ID, p.Path, fmt.Sprintf("provider id %q is declared by %s; none of them is used (a provider id is unique, as in %s.provider)", id, strings.Join(carriers[id], " and "), p.ID))
			}
		}
	}
}

// Get returns a package by its id, or by a compatibility alias. The error is a *NotInstalled.
func (c *Catalog) Get(id string) (*Package, *Deprecated, error) {
	for _, p := range c.Packages {
		if p.ID == id {
			return p, nil, nil
		}
	}
	if d := aliasOf(id); d != nil {
		for _, p := range c.Packages {
			if p.ID == d.Replacement {
				return p, d, nil
			}
		}
	}
	e := &NotInstalled{ID: id, Looked: c.Looked()}
	for _, p := range c.Packages {
		e.Known = append(e.Known, p.ID)
	}
	for _, p := range c.Problems {
		if p.ID == id {
			e.Problems = append(e.Problems, p)
		}
	}
	return nil, nil, e
}

// Looked names the places.
func (c *Catalog) Looked() []string {
	list := slices.Concat(c.places.Dirs, c.places.Project)
	if c.places.Home != "" {
		list = append(list, c.places.Home)
	}
	return list
}

// Version hashes what there is, whatever the order in which it was found: a plan can pin it.
func (c *Catalog) Version() (string, error) {
	all := map[string]string{}
	for _, p := range c.Packages {
		digest, err := p.Digest()
		if err != nil {
			return "", fmt.Errorf("runtime package %s: %w", p.ID, err)
		}
		all[p.ID] = digest
	}
	return canonjson.HashIn("deed/runtime-catalog/v1", all)
}

// A loadError is why a manifest cannot be read at all.
type loadError struct {
	code string
	err  error
}

func (e *loadError) Error() string { return e.err.Error() }
func (e *loadError) Unwrap() error { return e.err }

func codeOf(err error) string {
	var e *loadError
	if errors.As(err, &e) {
		return e.code
	}
	return ReadFailed
}

// load reads the manifest of an entry and lints it.
func load(e entry) (*Package, error) {
	p := &Package{ID: e.id, Path: e.path, From: e.from}
	if e.from == FromDeed {
		return p, p.ship()
	}
	var err error
	if p.Real, err = filepath.EvalSymlinks(e.path); err != nil {
		return nil, &loadError{ReadFailed, fmt.Errorf("runtime package %s: %w", e.id, err)}
	}
	if to, err := os.Readlink(e.path); err == nil && e.from == FromHome {
		p.Linked = !strings.HasPrefix(to, packagesDir+"/")
	}
	p.digest = sync.OnceValues(func() (string, error) { return extension.Digest(p.Real) })
	file := filepath.Join(p.Path, p.ID+".json")
	if p.Raw, err = plainfile.Read(file, maxManifest); err != nil {
		return nil, &loadError{ReadFailed, fmt.Errorf("runtime package %s: %w", e.id, err)}
	}
	if err := p.read(file); err != nil {
		return nil, err
	}
	return p, nil
}

// read reads the manifest in Raw and lints it.
func (p *Package) read(file string) error {
	m, warnings, err := homeboy.ReadManifest(p.Raw)
	if err != nil {
		return &loadError{ParseFailed, fmt.Errorf("%s: %w", file, err)}
	}
	p.Manifest = m
	if s := m.Schema; s != "" && s != homeboy.SchemaManifest {
		return &loadError{SchemaMismatch, fmt.Errorf("%s: $.schema: %.100q is not the schema of a runtime manifest (write %q)", file, s, homeboy.SchemaManifest)}
	}
	unmet, unknown := compatible(m)
	if len(unmet) > 0 {
		return &loadError{Incompatible, fmt.Errorf("%s: %s", file, strings.Join(unmet, "; "))}
	}
	p.Findings = append(lint(p, warnings), unknown...)
	return nil
}

// ship makes a package of what is in the binary.
func (p *Package) ship() error {
	p.Real = p.Path
	p.Raw, _ = shipped.Manifest(p.ID) // it is there: its id is from the same list
	p.digest = func() (string, error) { return shipped.Digest(p.ID), nil }
	p.place = sync.OnceValue(func() error { return shipped.Place(filepath.Dir(p.Path)) })
	if was, ok := shippedRead.Load(p.Path); ok {
		known := was.(*Package)
		p.Manifest, p.Findings = known.Manifest, slices.Clone(known.Findings)
		return nil
	}
	if err := p.read(p.ID + ".json"); err != nil {
		return err
	}
	shippedRead.Store(p.Path, p)
	return nil
}

// shippedRead holds packages of the binary by their paths, as they were read first: a dispatcher looks for packages several times for
// every task, and these cannot change while it lives.
var shippedRead sync.Map
