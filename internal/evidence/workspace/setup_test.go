package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// testBundle is a base and a workspace that began as its copy.
type testBundle struct {
	t          tester
	root       string
	base, work string
	before     *Manifest
}

// setup seeds a base, clones it to a workspace and records that.
func setup(t *testing.T, seed func(d dir)) *testBundle {
	t.Helper()
	b := &testBundle{t: t, root: tempDir(t)}
	b.base, b.work = filepath.Join(b.root, "base"), filepath.Join(b.root, "work")
	d := newDir(t, b.base)
	if seed != nil {
		seed(d)
	}
	b.start()
	return b
}

func (b *testBundle) start() {
	b.t.Helper()
	if _, err := Clone(b.t.Context(), b.base, b.work); err != nil {
		b.t.Fatal(err)
	}
	b.before = snap(b.t, b.work, nil)
}

func (b *testBundle) w() dir { return dir{b.t, b.work} }

func (b *testBundle) capture() (*Manifest, ChangeSet) {
	b.t.Helper()
	after, cs, err := Capture(b.t.Context(), BaseAt(b.base), b.work, b.before)
	if err != nil {
		b.t.Fatal(err)
	}
	return after, cs
}

// patch writes the patch of a change set and returns its path and text.
func (b *testBundle) patch(cs ChangeSet) (string, string) {
	b.t.Helper()
	var out bytes.Buffer
	if err := WritePatch(b.t.Context(), b.base, b.work, cs, &out); err != nil {
		b.t.Fatal(err)
	}
	p := filepath.Join(b.root, "patch.diff")
	if err := os.WriteFile(p, out.Bytes(), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return p, out.String()
}

// verify checks the whole promise: the patch applies to a full copy of the base, by Apply and by a plain git apply,
// and gives the workspace; Check agrees.
func (b *testBundle) verify() (*Manifest, ChangeSet, string) {
	b.t.Helper()
	after, cs := b.capture()
	p, text := b.patch(cs)
	if err := Check(b.t.Context(), b.base, b.before, p, after, cs); err != nil {
		b.t.Fatalf("check: %v\n%s", err, clip(text))
	}
	for _, how := range []string{"apply", "git"} {
		dst := filepath.Join(b.root, "copy-"+how)
		if _, err := Clone(b.t.Context(), b.base, dst); err != nil {
			b.t.Fatal(err)
		}
		if how == "apply" {
			if err := Apply(b.t.Context(), dst, p); err != nil {
				b.t.Fatalf("apply: %v\n%s", err, clip(text))
			}
		} else if len(text) > 0 {
			gitIn(b.t, dst, "apply", "--whitespace=nowarn", p)
		}
		b.same(after, cs, dst)
		if err := Remove(dst); err != nil {
			b.t.Fatal(err)
		}
	}
	return after, cs, text
}

// same compares a patched copy of the base with the workspace, path by path, but for what the change set says is not
// carried.
func (b *testBundle) same(after *Manifest, cs ChangeSet, dst string) {
	b.t.Helper()
	loose := map[string]bool{}
	for _, ch := range cs.Changes {
		if ch.Class != ClassTracked {
			loose[ch.Path] = true
		}
	}
	got := snap(b.t, dst, nil)
	pick := func(m *Manifest) []Entry {
		var out []Entry
		for _, e := range m.Entries {
			if e.Kind.carried() && !loose[e.Path] {
				e.Mode &= 0o100
				out = append(out, e)
			}
		}
		return out
	}
	for _, d := range Compare(&Manifest{Entries: pick(after)}, &Manifest{Entries: pick(got)}) {
		b.t.Errorf("%s: %s", filepath.Base(dst), d)
	}
}

func clip(s string) string {
	if len(s) > 4000 {
		return s[:4000] + "…"
	}
	return s
}

func snap(t tester, root string, prev *Manifest) *Manifest {
	t.Helper()
	m, err := Snapshot(t.Context(), root, prev)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tempDir is like t.TempDir, but survives trees that os.RemoveAll cannot remove.
func tempDir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Remove(d); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return d
}

// A dir writes test trees.
type dir struct {
	t    tester
	root string
}

func newDir(t *testing.T, root string) dir {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir{t, root}
}

func (d dir) path(p string) string { return filepath.Join(d.root, p) }

func (d dir) do(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d dir) write(p, text string) {
	d.t.Helper()
	d.do(os.MkdirAll(filepath.Dir(d.path(p)), 0o755))
	d.do(os.WriteFile(d.path(p), []byte(text), 0o644))
}

func (d dir) exec(p, text string) {
	d.t.Helper()
	d.write(p, text)
	d.chmod(p, 0o755)
}

func (d dir) chmod(p string, mode fs.FileMode) { d.t.Helper(); d.do(os.Chmod(d.path(p), mode)) }
func (d dir) rm(p string)                      { d.t.Helper(); d.do(os.RemoveAll(d.path(p))) }
func (d dir) mkdir(p string)                   { d.t.Helper(); d.do(os.MkdirAll(d.path(p), 0o755)) }
func (d dir) fifo(p string)                    { d.t.Helper(); d.do(syscall.Mkfifo(d.path(p), 0o644)) }

func (d dir) link(target, p string) {
	d.t.Helper()
	d.do(os.MkdirAll(filepath.Dir(d.path(p)), 0o755))
	d.do(os.Symlink(target, d.path(p)))
}

func (d dir) read(p string) string {
	d.t.Helper()
	b, err := os.ReadFile(d.path(p))
	d.do(err)
	return string(b)
}

// gitIn runs git the way a person does, with a plain configuration.
func gitIn(t tester, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// summary is a change set in a form that reads well in a table.
func summary(cs ChangeSet) string {
	var b strings.Builder
	for _, ch := range cs.Changes {
		fmt.Fprintf(&b, "%s %s %s", ch.Class, ch.Status, EncodePath(ch.Path))
		if ch.Reason != "" {
			fmt.Fprintf(&b, " (%s)", ch.Reason)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func sha(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
