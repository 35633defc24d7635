package evidence_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
)

// Records of a bundle that was made elsewhere pass through the types unchanged: every field has its name, none is added.
func TestGoldenRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	for path, v := range map[string]any{
		evidence.PathManifest:           new(evidence.Manifest),
		evidence.PathChangedFiles:       new(evidence.ChangedFiles),
		evidence.PathTestResults:        new(evidence.TestResults),
		evidence.PathReview:             new(evidence.Review),
		evidence.PathToolCallTranscript: new(evidence.ToolCallTranscript),
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join("../../internal/evidence/bundle/testdata/golden", path))
			if err != nil {
				t.Fatal(err)
			}
			dec := json.NewDecoder(bytes.NewReader(want))
			dec.DisallowUnknownFields()
			if err := dec.Decode(v); err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}
