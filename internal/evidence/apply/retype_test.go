package apply

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// Files that become links and links that become files, which git writes as a deletion and an addition, together with plain
// changes.
var (
	typesBefore = tree{"a": "1\n", "f": "file\n", "run*": "#!/bin/sh\n", "bin": "\x00\x01", "empty": "", "l": "-> g", "d/l": "-> ../g", "g": "g\n", "x y": "-> g"}
	typesAfter  = tree{"a": "2\n", "f": "-> g", "run": "-> f", "bin": "-> d/l", "empty": "-> g", "l": "file now\n", "d/l*": "#!/bin/sh\n", "g": "g\n", "x y": "\x00\x02"}
)

func TestApplyOfAnotherType(t *testing.T) {
	t.Parallel()
	for name, way := range map[string][2]tree{"there": {typesBefore, typesAfter}, "back": {typesAfter, typesBefore}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			before, after := way[0], way[1]
			c := r.change(before, after)
			dir, to := r.bundle(c), r.path("target")
			before.write(t, to)
			if rep, err := Verify(dir, bundle.VerifyOptions{}); err != nil || !rep.Valid {
				t.Errorf("verify: %+v, %v", rep.Violations, err)
			}
			var all []string
			for _, f := range c.files {
				all = append(all, f.RelativePath)
			}
			if p, err := Preflight(dir, all, "ada", bundle.VerifyOptions{}); err != nil || !p.Ready || len(p.Payload.ApprovedFiles) != 8 {
				t.Errorf("preflight: %+v, %v", p.Violations, err)
			}
			req := r.request(dir, to)
			req.DryRun = true
			if res, err := r.Apply(t.Context(), req); err != nil || res.Status != evidence.ApplyDryRun {
				t.Fatalf("dry run: %+v, %v", res, err)
			}
			same(t, to, before)
			req.DryRun = false
			undo := func(want tree) {
				t.Helper()
				res, err := r.Apply(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				valid(t, res)
				same(t, to, want)
				if _, err := r.Undo(t.Context(), res.ApplyID, "ada"); err != nil {
					t.Fatal(err)
				}
				same(t, to, before)
				r.tidy(to)
			}
			undo(after)
			// One file of each, and none of them.
			req.Approve = []string{"f", "l"}
			some := without(before)
			some["f"], some["l"] = after["f"], after["l"]
			undo(some)
			req.Approve = []string{"a"}
			one := without(before)
			one["a"] = after["a"]
			undo(one)
		})
	}
}

func TestRecoverOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]tree{{typesBefore, typesAfter}, {typesAfter, typesBefore}} {
		for n := range len(typesBefore) {
			r := newRig(t)
			dir, to := r.bundle(r.change(way[0], way[1])), r.path("target")
			way[0].write(t, to)
			interrupted(t, r, dir, to, n)
			if res, err := r.Undo(t.Context(), "0000", "ada"); err != nil || res.Status != evidence.ApplyRolledBack {
				t.Fatalf("after %d steps: %+v, %v", n, res, err)
			}
			same(t, to, way[0])
			r.tidy(to)
		}
	}
}

// The base must be of the type that the agent found, whatever it has for content, and an undo finds what the apply left.
func TestTypeDrift(t *testing.T) {
	t.Parallel()
	before, after := tree{"f": "g", "l": "-> g", "g": "g\n"}, tree{"f": "-> g", "l": "g", "g": "g\n"}
	r := newRig(t)
	dir, to := r.bundle(r.change(before, after)), r.path("target")
	after.write(t, to) // the digests are the same
	_, err := r.Apply(t.Context(), r.request(dir, to))
	if diff := cmp.Diff([]string{"base_drift f", "base_drift l"}, reasons(t, err)); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	same(t, to, after)

	other := r.path("other")
	before.write(t, other)
	res, err := r.Apply(t.Context(), r.request(dir, other))
	if err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(other, "f")
	if err := errors.Join(os.Remove(f), os.WriteFile(f, []byte("g"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = r.Undo(t.Context(), res.ApplyID, "ada")
	if diff := cmp.Diff([]string{"changed_since f"}, reasons(t, err)); diff != "" {
		t.Errorf("reasons of the undo (-want +got):\n%s", diff)
	}
}

// Whatever else has a path more than once is refused, and a change list that says something else than the patch as well.
func TestRefusalsOfAnotherType(t *testing.T) {
	t.Parallel()
	halves := func(c *change) (gone, there []byte) {
		at := bytes.LastIndex(c.patch, []byte("diff --git a/f b/f\n"))
		return c.patch[:at], c.patch[at:]
	}
	twice := []string{"patch_paths_mismatch f"}
	for _, tc := range []struct {
		name   string
		change func(r *rig, c *change)
		want   []string
		says   string // nothing: that it is there more than once
		late   bool   // found when the change is staged, so that a preflight does not
	}{
		{name: "added, then deleted", change: func(_ *rig, c *change) { gone, there := halves(c); c.patch = slices.Concat(there, gone) }, want: twice},
		{name: "added twice", change: func(_ *rig, c *change) { _, there := halves(c); c.patch = slices.Concat(there, there) }, want: twice},
		{name: "three times", change: func(_ *rig, c *change) { _, there := halves(c); c.patch = slices.Concat(c.patch, there) }, want: twice},
		{name: "there and back", change: func(r *rig, c *change) {
			c.patch = slices.Concat(c.patch, r.change(tree{"f": "-> g"}, tree{"f": "file\n"}).patch)
		}, want: twice},
		{name: "modified twice", change: func(r *rig, c *change) {
			*c = *r.change(tree{"f": "file\n"}, tree{"f": "other\n"})
			c.patch = slices.Concat(c.patch, c.patch)
		}, want: twice},
		{name: "deleted and added as a file", change: func(r *rig, c *change) {
			gone, there := r.change(tree{"f": "file\n"}, tree{}).patch, r.change(tree{}, tree{"f": "other\n"}).patch
			*c = *r.change(tree{"f": "file\n"}, tree{"f": "other\n"})
			c.patch = slices.Concat(gone, there)
		}, want: twice},
		{
			name: "listed as a file", change: func(_ *rig, c *change) { c.files[0].AfterMode = "100644" },
			want: []string{"result_mismatch f"}, says: "f becomes 120000 where it was 100644 by the patch, and the change list does not say so",
		},
		{
			name: "listed as a link before", change: func(_ *rig, c *change) { c.files[0].BeforeMode = "120000" },
			want: []string{"result_mismatch f"}, says: "and the change list does not say so",
		},
		{name: "listed as added", change: func(_ *rig, c *change) {
			c.files[0].Status, c.files[0].BeforeMode, c.files[0].BeforeSHA256 = "added", "", ""
		}, want: []string{"result_mismatch f"}, says: "and the change list does not say so"},
		{name: "listed as deleted", change: func(_ *rig, c *change) {
			c.files[0].Status, c.files[0].AfterMode, c.files[0].AfterSHA256 = "deleted", "", ""
		}, want: []string{"result_mismatch f"}, says: "and the change list does not say so"},
		{
			name: "only deleted", change: func(_ *rig, c *change) { c.patch, _ = halves(c) },
			want: []string{"result_mismatch f"}, says: "f becomes 120000 where it was 100644 by the change list, and the patch does not do so",
		},
		{name: "listed twice, once for each half", change: func(_ *rig, c *change) {
			gone, there := c.files[0], c.files[0]
			gone.Status, gone.AfterMode, gone.AfterSHA256 = "deleted", "", ""
			there.Status, there.BeforeMode, there.BeforeSHA256 = "added", "", ""
			c.files = []evidence.ChangedFile{gone, there}
		}, want: []string{"result_mismatch f", "change_list_invalid f"}, says: "f is in the change list twice"},
		{
			name: "to another target than listed", change: func(_ *rig, c *change) { c.patch = bytes.ReplaceAll(c.patch, []byte("\n+g\n"), []byte("\n+h\n")) },
			want: []string{"result_mismatch f"}, says: "another content", late: true,
		},
		{
			name: "out of the directory", change: func(r *rig, c *change) { *c = *r.change(tree{"f": "file\n"}, tree{"f": "-> ../../etc"}) },
			want: []string{"path_refused f"}, says: "out of the directory", late: true,
		},
		{
			name: "to an absolute path", change: func(r *rig, c *change) { *c = *r.change(tree{"f": "file\n"}, tree{"f": "-> /etc/passwd"}) },
			want: []string{"path_refused f"}, says: "out of the directory", late: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.change(tree{"f": "file\n"}, tree{"f": "-> g"})
			tc.change(r, c)
			dir, to := r.bundle(c), r.path("target")
			tree{"f": "file\n"}.write(t, to)
			_, err := r.Apply(t.Context(), r.request(dir, to))
			if diff := cmp.Diff(tc.want, reasons(t, err)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if tc.says == "" {
				tc.says = "f is in the patch more than once"
				if rep, err := Verify(dir, bundle.VerifyOptions{}); err != nil || rep.Valid || rep.Violations[0].Message != tc.says {
					t.Errorf("verify: %+v, %v", rep.Violations, err)
				}
			}
			if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), notInList) {
				t.Errorf("it says %v", err)
			}
			if p, err := Preflight(dir, []string{"f"}, "ada", bundle.VerifyOptions{}); err != nil || p.Ready != tc.late {
				t.Errorf("preflight is ready: %v %+v, %v", p.Ready, p.Violations, err)
			}
			same(t, to, tree{"f": "file\n"})
			r.tidy(to)
		})
	}
	// A maker that states no modes leaves them to the patch.
	r := newRig(t)
	c := r.change(tree{"f": "file\n"}, tree{"f": "-> g"})
	c.files[0].BeforeMode, c.files[0].AfterMode = "", ""
	to := r.path("target")
	tree{"f": "file\n"}.write(t, to)
	if _, err := r.Apply(t.Context(), r.request(r.bundle(c), to)); err != nil {
		t.Error(err)
	}
	same(t, to, tree{"f": "-> g"})
}
