package bundle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/evidence"
)

// schemaEpisodeTrace is the schema id of a runtime episode trace, which deed checks but does not write.
const schemaEpisodeTrace = "wp-codebox/runtime-episode-trace/v1"

func isInstant(s string) bool {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// checkEpisodeTrace is step 11, as far as the schema id and the object shape go.
func (v *verification) checkEpisodeTrace(f *listedFile) {
	doc, err := v.readTree(f)
	if err != nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the episode trace cannot be read: %v", err)
	} else if doc["schema"] != schemaEpisodeTrace {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the episode trace is not a %s", schemaEpisodeTrace)
	}
}

// checkReferenceManifest is step 12.
func (v *verification) checkReferenceManifest(f *listedFile) {
	doc, err := v.readTree(f)
	if err != nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the reference manifest cannot be read: %v", err)
		return
	}
	files, okFiles := doc["files"].([]any)
	snapshots, okSnapshots := doc["snapshots"].([]any)
	if !referenceHead(doc, evidence.SchemaRuntimeReferenceManifest) || !okFiles || !all(files, isFileRef) ||
		!optional(doc, "trace", isFileRef) || !optional(doc, "events", isFileRef) || !okSnapshots || !all(snapshots, isSnapshot) {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "not a %s", evidence.SchemaRuntimeReferenceManifest)
		return
	}
	v.checkReferenceIdentity(f, doc, evidence.DomainRuntimeReference, evidence.RuntimeReferenceIDStart)
	for i, r := range files {
		v.checkFileRef(r, fmt.Sprintf("%s:files[%d]", f.path, i))
	}
	for _, key := range []string{"trace", "events"} {
		if r, ok := doc[key]; ok {
			v.checkFileRef(r, f.path+":"+key)
		}
	}
	v.checkSnapshots(f, snapshots)
}

// replayPayload are the fields that the digest of a replay index covers.
var replayPayload = []string{"schema", "version", "runtime", "artifactBundle", "references", "actions", "observations", "snapshots", "replay"}

// checkReplayIndex is step 13.
func (v *verification) checkReplayIndex(f *listedFile) {
	doc, err := v.readTree(f)
	if err != nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "the replay index cannot be read: %v", err)
		return
	}
	references, okRefs := doc["references"].(map[string]any)
	_, okActions := doc["actions"].([]any)
	observations, okObs := doc["observations"].([]any)
	snapshots, okSnapshots := doc["snapshots"].([]any)
	if !referenceHead(doc, evidence.SchemaRuntimeReplayIndex) || !okRefs || !all(slices.Collect(maps.Values(references)), isFileRef) ||
		!okActions || !okObs || !all(observations, isObservation) || !okSnapshots || !all(snapshots, isSnapshot) || !isReplay(doc["replay"]) {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "not a %s", evidence.SchemaRuntimeReplayIndex)
		return
	}
	v.checkReferenceIdentity(f, doc, evidence.DomainRuntimeReplay, evidence.RuntimeReplayIDStart, replayPayload...)
	for _, key := range slices.Sorted(maps.Keys(references)) {
		v.checkFileRef(references[key], f.path+":references."+shorten(key))
	}
	for i, o := range observations {
		refs, _ := o.(map[string]any)["artifactRefs"].([]any)
		v.checkRefs(refs, fmt.Sprintf("%s:observations[%d]", f.path, i))
	}
	v.checkSnapshots(f, snapshots)
}

// checkReferenceIdentity checks that a reference file has the digest and id of its content and belongs to this bundle.
func (v *verification) checkReferenceIdentity(f *listedFile, doc map[string]any, domain, idStart string, keep ...string) {
	stated, _ := digestValue(doc["digest"])
	if want, err := referenceDigest(domain, doc, keep...); err != nil || want != stated {
		v.add(evidence.CodeDigestMismatch, f.path+":digest", f.path, "its content has the digest %s, not %s", want, stated)
	}
	if doc["id"] != idStart+stated {
		v.add(evidence.CodeBundleIDMismatch, f.path+":id", f.path, "its id does not bear its digest")
	}
	ref, _ := doc["artifactBundle"].(map[string]any)
	if sum, _ := digestValue(ref["digest"]); ref["id"] != v.id || sum != v.digest {
		v.add(evidence.CodeReviewEvidenceMismatch, f.path+":artifactBundle", f.path, "it belongs to another bundle")
	}
}

func (v *verification) checkFileRef(r any, where string) {
	m, _ := r.(map[string]any)
	p, _ := m["path"].(string)
	if f := v.reference(p, where+".path"); f != nil {
		v.checkStatedHash(f, m["sha256"], where+".sha256")
	}
}

func (v *verification) checkSnapshots(f *listedFile, snapshots []any) {
	for i, s := range snapshots {
		refs, _ := s.(map[string]any)["artifactRefs"].([]any)
		v.checkRefs(refs, fmt.Sprintf("%s:snapshots[%d]", f.path, i))
	}
}

func (v *verification) checkRefs(refs []any, where string) {
	for j, r := range refs {
		m, _ := r.(map[string]any)
		p, ok := m["path"].(string)
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s.artifactRefs[%d]", where, j)
		if f := v.reference(p, at+".path"); f != nil {
			v.checkStatedHash(f, m["digest"], at+".digest")
		}
	}
}

// The shapes. Each reports whether a value has the fields that later checks use.

func referenceHead(doc map[string]any, schema string) bool {
	_, okID := doc["id"].(string)
	_, okAt := doc["createdAt"].(string)
	_, okDigest := digestValue(doc["digest"])
	_, okRuntime := doc["runtime"].(map[string]any)
	ref, _ := doc["artifactBundle"].(map[string]any)
	_, okRefID := ref["id"].(string)
	_, okRefDigest := digestValue(ref["digest"])
	return doc["schema"] == schema && doc["version"] == float64(evidence.ReferenceVersion) && okID && okAt && okDigest && okRuntime &&
		ref["kind"] == evidence.KindArtifactBundle && okRefID && okRefDigest
}

func isFileRef(v any) bool {
	m, ok := v.(map[string]any)
	_, okDigest := digestValue(m["sha256"])
	return ok && hasStrings(m, "path", "kind", "contentType") && okDigest
}

func isSnapshot(v any) bool {
	m, ok := v.(map[string]any)
	_, okDigest := digestValue(m["digest"])
	refs, okRefs := m["artifactRefs"].([]any)
	return ok && hasStrings(m, "id", "semantics") && okDigest && isReplay(m["replay"]) && okRefs && all(refs, func(r any) bool {
		ref, ok := r.(map[string]any)
		_, okDigest := digestValue(ref["digest"])
		return ok && hasStrings(ref, "kind", "id") && okDigest
	})
}

func isObservation(v any) bool {
	m, ok := v.(map[string]any)
	refs, okRefs := m["artifactRefs"].([]any)
	return ok && hasStrings(m, "id", "type") && isRef(m["ref"]) && okRefs && all(refs, isRef)
}

func isRef(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || !hasStrings(m, "kind", "id") {
		return false
	}
	if d, ok := m["digest"]; ok {
		if _, ok := digestValue(d); !ok {
			return false
		}
	}
	return true
}

func isReplay(v any) bool {
	m, ok := v.(map[string]any)
	_, okList := stringList(m["limitations"])
	return ok && hasStrings(m, "status") && okList
}

func hasStrings(m map[string]any, keys ...string) bool {
	for _, k := range keys {
		if _, ok := m[k].(string); !ok {
			return false
		}
	}
	return true
}

func all(list []any, ok func(any) bool) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !ok(v) })
}

func optional(m map[string]any, key string, ok func(any) bool) bool {
	v, there := m[key]
	return !there || ok(v)
}
