package wordpress

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// archived writes a zip file.
func archived(t *testing.T, headers []zip.FileHeader, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range headers {
		w, err := z.CreateHeader(&h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestArchivesThatAttack(t *testing.T) {
	t.Parallel()
	link := zip.FileHeader{Name: "wordpress/link"}
	link.SetMode(fs.ModeSymlink | 0o777)
	pipe := zip.FileHeader{Name: "pipe"}
	pipe.SetMode(fs.ModeNamedPipe | 0o644)
	for name, headers := range map[string][]zip.FileHeader{
		"climbs":         {{Name: "../evil.php"}},
		"climbs inside":  {{Name: "a/../../evil.php"}},
		"not clean":      {{Name: "a//b"}},
		"absolute":       {{Name: "/etc/evil"}},
		"backslash":      {{Name: `..\evil.php`}},
		"NUL":            {{Name: "a\x00b"}},
		"symbolic link":  {link},
		"through a link": {link, {Name: "wordpress/link/evil.php"}},
		"pipe":           {pipe},
		"twice":          {{Name: "a"}, {Name: "a"}},
		"file as parent": {{Name: "a"}, {Name: "a/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			err := unpack(t.Context(), archived(t, headers, []byte("/etc/passwd")), filepath.Join(outer, "dir"))
			if err == nil {
				t.Fatal("it was unpacked")
			}
			if name != "file as parent" && !errors.Is(err, ErrArchive) {
				t.Errorf("got %v", err)
			}
			for _, p := range []string{filepath.Join(outer, "evil.php"), filepath.Join(outer, "..", "evil.php"), "/etc/evil"} {
				if _, err := os.Lstat(p); err == nil {
					t.Errorf("%s was written", p)
				}
			}
		})
	}
}

// TestArchiveBounds counts what comes out: an archive of a megabyte of zeros is small.
func TestArchiveBounds(t *testing.T) {
	t.Parallel()
	name := archived(t, []zip.FileHeader{{Name: "zeros", Method: zip.Deflate}}, make([]byte, 1<<20))
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	z.File[0].UncompressedSize64 = 1 // it lies
	if n, err := unzipEntry(root, z.File[0], 1000); !errors.Is(err, ErrArchive) || n > 1001 {
		t.Errorf("wrote %d bytes: %v", n, err)
	}
}

func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(name, []byte("PK\x03\x04 no"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), name, filepath.Join(t.TempDir(), "d")); !errors.Is(err, ErrArchive) {
		t.Errorf("got %v", err)
	}
}

// FuzzUnzip demands that nothing lands outside, whatever the archive says.
func FuzzUnzip(f *testing.F) {
	f.Add("../a", uint32(0o644), []byte("x"))
	f.Add("a/b", uint32(fs.ModeSymlink), []byte("/etc"))
	f.Fuzz(func(t *testing.T, name string, mode uint32, data []byte) {
		h := zip.FileHeader{Name: name}
		h.SetMode(fs.FileMode(mode))
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if w, err := z.CreateHeader(&h); err == nil {
			_, _ = w.Write(data)
		}
		_ = z.Close()
		outer := t.TempDir()
		file := filepath.Join(outer, "a.zip")
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		_ = unpack(t.Context(), file, filepath.Join(outer, "dir"))
		list, err := os.ReadDir(outer)
		if err != nil || len(list) > 2 {
			t.Fatalf("%q left %v, %v", name, list, err)
		}
		_ = filepath.WalkDir(filepath.Join(outer, "dir"), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !d.Type().IsRegular() {
				t.Errorf("%q made %s", name, d.Type())
			}
			return nil
		})
	})
}
