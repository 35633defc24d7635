package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// Trees that hold every kind of change: names that break naive readers of patches, links, modes, binary content, no final
// line feed, a file that becomes a directory and a directory that becomes a file.
var (
	manyBefore = tree{
		"a.txt": "one\n", "gone.txt": "bye\n", "dir/only.txt": "alone\n", "run.sh": "#!/bin/sh\n", "bin": "\x00\x01\x02", "keep.txt": "kept\n",
		"with space.txt": "x\n", "link": "-> a.txt", "was-file": "f\n", "was-dir/in": "d\n", "no-newline": "x", "crlf": "a\r\nb\r\n", "latin": "caf\xe9\n",
	}
	manyAfter = tree{
		"a.txt": "two\n", "run.sh*": "#!/bin/sh\n", "bin": "\x00\xff", "keep.txt": "kept\n", "with space.txt": "y\n", "link": "-> keep.txt",
		"was-file/in": "now a directory\n", "was-dir": "now a file\n", "no-newline": "y", "crlf": "a\r\nc\r\n", "latin": "caf\xe8\n",
		"new/deep/file": "n\n", "empty": "", "quote\"d": "q\n", "line\nbreak": "l\n", "tab\there": "t\n", "b\\slash": "b\n", "ümläut": "u\n", "\xff": "raw\n",
	}
)

func TestApplyAndUndo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.change(manyBefore, manyAfter))
	to := r.path("target")
	manyBefore.write(t, to)
	tree{"untouched": "mine\n"}.write(t, to)
	if err := os.Chmod(filepath.Join(to, "a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	before := readTree(t, to)

	req := r.request(dir, to)
	req.DryRun = true
	res, err := r.Apply(t.Context(), req)
	if err != nil || res.Status != evidence.ApplyDryRun {
		t.Fatalf("dry run: %+v, %v", res, err)
	}
	valid(t, res)
	same(t, to, before)

	req.DryRun = false
	res, err = r.Apply(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, res)
	want := without(manyAfter)
	want["untouched"] = "mine\n"
	same(t, to, want)
	if fi, err := os.Stat(filepath.Join(to, "a.txt")); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("the permissions of a.txt are %v, %v, want those it had", fi.Mode(), err)
	}
	r.tidy(to)

	undone, err := r.Undo(t.Context(), res.ApplyID[:13], "bob")
	if err != nil {
		t.Fatal(err)
	}
	valid(t, undone)
	same(t, to, before)
	if fi, err := os.Stat(filepath.Join(to, "a.txt")); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("the permissions of a.txt are %v, %v, want those it had", fi.Mode(), err)
	}
	r.tidy(to)
	if _, err := r.Undo(t.Context(), res.ApplyID, "bob"); !slices.Equal(reasons(t, err), []string{ReasonUndo}) {
		t.Errorf("a second undo: %v", err)
	}
	var got []string
	for _, l := range r.lines() {
		got = append(got, l.Operation+" "+l.Status+" "+l.Approver)
	}
	if diff := cmp.Diff([]string{"apply applied ada", "undo undone bob", "undo refused bob"}, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	// What was undone can be applied again.
	if _, err := r.Apply(t.Context(), req); err != nil {
		t.Error(err)
	}
}

func TestUndoRefusesWhatChangedSince(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.change(manyBefore, manyAfter))
	to := r.path("target")
	manyBefore.write(t, to)
	res, err := r.Apply(t.Context(), r.request(dir, to))
	if err != nil {
		t.Fatal(err)
	}
	tree{"a.txt": "mine\n", "gone.txt": "back\n"}.write(t, to)
	if err := os.Chmod(filepath.Join(to, "run.sh"), 0o644); err != nil {
		t.Fatal(err)
	}
	now := readTree(t, to)
	_, err = r.Undo(t.Context(), res.ApplyID, "ada")
	if diff := cmp.Diff([]string{"changed_since a.txt", "changed_since gone.txt", "changed_since run.sh"}, reasons(t, err)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	same(t, to, now)
	for _, id := range []string{"", "zz", "0"} {
		if _, err := r.Undo(t.Context(), id, "ada"); id != "0" && err == nil {
			t.Errorf("undo of %q: no error", id)
		}
	}
}

// Where a directory of the change has become a link, what it leads to is left alone, in the target and outside of it.
func TestUndoStaysInFrontOfLinks(t *testing.T) {
	t.Parallel()
	for _, outside := range []bool{true, false} {
		r := newRig(t)
		before, after := tree{"d/e/f": "1\n", "d/e/gone": "1\n", "x": "1\n"}, tree{"d/e/f": "2\n", "x": "2\n"}
		dir, to := r.bundle(r.change(before, after)), r.path("target")
		before.write(t, to)
		res, err := r.Apply(t.Context(), r.request(dir, to))
		if err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(to, "moved")
		if outside {
			moved = r.path("moved")
		}
		if err := errors.Join(os.Rename(filepath.Join(to, "d"), moved), os.Symlink(moved, filepath.Join(to, "d"))); err != nil {
			t.Fatal(err)
		}
		if !outside {
			if err := errors.Join(os.Remove(filepath.Join(to, "d")), os.Symlink("moved", filepath.Join(to, "d"))); err != nil {
				t.Fatal(err)
			}
		}
		_, err = r.Undo(t.Context(), res.ApplyID, "ada")
		if diff := cmp.Diff([]string{"symlink_parent d/e/f", "symlink_parent d/e/gone"}, reasons(t, err)); diff != "" {
			t.Errorf("reasons (-want +got):\n%s", diff)
		}
		for p, want := range map[string]string{filepath.Join(moved, "e/f"): "2\n", filepath.Join(to, "x"): "2\n"} {
			if text, err := os.ReadFile(p); err != nil || string(text) != want {
				t.Errorf("%s is %q, %v", p, text, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(moved, "e/gone")); err == nil {
			t.Error("a file was put back behind the link")
		}
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.change(manyBefore, manyAfter))
	to := r.path("target")
	manyBefore.write(t, to)
	req := r.request(dir, to)
	req.Approve = []string{"with space.txt", "/workspace/a.txt", "line\nbreak", `\xff`, "a.txt"}
	res, err := r.Apply(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := without(manyBefore)
	want["with space.txt"], want["a.txt"], want["line\nbreak"], want["\xff"] = "y\n", "two\n", "l\n", "raw\n"
	same(t, to, want)
	if len(res.AppliedFiles) != 4 {
		t.Errorf("applied files are %q", res.AppliedFiles)
	}
	req.Approve = []string{"a.txt", "keep.txt", "with"}
	_, err = r.Apply(t.Context(), req)
	if diff := cmp.Diff([]string{"approval_unknown keep.txt", "approval_unknown with"}, reasons(t, err)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// Every refusal: nothing is changed, every reason is reported, and the attempt is in the audit log.
func TestRefusals(t *testing.T) {
	t.Parallel()
	simple := func(r *rig) *change {
		return r.change(tree{"a.txt": "one\n", "sub/b.txt": "b\n"}, tree{"a.txt": "two\n", "sub/b.txt": "c\n", "sub/new.txt": "n\n"})
	}
	swap := func(dir, file, old, with string) {
		p := filepath.Join(dir, file)
		data, err := os.ReadFile(p)
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("%s has no %q: %v", p, old, err)
		}
		if err := os.WriteFile(p, []byte(strings.ReplaceAll(string(data), old, with)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const quiet = "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n"
	const sumX = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac" // of "x\n"
	added := func(name string) evidence.ChangedFile {
		return evidence.ChangedFile{Path: "/workspace/" + name, RelativePath: name, Status: "added", AfterSHA256: sumX, AfterMode: "100644", MountTarget: "/workspace", PatchPath: evidence.PathPatch}
	}
	for _, tc := range []struct {
		name   string
		change func(*rig, *change)
		tamper func(bundle string)
		target func(to string)
		req    func(*Request)
		want   []string // nil: only the code of the first counts
		code   string
	}{
		{name: "tampered patch", tamper: func(b string) { swap(b, evidence.PathPatch, "+two", "+evil") }, code: ReasonBundleInvalid},
		{name: "tampered change list", tamper: func(b string) { swap(b, evidence.PathChangedFiles, "a.txt", "b.txt") }, code: ReasonBundleInvalid},
		{name: "no bundle", tamper: func(b string) { _ = os.RemoveAll(b) }, code: ReasonBundleInvalid},
		{name: "hard link in the bundle", tamper: func(b string) { _ = os.Link(filepath.Join(b, evidence.PathPatch), b+".link") }, code: ReasonBundleInvalid},
		{
			name: "base drift", target: func(to string) { swap(to, "a.txt", "one", "ours"); _ = os.Remove(filepath.Join(to, "sub/b.txt")) },
			want: []string{"base_drift a.txt", "base_drift sub/b.txt"},
		},
		{name: "an added file is there", target: func(to string) { tree{"sub/new.txt": "n\n"}.write(t, to) }, want: []string{"base_drift sub/new.txt"}},
		{name: "a directory is there", target: func(to string) { tree{"sub/new.txt/x": "n\n"}.write(t, to) }, want: []string{"base_drift sub/new.txt"}},
		{name: "executable drift", target: func(to string) { _ = os.Chmod(filepath.Join(to, "a.txt"), 0o755) }, want: []string{"base_drift a.txt"}},
		{
			name: "symlink parent", target: func(to string) {
				_ = os.Rename(filepath.Join(to, "sub"), filepath.Join(to, "real"))
				_ = os.Symlink("real", filepath.Join(to, "sub"))
			},
			want: []string{"symlink_parent sub/b.txt", "symlink_parent sub/new.txt"},
		},
		{
			name: "symlink in place of a file", target: func(to string) {
				_ = os.Rename(filepath.Join(to, "a.txt"), filepath.Join(to, "other"))
				_ = os.Symlink("other", filepath.Join(to, "a.txt"))
			},
			want: []string{"base_drift a.txt"},
		},
		{name: "hard link", target: func(to string) { _ = os.Link(filepath.Join(to, "a.txt"), filepath.Join(to, "twin")) }, want: []string{"hard_link a.txt"}},
		{name: "special file", target: func(to string) { _ = os.Remove(filepath.Join(to, "a.txt")); mkfifo(t, filepath.Join(to, "a.txt")) }, want: []string{"base_drift a.txt"}},
		{name: "unapproved", req: func(r *Request) { r.Approve = []string{"none.txt"} }, want: []string{"approval_unknown none.txt"}},
		{name: "unknown workspace", req: func(r *Request) { r.Workspace = "/elsewhere" }, want: []string{"workspace_unknown /elsewhere"}},
		{name: "untrusted key", req: func(r *Request) { r.Keys = nil }, want: []string{ReasonSignature}},
		{name: "unsigned", change: func(_ *rig, c *change) { c.key = nil }, want: []string{ReasonSignature}},
		{name: "rejected", change: func(_ *rig, c *change) { c.verdict = "rejected" }, want: []string{ReasonNotAccepted}},
		{name: "redacted patch", change: func(_ *rig, c *change) { c.secrets = map[string]string{"K": "diff --git a/a.txt"} }, want: []string{"patch_redacted files/patch.diff"}},
		{
			name: "surprise extra file in the patch", change: func(_ *rig, c *change) { c.patch = append(c.patch, fmt.Sprintf(quiet, "extra")...) },
			want: []string{"patch_paths_mismatch extra"},
		},
		{name: "a file of the list is not in the patch", change: func(_ *rig, c *change) { c.files = append(c.files, added("ghost")) }, want: []string{"patch_paths_mismatch ghost"}},
		{
			// A second header inside a part: git sees two files, a reader of "diff --git" lines one.
			name: "surprise extra file hidden in a part", change: func(_ *rig, c *change) {
				c.patch = append([]byte("diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/hidden\n@@ -0,0 +1 @@\n+x\n"), c.patch...)
				c.files = append(c.files, added("x"))
			},
			want: []string{"result_mismatch hidden"},
		},
		{
			name: "another content than declared", change: func(_ *rig, c *change) { c.files[0].AfterSHA256 = sumX },
			want: []string{"result_mismatch a.txt"},
		},
		{name: "another mode than declared", change: func(_ *rig, c *change) { c.files[0].AfterMode = "100755" }, want: []string{"result_mismatch a.txt"}},
		{name: "status and digests differ", change: func(_ *rig, c *change) { c.files[0].Status = "added" }, want: []string{"change_list_invalid a.txt"}},
		{name: "no digest", change: func(_ *rig, c *change) { c.files[0].AfterSHA256 = "" }, code: ReasonChangeList},
		{name: "path escape", change: func(_ *rig, c *change) {
			c.patch = fmt.Appendf(nil, quiet, "../out")
			c.files = []evidence.ChangedFile{added("../out")}
		}, want: []string{"path_refused ../out"}},
		{name: "absolute path", change: func(_ *rig, c *change) {
			c.patch = fmt.Appendf(nil, quiet, "/out")
			c.files = []evidence.ChangedFile{added("/out")}
		}, want: []string{"path_refused /out"}},
		{name: "git hook", change: func(_ *rig, c *change) {
			c.patch = fmt.Appendf(nil, quiet, ".git/hooks/x")
			c.files = []evidence.ChangedFile{added(".git/hooks/x")}
		}, want: []string{"path_refused .git/hooks/x"}},
		{name: "git in other letters", change: func(_ *rig, c *change) {
			c.patch = fmt.Appendf(nil, quiet, "s/.GIT/config")
			c.files = []evidence.ChangedFile{added("s/.GIT/config")}
		}, want: []string{"path_refused s/.GIT/config"}},
		{name: "submodule", change: func(_ *rig, c *change) {
			c.patch = []byte("diff --git a/m b/m\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit x\n")
			c.files = []evidence.ChangedFile{added("m")}
		}, want: []string{ReasonPatch}},
		{name: "odd mode", change: func(_ *rig, c *change) {
			c.patch = []byte(strings.ReplaceAll(fmt.Sprintf(quiet, "m"), "100644", "104755"))
			c.files = []evidence.ChangedFile{added("m")}
		}, want: []string{ReasonPatch}},
		{name: "rename", change: func(_ *rig, c *change) {
			c.patch = []byte("diff --git a/a.txt b/m\nsimilarity index 100%\nrename from a.txt\nrename to m\n")
			c.files = []evidence.ChangedFile{added("m")}
		}, want: []string{ReasonPatch}},
		{name: "copy onto itself", change: func(_ *rig, c *change) {
			c.patch = []byte("diff --git a/m b/m\nsimilarity index 100%\ncopy from a.txt\ncopy to m\n")
			c.files = []evidence.ChangedFile{added("m")}
		}, want: []string{ReasonPatch}},
		{name: "text before the patch", change: func(_ *rig, c *change) { c.patch = append([]byte("--- a/a.txt\n+++ b/a.txt\n"), c.patch...) }, want: []string{ReasonPatch}},
		{name: "link out of the directory", change: func(r *rig, c *change) {
			*c = *r.change(tree{"a.txt": "one\n"}, tree{"a.txt": "one\n", "l": "-> ../../etc"})
		}, want: []string{"path_refused l"}},
		{name: "link to an absolute path", change: func(r *rig, c *change) { *c = *r.change(tree{}, tree{"l": "-> /etc/passwd"}) }, want: []string{"path_refused l"}},
		{name: "listed twice", change: func(_ *rig, c *change) { c.files = append(c.files, c.files[0]) }, want: []string{"change_list_invalid a.txt"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := simple(r)
			if tc.change != nil {
				tc.change(r, c)
			}
			dir := r.bundle(c)
			to := r.path("target")
			tree{"a.txt": "one\n", "sub/b.txt": "b\n"}.write(t, to)
			if tc.tamper != nil {
				tc.tamper(dir)
			}
			if tc.target != nil {
				tc.target(to)
			}
			names := listing(t, to)
			req := r.request(dir, to)
			if tc.req != nil {
				tc.req(&req)
			}
			for _, dry := range []bool{true, false} {
				req.DryRun = dry
				res, err := r.Apply(t.Context(), req)
				got := reasons(t, err)
				if tc.want != nil && !slices.Equal(got, tc.want) || tc.want == nil && !strings.HasPrefix(got[0], tc.code) {
					t.Errorf("dry run %v: reasons are %q, want %q %s", dry, got, tc.want, tc.code)
				}
				if res.Status != evidence.ApplyRefused || res.Error == nil || len(res.AppliedFiles) > 0 {
					t.Errorf("dry run %v: the result is %+v", dry, res)
				}
				valid(t, res)
			}
			if diff := cmp.Diff(names, listing(t, to)); diff != "" {
				t.Errorf("the directory changed:\n%s", diff)
			}
			r.tidy(to)
			if l := r.lines(); len(l) != 1 || l[0].Status != evidence.ApplyRefused || l[0].Error == nil {
				t.Errorf("audit is %+v", l)
			}
		})
	}
}

// listing names everything below a directory with its type, size and time: nothing may be touched.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if !d.IsDir() {
			out = append(out, fmt.Sprintf("%s %v %d %v", p, fi.Mode(), fi.Size(), fi.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestForce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.change(tree{}, tree{"a": "x\n"})
	c.verdict, c.key = "rejected", nil
	req := r.request(r.bundle(c), r.path("target"))
	tree{}.write(t, req.To)
	req.Force = true
	if _, err := r.Apply(t.Context(), req); err != nil {
		t.Error(err)
	}
	same(t, req.To, tree{"a": "x\n"})
}

// An empty change is a no-op, and says so.
func TestNoOp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tree{}.write(t, r.path("target"))
	res, err := r.Apply(t.Context(), r.request(r.bundle(r.change(tree{"a": "x"}, tree{"a": "x"})), r.path("target")))
	if err != nil || res.Status != evidence.ApplyNoOp {
		t.Errorf("%+v, %v", res, err)
	}
	valid(t, res)
}

// The bundle of several workspaces has their files side by side in one patch.
func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.change(tree{"w/one/a": "1\n", "w/two/a": "1\n"}, tree{"w/one/a": "one\n", "w/two/a": "two\n", "w/two/b": "new\n"})
	for i := range c.files {
		f := &c.files[i]
		rel := f.RelativePath
		f.MountTarget, f.RelativePath, f.Path = "/"+rel[:5], rel[6:], "/"+rel
	}
	dir := r.bundle(c)
	to := r.path("target")
	tree{"a": "1\n"}.write(t, to)
	req := r.request(dir, to)
	_, err := r.Apply(t.Context(), req)
	if got := reasons(t, err); !slices.Equal(got, []string{ReasonWorkspace}) {
		t.Errorf("without a choice: %v", got)
	}
	req.Workspace = "/w/two"
	if _, err := r.Apply(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	same(t, to, tree{"a": "two\n", "b": "new\n"})
	// One of them alone changed: the patch still has its prefix.
	c.files = c.files[:1]
	c.patch = c.patch[:strings.Index(string(c.patch), "diff --git a/w/two")]
	tree{"a": "1\n"}.write(t, r.path("other"))
	req = r.request(r.bundle(c), r.path("other"))
	if _, err := r.Apply(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	same(t, req.To, tree{"a": "one\n"})
}

// What an error quotes must not carry a secret into the log.
func TestAuditIsRedacted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tree{}.write(t, r.path("target"))
	req := r.request(r.bundle(r.change(tree{}, tree{"a": "x"})), r.path("target"))
	req.Approve = []string{"hunter2hunter2"}
	res, err := r.Apply(t.Context(), req)
	if err == nil || strings.Contains(fmt.Sprint(res.Error), "hunter2") {
		t.Errorf("the result is %+v, %v", res.Error, err)
	}
	text, _ := os.ReadFile(r.Home.ApplyAudit())
	if strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "REDACTED") {
		t.Errorf("the audit line is %s", text)
	}
	if fi, err := os.Stat(r.Home.ApplyAudit()); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the audit log has %v, %v", fi.Mode(), err)
	}
}

// Two appliers never work on one directory at once, whatever their homes.
func TestBusyTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tree{}.write(t, r.path("target"))
	s, err := openSite(r.path("target"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	_, err = r.Apply(t.Context(), r.request(r.bundle(r.change(tree{}, tree{"a": "x"})), r.path("target")))
	if got := reasons(t, err); !slices.Equal(got, []string{ReasonBusy}) {
		t.Errorf("reasons are %v", got)
	}
}

// The bundle that the original's own verifier and apply side accept is applied here.
func TestGoldenBundle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const golden = "../bundle/testdata/golden"
	tree{}.write(t, r.path("target"))
	req := r.request(golden, r.path("target"))
	req.Force = true
	if _, err := r.Apply(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	same(t, req.To, tree{"hello.txt": "hello\n"})
	p, err := Preflight(golden, []string{"/workspace/example/hello.txt"}, "ada", bundle.VerifyOptions{})
	if err != nil || !p.Ready || p.Payload.PatchSHA256 == "" {
		t.Errorf("preflight is %+v, %v", p, err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(evidence.SchemaApplyPreflight, text); err != nil {
		t.Error(err)
	}
}
