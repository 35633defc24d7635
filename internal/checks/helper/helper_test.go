package helper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names that scripts of extensions use.
func TestMaterialiseNamesEveryHelper(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b", "runtime")
	got, err := Materialise(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, path := range got {
		names = append(names, strings.TrimPrefix(name, "HOMEBOY_RUNTIME_"))
		text, err := os.ReadFile(path)
		if err != nil || !filepath.IsAbs(path) {
			t.Errorf("%s: %s, %v", name, path, err)
		}
		if strings.Contains(string(text), "deed:include") {
			t.Errorf("%s is not whole", path)
		}
	}
	slices.Sort(names)
	want := []string{
		"BASH_PREFLIGHT", "CLASSIFY_FAILURE", "COMMAND_CAPTURE", "EMIT_LINT_FINDING", "EMIT_TEST_FAILURE", "FAILURE_TRAP", "RESOLVE_CONTEXT",
		"RUNNER_KIT", "RUNNER_PRELUDE", "RUNNER_STEPS", "SIDECAR_WRITER", "WRITE_TEST_RESULTS",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestMaterialiseByMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := Materialise(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for name, path := range got { // whole as soon as a caller has its name
				if !isIntact(path, files()[filepath.Base(path)]) {
					t.Errorf("%s is not whole", name)
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Join(dir, Digest()))
	if err != nil || len(entries) != len(files()) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// What a killed process or somebody else left in the place of a helper does not stay.
func TestMaterialiseRepairs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := Materialise(dir)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	path := got["HOMEBOY_RUNTIME_RUNNER_STEPS"]
	for name, harm := range map[string]func() error{
		"gone": func() error { return os.Remove(path) },
		"half": func() error { return os.Truncate(path, 10) },
		"edited": func() error {
			return os.WriteFile(path, slices.Repeat([]byte("#"), len(files()["runner-steps.sh"])), 0o644)
		},
		"writable": func() error { return os.Chmod(path, 0o666) },
		"a link to the same text": func() error {
			return cmpErr(os.Rename(path, elsewhere), os.Symlink(elsewhere, path))
		},
	} {
		if err := harm(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Materialise(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !isIntact(path, files()["runner-steps.sh"]) {
			t.Errorf("%s: not repaired", name)
		}
	}
	if err := cmpErr(os.Remove(path), os.MkdirAll(filepath.Join(path, "x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := Materialise(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a directory in the place of a helper: %v", err)
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
