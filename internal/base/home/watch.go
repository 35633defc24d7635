package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// The dispatcher's wake-up has one reader: two would take each other's bytes. Whoever else wants to know that something changed
// has a FIFO of its own in a directory of the home, and a change is written to all of them. One that nobody reads is the
// leftover of a process that died, and the process that finds it removes it.

func (h *Home) watchers() string { return filepath.Join(h.root, "watch") }

// Changed tells those who watch this home that the store has changed. It never blocks, and costs next to nothing if nobody
// watches. It does not wake the dispatcher; see Wake.
func (h *Home) Changed() {
	dir, err := os.Open(h.watchers())
	if err != nil {
		return // there was no watcher yet
	}
	names, _ := dir.Readdirnames(maxWatchers)
	_ = dir.Close()
	for _, name := range names {
		path := filepath.Join(h.watchers(), name)
		if err := writeWakeByte(path); errors.Is(err, unix.ENXIO) {
			_ = os.Remove(path)
		}
	}
}

// maxWatchers bounds what a change costs.
const maxWatchers = 256

// writeWakeByte writes one byte to a FIFO that has a reader.
func writeWakeByte(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, _ = unix.Write(fd, []byte{'w'}) // full: there is a wake-up already
	return unix.Close(fd)
}

// Watch returns a channel that receives when Changed or Wake was called in any process, at most one value pending. It ends with the
// context. Any number of processes may watch.
func (h *Home) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := os.Mkdir(h.watchers(), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("watch the home: %w", err)
	}
	// It is made elsewhere, and has a reader before it can be taken for a leftover.
	name := uuid.NewString()
	made, path := filepath.Join(h.Tmp(), "watch-"+name[:8]), filepath.Join(h.watchers(), name)
	f, err := openFIFO(made)
	if err != nil {
		return nil, fmt.Errorf("watch the home: %w", err)
	}
	if err := os.Rename(made, path); err != nil {
		return nil, fmt.Errorf("watch the home: %w", errors.Join(err, f.Close(), os.Remove(made)))
	}
	return readFIFO(ctx, f, func() { _ = os.Remove(path) }), nil
}
