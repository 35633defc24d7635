package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// factsVersion names what readers find in files. A cache of another version is useless, and is rewritten.
const factsVersion = "deed-audit-facts/2\n"

// maxCache bounds a cache that is read. A larger one is not ours.
const maxCache = 2 << 30

// racy is how recent a change may be so that a second one could bear the same time.
const racy = 100 * time.Millisecond

// An entry is what the cache knows of one file.
type entry struct {
	path   string
	size   int64
	mtime  int64
	ino    uint64
	ctime  int64
	digest string
	facts  string // encoded
}

// A cache holds the facts of the files of one tree, by name and digest. It is read-only while a run goes on; the file
// is replaced as a whole, so that two runs at once are fine: each reads a whole one, and the last to end leaves its own.
// Whatever is wrong with the file, the cache is empty.
type cache struct {
	file    string
	head    string
	byPath  map[string]*entry
	entries []entry
}

// openCache reads the cache of a tree below dir. An empty dir is no cache.
func openCache(dir, root string, rules [32]byte) *cache {
	c := &cache{}
	if dir == "" {
		return c
	}
	name := sha256.Sum256([]byte(root))
	c.file = filepath.Join(dir, hex.EncodeToString(name[:12])+".facts")
	c.head = factsVersion + string(rules[:])
	fi, err := os.Stat(c.file)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxCache {
		return c
	}
	b, err := os.ReadFile(c.file)
	if err != nil || !c.load(b) {
		c.entries, c.byPath = nil, nil
	}
	return c
}

func (c *cache) load(b []byte) bool {
	if len(b) < len(c.head)+8 || string(b[:len(c.head)]) != c.head {
		return false
	}
	d := decoder{s: string(b[len(b)-8:])}
	if d.fixed() != uint64(crc32.Checksum(b[:len(b)-8], crc32.MakeTable(crc32.Castagnoli))) {
		return false
	}
	d = decoder{s: string(b[len(c.head) : len(b)-8])}
	c.entries = list(&d, func(e *entry) {
		e.path = d.text()
		e.size, e.mtime, e.ino, e.ctime = int64(d.fixed()), int64(d.fixed()), d.fixed(), int64(d.fixed())
		e.digest = d.take(sha256.Size)
		e.facts = d.text()
	})
	if d.bad || d.s != "" {
		return false
	}
	c.byPath = make(map[string]*entry, len(c.entries))
	for i := range c.entries {
		e := &c.entries[i]
		c.byPath[e.path] = e
	}
	return true
}

// unchanged finds the facts of a file that is, by all that the system says of it, the one that was read before.
func (c *cache) unchanged(s *source) bool {
	e := c.byPath[s.path]
	if e == nil || e.mtime == 0 || e.size != s.size || e.mtime != s.mtime || e.ino != s.ino || e.ctime != s.ctime || s.ino == 0 {
		return false
	}
	return s.take(e)
}

// known finds the facts of a file by its content. They are those of its name too: rules go by names.
func (c *cache) known(s *source) bool {
	e := c.byPath[s.path]
	return e != nil && e.digest == string(s.digest[:]) && s.take(e)
}

func (s *source) take(e *entry) bool {
	d := decoder{s: e.facts}
	f, ok := d.facts()
	if !ok {
		return false
	}
	s.facts, s.encoded, s.cached = f, e.facts, true
	copy(s.digest[:], e.digest)
	return true
}

// save replaces the cache, unless it would not change. A cache that cannot be written is not an error: the next run takes
// longer.
func (c *cache) save(files []*source, now time.Time) {
	if c.file == "" || c.current(files) {
		return
	}
	var e encoder
	e.b = append(e.b, c.head...)
	files = slices.DeleteFunc(slices.Clone(files), func(s *source) bool { return s.unparsed == scriptFailed })
	e.num(len(files))
	for _, s := range files {
		e.text(s.path)
		mtime := s.mtime
		if now.UnixNano()-max(s.mtime, s.ctime) < int64(racy) {
			mtime = 0 // it may change once more within the same tick: next time it is compared by content
		}
		e.fixed(uint64(s.size))
		e.fixed(uint64(mtime))
		e.fixed(s.ino)
		e.fixed(uint64(s.ctime))
		e.b = append(e.b, s.digest[:]...)
		e.text(s.encoded)
	}
	e.fixed(uint64(crc32.Checksum(e.b, crc32.MakeTable(crc32.Castagnoli))))
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err == nil {
		_ = atomicfile.Replace(c.file, e.b, 0o600)
	}
}

// current reports whether a new cache would have the same content.
func (c *cache) current(files []*source) bool {
	if len(files) != len(c.entries) {
		return false
	}
	for i, s := range files {
		e := &c.entries[i]
		if !s.cached || e.path != s.path || e.mtime != s.mtime || e.ino != s.ino || e.ctime != s.ctime {
			return false
		}
	}
	return true
}
