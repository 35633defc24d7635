package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"sync/atomic"
)

// A Kind says what an entry is.
type Kind string

// The kinds. Only files and symbolic links have content that a patch can carry.
const (
	KindFile    Kind = "file"
	KindSymlink Kind = "symlink"
	KindDir     Kind = "dir"
	KindFIFO    Kind = "fifo"
	KindSocket  Kind = "socket"
	KindDevice  Kind = "device"
)

// carried reports whether git can have such a thing in a tree.
func (k Kind) carried() bool { return k == KindFile || k == KindSymlink }

// A Hash is a SHA-256 digest. The zero Hash means that there is none.
type Hash [sha256.Size]byte

// IsZero reports whether there is no digest.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns lower-case hex, or "" for the zero Hash.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// An Entry is one thing below the root of a tree.
type Entry struct {
	Path   string // relative, slash-separated, any bytes but NUL; see EncodePath for its form in JSON
	Kind   Kind
	Mode   uint32 // the permission bits, and set-user-id, set-group-id and sticky (07777); 0 for a symbolic link
	Size   int64  // of a file's content or a link's target; 0 for everything else
	SHA256 Hash   // of a file's content or a link's target
	Target string // of a symbolic link
	// Unreadable marks a file or directory that deed may not read, and a file beyond MaxPatchFile that it did not
	// read: see Snapshot. Of a file there is no digest, of a directory no entry below it.
	Unreadable bool
	UID, GID   uint32 // of the owner; not part of the digest

	id identity
}

// GitMode returns the mode that git records for the entry: "100644", "100755", "120000", or "" for what git cannot
// record.
func (e *Entry) GitMode() string {
	switch {
	case e == nil:
		return ""
	case e.Kind == KindSymlink:
		return "120000"
	case e.Kind != KindFile:
		return ""
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// identity is what a file's unchanged content is known by without reading it.
type identity struct {
	Dev, Ino     uint64
	Ctime, Mtime int64 // nanoseconds
}

// A GitDir is a `.git` in a tree: a repository, or the file or link that refers to one. Its content is not part of
// the entries; the digest covers it all.
type GitDir struct {
	Path   string // of the .git itself
	Kind   Kind
	Files  int  // files and links below it
	SHA256 Hash // over path, kind, mode and content of all that is in it
}

// A Manifest is what a tree holds at one moment, and does not change any more. Entries and Git are in bytewise order of their paths.
type Manifest struct {
	Entries []Entry
	Git     []GitDir

	// gitEntries is what is in the repositories, so that a second snapshot need not read it again. It is not stored.
	gitEntries []Entry

	// fsStart is the time of the file system, in nanoseconds, before the first file was read. An entry with a ctime
	// that is not older by the margin may have been written again within the clock's grain: see trusted.
	fsStart int64
	margin  int64

	digest atomic.Pointer[string] // see Digest; nil until somebody asks
}

// Find returns the entry at path, or nil.
func (m *Manifest) Find(path string) *Entry {
	i := sort.Search(len(m.Entries), func(i int) bool { return m.Entries[i].Path >= path })
	if i < len(m.Entries) && m.Entries[i].Path == path {
		return &m.Entries[i]
	}
	return nil
}

// trusted reports whether an entry of this manifest may stand for a file that has the same identity now. The clock
// that stamps files moves in steps: a file that was written in the step in which the snapshot began, or later, can
// have been written once more after it was read without any visible difference. Where there are no steps, the entry was
// asked for its time after it was read, and a later change shows.
func (m *Manifest) trusted(e *Entry) bool {
	return e.id.Ino != 0 && !e.Unreadable && (m.margin == noMargin || e.id.Ctime < m.fsStart-m.margin)
}

const manifestSchema = "deed/workspace.manifest/v1"

// Digest returns the digest of what the tree holds: kinds, modes, contents, targets and paths, and nothing that
// differs between two copies of the same tree (owners, inodes, times). Repositories (Git) are not part of it.
//
// It is the SHA-256 of the schema's name and a NUL, then for each entry in order its kind, its mode in octal, its
// size in decimal, its content digest in hex, its path and its target, each followed by a NUL.
func (m *Manifest) Digest() string {
	if d := m.digest.Load(); d != nil {
		return *d
	}
	h := sha256.New()
	b := append(make([]byte, 0, digestChunk+1024), manifestSchema+"\x00"...)
	for i := range m.Entries {
		if b = appendEntry(b, &m.Entries[i]); len(b) >= digestChunk {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
	d := hex.EncodeToString(h.Sum(nil))
	m.digest.Store(&d)
	return d
}

// digestChunk is about how much is hashed at a time.
const digestChunk = 8 << 10

// appendEntry appends what is hashed of an entry.
func appendEntry(b []byte, e *Entry) []byte {
	b = append(b, e.Kind...)
	b = append(b, 0)
	b = strconv.AppendUint(b, uint64(e.Mode), 8)
	b = append(b, 0)
	b = strconv.AppendInt(b, e.Size, 10)
	b = append(b, 0)
	if !e.SHA256.IsZero() {
		b = hex.AppendEncode(b, e.SHA256[:])
	}
	b = append(b, 0)
	b = append(b, e.Path...)
	b = append(b, 0)
	b = append(b, e.Target...)
	return append(b, 0)
}

// Count returns the number of files and their bytes.
func (m *Manifest) Count() (files int, bytes int64) {
	for i := range m.Entries {
		if m.Entries[i].Kind == KindFile {
			files++
			bytes += m.Entries[i].Size
		}
	}
	return files, bytes
}

// A Difference is one path at which two trees are not the same.
type Difference struct {
	Path string
	What string // in words, for a person
}

func (d Difference) String() string { return quotePath(d.Path) + ": " + d.What }

// Compare lists where have differs from want in content: owners and times do not count.
func Compare(want, have *Manifest) []Difference {
	var out []Difference
	eachPair(want.Entries, have.Entries, func(w, h *Entry) {
		if s := describe(w, h); s != "" {
			p := w
			if p == nil {
				p = h
			}
			out = append(out, Difference{p.Path, s})
		}
	})
	return out
}

// eachPair walks two ordered lists of entries and calls f with the two sides of each path; one may be nil.
func eachPair(a, b []Entry, f func(a, b *Entry)) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || (i < len(a) && a[i].Path < b[j].Path):
			f(&a[i], nil)
			i++
		case i == len(a) || b[j].Path < a[i].Path:
			f(nil, &b[j])
			j++
		default:
			f(&a[i], &b[j])
			i++
			j++
		}
	}
}

func describe(want, have *Entry) string {
	switch {
	case have == nil:
		return "missing " + string(want.Kind)
	case want == nil:
		return "unexpected " + string(have.Kind)
	case want.Kind != have.Kind:
		return fmt.Sprintf("is a %s instead of a %s", have.Kind, want.Kind)
	case want.Unreadable != have.Unreadable:
		return "cannot be read"
	case want.SHA256 != have.SHA256 || want.Size != have.Size:
		return fmt.Sprintf("content %.12s (%d bytes) instead of %.12s (%d bytes)", have.SHA256, have.Size, want.SHA256, want.Size)
	case want.Mode != have.Mode:
		return fmt.Sprintf("mode %04o instead of %04o", have.Mode, want.Mode)
	}
	return ""
}
