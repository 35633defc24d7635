package filetree

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var small = Limits{Files: 10, Bytes: 1 << 10}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		perm := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			perm = 0o755
		}
		if err := os.WriteFile(p, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
	}
}

// A tree is the same wherever it comes from, and comes back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "one", "bin/run.sh": "#!/bin/sh\n", "bin/deep/x": "", ".git/HEAD": "ref"})
	tree, err := Read(dir, small)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range tree {
		names = append(names, fmt.Sprintf("%s %v", f.Path, f.Exec))
	}
	if diff := cmp.Diff([]string{"a.md false", "bin/deep/x false", "bin/run.sh true"}, names); diff != "" {
		t.Fatal(diff)
	}
	var one, two bytes.Buffer
	if err := errors.Join(tree.Pack(&one), tree.Pack(&two)); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Fatalf("packed twice, it differs (%v)", err)
	}
	file := filepath.Join(t.TempDir(), "x.tar.gz")
	if err := os.WriteFile(file, one.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	blobs := Blobs(filepath.Join(t.TempDir(), "blobs"))
	digest, err := blobs.Keep(tree)
	if err != nil || digest != tree.Digest() {
		t.Fatalf("kept as %s, %v", digest, err)
	}
	out := t.TempDir()
	if err := tree.Write(out, true); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() (Tree, error){
		"archive":   func() (Tree, error) { return Read(file, small) },
		"blobs":     func() (Tree, error) { return blobs.Load(digest, small) },
		"directory": func() (Tree, error) { return Read(out, small) },
	} {
		got, err := read()
		if err != nil || got.Digest() != digest {
			t.Errorf("%s: %s, %v; want %s", name, got.Digest(), err, digest)
		}
	}
	if fi, err := os.Stat(filepath.Join(out, "bin/run.sh")); err != nil || fi.Mode().Perm() != 0o555 {
		t.Errorf("written as %v, %v", fi.Mode(), err)
	}
}

// The digest never changes its meaning: this one is written down.
func TestDigestIsStable(t *testing.T) {
	t.Parallel()
	tree, err := Of(File{"b", true, []byte("two")}, File{"a", false, []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"files":[{"bytes":3,"path":"a","sha256":"sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"},` +
		`{"bytes":3,"executable":true,"path":"b","sha256":"sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"}],"schema":"deed/parcel/v1"}`
	if got := string(tree.list()); got != want || tree.Digest() != Sum([]byte(want)) {
		t.Errorf("got %s", got)
	}
}

// Whatever is not a plain file below the top is refused, from a directory and from every kind of archive.
func TestRefused(t *testing.T) {
	t.Parallel()
	dirs := map[string]func(dir string) error{
		"link out":   func(d string) error { return os.Symlink("/etc/passwd", filepath.Join(d, "x")) },
		"link in":    func(d string) error { return os.Symlink("a", filepath.Join(d, "x")) },
		"link dir":   func(d string) error { return os.Symlink("/etc", filepath.Join(d, "x")) },
		"fifo":       func(d string) error { return syscall.Mkfifo(filepath.Join(d, "x"), 0o600) },
		"large":      func(d string) error { return os.WriteFile(filepath.Join(d, "x"), make([]byte, 2<<10), 0o600) },
		"control":    func(d string) error { return os.WriteFile(filepath.Join(d, "x\x1b[2J"), nil, 0o600) },
		"backslash":  func(d string) error { return os.WriteFile(filepath.Join(d, `..\x`), nil, 0o600) },
		"too deep":   func(d string) error { return os.MkdirAll(filepath.Join(d, strings.Repeat("d/", maxDepth+1)), 0o700) },
		"many files": func(d string) error { write(t, d, many(20)); return nil },
		"many dirs": func(d string) (err error) {
			for i := range 60 {
				err = errors.Join(err, os.Mkdir(filepath.Join(d, fmt.Sprint(i)), 0o700))
			}
			return err
		},
	}
	for name, make := range dirs {
		dir := t.TempDir()
		write(t, dir, map[string]string{"a": "x"})
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir, small); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, h := range map[string]tar.Header{
		"absolute":  {Name: "/etc/x", Typeflag: tar.TypeReg},
		"dots":      {Name: "a/../../x", Typeflag: tar.TypeReg},
		"symlink":   {Name: "x", Linkname: "../y", Typeflag: tar.TypeSymlink},
		"hard link": {Name: "x", Linkname: "/etc/passwd", Typeflag: tar.TypeLink},
		"device":    {Name: "x", Typeflag: tar.TypeChar},
		"fifo":      {Name: "x", Typeflag: tar.TypeFifo},
		"twice":     {Name: "a", Typeflag: tar.TypeReg},
		"both":      {Name: "a/b", Typeflag: tar.TypeReg},
		"both too":  {Name: "a", Typeflag: tar.TypeDir},
		"by case":   {Name: "A", Typeflag: tar.TypeReg},
		"no name":   {Name: ".", Typeflag: tar.TypeReg},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg}), w.WriteHeader(&h), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := readBytes(t, b.Bytes()); !errors.Is(err, ErrRefused) || name == "hard link" && !strings.Contains(err.Error(), name) {
			t.Errorf("tar %s: %v", name, err)
		}
	}
	for name, edit := range map[string]func(h *zip.FileHeader){
		"dots": func(h *zip.FileHeader) { h.Name = "../x" },
		"link": func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) },
		"back": func(h *zip.FileHeader) { h.Name = `..\x` },
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: "x"}
		edit(h)
		if _, err := w.CreateHeader(h); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := readBytes(t, b.Bytes()); !errors.Is(err, ErrRefused) {
			t.Errorf("zip %s: %v", name, err)
		}
	}
}

// A bomb is not unpacked further than its bounds.
func TestBomb(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 1 << 26}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<26)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := readBytes(t, b.Bytes()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// What fits exactly is taken, and a byte or a file more is not; headers without content are bounded as well.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		most  Limits
		fits  bool
	}{
		"just fits":        {map[string]string{"a": "1234", "d/b": "5678"}, Limits{Files: 2, Bytes: 8}, true},
		"a byte too many":  {map[string]string{"a": "1234", "d/b": "56789"}, Limits{Files: 2, Bytes: 8}, false},
		"a file too many":  {map[string]string{"a": "1234", "d/b": "5678", "c": ""}, Limits{Files: 2, Bytes: 8}, false},
		"empty at the end": {map[string]string{"a": "1234", "b": ""}, Limits{Files: 2, Bytes: 4}, true},
	} {
		dir := t.TempDir()
		write(t, dir, c.files)
		if _, err := Read(dir, c.most); (err == nil) != c.fits || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for range 2000 {
		if err := w.WriteHeader(&tar.Header{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := readBytes(t, b.Bytes()); !errors.Is(err, ErrRefused) {
		t.Errorf("headers: %v", err)
	}
}

// What was kept and then changed is not used.
func TestBlobsAreVerified(t *testing.T) {
	t.Parallel()
	blobs := Blobs(t.TempDir())
	tree, err := Of(File{"a", false, []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := blobs.Keep(tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobs.path(Sum([]byte("one"))), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Load(digest, small); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed: %v", err)
	}
	if _, err := blobs.Load(Sum([]byte("none")), small); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	other, err := blobs.Put([]byte(`{"schema":"deed/parcel/v1","files":[{"path":"../../x","bytes":3,"sha256":"` + Sum([]byte("two")) + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Put([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Load(other, small); !errors.Is(err, ErrRefused) {
		t.Errorf("a list with a name that leads out: %v", err)
	}
}

func many(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprint(i)] = ""
	}
	return out
}

func readBytes(t testing.TB, data []byte) (Tree, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(file, small)
}

func FuzzArchive(f *testing.F) {
	tree, err := Of(File{"a/b", true, []byte("x")})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := tree.Pack(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readBytes(t, data)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := got.Write(dir, false); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := Read(dir, small)
		if err != nil || back.Digest() != got.Digest() {
			t.Fatalf("it came back as %v, %v", back.Manifest(), err)
		}
	})
}
