// Package filetree owns small trees of plain files that travel: it reads one from a directory or an archive within bounds, names it by
// its content, keeps it among the blobs of a home and writes it out again. Links, special files and names that lead out are refused
// wherever a tree comes from. What the files mean is their readers' business.
package filetree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/canonjson"
)

// ErrRefused says that a tree holds what it must not, or too much of it.
var ErrRefused = errors.New("refused")

// Schema is the id of the list of files by which a tree is named.
const Schema = "deed/parcel/v1"

// A File is one file of a tree.
type File struct {
	Path string // relative, with slashes
	Exec bool
	Data []byte
}

// A Tree is files in the order of their paths, each path once. No path is also a directory of another. Empty directories are not part
// of it.
type Tree []File

// Read reads a directory without its version control, or a tar, tar.gz or zip file.
func Read(source string, most Limits) (Tree, error) {
	var t Tree
	err := Walk(source, most, func(name string, exec bool, in io.Reader) error {
		if in == nil {
			return nil
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("%w: %.200q: %w", ErrRefused, name, err)
		}
		t = append(t, File{name, exec, data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t.sorted(), nil
}

// Of makes a tree of files, whose paths are checked.
func Of(files ...File) (Tree, error) {
	t := make(Tree, 0, len(files))
	w := newWalker(Limits{Files: len(files)}, func(name string, exec bool, _ io.Reader) error {
		t = append(t, File{name, exec, files[len(t)].Data})
		return nil
	})
	for _, f := range files {
		if err := w.file(f.Path, f.Exec, nil); err != nil {
			return nil, err
		}
	}
	return t.sorted(), nil
}

func (t Tree) sorted() Tree {
	slices.SortFunc(t, func(x, y File) int { return cmp.Compare(x.Path, y.Path) })
	return t
}

// Get returns a file by its path.
func (t Tree) Get(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, name, func(f File, name string) int { return cmp.Compare(f.Path, name) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Sub returns the files below a directory, with paths from there.
func (t Tree) Sub(dir string) Tree {
	var out Tree
	for _, f := range t {
		if rest, ok := strings.CutPrefix(f.Path, dir+"/"); ok {
			out = append(out, File{rest, f.Exec, f.Data})
		}
	}
	return out
}

// Dirs lists the directories at the top.
func (t Tree) Dirs() []string {
	var out []string
	for _, f := range t {
		if dir, _, ok := strings.Cut(f.Path, "/"); ok && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// A Manifest lists a tree. Its canonical form is what the tree is named by, so it is the same on every machine.
type Manifest struct {
	Schema string  `json:"schema"`
	Files  []Entry `json:"files"`
}

// An Entry is a file of a Manifest.
type Entry struct {
	Path       string `json:"path"`
	Executable bool   `json:"executable,omitempty"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"` // sha256: and lower-case hex
}

// within refuses a list of more than the limits.
func (m Manifest) within(most Limits) error {
	left := most.Bytes
	for _, e := range m.Files {
		if left -= e.Bytes; e.Bytes < 0 || left < 0 {
			return most.exceeded()
		}
	}
	if len(m.Files) > most.Files {
		return most.exceeded()
	}
	return nil
}

// Manifest lists the tree.
func (t Tree) Manifest() Manifest {
	m := Manifest{Schema: Schema, Files: make([]Entry, len(t))}
	for i, f := range t {
		m.Files[i] = Entry{f.Path, f.Exec, int64(len(f.Data)), Sum(f.Data)}
	}
	return m
}

// Digest names the tree by its content: paths, executable bits and bytes.
func (t Tree) Digest() string { return Sum(t.list()) }

func (t Tree) list() []byte {
	text, err := canonjson.Marshal(t.Manifest())
	if err != nil {
		panic(fmt.Sprintf("marshal a manifest: %v", err)) // paths are plain text, and the rest is numbers
	}
	return text
}

// Sum is the digest of bytes as deed writes it.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Write puts the files into a directory that exists and has none of them. Nobody may write to them but their owner; with readOnly not
// even that one.
func (t Tree) Write(dir string, readOnly bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // files are closed one by one
	for _, f := range t {
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		perm := fs.FileMode(0o644)
		if f.Exec {
			perm = 0o755
		}
		if readOnly {
			perm &^= 0o222
		}
		out, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		_, err = out.Write(f.Data)
		if err = errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return nil
}

// decodeManifest reads a manifest that Digest named.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.Schema != Schema {
		return m, fmt.Errorf("it is %.100q and not %s", m.Schema, Schema)
	}
	return m, nil
}
