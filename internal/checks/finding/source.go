package finding

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// maxSource is the largest file whose lines are part of identities.
const maxSource = 32 << 20

// IdentifyIn gives findings of a directory the identity that survives moved lines.
func IdentifyIn(fs []runner.LintFinding, dir string) error {
	if len(fs) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	Identify(fs, dir, Sources(root))
	return nil
}

// Sources returns a reader of the files below a directory, for Identify. It reads regular files of a sensible size, never
// leaves the directory, and never waits for anybody at the other end of a pipe.
func Sources(root *os.Root) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		f, err := plainfile.OpenIn(root, path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if info.Size() > maxSource {
			return nil, fmt.Errorf("read %s: it has more than %d MiB", path, maxSource>>20)
		}
		text := make([]byte, info.Size())
		n, err := io.ReadFull(f, text)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) { // shorter by now
			return nil, err
		}
		return text[:n], nil
	}
}
