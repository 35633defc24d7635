package bundle

import (
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/evidence"
)

// checkToolCalls is step 15.
func (v *verification) checkToolCalls(f *listedFile) {
	doc, err := v.readTree(f)
	if err != nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the tool call transcript cannot be read: %v", err)
		return
	}
	calls, ok := doc["tool_calls"].([]any)
	if doc["schema"] != evidence.SchemaToolCallTranscript || !ok {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "not a %s", evidence.SchemaToolCallTranscript)
		return
	}
	if !hasPolicy(doc) {
		v.add(evidence.CodeMalformedReference, f.path+":redaction", f.path, "the transcript does not state its redaction policy")
	}
	seen := make(map[string]bool, len(calls))
	for i, c := range calls {
		where := fmt.Sprintf("%s:tool_calls[%d]", f.path, i)
		call, ok := c.(map[string]any)
		if !ok || !hasStrings(call, "call_id", "tool_name", "tool_type", "phase", "status") {
			v.add(evidence.CodeMalformedReference, where, f.path, "a call needs call_id, tool_name, tool_type, phase and status")
			continue
		}
		if id := call["call_id"].(string); seen[id] {
			v.add(evidence.CodeMalformedReference, where+".call_id", f.path, "two calls have the id %q", shorten(id))
		} else {
			seen[id] = true
		}
		v.checkCallTimes(call, where, f.path)
		if !hasPolicy(call) {
			v.add(evidence.CodeMalformedReference, where+".redaction", f.path, "the call does not state its redaction policy")
		}
		for _, side := range []string{"input", "output"} {
			v.checkToolArtifacts(call, side, where, f.path)
		}
	}
}

// checkCallTimes demands instants, and that a call does not end before it starts.
func (v *verification) checkCallTimes(call map[string]any, where, file string) {
	var at [2]time.Time
	for i, name := range []string{"started_at", "finished_at"} {
		stated, there := call[name]
		if !there {
			continue
		}
		text, _ := stated.(string)
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			v.add(evidence.CodeMalformedReference, where+"."+name, file, "not an instant: %q", shorten(text))
			continue
		}
		at[i] = t
	}
	if !at[0].IsZero() && !at[1].IsZero() && at[1].Before(at[0]) {
		v.add(evidence.CodeMalformedReference, where+".finished_at", file, "the call ends before it starts")
	}
}

func hasPolicy(m map[string]any) bool {
	r, _ := m["redaction"].(map[string]any)
	_, ok := r["policy"].(string)
	return ok
}

// checkToolArtifacts checks the references of one side of a call, and the digest that the call states of that side.
func (v *verification) checkToolArtifacts(call map[string]any, side, where, file string) {
	at := where + "." + side + "_artifacts"
	stated, there := call[side+"_artifacts"]
	list, ok := stated.([]any)
	if there && !ok {
		v.add(evidence.CodeMalformedReference, at, file, "not a list")
	}
	var only *listedFile
	for j, e := range list {
		ref, _ := e.(map[string]any)
		p, ok := ref["path"].(string)
		here := fmt.Sprintf("%s[%d]", at, j)
		if !ok {
			v.add(evidence.CodeMalformedReference, here, file, "a reference without a path")
			continue
		}
		target := v.reference(p, here+".path")
		if target == nil {
			continue
		}
		only = target
		v.checkToolKind(ref, target, side, here)
		if want, ok := digestValue(ref["sha256"]); ok {
			if actual, err := v.bytesHash(target); err != nil {
				v.add(evidence.CodeMissingFile, here+".sha256", p, "cannot be hashed: %v", err)
			} else if actual != want {
				v.add(evidence.CodeFileHashMismatch, here+".sha256", p, "%s has the hash %s, not %s", p, actual, want)
			}
		} else if _, stated := ref["sha256"]; stated {
			v.add(evidence.CodeMissingFileHash, here+".sha256", p, "no well-formed SHA-256")
		}
	}
	digest, there := call[side+"_digest"]
	if !there {
		return
	}
	want, ok := digestValue(digest)
	if !ok {
		v.add(evidence.CodeMissingFileHash, where+"."+side+"_digest", file, "no well-formed SHA-256")
		return
	}
	if len(list) == 1 && only != nil {
		if actual, err := v.bytesHash(only); err == nil && actual != want {
			v.add(evidence.CodeFileHashMismatch, where+"."+side+"_digest", only.path, "%s has the hash %s, not %s", only.path, actual, want)
		}
	}
}

// checkToolKind demands that a reference and the manifest say the same of a file, and that it is not of the other side.
func (v *verification) checkToolKind(ref map[string]any, target *listedFile, side, where string) {
	for _, name := range []string{"kind", "contentType"} {
		if stated, there := ref[name]; there && stated != target.raw[name] {
			v.add(evidence.CodeMalformedReference, where+"."+name, target.path, "the manifest has another %s for %q", name, target.path)
		}
	}
	other := evidence.KindToolCallOutput
	if side == "output" {
		other = evidence.KindToolCallInput
	}
	if target.kind == other {
		v.add(evidence.CodeMalformedReference, where, target.path, "%q is listed as %s and used as %s", target.path, other, side)
	}
}
