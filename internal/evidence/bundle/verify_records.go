package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
)

func decode(data []byte) (any, error) {
	var v any
	err := json.Unmarshal(data, &v)
	return v, err
}

// checkMetadata is step 9: metadata.json is of this bundle, and what it points at is in it.
func (v *verification) checkMetadata() {
	const name = evidence.PathMetadata
	f := v.listed(name)
	if !f.usable {
		return
	}
	md, err := v.readTree(f)
	if err != nil || md == nil {
		v.add(evidence.CodeMalformedReference, f.path, f.path, "not a readable JSON object: %v", err)
		return
	}
	if id, stated := md["id"]; stated && id != v.id {
		v.add(evidence.CodeBundleIDMismatch, "metadata.id", name, "the metadata is of the bundle %s, not of %q", quoted(id), shorten(v.id))
	}
	// Where the id is made of the list of files, its maker gives a bundle a new one with each file, and leaves this as it was.
	if content, ok := md["contentDigest"].(map[string]any); ok && v.out.ContentAddressed && content["value"] != v.digest {
		v.add(evidence.CodeDigestMismatch, "metadata.contentDigest.value", name, "the metadata is of the content digest %s, not of %s", quoted(content["value"]), v.digest)
	}
	artifacts, _ := md["artifacts"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		where := "metadata.artifacts." + shorten(name)
		switch value := artifacts[name].(type) {
		case string:
			v.reference(value, where)
		case []any:
			for i, e := range value {
				if s, ok := e.(string); ok {
					v.reference(s, where)
				} else {
					v.checkMetadataRef(e, fmt.Sprintf("%s[%d]", where, i), 1)
				}
			}
		default:
			v.checkMetadataRef(value, where, 1)
		}
	}
}

// maxRefDepth is how deep references of metadata are looked for: they are listed by kind, and a place must have a short name.
const maxRefDepth = 8

// checkMetadataRef checks what points at a file with an object: its path, and the hash that it states. Strings that are not a path say
// something else.
func (v *verification) checkMetadataRef(value any, where string, depth int) {
	if depth > maxRefDepth {
		return
	}
	switch value := value.(type) {
	case []any:
		for i, e := range value {
			v.checkMetadataRef(e, fmt.Sprintf("%s[%d]", where, i), depth+1)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			p, ok := value[key].(string)
			if key != "path" || !ok {
				v.checkMetadataRef(value[key], where+"."+shorten(key), depth+1)
				continue
			}
			f := v.reference(p, where+".path")
			if sum, stated := value["sha256"]; stated && f != nil && !rewritten(f.kind) {
				if s, ok := sum.(string); ok {
					sum = map[string]any{"algorithm": evidence.AlgorithmSHA256, "value": s}
				}
				v.checkStatedHash(f, sum, where+".sha256")
			}
		}
	}
}

// rewritten reports whether makers of bundles write a file of a kind again after the metadata was made.
func rewritten(kind string) bool {
	switch kind {
	case evidence.KindManifest, evidence.KindMetadata, evidence.KindReview, evidence.KindRuntimeReference, evidence.KindRuntimeReplayIndex:
		return true
	}
	return false
}

// quoted is a value as a message names it.
func quoted(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", shorten(s))
	}
	return "that is no text"
}

// checkReview is step 10: the review was derived from this bundle's files.
func (v *verification) checkReview() {
	const name = evidence.PathReview
	f := v.listed(name)
	if !f.usable {
		return
	}
	review, err := v.readTree(f)
	if err != nil {
		v.add(evidence.CodeMalformedReference, name, name, "not readable JSON: %v", err)
		return
	}
	stated, ok := review["evidence"].(map[string]any)
	if !ok {
		v.add(evidence.CodeMalformedReference, name, name, "the review has no evidence object")
		return
	}
	if id, ok := review["artifactId"]; ok && id != v.id {
		v.add(evidence.CodeReviewEvidenceMismatch, name+":artifactId", name, "the review is of the bundle %s, not of %q", quoted(id), shorten(v.id))
	}
	if s, ok := stated["artifactContentDigest"].(string); ok && s != v.digest {
		v.add(evidence.CodeReviewEvidenceMismatch, name+":evidence.artifactContentDigest", name, "the review is of the content digest %q", shorten(s))
	}
	if p, ok := stated["patch"].(string); ok {
		patch := v.reference(p, name+":evidence.patch")
		if want, ok := stated["patchSha256"].(string); ok {
			actual := ""
			if patch != nil {
				actual, err = v.bytesHash(patch)
			}
			if patch == nil || err != nil || actual != want {
				v.add(evidence.CodeReviewEvidenceMismatch, name+":evidence.patchSha256", name, "the review is of a patch with the hash %q", shorten(want))
			}
		}
	}
	if p, ok := stated["changedFiles"].(string); ok {
		if f := v.reference(p, name+":evidence.changedFiles"); f != nil {
			v.checkReviewedFiles(review, f)
		} else {
			v.add(evidence.CodeReviewEvidenceMismatch, name+":evidence.changedFiles", name, "the change list of the review cannot be read")
		}
	}
	for _, key := range []string{"runtimeEpisodeTrace", "runtimeReferenceManifest", "runtimeReplayReferenceIndex"} {
		if p, ok := stated[key].(string); ok {
			v.reference(p, name+":evidence."+key)
		}
	}
}

func (v *verification) checkReviewedFiles(review map[string]any, f *listedFile) {
	const name = evidence.PathReview
	if !f.usable {
		v.add(evidence.CodeReviewEvidenceMismatch, name+":evidence.changedFiles", f.path, "the change list of the review cannot be read")
		return
	}
	key := func(m map[string]any) string { return fmt.Sprintf("%v:%v", m["path"], m["status"]) }
	missing := map[string]bool{} // reviewed and not found in the change list yet
	reviewed, _ := review["changedFiles"].([]any)
	for _, e := range reviewed {
		if m, ok := e.(map[string]any); ok {
			missing[key(m)] = true
		}
	}
	_, err := eachChange(v.root, f.path, func(m map[string]any) error {
		delete(missing, key(m))
		return nil
	})
	if err != nil {
		v.add(evidence.CodeReviewEvidenceMismatch, name+":evidence.changedFiles", f.path, "the change list of the review cannot be read: %s", shorten(err.Error()))
		return
	}
	for _, k := range slices.Sorted(maps.Keys(missing)) {
		v.add(evidence.CodeReviewEvidenceMismatch, name+":changedFiles", name, "reviewed but not in %s: %q", f.path, shorten(k))
	}
}

// checkCases is step 16.
func (v *verification) checkCases() {
	cases, _ := v.manifest["cases"].([]any)
	seen := map[string]bool{}
	for i, c := range cases {
		m, _ := c.(map[string]any)
		where := fmt.Sprintf("manifest.cases[%d]", i)
		id, _ := m["id"].(string)
		if seen[id] {
			v.add(evidence.CodeInvalidManifestShape, where+".id", "", "two cases have the id %q", shorten(id))
		}
		seen[id] = true
		if ver, ok := m["verification"].(map[string]any); ok {
			if at, ok := ver["verifiedAt"].(string); ok && !isInstant(at) {
				v.add(evidence.CodeInvalidManifestShape, where+".verification.verifiedAt", "", "not an instant: %q", shorten(at))
			}
		}
		artifacts, _ := m["artifacts"].([]any)
		for j, a := range artifacts {
			ref, _ := a.(map[string]any)
			at := fmt.Sprintf("%s.artifacts[%d]", where, j)
			p, _ := ref["path"].(string)
			f := v.reference(p, at+".path")
			if sum, stated := ref["sha256"]; stated && f != nil {
				v.checkStatedHash(f, sum, at+".sha256")
			}
			if u, ok := ref["publicUrl"].(string); ok {
				v.checkURL(u, at+".publicUrl", p)
			}
		}
	}
}

// checkStatedHash compares a digest that some record states of a listed file with the file.
func (v *verification) checkStatedHash(f *listedFile, digest any, where string) {
	want, ok := digestValue(digest)
	if !ok {
		v.add(evidence.CodeMissingFileHash, where, f.path, "no well-formed SHA-256 for %q", f.path)
		return
	}
	if actual, err := v.bytesHash(f); err != nil {
		v.add(evidence.CodeFileHashMismatch, where, f.path, "cannot be hashed: %v", err)
	} else if actual != want {
		v.add(evidence.CodeFileHashMismatch, where, f.path, "%s has the hash %s, not %s", f.path, actual, want)
	}
}

// casesFault checks the shape of the manifest's cases, which are optional.
func casesFault(v any) string {
	if v == nil {
		return ""
	}
	cases, ok := v.([]any)
	if !ok {
		return "cases is not a list"
	}
	for i, c := range cases {
		m, ok := c.(map[string]any)
		if !ok {
			return fmt.Sprintf("cases[%d] is not an object", i)
		}
		if _, ok := m["id"].(string); !ok {
			return fmt.Sprintf("cases[%d].id is not a string", i)
		}
		list, ok := m["artifacts"].([]any)
		if !ok {
			return fmt.Sprintf("cases[%d].artifacts is not a list", i)
		}
		for j, a := range list {
			ref, _ := a.(map[string]any)
			_, hasPath := ref["path"].(string)
			if _, hasKind := ref["kind"].(string); !hasPath || !hasKind {
				return fmt.Sprintf("cases[%d].artifacts[%d] lacks path or kind", i, j)
			}
		}
	}
	return ""
}
