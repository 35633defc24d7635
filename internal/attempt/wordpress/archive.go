package wordpress

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The limits of an archive. WordPress has a few thousand files and tens of megabytes.
const (
	maxArchiveEntries = 50_000
	maxArchiveBytes   = 1 << 30
)

// ErrArchive says that an archive cannot be used: it is damaged, too large, or holds what it must not.
var ErrArchive = errors.New("archive refused")

// unpack writes the content of a zip file, or of a directory, to dir, which it creates. If a single top-level
// directory holds everything, that directory is removed from the paths.
func unpack(ctx context.Context, archive, dir string) error {
	fi, err := os.Stat(archive)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		if _, err := workspace.CopyFiles(ctx, archive, dir); err != nil {
			return err
		}
	} else if err := unzip(ctx, archive, dir); err != nil {
		return fmt.Errorf("unpack %s: %w", archive, err)
	}
	return lift(dir)
}

// unzip writes below a root that no name can leave. Entries that are neither files nor directories are refused, and
// so are duplicate names.
func unzip(ctx context.Context, archive, dir string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	defer func() { _ = z.Close() }()
	if len(z.File) > maxArchiveEntries {
		return fmt.Errorf("%w: it has %d entries, more than %d", ErrArchive, len(z.File), maxArchiveEntries)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxArchiveBytes)
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := unzipEntry(root, f, left)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func unzipEntry(root *os.Root, f *zip.File, left int64) (int64, error) {
	name := strings.TrimSuffix(f.Name, "/")
	if name == "" || !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return 0, fmt.Errorf("%w: the name %.200q is not a path below it", ErrArchive, f.Name)
	}
	switch mode := f.Mode(); {
	case mode.IsDir():
		return 0, root.MkdirAll(name, 0o755)
	case !mode.IsRegular():
		return 0, fmt.Errorf("%w: %.200q is neither a file nor a directory", ErrArchive, f.Name)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%w: %.200q: %w", ErrArchive, f.Name, err)
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%w: %.200q is there twice", ErrArchive, f.Name)
	}
	if err != nil {
		return 0, err
	}
	// The real size counts, not the one that the archive claims.
	n, err := io.Copy(out, io.LimitReader(in, left+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return n, fmt.Errorf("%w: %.200q: %w", ErrArchive, f.Name, err)
	}
	if n > left {
		return n, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrArchive, int64(maxArchiveBytes))
	}
	return n, nil
}

// lift removes a single top-level directory that holds everything, which archives of releases have.
func lift(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || !list[0].IsDir() {
		return err
	}
	aside := dir + ".lifted"
	if err := os.Rename(filepath.Join(dir, list[0].Name()), aside); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.Rename(aside, dir)
}
