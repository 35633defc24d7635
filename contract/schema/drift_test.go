package schema

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/schema/internal/generate"
)

// The published files are what the generator makes of the Go types today.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := generate.Files(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		got, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Errorf("%v: run go generate ./contract/schema", err)
			continue
		}
		if !bytes.Equal(got, files[name]) {
			t.Errorf("%s is not current: run go generate ./contract/schema", name)
		}
	}
	err = fs.WalkDir(documents, "json", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && files[path] == nil {
			t.Errorf("%s belongs to no record: run go generate ./contract/schema", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEverySchemaCompilesAndNamesItself(t *testing.T) {
	t.Parallel()
	ids := IDs()
	if len(ids) < 30 || !slices.IsSorted(ids) {
		t.Fatalf("%d ids, sorted %v", len(ids), slices.IsSorted(ids))
	}
	for _, id := range ids {
		doc, ok := Get(id)
		if !ok {
			t.Errorf("%s is listed and not published", id)
			continue
		}
		if !bytes.Contains(doc, []byte(`"$id": "`+id+`"`)) || !bytes.Contains(doc, []byte(`"https://json-schema.org/draft/2020-12/schema"`)) {
			t.Errorf("%s does not name itself and its draft", id)
		}
		if _, err := compiled(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"", "../schema", "agent-runtime/task.intent/v1.json", "agent-runtime"} {
		if _, ok := Get(id); ok {
			t.Errorf("%q is published", id)
		}
	}
}

func TestUnknownSchemaNamesTheNearest(t *testing.T) {
	t.Parallel()
	for id, near := range map[string]string{
		"agent-runtime/task.intnet/v1": `did you mean "agent-runtime/task.intent/v1"?`,
		"task.intent":                  `did you mean "agent-runtime/task.intent/v1"?`,
		"nothing/like/it":              "known are agent-runtime/adapter.config/v1, ",
	} {
		err := Validate(id, []byte(`{}`))
		if !errors.Is(err, ErrUnknownSchema) || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
