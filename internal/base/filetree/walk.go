package filetree

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// Limits bound a tree.
type Limits struct {
	Files int
	Bytes int64 // of all files together
}

func (l Limits) exceeded() error {
	return fmt.Errorf("%w: it has more than %d files or %d bytes (take out of it what it does not need)", ErrRefused, l.Files, l.Bytes)
}

const (
	maxName  = 900
	maxDepth = 64
)

// A Visit takes an entry of a tree: its path below the top, which was checked, whether it is executable, and its bytes. A directory
// has none: in is nil. Directories need not come before what is in them, nor at all.
type Visit func(name string, exec bool, in io.Reader) error

// Walk gives what is in a directory without its version control, or in a tar, tar.gz or zip file, to a visit, one by one. The error
// wraps ErrRefused when the source holds what a tree must not; the visit has taken what came before that by then.
func Walk(source string, most Limits, visit Visit) error {
	w := newWalker(most, visit)
	fi, err := os.Stat(source)
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return w.dir(source)
	}
	return w.archive(source)
}

// A walker checks names, and counts what really comes: an archive's word on its own size is worth nothing.
type walker struct {
	most    Limits
	visit   Visit
	files   int
	entries int
	left    int64           // bytes
	seen    map[string]seen // by the lower case of the path
}

type seen struct {
	name string
	file bool
}

func newWalker(most Limits, visit Visit) *walker {
	return &walker{most: most, visit: visit, left: most.Bytes, seen: map[string]seen{}}
}

// directory takes a directory.
func (w *walker) directory(given string) error {
	name, err := w.name(given, false)
	if err != nil || name == "" {
		return err
	}
	return w.visit(name, false, nil)
}

// file takes a file.
func (w *walker) file(given string, exec bool, in io.Reader) error {
	name, err := w.name(given, true)
	if err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("%w: a file has the name %.200q", ErrRefused, given)
	}
	if w.files++; w.files > w.most.Files {
		return w.most.exceeded()
	}
	return w.visit(name, exec, &bounded{in, &w.left, w.most.exceeded})
}

// name takes what somebody calls an entry and returns a path below the top; "" is the top itself.
func (w *walker) name(given string, file bool) (string, error) {
	// Directories count as well: a million empty ones are work too.
	if w.entries++; w.entries > 4*w.most.Files {
		return "", w.most.exceeded()
	}
	name := strings.TrimSuffix(strings.TrimPrefix(given, "./"), "/")
	if name == "" || name == "." {
		return "", nil
	}
	switch {
	case !filepath.IsLocal(name) || path.Clean(name) != name || !plain(name):
		return "", fmt.Errorf("%w: the name %.200q is not a plain path below the top (use relative names without ..)", ErrRefused, given)
	case len(name) > maxName || strings.Count(name, "/") >= maxDepth:
		return "", fmt.Errorf("%w: %.200q is longer than %d bytes or more than %d directories deep", ErrRefused, given, maxName, maxDepth)
	}
	return name, w.distinct(name, file)
}

// plain reports whether a path can be shown and stored as it is.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' })
}

// distinct refuses what could be read in two ways: the same file twice, a file where another has a directory, and names that differ
// by case alone, which some file systems do not distinguish.
func (w *walker) distinct(name string, file bool) error {
	for at := name; at != "."; at, file = path.Dir(at), false {
		folded := strings.ToLower(at)
		before, ok := w.seen[folded]
		switch {
		case !ok:
			w.seen[folded] = seen{at, file}
			continue
		case before.name != at:
			return fmt.Errorf("%w: %.200q and %.200q differ only by case (rename one of them)", ErrRefused, before.name, at)
		case before.file && file:
			return fmt.Errorf("%w: %.200q is there twice", ErrRefused, at)
		case before.file != file:
			return fmt.Errorf("%w: %.200q is a file and a directory", ErrRefused, at)
		}
		return nil // and so are the directories above it
	}
	return nil
}

// special refuses what is neither a file nor a directory.
func special(name string, kind fs.FileMode) error { return refuse(name, plainfile.Kind(kind)) }

func refuse(name, kind string) error {
	return fmt.Errorf("%w: %.200q is %s (put the file itself there, or take it out)", ErrRefused, name, kind)
}

func (w *walker) dir(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return w.directory(name)
		case !d.Type().IsRegular():
			return special(name, d.Type())
		}
		f, err := plainfile.OpenIn(root, name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		return w.file(name, executable(fi.Mode()), f)
	})
}

func executable(m fs.FileMode) bool { return m&0o111 != 0 }

// archive detects the format by the first bytes, since names lie.
func (w *walker) archive(file string) error {
	f, err := plainfile.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 4)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK")):
		return w.zip(f)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return w.tar(plain)
	}
	return w.tar(f)
}

func (w *walker) tar(in io.Reader) error {
	// A run of headers without content costs no byte of the bound on files; it is bounded by what is read.
	reads := 2*w.most.Bytes + int64(w.most.Files)<<12
	for r := tar.NewReader(&bounded{in, &reads, w.most.exceeded}); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: not a readable tar, tar.gz or zip file: %w", ErrRefused, err)
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader: // what git archive writes about the commit
		case tar.TypeDir:
			err = w.directory(h.Name)
		case tar.TypeReg:
			err = w.file(h.Name, executable(h.FileInfo().Mode()), r)
		case tar.TypeLink:
			err = refuse(h.Name, "a hard link")
		default:
			err = special(h.Name, h.FileInfo().Mode().Type())
		}
		if err != nil {
			return err
		}
	}
}

func (w *walker) zip(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, fi.Size())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, e := range z.File {
		switch mode := e.Mode(); {
		case strings.HasSuffix(e.Name, "/") || mode.IsDir():
			err = w.directory(e.Name)
		case !mode.IsRegular():
			err = special(e.Name, mode.Type())
		default:
			err = w.zipped(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) zipped(e *zip.File) error {
	in, err := e.Open()
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrRefused, e.Name, err)
	}
	defer func() { _ = in.Close() }() // only read
	return w.file(e.Name, executable(e.Mode()), in)
}

// bounded fails, rather than ends, when more is read than is left.
type bounded struct {
	r        io.Reader
	left     *int64
	exceeded func() error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), *b.left+1)])
	if *b.left -= int64(n); *b.left < 0 {
		return n, b.exceeded()
	}
	return n, err
}
