package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Bounds of the evidence of tool calls. What an agent calls, and how often, is its own choice; what is kept of it is not.
const (
	// MaxToolCalls is how many calls a transcript can hold.
	MaxToolCalls = 10_000
	// MaxToolArtifact is how much of one input or output is kept.
	MaxToolArtifact = 256 << 10
	// maxToolArtifacts and maxToolBytes are for all of them together; calls after that keep their digests only. A bundle
	// has at most MaxFiles files.
	maxToolArtifacts = 1000
	maxToolBytes     = 32 << 20
)

// A ToolCallEvidence is one call and what went in and out of it. Digests, references and the redaction of Call are made
// by the writer.
type ToolCallEvidence struct {
	Call   evidence.ToolCall
	Input  []byte // nil: nothing was recorded
	Output []byte // nil: nothing was recorded
}

// AddToolCalls adds the transcript of tool calls and their bounded inputs and outputs, all redacted. Digests are those of
// what is stored: one of the original could be used to guess a secret in it. The metadata of the call says what was cut
// or left out. A fault in the calls, such as two with one id, is returned as fault.Faults before anything is written.
func (w *Writer) AddToolCalls(calls []ToolCallEvidence, metadata map[string]any) (evidence.ToolCallTranscript, error) {
	var none evidence.ToolCallTranscript
	if len(calls) > MaxToolCalls {
		return none, fmt.Errorf("add tool calls: %w: %d calls, and a transcript has at most %d", ErrTooLarge, len(calls), MaxToolCalls)
	}
	c := toolCollector{r: w.o.Redactor}
	t := evidence.ToolCallTranscript{
		Schema: evidence.SchemaToolCallTranscript, ToolCalls: make([]evidence.ToolCall, len(calls)), Metadata: metadata,
		Redaction: evidence.FileRedaction{Policy: evidence.RedactionNone},
	}
	for i, e := range calls {
		call, err := c.call(i, e)
		if err != nil {
			return none, fmt.Errorf("add tool calls: call %d: %w", i, err)
		}
		t.ToolCalls[i] = call
	}
	replaced, err := redactRecord(c.r, &t.Metadata)
	if err != nil {
		return none, fmt.Errorf("add tool calls: %w", err)
	}
	if replaced || c.replaced {
		t.Redaction = appliedRedaction()
	}
	if err := t.Validate(); err != nil {
		return none, fmt.Errorf("add tool calls: %w", err)
	}
	data, err := encodeTranscript(t)
	if err != nil {
		return none, fmt.Errorf("add tool calls: %w", err)
	}
	for _, f := range c.files {
		if err := w.put(f.ref.Path, f.ref.Kind, f.ref.ContentType, f.data, f.counts); err != nil {
			return none, err
		}
	}
	return t, w.AddBytes(evidence.PathToolCallTranscript, evidence.KindToolCallTranscript, evidence.TypeJSON, data)
}

// encodeTranscript refuses what no verifier would read.
func encodeTranscript(t evidence.ToolCallTranscript) ([]byte, error) {
	data, err := encode(t, "  ")
	if err != nil {
		return nil, err
	}
	if bad := jsonFault(data); bad != "" {
		return nil, fmt.Errorf("%s: %w: %s", evidence.PathToolCallTranscript, ErrTooLarge, bad)
	}
	return data, nil
}

func appliedRedaction() evidence.FileRedaction {
	return evidence.FileRedaction{Policy: evidence.RedactionApplied, Reason: "secret values were replaced", Sensitive: true}
}

// A toolFile is one input or output, redacted and ready to be written.
type toolFile struct {
	ref    evidence.ToolArtifact
	data   []byte
	counts redact.Counts
	cut    bool
}

// A toolCollector makes the records of calls and gathers their files within the bounds.
type toolCollector struct {
	r        *redact.Redactor
	files    []toolFile
	bytes    int
	replaced bool // in any call
}

// call returns the record of one call. It changes nothing that the caller holds.
func (c *toolCollector) call(i int, e ToolCallEvidence) (evidence.ToolCall, error) {
	call := e.Call
	call.InputArtifacts, call.OutputArtifacts, call.InputDigest, call.OutputDigest = nil, nil, nil, nil
	call.Metadata = maps.Clone(call.Metadata)
	replaced, err := redactRecord(c.r, &call)
	if err != nil {
		return call, err
	}
	for _, side := range []struct {
		name, kind string
		data       []byte
		artifacts  *[]evidence.ToolArtifact
		digest     **evidence.Digest
	}{
		{"input", evidence.KindToolCallInput, e.Input, &call.InputArtifacts, &call.InputDigest},
		{"output", evidence.KindToolCallOutput, e.Output, &call.OutputArtifacts, &call.OutputDigest},
	} {
		if side.data == nil {
			continue
		}
		f := c.file(fmt.Sprintf("%04d-%s", i+1, side.name), side.kind, side.data)
		*side.digest = f.ref.SHA256
		note := func(key string, value any) {
			if call.Metadata == nil {
				call.Metadata = map[string]any{}
			}
			call.Metadata[side.name+"_"+key] = value
		}
		replaced = replaced || f.counts.Total() > 0 || c.r.MarksIn(f.data).Total() > 0
		if f.cut {
			note("truncated", true)
			note("bytes", len(side.data))
		}
		if !c.keep(f) {
			note("omitted", true)
			continue
		}
		*side.artifacts = []evidence.ToolArtifact{f.ref}
	}
	if call.Redaction.Policy == "" {
		call.Redaction.Policy = evidence.RedactionNone
	}
	if replaced {
		c.replaced = true
		call.Redaction = appliedRedaction()
	}
	return call, nil
}

// file redacts and bounds one side of a call. The cut comes after the redaction: half a secret would not be found.
func (c *toolCollector) file(name, kind string, data []byte) toolFile {
	contentType, ext := toolContent(data)
	var f toolFile
	f.data, f.counts = redactContent(c.r, contentType, data)
	if len(f.data) > MaxToolArtifact {
		f.data, f.cut = f.data[:MaxToolArtifact], true
		if contentType == evidence.TypeJSON {
			contentType, ext = evidence.TypeText, ".txt"
		}
		if contentType == evidence.TypeText {
			f.data = []byte(strings.ToValidUTF8(string(f.data), ""))
		}
	}
	sum := sha(hashBytes(f.data))
	f.ref = evidence.ToolArtifact{Path: path.Join(path.Dir(evidence.PathToolCallTranscript), name+ext), Kind: kind, ContentType: contentType, SHA256: &sum}
	return f
}

func (c *toolCollector) keep(f toolFile) bool {
	if len(c.files) == maxToolArtifacts || c.bytes+len(f.data) > maxToolBytes {
		return false
	}
	c.files = append(c.files, f)
	c.bytes += len(f.data)
	return true
}

// redactRecord redacts the strings of a record and reports whether one was replaced, now or before.
func redactRecord[T any](r *redact.Redactor, v *T) (replaced bool, err error) {
	if !r.Active() {
		return false, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return false, err
	}
	return r.Contains(data) || r.MarksIn(data).Total() > 0, r.Value(v)
}

func redactContent(r *redact.Redactor, contentType string, data []byte) ([]byte, redact.Counts) {
	if contentType == evidence.TypeJSON {
		return redactJSON(r, data, "  ")
	}
	return r.Redact(data)
}

func toolContent(data []byte) (contentType, ext string) {
	switch {
	case json.Valid(data):
		return evidence.TypeJSON, ".json"
	case utf8.Valid(data):
		return evidence.TypeText, ".txt"
	}
	return evidence.TypeBytes, ".bin"
}
