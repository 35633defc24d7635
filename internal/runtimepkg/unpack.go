package runtimepkg

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// What a package may be made of. The largest that is known has some hundred files; with its modules, some thousand.
const (
	maxEntries = 50_000
	maxBytes   = 1 << 30
	maxDepth   = 64
)

// ErrRefused says that a package cannot be installed: it is damaged, too large, or holds what it must not.
var ErrRefused = errors.New("package refused")

// An unpacker writes files below a root that no name leads out of, and counts what really comes out: an archive's word on
// its own size is worth nothing.
type unpacker struct {
	root    *os.Root
	entries int
	left    int64
	seen    map[string]string // names as they are, by their lower case
}

// unpack copies a directory, or what is in a tar, tar.gz or zip file, into dir, which must be empty.
func unpack(ctx context.Context, source, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only names were looked up through it
	u := &unpacker{root: root, left: maxBytes}
	fi, err := os.Stat(source)
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return u.tree(ctx, source)
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%w: %s is neither a directory nor an archive", ErrRefused, source)
	}
	return u.archive(ctx, source)
}

// archive tells the format by the first bytes, since names lie.
func (u *unpacker) archive(ctx context.Context, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	in := bufio.NewReader(f)
	head, err := in.Peek(4)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s is too short for an archive", ErrRefused, file)
	case bytes.HasPrefix(head, []byte("PK")):
		return u.zip(ctx, file)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return u.tar(ctx, plain)
	}
	return u.tar(ctx, in)
}

func (u *unpacker) tar(ctx context.Context, in io.Reader) error {
	// A run of headers without content costs no byte of the bound on files; it is bounded by what is read.
	r := tar.NewReader(&bounded{r: in, left: 2 * maxBytes})
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u.some()
		}
		if err != nil {
			return fmt.Errorf("%w: not a readable tar, tar.gz or zip file: %w", ErrRefused, err)
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue // what git archive writes about the commit
		case tar.TypeDir:
			err = u.dir(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, h.FileInfo().Mode(), r)
		case tar.TypeSymlink, tar.TypeLink:
			err = isLink(h.Name, h.Linkname)
		default:
			err = isSpecial(h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(ctx context.Context, file string) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer func() { _ = z.Close() }() // only read
	for _, f := range z.File {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return u.some()
}

func (u *unpacker) zipped(f *zip.File) error {
	switch mode := f.Mode(); {
	case mode.IsDir():
		return u.dir(f.Name)
	case mode&fs.ModeSymlink != 0:
		return isLink(f.Name, "")
	case !mode.IsRegular():
		return isSpecial(f.Name)
	}
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrRefused, f.Name, err)
	}
	defer func() { _ = in.Close() }() // only read
	return u.file(f.Name, f.Mode(), in)
}

// tree copies a directory without its version control.
func (u *unpacker) tree(ctx context.Context, dir string) error {
	src, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // only read
	err = fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name == ".":
			return nil
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return u.dir(name)
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := src.Readlink(name) // for the message alone
			return isLink(name, to)
		case !d.Type().IsRegular():
			return isSpecial(name)
		}
		return u.copied(src, name)
	})
	if err != nil {
		return err
	}
	return u.some()
}

// copied copies one file. It is looked at again once it is open: what was a file a moment ago can be a pipe now.
func (u *unpacker) copied(src *os.Root, name string) error {
	f, err := src.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return isSpecial(name)
	}
	return u.file(name, fi.Mode(), f)
}

// name takes what an archive calls an entry and returns a path below the root; "" is the root itself.
func (u *unpacker) name(given string) (string, error) {
	if u.entries++; u.entries > maxEntries {
		return "", fmt.Errorf("%w: it has more than %d entries", ErrRefused, maxEntries)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(given, "./"), "/")
	if name == "" || name == "." {
		return "", nil
	}
	if !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("%w: the name %.200q is not a path below it (pack the package's own directory, with relative names)", ErrRefused, given)
	}
	if strings.Count(name, "/") >= maxDepth {
		return "", fmt.Errorf("%w: %.200q is more than %d directories deep", ErrRefused, given, maxDepth)
	}
	return name, u.distinct(name)
}

// distinct refuses a name that differs from another one by case alone: where file systems do not tell the two apart, one of
// them would take the other's place.
func (u *unpacker) distinct(name string) error {
	if u.seen == nil {
		u.seen = map[string]string{}
	}
	for at := name; at != "."; at = path.Dir(at) {
		folded := strings.ToLower(at)
		if other, ok := u.seen[folded]; ok && other != at {
			return fmt.Errorf("%w: %.200q and %.200q differ only by case (rename one of them)", ErrRefused, other, at)
		} else if ok {
			return nil // and so are the directories above it
		}
		u.seen[folded] = at
	}
	return nil
}

func (u *unpacker) dir(given string) error {
	name, err := u.name(given)
	if err != nil || name == "" {
		return err
	}
	if err := u.root.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

func (u *unpacker) file(given string, mode fs.FileMode, in io.Reader) error {
	name, err := u.name(given)
	if err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("%w: a file has the name %.200q", ErrRefused, given)
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	out, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %.200q is there twice", ErrRefused, given)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, u.left+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrRefused, given, err)
	}
	if u.left -= n; u.left < 0 {
		return fmt.Errorf("%w: it unpacks to more than %d bytes", ErrRefused, int64(maxBytes))
	}
	return nil
}

func (u *unpacker) some() error {
	if u.entries == 0 {
		return fmt.Errorf("%w: there is nothing in it", ErrRefused)
	}
	return nil
}

func isLink(name, to string) error {
	return fmt.Errorf("%w: %.200q is a link to %.200q (put the file itself there; a package that needs its links is used with `deed runtime link`)", ErrRefused, name, to)
}

func isSpecial(name string) error {
	return fmt.Errorf("%w: %.200q is neither a file nor a directory (take it out)", ErrRefused, name)
}

// bounded fails, rather than ends, when more is read than it has.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it unpacks to more than %d bytes", int64(2*maxBytes))
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
