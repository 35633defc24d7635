package bundle_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// A bundle whose id is computed from the list of files is valid file by file, and is reported as not identifying a
// change.
func TestFileListDigest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "b")
	if err := os.CopyFS(dir, os.DirFS("testdata/golden")); err != nil {
		t.Fatal(err)
	}
	if rep, err := bundle.Verify(dir, bundle.VerifyOptions{}); err != nil || !rep.Valid || !rep.ContentAddressed {
		t.Fatalf("the golden bundle: %+v, %v", rep, err)
	}
	toFileList(t, dir)
	rep, err := bundle.Verify(dir, bundle.VerifyOptions{})
	if err != nil || !rep.Valid || rep.ContentAddressed {
		t.Fatalf("with a digest over the list: valid %v, addressed %v, %v, %v", rep.Valid, rep.ContentAddressed, rep.Violations, err)
	}
	// The bytes are held by the hash of their own entry.
	if err := os.WriteFile(filepath.Join(dir, evidence.PathPatch), []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err = bundle.Verify(dir, bundle.VerifyOptions{}); err != nil || rep.Valid || rep.Violations[0].Code != evidence.CodeFileHashMismatch {
		t.Errorf("with another patch: %+v, %v", rep.Violations, err)
	}
}

// toFileList gives a bundle the newer form of its id.
func toFileList(t *testing.T, dir string) {
	t.Helper()
	read := func(name string) map[string]any {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	put := func(name string, v any) string {
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(data))
	}
	m := read("manifest.json")
	files := m["files"].([]any)
	var reduced []any
	for _, f := range files {
		e := map[string]any{}
		for _, k := range []string{"path", "kind", "contentType", "redaction", "provenance", "viewer"} {
			if v, ok := f.(map[string]any)[k]; ok {
				e[k] = v
			}
		}
		reduced = append(reduced, e)
	}
	digest, err := canonjson.HashIn(evidence.DomainManifestFileList, reduced)
	if err != nil {
		t.Fatal(err)
	}
	m["id"] = evidence.BundleIDPrefix + digest
	m["contentDigest"] = map[string]any{"algorithm": "sha256", "inputs": []any{"manifest.files"}, "value": digest}
	review, md := read(evidence.PathReview), read(evidence.PathMetadata)
	review["artifactId"], md["id"] = m["id"], m["id"]
	review["evidence"].(map[string]any)["artifactContentDigest"] = digest
	set := func(name, value string) {
		for _, f := range files {
			if e := f.(map[string]any); e["path"] == name {
				e["sha256"] = map[string]any{"algorithm": "sha256", "value": value}
			}
		}
	}
	set(evidence.PathReview, put(evidence.PathReview, review))
	set(evidence.PathMetadata, put(evidence.PathMetadata, md))
	set("manifest.json", "0000000000000000000000000000000000000000000000000000000000000000")
	self, err := canonjson.HashIn(evidence.DomainManifestSelf, m)
	if err != nil {
		t.Fatal(err)
	}
	set("manifest.json", self)
	put("manifest.json", m)
}
