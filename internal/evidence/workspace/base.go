package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Base is the tree that a workspace began as: what its change is computed against, and what clean rooms are made of.
// The agent is not given it.
//
// A small one is held in memory, out of reach of any agent, until its directory is asked for. A run that changes nothing
// and checks nothing never needs the directory, and making and removing a tree costs more than starting a program.
type Base struct {
	dir string

	mu   sync.Mutex
	held *held // guarded by mu; nil: the tree is at dir
}

// BaseAt is a base in an existing directory.
func BaseAt(dir string) *Base { return &Base{dir: dir} }

// Dir returns the directory of the base, and makes it when it is asked for first.
func (b *Base) Dir() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		return b.dir, nil
	}
	if err := b.held.lay(b.dir); err != nil {
		return "", fmt.Errorf("lay out the base: %w", err)
	}
	b.held = nil
	return b.dir, nil
}

// What is held in memory at most. Every attempt that runs at the same time may hold so much.
const (
	maxHeldBytes   = 1 << 20
	maxHeldEntries = 2000
)

// A held is the content of a small tree.
type held struct {
	manifest *Manifest

	mu    sync.Mutex
	files map[string][]byte // guarded by mu while it is taken; nil: the tree is too large
	bytes int               // guarded by mu
}

// put keeps what a file holds.
func (h *held) put(path string, data []byte) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes += len(data); h.bytes > maxHeldBytes || len(h.files) == maxHeldEntries {
		h.files = nil
	}
	if h.files != nil {
		h.files[path] = data
	}
}

// full reports whether nothing more is kept.
func (h *held) full() bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files == nil
}

// whole reports whether the tree can be made again from what is held.
func (h *held) whole(m *Manifest) bool {
	h.manifest = m
	if h.files == nil || len(m.Entries)+len(m.gitEntries) > maxHeldEntries {
		return false
	}
	for _, list := range [][]Entry{m.Entries, m.gitEntries} {
		for i := range list {
			e := &list[i]
			_, have := h.files[e.Path]
			if e.Unreadable || e.Mode&^0o777 != 0 || e.Kind == KindFile && !have || e.Kind != KindDir && !e.Kind.carried() {
				return false
			}
		}
	}
	return true
}

// lay makes the tree at a directory that is absent or empty, as Clone would: files with their content, permission bits and
// modification time, links as links. When it fails, what it made is removed again.
func (h *held) lay(dir string) (err error) {
	if err := prepare(dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(dir))
		}
	}()
	var dirs []*Entry
	for _, list := range [][]Entry{h.manifest.Entries, h.manifest.gitEntries} {
		for i := range list {
			e := &list[i]
			if e.Kind == KindDir {
				dirs = append(dirs, e)
			}
			if err := h.layOne(filepath.Join(dir, filepath.FromSlash(e.Path)), e); err != nil {
				return err
			}
		}
	}
	// A directory that its owner may not write to could not have been filled: modes come last, deepest first.
	for _, e := range slices.Backward(dirs) {
		if err := os.Chmod(filepath.Join(dir, filepath.FromSlash(e.Path)), os.FileMode(e.Mode)); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) layOne(at string, e *Entry) error {
	switch e.Kind {
	case KindDir:
		return os.Mkdir(at, 0o700)
	case KindSymlink:
		return os.Symlink(e.Target, at)
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, os.FileMode(e.Mode))
	if err != nil {
		return err
	}
	_, err = f.Write(h.files[e.Path])
	err = errors.Join(err, f.Chmod(os.FileMode(e.Mode)), f.Close()) // the mode again: a umask took from it
	if err != nil {
		return err
	}
	return os.Chtimes(at, time.Time{}, time.Unix(0, e.id.Mtime))
}
