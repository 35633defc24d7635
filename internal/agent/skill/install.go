package skill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
)

// ErrTaken says that the home has another skill of the name.
var ErrTaken = errors.New("the name is taken")

// ErrSensors says that a skill brings sensors, and the caller did not agree to run them.
var ErrSensors = errors.New("it brings sensors")

// AddOptions say how a skill is installed.
type AddOptions struct {
	Replace bool // take the place of another version
	Sensors bool // deed serve may run the sensors that it brings, as deed's own user and outside of any sandbox
}

// An Added is what Add did.
type Added struct {
	Skill    *Skill
	Same     bool // the same content was there already
	Replaced bool
}

// Pick reads a skill out of a directory or an archive, whose name says what it is called when the archive has no folder.
func Pick(source string) (*Skill, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	t, err := filetree.Read(source, Bounds)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(source)
	if _, ok := t.Get(InstructionFile); !ok {
		if dirs := t.Dirs(); len(dirs) == 1 {
			if sub := t.Sub(dirs[0]); len(sub) == len(t) {
				return Parse(dirs[0], sub)
			}
		}
	}
	if fi, err := os.Stat(source); err == nil && !fi.IsDir() {
		name = declared(t, name)
	}
	return Parse(name, t)
}

// declared is the name in a SKILL.md, for an archive of the files without their folder: the archive's own name says nothing.
func declared(t filetree.Tree, otherwise string) string {
	p := &parser{tree: t, s: &Skill{}}
	text, ok := p.text(InstructionFile)
	if !ok {
		return otherwise
	}
	if name := nameIn(text); CheckName(name) == "" {
		return name
	}
	return otherwise
}

// Add installs a skill into the home: whole or not at all.
func Add(ctx context.Context, h *home.Home, source string, opt AddOptions) (Added, error) {
	s, err := Pick(source)
	if err != nil {
		return Added{}, err
	}
	return Install(ctx, h, s, opt)
}

// Install puts a skill that was read into the home.
func Install(ctx context.Context, h *home.Home, s *Skill, opt AddOptions) (Added, error) {
	a := Added{Skill: s}
	if len(s.Sensors) > 0 && !opt.Sensors {
		return a, ErrSensors
	}
	if err := atomicfile.MkdirAll(h.Skills(), 0o700); err != nil {
		return a, err
	}
	unlock, err := atomicfile.LockDir(h.Skills())
	if err != nil {
		return a, err
	}
	defer unlock()
	final := filepath.Join(h.Skills(), s.ID())
	if old, err := filetree.Read(final, Bounds); err == nil && old.Digest() == s.Digest {
		a.Same = true
		return a, nil
	}
	_, err = os.Lstat(final)
	if a.Replaced = err == nil; a.Replaced && !opt.Replace {
		return a, fmt.Errorf("skill %s: %w", s.ID(), ErrTaken)
	}
	stage, release, err := atomicfile.TempDir(h.Tmp(), "skill-*")
	if err != nil {
		return a, atomicfile.Explain("install the skill", err)
	}
	defer release()
	defer func() { _ = os.RemoveAll(stage) }() // the old version, or what was not published
	fresh := filepath.Join(stage, s.ID())
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return a, atomicfile.Explain("install the skill", err)
	}
	if err := s.Tree.Write(fresh, false); err != nil {
		return a, err
	}
	crashpoint.Hit(crashpoint.SkillStaged)
	publish := atomicfile.PublishDir
	if a.Replaced {
		publish = atomicfile.SwapDir
	}
	if err := publish(ctx, fresh, final); err != nil {
		return a, err
	}
	crashpoint.Hit(crashpoint.SkillPublished)
	return a, nil
}

// Remove takes a skill out of the home. Tasks that were admitted with it keep their version.
func Remove(h *home.Home, id string) error {
	if why := CheckName(id); why != "" {
		return fmt.Errorf("%w: the id %s", ErrUnknown, why)
	}
	dir := filepath.Join(h.Skills(), id)
	if _, err := os.Lstat(dir); err != nil {
		return fmt.Errorf("%w %q in %s", ErrUnknown, id, h.Skills())
	}
	gone, release, err := atomicfile.TempDir(h.Tmp(), "skill-*")
	if err != nil {
		return atomicfile.Explain("remove the skill", err)
	}
	defer release()
	defer func() { _ = os.RemoveAll(gone) }() // the next sweep of the home's temporary files takes what is left
	if err := os.Rename(dir, filepath.Join(gone, id)); err != nil {
		return atomicfile.Explain("remove the skill", err)
	}
	crashpoint.Hit(crashpoint.SkillRemoved)
	return atomicfile.SyncDir(h.Skills())
}
