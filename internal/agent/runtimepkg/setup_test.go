package runtimepkg

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/proc"
)

// TestMain lets the test binary be the supervisor of probes.
func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

type object = map[string]any

// provider is a declaration that can be used, with some members changed; nil takes one out.
func provider(id, backend string, change object) object {
	p := object{"id": id, "backend": backend, "command": "sh {{runtime_path}}/run.sh"}
	maps.Copy(p, change)
	maps.DeleteFunc(p, func(_ string, v any) bool { return v == nil })
	return p
}

// pack writes a package below a directory and returns its path.
func pack(t *testing.T, in, id string, providers ...object) string {
	t.Helper()
	return packWith(t, in, id, object{"id": id, "agent_task_executors": providers})
}

func packWith(t *testing.T, in, id string, manifest object) string {
	t.Helper()
	doc := object{"schema": homeboy.SchemaManifest, "name": id, "version": "1.0.0"}
	maps.Copy(doc, manifest)
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(in, id)
	write(t, string(data), dir, id+".json")
	write(t, "cat >/dev/null\n", dir, "run.sh")
	return dir
}

func write(t *testing.T, content string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// catalog reads the packages of one directory.
func catalog(t *testing.T, dirs ...string) *Catalog {
	t.Helper()
	c, err := Find(Places{Project: dirs})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func codes(list []Problem) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Code)
	}
	return out
}

func document(t *testing.T, text string) Document {
	t.Helper()
	doc, err := ReadDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
