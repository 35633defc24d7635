package bundletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

func (c *checker) metadata() {
	artifacts, _ := c.read("metadata.json")["artifacts"].(object)
	for name, v := range artifacts {
		if isText(v) {
			c.refer("metadata.artifacts."+name, v)
		}
	}
}

func (c *checker) review() {
	const name = "files/review.json"
	if c.entries[name] == nil {
		return
	}
	r := c.read(name)
	evidence, ok := r["evidence"].(object)
	if !ok {
		c.fault("malformed-reference", "the review has no evidence")
		return
	}
	if evidence["artifactContentDigest"] != c.manifest["contentDigest"].(object)["value"] {
		c.fault("review-evidence-mismatch", "the review is of another content digest")
	}
	for _, k := range []string{"patch", "changedFiles", "runtimeReferenceManifest"} {
		if v, ok := evidence[k]; ok {
			c.refer(name+":"+k, v)
		}
	}
	if p, _ := evidence["patch"].(string); c.hash(p) != evidence["patchSha256"] {
		c.fault("review-evidence-mismatch", "the review is of another patch")
	}
	p, _ := evidence["changedFiles"].(string)
	changed, _ := c.read(p)["files"].([]any)
	have := map[string]bool{}
	for _, f := range changed {
		e, _ := f.(object)
		have[fmt.Sprint(e["path"], ":", e["status"])] = true
	}
	reviewed, _ := r["changedFiles"].([]any)
	for _, f := range reviewed {
		e, _ := f.(object)
		if !have[fmt.Sprint(e["path"], ":", e["status"])] {
			c.fault("review-evidence-mismatch", "%v is reviewed and did not change", e["path"])
		}
	}
}

func (c *checker) referenceManifest(path string) {
	doc := c.read(path)
	bundle, _ := doc["artifactBundle"].(object)
	files, okFiles := doc["files"].([]any)
	snapshots, okSnapshots := doc["snapshots"].([]any)
	stated := digestOf(doc["digest"])
	if doc["schema"] != "wp-codebox/runtime-reference-manifest/v1" || doc["version"] != 1.0 || !isText(doc["id"]) || !isText(doc["createdAt"]) ||
		stated == "" || !isObject(doc["runtime"]) || bundle["kind"] != "artifact-bundle" || digestOf(bundle["digest"]) == "" || !okFiles ||
		!okSnapshots || len(files) > 2000 {
		c.fault("malformed-reference", "%s has the wrong shape", path)
		return
	}
	payload := object{}
	for k, v := range doc {
		if !slices.Contains([]string{"id", "digest", "createdAt"}, k) {
			payload[k] = v
		}
	}
	if got := sum([]byte("wp-codebox/runtime-reference-manifest/v1\n"), stable(payload)); got != stated {
		c.fault("digest-mismatch", "%s is %s, stated %s", path, got, stated)
	}
	if doc["id"] != "runtime-reference-manifest-sha256-"+stated {
		c.fault("bundle-id-mismatch", "%s: %v", path, doc["id"])
	}
	if bundle["id"] != c.manifest["id"] || digestOf(bundle["digest"]) != c.manifest["contentDigest"].(object)["value"] {
		c.fault("review-evidence-mismatch", "%s belongs to another bundle", path)
	}
	refs := slices.Clone(files)
	for _, k := range []string{"trace", "events"} {
		if v, ok := doc[k]; ok {
			refs = append(refs, v)
		}
	}
	for _, f := range refs {
		e, _ := f.(object)
		if !isText(e["kind"]) || !isText(e["contentType"]) || digestOf(e["sha256"]) == "" {
			c.fault("malformed-reference", "%s: %v", path, f)
			continue
		}
		if c.refer(path, e["path"]) && c.hash(e["path"].(string)) != digestOf(e["sha256"]) {
			c.fault("file-hash-mismatch", "%s: %v", path, e["path"])
		}
	}
	if len(snapshots) > 0 {
		c.fault("malformed-reference", "%s has snapshots, which this checker does not know", path)
	}
}

func (c *checker) toolCalls(path string) {
	doc := c.read(path)
	calls, ok := doc["tool_calls"].([]any)
	if doc["schema"] != "wp-codebox/tool-call-transcript/v1" || !ok || !redaction(doc) {
		c.fault("malformed-reference", "%s has the wrong shape", path)
		return
	}
	for i, v := range calls {
		call, _ := v.(object)
		where := path + ":" + strconv.Itoa(i)
		for _, k := range []string{"call_id", "tool_name", "tool_type", "phase", "status"} {
			if !isText(call[k]) {
				c.fault("malformed-reference", "%s lacks %s", where, k)
			}
		}
		if !redaction(call) {
			c.fault("malformed-reference", "%s lacks redaction", where)
		}
		for _, k := range []string{"input_artifacts", "output_artifacts"} {
			list, _ := call[k].([]any)
			for _, r := range list {
				ref, _ := r.(object)
				if c.refer(where, ref["path"]) {
					if want := digestOf(ref["sha256"]); want != "" && c.hash(ref["path"].(string)) != want {
						c.fault("file-hash-mismatch", "%s: %v", where, ref["path"])
					}
				}
			}
		}
	}
}

func redaction(o object) bool {
	r, _ := o["redaction"].(object)
	return isText(r["policy"])
}

// stable writes a value as JavaScript's JSON.stringify does, with the keys sorted as JavaScript sorts strings.
func stable(v any) []byte {
	switch v := v.(type) {
	case nil:
		return []byte("null")
	case bool:
		return strconv.AppendBool(nil, v)
	case float64:
		if v != float64(int64(v)) {
			panic(fmt.Sprintf("bundletest: the number %v is not an integer", v))
		}
		return strconv.AppendInt(nil, int64(v), 10)
	case string:
		return quote(v)
	case []any:
		out := []byte{'['}
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, stable(e)...)
		}
		return append(out, ']')
	case object:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		out := []byte{'{'}
		for i, k := range keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, quote(k)...), ':'), stable(v[k])...)
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("bundletest: %T is no JSON value", v))
}

func quote(s string) []byte {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return []byte(b.String())
}
