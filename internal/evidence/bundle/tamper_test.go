package bundle_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

func TestFlippedByteIsCaughtInEveryFile(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{Key: key(t)})
	for _, p := range listing(t, s.Dir) {
		dir := copyOf(t, s.Dir)
		text := []byte(read(t, dir, p))
		at := len(text) / 2
		if len(text) == 0 {
			text = []byte("x")
		} else {
			text[at] ^= 1
		}
		write(t, dir, p, string(text))
		v := verify(t, dir, bundle.VerifyOptions{})
		if v.Valid {
			t.Errorf("%s: a flipped byte was not seen", p)
		}
		if p != "manifest.json" && !slices.Contains(codes(v), evidence.CodeFileHashMismatch) {
			t.Errorf("%s: codes are %v", p, codes(v))
		}
		if len(bundletest.Problems(dir)) == 0 {
			t.Errorf("%s: the second checker saw nothing", p)
		}
	}
}

func TestRemovedFileIsCaught(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{Key: key(t)})
	for _, p := range listing(t, s.Dir) {
		dir := copyOf(t, s.Dir)
		if err := os.Remove(filepath.Join(dir, p)); err != nil {
			t.Fatal(err)
		}
		want := evidence.CodeMissingFile
		if p == "manifest.json" {
			want = evidence.CodeMissingManifest
		}
		if v := verify(t, dir, bundle.VerifyOptions{}); !slices.Contains(codes(v), want) {
			t.Errorf("%s: codes are %v", p, codes(v))
		}
	}
}

func TestAnyFlippedByteOfTheManifestIsCaught(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{Key: key(t)})
	dir := copyOf(t, s.Dir)
	text := []byte(read(t, dir, "manifest.json"))
	for at := 0; at < len(text); at += 53 {
		text[at] ^= 1
		write(t, dir, "manifest.json", string(text))
		if v := verify(t, dir, bundle.VerifyOptions{}); v.Valid {
			t.Errorf("byte %d of the manifest can be changed unseen", at)
		}
		text[at] ^= 1
	}
}

func TestTampering(t *testing.T) {
	t.Parallel()
	k, other := key(t), key(t)
	s := sealed(t, bundle.Options{Key: k})
	foreign := foreignBundle(t, k)
	join := filepath.Join
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, target, name string) {
		t.Helper()
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	manifest := func(change func(m map[string]any)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, dir, change) }
	}
	addEntry := func(e map[string]any) func(*testing.T, string) {
		return manifest(func(m map[string]any) { m["files"] = append(m["files"].([]any), e) })
	}
	cases := []struct {
		name   string
		want   string
		second bool // the contract's own checks see it too
		do     func(t *testing.T, dir string)
	}{
		{"file added", evidence.CodeOrphanedFile, true, func(t *testing.T, dir string) { write(t, dir, "files/extra", "x") }},
		{"symlink added", evidence.CodeOrphanedFile, true, func(t *testing.T, dir string) { link(t, "/etc/passwd", join(dir, "x")) }},
		{"pipe added", evidence.CodeOrphanedFile, true, func(t *testing.T, dir string) {
			if err := mkfifo(join(dir, "pipe")); err != nil {
				t.Fatal(err)
			}
		}},
		{"pipe in place of a file", evidence.CodeMissingFile, false, func(t *testing.T, dir string) {
			p := join(dir, evidence.PathPatch)
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			if err := mkfifo(p); err != nil {
				t.Fatal(err)
			}
		}},
		{"symlink in place of a file", evidence.CodeMissingFile, true, func(t *testing.T, dir string) {
			outside := join(t.TempDir(), "patch")
			rename(t, join(dir, evidence.PathPatch), outside)
			link(t, outside, join(dir, evidence.PathPatch))
		}},
		{"symlink in place of a directory", evidence.CodeUnsafeFile, true, func(t *testing.T, dir string) {
			outside := join(t.TempDir(), "logs")
			rename(t, join(dir, "logs"), outside)
			link(t, outside, join(dir, "logs"))
		}},
		{"symlinked directory inside", evidence.CodeUnsafeFile, false, func(t *testing.T, dir string) {
			rename(t, join(dir, "logs"), join(dir, "logs2"))
			link(t, "logs2", join(dir, "logs"))
		}},
		{"second name for a file", evidence.CodeHardlink, true, func(t *testing.T, dir string) {
			if err := os.Link(join(dir, evidence.PathPatch), join(t.TempDir(), "p")); err != nil {
				t.Fatal(err)
			}
		}},
		{"id edited", evidence.CodeBundleIDMismatch, true, manifest(func(m map[string]any) {
			m["id"] = evidence.BundleIDPrefix + strings.Repeat("a", 64)
		})},
		{"id without the digest", evidence.CodeBundleIDMismatch, true, manifest(func(m map[string]any) { m["id"] = "run-1" })},
		{"path with dots", evidence.CodeInvalidPath, true, addEntry(map[string]any{"path": "../../etc/passwd", "kind": "x", "contentType": "y"})},
		{"absolute path", evidence.CodeInvalidPath, true, addEntry(map[string]any{"path": "/etc/passwd", "kind": "x", "contentType": "y"})},
		{"drive letter", evidence.CodeInvalidPath, true, addEntry(map[string]any{"path": "c:x", "kind": "x", "contentType": "y"})},
		{"path with NUL", evidence.CodeInvalidPath, true, addEntry(map[string]any{"path": "a\x00b", "kind": "x", "contentType": "y"})},
		{"path with a detour", evidence.CodeInvalidPath, true, addEntry(map[string]any{"path": "./files/patch.diff", "kind": "x", "contentType": "y"})},
		{"listed twice", evidence.CodeInvalidManifestShape, true, manifest(func(m map[string]any) {
			m["files"] = append(m["files"].([]any), entryOf(m, evidence.PathPatch))
		})},
		{"manifest not listed", evidence.CodeInvalidManifestShape, true, manifest(func(m map[string]any) {
			m["files"] = slices.DeleteFunc(m["files"].([]any), func(f any) bool { return f.(map[string]any)["path"] == "manifest.json" })
		})},
		{"entry without hash", evidence.CodeMissingFileHash, true, manifest(func(m map[string]any) { delete(entryOf(m, evidence.PathPatch), "sha256") })},
		{"upper-case hash", evidence.CodeMissingFileHash, true, manifest(func(m map[string]any) {
			d := entryOf(m, evidence.PathPatch)["sha256"].(map[string]any)
			d["value"] = strings.ToUpper(d["value"].(string))
		})},
		{"wrong self hash", evidence.CodeFileHashMismatch, true, func(t *testing.T, dir string) {
			text := read(t, dir, "manifest.json")
			write(t, dir, "manifest.json", strings.Replace(text, `"createdAt": "2026`, `"createdAt": "2027`, 1))
		}},
		{"field added to the manifest", evidence.CodeFileHashMismatch, true, func(t *testing.T, dir string) {
			text := read(t, dir, "manifest.json")
			write(t, dir, "manifest.json", strings.Replace(text, `{`, `{"extra": 1,`, 1))
		}},
		{"key twice in the manifest", evidence.CodeMalformedManifest, false, func(t *testing.T, dir string) {
			text := read(t, dir, "manifest.json")
			write(t, dir, "manifest.json", strings.Replace(text, `{`, `{"id": "x",`, 1))
		}},
		{"manifest is no JSON", evidence.CodeMalformedManifest, true, func(t *testing.T, dir string) { write(t, dir, "manifest.json", "{") }},
		{"manifest is a pipe", evidence.CodeMalformedManifest, false, func(t *testing.T, dir string) {
			if err := os.Remove(join(dir, "manifest.json")); err != nil {
				t.Fatal(err)
			}
			if err := mkfifo(join(dir, "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}},
		{"manifest of another kind", evidence.CodeInvalidManifestShape, true, func(t *testing.T, dir string) { write(t, dir, "manifest.json", `{"schema":"pointer"}`) }},
		{"digest without the patch", evidence.CodeDigestMismatch, true, manifest(func(m map[string]any) {
			m["contentDigest"].(map[string]any)["inputs"] = []any{evidence.PathChangedFiles}
		})},
		{"digest over nothing", evidence.CodeDigestMismatch, true, manifest(func(m map[string]any) { m["contentDigest"].(map[string]any)["inputs"] = []any{} })},
		{"digest over the file list", evidence.CodeDigestMismatch, false, manifest(func(m map[string]any) {
			m["contentDigest"].(map[string]any)["inputs"] = []any{"manifest.files"}
		})},
		{"digest input outside", evidence.CodeInvalidPath, false, manifest(func(m map[string]any) {
			m["contentDigest"].(map[string]any)["inputs"] = []any{"../x"}
		})},
		{"digest input not listed", evidence.CodeMalformedReference, true, manifest(func(m map[string]any) {
			m["contentDigest"].(map[string]any)["inputs"] = []any{"files/nothing"}
		})},
		{"digest not hexadecimal", evidence.CodeInvalidManifestShape, false, manifest(func(m map[string]any) {
			m["contentDigest"].(map[string]any)["value"] = "zz"
		})},
		{"patch replaced with its hash", evidence.CodeDigestMismatch, true, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathPatch, "+evil\n") }},
		{"patch of the review", evidence.CodeReviewEvidenceMismatch, true, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathPatch, "+evil\n") }},
		{"review without evidence", evidence.CodeMalformedReference, true, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathReview, "{}") }},
		{"review of a file that did not change", evidence.CodeReviewEvidenceMismatch, true, func(t *testing.T, dir string) {
			rewrite(t, dir, evidence.PathReview, strings.ReplaceAll(read(t, dir, evidence.PathReview), "/workspace/hello.txt", "/workspace/other.txt"))
		}},
		{"metadata points nowhere", evidence.CodeMalformedReference, true, func(t *testing.T, dir string) {
			rewrite(t, dir, evidence.PathMetadata, `{"artifacts":{"x":"files/none"}}`)
		}},
		{"metadata points outside", evidence.CodeInvalidPath, true, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathMetadata, `{"artifacts":{"x":["../x"]}}`) }},
		{"reference manifest of another shape", evidence.CodeMalformedReference, true, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathRuntimeReference, "[]") }},
		{"reference manifest edited", evidence.CodeDigestMismatch, true, func(t *testing.T, dir string) {
			rewrite(t, dir, evidence.PathRuntimeReference, strings.ReplaceAll(read(t, dir, evidence.PathRuntimeReference), "attempt-1", "attempt-2"))
		}},
		{"reference manifest of another bundle", evidence.CodeReviewEvidenceMismatch, true, func(t *testing.T, dir string) {
			rewrite(t, dir, evidence.PathRuntimeReference, read(t, foreign, evidence.PathRuntimeReference))
		}},
		{"viewer on this machine", evidence.CodeUnsafeFile, false, manifest(func(m map[string]any) {
			entryOf(m, evidence.PathPatch)["viewer"] = map[string]any{"base": "http://127.0.0.1:8080/"}
		})},
		{"viewer without host", evidence.CodeMalformedReference, false, manifest(func(m map[string]any) {
			entryOf(m, evidence.PathPatch)["viewer"] = map[string]any{"base": "view.html"}
		})},
		{"case on this machine", evidence.CodeUnsafeFile, false, manifest(func(m map[string]any) {
			m["cases"] = []any{map[string]any{"id": "a", "artifacts": []any{map[string]any{"path": evidence.PathPatch, "kind": "patch", "publicUrl": "https://box.local/x"}}}}
		})},
		{"case twice", evidence.CodeInvalidManifestShape, false, manifest(func(m map[string]any) {
			c := map[string]any{"id": "a", "artifacts": []any{}}
			m["cases"] = []any{c, c}
		})},
		{"case of a file that is not listed", evidence.CodeMalformedReference, false, manifest(func(m map[string]any) {
			m["cases"] = []any{map[string]any{"id": "a", "artifacts": []any{map[string]any{"path": "x", "kind": "y"}}}}
		})},
		{"attestation of another bundle", bundle.CodeAttestationMismatch, false, func(t *testing.T, dir string) {
			rewrite(t, dir, bundle.PathAttestation, read(t, foreign, bundle.PathAttestation))
		}},
		{"manifest edited with care", bundle.CodeAttestationMismatch, false, manifest(func(m map[string]any) { m["createdAt"] = "2027-01-01T00:00:00.000Z" })},
		{"log edited with care", bundle.CodeAttestationMismatch, false, func(t *testing.T, dir string) { rewrite(t, dir, evidence.PathCommandsLog, "all fine\n") }},
		{"attestation is no envelope", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) { rewrite(t, dir, bundle.PathAttestation, "[]") }},
		{"signature cut off", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) { e["signatures"] = []any{} })
		}},
		{"signature garbled", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) {
				e["signatures"].([]any)[0].(map[string]any)["sig"] = base64.StdEncoding.EncodeToString(make([]byte, 64))
			})
		}},
		{"verdict in the statement edited", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) {
				p, _ := base64.StdEncoding.DecodeString(e["payload"].(string))
				e["payload"] = base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(p), `"accepted"`, `"rejected"`, 1)))
			})
		}},
		{"another payload type", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) { e["payloadType"] = "text/plain" })
		}},
		{"field added to the envelope", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, "{\n", "{\n  \"approvedBy\": \"the boss\",\n")},
		{"field added to the signature", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) { e["signatures"].([]any)[0].(map[string]any)["cert"] = "x" })
		}},
		{"foreign signature added", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) {
				e["signatures"] = append(e["signatures"].([]any), map[string]any{"keyid": other.Public().ID, "sig": base64.StdEncoding.EncodeToString(make([]byte, 64))})
			})
		}},
		{"own signature twice", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			editEnvelope(t, dir, func(e map[string]any) {
				e["signatures"] = append(e["signatures"].([]any), e["signatures"].([]any)...)
			})
		}},
		{"another key named", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, k.Public().ID, other.Public().ID)},
		{"no key named", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, k.Public().ID, "")},
		{"payload twice", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, "{\n", "{\n  \"payload\": \"e30=\",\n")},
		{"payload in other letters", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, `"payload"`, `"Payload"`)},
		{"payload with an escape", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, `"payload": "e`, `"payload": "\u0065`)},
		{"payload with a line break", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, `"payload": "`, `"payload": "\n`)},
		{"envelope with white space", bundle.CodeAttestationInvalid, false, replaceIn(bundle.PathAttestation, "{\n", "{\n ")},
		{"envelope with a tail", bundle.CodeAttestationInvalid, false, func(t *testing.T, dir string) {
			rewrite(t, dir, bundle.PathAttestation, read(t, dir, bundle.PathAttestation)+"\n")
		}},
		{"member beside the manifest's own hash", evidence.CodeInvalidManifestShape, false, besideHash(evidence.PathManifest)},
		{"member beside the attestation's hash", evidence.CodeInvalidManifestShape, false, besideHash(bundle.PathAttestation)},
		{"member beside the manifest's own hash, signed", bundle.CodeAttestationMismatch, false, besideHash(evidence.PathManifest)},
		{"member beside the attestation's hash, signed", bundle.CodeAttestationMismatch, false, besideHash(bundle.PathAttestation)},
		{"member beside the patch's hash", evidence.CodeInvalidManifestShape, false, besideHash(evidence.PathPatch)},
		{"attestation removed with care", bundle.CodeSignatureMissing, false, func(t *testing.T, dir string) {
			if err := os.Remove(join(dir, bundle.PathAttestation)); err != nil {
				t.Fatal(err)
			}
			edit(t, dir, func(m map[string]any) {
				m["files"] = slices.DeleteFunc(m["files"].([]any), func(f any) bool { return f.(map[string]any)["path"] == bundle.PathAttestation })
			})
		}},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, s.Dir)
			c.do(t, dir)
			v := verify(t, dir, bundle.VerifyOptions{RequireSignature: true, TrustedKeys: []bundle.PublicKey{k.Public()}})
			if v.Valid || !slices.Contains(codes(v), c.want) {
				t.Errorf("codes are %v, want %s among them", codes(v), c.want)
			}
			if c.second && len(bundletest.Problems(dir)) == 0 {
				t.Error("the second checker saw nothing")
			}
		})
	}
	t.Run("nothing changed", func(t *testing.T) { // the edits above are seen for what they change, not for how they are made
		t.Parallel()
		dir := copyOf(t, s.Dir)
		editEnvelope(t, dir, func(map[string]any) {})
		if v := verify(t, dir, bundle.VerifyOptions{RequireSignature: true, TrustedKeys: []bundle.PublicKey{k.Public()}}); !v.Valid {
			t.Errorf("violations: %+v", v.Violations)
		}
	})
	t.Run("another key", func(t *testing.T) {
		t.Parallel()
		for _, o := range []bundle.VerifyOptions{
			{Keys: []bundle.PublicKey{other.Public()}},
			{RequireSignature: true, TrustedKeys: []bundle.PublicKey{other.Public()}},
			{RequireSignature: true},
		} {
			v := verify(t, s.Dir, o)
			if v.Valid || !slices.Equal(codes(v), []string{bundle.CodeSignatureUntrusted}) || v.Signature.Status != bundle.SignatureUntrustedKey {
				t.Errorf("codes are %v, signature %+v", codes(v), v.Signature)
			}
		}
		if v := verify(t, s.Dir, bundle.VerifyOptions{Keys: []bundle.PublicKey{other.Public(), k.Public()}}); !v.Valid || v.Signature.Status != bundle.SignatureValid {
			t.Errorf("codes are %v, signature %+v", codes(v), v.Signature)
		}
	})
}

// foreignBundle is a good bundle of another change, signed with the same key.
func foreignBundle(t testing.TB, k *bundle.Key) string {
	t.Helper()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Key: k})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch+"+more\n"); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	bundletest.Check(t, s.Dir)
	return s.Dir
}

func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	v := verify(t, filepath.Join(t.TempDir(), "none"), bundle.VerifyOptions{})
	if !slices.Equal(codes(v), []string{evidence.CodeMissingManifest}) || v.Valid {
		t.Errorf("codes are %v", codes(v))
	}
}
