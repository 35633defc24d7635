package apply

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
)

const codeboxCases = "../bundle/testdata/codebox-cases"

// A bundle of WP Codebox, whose cases have a hash that is an object, is verified, described and offered. Its change list states no
// hash of its file, so that it is not applied.
func TestBundleOfAnotherMaker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if v, err := Verify(codeboxCases, bundle.VerifyOptions{}); err != nil || !v.Valid {
		t.Fatalf("%v: %+v", err, v.Violations)
	}
	e, err := Envelope(codeboxCases, bundle.VerifyOptions{})
	if err != nil || !e.Verification.Valid || e.Runtime.Backend != "wordpress-playground" || len(e.Refs) != 9 {
		t.Errorf("the envelope: %v: %+v", err, e)
	}
	const want = "has neither beforeSha256 nor afterSha256"
	p, err := Preflight(codeboxCases, []string{"file.txt"}, "ada", bundle.VerifyOptions{})
	if err != nil || p.Ready || len(p.Violations) != 1 || !strings.Contains(p.Violations[0].Message, want) {
		t.Errorf("the preflight: %v: %+v", err, p)
	}
	res, err := r.Apply(t.Context(), r.request(codeboxCases, t.TempDir()))
	if err == nil || !strings.Contains(err.Error(), want) || res.Status != evidence.ApplyRefused {
		t.Errorf("apply: %v: %+v", err, res)
	}
}

// Its hash in the change list is all that it lacks.
func TestBundleOfAnotherMakerIsApplied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir, to := hashed(t), t.TempDir()
	bundletest.Reseal(t, dir)
	p, err := Preflight(dir, []string{"file.txt"}, "ada", bundle.VerifyOptions{})
	if err != nil || !p.Ready {
		t.Errorf("the preflight: %v: %+v", err, p.Violations)
	}
	req := r.request(dir, to)
	req.Force = true // it is not signed
	if res, err := r.Apply(t.Context(), req); err != nil || res.Status != evidence.ApplyApplied {
		t.Fatalf("apply: %v: %+v", err, res)
	}
	same(t, to, tree{"file.txt": "cooked\n"})
}

// hashed is a copy of the bundle with the hash of its file in the change list.
func hashed(t testing.TB) string {
	t.Helper()
	dir := copied(t, codeboxCases, filepath.Join(t.TempDir(), "b"))
	sum := digest([]byte("cooked\n"))
	replace(t, filepath.Join(dir, evidence.PathChangedFiles), `"status"`, `"afterSha256": "`+sum+`", "status"`)
	return dir
}

// ours is that bundle as one of deed's, unsigned, with a verdict.
func ours(t testing.TB) string {
	t.Helper()
	dir := hashed(t)
	replace(t, filepath.Join(dir, evidence.PathManifest), `"wordpress-playground"`, `"`+bundle.Backend+`"`)
	replace(t, filepath.Join(dir, evidence.PathManifest), `"files": [`, `"files": [{"path": "`+bundle.PathVerdict+`", "kind": "verdict", "contentType": "application/json", "sha256": {"algorithm": "sha256", "value": ""}},`)
	if err := os.WriteFile(filepath.Join(dir, bundle.PathVerdict), []byte(`{"schema":"`+deed.SchemaVerdict+`","accepted":true,"reasons":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	bundletest.Reseal(t, dir)
	return dir
}

func replace(t testing.TB, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s does not have %s", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever form the members of a manifest have, every reader gets through or refuses.
func TestReadersOfForeignBundles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, from := range []string{codeboxCases, "../bundle/testdata/golden", ours(t)} {
		dir, ready := copied(t, from, filepath.Join(t.TempDir(), "b")), 0
		manifest, err := os.ReadFile(filepath.Join(dir, evidence.PathManifest))
		if err != nil {
			t.Fatal(err)
		}
		for i := range bundletest.Values(manifest) {
			for _, other := range []any{nil, 7, map[string]any{}} {
				if err := os.WriteFile(filepath.Join(dir, evidence.PathManifest), bundletest.Mutate(manifest, i, other), 0o600); err != nil {
					t.Fatal(err)
				}
				bundletest.Reseal(t, dir)
				if readAll(t, r, dir) {
					ready++
				}
			}
		}
		if ready == 0 {
			t.Errorf("%s: no mutation is a valid bundle: this test sees nothing", from)
		}
	}
}

// readAll has every reader of this package read a bundle, and reports whether it is valid.
func readAll(t *testing.T, r *rig, dir string) bool {
	t.Helper()
	v, err := Verify(dir, bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := Read(dir, bundle.VerifyOptions{}); err == nil {
		if _, err := o.Select("", nil); err == nil && !v.Valid {
			t.Errorf("it is offered and not valid: %v", v.Violations)
		}
		o.Close()
	}
	p, err := Preflight(dir, []string{"a", "b", "file.txt"}, "ada", bundle.VerifyOptions{})
	if err == nil && p.Ready && !v.Valid {
		t.Errorf("it is ready and not valid: %v", v.Violations)
	}
	if e, err := Envelope(dir, bundle.VerifyOptions{}); v.Valid && (err != nil || !e.Verification.Valid) {
		t.Errorf("it is valid, and its envelope: %v", err)
	}
	req := r.request(dir, r.path("target"))
	req.Force, req.DryRun = true, true
	if res, err := r.Apply(t.Context(), req); (err == nil) != (res.Status == evidence.ApplyDryRun) {
		t.Errorf("apply says %v and %q", err, res.Status)
	}
	return v.Valid
}

// FuzzReaders changes one value of one file of a real bundle, makes all hashes fit again, and has everybody read it.
func FuzzReaders(f *testing.F) {
	r := newRig(f)
	if err := os.Mkdir(r.path("target"), 0o700); err != nil {
		f.Fatal(err)
	}
	dirs := []string{codeboxCases, "../bundle/testdata/golden", ours(f)}
	f.Add(uint8(0), uint8(9), 9, `{"algorithm":"sha256","value":"x"}`)
	f.Add(uint8(2), uint8(1), 3, `[]`)
	f.Add(uint8(0), uint8(1), 0, `{"schema":"wp-codebox/changed-files/v1","files":[null]}`)
	f.Add(uint8(2), uint8(5), 2, `-1e400`)
	f.Add(uint8(2), uint8(2), 4, `"../../x"`)
	f.Add(uint8(2), uint8(3), 1, "diff --git a/x b/x\n")
	at := filepath.Join(f.TempDir(), "b") // each fuzzing process has its own
	f.Fuzz(func(t *testing.T, which, file uint8, place int, value string) {
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		copied(t, dirs[int(which)%len(dirs)], at)
		all := listed(t, at)
		name := filepath.Join(at, all[int(file)%len(all)])
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bundletest.Values(text) > 0 {
			text = bundletest.Mutate(text, place, json.RawMessage(value))
		} else {
			text = splice(text, place, value)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		bundletest.Reseal(t, at)
		readAll(t, r, at)
	})
}

// splice puts a value into a text that is no JSON, such as a patch, in place of a line.
func splice(text []byte, place int, value string) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	i := ((place % len(lines)) + len(lines)) % len(lines)
	lines[i] = value
	return []byte(strings.Join(lines, ""))
}

func copied(t testing.TB, from, to string) string {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func listed(t testing.TB, dir string) []string {
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
	slices.Sort(out)
	return out
}
