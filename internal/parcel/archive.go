package parcel

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/plainfile"
)

// A builder takes files in one by one and counts what really comes: an archive's word on its own size is worth nothing.
type builder struct {
	most    Limits
	files   Tree
	entries int
	size    int64
}

// directory counts a directory, which a tree does not hold.
func (b *builder) directory(given string) error {
	_, err := b.name(given)
	return err
}

func (b *builder) name(given string) (string, error) {
	// Directories count as well: a million empty ones are work too.
	if b.entries++; b.entries > 4*b.most.Files {
		return "", b.tooMany()
	}
	return checkName(given)
}

func (b *builder) tooMany() error {
	return fmt.Errorf("%w: it has more than %d files or %d bytes (take out of it what it does not need)", ErrRefused, b.most.Files, b.most.Bytes)
}

func (b *builder) file(given string, exec bool, in io.Reader) error {
	if len(b.files) >= b.most.Files {
		return b.tooMany()
	}
	data, err := io.ReadAll(io.LimitReader(in, b.most.Bytes-b.size+1))
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrRefused, given, err)
	}
	return b.add(File{given, exec, data})
}

func (b *builder) add(f File) error {
	name, err := b.name(f.Path)
	if err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("%w: a file has the name %.200q", ErrRefused, f.Path)
	}
	if b.size += int64(len(f.Data)); b.size > b.most.Bytes || len(b.files) >= b.most.Files {
		return b.tooMany()
	}
	f.Path = name
	b.files = append(b.files, f)
	return nil
}

// tree sorts the files. The same name twice, or a file where another has a directory, could be read in two ways.
func (b *builder) tree() (Tree, error) {
	slices.SortFunc(b.files, func(x, y File) int { return cmp.Compare(x.Path, y.Path) })
	taken := map[string]bool{}
	for _, f := range b.files {
		if taken[f.Path] {
			return nil, fmt.Errorf("%w: %.200q is there twice", ErrRefused, f.Path)
		}
		taken[f.Path] = true
	}
	for _, f := range b.files {
		for i := range f.Path {
			if f.Path[i] == '/' && taken[f.Path[:i]] {
				return nil, fmt.Errorf("%w: %.200q is a file and a directory", ErrRefused, f.Path[:i])
			}
		}
	}
	return b.files, nil
}

// readArchive tells the format by the first bytes, since names lie.
func readArchive(file string, most Limits) (Tree, error) {
	f, err := plainfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 4)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b := &builder{most: most}
	// A run of headers without content costs no byte of the bound on files; it is bounded by what is read.
	reads := 2*most.Bytes + int64(most.Files)<<12
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK")):
		err = b.zip(f)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		plain, gerr := gzip.NewReader(f)
		if gerr != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, gerr)
		}
		err = b.tar(&io.LimitedReader{R: plain, N: reads})
	default:
		err = b.tar(&io.LimitedReader{R: f, N: reads})
	}
	if err != nil {
		return nil, err
	}
	return b.tree()
}

func (b *builder) tar(in io.Reader) error {
	for r := tar.NewReader(in); ; {
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
			err = b.directory(h.Name)
		case tar.TypeReg:
			err = b.file(h.Name, h.Mode&0o111 != 0, r)
		case tar.TypeLink:
			err = special(h.Name, fs.ModeSymlink)
		default:
			err = special(h.Name, h.FileInfo().Mode().Type())
		}
		if err != nil {
			return err
		}
	}
}

func (b *builder) zip(f *os.File) error {
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
			err = b.directory(e.Name)
		case !mode.IsRegular():
			err = special(e.Name, mode.Type())
		default:
			err = b.zipped(e, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) zipped(e *zip.File, mode fs.FileMode) error {
	in, err := e.Open()
	if err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrRefused, e.Name, err)
	}
	defer func() { _ = in.Close() }() // only read
	return b.file(e.Name, mode&0o111 != 0, in)
}

// Pack writes the tree as a tar.gz file. The same tree gives the same bytes: there is no owner and no time in it.
func (t Tree) Pack(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(z)
	for _, f := range t {
		mode := int64(0o644)
		if f.Exec {
			mode = 0o755
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: mode, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0)}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", f.Path, err)
		}
		if _, err := out.Write(f.Data); err != nil {
			return fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	return errors.Join(out.Close(), z.Close())
}
