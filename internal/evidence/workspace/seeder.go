package workspace

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// A Seeder seeds a workspace and takes its base. A file that it copied need not be read again for the base, where the
// file system would show if somebody had written to it since. The zero value is ready.
type Seeder struct{ wrote written }

// SeedAll is SeedAll.
func (s *Seeder) SeedAll(ctx context.Context, parts []Part, base string) (SeededTree, error) {
	return seedParts(ctx, parts, base, &s.wrote)
}

// TakeBase takes the base of the workspace that was seeded just now, and its manifest. dir, which must be absent or empty, is
// where the base is put as soon as it is asked for.
func (s *Seeder) TakeBase(ctx context.Context, work, dir string) (*Base, *Manifest, error) {
	h := &held{files: map[string][]byte{}}
	m, err := snapshotOf(ctx, work, snapshotOptions{hold: h, wrote: &s.wrote})
	if err != nil {
		return nil, nil, err
	}
	if h.whole(m) {
		return &Base{dir: dir, held: h}, m, nil
	}
	if _, err := Clone(ctx, work, dir); err != nil {
		return nil, nil, err
	}
	return BaseAt(dir), m, nil
}

// written is what copies wrote, by what the files are to the file system afterwards. Nothing is kept of a nil one.
type written struct {
	mu    sync.Mutex
	files map[identity]writing // guarded by mu
	bytes int                  // guarded by mu; of all data
}

// A writing is what was written to one file, from its beginning to its end.
type writing struct {
	size int64
	mode uint32
	sum  Hash
	data []byte // nil: there is too much of it, or none
}

// put keeps what was written to an open file, which is complete.
func (w *written) put(fd int, data []byte) error {
	var st unix.Stat_t
	if err := fstat(fd, &st); err != nil {
		return err
	}
	c := writing{size: int64(len(data)), mode: uint32(st.Mode) & 0o7777, sum: sha256.Sum256(data)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files == nil {
		w.files = map[identity]writing{}
	}
	if w.bytes += len(data); w.bytes <= maxHeldBytes && len(w.files) < maxHeldEntries {
		c.data = slices.Clone(data)
	}
	w.files[identityOf(&st)] = c
	return nil
}

// find returns what was written to the file of an entry, if it has not been written to since.
func (w *written) find(e *Entry) (writing, bool) {
	if w == nil {
		return writing{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.files[e.id]
	return c, ok && e.Kind == KindFile && c.size == e.Size && c.mode == e.Mode
}
