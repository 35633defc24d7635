package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/evidence/bundle"
)

// A file whose name is a byte, and a file whose name is the way in which documents write that byte.
var twins = tree{"bad\xffutf": "byte\n", `bad\xffutf`: "text\n"}

// twinsBundle seals a change that adds both; with earlier, as a deed did that had one name for them.
func (r *rig) twinsBundle(earlier bool) string {
	c := r.change(tree{"a": "a\n"}, tree{"a": "a\n", "bad\xffutf": "byte\n", `bad\xffutf`: "text\n"})
	for i := range c.files {
		if f := &c.files[i]; earlier {
			f.RelativePath = strings.ReplaceAll(f.RelativePath, `\\`, `\`)
			f.Path = strings.ReplaceAll(f.Path, `\\`, `\`)
		}
	}
	return r.bundle(c)
}

func TestApplyNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	for form, earlier := range map[string]bool{"of deed": false, "of an earlier deed": true} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			dir := r.twinsBundle(earlier)
			for _, c := range []struct {
				approve []string
				want    tree
				applied []string
			}{
				{nil, twins, []string{`bad\\xffutf`, `bad\xffutf`}},
				{[]string{"bad\xffutf"}, tree{"bad\xffutf": "byte\n"}, []string{`bad\xffutf`}},
				{[]string{`bad\\xffutf`}, tree{`bad\xffutf`: "text\n"}, []string{`bad\\xffutf`}},
				{[]string{`/workspace/bad\\xffutf`, "/workspace/bad\xffutf"}, twins, []string{`bad\\xffutf`, `bad\xffutf`}},
			} {
				to := t.TempDir()
				req := r.request(dir, to)
				req.Approve = c.approve
				res, err := r.Apply(t.Context(), req)
				if err != nil {
					t.Fatalf("%q: %v", c.approve, err)
				}
				if diff := cmp.Diff(c.applied, res.AppliedFiles); diff != "" {
					t.Errorf("%q: applied (-want +got):\n%s", c.approve, diff)
				}
				same(t, to, c.want)
				if _, err := r.Undo(t.Context(), res.ApplyID, "ada"); err != nil {
					t.Errorf("%q: %v", c.approve, err)
				}
				same(t, to, tree{})
			}
			to := t.TempDir()
			req := r.request(dir, to)
			req.Approve = []string{`bad\xffutf`}
			_, err := r.Apply(t.Context(), req)
			if err == nil || !strings.Contains(err.Error(), `approve the first as bad\\xffutf`) {
				t.Errorf("a name of two files: %v", err)
			}
			req.Approve = []string{"gone\xff"}
			_, err = r.Apply(t.Context(), req)
			if diff := cmp.Diff([]string{`approval_unknown gone\xff`}, reasons(t, err)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			same(t, to, tree{})
		})
	}
}

// A staged apply keeps the names of documents, which mean one file each.
func TestStageNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := t.TempDir()
	req := r.request(r.twinsBundle(false), to)
	req.Approve = []string{"bad\xffutf"}
	p, err := r.Stage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resolve(t.Context(), p.ActionID, Resolution{Approve: true, By: "ada", Keys: req.Keys}); err != nil {
		t.Fatal(err)
	}
	same(t, to, tree{"bad\xffutf": "byte\n"})
}

func TestPreflightNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.twinsBundle(false)
	for _, c := range []struct {
		approve []string
		ready   bool
	}{
		{[]string{`bad\xffutf`, `bad\\xffutf`}, true},
		{[]string{"bad\xffutf", `bad\\xffutf`}, true},
		{[]string{`bad\xffutf`}, false},
		{[]string{`bad\xffutf`, "bad\xffutf"}, false},
	} {
		p, err := Preflight(dir, c.approve, "ada", bundle.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Ready != c.ready {
			t.Errorf("%q: ready is %v: %+v", c.approve, p.Ready, p.Violations)
		}
		if p.Payload != nil && !slices.Equal(p.Payload.ApprovedFiles, []string{`bad\\xffutf`, `bad\xffutf`}) {
			t.Errorf("%q: approved are %q", c.approve, p.Payload.ApprovedFiles)
		}
	}
}
