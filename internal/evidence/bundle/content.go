package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// ErrChanged is wrapped when a file of a bundle is not the one that its manifest lists.
var ErrChanged = errors.New("not the file that the manifest lists")

// ListedFile returns the manifest's entry of a path, or nil.
func ListedFile(m *evidence.Manifest, path string) *evidence.ManifestFile {
	for i := range m.Files {
		if m.Files[i].Path == path {
			return &m.Files[i]
		}
	}
	return nil
}

// CopyContent writes a listed file of the bundle in dir to w and makes sure that it is the one that the manifest lists:
// between the verification and the use somebody can have replaced it. w may have received wrong bytes when an error is
// returned. More than most bytes is ErrTooLarge.
func CopyContent(dir string, m *evidence.Manifest, path string, most int64, w io.Writer) error {
	e := ListedFile(m, path)
	if e == nil || e.SHA256 == nil {
		return fmt.Errorf("read %s: %w", path, ErrChanged)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer root.Close()
	f, err := plainfile.OpenIn(root, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, w), io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	case n > most:
		return fmt.Errorf("read %s: %w: more than %d bytes", path, ErrTooLarge, most)
	case hex.EncodeToString(h.Sum(nil)) != e.SHA256.Value:
		return fmt.Errorf("read %s: %w", path, ErrChanged)
	}
	return nil
}
