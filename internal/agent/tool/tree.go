package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// MaxFile is the largest file that a tool changes, or takes in whole.
const MaxFile = 16 << 20

// tempName is where new content is written before it takes its name. There is one, at the top of the workspace, so that
// the next host finds and removes what a killed one left.
const tempName = ".deed-tool.tmp"

// maxLinks is how many links are followed to the file that is written to.
const maxLinks = 16

// A tree is the workspace. Every path of a model goes through its root, so that neither .. nor a link leads out.
type tree struct {
	dir  string // as the model may call it, absolute
	root *os.Root
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	_ = root.RemoveAll(tempName) // if it cannot be removed, the first write says so
	return &tree{dir: filepath.Clean(dir), root: root}, nil
}

// rel turns a path of the model's into one below the root.
func (t *tree) rel(path string) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", Failf(TypeInput, "the path %.60q holds a NUL byte", path)
	}
	p := path
	if p == "" {
		return ".", nil
	}
	if filepath.IsAbs(p) {
		r, err := filepath.Rel(t.dir, p)
		if err != nil {
			return "", outside(path)
		}
		p = r
	}
	if p = filepath.Clean(p); !filepath.IsLocal(p) {
		return "", outside(path)
	}
	return p, nil
}

func outside(path string) *Failure {
	return Failf(TypeOutside, "%s leads out of the workspace; give a path relative to its top", workspace.Display(path))
}

// explain makes a Failure of what the file system said. path is as the model gave it.
func (t *tree) explain(path string, err error) error {
	var f *Failure
	path = workspace.Display(path)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return Failf(TypeNotFound, "%s does not exist", path)
	case strings.Contains(err.Error(), "escapes from parent"): // os has no name for it
		return outside(path)
	case errors.Is(err, syscall.ENOTDIR):
		return Failf(TypeKind, "%s: a part of the path is not a directory", path)
	case errors.Is(err, syscall.EISDIR):
		return Failf(TypeKind, "%s is a directory", path)
	case errors.Is(err, fs.ErrPermission):
		return Failf(TypeIO, "%s: permission denied", path)
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err // without the path of the machine
	}
	return Failf(TypeIO, "%s: %v", path, err)
}

// open opens a regular file, and waits for no FIFO.
func (t *tree) open(path string) (*os.File, fs.FileInfo, error) {
	rel, err := t.rel(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := t.root.Stat(rel)
	if err != nil {
		return nil, nil, t.explain(path, err)
	}
	if !st.Mode().IsRegular() { // some files act when they are opened
		return nil, nil, wrongKind(path, st.Mode())
	}
	f, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, t.explain(path, err)
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() {
		err = wrongKind(path, st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, nil, t.explain(path, err)
	}
	return f, st, nil
}

func wrongKind(path string, m fs.FileMode) *Failure {
	what := "a special file"
	switch {
	case m.IsDir():
		what = "a directory"
	case m&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	}
	return Failf(TypeKind, "%s is %s, not a regular file", workspace.Display(path), what)
}

// whole reads a file that is to be changed.
func (t *tree) whole(path string) ([]byte, fs.FileMode, error) {
	f, st, err := t.open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if st.Size() > MaxFile {
		return nil, 0, Failf(TypeTooLarge, "%s has %d bytes (at most %d); use the shell", workspace.Display(path), st.Size(), MaxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, 0, t.explain(path, err)
	}
	if len(data) > MaxFile {
		return nil, 0, Failf(TypeTooLarge, "%s grows while it is read", workspace.Display(path))
	}
	return data, st.Mode().Perm(), nil
}

// target follows links to the file that a path stands for, which need not exist. A link is not replaced by a file.
func (t *tree) target(path string) (string, error) {
	rel, err := t.rel(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		st, err := t.root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return rel, nil
		}
		if err != nil {
			return "", t.explain(path, err)
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			if !st.Mode().IsRegular() {
				return "", wrongKind(path, st.Mode())
			}
			return rel, nil
		}
		link, err := t.root.Readlink(rel)
		if err != nil {
			return "", t.explain(path, err)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(t.dir, filepath.Dir(rel), link)
		}
		if rel, err = t.rel(link); err != nil {
			return "", outside(path)
		}
	}
	return "", Failf(TypeIO, "%s: too many links", workspace.Display(path))
}

// put gives a path new content in one step: a reader sees the old or the new. Missing directories are made. mode 0 is
// that of the file that is there, or 0644.
func (t *tree) put(path string, data []byte, mode fs.FileMode) error {
	if len(data) > MaxFile {
		return Failf(TypeTooLarge, "%s would have %d bytes (at most %d)", workspace.Display(path), len(data), MaxFile)
	}
	rel, err := t.target(path)
	if err != nil {
		return err
	}
	if rel == "." || rel == tempName {
		return Failf(TypeKind, "%s cannot be written", workspace.Display(path))
	}
	if st, err := t.root.Lstat(rel); mode == 0 && err == nil {
		mode = st.Mode().Perm()
	} else if mode == 0 {
		mode = 0o644
	}
	if err := t.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return t.explain(path, err)
	}
	temp := tempName
	err = t.replace(temp, rel, data, mode)
	if errors.Is(err, syscall.EXDEV) { // a mount below the workspace
		err = t.replace(filepath.Join(filepath.Dir(rel), tempName), rel, data, mode)
	}
	return t.explain(path, err)
}

func (t *tree) replace(temp, rel string, data []byte, mode fs.FileMode) (err error) {
	if err := t.root.RemoveAll(temp); err != nil {
		return err
	}
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = t.root.Remove(temp)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return t.root.Rename(temp, rel)
}

// remove removes a regular file or a link.
func (t *tree) remove(path string) error {
	rel, err := t.rel(path)
	if err != nil {
		return err
	}
	st, err := t.root.Lstat(rel)
	if err == nil && st.IsDir() {
		return wrongKind(path, st.Mode())
	}
	if err == nil {
		err = t.root.Remove(rel)
	}
	return t.explain(path, err)
}

// isBinary reports whether the beginning of a file is no text.
func isBinary(head []byte) bool {
	for _, c := range head {
		if c == 0 {
			return true
		}
	}
	return false
}

func plural(n int, one string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
