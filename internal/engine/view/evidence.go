package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// A File is a stretch of a file of a bundle.
type File struct {
	AttemptID string `json:"attempt_id"`
	Path      string `json:"path"`
	Size      int64  `json:"size"`
	Offset    int64  `json:"offset"`
	Next      int64  `json:"next"`
	Text      string `json:"text"`
}

// BundleFile reads a stretch of a file of an attempt's bundle, as text. A path that leads out of the bundle, and a link, is refused.
func (r *Reader) BundleFile(ctx context.Context, attemptID, name string, offset int64, limit int) (File, error) {
	at, err := r.src.Store.Attempt(ctx, attemptID)
	if err != nil {
		return File{}, err
	}
	if at.BundleDir == "" {
		return File{}, fmt.Errorf("attempt %s has no bundle: %w", at.Record.AttemptID, fs.ErrNotExist)
	}
	if !fs.ValidPath(name) || path.Clean(name) != name {
		return File{}, fmt.Errorf("%q is no path in a bundle (give one as manifest.json lists it): %w", name, fs.ErrInvalid)
	}
	if limit <= 0 || limit > maxLog {
		limit = maxLog
	}
	root, err := os.OpenRoot(r.BundleDir(at))
	if err != nil {
		return File{}, fmt.Errorf("the bundle of attempt %s is not here any more: %w", at.Record.AttemptID, fs.ErrNotExist)
	}
	defer func() { _ = root.Close() }()
	f, err := plainfile.OpenIn(root, name)
	if err != nil {
		return File{}, fmt.Errorf("%s of attempt %s: %w", name, at.Record.AttemptID, err)
	}
	defer func() { _ = f.Close() }()
	fi, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	out := File{AttemptID: at.Record.AttemptID, Path: name, Size: fi.Size(), Offset: max(offset, 0)}
	buf := make([]byte, limit)
	n, err := f.ReadAt(buf, out.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return File{}, fmt.Errorf("%s of attempt %s: %w", name, at.Record.AttemptID, err)
	}
	out.Next, out.Text = out.Offset+int64(n), strings.ToValidUTF8(string(buf[:n]), "\uFFFD")
	return out, nil
}
