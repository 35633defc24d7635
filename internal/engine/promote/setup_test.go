package promote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

// A tree is content by path.
type tree map[string]string

func (tr tree) write(t *testing.T, dir string) {
	t.Helper()
	for name, content := range tr {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// A rig is a home with a key, a repository with one commit, and a promoter that really runs things.
type rig struct {
	t      *testing.T
	key    *bundle.Key
	repo   string
	commit string
	checks []deed.Check // of the bundles
	Promoter
}

const token = "hunter2hunter2"

func newRig(t *testing.T) *rig {
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
	now := func() time.Time { return time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC) }
	r := &rig{t: t, key: key, repo: filepath.Join(dir, "repo")}
	runner := &attempt.Runner{Home: h, Config: &config.Config{}, Clock: now, Environ: os.Environ()}
	r.Promoter = Promoter{
		Home: h, Clock: now, Redact: redact.New(map[string]string{"TOKEN": token}), Environ: os.Environ(), Dir: dir, Rerun: runner.Rerun,
		Supervisor: func(ctx context.Context) (*proc.Supervisor, error) { return proc.NewSupervisor(ctx, proc.Options{}) },
		Recorded: func(context.Context, string, bundle.Verification, string) (attempt.Rerun, func(), error) {
			return attempt.Rerun{Spec: deed.TaskSpec{Checks: r.checks}, Kind: sandbox.Process}, func() {}, nil
		},
	}
	r.git("init", "-q", "-b", "main", r.repo)
	r.commit = r.commitAll(tree{"a.txt": "one\n", "sub/b.txt": "b\n", "other.txt": "o\n"})
	return r
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) in(args ...string) string {
	r.t.Helper()
	return r.git(append([]string{"-C", r.repo}, args...)...)
}

// commitAll writes files and commits everything.
func (r *rig) commitAll(files tree) string {
	r.t.Helper()
	files.write(r.t, r.repo)
	r.in("add", "-A")
	r.in("commit", "-q", "-m", "m")
	return r.in("rev-parse", "HEAD")
}

// A change is what a bundle is made of; tests bend it.
type change struct {
	files   []evidence.ChangedFile
	patch   []byte
	verdict string
	noOp    bool
	key     *bundle.Key
	commit  string
	attempt string
}

// change is what makes of the commit's files the given ones; "" takes a file out.
func (r *rig) change(files tree) *change {
	r.t.Helper()
	base, work := filepath.Join(r.t.TempDir(), "base"), filepath.Join(r.t.TempDir(), "work")
	for _, dir := range []string{base, work} {
		r.git("clone", "-q", r.repo, dir)
		if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] != "" {
			tree{name: files[name]}.write(r.t, work)
		} else if err := os.Remove(filepath.Join(work, name)); err != nil {
			r.t.Fatal(err)
		}
	}
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
	c := &change{patch: patch.Bytes(), verdict: "accepted", key: r.key, commit: r.commit, attempt: "attempt-1"}
	for _, f := range cs.Files() {
		c.files = append(c.files, evidence.ChangedFile{
			Path: "/workspace/" + f.RelativePath, RelativePath: f.RelativePath, Status: f.Status, MountTarget: "/workspace",
			BeforeSHA256: f.BeforeSHA256, BeforeMode: f.BeforeMode, AfterSHA256: f.AfterSHA256, AfterMode: f.AfterMode, PatchPath: evidence.PathPatch,
		})
	}
	return c
}

// bundle seals a change.
func (r *rig) bundle(c *change) string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "bundle")
	w, err := bundle.Create(dir, bundle.Options{Key: c.key})
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
	contents := map[string]string{
		evidence.PathChangedFiles: string(list), evidence.PathPatch: string(c.patch),
	}
	kinds := map[string]string{evidence.PathChangedFiles: evidence.KindChangedFiles, evidence.PathPatch: evidence.KindPatch}
	for _, p := range append(bundle.Required(), bundle.PathVerdict) {
		data, ok := contents[p]
		if !ok {
			data = "{}"
		}
		if p == bundle.PathVerdict {
			data = fmt.Sprintf(`{"schema": %q, "accepted": %v, "no_op": %v, "reasons": [], "checks": []}`, deed.SchemaVerdict, c.verdict == "accepted", c.noOp)
		}
		kind := kinds[p]
		if kind == "" {
			kind = "log"
		}
		if err := w.AddBytes(p, kind, evidence.TypeText, []byte(data)); err != nil {
			r.t.Fatal(err)
		}
	}
	_, err = w.Seal(r.t.Context(), bundle.SealInput{
		Workspace: map[string]any{"commit": c.commit},
		CreatedAt: r.Clock(), Runtime: evidence.Runtime{ID: "a", Environment: evidence.Environment{Kind: "process"}},
		Statement: bundle.Statement{TaskID: "task-1", AttemptID: c.attempt, Verdict: c.verdict, Status: "completed", Containment: "process"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// simple is a bundle that changes, adds and deletes a file.
func (r *rig) simple() *change {
	return r.change(tree{"a.txt": "two\n", "sub/b.txt": "", "sub/new.txt": "n\n"})
}

func (r *rig) request(bundles ...string) Request {
	return Request{Bundles: bundles, To: r.repo, Branch: "deed/fix", By: "ada", Keys: []bundle.PublicKey{r.key.Public()}}
}

// promote promotes, and demands that the report is a valid one.
func (r *rig) promote(req Request) homeboy.PromotionReport {
	r.t.Helper()
	rep, err := r.Promote(r.t.Context(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := json.Marshal(rep)
	if err == nil {
		_, err = schema.Decode[homeboy.PromotionReport](homeboy.SchemaPromotionReport, text)
	}
	if err != nil {
		r.t.Fatalf("the report %s: %v", text, err)
	}
	return rep
}

// everything is every file below a directory, with its mode and content: nothing may be touched.
func everything(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			text := ""
			if fi.Mode().IsRegular() {
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				text = string(data)
			}
			out[p] = fmt.Sprintf("%v %v %s", fi.Mode(), fi.ModTime(), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func refusal(t *testing.T, err error) *Refusal {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("the error is %v, want a refusal", err)
	}
	return r
}

// codes lists the codes of a refusal.
func codes(r *Refusal) []string {
	var out []string
	for _, x := range r.Reasons {
		out = append(out, x.Code)
	}
	return slices.Compact(out)
}

// audited reads the statuses of the audit log; each line must be a valid record.
func (r *rig) audited() (out []string) {
	r.t.Helper()
	text, err := os.ReadFile(r.Home.ApplyAudit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		a, err := schema.Decode[evidence.ApplyAudit](evidence.SchemaApplyAudit, []byte(line))
		if err != nil {
			r.t.Fatalf("audit line %s: %v", line, err)
		}
		out = append(out, a.Status)
	}
	return out
}

// tidy asserts that nothing is left of any promotion.
func (r *rig) tidy() {
	r.t.Helper()
	if list, _ := os.ReadDir(r.Home.Tmp()); len(list) > 0 {
		r.t.Errorf("%s holds %v", r.Home.Tmp(), list)
	}
}
