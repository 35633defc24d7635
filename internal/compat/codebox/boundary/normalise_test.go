package boundary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/ending"
)

// different lists the vectors of the original that deed answers otherwise, with its answer and why.
var different = map[string]struct{ status, class, why string }{
	"no_op beats failed status":   {"failed", "runtime", "a run that says success:false and exits with 1 is no success"},
	"outcome no_op":               {"failed", "runtime", "the contract's command exits non-zero when the result is no success"},
	"implicit no-op but exit 1":   {"failed", "runtime", "the same"},
	"implicit no-op needs reason": {"no_op", "", "an agent that is known to have changed nothing did not succeed, whether or not it gives a reason"},
	"succeeded w/ exit 1":         {"failed", "runtime", "a word does not outrank the exit code and success:false"},
	"provider_error empty obj":    {"failed", "runtime", "an empty object reports no error"},
	"exitStatus string":           {"failed", "runtime", "an exit status is a number here; the text of one is read, not taken for 0"},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/status-classification.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var v struct {
			Name       string          `json:"name"`
			Raw        json.RawMessage `json:"raw"`
			ExitStatus any             `json:"exitStatus"`
			Status     string          `json:"status"`
			Success    bool            `json:"success"`
			Class      *string         `json:"failure_classification"`
			NoOp       bool            `json:"no_op"`
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		n++
		var exit int
		if _, err := fmt.Sscan(fmt.Sprint(v.ExitStatus), &exit); err != nil {
			t.Fatal(err)
		}
		status, class := v.Status, ""
		if v.Class != nil {
			class = *v.Class
		}
		d, differs := different[v.Name]
		if differs {
			if d.status == status || d.why == "" {
				t.Errorf("%s is listed as different and is not", v.Name)
			}
			status, class = d.status, d.class
		}
		got, err := Normalise(v.Raw, exit)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if got.Status != status || got.FailureClassification != class || got.Success != evidence.Success(status) || got.NoOp.Detected != (status == "no_op") {
			t.Errorf("%s: %s %q, want %s %q", v.Name, got.Status, got.FailureClassification, status, class)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	if n != 28 {
		t.Errorf("%d vectors, want 28", n)
	}
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	const nothing = `"agent_result":{"changedFiles":{"count":0},"patch":{"bytes":0}}`
	const something = `"agent_result":{"changedFiles":{"count":2},"patch":{"bytes":20}}`
	for _, c := range []struct{ name, raw, status, class string }{
		{"polite agent that changed nothing", `{"success":true,"terminal_result":{"terminal":true,"status":"succeeded","success":true},` + nothing + `}`, "no_op", ""},
		{"no-op that changed something", `{"success":true,"no_op":true,` + something + `}`, "failed", "runtime"},
		{"change", `{"status":"completed","success":true,` + something + `}`, "succeeded", ""},
		{"deadline that surfaced as failed", `{"success":false,"status":"failed","run_metadata":{"run_status":"timed_out"}}`, "timeout", "timeout"},
		{"cancel that surfaced as failed", `{"success":false,"status":"failed","run_metadata":{"run_status":"cancelled"}}`, "failed", "cancelled"},
		{"cancel that claims success", `{"success":true,"status":"completed","run_metadata":{"run_status":"cancelled"}}`, "failed", "cancelled"},
		{"run that failed and claims success", `{"success":true,"run_metadata":{"run_status":"failed"}}`, "failed", "runtime"},
		{"word cancelled", `{"status":"cancelled"}`, "failed", "cancelled"},
		{"terminal cancelled", `{"terminal_result":{"terminal":true,"status":"canceled","success":false}}`, "failed", "cancelled"},
		{"provider outranks a run that failed", `{"run_metadata":{"run_status":"failed"},"terminal_result":{"terminal":true,"status":"provider_error","success":false}}`, "provider_error", "provider"},
		{"snake case outcome", `{"success":true,"completion_outcome":{"status":"succeeded"},"terminal_result":{"terminal":true,"status":"unknown","success":false}}`, "succeeded", ""},
		{"terminal succeeded against itself", `{"terminal_result":{"terminal":true,"status":"succeeded","success":false}}`, "failed", "runtime"},
		{"turns counted", `{"terminal_result":{"schema":"wp-codebox/agent-terminal-result/v1","max_turns":{"current":8,"max":8}}}`, "timeout", "max_turns"},
		{"turns left", `{"terminal_result":{"schema":"wp-codebox/agent-terminal-result/v1","success":true,"max_turns":{"current":7,"max":8}}}`, "succeeded", ""},
		{"pending tools", `{"terminal_result":{"schema":"wp-codebox/agent-terminal-result/v1","pending_tools":{"detected":true}}}`, "failed", "incomplete"},
		{"half a terminal result", `{"success":true,"terminal_result":{"status":"failed"}}`, "succeeded", ""},
		{"nested pending tools are no terminal result", `{"success":true,"agent_runtime":{"pending_tools":{"detected":true}}}`, "succeeded", ""},
		{"own class", `{"status":"unable_to_remediate","failure_classification":"blocked"}`, "unable_to_remediate", "blocked"},
		{"wrong types", `{"success":"true","status":3,"terminal_result":[],"agent_result":7,"run":null,"diagnostics":{}}`, "failed", "runtime"},
	} {
		got, err := Normalise(json.RawMessage(c.raw), 0)
		if err != nil || got.Status != c.status || got.FailureClassification != c.class {
			t.Errorf("%s: %s %q %v, want %s %q", c.name, got.Status, got.FailureClassification, err, c.status, c.class)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, raw := range []string{``, `[]`, `"x"`, `{`} {
		if _, err := Normalise(json.RawMessage(raw), 0); err == nil {
			t.Errorf("%q is no envelope", raw)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	got, err := Normalise(json.RawMessage(`{"success":true,
		"artifacts":{"files":[{"kind":"codebox-patch","path":"/b/files/patch.diff","size_bytes":3},{"kind":"","path":"x"},{"kind":"x"},{"kind":"evidence-bundle","url":"https://h/e"}]},
		"run":{"artifactRefs":[{"kind":"codebox-runtime-log","path":"logs/runtime.log"},{"kind":"codebox-command-log","path":"logs/commands.log"},{"kind":"codebox-runtime-log","path":"logs/runtime.log"}]},
		"session":{"artifacts":{"directory":"/b","bundle_id":"id"}},
		"agent_result":{"changedFiles":{"artifact":"files/changed-files.json"},"patch":{"artifact":"files/patch.diff"},"transcript":{"artifact":"../../etc/passwd"}},
		"evidence_refs":[{"kind":"codebox-artifacts","uri":"/b"},{"kind":"codebox-patch","uri":"/b/files/patch.diff"},{"kind":"k","uri":"C:\\x"},{"kind":"codebox-transcript","uri":"/b/files/transcript.json"}],
		"run_metadata":{"runtime_id":"runtime-1"}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	names := func(refs []codebox.ArtifactRef) string {
		var out []string
		for _, r := range refs {
			out = append(out, locator(r))
		}
		return strings.Join(out, " ")
	}
	want := map[string]string{
		"artifact_bundles": "/b", "changed_files": "files/changed-files.json", "patches": "files/patch.diff", "transcripts": "files/transcript.json",
		"logs": "logs/runtime.log logs/commands.log", "runtimes": "runtime-1", "evidence_bundles": "https://h/e",
	}
	r := got.Refs
	if diff := cmp.Diff(want, map[string]string{
		"artifact_bundles": names(r.ArtifactBundles), "changed_files": names(r.ChangedFiles), "patches": names(r.Patches), "transcripts": names(r.Transcripts),
		"logs": names(r.Logs), "runtimes": names(r.Runtimes), "evidence_bundles": names(r.EvidenceBundles),
	}); diff != "" {
		t.Error(diff)
	}
	one, err := Normalise(json.RawMessage(`{"artifacts":{"kind":"codebox-patch","path":"p"}}`), 0)
	if err != nil || names(one.Refs.Patches) != "p" {
		t.Errorf("one object: %+v %v", one.Artifacts, err)
	}
}

func TestToolObservability(t *testing.T) {
	t.Parallel()
	call := func(extra string) string { return `{"id":"1","name":"workspace.read"` + extra + `}` }
	for _, c := range []struct {
		name, observability string
		calls               int // -1: nothing at all
	}{
		{"plain", `{"version":1,"calls":[` + call(``) + `]}`, 1},
		{"arguments", `{"version":1,"calls":[` + call(`,"arguments":{"redacted":true,"count":1,"keys":["path"]}`) + `]}`, 1},
		{"version 0", `{"version":0,"calls":[]}`, -1},
		{"version 2", `{"version":2,"calls":[]}`, -1},
		{"version as text", `{"version":"1","calls":[]}`, -1},
		{"not redacted", `{"version":1,"calls":[` + call(`,"arguments":{"redacted":false,"count":0,"keys":[]}`) + `,` + call(``) + `]}`, 1},
		{"miscounted", `{"version":1,"calls":[` + call(`,"arguments":{"redacted":true,"count":2,"keys":["a"]}`) + `]}`, 0},
		{"too many keys", `{"version":1,"calls":[` + call(`,"arguments":{"redacted":true,"count":33,"keys":[`+strings.TrimSuffix(strings.Repeat(`"a",`, 33), ",")+`]}`) + `]}`, 0},
		{"arguments as text", `{"version":1,"calls":[` + call(`,"arguments":"SECRET"`) + `]}`, 0},
		{"bad names", `{"version":1,"calls":[{"id":"-","name":"x"},{"id":"1","name":"a b"},{"id":"` + strings.Repeat("a", 257) + `","name":"x"},7,{}]}`, 0},
		{"too many calls", `{"version":1,"calls":[` + strings.TrimSuffix(strings.Repeat(call(``)+",", 100), ",") + `]}`, codebox.MaxObservedCalls},
		{"payloads", `{"version":1,"calls":[` + call(`,"input":"SECRET","output":{"x":"SECRET"},"error":"SECRET","status":"ok"`) + `]}`, 1},
	} {
		for _, raw := range []string{`{"tool_observability":` + c.observability + `}`, `{"metadata":{"tool_observability":` + c.observability + `}}`} {
			got, err := Normalise(json.RawMessage(raw), 0)
			if err != nil {
				t.Fatal(err)
			}
			n := -1
			if o := got.Metadata.ToolObservability; o != nil {
				n = len(o.Calls)
			}
			if n != c.calls {
				t.Errorf("%s: %d calls, want %d", c.name, n, c.calls)
			}
			if text := string(mustJSON(got)); strings.Contains(text, "SECRET") {
				t.Errorf("%s: %s", c.name, text)
			}
		}
	}
}

// FuzzNormalise demands of any envelope: no panic, and a result whose parts agree and that its schema accepts.
func FuzzNormalise(f *testing.F) {
	text, err := os.ReadFile("testdata/status-classification.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var v struct {
			Raw json.RawMessage `json:"raw"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(v.Raw), 0)
		f.Add([]byte(v.Raw), 1)
	}
	env, err := Envelope(full(f, ending.Decide(ran(nil))))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(mustJSON(env)), 0)
	f.Fuzz(func(t *testing.T, data []byte, exit int) {
		got, err := Normalise(data, exit)
		if err != nil {
			return
		}
		if got.Success && exit != 0 {
			t.Fatalf("a success with exit code %d", exit)
		}
		if err := schema.Validate(codebox.SchemaAgentTaskRunResult, mustJSON(got)); err != nil {
			t.Fatalf("%v\n%s", err, mustJSON(got))
		}
	})
}
