package workflow

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/plainfile"
)

//go:embed *.yaml
var shipped embed.FS

// maxFile bounds a definition: a cloned repository can bring one.
const maxFile = 1 << 20

// maxFiles bounds how many files of a directory are read.
const maxFiles = 1000

// Options say where definitions are.
type Options struct {
	Home    string // the home's directory of definitions; may be absent
	Project string // the project's; "": none
	Known   Known
}

// A Catalog is every definition that was found. A file that cannot be used is among its faults and takes nothing else with it.
type Catalog struct {
	defs   map[string]Definition
	broken map[string]error // by type, if a broken file still shows it, else by file
}

// Load reads what deed ships, then the home's definitions, which may replace what deed ships, then the project's, which may
// replace nothing.
func Load(o Options) *Catalog {
	c := &Catalog{defs: map[string]Definition{}, broken: map[string]error{}}
	names, _ := fs.Glob(shipped, "*.yaml")
	for _, name := range names {
		data, err := shipped.ReadFile(name)
		if err == nil {
			err = c.take(Shipped, data, o.Known, false)
		}
		if err != nil {
			c.broken[name] = err
		}
	}
	c.directory(o.Home, o.Known, false)
	c.directory(o.Project, o.Known, true)
	return c
}

// directory reads the definitions of one directory.
func (c *Catalog) directory(dir string, known Known, guest bool) {
	if dir == "" {
		return
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		c.broken[dir] = err
		return
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		c.broken[dir] = err
		return
	}
	if len(entries) > maxFiles {
		c.broken[dir] = fmt.Errorf("%s has %d entries, and at most %d are read", dir, len(entries), maxFiles)
		return
	}
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		file := filepath.Join(dir, e.Name())
		data, err := plainfile.ReadIn(root, e.Name(), maxFile)
		if err == nil {
			err = c.take(file, data, known, guest)
		}
		if err != nil {
			c.broken[file] = err
		}
	}
}

// take adds a definition. Within one directory a type is defined once.
func (c *Catalog) take(source string, data []byte, known Known, guest bool) error {
	def, err := Parse(source, data, known)
	if err != nil {
		return err
	}
	have, taken := c.defs[def.WorkflowType]
	if taken && (guest || filepath.Dir(have.Source) == filepath.Dir(source) && have.Source != Shipped) {
		return fmt.Errorf("%s: workflow type %q is already defined by %s (give it another name)", source, def.WorkflowType, have.Source)
	}
	c.defs[def.WorkflowType] = def
	return nil
}

// Get returns a definition by its type. The error lists what there is, and what could not be read.
func (c *Catalog) Get(typ string) (Definition, error) {
	if d, ok := c.defs[typ]; ok {
		return d, nil
	}
	have := slices.Sorted(maps.Keys(c.defs))
	msg := fmt.Sprintf("unknown workflow type %q; there are: %s", typ, strings.Join(have, ", "))
	if near := fault.Nearest(typ, have); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	for _, f := range slices.Sorted(maps.Keys(c.broken)) {
		msg += fmt.Sprintf("\n%v", c.broken[f])
	}
	return Definition{}, errors.New(msg)
}

// List returns all definitions by type.
func (c *Catalog) List() []Definition {
	var out []Definition
	for _, typ := range slices.Sorted(maps.Keys(c.defs)) {
		out = append(out, c.defs[typ])
	}
	return out
}

// Faults returns why files could not be used, in the order of their names.
func (c *Catalog) Faults() []error {
	var out []error
	for _, f := range slices.Sorted(maps.Keys(c.broken)) {
		out = append(out, c.broken[f])
	}
	return out
}

// ProjectDir returns the nearest .deed/workflows from dir upwards, or "".
func ProjectDir(dir string) string {
	for dir != "" {
		p := filepath.Join(dir, ".deed", "workflows")
		if fi, err := os.Stat(p); err == nil && fi.IsDir() {
			return p
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}
