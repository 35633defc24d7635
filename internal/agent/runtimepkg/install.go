package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/checks/extension"
)

// A Store is the directory of the packages that the operator installed.
//
//	<dir>/<id>                        a link to one of the next two, or a directory that somebody put there by hand
//	<dir>/.packages/<digest>/<id>/    an installed package, by its content; it never changes
//	<anywhere>/                       a linked package, which its author goes on changing
//	<dir>/.staging/                   what is being installed; the next install clears it away
//
// Only the rename of the link makes a package, or another version of it, visible: a crash before it has changed nothing, and a
// crash after it leaves files that the next command removes. The files of a version that was replaced stay until
// the next install, for the runs that still use them.
type Store struct{ Dir string }

// ErrTaken says that an id has a package already.
var ErrTaken = errors.New("the id is taken")

const (
	packagesDir = ".packages"
	stagingDir  = ".staging"
)

// InstallOptions say how a package is installed or linked.
type InstallOptions struct {
	ID      string // the package of the source to take, where it has several; "" the only one
	Replace bool   // take the place of a package of the same id
}

// An Installed is what an install or a link did.
type Installed struct {
	Package  *Package
	Replaced string // where the link led to before; "" when it is new
	Same     bool   // the same content was installed already, and nothing was changed
}

// Install copies a package from a directory or an archive into the store. The error wraps ErrRefused when the source is no
// package that may be installed; the store is then as it was.
func (s Store) Install(ctx context.Context, source string, opt InstallOptions) (Installed, error) {
	unlock, err := s.lock()
	if err != nil {
		return Installed{}, err
	}
	defer unlock()
	stage, err := os.MkdirTemp(filepath.Join(s.Dir, stagingDir), "install-*")
	if err != nil {
		return Installed{}, atomicfile.Explain("install "+source, err)
	}
	in, err := s.install(ctx, source, stage, opt)
	if rerr := os.RemoveAll(stage); err == nil && rerr != nil {
		err = atomicfile.Explain("clear "+stage, rerr)
	}
	if err != nil {
		return Installed{}, fmt.Errorf("install %s: %w", source, err)
	}
	return in, nil
}

func (s Store) install(ctx context.Context, source, stage string, opt InstallOptions) (Installed, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return Installed{}, err
	}
	files := filepath.Join(stage, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		return Installed{}, err
	}
	if fi, err := os.Stat(source); err == nil && fi.IsDir() {
		// Of a repository only the package is copied.
		dir, id, err := locate(source, opt.ID)
		if err != nil {
			return Installed{}, err
		}
		source, opt.ID, files = dir, id, filepath.Join(stage, id)
		if err := os.Mkdir(files, 0o755); err != nil {
			return Installed{}, err
		}
	}
	if err := unpack(ctx, source, files); err != nil {
		return Installed{}, err
	}
	crashpoint.Hit(crashpoint.RuntimeUnpacked)
	dir, id, err := locate(files, opt.ID)
	if err != nil {
		return Installed{}, err
	}
	p, err := installable(dir, id)
	if err == nil {
		err = p.selfContained()
	}
	if err != nil {
		return Installed{}, err
	}
	return s.publish(ctx, dir, p, opt)
}

// publish gives the files their place, and then their name.
func (s Store) publish(ctx context.Context, dir string, p *Package, opt InstallOptions) (Installed, error) {
	in := Installed{Package: p}
	digest, err := p.Digest()
	if err != nil {
		return in, err
	}
	_, sum, _ := strings.Cut(digest, ":")
	target := filepath.Join(packagesDir, sum[:32], p.ID)
	was, err := s.replaceable(p.ID, target, opt)
	if err != nil {
		return in, err
	}
	if err := s.settle(ctx, dir, filepath.Join(s.Dir, target), digest); err != nil {
		return in, err
	}
	crashpoint.Hit(crashpoint.RuntimeStored)
	if was == target {
		in.Same = true
	} else if in.Replaced, err = was, s.point(p.ID, target); err != nil {
		return in, err
	}
	in.Package, err = load(entry{id: p.ID, path: filepath.Join(s.Dir, p.ID), from: FromHome})
	return in, err
}

// settle moves a directory to the path of its digest. What is there already is the same, unless it was changed.
func (s Store) settle(ctx context.Context, dir, final, digest string) error {
	if there, err := extension.Digest(final); err == nil && there == digest {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(final)); err != nil {
		return atomicfile.Explain("replace "+final, err)
	}
	if err := atomicfile.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	return atomicfile.PublishDir(ctx, dir, final)
}

// Link makes a directory that its author goes on changing known by its id.
func (s Store) Link(dir string, opt InstallOptions) (Installed, error) {
	unlock, err := s.lock()
	if err != nil {
		return Installed{}, err
	}
	defer unlock()
	in, err := s.link(dir, opt)
	if err != nil {
		return Installed{}, fmt.Errorf("link %s: %w", dir, err)
	}
	return in, nil
}

func (s Store) link(dir string, opt InstallOptions) (in Installed, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return in, err
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return in, errors.Join(err, fmt.Errorf("%w: it is not a directory (an archive is used with `deed runtime install`)", ErrRefused))
	}
	dir, id, err := locate(dir, opt.ID)
	if err != nil {
		return in, err
	}
	if in.Package, err = installable(dir, id); err != nil {
		return in, err
	}
	// A name inside the store would lead to itself, or to files that belong to another package.
	if real, err := filepath.EvalSymlinks(s.Dir); err == nil && within(real, in.Package.Real) {
		return in, fmt.Errorf("%w: it lies in the store of packages itself", ErrRefused)
	}
	was, err := s.replaceable(id, dir, opt)
	if err != nil {
		return in, err
	}
	if was == dir {
		in.Same = true
	} else if in.Replaced, err = was, s.point(id, dir); err != nil {
		return in, err
	}
	in.Package, err = load(entry{id: id, path: filepath.Join(s.Dir, id), from: FromHome})
	return in, err
}

// Remove takes a package out of the store: an installed one with its files, a linked one without. A directory that somebody
// put there by hand is renamed first, so that a crash leaves all of it or nothing.
func (s Store) Remove(id string) (was string, err error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	unlock, err := s.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if was, err = s.occupied(id); err != nil {
		return "", fmt.Errorf("remove %s: %w", id, err)
	}
	if was == "" {
		return "", &NotInstalled{ID: id, Looked: []string{s.Dir}, Known: s.ids()}
	}
	at := filepath.Join(s.Dir, id)
	if was == at {
		err = s.setAside(id)
	} else if err = os.Remove(at); err == nil {
		err = atomicfile.SyncDir(s.Dir)
	}
	if err != nil {
		return "", atomicfile.Explain("remove "+id, err)
	}
	crashpoint.Hit(crashpoint.RuntimeRemoved)
	return was, s.sweep()
}

// point makes the id a link to a target, in one atomic step.
func (s Store) point(id, target string) error {
	stage, err := os.MkdirTemp(filepath.Join(s.Dir, stagingDir), "link-*")
	if err != nil {
		return atomicfile.Explain("link "+id, err)
	}
	tmp := filepath.Join(stage, id)
	if err := os.Symlink(target, tmp); err != nil {
		return atomicfile.Explain("link "+id, err)
	}
	if err := os.Rename(tmp, filepath.Join(s.Dir, id)); err != nil {
		return atomicfile.Explain("link "+id, err)
	}
	crashpoint.Hit(crashpoint.RuntimeLinked)
	if err := os.Remove(stage); err != nil {
		return atomicfile.Explain("clear "+stage, err)
	}
	return atomicfile.SyncDir(s.Dir)
}

// setAside moves a directory to where the next sweep finds it.
func (s Store) setAside(id string) error {
	aside, err := os.MkdirTemp(filepath.Join(s.Dir, stagingDir), "old-*")
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(s.Dir, id), filepath.Join(aside, id)); err != nil {
		return err
	}
	return atomicfile.SyncDir(s.Dir)
}

// occupied says what has the place of an id: where a link leads to, or the directory itself; "" is nothing.
func (s Store) occupied(id string) (string, error) {
	at := filepath.Join(s.Dir, id)
	fi, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case fi.Mode()&fs.ModeSymlink != 0:
		return os.Readlink(at)
	case !fi.IsDir():
		return "", fmt.Errorf("%s is neither a link nor a directory (move it away)", at)
	}
	return at, nil
}

// replaceable is occupied for a link that is about to be written: what is there must be the same, or the caller's to replace.
// A rename cannot replace a directory by a link, so a crash could lose what somebody put there by hand.
func (s Store) replaceable(id, target string, opt InstallOptions) (string, error) {
	was, err := s.occupied(id)
	switch at := filepath.Join(s.Dir, id); {
	case err != nil || was == "" || was == target:
		return was, err
	case was == at:
		return "", fmt.Errorf("%w: %s was put there by hand (move it away, or `deed runtime remove %s` first)", ErrTaken, at, id)
	case !opt.Replace:
		return "", fmt.Errorf("%w: %q is installed at %s (give --replace, or `deed runtime remove %s` first)", ErrTaken, id, at, id)
	}
	return was, nil
}

// lock makes the store where it is missing, waits for other writers, and clears away what a dead one left.
func (s Store) lock() (unlock func(), err error) {
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, stagingDir), filepath.Join(s.Dir, packagesDir)} {
		if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if unlock, err = atomicfile.LockDir(s.Dir); err != nil {
		return nil, err
	}
	if err := s.sweep(); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// sweep removes what is staged and the packages that no link leads to. Its caller has the lock, so no other command is at work.
func (s Store) sweep() error {
	used := map[string]bool{}
	list, err := os.ReadDir(s.Dir)
	if err != nil {
		return atomicfile.Explain("clear "+s.Dir, err)
	}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join(s.Dir, e.Name())); err == nil && strings.HasPrefix(to, packagesDir+"/") {
			used[filepath.Base(filepath.Dir(to))] = true
		}
	}
	for _, dir := range []string{stagingDir, packagesDir} {
		list, err := os.ReadDir(filepath.Join(s.Dir, dir))
		if err != nil {
			return atomicfile.Explain("clear "+dir, err)
		}
		for _, e := range list {
			if dir == packagesDir && used[e.Name()] {
				continue
			}
			if err := os.RemoveAll(filepath.Join(s.Dir, dir, e.Name())); err != nil {
				return atomicfile.Explain("clear "+e.Name(), err)
			}
		}
	}
	return nil
}

func (s Store) ids() []string {
	list, _ := os.ReadDir(s.Dir) // for a message alone
	var ids []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// locate finds a package in a directory: the directory itself, the one directory in it, as the archives of releases have
// it, or one below agent-runtimes, as repositories have it.
func locate(dir, want string) (at, id string, err error) {
	if want != "" {
		if err := checkID(want); err != nil {
			return "", "", err
		}
	}
	found := map[string]string{}
	for _, top := range tops(dir) {
		list := append([]string{top}, children(filepath.Join(top, PackagesDir))...)
		for _, d := range list {
			for _, id := range manifestsIn(d) {
				if _, there := found[id]; !there && (want == "" || want == id) {
					found[id] = d
				}
			}
		}
	}
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	switch {
	case len(ids) == 1:
		return found[ids[0]], ids[0], nil
	case len(ids) > 1:
		return "", "", fmt.Errorf("%w: it holds several packages: %s (choose one with --id)", ErrRefused, strings.Join(ids, ", "))
	case want != "":
		return "", "", fmt.Errorf("%w: there is no manifest %s.json in it", ErrRefused, want)
	}
	return "", "", fmt.Errorf("%w: there is no manifest in it (a package is a directory ID with ID.json, of schema homeboy/agent-runtime-manifest/v1)", ErrRefused)
}

// tops are a directory, and the only directory in it.
func tops(dir string) []string {
	if below := children(dir); len(below) == 1 {
		return []string{dir, below[0]}
	}
	return []string{dir}
}

func children(dir string) []string {
	list, _ := os.ReadDir(dir) // a directory that is not there has none
	var out []string
	for _, e := range list {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// manifestsIn lists the ids of the manifests in a directory: the file of its own name alone, else those that say that they
// are one.
func manifestsIn(dir string) []string {
	if base := filepath.Base(dir); checkID(base) == nil && isPackage(dir, base) {
		return []string{base}
	}
	list, _ := os.ReadDir(dir) // a directory that cannot be read has none
	var ids []string
	for _, e := range list {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && checkID(id) == nil && e.Type().IsRegular() && saysManifest(filepath.Join(dir, e.Name())) {
			ids = append(ids, id)
		}
	}
	return ids
}

// within reports whether a path is a directory or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// checkID refuses what cannot be a directory's name on every system, or hides itself.
func checkID(id string) error {
	ok := id != "" && len(id) <= 100
	for i, c := range id {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.ContainsRune("._-", c):
		default:
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("%.120q cannot be the id of a package (up to 100 letters, digits, dots, dashes and underscores, the first a letter or a digit)", id)
	}
	return nil
}
