package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// SchemaBaselines is the schema id of deed's file of baselines.
const SchemaBaselines = "deed/baselines/v1"

// ownBaselines is where baselines are when the component has a deed.yaml and no homeboy.json.
var ownBaselines = filepath.Join(stateDir, "baselines.json")

// BaselineFile is the file that SaveBaseline writes for a directory: homeboy.json, but deed's own when there is a deed.yaml
// and no homeboy.json, so that no project gets a second configuration file that it did not ask for.
func BaselineFile(dir string) string {
	for _, there := range []struct{ mark, file string }{{FileName, FileName}, {ownBaselines, ownBaselines}, {deedFile, ownBaselines}} {
		if _, err := os.Lstat(filepath.Join(dir, there.mark)); err == nil {
			return filepath.Join(dir, there.file)
		}
	}
	return filepath.Join(dir, FileName)
}

// SaveBaseline writes baselines.<key> into the component's file and leaves every other byte of it unchanged. Nothing is written if
// the value is equivalent to the present one: the same fingerprints, or nothing new but the time. The file is replaced in one
// step, under a lock that writers of one directory share. If the path is a link, SaveBaseline refuses it.
func SaveBaseline(dir, key string, value any) error {
	unlock, err := atomicfile.LockDir(dir)
	if err != nil {
		return fmt.Errorf("save baseline %s: %w", key, err)
	}
	defer unlock()
	file := BaselineFile(dir)
	if err := saveBaseline(file, key, value); err != nil {
		return fmt.Errorf("save baseline %s: %w", key, err)
	}
	return nil
}

func saveBaseline(file, key string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	data, mode, err := readForEdit(file)
	if err != nil {
		return err
	}
	doc, err := parse(file, data)
	if err != nil {
		return err
	}
	if len(doc.members) == 0 && filepath.Base(file) != FileName && doc.object == (object{}) {
		if doc, err = parse(file, []byte("{\n  \"schema\": \""+SchemaBaselines+"\"\n}\n")); err != nil {
			return err
		}
	}
	out, err := doc.setBaseline(key, text)
	if err != nil || out == nil {
		return err
	}
	if err := atomicfile.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, out, mode)
}

// encode is the value as JSON, without the escapes that only a web page needs.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// readForEdit reads a file that will be replaced. It may be absent; a link is refused, since the new file would take its
// place and what it leads to would keep the old text.
func readForEdit(file string) ([]byte, fs.FileMode, error) {
	f, err := plainfile.OpenNoLink(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o644, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, 0, fmt.Errorf("%s is a symbolic link (replace it with the file that it leads to)", file)
	case err != nil:
		return nil, 0, explain(file, err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := plainfile.All(f, maxFile)
	if err != nil {
		return nil, 0, explain(file, err)
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return data, fi.Mode().Perm(), nil
}

// same reports whether a new baseline is equivalent to the old one. The time alone is no reason to touch a file that
// people keep under version control.
func same(old, new []byte) bool {
	var a, b map[string]any
	if json.Unmarshal(old, &a) != nil || json.Unmarshal(new, &b) != nil || a == nil || b == nil {
		return false
	}
	const prints, identities, created = "known_fingerprints", "deed_identities", "created_at"
	if list, ok := a[prints].([]any); ok && len(list) > 0 && reflect.DeepEqual(a[prints], b[prints]) && reflect.DeepEqual(a[identities], b[identities]) {
		return true
	}
	delete(a, created)
	delete(b, created)
	return reflect.DeepEqual(a, b)
}
