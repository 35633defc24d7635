package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// A writer's directory stands next to the final one under a hidden name, and its writer holds a lock on it. Whoever gets that lock knows
// that the writer is dead. The lock is released by atomicfile.Unlock: if the file were only closed, the lock could by chance outlive its
// writer for a moment, and a bundle could not be written or removed for no reason.
const tempSuffix = ".tmp"

// makeTemp creates and locks a directory for a bundle that will be called final.
func makeTemp(final string) (dir string, lock *os.File, err error) {
	parent := filepath.Dir(final)
	if err := atomicfile.MkdirAll(parent, 0o755); err != nil {
		return "", nil, fmt.Errorf("create bundle: %w", err)
	}
	for range 10 {
		dir, err := os.MkdirTemp(parent, "."+filepath.Base(final)+".*"+tempSuffix)
		if err != nil {
			return "", nil, atomicfile.Explain("create bundle "+final, err)
		}
		lock, err := lockDir(dir)
		if err == nil {
			if err := os.Chmod(dir, 0o755); err != nil {
				return "", nil, errors.Join(atomicfile.Explain("create bundle "+final, err), atomicfile.Unlock(lock))
			}
			return dir, lock, nil
		}
		// RemoveStale came between the two steps; it takes only directories that are not locked yet.
		if !errors.Is(err, errLocked) && !errors.Is(err, os.ErrNotExist) {
			return "", nil, atomicfile.Explain("create bundle "+final, err)
		}
	}
	return "", nil, fmt.Errorf("create bundle %s: the directory is removed again and again while it is made", final)
}

// Temp creates a directory next to final, for a copy of a bundle that will have that name. Until release, or the death
// of this process, RemoveStaleOf(final) leaves it alone.
func Temp(final string) (dir string, release func() error, err error) {
	dir, lock, err := makeTemp(final)
	if err != nil {
		return "", nil, err
	}
	return dir, func() error { return atomicfile.Unlock(lock) }, nil
}

var errLocked = errors.New("locked by its writer")

// lockDir locks a directory without waiting and makes sure that it is still the one under that name.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	held, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(dir); err == nil && !os.SameFile(held, named) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		_ = atomicfile.Unlock(f)
		return nil, err
	}
	return f, nil
}

// Stale lists the unfinished bundles below parent whose writers are dead.
func Stale(parent string) ([]string, error) {
	dirs, err := unfinished(parent)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range dirs {
		if lock, err := lockDir(dir); err == nil {
			_ = atomicfile.Unlock(lock)
			out = append(out, dir)
		}
	}
	return out, nil
}

// unfinished lists the directories of writers below parent, dead or alive.
func unfinished(parent string) ([]string, error) {
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for unfinished bundles: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), tempSuffix) {
			out = append(out, filepath.Join(parent, e.Name()))
		}
	}
	return out, nil
}

// RemoveStale deletes the unfinished bundles below parent whose writers are dead, and returns how many those were. It is
// safe while other writers run.
func RemoveStale(parent string) (int, error) {
	dirs, err := unfinished(parent)
	if err != nil {
		return 0, err
	}
	return removeStale(dirs)
}

// RemoveStaleOf is RemoveStale for the unfinished directories of one bundle, and touches nothing else.
func RemoveStaleOf(final string) (int, error) {
	dirs, err := unfinished(filepath.Dir(final))
	if err != nil {
		return 0, err
	}
	return removeStale(slices.DeleteFunc(dirs, func(dir string) bool {
		// What MkdirTemp put in has no dot; with one, it is the name of another bundle.
		random, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(dir), tempSuffix), "."+filepath.Base(final)+".")
		return !ok || strings.Contains(random, ".")
	}))
}

func removeStale(dirs []string) (int, error) {
	n := 0
	for _, dir := range dirs {
		lock, err := lockDir(dir)
		if errors.Is(err, errLocked) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("remove unfinished bundle %s: %w", dir, err)
		}
		err = errors.Join(os.RemoveAll(dir), atomicfile.Unlock(lock))
		if err != nil {
			return n, fmt.Errorf("remove unfinished bundle %s: %w", dir, err)
		}
		n++
	}
	return n, nil
}
