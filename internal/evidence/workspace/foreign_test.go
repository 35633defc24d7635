package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

const codeboxCases = "../bundle/testdata/codebox-cases"

// A workspace is seeded from a bundle of WP Codebox, or it says why not.
func TestSeedFromABundleOfAnotherMaker(t *testing.T) {
	t.Parallel()
	if err := CheckBundle(codeboxCases); err != nil {
		t.Error(err)
	}
	if _, _, err := applyBundle(t.Context(), codeboxCases, tempDir(t)); err == nil || !strings.Contains(err.Error(), "another tree") {
		t.Errorf("its change list states no hash, and: %v", err)
	}
}

// FuzzSeedBundle changes one value of the manifest or the change list of a real bundle, and makes all hashes fit again.
func FuzzSeedBundle(f *testing.F) {
	f.Add(false, 9, `{"algorithm":"sha256","value":"x"}`)
	f.Add(true, 1, `[null]`)
	f.Add(true, 4, `"../../x"`)
	at := filepath.Join(f.TempDir(), "b") // each fuzzing process has its own
	f.Fuzz(func(t *testing.T, list bool, place int, value string) {
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(at, os.DirFS(codeboxCases)); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(at, "manifest.json")
		if list {
			name = filepath.Join(at, "files", "changed-files.json")
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, bundletest.Mutate(text, place, json.RawMessage(value)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		bundletest.Reseal(t, at)
		dst := t.TempDir()
		if _, _, err := applyBundle(t.Context(), at, dst); err == nil && CheckBundle(at) != nil {
			t.Error("a bundle that does not verify was applied")
		}
	})
}
