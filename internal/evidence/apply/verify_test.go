package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// A change list that is about other files than the patch is reported also to those who only verify.
func TestVerifyComparesListAndPatch(t *testing.T) {
	t.Parallel()
	const extra = "diff --git a/extra b/extra\nnew file mode 100644\n--- /dev/null\n+++ b/extra\n@@ -0,0 +1 @@\n+x\n"
	ghost := evidence.ChangedFile{
		Path: "/workspace/ghost", RelativePath: "ghost", MountTarget: "/workspace", Status: evidence.ChangeAdded, AfterSHA256: strings.Repeat("0", 64), AfterMode: "100644",
	}
	for _, tc := range []struct {
		name   string
		change func(c *change)
		want   []string // nil: it is valid
	}{
		{name: "the same", change: func(*change) {}},
		{name: "nothing", change: func(c *change) { c.files, c.patch = nil, nil }},
		{name: "a file of the list is not in the patch", change: func(c *change) { c.files = append(c.files, ghost) }, want: []string{"ghost: ghost is in the change list and not in the patch"}},
		{name: "a file of the patch is not in the list", change: func(c *change) { c.patch = append(c.patch, extra...) }, want: []string{"extra: extra is in the patch and not in the change list"}},
		{name: "both", change: func(c *change) { c.files, c.patch = append(c.files, ghost), append(c.patch, extra...) }, want: []string{
			"ghost: ghost is in the change list and not in the patch", "extra: extra is in the patch and not in the change list",
		}},
		{name: "a file is in the patch three times, in the list once", change: func(c *change) {
			c.files = append(c.files, ghost)
			c.patch = append(c.patch, strings.Repeat(strings.ReplaceAll(extra, "extra", "ghost"), 3)...)
		}, want: []string{"ghost: ghost is in the patch more than once"}},
		{name: "an empty list", change: func(c *change) { c.files = nil }, want: []string{
			"a: a is in the patch and not in the change list", `line` + "\n" + `break: "line\nbreak" is in the patch and not in the change list`,
		}},
		{name: "listed and not carried", change: func(c *change) {
			ghost := ghost
			ghost.Class = "ignored"
			c.files = append(c.files, ghost)
		}},
		// Still evidence: of a run that ended before its patch was made, of a patch that is no plain one, of one that is redacted.
		{name: "no patch", change: func(c *change) { c.patch = nil }},
		{name: "a patch that is none of ours", change: func(c *change) { c.patch = []byte("--- a/a\n+++ b/a\n") }},
		{name: "redacted", change: func(c *change) { c.secrets, c.patch = map[string]string{"K": "a/extra b"}, append(c.patch, extra...) }},
		{name: "unsigned", change: func(c *change) { c.key, c.files = nil, append(c.files, ghost) }, want: []string{"ghost: ghost is in the change list and not in the patch"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.change(tree{"a": "1\n"}, tree{"a": "2\n", "line\nbreak": "x\n"})
			tc.change(c)
			dir := r.bundle(c)
			if rep, err := bundle.Verify(dir, bundle.VerifyOptions{}); err != nil || !rep.Valid {
				t.Fatalf("its hashes are wrong: %+v, %v", rep.Violations, err)
			}
			rep, err := Verify(dir, bundle.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range rep.Violations {
				if v.Code != CodeChangeListMismatch {
					t.Errorf("the violation is %+v", v)
				}
				got = append(got, v.File+": "+v.Message)
			}
			if !slices.Equal(got, tc.want) || rep.Valid != (tc.want == nil) {
				t.Errorf("valid is %v for %q, want %q", rep.Valid, got, tc.want)
			}
			if e, err := Envelope(dir, bundle.VerifyOptions{}); err != nil || e.Verification.Valid != rep.Valid {
				t.Errorf("the envelope says %+v, %v", e.Verification, err)
			}
		})
	}
	if rep, err := Verify("../bundle/testdata/golden", bundle.VerifyOptions{}); err != nil || !rep.Valid {
		t.Errorf("the golden bundle: %+v, %v", rep.Violations, err)
	}
}
