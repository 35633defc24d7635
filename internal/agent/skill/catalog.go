package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
)

// ErrUnknown says that no skill has the id.
var ErrUnknown = errors.New("unknown skill")

// projectDirs are where a project has skills, the first before the others.
var projectDirs = []string{".deed/skills", ".claude/skills", ".agents/skills"}

// FromHome marks a place that is the operator's own.
const FromHome = "home"

// A Place is a directory of skills.
type Place struct {
	Dir  string
	From string // FromHome, or the directory of a project such as .deed/skills
}

// A Catalog finds skills. What it returns was read in this moment, so an edit counts for the next task.
type Catalog struct {
	Places []Place // in the order in which they are searched
	Blobs  filetree.Blobs
}

// For returns the catalog of a home as seen from a directory: the nearest one upwards that has skills, then the home's own.
func For(h *home.Home, dir string) *Catalog {
	c := &Catalog{Blobs: filetree.Blobs(h.Blobs())}
	for ; dir != ""; dir = parentDir(dir) {
		for _, rel := range projectDirs {
			full := filepath.Join(dir, filepath.FromSlash(rel))
			if fi, err := os.Stat(full); err == nil && fi.IsDir() && full != h.Skills() {
				c.Places = append(c.Places, Place{full, rel})
			}
		}
		if len(c.Places) > 0 {
			break
		}
	}
	c.Places = append(c.Places, Place{h.Skills(), FromHome})
	return c
}

// parentDir is the directory above, or "" at the top.
func parentDir(dir string) string {
	if above := filepath.Dir(dir); above != dir {
		return above
	}
	return ""
}

// A Found is a skill of a catalog, or a folder that should be one.
type Found struct {
	ID    string
	Dir   string
	From  string
	Skill *Skill // nil when it cannot be read
	Err   error
}

// List returns every folder of every place, by id and then in the order of the search.
func (c *Catalog) List() ([]Found, error) {
	var out []Found
	for _, p := range c.Places {
		entries, err := os.ReadDir(p.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list skills: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				out = append(out, p.read(e.Name()))
			}
		}
	}
	slices.SortStableFunc(out, func(x, y Found) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}

// read reads one folder.
func (p Place) read(id string) Found {
	f := Found{ID: id, Dir: filepath.Join(p.Dir, id), From: p.From}
	f.Skill, f.Err = Open(f.Dir)
	return f
}

// Open reads the skill in a directory.
func Open(dir string) (*Skill, error) {
	t, err := filetree.Read(dir, Bounds)
	if err != nil {
		return nil, fmt.Errorf("skill %s: %w", dir, err)
	}
	return Parse(filepath.Base(dir), t)
}

// Find returns the skill that an id means. The same id in a project and in the home means nothing unless both are the same: what a
// cloned repository brings must not take the place of what the operator installed.
func (c *Catalog) Find(id string) (Found, error) {
	if why := CheckName(id); why != "" {
		return Found{}, fmt.Errorf("%w: the id %s (ids are at most 64 of a-z, 0-9 and -)", ErrUnknown, why)
	}
	var found []Found
	for _, p := range c.Places {
		if fi, err := os.Lstat(filepath.Join(p.Dir, id)); err == nil && fi.IsDir() {
			found = append(found, p.read(id))
		}
	}
	if len(found) == 0 {
		return Found{}, c.unknown(id)
	}
	first := found[0]
	if first.Err != nil {
		return first, first.Err
	}
	last := found[len(found)-1]
	if last.From == FromHome && first.From != FromHome && (last.Err != nil || last.Skill.Digest != first.Skill.Digest) {
		return first, fmt.Errorf("skill %q is in %s and, with other content, in %s (rename or remove one of them)", id, first.Dir, last.Dir)
	}
	return first, nil
}

func (c *Catalog) unknown(id string) error {
	var have []string
	if list, err := c.List(); err == nil {
		for _, f := range list {
			have = append(have, f.ID)
		}
	}
	have = slices.Compact(have)
	there := "no skill is installed"
	if len(have) > 0 {
		there = "there are: " + strings.Join(have, ", ")
	}
	if near := fault.Nearest(id, have); near != "" {
		there = fmt.Sprintf("did you mean %s? %s", near, there)
	}
	return fmt.Errorf("%w %q; %s (`deed skill add DIR` installs one)", ErrUnknown, id, there)
}

// Keep makes a version durable, by its content, before anything names it.
func (c *Catalog) Keep(s *Skill) error {
	_, err := c.Blobs.Keep(s.Tree)
	return err
}

// Load reads the version that a task carries: what was kept when it was admitted here, else an installed skill with the same content,
// where it was admitted on another machine.
func (c *Catalog) Load(pin deed.SkillPin) (*Skill, error) {
	t, err := c.Blobs.Load(pin.Digest, Bounds)
	if err == nil {
		return Parse(pin.SkillID, t)
	}
	if f, ferr := c.Find(pin.SkillID); ferr == nil && f.Skill.Digest == pin.Digest {
		return f.Skill, nil
	}
	return nil, fmt.Errorf("skill %s in version %s (%s) is not here: %w (install that version with `deed skill add`)", pin.SkillID, pin.Version, pin.Digest, err)
}
