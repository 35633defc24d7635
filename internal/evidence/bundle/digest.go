package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// domainAttested is the first line of what the attestation's manifest digest is made of.
const domainAttested = "deed/attested-manifest/v1"

// algorithmAttested names that digest in the statement. It is not sha256, because it is not the hash of a file's bytes.
const algorithmAttested = "deedManifestV1"

var (
	zeroHash  = strings.Repeat("0", 64)
	hexDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-f0-9]{64}$`) })
)

func sha(value string) evidence.Digest {
	return evidence.Digest{Algorithm: evidence.AlgorithmSHA256, Value: value}
}

func hashBytes(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// contentInputs are the files whose bytes make the bundle id, in order.
var contentInputs = []string{evidence.PathChangedFiles, evidence.PathPatch}

// contentDigest hashes the inputs with their paths. The paths are joined by line feeds without lengths: that is the
// contract, and because that is weak every file also has a hash of its own.
func contentDigest(inputs []string, copyTo func(path string, w io.Writer) error) (string, error) {
	h := sha256.New()
	h.Write([]byte(evidence.DomainContent + "\n"))
	for i, p := range inputs {
		if i > 0 {
			h.Write([]byte("\n"))
		}
		h.Write([]byte(p + "\n"))
		if err := copyTo(p, h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fileListInput is what a manifest names as the only input of a digest over its list of files.
const fileListInput = "manifest.files"

// fileListDigest is the digest over the manifest's list of entries without their hashes, which newer wp-codebox releases
// use for the id.
func fileListDigest(manifest map[string]any) (string, error) {
	files, _ := manifest["files"].([]any)
	reduced := make([]any, 0, len(files))
	for _, f := range files {
		entry, _ := f.(map[string]any)
		out := map[string]any{}
		for _, k := range []string{"path", "kind", "contentType", "redaction", "provenance", "viewer"} {
			if v, ok := entry[k]; ok {
				out[k] = v
			}
		}
		reduced = append(reduced, out)
	}
	return canonjson.HashIn(evidence.DomainManifestFileList, reduced)
}

// hashManifest hashes a manifest with the hashes of the entries named by zeroed replaced by zeros: an entry that is itself
// made from the result cannot be part of it. It works on the parsed text, so that fields unknown here are covered too, also
// those next to a hash that is replaced.
func hashManifest(domain string, manifest map[string]any, zeroed ...string) (string, error) {
	files, _ := manifest["files"].([]any)
	copied := make([]any, len(files))
	for i, f := range files {
		copied[i] = f
		entry, _ := f.(map[string]any)
		path, _ := entry["path"].(string)
		digest, ok := entry["sha256"].(map[string]any)
		if !ok || !slices.Contains(zeroed, path) {
			continue
		}
		digest = maps.Clone(digest)
		digest["value"] = zeroHash
		entry = maps.Clone(entry)
		entry["sha256"] = digest
		copied[i] = entry
	}
	shallow := maps.Clone(manifest)
	shallow["files"] = copied
	return canonjson.HashIn(domain, shallow)
}

func selfHash(manifest map[string]any) (string, error) {
	return hashManifest(evidence.DomainManifestSelf, manifest, evidence.PathManifest)
}

func attestedHash(manifest map[string]any) (string, error) {
	return hashManifest(domainAttested, manifest, evidence.PathManifest, PathAttestation)
}

// referenceDigest hashes a reference file without the fields that depend on the hash or say only when it was written.
func referenceDigest(domain string, doc map[string]any, keep ...string) (string, error) {
	out := map[string]any{}
	if len(keep) > 0 {
		for _, k := range keep {
			if v, ok := doc[k]; ok {
				out[k] = v
			}
		}
	} else {
		for k, v := range doc {
			if k != "id" && k != "digest" && k != "createdAt" {
				out[k] = v
			}
		}
	}
	return canonjson.HashIn(domain, out)
}

// tree returns a record as the generic value that a reader of its JSON sees.
func tree(v any) (map[string]any, error) {
	b, err := canonjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("decode for hashing: %w", err)
	}
	return m, nil
}

// copyFile streams one file of a bundle. It opens regular files only, and never waits for a pipe.
func copyFile(root *os.Root, path string, w io.Writer) error {
	f, err := plainfile.OpenIn(root, path)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{f}, make([]byte, 128<<10))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
