package filetree

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
)

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
