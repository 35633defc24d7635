package bundle_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/evidence/bundle"
)

// A bundle that an earlier deed signed verifies, and the same work signed with the same key today gives the same files, byte for byte:
// attestation and envelope have one form. The bundle in testdata/signed was written by the code that had its own signing and its own
// envelope, and is never written again.
func TestSignedGolden(t *testing.T) {
	t.Parallel()
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	keys := t.TempDir()
	if err := os.WriteFile(filepath.Join(keys, "ed25519.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := bundle.LoadOrCreateKey(keys)
	if err != nil {
		t.Fatal(err)
	}
	w, err := bundle.Create(filepath.Join(t.TempDir(), "attempt-1"), bundle.Options{Key: k})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(t.Context(), input())
	if err != nil {
		t.Fatal(err)
	}

	golden := filepath.Join("testdata", "signed")
	v, err := bundle.Verify(golden, bundle.VerifyOptions{Keys: []bundle.PublicKey{k.Public()}, RequireSignature: true})
	if err != nil || len(v.Violations) > 0 || v.Signature.Status != bundle.SignatureValid {
		t.Errorf("the golden bundle: %v, signature %s, %v", err, v.Signature.Status, v.Violations)
	}
	if d := cmp.Diff(contents(t, golden), contents(t, s.Dir)); d != "" {
		t.Errorf("the same work is sealed in another form (-golden +today)\n%s", d)
	}
}

// contents are the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
