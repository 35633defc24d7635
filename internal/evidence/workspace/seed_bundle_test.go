package workspace

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// sealBundle makes a real bundle of a change.
func sealBundle(t *testing.T, files []evidence.ChangedFile, patch string, hide map[string]string) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "bundle")
	w, err := bundle.Create(dir, bundle.Options{Redactor: redact.New(hide)})
	if err != nil {
		t.Fatal(err)
	}
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	do(w.AddJSON(evidence.PathChangedFiles, evidence.KindChangedFiles, evidence.ChangedFiles{Schema: evidence.SchemaChangedFiles, Files: files}),
		w.AddBytes(evidence.PathPatch, evidence.KindPatch, evidence.TypeDiff, []byte(patch)))
	id, _, err := w.ContentID()
	do(err,
		w.AddBytes(evidence.PathEvents, evidence.KindEvents, evidence.TypeNDJSON, nil),
		w.AddBytes(evidence.PathCommands, evidence.KindCommands, evidence.TypeNDJSON, nil),
		w.AddBytes(evidence.PathObservations, evidence.KindObservations, evidence.TypeNDJSON, nil),
		w.AddBytes(evidence.PathRuntimeLog, evidence.KindLog, evidence.TypeText, nil),
		w.AddBytes(evidence.PathCommandsLog, evidence.KindLog, evidence.TypeText, nil),
		w.AddJSON(evidence.PathTestResults, evidence.KindTestResults, evidence.TestResults{Schema: evidence.SchemaTestResults, Status: evidence.TestsUnknown, Suites: []evidence.TestSuite{}, RawLogReferences: []evidence.FileReference{}}),
		w.AddJSON(evidence.PathCompletionOutcome, evidence.KindCompletionOutcome, evidence.CompletionOutcome{Schema: evidence.SchemaCompletionOutcome, Status: evidence.OutcomeSucceeded, Provenance: evidence.OutcomeProvenance{ArtifactBundleID: id, ArtifactDirectory: "."}}),
		w.AddJSON(evidence.PathAgentResult, evidence.KindAgentResult, evidence.AgentResult{Schema: evidence.SchemaAgentResult, Status: evidence.AgentCompleted}),
		w.AddJSON(evidence.PathTranscript, evidence.KindAgentTranscript, evidence.AgentTranscript{Schema: evidence.SchemaAgentTranscript, Executions: []evidence.Execution{}}),
	)
	_, err = w.Seal(t.Context(), bundle.SealInput{CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Runtime: evidence.Runtime{ID: "r"}, Summary: "x"})
	do(err)
	return dir
}

func digestOf(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

func TestSeedBundle(t *testing.T) {
	t.Parallel()
	src := repo(t)
	const patch = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-2\n+three\n" +
		"diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
	change := func(after string) []evidence.ChangedFile {
		return []evidence.ChangedFile{
			{Path: "/w/a.txt", RelativePath: "a.txt", Status: "modified", BeforeSHA256: digestOf("2\n"), BeforeMode: "100644", AfterSHA256: digestOf(after), AfterMode: "100644", MountTarget: "/w", PatchPath: evidence.PathPatch},
			{Path: "/w/link", RelativePath: "link", Status: "added", AfterSHA256: digestOf("/etc/passwd"), AfterMode: "120000", MountTarget: "/w", PatchPath: evidence.PathPatch},
		}
	}
	good := sealBundle(t, change("three\n"), patch, nil)
	s, d := seed(t, Source{Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: good})
	if s.Kind != SourceBundle || s.Commit == "" || !strings.HasPrefix(s.Bundle, evidence.BundleIDPrefix) || d.read("a.txt") != "three\n" {
		t.Errorf("%+v", s)
	}
	if len(s.Notes) != 1 || s.Notes[0].Code != NoteLinkOutside {
		t.Errorf("notes: %v", s.Notes)
	}
	if got := gitIn(t, d.root, "status", "--porcelain"); got != " M a.txt\n?? link\n" {
		t.Errorf("status: %s", got)
	}

	tampered := sealBundle(t, change("three\n"), patch, nil)
	text, err := os.ReadFile(filepath.Join(tampered, evidence.PathPatch))
	if err == nil {
		err = os.WriteFile(filepath.Join(tampered, evidence.PathPatch), []byte(strings.Replace(string(text), "+three", "+evil!", 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]Source{
		"absent":         {Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: filepath.Join(good, "none")},
		"no bundle":      {Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: src.root},
		"tampered":       {Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: tampered},
		"another base":   {Kind: SourceBundle, Dir: src.root, Ref: "v1", Bundle: good},
		"another result": {Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: sealBundle(t, change("four\n"), patch, nil)},
		"redacted":       {Kind: SourceBundle, Dir: src.root, Ref: "main", Bundle: sealBundle(t, change("three-is-a-long-secret\n"), strings.Replace(patch, "+three", "+three-is-a-long-secret", 1), map[string]string{"KEY": "three-is-a-long-secret"})},
	}
	for name, src := range bad {
		dst := filepath.Join(tempDir(t), "ws")
		if _, err := Seed(t.Context(), src, dst); !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("%s: the destination is left behind", name)
		}
	}
}
