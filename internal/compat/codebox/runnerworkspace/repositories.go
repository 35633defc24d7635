package runnerworkspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxRepositories is how many repositories a workspace may hold for a contained command: each is a mount of its own.
const maxRepositories = 200

// maxNamed is how many directories a fault names: a command can make any number.
const maxNamed = 20

// repositories are what git takes for one in a workspace, by path: what is called .git, and the HEAD of a directory that has the parts of a
// repository itself.
type repositories map[string]fs.FileInfo

// repositoriesOf looks at every directory of a workspace, but not inside repositories. A directory that cannot be listed is an error: git
// would still find a repository in it by its name.
func repositoriesOf(dir string) (repositories, error) {
	found, _, err := look(dir, false)
	return found, err
}

// look is repositoriesOf. With open, directories that cannot be listed or entered are opened for their owner first, and returned.
func look(dir string, open bool) (found repositories, shut []string, err error) {
	found = repositories{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && open && e.IsDir() && os.Geteuid() != 0 {
			opened, err := unshut(path, e)
			if err != nil {
				return err
			}
			if opened {
				shut = append(shut, path)
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed since
		case err != nil:
			return err
		case e.Name() == gitDir && path != dir:
			if found[path], err = os.Lstat(path); err == nil && e.IsDir() {
				return fs.SkipDir
			}
			return err
		case e.IsDir() && bare(path):
			head := filepath.Join(path, "HEAD")
			found[head], err = os.Lstat(head)
		}
		return err
	})
	if err != nil {
		return nil, shut, fmt.Errorf("look for repositories in %s: %w", dir, err)
	}
	return found, shut, nil
}

// unshut lets the owner of a directory list it, enter it and take something out of it, where it could not be looked into.
func unshut(path string, e fs.DirEntry) (bool, error) {
	fi, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // removed since
	}
	if err != nil || fi.Mode().Perm()&0o500 == 0o500 {
		return false, err
	}
	return true, os.Chmod(path, fi.Mode().Perm()|0o700)
}

// bare reports whether git would take a directory for a repository that has no work tree.
func bare(dir string) bool {
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if !exists(filepath.Join(dir, part)) {
			return false
		}
	}
	return true
}

// takeAway removes the repositories that were not there before. A directory that was moved together with its repository counts as before.
// A directory that the command made unreadable is opened: before it ran, every one could be listed. The error names all that the command
// made or made unreadable.
func (before repositories) takeAway(dir string) (err error) {
	after, shut, err := look(dir, true)
	faults := []error{err}
	if len(shut) > 0 {
		faults = append(faults, closed(dir, shut))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return errors.Join(append(faults, fmt.Errorf("take repositories away: %w", err))...)
	}
	defer func() { _ = root.Close() }()
	var gone []string
	for path, is := range after {
		if before.has(is) {
			continue
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			err = root.RemoveAll(rel)
		}
		faults = append(faults, err)
		gone = append(gone, rel)
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		faults = append(faults, planted(gone))
	}
	return errors.Join(faults...)
}

func (before repositories) has(is fs.FileInfo) bool {
	for _, was := range before {
		if os.SameFile(was, is) {
			return true
		}
	}
	return false
}

// planted is the fault of a command that made repositories.
func planted(gone []string) error {
	return fmt.Errorf("the command made a repository at %s, where git would run what it names on the host, for whoever uses it there next: it was taken away (make repositories outside of the workspace)", some(gone))
}

// closed is the fault of a command that shut directories.
func closed(dir string, shut []string) error {
	for i, path := range shut {
		if rel, err := filepath.Rel(dir, path); err == nil {
			shut[i] = rel
		}
	}
	return fmt.Errorf("the command left %s so that nobody can list it, where git would still find a repository: it was opened for its owner, and looked into (leave directories that can be listed)", some(shut))
}

// some names the first of many paths.
func some(paths []string) string {
	if n := len(paths) - maxNamed; n > 0 {
		return fmt.Sprintf("%q and %d more", strings.Join(paths[:maxNamed], ", "), n)
	}
	return fmt.Sprintf("%q", strings.Join(paths, ", "))
}
