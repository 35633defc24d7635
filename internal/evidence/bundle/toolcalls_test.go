package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/isolate/redact"
)

const toolDir = "files/runtime-evidence/tool-calls/"

func toolCall(id, in, out string) bundle.ToolCallEvidence {
	return bundle.ToolCallEvidence{
		Call: evidence.ToolCall{
			CallID: id, ToolName: "sh", ToolType: "command", Phase: evidence.PhaseExecution, Status: evidence.CallSucceeded,
			StartedAt: "2026-01-31T08:00:00Z", FinishedAt: "2026-01-31T08:00:01Z",
		},
		Input: []byte(in), Output: []byte(out),
	}
}

// withCalls seals a bundle with tool calls.
func withCalls(t testing.TB, r *redact.Redactor, calls ...bundle.ToolCallEvidence) (dir string, tr evidence.ToolCallTranscript) {
	t.Helper()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{Redactor: r, Key: key(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	if tr, err = w.AddToolCalls(calls, map[string]any{"source": "test"}); err != nil {
		t.Fatal(err)
	}
	s, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	if v := verify(t, s.Dir, bundle.VerifyOptions{}); !v.Valid {
		t.Fatalf("violations: %+v", v.Violations)
	}
	bundletest.Check(t, s.Dir)
	return s.Dir, tr
}

func transcriptOf(t testing.TB, dir string) evidence.ToolCallTranscript {
	t.Helper()
	var tr evidence.ToolCallTranscript
	if err := json.Unmarshal([]byte(read(t, dir, evidence.PathToolCallTranscript)), &tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	calls := []bundle.ToolCallEvidence{toolCall("a", `{"command":"ls"}`, "file\n"), toolCall("b", "x", ""), toolCall("c", "", "\xff\xfe")}
	calls[1].Output = nil // nothing was recorded; the third recorded an empty input
	dir, tr := withCalls(t, nil, calls...)
	if diff := cmp.Diff(tr, transcriptOf(t, dir)); diff != "" {
		t.Errorf("returned and written differ:\n%s", diff)
	}
	if diff := cmp.Diff([]evidence.ToolArtifact{{
		Path: toolDir + "0001-input.json", Kind: evidence.KindToolCallInput, ContentType: evidence.TypeJSON,
		SHA256: &evidence.Digest{Algorithm: "sha256", Value: hashText(`{"command":"ls"}`)},
	}}, tr.ToolCalls[0].InputArtifacts); diff != "" {
		t.Error(diff)
	}
	if c := tr.ToolCalls[1]; c.OutputArtifacts != nil || c.OutputDigest != nil || c.Redaction.Policy != evidence.RedactionNone {
		t.Errorf("a call without output: %+v", c)
	}
	if c := tr.ToolCalls[2]; c.InputDigest.Value != hashText("") || c.OutputArtifacts[0].ContentType != evidence.TypeBytes {
		t.Errorf("an empty input and bytes: %+v", c)
	}
}

func TestToolCallsAreRedactedAndBounded(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	r := redact.New(map[string]string{"PASSWORD": secret})
	// The cut goes through the secret.
	long := strings.Repeat("x", bundle.MaxToolArtifact-5) + secret + strings.Repeat("y", 1000)
	named := toolCall("c", "in", "out")
	named.Call.Metadata = map[string]any{"note": secret}
	dir, tr := withCalls(t, r, toolCall("a", `{"password":"`+secret+`"}`, "clean"), toolCall("b", "clean", long), named, toolCall("d", "clean", "clean"))
	for _, p := range listing(t, dir) {
		b := read(t, dir, p)
		if strings.Contains(b, secret) || strings.Contains(b, secret[:5]) {
			t.Errorf("%s holds the secret", p)
		}
	}
	for i, want := range []string{evidence.RedactionApplied, evidence.RedactionApplied, evidence.RedactionApplied, evidence.RedactionNone} {
		if got := tr.ToolCalls[i].Redaction.Policy; got != want {
			t.Errorf("call %d: policy is %s", i, got)
		}
	}
	if tr.Redaction.Policy != evidence.RedactionApplied || tr.ToolCalls[1].Metadata["output_truncated"] != true || tr.ToolCalls[1].Metadata["output_bytes"] != len(long) {
		t.Errorf("transcript is %+v", tr)
	}
	if n := len(read(t, dir, tr.ToolCalls[1].OutputArtifacts[0].Path)); n > bundle.MaxToolArtifact {
		t.Errorf("%d bytes were kept", n)
	}
}

func TestManyToolCalls(t *testing.T) {
	t.Parallel()
	var calls []bundle.ToolCallEvidence
	for i := range 1500 {
		calls = append(calls, toolCall(fmt.Sprint(i), "in", "out"))
	}
	_, tr := withCalls(t, nil, calls...)
	if c := tr.ToolCalls[1499]; c.InputArtifacts != nil || c.InputDigest.Value != hashText("in") || c.Metadata["input_omitted"] != true {
		t.Errorf("the last call is %+v", c)
	}
}

func TestBadToolCallsWriteNothing(t *testing.T) {
	t.Parallel()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	late := toolCall("c", "", "")
	late.Call.FinishedAt = "2026-01-31T07:00:00Z"
	blank := toolCall("", "", "")
	blank.Call.StartedAt = "yesterday"
	_, err = w.AddToolCalls([]bundle.ToolCallEvidence{toolCall("a", "x", ""), toolCall("a", "", ""), late, blank}, nil)
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Code+" "+f.Path)
	}
	want := []string{"duplicate $.tool_calls[1].call_id", "out_of_range $.tool_calls[2].finished_at", "blank $.tool_calls[3].call_id", "bad_format $.tool_calls[3].started_at"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, _, there := w.File(toolDir + "0001-input.txt"); there {
		t.Error("something was written")
	}
	if _, err := w.AddToolCalls(make([]bundle.ToolCallEvidence, bundle.MaxToolCalls+1), nil); !errors.Is(err, bundle.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// rewriteCalls changes the transcript of a bundle and makes the manifest fit again, as an attacker without the key does.
func rewriteCalls(t testing.TB, dir string, change func(calls []any)) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(read(t, dir, evidence.PathToolCallTranscript)), &doc); err != nil {
		t.Fatal(err)
	}
	change(doc["tool_calls"].([]any))
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, evidence.PathToolCallTranscript, string(b))
	edit(t, dir, func(m map[string]any) {
		entryOf(m, evidence.PathToolCallTranscript)["sha256"] = map[string]any{"algorithm": "sha256", "value": hashText(string(b))}
	})
}

// TestToolCallConformance has the cases of the contract, and those that its own verifier lets through.
func TestToolCallConformance(t *testing.T) {
	t.Parallel()
	dir, _ := withCalls(t, nil, toolCall("a", "in", "out"), toolCall("b", "in b", "out b"))
	wrong := map[string]any{"algorithm": "sha256", "value": strings.Repeat("a", 64)}
	call := func(change func(c map[string]any)) func([]any) {
		return func(calls []any) { change(calls[1].(map[string]any)) }
	}
	ref := func(side string, change func(r map[string]any)) func([]any) {
		return call(func(c map[string]any) { change(c[side+"_artifacts"].([]any)[0].(map[string]any)) })
	}
	for _, c := range []struct {
		name, code, at string
		change         func(calls []any)
	}{
		{"valid", "", "", func([]any) {}},
		{"input artifact unlisted", evidence.CodeMalformedReference, "[1].input_artifacts[0].path", ref("input", func(r map[string]any) { r["path"] = toolDir + "none.txt" })},
		{"output digest wrong", evidence.CodeFileHashMismatch, "[1].output_artifacts[0].sha256", ref("output", func(r map[string]any) { r["sha256"] = wrong })},
		{"record without redaction", evidence.CodeMalformedReference, "[1].redaction", call(func(c map[string]any) { delete(c, "redaction") })},
		{"duplicate id", evidence.CodeMalformedReference, "[1].call_id", call(func(c map[string]any) { c["call_id"] = "a" })},
		{"ends before it starts", evidence.CodeMalformedReference, "[1].finished_at", call(func(c map[string]any) { c["finished_at"] = "2026-01-31T07:59:59Z" })},
		{"no instant", evidence.CodeMalformedReference, "[1].started_at", call(func(c map[string]any) { c["started_at"] = "noon" })},
		{"instant of another type", evidence.CodeMalformedReference, "[1].started_at", call(func(c map[string]any) { c["started_at"] = 12 })},
		{"input digest of another file", evidence.CodeFileHashMismatch, "[1].input_digest", call(func(c map[string]any) { c["input_digest"] = wrong })},
		{"output digest of another file", evidence.CodeFileHashMismatch, "[1].output_digest", call(func(c map[string]any) { c["output_digest"] = wrong })},
		{"malformed digest", evidence.CodeMissingFileHash, "[1].output_digest", call(func(c map[string]any) { c["output_digest"] = map[string]any{"algorithm": "md5", "value": "x"} })},
		{"malformed hash", evidence.CodeMissingFileHash, "[1].output_artifacts[0].sha256", ref("output", func(r map[string]any) { r["sha256"] = map[string]any{"algorithm": "sha256", "value": "ABC"} })},
		{"another kind", evidence.CodeMalformedReference, "[1].output_artifacts[0].kind", ref("output", func(r map[string]any) { r["kind"] = "patch" })},
		{"another content type", evidence.CodeMalformedReference, "[1].output_artifacts[0].contentType", ref("output", func(r map[string]any) { r["contentType"] = "text/html" })},
		{"the other side", evidence.CodeMalformedReference, "[1].output_artifacts[0]", call(func(c map[string]any) { c["output_artifacts"] = c["input_artifacts"] })},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, dir)
			if err := os.Remove(filepath.Join(dir, bundle.PathAttestation)); err != nil {
				t.Fatal(err)
			}
			edit(t, dir, func(m map[string]any) {
				m["files"] = slices.DeleteFunc(m["files"].([]any), func(e any) bool { return e.(map[string]any)["path"] == bundle.PathAttestation })
			})
			rewriteCalls(t, dir, c.change)
			v := verify(t, dir, bundle.VerifyOptions{})
			found := slices.ContainsFunc(v.Violations, func(x evidence.Violation) bool {
				return x.Code == c.code && x.Path == evidence.PathToolCallTranscript+":tool_calls"+c.at
			})
			// The reference manifest holds the transcript's hash too; that is the price of a forged one.
			if c.code != "" && !found {
				t.Errorf("want %s at %s, got %+v", c.code, c.at, v.Violations)
			}
			for _, x := range v.Violations {
				if c.code == "" && strings.HasPrefix(x.Path, evidence.PathToolCallTranscript) {
					t.Errorf("a valid transcript: %+v", x)
				}
			}
		})
	}
}

// recording makes a source of artifacts and a transcript that refers to them.
func recording(t testing.TB, files map[string]string, calls ...string) bundle.ToolCallRecording {
	t.Helper()
	dir := t.TempDir()
	for p, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, p, text)
	}
	return bundle.ToolCallRecording{
		Transcript: []byte(`{"schema":"` + evidence.SchemaToolCallTranscript + `","redaction":{"policy":"none"},"tool_calls":[` + strings.Join(calls, ",") + `]}`),
		Source:     dir,
	}
}

func recordedCall(id, more string) string {
	return `{"call_id":"` + id + `","tool_name":"t","tool_type":"x","phase":"execution","status":"succeeded","redaction":{"policy":"none"}` + more + `}`
}

func TestRecordToolCalls(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	in := recording(t, map[string]string{toolDir + "i.json": `{"a":1}`, toolDir + "o.txt": "token " + secret},
		recordedCall("1", `,"input_digest":{"algorithm":"sha256","value":"`+hashText(`{"a":1}`)+`"},"input_artifacts":[{"path":"`+toolDir+`i.json"}]`),
		recordedCall("2", `,"output_artifacts":[{"path":"`+toolDir+`o.txt","sha256":{"algorithm":"sha256","value":"`+hashText("token "+secret)+`"}}]`))
	in.Redactor = redact.New(map[string]string{"TOKEN": secret})
	dir := t.TempDir()
	// What a recording that was killed left behind does not get in the way.
	if err := os.MkdirAll(filepath.Join(dir, toolDir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, toolDir+"i.json", "half")
	write(t, dir, toolDir+".recording.tmp", "half")
	tr, files, err := bundle.RecordToolCalls(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tr, transcriptOf(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := listing(t, dir); len(got) != len(files) {
		t.Errorf("%v was written and %+v listed", got, files)
	}
	for _, f := range files {
		if text := read(t, dir, f.Path); hashText(text) != f.SHA256.Value || strings.Contains(text, secret) {
			t.Errorf("%s: %s", f.Path, text)
		}
	}
	out := tr.ToolCalls[1]
	if out.Redaction.Policy != evidence.RedactionApplied || tr.ToolCalls[0].Redaction.Policy != evidence.RedactionNone || out.OutputArtifacts[0].Kind != evidence.KindToolCallOutput {
		t.Errorf("transcript is %+v", tr)
	}
	if _, _, err := bundle.RecordToolCalls(dir, in); !errors.Is(err, bundle.ErrDuplicate) {
		t.Errorf("a second transcript: %v", err)
	}
	sealed := t.TempDir()
	write(t, sealed, "manifest.json", "{}")
	if _, _, err := bundle.RecordToolCalls(sealed, in); !errors.Is(err, bundle.ErrSealed) {
		t.Errorf("a sealed directory: %v", err)
	}
}

func TestBadRecordingsWriteNothing(t *testing.T) {
	t.Parallel()
	link := recording(t, nil, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x"}]`))
	if err := os.MkdirAll(filepath.Join(link.Source, toolDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(link.Source, toolDir, "x")); err != nil {
		t.Fatal(err)
	}
	none := recording(t, nil, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x"}]`))
	none.Source = ""
	at := "$.tool_calls[0].input_artifacts[0]"
	one := map[string]string{toolDir + "x": "x"}
	for _, c := range []struct {
		name, want string
		in         bundle.ToolCallRecording
	}{
		{"no JSON", "invalid_json $", bundle.ToolCallRecording{Transcript: []byte("{")}},
		{"another schema", "wrong_schema $.schema", bundle.ToolCallRecording{Transcript: []byte(`{"schema":"x","redaction":{"policy":"none"},"tool_calls":[]}`)}},
		{"duplicate id", "duplicate $.tool_calls[1].call_id", recording(t, nil, recordedCall("1", ""), recordedCall("1", ""))},
		{"no redaction", "missing_field $.tool_calls[0].redaction", recording(t, nil, strings.Replace(recordedCall("1", ""), `,"redaction":{"policy":"none"}`, "", 1))},
		{"missing artifact", "dangling " + at + ".path", recording(t, nil, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x"}]`))},
		{"no source", "dangling " + at + ".path", none},
		{"link", "dangling " + at + ".path", link},
		{"elsewhere", "not_allowed " + at + ".path", recording(t, map[string]string{"files/patch.diff": ""}, recordedCall("1", `,"input_artifacts":[{"path":"files/patch.diff"}]`))},
		{"the transcript itself", "not_allowed " + at + ".path", recording(t, one, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`transcript.json"}]`))},
		{"outside", "bad_format " + at + ".path", recording(t, nil, recordedCall("1", `,"input_artifacts":[{"path":"../x"}]`))},
		{"wrong hash", "conflict " + at + ".sha256", recording(t, one, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x","sha256":{"algorithm":"sha256","value":"`+hashText("y")+`"}}]`))},
		{"wrong digest", "conflict $.tool_calls[0].input_digest", recording(t, one, recordedCall("1", `,"input_digest":{"algorithm":"sha256","value":"`+hashText("y")+`"},"input_artifacts":[{"path":"`+toolDir+`x"}]`))},
		{"malformed hash", "bad_format " + at + ".sha256.value", recording(t, one, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x","sha256":{"algorithm":"sha256","value":"y"}}]`))},
		{"the other kind", "conflict " + at + ".kind", recording(t, one, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x","kind":"tool-call-output"}]`))},
		{"used twice", "duplicate $.tool_calls[0].output_artifacts[0].path", recording(t, one, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x"}],"output_artifacts":[{"path":"`+toolDir+`x"}]`))},
		{"too large", "dangling " + at + ".path", recording(t, map[string]string{toolDir + "x": string(bytes.Repeat([]byte("x"), bundle.MaxToolArtifact+1))}, recordedCall("1", `,"input_artifacts":[{"path":"`+toolDir+`x"}]`))},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, _, err := bundle.RecordToolCalls(dir, c.in)
			if !slices.ContainsFunc(fault.Of(err), func(f fault.Fault) bool { return f.Code+" "+f.Path == c.want }) {
				t.Errorf("want %s, got %v", c.want, err)
			}
			if got := listing(t, dir); len(got) > 0 {
				t.Errorf("%v was written", got)
			}
		})
	}
}
