package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A tree is a directory as a test writes it: content by path. "-> x" is a link to x, a path that ends in * is executable.
type tree map[string]string

// write makes the tree at dir.
func (tr tree) write(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range tr {
		perm := fs.FileMode(0o644)
		if n, ok := strings.CutSuffix(name, "*"); ok {
			name, perm = n, 0o755
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, file)
		} else if err = os.WriteFile(file, []byte(content), perm); err == nil {
			err = os.Chmod(file, perm)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readTree reads a directory back, without .git.
func readTree(t *testing.T, dir string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			if list, _ := os.ReadDir(p); len(list) == 0 && rel != "." {
				out[rel+"/"] = ""
			}
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			out[rel] = "-> " + target
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fi, _ := d.Info()
			if fi.Mode()&0o100 != 0 {
				rel += "*"
			}
			out[rel] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A rig is a home with a key, and a directory in which a test puts things.
type rig struct {
	t   testing.TB
	dir string
	key *bundle.Key
	Applier
}

func newRig(t testing.TB) *rig {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	dir := t.TempDir()
	h, err := home.Open(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC)
	return &rig{t: t, dir: dir, key: key, Applier: Applier{
		Home: h, Clock: func() time.Time { return now }, Redact: redact.New(map[string]string{"TOKEN": "hunter2hunter2"}),
	}}
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// A change is what a bundle is made of; tests bend it.
type change struct {
	files   []evidence.ChangedFile
	patch   []byte
	secrets map[string]string
	verdict string
	reasons []string
	backend string
	more    map[string]string // further files of the bundle
	key     *bundle.Key
}

// change computes what separates two trees, as an attempt does.
func (r *rig) change(before, after tree) *change {
	r.t.Helper()
	base, work := filepath.Join(r.t.TempDir(), "base"), filepath.Join(r.t.TempDir(), "work")
	before.write(r.t, base)
	after.write(r.t, work)
	m, err := workspace.Snapshot(r.t.Context(), base, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	_, cs, err := workspace.Capture(r.t.Context(), workspace.BaseAt(base), work, m)
	if err != nil {
		r.t.Fatal(err)
	}
	var patch bytes.Buffer
	if err := workspace.WritePatch(r.t.Context(), base, work, cs, &patch); err != nil {
		r.t.Fatal(err)
	}
	c := &change{patch: patch.Bytes(), verdict: "accepted", key: r.key}
	for _, f := range cs.Files() {
		c.files = append(c.files, evidence.ChangedFile{
			Path: path.Join("/workspace", f.RelativePath), RelativePath: f.RelativePath, Status: f.Status, MountTarget: "/workspace",
			BeforeSHA256: f.BeforeSHA256, BeforeMode: f.BeforeMode, AfterSHA256: f.AfterSHA256, AfterMode: f.AfterMode, PatchPath: evidence.PathPatch,
		})
	}
	return c
}

// bundle seals a change.
func (r *rig) bundle(c *change) string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "bundle")
	w, err := bundle.Create(dir, bundle.Options{Key: c.key, Redactor: redact.New(c.secrets)})
	if err != nil {
		r.t.Fatal(err)
	}
	files := c.files
	if files == nil {
		files = []evidence.ChangedFile{}
	}
	list, err := json.Marshal(evidence.ChangedFiles{Schema: evidence.SchemaChangedFiles, Files: files})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range bundle.Required() {
		data, kind := []byte("{}"), "log"
		switch p {
		case evidence.PathChangedFiles:
			data, kind = list, evidence.KindChangedFiles
		case evidence.PathPatch:
			data, kind = c.patch, evidence.KindPatch
		}
		if err := w.AddBytes(p, kind, evidence.TypeText, data); err != nil {
			r.t.Fatal(err)
		}
	}
	for p, text := range c.more {
		if err := w.AddBytes(p, "extra", evidence.TypeJSON, []byte(text)); err != nil {
			r.t.Fatal(err)
		}
	}
	_, err = w.Seal(r.t.Context(), bundle.SealInput{
		CreatedAt: r.Clock(), Runtime: evidence.Runtime{ID: "a", Backend: c.backend, Environment: evidence.Environment{Kind: "process"}},
		Statement: bundle.Statement{TaskID: "t", AttemptID: "a", Verdict: c.verdict, Reasons: c.reasons, Status: "completed", Containment: "process"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return dir
}

func (r *rig) request(dir, to string) Request {
	return Request{Bundle: dir, To: to, By: "ada", Keys: []bundle.PublicKey{r.key.Public()}}
}

// tidy asserts that nothing of any apply is under way.
func (r *rig) tidy(target string) {
	r.t.Helper()
	for _, dir := range []string{r.openDir(), r.Home.Tmp()} {
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			r.t.Errorf("%s holds %v", dir, list)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(target, ".deed-*")); len(list) > 0 {
		r.t.Errorf("the directory holds %v", list)
	}
}

// lines reads the audit log; each line must be a valid record.
func (r *rig) lines() []evidence.ApplyAudit {
	r.t.Helper()
	text, err := os.ReadFile(r.Home.ApplyAudit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	var out []evidence.ApplyAudit
	for line := range strings.Lines(string(text)) {
		a, err := schema.Decode[evidence.ApplyAudit](evidence.SchemaApplyAudit, []byte(line))
		if err != nil {
			r.t.Fatalf("audit line %s: %v", line, err)
		}
		out = append(out, a)
	}
	return out
}

// reasons lists "code path" of a refusal.
func reasons(t *testing.T, err error) []string {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("the error is %v, want a refusal", err)
	}
	var out []string
	for _, x := range r.Reasons {
		out = append(out, strings.TrimSpace(x.Code+" "+x.Path))
	}
	return out
}

func same(t *testing.T, dir string, want tree) {
	t.Helper()
	if diff := cmp.Diff(want, readTree(t, dir)); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
}

func valid(t *testing.T, res evidence.ApplyResult) {
	t.Helper()
	text, err := json.Marshal(res)
	if err == nil {
		err = schema.Validate(evidence.SchemaApplyResult, text)
	}
	if err != nil {
		t.Errorf("the result is not valid: %v\n%s", err, text)
	}
}

func without(tr tree, paths ...string) tree {
	out := tree{}
	for k, v := range tr {
		if !slices.Contains(paths, k) {
			out[k] = v
		}
	}
	return out
}
