package bundle_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

// A bundle of WP Codebox, whose cases have a hash that is an object.
func TestCaseWithAHashObject(t *testing.T) {
	t.Parallel()
	v := verify(t, "testdata/codebox-cases", bundle.VerifyOptions{})
	if !v.Valid || !v.ContentAddressed || v.Manifest == nil {
		t.Fatalf("valid %v, manifest %v: %+v", v.Valid, v.Manifest, v.Violations)
	}
	var hash evidence.Digest
	if err := json.Unmarshal(v.Manifest.Cases[0].Hash, &hash); err != nil || !strings.HasPrefix(hash.Value, "ba225b98") {
		t.Errorf("the hash of the case is %s: %v", v.Manifest.Cases[0].Hash, err)
	}
	for _, p := range bundletest.Problems("testdata/codebox-cases") {
		t.Error(p)
	}
}

// Whatever form the members of a manifest have: a bundle that is verified has a manifest for those who read it next.
func TestEveryFormOfAManifest(t *testing.T) {
	t.Parallel()
	others := []any{nil, true, 7.5, "text", []any{}, []any{"text", 7}, map[string]any{}, map[string]any{"algorithm": 7, "value": []any{}}}
	for _, dir := range []string{"testdata/codebox-cases", "testdata/golden"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			manifest := read(t, dir, "manifest.json")
			at, valid := copyOf(t, dir), 0
			for i := range bundletest.Values([]byte(manifest)) {
				for _, other := range others {
					write(t, at, "manifest.json", string(bundletest.Mutate([]byte(manifest), i, other)))
					bundletest.Reseal(t, at)
					v := verify(t, at, bundle.VerifyOptions{})
					if v.Valid && (v.Manifest == nil || bundle.ListedFile(v.Manifest, evidence.PathPatch) == nil) {
						t.Fatalf("value %d as %v: valid, and the manifest is %+v", i, other, v.Manifest)
					}
					if v.Valid {
						valid++
					}
				}
			}
			if valid < 20 {
				t.Errorf("only %d of the mutations are valid bundles: this test sees nothing", valid)
			}
		})
	}
}

// No reader uses another member than the one that was checked.
func TestNamesOfMembersAreExact(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/codebox-cases")
	want := verify(t, dir, bundle.VerifyOptions{}).Manifest
	edit(t, dir, func(m map[string]any) {
		m["ID"], m["Files"] = "another", []any{}
		m["runtime"].(map[string]any)["Backend"] = "deed"
	})
	v := verify(t, dir, bundle.VerifyOptions{})
	if !v.Valid || v.Manifest.ID != want.ID || len(v.Manifest.Files) != len(want.Files) || v.Manifest.Runtime.Backend != want.Runtime.Backend {
		t.Errorf("valid %v: %+v", v.Valid, v.Manifest)
	}
}

// What says that a file was redacted is not guessed.
func TestRedactionOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, r := range []any{"applied", true, []any{}, map[string]any{"sensitive": true}, map[string]any{"policy": 1}} {
		dir := copyOf(t, "testdata/codebox-cases")
		edit(t, dir, func(m map[string]any) { entryOf(m, evidence.PathPatch)["redaction"] = r })
		if got := fmt.Sprint(codes(verify(t, dir, bundle.VerifyOptions{}))); got != "["+evidence.CodeInvalidManifestShape+"]" {
			t.Errorf("%v: %s", r, got)
		}
	}
}

// FuzzForeign changes one value of one file of a real bundle, and makes all hashes fit again.
func FuzzForeign(f *testing.F) {
	dirs := []string{"testdata/codebox-cases", "testdata/golden"}
	f.Add(uint8(0), uint8(0), 9, `{"algorithm":"sha256","value":"x"}`)
	f.Add(uint8(1), uint8(1), 3, `[]`)
	f.Add(uint8(0), uint8(2), 0, `{"schema":"wp-codebox/changed-files/v1","files":[null]}`)
	f.Add(uint8(1), uint8(5), 2, `-1e400`)
	f.Add(uint8(0), uint8(7), 1, `"../../x"`)
	at := filepath.Join(f.TempDir(), "b") // each fuzzing process has its own
	f.Fuzz(func(t *testing.T, which, file uint8, place int, value string) {
		dir := dirs[int(which)%len(dirs)]
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		all := listing(t, at)
		name := all[int(file)%len(all)]
		write(t, at, name, string(bundletest.Mutate([]byte(read(t, at, name)), place, json.RawMessage(value))))
		bundletest.Reseal(t, at)
		v := verify(t, at, bundle.VerifyOptions{})
		if v.Valid != (len(v.Violations) == 0) || v.Valid && v.Manifest == nil {
			t.Fatalf("valid %v, manifest %v, %v", v.Valid, v.Manifest, v.Violations)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	})
}
