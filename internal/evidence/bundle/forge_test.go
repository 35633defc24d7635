package bundle_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// copyOf returns a copy of a bundle that a test may damage.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(out, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return out
}

func listing(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t testing.TB, dir, p, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit changes the manifest and, unless asked not to, gives it a fresh self hash, as a careful forger would.
func edit(t testing.TB, dir string, change func(m map[string]any)) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(read(t, dir, "manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	rehash(t, m)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "manifest.json", string(b))
}

func rehash(t testing.TB, m map[string]any) {
	t.Helper()
	for _, f := range m["files"].([]any) {
		if e := f.(map[string]any); e["path"] == "manifest.json" {
			sum := e["sha256"].(map[string]any)
			sum["value"] = strings.Repeat("0", 64)
			h, err := canonjson.HashIn(evidence.DomainManifestSelf, m)
			if err != nil {
				t.Fatal(err)
			}
			sum["value"] = h
			return
		}
	}
}

func entryOf(m map[string]any, p string) map[string]any {
	for _, f := range m["files"].([]any) {
		if e := f.(map[string]any); e["path"] == p {
			return e
		}
	}
	return nil
}

// rewrite changes a file and, as a careful forger would, its hash in the manifest.
func rewrite(t testing.TB, dir, p, text string) {
	t.Helper()
	write(t, dir, p, text)
	edit(t, dir, func(m map[string]any) { entryOf(m, p)["sha256"].(map[string]any)["value"] = hashText(text) })
}

// replaceIn changes a file's first occurrence of a text, and its hash.
func replaceIn(p, from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		text := read(t, dir, p)
		if !strings.Contains(text, from) {
			t.Fatalf("%s does not contain %q", p, from)
		}
		rewrite(t, dir, p, strings.Replace(text, from, to, 1))
	}
}

// besideHash puts a member into the digest of an entry, also where the hash of the manifest has zeros in place of its value.
func besideHash(p string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		edit(t, dir, func(m map[string]any) { entryOf(m, p)["sha256"].(map[string]any)["note"] = "unsigned" })
	}
}

func editEnvelope(t *testing.T, dir string, change func(map[string]any)) {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal([]byte(read(t, dir, bundle.PathAttestation)), &e); err != nil {
		t.Fatal(err)
	}
	change(e)
	// In the order and the layout of the original, so that the change itself is what is seen.
	b, err := json.MarshalIndent(struct {
		PayloadType any `json:"payloadType"`
		Payload     any `json:"payload"`
		Signatures  any `json:"signatures"`
	}{e["payloadType"], e["payload"], e["signatures"]}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, bundle.PathAttestation, string(b)+"\n")
}
