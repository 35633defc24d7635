package filetree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// Blobs is a directory of documents that are kept by their content: a file's name is the SHA-256 of what is in it.
type Blobs string

// Put writes a document durably and returns its digest. One that is there is left, and counts as new: a document is as old as the
// newest need of it.
func (b Blobs) Put(data []byte) (string, error) {
	digest := Sum(data)
	if err := atomicfile.MkdirAll(string(b), 0o700); err != nil {
		return "", fmt.Errorf("keep a document: %w", err)
	}
	if old, err := plainfile.Read(b.path(digest), int64(len(data))); err == nil && bytes.Equal(old, data) {
		now := clock.System()
		if err := os.Chtimes(b.path(digest), now, now); err == nil {
			return digest, atomicfile.SyncDir(string(b)) // its writer may have been killed before its name was durable
		} // else it was removed in this moment, and is written again
	}
	if err := atomicfile.WriteFile(b.path(digest), data, 0o600); err != nil {
		return "", fmt.Errorf("keep a document: %w", err)
	}
	return digest, nil
}

// Get returns a document when it is what its digest says. The error wraps fs.ErrNotExist when it is not there.
func (b Blobs) Get(digest string, most int64) ([]byte, error) {
	data, err := plainfile.Read(b.path(digest), most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("document %s is not in %s: %w", digest, string(b), err)
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", digest, err)
	}
	if got := Sum(data); got != digest {
		return nil, fmt.Errorf("document %s was changed: its content is %s", digest, got)
	}
	return data, nil
}

func (b Blobs) path(digest string) string {
	return filepath.Join(string(b), filepath.Base(strings.TrimPrefix(digest, "sha256:")))
}

// Has reports whether a tree was kept, without reading it.
func (b Blobs) Has(digest string) bool {
	_, err := b.Get(digest, maxManifest)
	return err == nil
}

// Keep puts a tree among the blobs, its files first, so that a tree whose digest is there is whole.
func (b Blobs) Keep(t Tree) (string, error) {
	for _, f := range t {
		if _, err := b.Put(f.Data); err != nil {
			return "", err
		}
	}
	return b.Put(t.list())
}

// List is what a tree that was kept consists of. It reports false for a document that is no tree.
func (b Blobs) List(digest string) ([]Entry, bool) {
	text, err := b.Get(digest, maxManifest)
	if err != nil {
		return nil, false
	}
	m, err := decodeManifest(text)
	return m.Files, err == nil
}

// maxManifest bounds the list of a tree's files.
const maxManifest = 16 << 20

// Load reads a tree that was kept, every byte of it verified.
func (b Blobs) Load(digest string, most Limits) (Tree, error) {
	text, err := b.Get(digest, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("document %s is no list of files: %w", digest, err)
	}
	if err := m.within(most); err != nil {
		return nil, fmt.Errorf("the files of %s: %w", digest, err)
	}
	files := make([]File, len(m.Files))
	for i, e := range m.Files {
		data, err := b.Get(e.SHA256, e.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Path, err)
		}
		files[i] = File{e.Path, e.Executable, data}
	}
	t, err := Of(files...)
	if err == nil && t.Digest() != digest {
		err = fmt.Errorf("the files of %s are not what it lists", digest)
	}
	return t, err
}
