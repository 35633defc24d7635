package outcome

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// What one answer may leave behind at most. A larger file stays where it is and is reported.
const (
	MaxArtifact  = 50 << 20  // bytes of one artifact: a file, or a declared tree
	MaxArtifacts = 256 << 20 // bytes of all
	MaxFiles     = 1000
	MaxNodes     = 2000 // files and directories of declared trees
	MaxLevels    = 32   // directories of a declared tree below one another
)

// A blob is the content of a file, kept under its digest.
type blob struct {
	name     string // blobs/SHA256
	sha256   string
	size     int64
	source   string // digest of the file as it was; not the same when secrets were taken out
	length   int64  // of the file as it was
	redacted int    // how many secrets were taken out
}

// A vault keeps blobs in a directory. Bytes that it has already are kept once.
type vault struct {
	dir      string
	redactor *redact.Redactor
	bytes    int64
	files    int
	made     []string // paths that are not synced yet
}

// take copies a file into the vault, without secrets. The error is a refusal when the file is at fault.
func (v *vault) take(ctx context.Context, f *os.File, size int64) (blob, error) {
	switch {
	case v.files >= MaxFiles:
		return blob{}, refuse(faultTooLarge, "there are more than %d files", MaxFiles)
	case size > MaxArtifact:
		return blob{}, refuse(faultTooLarge, "it has %d bytes (at most %d)", size, MaxArtifact)
	case v.bytes+size > MaxArtifacts:
		return blob{}, refuse(faultTooLarge, "all artifacts together have more than %d bytes", MaxArtifacts)
	}
	v.files++
	v.bytes += size
	b, err := v.copy(ctx, f, size)
	if err != nil {
		return blob{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return blob{}, refuse(faultRead, "it cannot be read: %v", err)
	}
	if b.length != size || after.Size() != size {
		return blob{}, refuse(faultChanged, "it grew or shrank while it was read")
	}
	return b, nil
}

// copy writes at most one byte more than the stated size of a file.
func (v *vault) copy(ctx context.Context, from io.Reader, size int64) (b blob, err error) {
	blobs := filepath.Join(v.dir, "blobs")
	if err := atomicfile.MkdirAll(blobs, 0o700); err != nil {
		return blob{}, fmt.Errorf("keep artifacts: %w", err)
	}
	tmp, err := os.CreateTemp(blobs, ".new-")
	if err != nil {
		return blob{}, fmt.Errorf("keep artifacts: %w", err)
	}
	defer func() {
		_ = tmp.Close()
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	source, kept := sha256.New(), &digest{to: tmp, sum: sha256.New()}
	clean := v.redactor.Writer(kept)
	from = io.LimitReader(from, size+1)
	var readErr error // the file's fault; another error is this machine's
	in := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := from.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			readErr = err
		}
		return n, err
	})
	b.length, err = io.Copy(io.MultiWriter(source, clean), in)
	if err == nil {
		err = clean.Close()
	}
	switch {
	case ctx.Err() != nil:
		return blob{}, context.Cause(ctx)
	case readErr != nil:
		return blob{}, refuse(faultRead, "it cannot be read: %v", readErr)
	case err != nil:
		return blob{}, fmt.Errorf("keep artifacts: %w", err)
	}
	b.sha256, b.size = hex.EncodeToString(kept.sum.Sum(nil)), kept.n
	b.source, b.redacted = hex.EncodeToString(source.Sum(nil)), clean.Counts().Total()
	b.name = "blobs/" + b.sha256
	return b, v.place(tmp, filepath.Join(blobs, b.sha256), b.size)
}

// place gives a file the name of its content. A file of that name and size has that content; one of another size is what a
// loss of power left.
func (v *vault) place(tmp *os.File, final string, size int64) error {
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("keep artifacts: %w", err)
	}
	if have, err := os.Lstat(final); err == nil && have.Mode().IsRegular() && have.Size() == size {
		return os.Remove(tmp.Name())
	}
	if err := os.Rename(tmp.Name(), final); err != nil {
		return fmt.Errorf("keep artifacts: %w", err)
	}
	v.made = append(v.made, final)
	return nil
}

// sync makes what was kept last.
func (v *vault) sync(ctx context.Context) error {
	if len(v.made) == 0 {
		return nil
	}
	if err := atomicfile.SyncPaths(ctx, append(v.made, filepath.Join(v.dir, "blobs"))); err != nil {
		return fmt.Errorf("keep artifacts: %w", err)
	}
	v.made = nil
	return nil
}

// digest writes, counts and hashes.
type digest struct {
	to  io.Writer
	sum hash.Hash
	n   int64
}

func (d *digest) Write(b []byte) (int, error) {
	n, err := d.to.Write(b)
	d.n += int64(n)
	_, _ = d.sum.Write(b[:n])
	return n, err
}

// readerFunc is a reader that is a function.
type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
