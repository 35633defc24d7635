package bundle_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// hostile writes a bundle directory with a self-consistent manifest over the given files, as an attacker would.
func hostile(t testing.TB, files, kinds map[string]string) string {
	t.Helper()
	dir := copyOf(t, "testdata/golden")
	for p, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, p, text)
	}
	edit(t, dir, func(m map[string]any) {
		for p, text := range files {
			e := entryOf(m, p)
			if e == nil {
				e = map[string]any{"path": p, "kind": "x", "contentType": "application/json"}
				m["files"] = append(m["files"].([]any), e)
			}
			if k := kinds[p]; k != "" {
				e["kind"] = k
			}
			e["sha256"] = map[string]any{"algorithm": "sha256", "value": hashText(text)}
		}
	})
	return dir
}

func TestHostileJSONIsBounded(t *testing.T) { // not parallel: it measures what is allocated
	deep := strings.Repeat("[", 5_000_000)
	wide := "[" + strings.Repeat("[],", 3_000_000) + "[]]"
	for name, text := range map[string]string{"deep": deep, "wide": wide, "long": `"` + strings.Repeat("x", 40<<20) + `"`} {
		for _, p := range []string{"manifest.json", evidence.PathReview, evidence.PathToolCallTranscript, bundle.PathAttestation} {
			dir := copyOf(t, "testdata/golden")
			if p == "manifest.json" {
				write(t, dir, p, text)
			} else {
				dir = hostile(t, map[string]string{p: text}, nil)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v := verify(t, dir, bundle.VerifyOptions{})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%s %s: %d MB were allocated", name, p, used>>20)
			}
			if v.Valid {
				t.Errorf("%s %s: valid", name, p)
			}
		}
	}
}

func TestDeepDirectoriesAreBounded(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/golden")
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 200)), 0o755); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, dir, bundle.VerifyOptions{}); !slices.Contains(codes(v), evidence.CodeUnsafeFile) {
		t.Errorf("codes are %v", codes(v))
	}
}

func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/golden")
	edit(t, dir, func(m map[string]any) {
		for range 6000 { // each is two violations
			m["files"] = append(m["files"].([]any), map[string]any{"path": "../x", "kind": "x", "contentType": "y"})
		}
	})
	if v := verify(t, dir, bundle.VerifyOptions{}); v.Valid || len(v.Violations) != 10_001 {
		t.Errorf("%d violations", len(v.Violations))
	}
}

func TestLargeFilesUseLittleMemory(t *testing.T) { // not parallel: it measures what is allocated
	const size = 64 << 20
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Redactor: redact.New(map[string]string{"S": "hunter2-hunter2"})})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := w.AddReader("logs/big.log", evidence.KindLog, evidence.TypeText, io.LimitReader(lines{}, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.AddReader("logs/big.jsonl", evidence.KindLog, evidence.TypeNDJSON, io.LimitReader(lines{}, size)); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	if v := verify(t, s.Dir, bundle.VerifyOptions{}); !v.Valid {
		t.Errorf("violations: %+v", v.Violations)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("%d MB were allocated for %d MB", used>>20, 2*size>>20)
	}
}

// lines is an endless text.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], "the quick brown fox jumps over the lazy dog\n")
	}
	return len(p), nil
}

func TestRecordsInABundle(t *testing.T) {
	t.Parallel()
	const transcript = evidence.PathToolCallTranscript
	const index = "files/runtime-evidence/typed-artifacts/index.json"
	sum := func(s string) string { return `{"algorithm":"sha256","value":"` + s + `"}` }
	inputFile := "files/runtime-evidence/tool-calls/call-1-input.json"
	inputSum := "b608186ed51c6354b751ef058970a4c7a2c8c112322f1f1573f13decda691f7b"
	call := func(fields string) string {
		return `{"schema":"wp-codebox/tool-call-transcript/v1","redaction":{"policy":"none"},"tool_calls":[{"call_id":"1","tool_name":"t","tool_type":"x","phase":"p","status":"s"` + fields + `}]}`
	}
	typed := func(entry string) string {
		return `{"schema":"wp-codebox/typed-artifacts-index/v1","artifacts":[` + entry + `]}`
	}
	cases := []struct{ name, path, kind, text, want string }{
		{"transcript", transcript, "", call(`,"redaction":{"policy":"none"}`), ""},
		{"transcript with input", transcript, "", call(`,"redaction":{"policy":"none"},"input_digest":` + sum(inputSum) + `,"input_artifacts":[{"path":"` + inputFile + `","sha256":` + sum(inputSum) + `}]`), ""},
		{"transcript is no JSON", transcript, "", "{", evidence.CodeMalformedReference},
		{"transcript without calls", transcript, "", `{"schema":"wp-codebox/tool-call-transcript/v1"}`, evidence.CodeMalformedReference},
		{"call without redaction", transcript, "", call(""), evidence.CodeMalformedReference},
		{"call without fields", transcript, "", strings.Replace(call(`,"redaction":{"policy":"none"}`), `"phase":"p",`, "", 1), evidence.CodeMalformedReference},
		{"input not listed", transcript, "", call(`,"redaction":{"policy":"none"},"input_artifacts":[{"path":"files/none"}]`), evidence.CodeMalformedReference},
		{"input outside", transcript, "", call(`,"redaction":{"policy":"none"},"input_artifacts":[{"path":"../x"}]`), evidence.CodeInvalidPath},
		{"input without path", transcript, "", call(`,"redaction":{"policy":"none"},"input_artifacts":[{}]`), evidence.CodeMalformedReference},
		{"inputs not a list", transcript, "", call(`,"redaction":{"policy":"none"},"input_artifacts":{}`), evidence.CodeMalformedReference},
		{"output with a wrong digest", transcript, "", call(`,"redaction":{"policy":"none"},"output_artifacts":[{"path":"` + inputFile + `","sha256":` + sum(strings.Repeat("a", 64)) + `}]`), evidence.CodeFileHashMismatch},
		{"call with a wrong digest", transcript, "", call(`,"redaction":{"policy":"none"},"output_digest":` + sum(strings.Repeat("a", 64)) + `,"output_artifacts":[{"path":"` + inputFile + `"}]`), evidence.CodeFileHashMismatch},
		{"malformed digest", transcript, "", call(`,"redaction":{"policy":"none"},"output_digest":"abc"`), evidence.CodeMissingFileHash},

		{"typed artifact", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `","sha256":"` + inputSum + `"},"payload":{"a":1},"payload_schema":{"type":"object","required":["a"]}}`), ""},
		{"typed artifact of another schema", index, evidence.KindTypedArtifacts, `{"schema":"x","artifacts":[]}`, evidence.CodeMalformedReference},
		{"typed artifact without path", index, evidence.KindTypedArtifacts, typed(`{}`), evidence.CodeMalformedReference},
		{"typed artifact with a wrong hash", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `","sha256":"x"}}`), evidence.CodeFileHashMismatch},
		{"payload against its schema", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":{},"payload_schema":{"required":["a"]}}`), evidence.CodePayloadSchemaViolation},
		{"schema that is none", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":{},"payload_schema":{"type":7}}`), evidence.CodePayloadSchemaViolation},
		{"schema that reads a file", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":{},"payload_schema":{"$ref":"file:///etc/passwd"}}`), evidence.CodePayloadSchemaViolation},
		{"schema under its other name", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":{},"payloadSchema":{"required":["a"]}}`), evidence.CodePayloadSchemaViolation},
		{"payload that is null", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":null,"payload_schema":{"type":"object"}}`), evidence.CodePayloadSchemaViolation},
		{"payload with an exact number", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":9007199254740993,"payload_schema":{"const":9007199254740992}}`), evidence.CodePayloadSchemaViolation},
		{"payload with a number beyond all bounds", index, evidence.KindTypedArtifacts, typed(`{"artifact":{"path":"` + inputFile + `"},"payload":1e-9999999,"payload_schema":{"minimum":1}}`), evidence.CodePayloadSchemaViolation},
		{"list under a name of other letters", index, evidence.KindTypedArtifacts, strings.TrimSuffix(typed(`{"artifact":{"path":"`+inputFile+`"},"payload":{},"payload_schema":{"required":["a"]}}`), "}") + `,"ARTIFACTS":[]}`, evidence.CodePayloadSchemaViolation},

		{"episode trace", "files/t.json", evidence.KindRuntimeEpisode, `{"schema":"wp-codebox/runtime-episode-trace/v1"}`, ""},
		{"episode trace of another schema", "files/t.json", evidence.KindRuntimeEpisode, `{}`, evidence.CodeMalformedReference},
		{"replay index of another shape", "files/r.json", evidence.KindRuntimeReplayIndex, `{"schema":"wp-codebox/runtime-replay-reference-index/v1"}`, evidence.CodeMalformedReference},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := hostile(t, map[string]string{c.path: c.text}, map[string]string{c.path: c.kind})
			v := verify(t, dir, bundle.VerifyOptions{})
			if c.want == "" && !v.Valid || c.want != "" && !slices.Contains(codes(v), c.want) {
				t.Errorf("codes are %v, want %q: %+v", codes(v), c.want, v.Violations)
			}
		})
	}
}

func TestBadDirectoriesAreClearErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Verify(file, bundle.VerifyOptions{}); err == nil {
		t.Error("a file was verified as a directory")
	}
	if _, err := bundle.Create(filepath.Join(file, "b"), bundle.Options{}); err == nil {
		t.Error("a bundle was made below a file")
	}
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Seal(ctx, input()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzVerifyManifest(f *testing.F) {
	golden, err := os.ReadFile("testdata/golden/manifest.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"id":"x","createdAt":"y","runtime":{},"contentDigest":{"algorithm":"sha256","inputs":["a"],"value":"b"},"files":[{"path":"a","kind":"tool-call-transcript","contentType":"z"}],"cases":[{"id":"a","artifacts":[{"path":"a","kind":"b"}]}]}`))
	dir := copyOf(f, "testdata/golden") // each fuzzing process has its own
	f.Fuzz(func(t *testing.T, text []byte) {
		write(t, dir, "manifest.json", string(text))
		v := verify(t, dir, bundle.VerifyOptions{})
		if v.Valid != (len(v.Violations) == 0) {
			t.Fatal("valid and violations disagree")
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzVerifyRecord puts hostile text into a listed file of every kind that the verifier reads.
func FuzzVerifyRecord(f *testing.F) {
	kinds := []string{evidence.KindToolCallTranscript, evidence.KindRuntimeReference, evidence.KindRuntimeReplayIndex, evidence.KindTypedArtifacts, evidence.KindRuntimeEpisode, bundle.KindAttestation}
	paths := []string{"files/x.json", evidence.PathReview, evidence.PathMetadata, evidence.PathChangedFiles, bundle.PathAttestation}
	f.Add(uint8(0), uint8(0), `{"schema":"wp-codebox/tool-call-transcript/v1","tool_calls":[{}]}`)
	f.Add(uint8(3), uint8(0), `{"schema":"wp-codebox/typed-artifacts-index/v1","artifacts":[{"artifact":{"path":"a"},"payload":1,"payload_schema":{"type":"string"}}]}`)
	f.Add(uint8(1), uint8(0), `{"schema":"wp-codebox/runtime-reference-manifest/v1","version":1,"files":[{}],"snapshots":[{}]}`)
	f.Add(uint8(5), uint8(4), `{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":""}]}`)
	f.Fuzz(func(t *testing.T, kind, path uint8, text string) {
		p := paths[int(path)%len(paths)]
		k := ""
		if p == "files/x.json" {
			k = kinds[int(kind)%len(kinds)]
		}
		v := verify(t, hostile(t, map[string]string{p: text}, map[string]string{p: k}), bundle.VerifyOptions{})
		if v.Valid && p == bundle.PathAttestation {
			t.Fatal("an attestation out of nothing is valid")
		}
	})
}
