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

// repositories are what git takes for one in a workspace, by path: what is called .git, and the HEAD of a directory that has the parts of a
// repository itself.
type repositories map[string]fs.FileInfo

// repositoriesOf looks at every directory of a workspace, and into no repository. One that cannot be listed is an error: git would still find
// a repository in it by its name.
func repositoriesOf(dir string) (repositories, error) {
	found := repositories{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since
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
		return nil, fmt.Errorf("look for repositories in %s: %w", dir, err)
	}
	return found, nil
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

// takeAway removes the repositories that were not there before, and returns where they were. A directory that was moved with its own is
// as good as before.
func (before repositories) takeAway(dir string) (gone []string, err error) {
	after, err := repositoriesOf(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("take repositories away: %w", err)
	}
	defer func() { _ = root.Close() }()
	var faults []error
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
	slices.Sort(gone)
	return gone, errors.Join(faults...)
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
	return fmt.Errorf("the command made a repository at %q, where git would run what it names on the host, for whoever uses it there next: it was taken away (make repositories outside of the workspace)",
		strings.Join(gone, ", "))
}
