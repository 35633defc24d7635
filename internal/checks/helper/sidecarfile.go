package helper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// WriteArray replaces a sidecar with an array of these items.
func WriteArray(path string, items ...json.RawMessage) error {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := json.Compact(&out, item); err != nil {
			return fmt.Errorf("item %d of %s is not JSON: %w", i+1, path, err)
		}
	}
	out.WriteString("]\n")
	return writeSidecar(path, out.Bytes())
}

// WriteObject replaces a sidecar with an object.
func WriteObject(path string, item json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Compact(&out, item); err != nil {
		return fmt.Errorf("what is to be in %s is not JSON: %w", path, err)
	}
	if !bytes.HasPrefix(out.Bytes(), []byte("{")) {
		return fmt.Errorf("what is to be in %s has to be a JSON object", path)
	}
	out.WriteByte('\n')
	return writeSidecar(path, out.Bytes())
}

// Append adds items to the array in a sidecar. What is there and is no array is an error, and stays.
func Append(path string, items ...json.RawMessage) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the sidecar: %w", err)
	}
	all, err := Items(old)
	if err != nil {
		return fmt.Errorf("%s has to be a JSON array: %w", path, err)
	}
	return WriteArray(path, append(all, items...)...)
}

// Items are the items of a JSON array; blank text has none.
func Items(array []byte) (items []json.RawMessage, err error) {
	if len(bytes.TrimSpace(array)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(array, &items); err != nil {
		return nil, err
	}
	if items == nil {
		return nil, errors.New("it is null")
	}
	return items, nil
}

func writeSidecar(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return atomicfile.Explain("write the sidecar", err)
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory: it has to be a file", path)
	}
	return atomicfile.Replace(path, text, 0o644)
}
