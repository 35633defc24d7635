// Package shipped owns the runtime packages that deed brings along: their files, which are part of the binary, and the copy of
// them on the disk that a host can name. What their commands do is package selfprovider's.
package shipped

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

//go:embed packages
var files embed.FS

// IDs lists the packages.
func IDs() []string {
	var ids []string
	for _, e := range entries() {
		ids = append(ids, e.Name())
	}
	return ids
}

func entries() []fs.DirEntry {
	list, _ := fs.ReadDir(files, "packages") // it is in the binary
	return list
}

// Manifest is the manifest of a package; ok is false when there is none of that id.
func Manifest(id string) (text []byte, ok bool) {
	text, err := fs.ReadFile(files, "packages/"+id+"/"+id+".json")
	return text, err == nil
}

// File is another file of a package; nil when there is none of that name.
func File(id, name string) []byte {
	text, _ := fs.ReadFile(files, "packages/"+id+"/"+name)
	return text
}

// Digest hashes the files of a package, and is written like the digest of any other.
func Digest(id string) string { return "sha256:" + digestOf("packages/"+id) }

func digestOf(top string) string {
	h := sha256.New()
	_ = fs.WalkDir(files, top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := files.ReadFile(path)
			fmt.Fprintf(h, "%s\x00%d\x00%s", path, len(text), text)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil))
}

var all = sync.OnceValue(func() string { return digestOf("packages") })

// Dir is where the packages are, below a directory, once they were placed. Its name is that of their content, so that two
// versions of deed in one home do not touch each other's files.
func Dir(below string) string { return filepath.Join(below, all()[:16]) }

// fresh begins the name of what is not placed yet.
const fresh = ".new-"

// Place puts the packages into the directory that Dir names, unless they are there. What was damaged is replaced whole: a
// reader sees all files or none.
func Place(dir string) error {
	if whole(dir) {
		return nil
	}
	below := filepath.Dir(dir)
	if err := atomicfile.MkdirAll(below, 0o700); err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	unlock, err := atomicfile.LockDir(below)
	if err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	defer unlock()
	if whole(dir) {
		return nil // another deed was faster
	}
	list, err := os.ReadDir(below)
	if err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	for _, e := range list { // of a deed that died here: this one has the lock
		if strings.HasPrefix(e.Name(), fresh) {
			_ = os.RemoveAll(filepath.Join(below, e.Name()))
		}
	}
	tmp, err := os.MkdirTemp(below, fresh)
	if err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone when it was published
	content, err := fs.Sub(files, "packages")
	if err == nil {
		err = os.CopyFS(filepath.Join(tmp, "all"), content)
	}
	if err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	if _, err := os.Lstat(dir); err == nil { // damaged: moved to a name that is never looked up
		if err := os.Rename(dir, filepath.Join(tmp, "old")); err != nil {
			return fmt.Errorf("place shipped packages: %w", err)
		}
	}
	if err := atomicfile.PublishDir(context.Background(), filepath.Join(tmp, "all"), dir); err != nil {
		return fmt.Errorf("place shipped packages: %w", err)
	}
	return nil
}

// whole reports whether a directory holds the packages as they are.
func whole(dir string) bool {
	err := fs.WalkDir(files, "packages", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("packages", path)
		got, err := os.ReadFile(filepath.Join(dir, rel))
		if err == nil && !bytes.Equal(got, want) {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil
}
