package extension

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/base/home"
)

// files writes files; what begins with #! is executable.
func files(t *testing.T, dir string, list map[string]string) string {
	t.Helper()
	for name, text := range list {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ext writes an extension with a script for each capability.
func ext(t *testing.T, place, id, more string, capabilities ...string) string {
	t.Helper()
	list := map[string]string{}
	manifest := fmt.Sprintf(`{"name": "The %s", "version": "1.2.3"`, id)
	for _, c := range capabilities {
		manifest += fmt.Sprintf(`, %q: {"extension_script": "scripts/%s.sh"}`, c, c)
		list["scripts/"+c+".sh"] = "#!/bin/sh\necho " + id + " " + c + " \"$@\"\n"
	}
	if more != "" {
		manifest += ", " + more
	}
	list[id+".json"] = manifest + "}"
	return files(t, filepath.Join(place, id), list)
}

func find(t *testing.T, p Places) *Set {
	t.Helper()
	s, err := Find(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindTakesTheFirstPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, top, home, extra := filepath.Join(dir, "p"), filepath.Join(dir, "top"), filepath.Join(dir, "h"), filepath.Join(dir, "x")
	ext(t, project, "both", `"id": "another", "later": {"kept": 1.50}`, "lint")
	ext(t, top, "both", "", "lint")
	ext(t, home, "both", "", "lint")
	ext(t, home, "go", "", "lint") // deed brings one too
	ext(t, home, ".hidden", "", "lint")
	files(t, home, map[string]string{"no-manifest/other.json": "{}", "file": "", "broken/broken.json": "{"})
	real := ext(t, extra, "checkout", "", "test")
	if err := os.Rename(filepath.Join(real, "checkout.json"), filepath.Join(real, "linked.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(home, "linked")); err != nil {
		t.Fatal(err)
	}
	s := find(t, Places{Project: []string{project, top}, Home: home, BuiltIn: filepath.Join(dir, "b")})

	both, err := s.Get("both")
	if err != nil || both.Path != filepath.Join(project, "both") || both.From != FromProject || both.ID != "both" {
		t.Errorf("both = %+v, %v", both, err)
	}
	if !strings.Contains(string(both.Manifest.Raw), `"later": {"kept": 1.50}`) {
		t.Errorf("Raw = %s", both.Manifest.Raw)
	}
	if diff := cmp.Diff([]string{filepath.Join(top, "both"), filepath.Join(home, "both")}, both.Hides); diff != "" {
		t.Error(diff)
	}
	if g, err := s.Get("go"); err != nil || g.BuiltIn || len(g.Hides) != 1 || !strings.Contains(g.Hides[0], "deed's own go") {
		t.Errorf("go = %+v, %v", g, err)
	}
	// A directory may be a link; its own name is the id, and its manifest has that name.
	if l, err := s.Get("linked"); err != nil || l.Path != filepath.Join(home, "linked") || !strings.HasPrefix(l.Digest, "sha256:") {
		t.Errorf("linked = %+v, %v", l, err)
	}
	if _, err := s.Get("broken"); err == nil || !strings.Contains(err.Error(), "broken.json:1:") {
		t.Errorf("broken: %v", err)
	}
	for _, id := range []string{".hidden", "no-manifest", "file"} {
		var missing *NotInstalled
		if _, err := s.Get(id); !errors.As(err, &missing) {
			t.Errorf("Get(%s): %v", id, err)
		}
	}
}

func TestFindByPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := ext(t, dir, "mine", "", "lint")
	ext(t, filepath.Join(dir, "home"), "mine", "", "lint")
	p := Places{Home: filepath.Join(dir, "home")}
	id, err := p.Use(mine + "/")
	if err != nil || id != "mine" {
		t.Fatalf("Use = %q, %v", id, err)
	}
	if e, err := find(t, p).Get("mine"); err != nil || e.Path != mine || e.From != FromPath || len(e.Hides) != 1 {
		t.Errorf("mine = %+v, %v", e, err)
	}
	if id, err := p.Use("mine"); err != nil || id != "mine" || len(p.Extra) != 1 {
		t.Errorf("Use(id) = %q, %v", id, err)
	}
	for _, bad := range []string{"", ".hidden"} {
		if _, err := p.Use(bad); err == nil {
			t.Errorf("Use(%q) is an extension", bad)
		}
	}
	if _, err := Find(Places{Extra: []string{filepath.Join(dir, "home")}}); err == nil || !strings.Contains(err.Error(), "home.json") {
		t.Errorf("a directory without a manifest: %v", err)
	}
	if _, err := Find(Places{Home: filepath.Join(dir, "gone"), Project: []string{filepath.Join(mine, "mine.json")}}); err != nil {
		t.Errorf("places that are not there: %v", err)
	}
}

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files(t, dir, map[string]string{".git/HEAD": "", "a/b/c": ""})
	h := home.At("/h")
	want := Places{Project: []string{filepath.Join(dir, "a/b", ProjectDir), filepath.Join(dir, ProjectDir)}, Home: "/h/extensions", BuiltIn: filepath.Join(h.Runtime(), "extensions")}
	if diff := cmp.Diff(want, PlacesOf(h, filepath.Join(dir, "a/b"))); diff != "" {
		t.Error(diff)
	}
	if p := PlacesOf(h, ""); p.Project != nil {
		t.Errorf("no project has places: %v", p.Project)
	}
	if p := ProjectPlaces(dir); len(p) != 1 {
		t.Errorf("the top has its place twice: %v", p)
	}
}

func TestManifestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"empty":     {`{}`, []string{"name is missing", "version is missing"}},
		"syntax":    {"{\n  \"name\": }", []string{"x.json:2:11", "not JSON"}},
		"cut":       {`{"name": "x"`, []string{"x.json:1:", "not JSON"}},
		"type":      {"{\n \"lint\": {\"extension_script\": 3}}", []string{"x.json:2:", "lint.extension_script", "number"}},
		"not a map": {`[]`, []string{"x.json"}},
		"out of it": {`{"name": "x", "version": "1", "lint": {"extension_script": "../../evil.sh"}, "scripts": {"fingerprint": "/bin/sh"}}`, []string{"lint.extension_script", "../../evil.sh", "scripts.fingerprint"}},
	} {
		_, err := decodeManifest("x.json", []byte(tc.text))
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error lacks %q: %v", name, w, err)
			}
		}
	}
	m, err := decodeManifest("x.json", []byte(`{"name": "x", "version": "odd", "build": {}, "test": {"timeout": 3}, "structured_sidecars": {"lint.findings": true}, "unknown": [1]}`))
	if err != nil || !m.Has("build") || m.Has("test") || m.Has("lint") || m.Has("audit") || len(m.Capabilities()) != 1 {
		t.Errorf("m = %+v, %v", m, err)
	}
}

func FuzzManifest(f *testing.F) {
	for _, s := range []string{`{"name":"x","version":"1"}`, `{"name":"x","version":"1","lint":{"extension_script":"a/../b"}}`, "{", "[]", `{"build":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest("f.json", data)
		if err != nil {
			return
		}
		for _, s := range m.scripts() {
			if s.path != "" && !filepath.IsLocal(s.path) {
				t.Errorf("%q leads out of the extension", s.path)
			}
		}
	})
}

func TestDigestFollowsTheFiles(t *testing.T) {
	t.Parallel()
	dir := ext(t, t.TempDir(), "e", "", "lint", "test")
	script := filepath.Join(dir, "scripts/lint.sh")
	digest := func() string {
		t.Helper()
		d, err := Digest(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := map[string]string{}
	differs := func(what string) {
		t.Helper()
		d := digest()
		if was, there := seen[d]; there {
			t.Errorf("%s: the digest is that of %s", what, was)
		}
		seen[d] = what
	}
	differs("the beginning")
	fi, err := os.Stat(script)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	// As an agent would hide it: the same size, the same time.
	evil := strings.Replace(string(text), "echo", "exit", 1)
	if err := os.WriteFile(script, []byte(evil), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(script, time.Time{}, fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	differs("other content with the same size and time")
	if err := os.Chmod(script, 0o644); err != nil {
		t.Fatal(err)
	}
	differs("another mode")
	files(t, dir, map[string]string{"new": ""})
	differs("a new file")
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "new2")); err != nil {
		t.Fatal(err)
	}
	differs("another name")
	outside := filepath.Join(files(t, t.TempDir(), map[string]string{"lib.sh": "one"}), "lib.sh")
	if err := os.Symlink(outside, filepath.Join(dir, "lib.sh")); err != nil {
		t.Fatal(err)
	}
	differs("a link")
	if err := os.WriteFile(outside, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	differs("what a link leads to")
	for _, to := range []string{"/nowhere", t.TempDir(), "."} {
		if err := os.Symlink(to, filepath.Join(dir, "l"+fmt.Sprint(len(seen)))); err != nil {
			t.Fatal(err)
		}
		differs("a link to " + to)
	}
	before := digest()
	files(t, dir, map[string]string{".git/HEAD": "x", "sub/.git": "gitdir: y"})
	if after := digest(); after != before {
		t.Error(".git counts")
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Digest(dir); err == nil || !strings.Contains(err.Error(), "fifo") {
		t.Errorf("a fifo: %v", err)
	}
}

func TestDigestIsTheSameAnywhere(t *testing.T) {
	t.Parallel()
	a, err := Digest(ext(t, t.TempDir(), "e", "", "lint"))
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "e")
	if err := os.Symlink(ext(t, t.TempDir(), "e", "", "lint"), link); err != nil {
		t.Fatal(err)
	}
	if b, err := Digest(link); err != nil || a != b {
		t.Errorf("%s and %s, %v", a, b, err)
	}
}

func TestBuiltInIsUnpacked(t *testing.T) {
	t.Parallel()
	if len(builtInIDs()) == 0 {
		t.Fatal("deed brings no extension")
	}
	dir := filepath.Join(t.TempDir(), "deep", "er")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, id := range builtInIDs() {
				if _, _, err := materialise(dir, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range builtInIDs() {
		path, digest, err := materialise(dir, id)
		if err != nil || filepath.Base(path) != id {
			t.Fatalf("%s, %v", path, err)
		}
		if got, err := Digest(path); err != nil || got != digest {
			t.Errorf("%s: unpacked it is %s, embedded %s, %v", id, got, digest, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What an agent that ran as deed's user left in the home never runs.
func TestBuiltInIsMadeAnewWhenItIsChanged(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), builtInIDs()[0]
	path, digest, err := materialise(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(path, id+".json")
	files(t, dir, map[string]string{".new-1/x/y": "what a crash left"})
	for name, harm := range map[string]func() error{
		"content": func() error { return os.WriteFile(manifest, []byte(`{"name":"evil","version":"1"}`), 0o644) },
		"mode":    func() error { return os.Chmod(manifest, 0o755) },
		"more":    func() error { return os.WriteFile(filepath.Join(path, "more.sh"), nil, 0o755) },
		"link": func() error {
			return errors.Join(os.Rename(manifest, manifest+".real"), os.Symlink(manifest+".real", manifest))
		},
		"gone":       func() error { return os.Remove(manifest) },
		"half there": func() error { return os.RemoveAll(path) },
		"a file":     func() error { return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := materialise(dir, id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := Digest(path); err != nil || got != digest {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, _, err := materialise(filepath.Join(manifest, "below"), id); err == nil {
		t.Error("unpacked below a file")
	}
}
