package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/isolate/redact"
)

var instant = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

const patch = "diff --git a/hello.txt b/hello.txt\nnew file mode 100644\n--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1 @@\n+hello\n"

func key(t testing.TB) *bundle.Key {
	t.Helper()
	k, err := bundle.LoadOrCreateKey(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func changes() evidence.ChangedFiles {
	return evidence.ChangedFiles{Schema: evidence.SchemaChangedFiles, Files: []evidence.ChangedFile{{
		Path: "/workspace/hello.txt", RelativePath: "hello.txt", Status: evidence.ChangeAdded,
		AfterSHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", AfterMode: "100644",
		MountTarget: "/workspace", PatchPath: evidence.PathPatch,
	}}}
}

// fill adds what every bundle must hold, and the attempt's files.
func fill(w *bundle.Writer, diff string) error {
	results := evidence.TestResults{Schema: evidence.SchemaTestResults, Status: evidence.TestsUnknown, Suites: []evidence.TestSuite{}, RawLogReferences: []evidence.FileReference{}}
	errs := []error{
		w.AddJSON(evidence.PathChangedFiles, evidence.KindChangedFiles, changes()),
		w.AddBytes(evidence.PathPatch, evidence.KindPatch, evidence.TypeDiff, []byte(diff)),
	}
	id, _, err := w.ContentID()
	errs = append(errs, err,
		w.AddBytes(evidence.PathEvents, evidence.KindEvents, evidence.TypeNDJSON, []byte("{\"n\":1}\n{\"n\":2}\n")),
		w.AddBytes(evidence.PathCommands, evidence.KindCommands, evidence.TypeNDJSON, nil),
		w.AddBytes(evidence.PathObservations, evidence.KindObservations, evidence.TypeNDJSON, nil),
		w.AddBytes(evidence.PathRuntimeLog, evidence.KindLog, evidence.TypeText, []byte("started\n")),
		w.AddBytes(evidence.PathCommandsLog, evidence.KindLog, evidence.TypeText, nil),
		w.AddJSON(evidence.PathTestResults, evidence.KindTestResults, results),
		w.AddJSON(evidence.PathCompletionOutcome, evidence.KindCompletionOutcome, evidence.CompletionOutcome{
			Schema: evidence.SchemaCompletionOutcome, Status: evidence.OutcomeSucceeded, Provenance: evidence.OutcomeProvenance{ArtifactBundleID: id, ArtifactDirectory: "."},
		}),
		w.AddJSON(evidence.PathAgentResult, evidence.KindAgentResult, evidence.AgentResult{Schema: evidence.SchemaAgentResult, Status: evidence.AgentCompleted}),
		w.AddJSON(evidence.PathTranscript, evidence.KindAgentTranscript, evidence.AgentTranscript{Schema: evidence.SchemaAgentTranscript, Executions: []evidence.Execution{}}),
		w.AddBytes(bundle.PathPrompt, bundle.KindPrompt, evidence.TypeText, []byte("do it\n")),
		w.AddBytes(bundle.PathStdout, bundle.KindStdout, evidence.TypeText, []byte("done\n")),
		w.AddBytes(bundle.PathStderr, bundle.KindStderr, evidence.TypeText, nil),
		w.AddBytes(bundle.PathResult, bundle.KindResult, evidence.TypeJSON, []byte("{}\n")),
		w.AddBytes(bundle.PathLastMessage, bundle.KindLastMessage, evidence.TypeText, []byte("done\n")),
		w.AddJSON(bundle.PathVerdict, bundle.KindVerdict, map[string]any{"accepted": true}),
	)
	return errors.Join(errs...)
}

func input() bundle.SealInput {
	return bundle.SealInput{
		CreatedAt: instant,
		Runtime:   evidence.Runtime{ID: "attempt-1", Environment: evidence.Environment{Kind: "process"}},
		Task:      map[string]any{"id": "task-1", "goal": "say hello é <&>"},
		Agent:     map[string]any{"adapter": "script"},
		Policy:    evidence.Policy{Enforcement: evidence.PolicyEnforcement{Limits: evidence.PolicyBlock{Status: evidence.PolicyEnforced}}},
		Summary:   "One file was added.",
		Statement: bundle.Statement{TaskID: "task-1", AttemptID: "attempt-1", Verdict: "accepted", Status: "completed"},
	}
}

// sealed makes a whole bundle and has the independent checker look at it.
func sealed(t testing.TB, o bundle.Options) bundle.Sealed {
	t.Helper()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "bundles", "attempt-1"), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	bundletest.Check(t, s.Dir)
	return s
}

func codes(v bundle.Verification) []string {
	var out []string
	for _, x := range v.Violations {
		out = append(out, x.Code)
	}
	return out
}

func verify(t testing.TB, dir string, o bundle.VerifyOptions) bundle.Verification {
	t.Helper()
	v, err := bundle.Verify(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSealedBundleVerifies(t *testing.T) {
	t.Parallel()
	k := key(t)
	s := sealed(t, bundle.Options{Key: k})
	v := verify(t, s.Dir, bundle.VerifyOptions{TrustedKeys: []bundle.PublicKey{k.Public()}, RequireSignature: true})
	if !v.Valid || v.Signature.Status != bundle.SignatureValid || v.Signature.KeyID != k.Public().ID {
		t.Fatalf("not valid: %+v, signature %+v", v.Violations, v.Signature)
	}
	if v.Statement.AttemptID != "attempt-1" || v.Statement.Verdict != "accepted" || !strings.Contains(v.Statement.Note, "could have read the signing key") {
		t.Errorf("statement is %+v", v.Statement)
	}
	if v.Manifest.ID != s.ID || v.Manifest.Runtime.Backend != "deed" || v.Manifest.Runtime.Status != evidence.RuntimeDestroyed {
		t.Errorf("manifest is %+v", v.Manifest)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Dir), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnsignedBundleVerifiesAndSaysSo(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{})
	v := verify(t, s.Dir, bundle.VerifyOptions{})
	if !v.Valid || v.Signature.Status != bundle.SignatureUnsigned || v.Statement != nil {
		t.Errorf("got %+v", v)
	}
	v = verify(t, s.Dir, bundle.VerifyOptions{RequireSignature: true})
	if diff := cmp.Diff([]string{bundle.CodeSignatureMissing}, codes(v)); diff != "" || v.Valid {
		t.Error(diff)
	}
}

func TestGoldenBundleVerifies(t *testing.T) {
	t.Parallel()
	v := verify(t, "testdata/golden", bundle.VerifyOptions{})
	if !v.Valid || v.Signature.Status != bundle.SignatureUnsigned {
		t.Errorf("violations: %+v", v.Violations)
	}
	bundletest.Check(t, "testdata/golden")
}

func TestBundleCanBeMoved(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{Key: key(t)})
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(s.Dir)); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, moved, bundle.VerifyOptions{}); !v.Valid || v.Signature.Status != bundle.SignatureUntrustedKey {
		t.Errorf("violations: %+v, signature %+v", v.Violations, v.Signature)
	}
	err := filepath.WalkDir(s.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if bytes.Contains(b, []byte(filepath.Dir(s.Dir))) {
			t.Errorf("%s holds a path of this machine", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSealNeedsEveryRequiredFile(t *testing.T) {
	t.Parallel()
	for _, leave := range bundle.Required() {
		t.Run(strings.ReplaceAll(leave, "/", "_"), func(t *testing.T) {
			t.Parallel()
			final := filepath.Join(t.TempDir(), "b")
			w, err := bundle.Create(final, bundle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range bundle.Required() {
				data := []byte("{}")
				if p == evidence.PathChangedFiles {
					data, _ = json.Marshal(changes())
				}
				if p != leave {
					if err := w.AddBytes(p, "kind", evidence.TypeText, data); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, err = w.Seal(context.Background(), input())
			if !errors.Is(err, bundle.ErrIncomplete) || !strings.Contains(err.Error(), leave) {
				t.Errorf("got %v", err)
			}
			entries, _ := os.ReadDir(filepath.Dir(final))
			if len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func TestWriterRefusesBadPaths(t *testing.T) {
	t.Parallel()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Redactor: redact.New(map[string]string{"S": "hunter2"})})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, p := range []string{
		"", ".", "..", "../x", "a/../b", "/etc/passwd", `a\b`, "c:x", "file:///x", "a//b", "./a", "a/", "a\x00b", "a\nb", "\xff",
		strings.Repeat("x", 300), strings.Repeat("a/", 600) + "b", "manifest.json", "attestation.json", "metadata.json", "files/review.json",
		"files/hunter2.txt",
	} {
		if err := w.AddBytes(p, "log", evidence.TypeText, nil); !errors.Is(err, bundle.ErrPath) {
			t.Errorf("%q: got %v", p, err)
		}
	}
	if err := w.AddBytes("a", "log", evidence.TypeText, nil); err != nil {
		t.Error(err)
	}
	if err := w.AddBytes("a", "log", evidence.TypeText, nil); !errors.Is(err, bundle.ErrDuplicate) {
		t.Errorf("got %v", err)
	}
}

func TestWriterRefusesAnExistingTarget(t *testing.T) {
	t.Parallel()
	final := filepath.Join(t.TempDir(), "b")
	w, err := bundle.Create(final, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	// The name is taken while the bundle is being written.
	if err := os.Mkdir(final, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(context.Background(), input()); !errors.Is(err, atomicfile.ErrExists) {
		t.Errorf("got %v", err)
	}
	if _, err := bundle.Create(final, bundle.Options{}); !errors.Is(err, atomicfile.ErrExists) {
		t.Errorf("got %v", err)
	}
	if err := w.AddBytes("x", "log", evidence.TypeText, nil); !errors.Is(err, bundle.ErrSealed) {
		t.Errorf("got %v", err)
	}
}

func TestAddFileTakesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := bundle.Create(filepath.Join(dir, "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"link", "pipe", "missing", "."} {
		if err := w.AddFile("files/"+strings.Trim(src, ".")+"x", "log", evidence.TypeText, filepath.Join(dir, src)); err == nil {
			t.Errorf("%s was taken", src)
		}
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.AddFile("files/big", "log", evidence.TypeText, filepath.Join(dir, "big")); err != nil {
		t.Error(err)
	}
	if _, size, ok := w.File("files/big"); !ok || size != int64(len(big)) {
		t.Errorf("size is %d", size)
	}
}

func TestSecretsReachNoFile(t *testing.T) {
	t.Parallel()
	const token, number = "hunter2-\"quoted\"", "73512849"
	r := redact.New(map[string]string{"TOKEN": token, "PIN": number})
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Redactor: r, Key: key(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch+"+"+token+"\n"); err != nil {
		t.Fatal(err)
	}
	if !w.PatchRedacted() {
		t.Error("the patch is not said to be redacted")
	}
	s, err := w.Stream("logs/extra.jsonl", evidence.KindLog, evidence.TypeNDJSON)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := json.Marshal(map[string]any{"text": "the token is " + token, "n": json.Number(number)})
	for _, b := range append(line, '\n') {
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(s, strings.Repeat("x", 3<<20)+token+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.AddJSON("files/extra.json", "extra", map[string]any{"pin": json.Number(number), "deep": []any{token}}); err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Summary = "It said " + token
	in.Task["goal"] = number
	in.RiskFlags = []string{token}
	out, err := w.Seal(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	bundletest.Check(t, out.Dir)
	if v := verify(t, out.Dir, bundle.VerifyOptions{}); !v.Valid {
		t.Errorf("violations: %+v", v.Violations)
	}
	err = filepath.WalkDir(out.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if r.Contains(b) {
			t.Errorf("%s holds a secret", p)
		}
		if strings.HasSuffix(p, ".json") && !json.Valid(b) {
			t.Errorf("%s is no JSON any more", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(read(t, out.Dir, "logs/extra.jsonl"), "\n")
	if !json.Valid([]byte(first)) {
		t.Errorf("the line is no JSON any more: %s", first)
	}
	var md evidence.Metadata
	if err := json.Unmarshal([]byte(read(t, out.Dir, evidence.PathMetadata)), &md); err != nil {
		t.Fatal(err)
	}
	if md.Redaction.Status != evidence.RedactionRedacted || md.Redaction.ByKind["TOKEN"] == 0 || md.Redaction.ByKind["PIN"] == 0 {
		t.Errorf("summary is %+v", md.Redaction)
	}
	if !strings.Contains(read(t, out.Dir, evidence.PathReview), evidence.RiskSecretsRedacted) {
		t.Error("the review does not flag it")
	}
}

func read(t testing.TB, dir, p string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, p))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSealStatesPolicyHonestly(t *testing.T) {
	t.Parallel()
	s := sealed(t, bundle.Options{})
	var md evidence.Metadata
	if err := json.Unmarshal([]byte(read(t, s.Dir, evidence.PathMetadata)), &md); err != nil {
		t.Fatal(err)
	}
	if e := md.Policy.Enforcement; e.Network.Status != evidence.PolicyNotConfigured || e.Limits.Status != evidence.PolicyEnforced {
		t.Errorf("enforcement is %+v", e)
	}
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Policy.Enforcement.Network.Status = "sure"
	if _, err := w.Seal(context.Background(), in); err == nil || !strings.Contains(err.Error(), `"sure"`) {
		t.Errorf("got %v", err)
	}
}

func TestMaxFiles(t *testing.T) {
	t.Parallel()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i := range bundle.MaxFiles + 1 {
		err = w.AddBytes("files/x/"+strings.Repeat("a", i%200+1)+string(rune('a'+i/200)), "x", evidence.TypeText, nil)
		if err != nil {
			break
		}
	}
	if !errors.Is(err, bundle.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestHugeChangeList(t *testing.T) {
	t.Parallel()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := changes()
	for i := range 20_000 {
		f := c.Files[0]
		f.RelativePath = fmt.Sprintf("node_modules/%d", i)
		f.Path = "/workspace/" + f.RelativePath
		c.Files = append(c.Files, f)
	}
	for _, p := range bundle.Required() {
		switch p {
		case evidence.PathChangedFiles:
			err = w.AddJSON(p, evidence.KindChangedFiles, c)
		default:
			err = w.AddBytes(p, "x", evidence.TypeText, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	bundletest.Check(t, s.Dir)
	if v := verify(t, s.Dir, bundle.VerifyOptions{}); !v.Valid {
		t.Errorf("violations: %+v", v.Violations)
	}
	var r evidence.Review
	if err := json.Unmarshal([]byte(read(t, s.Dir, evidence.PathReview)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Stats.Total != 20_001 || len(r.ChangedFiles) != 5000 || !slices.Contains(r.RiskFlags, "changed-files-truncated") {
		t.Errorf("stats %+v, %d files, flags %v", r.Stats, len(r.ChangedFiles), r.RiskFlags)
	}
}

// A review lists no more than a document can have, however the paths are made up: the change list has them all, and the bundle is sealed.
func TestLongPathsInAChangeList(t *testing.T) {
	t.Parallel()
	for what, char := range map[string]string{"long": "e", "longer as JSON": "\x01", "like values": ","} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := changes()
			for i := range 4000 {
				f := c.Files[0]
				f.RelativePath = fmt.Sprint(strings.Repeat(char, 3600), i)
				f.Path = "/workspace/" + f.RelativePath
				c.Files = append(c.Files, f)
			}
			for _, p := range bundle.Required() {
				if p == evidence.PathChangedFiles {
					err = w.AddJSON(p, evidence.KindChangedFiles, c)
				} else {
					err = w.AddBytes(p, "x", evidence.TypeText, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			s, err := w.Seal(t.Context(), input())
			if err != nil {
				t.Fatal(err)
			}
			if v := verify(t, s.Dir, bundle.VerifyOptions{}); !v.Valid {
				t.Errorf("violations: %+v", v.Violations)
			}
			var r evidence.Review
			if err := json.Unmarshal([]byte(read(t, s.Dir, evidence.PathReview)), &r); err != nil {
				t.Fatal(err)
			}
			if n := len(r.ChangedFiles); r.Stats.Total != 4001 || n < 50 || n > 2000 || !slices.Contains(r.RiskFlags, "changed-files-truncated") {
				t.Errorf("stats %+v, %d files, flags %v", r.Stats, n, r.RiskFlags)
			}
		})
	}
}

func BenchmarkSeal(b *testing.B) {
	k := key(b)
	parent := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		w, err := bundle.Create(filepath.Join(parent, "b", string(slices.Repeat([]byte{'a'}, n%200))+time.Duration(n).String()), bundle.Options{Key: k})
		if err != nil {
			b.Fatal(err)
		}
		if err := fill(w, ""); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Seal(context.Background(), input()); err != nil {
			b.Fatal(err)
		}
	}
}
