package sidecar

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// Bounds of a run directory.
const (
	maxFile    = 512 << 20 // bytes
	maxEntries = 10_000    // files in a directory
	maxDepth   = 8         // of directories in reports/
	maxItems   = 1 << 20   // in an array
	maxFaults  = 200
)

// room is the open run directory. A script may have left anything in it: what is not a regular file is a fault, a link is
// not followed, a FIFO is not waited for. Read it when the processes of the script are gone.
type room struct {
	dir  string
	root *os.Root
}

// open opens a regular file. It is nil when there is none.
func (r *room) open(path string) (*os.File, error) {
	name, err := r.name(path)
	if err != nil {
		return nil, err
	}
	before, err := r.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("is %s, not a regular file", plainfile.Kind(before.Mode()))
	}
	f, err := plainfile.OpenIn(r.root, name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, st):
		err = errors.New("was replaced while it was opened")
	case st.Size() > maxFile:
		err = fmt.Errorf("has %d bytes (at most %d)", st.Size(), maxFile)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// name is a path as the root knows it. A link in the middle of it is not followed either.
func (r *room) name(path string) (string, error) {
	name, err := filepath.Rel(r.dir, path)
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		info, err := r.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			return "", fmt.Errorf("%s is %s, not a directory", dir, plainfile.Kind(info.Mode()))
		}
	}
	return name, nil
}

// text opens a file that has something in it. It is nil when there is none, or only white space.
func (r *room) text(path string) (io.ReadCloser, error) {
	f, err := r.open(path)
	if f == nil {
		return nil, err
	}
	in := bufio.NewReaderSize(io.LimitReader(f, maxFile), 64<<10)
	for {
		head, err := in.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil, f.Close()
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if !bytes.ContainsAny(head, " \t\r\n") {
			break
		}
		_, _ = in.Discard(1)
	}
	if head, _ := in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	return struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}

// list names what is in a directory, sorted. It is empty when there is none.
func (r *room) list(path string) ([]fs.DirEntry, error) {
	name, err := r.name(path)
	if err != nil {
		return nil, err
	}
	info, err := r.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("is %s, not a directory", plainfile.Kind(info.Mode()))
	}
	entries, err := fs.ReadDir(r.root.FS(), filepath.ToSlash(name))
	if err == nil && len(entries) > maxEntries {
		return entries[:maxEntries], fmt.Errorf("has %d entries: only the first %d are read", len(entries), maxEntries)
	}
	return entries, err
}
