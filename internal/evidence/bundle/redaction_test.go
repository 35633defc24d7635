package bundle_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A placeholder of a secret is counted in every file, whatever put it there, and once.
func TestRedactionsCountWhatWasReplacedBefore(t *testing.T) {
	t.Parallel()
	const token, label = "hunter2hunter2", "[REDACTED:TOKEN]"
	for _, tc := range []struct {
		name    string
		secrets map[string]string
		patch   string
		add     func(w *bundle.Writer) error
		bend    func(in *bundle.SealInput)
		want    []evidence.RedactedArtifact
	}{
		{name: "nothing", secrets: map[string]string{"TOKEN": token}},
		{name: "no secrets", add: func(w *bundle.Writer) error {
			return w.AddBytes("files/extra.log", evidence.KindLog, evidence.TypeText, []byte(label))
		}},
		{
			name: "output that was redacted as it came", secrets: map[string]string{"TOKEN": token, "OTHER": "open sesame"},
			add: func(w *bundle.Writer) error {
				return w.AddReader("files/extra.log", evidence.KindLog, evidence.TypeText, strings.NewReader(label+"\n"+strings.Repeat("x", 70<<10)+label+" [REDACTED:OTHER]"))
			},
			want: []evidence.RedactedArtifact{{Path: "files/extra.log", Count: 3, Kinds: []string{"OTHER", "TOKEN"}}},
		},
		{
			name: "before and now, in lines and in one piece", secrets: map[string]string{"TOKEN": token},
			add: func(w *bundle.Writer) error {
				if err := w.AddJSON("files/extra.json", "extra", map[string]string{"a": label, "b": token}); err != nil {
					return err
				}
				return w.AddBytes("logs/more.jsonl", evidence.KindLog, evidence.TypeNDJSON, []byte(`{"a":"`+label+`"}`+"\n"+`{"b":"`+token+`"}`+"\n"))
			},
			want: []evidence.RedactedArtifact{
				{Path: "files/extra.json", Count: 2, Kinds: []string{"TOKEN"}},
				{Path: "logs/more.jsonl", Count: 2, Kinds: []string{"TOKEN"}},
			},
		},
		{
			name: "calls of tools", secrets: map[string]string{"TOKEN": token},
			add: func(w *bundle.Writer) error {
				call := evidence.ToolCall{CallID: "1", ToolName: "shell", ToolType: "builtin", Phase: "execution", Status: "succeeded"}
				tr, err := w.AddToolCalls([]bundle.ToolCallEvidence{{Call: call, Output: []byte(label)}}, nil)
				if err == nil && (tr.Redaction.Policy != evidence.RedactionApplied || tr.ToolCalls[0].Redaction.Policy != evidence.RedactionApplied) {
					t.Errorf("the transcript says %+v, the call %+v", tr.Redaction, tr.ToolCalls[0].Redaction)
				}
				return err
			},
			want: []evidence.RedactedArtifact{{Path: "files/runtime-evidence/tool-calls/0001-output.txt", Count: 1, Kinds: []string{"TOKEN"}}},
		},
		{
			name: "what the review and the metadata repeat", secrets: map[string]string{"TOKEN": token},
			bend: func(in *bundle.SealInput) {
				in.Summary, in.Task["goal"] = "said "+label+" and "+token, token
			},
			// The review has the provenance of the task, too.
			want: []evidence.RedactedArtifact{
				{Path: evidence.PathReview, Count: 3, Kinds: []string{"TOKEN"}},
				{Path: evidence.PathMetadata, Count: 1, Kinds: []string{"TOKEN"}},
			},
		},
		// A change that contains placeholders is as the agent made it, and applies.
		{name: "a change with a label", secrets: map[string]string{"TOKEN": token}, patch: "+" + label + "\n"},
		{
			name: "a change with a secret", secrets: map[string]string{"TOKEN": token}, patch: "+" + label + token + "\n",
			want: []evidence.RedactedArtifact{{Path: evidence.PathPatch, Count: 1, Kinds: []string{"TOKEN"}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Redactor: redact.New(tc.secrets), Key: key(t)})
			if err != nil {
				t.Fatal(err)
			}
			if err := fill(w, patch+tc.patch); err != nil {
				t.Fatal(err)
			}
			if tc.add != nil {
				if err := tc.add(w); err != nil {
					t.Fatal(err)
				}
			}
			in := input()
			if tc.bend != nil {
				tc.bend(&in)
			}
			out, err := w.Seal(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			bundletest.Check(t, out.Dir)
			if v := verify(t, out.Dir, bundle.VerifyOptions{}); !v.Valid {
				t.Errorf("violations: %+v", v.Violations)
			}
			agreeOnRedactions(t, out.Dir, tc.want)
		})
	}
}

// agreeOnRedactions compares the review, the metadata and the manifest of a bundle with what was replaced in its files.
func agreeOnRedactions(t *testing.T, dir string, files []evidence.RedactedArtifact) {
	t.Helper()
	want := evidence.RedactionSummary{Schema: evidence.SchemaRedaction, Status: evidence.RedactionClean, Artifacts: files}
	if want.Artifacts == nil {
		want.Artifacts = []evidence.RedactedArtifact{}
	}
	for _, f := range files {
		want.Status = evidence.RedactionRedacted
		want.Total += f.Count
	}
	var review evidence.Review
	var md evidence.Metadata
	var m evidence.Manifest
	for name, v := range map[string]any{evidence.PathReview: &review, evidence.PathMetadata: &md, evidence.PathManifest: &m} {
		if err := json.Unmarshal([]byte(read(t, dir, name)), v); err != nil {
			t.Fatal(err)
		}
	}
	kinds := 0
	for _, n := range md.Redaction.ByKind {
		kinds += n
	}
	if kinds != want.Total {
		t.Errorf("byKind is %v of %d", md.Redaction.ByKind, want.Total)
	}
	want.ByKind = md.Redaction.ByKind
	if diff := cmp.Diff(want, md.Redaction); diff != "" {
		t.Errorf("the metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(md.Redaction, *review.Redaction); diff != "" {
		t.Errorf("the review is not the metadata (-metadata +review):\n%s", diff)
	}
	if slices.Contains(review.RiskFlags, evidence.RiskSecretsRedacted) != (len(files) > 0) {
		t.Errorf("the risk flags are %v", review.RiskFlags)
	}
	var marked, listed []string
	for _, f := range m.Files {
		if f.Redaction != nil && f.Redaction.Policy == evidence.RedactionApplied {
			marked = append(marked, f.Path)
		}
	}
	for _, f := range files {
		listed = append(listed, f.Path)
	}
	slices.Sort(marked)
	slices.Sort(listed)
	if !slices.Equal(marked, listed) {
		t.Errorf("the manifest marks %v, and %v were redacted", marked, listed)
	}
}
