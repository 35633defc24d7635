package bundle_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// What an unsigned bundle says of itself must be true of it: its hashes alone can be made by whoever wrote it last.
func TestRecordsOfAnotherBundle(t *testing.T) {
	t.Parallel()
	const other = evidence.BundleIDPrefix + "0000000000000000000000000000000000000000000000000000000000000000"
	patchSum := hashText(read(t, "testdata/golden", evidence.PathPatch))
	ref := func(p string, sum any) map[string]any {
		if sum == nil {
			return map[string]any{"path": p}
		}
		return map[string]any{"path": p, "sha256": sum}
	}
	artifact := func(v any) func(md, review map[string]any) {
		return func(md, _ map[string]any) { md["artifacts"].(map[string]any)["zz"] = v }
	}
	for _, tc := range []struct {
		name string
		do   func(md, review map[string]any)
		want []string // code and path of each violation
	}{
		{"nothing", func(map[string]any, map[string]any) {}, nil},
		{"metadata of another bundle", func(md, _ map[string]any) { md["id"] = other }, []string{"bundle-id-mismatch metadata.id"}},
		{"metadata of no bundle", func(md, _ map[string]any) { md["id"] = []any{"x"} }, []string{"bundle-id-mismatch metadata.id"}},
		{"metadata without an id", func(md, _ map[string]any) { delete(md, "id") }, nil},
		{
			"metadata of another digest", func(md, _ map[string]any) {
				md["contentDigest"] = map[string]any{"value": other[len(evidence.BundleIDPrefix):]}
			},
			[]string{"digest-mismatch metadata.contentDigest.value"},
		},
		{"review of another bundle", func(_, review map[string]any) { review["artifactId"] = other }, []string{"review-evidence-mismatch files/review.json:artifactId"}},
		{"an object", artifact(ref(evidence.PathPatch, nil)), nil},
		{"an object that points nowhere", artifact(ref("files/none", nil)), []string{"malformed-reference metadata.artifacts.zz.path"}},
		{"an object that points outside", artifact(ref("../x", nil)), []string{"invalid-path metadata.artifacts.zz.path"}},
		{"in a list", artifact([]any{evidence.PathPatch, ref("files/none", nil)}), []string{"malformed-reference metadata.artifacts.zz[1].path"}},
		{"by kind", artifact(map[string]any{"a": ref("files/none", nil), "b": map[string]any{"c": []any{ref("files/no", nil)}}}), []string{
			"malformed-reference metadata.artifacts.zz.a.path", "malformed-reference metadata.artifacts.zz.b.c[0].path",
		}},
		{"what is no path", artifact(map[string]any{"note": "files/none", "path": 7, "n": []any{"x", 1, nil}}), nil},
		{"a hash", artifact(ref(evidence.PathPatch, patchSum)), nil},
		{"a digest", artifact(ref(evidence.PathPatch, map[string]any{"algorithm": "sha256", "value": patchSum})), nil},
		{"another hash", artifact(ref(evidence.PathTestResults, patchSum)), []string{"file-hash-mismatch metadata.artifacts.zz.sha256"}},
		{"no hash", artifact(ref(evidence.PathPatch, "x")), []string{"missing-file-hash metadata.artifacts.zz.sha256"}},
		{"an earlier hash of what was written again", artifact(ref(evidence.PathReview, patchSum)), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, "testdata/golden")
			docs := map[string]map[string]any{evidence.PathMetadata: {}, evidence.PathReview: {}}
			for name, doc := range docs {
				if err := json.Unmarshal([]byte(read(t, dir, name)), &doc); err != nil {
					t.Fatal(err)
				}
			}
			tc.do(docs[evidence.PathMetadata], docs[evidence.PathReview])
			for name, doc := range docs {
				text, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				rewrite(t, dir, name, string(text))
			}
			v := verify(t, dir, bundle.VerifyOptions{})
			var got []string
			for _, x := range v.Violations {
				got = append(got, x.Code+" "+x.Path)
			}
			if !slices.Equal(got, tc.want) || v.Valid != (tc.want == nil) {
				t.Errorf("violations are %q, want %q", got, tc.want)
			}
		})
	}
}
