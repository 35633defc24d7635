package extension

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

//go:embed all:builtin
var embedded embed.FS

// BuiltIn returns the extensions that deed brings: a directory for each.
func BuiltIn() fs.FS {
	sub, err := fs.Sub(embedded, "builtin")
	if err != nil {
		panic("extension: the embedded directory has no such name: " + err.Error())
	}
	return sub
}

// builtInIDs lists the embedded extensions, sorted.
var builtInIDs = sync.OnceValue(func() []string {
	entries, err := fs.ReadDir(BuiltIn(), ".")
	if err != nil {
		panic("extension: the embedded directory cannot be read: " + err.Error())
	}
	var ids []string
	for _, e := range entries {
		if _, err := fs.Stat(BuiltIn(), path.Join(e.Name(), e.Name()+".json")); e.IsDir() && err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids
})

// An embeddedFile is a file of a built-in extension.
type embeddedFile struct {
	rel  string
	exec bool
	data []byte
}

// embeddedFiles reads a built-in extension. Embedding keeps no modes: what begins with #! is executable.
func embeddedFiles(id string) (files []embeddedFile, digest string, err error) {
	sum := sha256.New()
	err = fs.WalkDir(BuiltIn(), id, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(BuiltIn(), name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(id, name)
		if err != nil {
			return err
		}
		f := embeddedFile{rel: rel, data: data, exec: bytes.HasPrefix(data, []byte("#!"))}
		content := sha256.Sum256(data)
		record(sum, f.rel, kind(f.exec), content[:])
		files = append(files, f)
		return nil
	})
	return files, finish(sum), err
}

// materialise writes a built-in extension below dir, in a directory with the name of its digest, and returns its path. What is
// there already is compared byte by byte with what is embedded, every time: an agent that ran as deed's user could have written
// there. What differs is moved aside and written again.
func materialise(dir, id string) (string, string, error) {
	files, digest, err := embeddedFiles(id)
	if err != nil {
		return "", "", err
	}
	home := filepath.Join(dir, short(digest))
	final := filepath.Join(home, id)
	if intact(final, files) {
		return final, digest, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("unpack it: %w", err)
	}
	unlock, err := atomicfile.LockDir(dir)
	if err != nil {
		return "", "", fmt.Errorf("unpack it: %w", err)
	}
	defer unlock()
	if intact(final, files) { // another process was faster
		return final, digest, nil
	}
	if err := install(dir, home, id, files); err != nil {
		return "", "", fmt.Errorf("unpack it below %s: %w", dir, err)
	}
	return final, digest, nil
}

// intact reports whether a directory holds exactly these files.
func intact(dir string, files []embeddedFile) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }() // only read
	for _, f := range files {
		fi, err := root.Lstat(f.rel)
		if err != nil || !fi.Mode().IsRegular() || fi.Size() != int64(len(f.data)) || fi.Mode()&0o100 != 0 != f.exec {
			return false
		}
		if data, err := root.ReadFile(f.rel); err != nil || !bytes.Equal(data, f.data) {
			return false
		}
	}
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	return err == nil && n == len(files)
}

// install writes the files into a new directory and gives it its name. The caller has the lock, so what a crash left of an
// earlier try is nobody's.
func install(dir, home, id string, files []embeddedFile) error {
	for _, pattern := range []string{".new-*", ".old-*"} {
		left, err := filepath.Glob(filepath.Join(escape(dir), pattern))
		if err != nil {
			return err
		}
		for _, l := range left {
			if err := os.RemoveAll(l); err != nil {
				return err
			}
		}
	}
	tmp, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // empty, or not wanted
	for _, f := range files {
		name := filepath.Join(tmp, id, f.rel)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if f.exec {
			mode = 0o755
		}
		if err := os.WriteFile(name, f.data, mode); err != nil {
			return err
		}
		if err := os.Chmod(name, mode); err != nil { // whatever the umask
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // a contained check sees it as another user
		return err
	}
	// Broken, or half there: it goes out of the way first.
	if _, err := os.Lstat(home); err == nil {
		old, err := os.MkdirTemp(dir, ".old-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(old) }() // no longer used
		if err := os.Rename(home, filepath.Join(old, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return atomicfile.PublishDir(context.Background(), tmp, home)
}
