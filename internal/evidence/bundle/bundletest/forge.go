package bundletest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/base/canonjson"
)

// Reseal gives a bundle that was changed the hashes, the digest and the id of what it holds now, as a careful forger would, so
// that a reader gets past them. What is missing or has another form stays as it is.
func Reseal(t testing.TB, dir string) {
	t.Helper()
	f := forger{t, dir}
	m := f.read("manifest.json")
	files, _ := m["files"].([]any)
	digest, _ := m["contentDigest"].(object)
	if digest != nil {
		digest["value"] = f.content(digest)
		m["id"] = "artifact-bundle-sha256-" + digest["value"].(string)
	}
	if review := f.read("files/review.json"); review != nil {
		if e, ok := review["evidence"].(object); ok && digest != nil {
			e["artifactContentDigest"], e["patchSha256"] = digest["value"], f.hash("files/patch.diff")
		}
		review["artifactId"] = m["id"]
		f.write("files/review.json", review)
	}
	if md := f.read("metadata.json"); md != nil {
		md["id"] = m["id"]
		delete(md, "contentDigest")
		f.write("metadata.json", md)
	}
	var own object
	for _, e := range files {
		entry, _ := e.(object)
		stated, _ := entry["sha256"].(object)
		p, _ := entry["path"].(string)
		switch {
		case stated == nil:
		case p == "manifest.json":
			own = stated
		default:
			stated["value"] = f.hash(p)
		}
	}
	if own != nil {
		own["value"] = strings.Repeat("0", 64)
		if hash, err := canonjson.HashIn("wp-codebox/artifact-manifest-self/v1", m); err == nil { // a number without a canonical form has none
			own["value"] = hash
		}
	}
	if m != nil {
		f.write("manifest.json", m)
	}
}

type forger struct {
	t   testing.TB
	dir string
}

func (f forger) read(p string) object { return (&checker{dir: f.dir}).read(p) }

func (f forger) hash(p string) string { return (&checker{dir: f.dir}).hash(p) }

func (f forger) write(p string, v any) {
	f.t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.dir, p), text, 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// content is the digest over the inputs that a content digest names.
func (f forger) content(digest object) string {
	inputs, _ := digest["inputs"].([]any)
	h := [][]byte{[]byte("wp-codebox/artifact-content/v1\n")}
	for i, in := range inputs {
		p, _ := in.(string)
		text, _ := os.ReadFile(filepath.Join(f.dir, p)) // what is not there has no bytes
		if i > 0 {
			h = append(h, []byte("\n"))
		}
		h = append(h, []byte(p+"\n"), text)
	}
	return sum(h...)
}

// Mutate returns JSON text with another value in one place: its at-th value in reading order, members by their names.
// Text that is no JSON comes back as it is.
func Mutate(text []byte, at int, value any) []byte {
	var doc any
	if json.Unmarshal(text, &doc) != nil {
		return text
	}
	if n := count(doc); at < 0 || at >= n {
		at = ((at % n) + n) % n
	}
	out, err := json.Marshal(replaced(doc, &at, value))
	if err != nil {
		return text
	}
	return out
}

// Values counts the values of JSON text, nested ones too; 0 when the text is not JSON.
func Values(text []byte) int {
	var doc any
	if json.Unmarshal(text, &doc) != nil {
		return 0
	}
	return count(doc)
}

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case object:
		for _, e := range v {
			n += count(e)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

func replaced(v any, at *int, value any) any {
	if *at--; *at == -1 {
		return value
	}
	switch v := v.(type) {
	case object:
		for _, k := range names(v) {
			v[k] = replaced(v[k], at, value)
		}
	case []any:
		for i := range v {
			v[i] = replaced(v[i], at, value)
		}
	}
	return v
}

func names(o object) []string {
	out := make([]string, 0, len(o))
	for k := range o {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
