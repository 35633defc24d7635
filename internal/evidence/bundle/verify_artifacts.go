package bundle

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
)

// checkTypedArtifacts is step 14.
func (v *verification) checkTypedArtifacts(f *listedFile) {
	data, err := v.readText(f)
	var doc map[string]any
	if err == nil {
		doc, err = object(data)
	}
	if err != nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the index of typed artifacts cannot be read: %v", err)
		return
	}
	list, ok := doc["artifacts"].([]any)
	if doc["schema"] != evidence.SchemaTypedArtifactsIndex || !ok {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "not a %s", evidence.SchemaTypedArtifactsIndex)
		return
	}
	texts := artifactTexts(data)
	for i, e := range list {
		where := fmt.Sprintf("%s:artifacts[%d]", f.path, i)
		entry, _ := e.(map[string]any)
		ref, _ := entry["artifact"].(map[string]any)
		p, ok := ref["path"].(string)
		if !ok {
			v.add(evidence.CodeMalformedReference, where, f.path, "an entry without artifact.path")
			continue
		}
		target := v.reference(p, where+".artifact.path")
		if want, ok := ref["sha256"].(string); ok && target != nil {
			if actual, err := v.bytesHash(target); err != nil {
				v.add(evidence.CodeMissingFile, where+".artifact.sha256", p, "cannot be hashed: %v", err)
			} else if actual != want {
				v.add(evidence.CodeFileHashMismatch, where+".artifact.sha256", p, "%s has the hash %s, not %q", p, actual, shorten(want))
			}
		}
		v.checkPayload(texts[i], where, f.path)
	}
}

// artifactTexts returns the members of the index's entries as they are written: a payload is checked on its own text,
// in which numbers are exact and a name that occurs twice is seen. The index is known to be an object with a list;
// an entry that is no object has no members.
func artifactTexts(index []byte) []map[string]json.RawMessage {
	// A map, because names are matched exactly in one: a struct would take ARTIFACTS for artifacts.
	var doc map[string]json.RawMessage
	var entries []json.RawMessage
	if json.Unmarshal(index, &doc) != nil || json.Unmarshal(doc["artifacts"], &entries) != nil {
		return nil
	}
	texts := make([]map[string]json.RawMessage, len(entries))
	for i, e := range entries {
		_ = json.Unmarshal(e, &texts[i])
	}
	return texts
}

// checkPayload validates the payload of a typed artifact against the schema that came with it, unless that takes too
// long.
func (v *verification) checkPayload(entry map[string]json.RawMessage, where, file string) {
	doc := entry["payload_schema"]
	if !isObject(doc) {
		doc = entry["payloadSchema"]
	}
	payload, there := entry["payload"]
	if !isObject(doc) || !there {
		return
	}
	unusable := func(err error) {
		if errors.Is(err, schema.ErrBudget) {
			err = fmt.Errorf("checking it takes more than %d steps, counted over all payload schemas of the bundle", schemaBudget)
		}
		v.add(evidence.CodePayloadSchemaViolation, where+".payload_schema", file, "not a usable JSON Schema: %s", shorten(err.Error()))
	}
	p, err := schema.CompilePayloadWithin(v.schemas, doc)
	if err != nil {
		unusable(err)
		return
	}
	switch err := p.CheckWithin(v.schemas, payload); {
	case errors.Is(err, schema.ErrBudget):
		unusable(err)
	case err != nil:
		v.add(evidence.CodePayloadSchemaViolation, where+".payload", file, "the payload does not fit its schema: %s", shorten(err.Error()))
	}
}

// schemaBudget is how many steps all payload schemas of one bundle may take: they are untrusted programs.
const schemaBudget = 1_000_000

// isObject distinguishes an object from other JSON by its first byte; decoding has dropped the white space before it.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
