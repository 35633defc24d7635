package runtimepkg

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// An item is one entry of an archive.
type item struct {
	name, body string
	kind       byte // of tar; 0 is a file
	mode       int64
}

const tinyManifest = `{"schema":"homeboy/agent-runtime-manifest/v1","id":"tiny","agent_task_executors":[{"id":"tiny.run","backend":"tiny","command":"{{runtime_path}}/run.sh"}]}`

// whole is a package that can be installed.
func whole(below string) []item {
	return []item{{below + "tiny.json", tinyManifest, 0, 0o644}, {below + "run.sh", "#!/bin/sh\n", 0, 0o755}, {below + "lib/a.txt", "a", 0, 0o600}}
}

func makeTar(t *testing.T, items []item) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Mode: i.mode, Size: int64(len(i.body)), Typeflag: i.kind}
		if i.kind == tar.TypeSymlink || i.kind == tar.TypeLink {
			h.Linkname, h.Size = i.body, 0
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(i.body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.tar.gz")
	write(t, out.String(), file)
	return file
}

func makeZip(t *testing.T, items []item) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		mode := fs.FileMode(i.mode)
		if i.kind == tar.TypeSymlink {
			mode |= fs.ModeSymlink
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(i.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.zip")
	write(t, out.String(), file)
	return file
}

func TestInstallForms(t *testing.T) {
	t.Parallel()
	src := filepath.Join(t.TempDir(), "checkout")
	for _, i := range whole("") {
		write(t, i.body, src, i.name)
	}
	write(t, "ref\n", src, ".git/HEAD")
	if err := os.Chmod(filepath.Join(src, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	if err := os.CopyFS(filepath.Join(repo, PackagesDir, "tiny"), os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for name, source := range map[string]string{
		"a directory of another name": src, "a repository": repo,
		"tar.gz": makeTar(t, whole("")), "tar.gz with a directory": makeTar(t, append([]item{{"pax_global_header", "", tar.TypeXGlobalHeader, 0}, {"tiny/", "", tar.TypeDir, 0o755}}, whole("tiny/")...)),
		"tar.gz of a release": makeTar(t, whole("tiny-1.0/")), "tar.gz of a repository": makeTar(t, whole("main/agent-runtimes/tiny/")),
		"tar.gz with dots": makeTar(t, whole("./")), "zip": makeZip(t, whole("")), "zip with a directory": makeZip(t, whole("x/")),
	} {
		s := Store{Dir: filepath.Join(t.TempDir(), "home", PackagesDir)}
		in, err := s.Install(t.Context(), source, InstallOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := in.Package
		if p.ID != "tiny" || p.Linked || filepath.Base(p.Real) != "tiny" || in.Same || in.Replaced != "" {
			t.Errorf("%s: %+v", name, in)
		}
		if fi, err := os.Stat(filepath.Join(p.Path, "run.sh")); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v %v", name, fi, err)
		}
		if _, err := os.Stat(filepath.Join(p.Path, ".git")); err == nil {
			t.Errorf("%s: its version control was copied", name)
		}
		d, err := p.Digest()
		if err != nil {
			t.Error(err)
		}
		digests = append(digests, d)
		if left, _ := os.ReadDir(filepath.Join(s.Dir, stagingDir)); len(left) > 0 {
			t.Errorf("%s: left in staging: %v", name, left)
		}
		if again, err := s.Install(t.Context(), source, InstallOptions{}); err != nil || !again.Same {
			t.Errorf("%s again: %+v %v", name, again, err)
		}
	}
	if slices.Sort(digests); len(slices.Compact(digests)) != 1 {
		t.Error("the same files have different digests")
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 65) + "f"
	with := func(extra ...item) []item { return append(whole(""), extra...) }
	for name, c := range map[string]struct {
		items []item
		want  string
	}{
		"traversal":           {with(item{name: "../evil", body: "x"}), "not a plain path below"},
		"traversal inside":    {with(item{name: "a/../../evil", body: "x"}), "not a plain path below"},
		"absolute":            {with(item{name: "/tmp/evil", body: "x"}), "not a plain path below"},
		"backslash":           {with(item{name: `..\evil`, body: "x"}), "not a plain path below"},
		"link out":            {with(item{name: "l", body: "/etc/passwd", kind: tar.TypeSymlink}), "is a symbolic link"},
		"case 17: link in":    {with(item{name: "l", body: "run.sh", kind: tar.TypeSymlink}), "is a symbolic link"},
		"link then below it":  {with(item{name: "l", body: "/tmp", kind: tar.TypeSymlink}, item{name: "l/evil", body: "x"}), "is a symbolic link"},
		"twice":               {with(item{name: "run.sh", body: "x"}), "is there twice"},
		"by case":             {with(item{name: "RUN.sh", body: "x"}), "differ only by case"},
		"directory by case":   {with(item{name: "lib/a", body: "x"}, item{name: "Lib/b", body: "x"}), "differ only by case"},
		"too deep":            {with(item{name: deep, body: "x"}), "deep"},
		"no manifest":         {[]item{{name: "a", body: "x"}}, "no manifest"},
		"nothing":             {nil, "nothing in it"},
		"other id":            {[]item{{name: "other.json", body: tinyManifest}}, `its id is "tiny"`},
		"unusable":            {[]item{{name: "tiny.json", body: strings.Replace(tinyManifest, "run.sh", "gone.sh", 1)}}, "gone.sh"},
		"no provider":         {[]item{{name: "tiny.json", body: `{"schema":"homeboy/agent-runtime-manifest/v1","id":"tiny","agent_task_executors":[]}`}}, "agent_task_executors"},
		"several without id":  {append(whole("agent-runtimes/tiny/"), item{name: "agent-runtimes/two/two.json", body: strings.ReplaceAll(tinyManifest, "tiny", "two")}), "choose one with --id"},
		"a file as directory": {with(item{name: "run.sh/x", body: "x"}), "a file and a directory"},
	} {
		for kind, make := range map[string]func(*testing.T, []item) string{"tar": makeTar, "zip": makeZip} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				refused(t, make(t, c.items), c.want)
			})
		}
	}
	for name, kind := range map[string]byte{"a device": tar.TypeChar, "a FIFO": tar.TypeFifo} {
		t.Run("tar "+name, func(t *testing.T) {
			t.Parallel()
			refused(t, makeTar(t, with(item{name: "dev", kind: kind})), "is "+name)
		})
	}
	t.Run("a hard link", func(t *testing.T) {
		t.Parallel()
		refused(t, makeTar(t, with(item{name: "l", body: "/etc/passwd", kind: tar.TypeLink})), "is a hard link")
	})
	for name, text := range map[string]string{"garbage": "this is no archive", "cut gzip": "\x1f\x8b\x08\x00", "cut zip": "PK\x03\x04xxxx", "short": "x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "a")
			write(t, text, file)
			refused(t, file, "")
		})
	}
}

// refused installs over a package and demands that nothing has changed.
func refused(t *testing.T, source, want string) {
	t.Helper()
	top := t.TempDir()
	s := Store{Dir: filepath.Join(top, "home", PackagesDir)}
	if _, err := s.Install(t.Context(), pack(t, t.TempDir(), "tiny", provider("old.run", "old", nil)), InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	before := names(t, top)
	_, err := s.Install(t.Context(), source, InstallOptions{Replace: true})
	if err == nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want a refusal with %q", err, want)
	}
	if after := names(t, top); !slices.Equal(before, after) {
		t.Errorf("before %v\nafter %v", before, after)
	}
	if c := catalog(t, s.Dir); len(c.Packages) != 1 || c.Packages[0].Manifest.AgentTaskExecutors[0].ID != "old.run" {
		t.Errorf("the old package is gone: %v %v", c.Packages, c.Problems)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestInstallOfDirectoriesRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(dir string) error
		want string
	}{
		"a link": {func(d string) error { return os.Symlink("/etc", filepath.Join(d, "l")) }, "is a symbolic link"},
		"a pipe": {func(d string) error { return syscall.Mkfifo(filepath.Join(d, "p"), 0o644) }, "is a FIFO"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := pack(t, t.TempDir(), "tiny", provider("tiny.run", "tiny", nil))
			if err := c.put(dir); err != nil {
				t.Fatal(err)
			}
			refused(t, dir, c.want)
		})
	}
}

// Case 17: a package whose command needs files outside of it is not copied, because the copy would not run; it is used in place.
// What only its tests need does not matter.
func TestInstallOfWhatNeedsItsNeighbours(t *testing.T) {
	t.Parallel()
	js := func(entry string) object {
		return provider("tiny.run", "tiny", object{"command": "node {{runtime_path}}/" + entry})
	}
	for name, c := range map[string]struct {
		provider object
		files    map[string]string
		want     string // "" is installed
	}{
		"by itself":            {js("run.cjs"), map[string]string{"run.cjs": `require("./lib")`, "lib/index.js": `require('./a'); require('fs')`, "lib/a.cjs": ""}, ""},
		"tests alone":          {js("run.cjs"), map[string]string{"run.cjs": "", "test/run.test.cjs": `require('../../../harness')`}, ""},
		"the command":          {js("run.cjs"), map[string]string{"run.cjs": `const c = require('../../agent-task-contracts')`}, "run.cjs takes ../../agent-task-contracts"},
		"through another file": {js("scripts/run.mjs"), map[string]string{"scripts/run.mjs": "import x from '../lib/x.mjs'", "lib/x.mjs": `export * from '../../lib/shared.mjs'`}, "lib/x.mjs takes ../../lib/shared.mjs"},
		"what it names":        {js("../lib/run.cjs"), nil, "a command names ../lib/run.cjs"},
		"a probe": {
			provider("tiny.run", "tiny", object{"readiness_invocation": object{"argv": []string{"node", "{{runtime_path}}/ready.js"}}}),
			map[string]string{"ready.js": `await import('../lib/ready.mjs')`},
			"ready.js takes ../lib/ready.mjs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			dir := pack(t, filepath.Join(repo, PackagesDir), "tiny", c.provider)
			write(t, "", repo, PackagesDir, "lib", "run.cjs")
			for file, text := range c.files {
				write(t, text, dir, file)
			}
			if c.want != "" {
				refused(t, dir, c.want)
				refused(t, repo, "deed runtime link")
			}
			s := Store{Dir: filepath.Join(t.TempDir(), PackagesDir)}
			if _, err := s.Install(t.Context(), repo, InstallOptions{ID: "tiny"}); (err == nil) != (c.want == "") {
				t.Errorf("installed: %v", err)
			}
			if _, err := s.Link(repo, InstallOptions{ID: "tiny", Replace: true}); err != nil {
				t.Errorf("linked: %v", err)
			}
		})
	}
}

func TestReplaceLinkAndRemove(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), PackagesDir)}
	first := pack(t, t.TempDir(), "tiny", provider("first.run", "b", nil))
	second := pack(t, t.TempDir(), "tiny", provider("second.run", "b", nil))
	one, err := s.Install(t.Context(), first, InstallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Install(t.Context(), second, InstallOptions{}); !errors.Is(err, ErrTaken) {
		t.Errorf("it was replaced unasked: %v", err)
	}
	two, err := s.Install(t.Context(), second, InstallOptions{Replace: true})
	if err != nil || two.Replaced == "" || two.Package.Manifest.AgentTaskExecutors[0].ID != "second.run" {
		t.Fatalf("%+v %v", two, err)
	}
	if _, err := os.Stat(filepath.Join(one.Package.Real, "run.sh")); err != nil {
		t.Errorf("what a run may still use is gone: %v", err)
	}
	linked, err := s.Link(first, InstallOptions{Replace: true})
	if err != nil || !linked.Package.Linked {
		t.Fatalf("%+v %v", linked, err)
	}
	if _, err := os.Stat(one.Package.Real); err == nil {
		t.Error("an old version is kept for ever")
	}
	if again, err := s.Link(first, InstallOptions{}); err != nil || !again.Same {
		t.Errorf("%+v %v", again, err)
	}
	if was, err := s.Remove("tiny"); err != nil || was != first {
		t.Errorf("%q %v", was, err)
	}
	if _, err := os.Stat(filepath.Join(first, "run.sh")); err != nil {
		t.Errorf("the files of a linked package were removed: %v", err)
	}
	var none *NotInstalled
	if _, err := s.Remove("tiny"); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"..", "", ".packages", "a/b", "-x"} {
		if _, err := s.Remove(id); err == nil {
			t.Errorf("%q was removed", id)
		}
	}
	if left := names(t, s.Dir); len(left) != 3 {
		t.Errorf("left behind: %v", left)
	}
}

func TestHandMadePackages(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), PackagesDir)}
	pack(t, s.Dir, "tiny", provider("hand.run", "b", nil))
	if _, err := s.Install(t.Context(), pack(t, t.TempDir(), "tiny", provider("new.run", "b", nil)), InstallOptions{Replace: true}); !errors.Is(err, ErrTaken) {
		t.Errorf("what somebody put there by hand was replaced: %v", err)
	}
	if _, err := s.Link(filepath.Join(s.Dir, "tiny"), InstallOptions{Replace: true}); !errors.Is(err, ErrRefused) {
		t.Errorf("a link to itself: %v", err)
	}
	if _, err := s.Remove("tiny"); err != nil {
		t.Error(err)
	}
	if c := catalog(t, s.Dir); len(c.Packages)+len(c.Problems) > 0 {
		t.Errorf("%v %v", c.Packages, c.Problems)
	}
}

// TestStoredFilesThatWereChanged: the same install makes them what they were.
func TestStoredFilesThatWereChanged(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), PackagesDir)}
	src := pack(t, t.TempDir(), "tiny", provider("tiny.run", "b", nil))
	in, err := s.Install(t.Context(), src, InstallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, "evil\n", in.Package.Real, "run.sh")
	if _, err := s.Install(t.Context(), src, InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(in.Package.Path, "run.sh")); err != nil || string(data) == "evil\n" {
		t.Errorf("%q %v", data, err)
	}
}

func TestInstallIsCalledOff(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), PackagesDir)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Install(ctx, pack(t, t.TempDir(), "tiny", provider("tiny.run", "b", nil)), InstallOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := names(t, s.Dir); len(left) != 3 {
		t.Errorf("left behind: %v", left)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"))
	f.Add(append([]byte("../evil"), make([]byte, 1024)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		top := t.TempDir()
		file, dir := filepath.Join(top, "a"), filepath.Join(top, "x")
		write(t, string(data), file)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = unpack(t.Context(), file, dir)
		if list, err := os.ReadDir(top); err != nil || len(list) != 2 {
			t.Errorf("something was written beside it: %v %v", list, err)
		}
	})
}
