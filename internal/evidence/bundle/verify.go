package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// Violation codes that deed adds to those of the contract.
const (
	// CodeAttestationInvalid: the attestation is listed but cannot be read, or its signature fits no key.
	CodeAttestationInvalid = "attestation-invalid"
	// CodeAttestationMismatch: the signature is good, but for another manifest, patch or bundle id.
	CodeAttestationMismatch = "attestation-mismatch"
	// CodeSignatureMissing: a signature was required and there is none.
	CodeSignatureMissing = "signature-missing"
	// CodeSignatureUntrusted: a signature by a given or trusted key was asked for and it is by another.
	CodeSignatureUntrusted = "signature-untrusted"
	// CodeUnreadable: the directory of one of several bundles cannot be opened.
	CodeUnreadable = "bundle-unreadable"
)

// Signature states.
const (
	SignatureUnsigned     = "unsigned"            // no attestation is listed
	SignatureValid        = "valid"               // good, by a given or trusted key
	SignatureUntrustedKey = "valid_untrusted_key" // good, by a key that is not trusted
	SignatureInvalid      = "invalid"             // unreadable, wrong, or for something else
)

// VerifyOptions say which signatures count.
type VerifyOptions struct {
	// Keys are the keys of which one must have signed. Empty: any may.
	Keys []PublicKey
	// TrustedKeys make a signature valid rather than valid_untrusted_key.
	TrustedKeys []PublicKey
	// RequireSignature refuses a bundle without a signature by one of Keys or TrustedKeys.
	RequireSignature bool
}

// A Signature says what became of the attestation.
type Signature struct {
	Status string `json:"status"`
	KeyID  string `json:"keyId,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// A Verification is the outcome of checking a bundle: the contract's record and the state of the signature. The statement is
// there only when its signature is good.
type Verification struct {
	evidence.BundleVerification
	// ContentAddressed says that the id is made of the bytes of the change list and the patch. A bundle whose id is made
	// of the manifest's list of files alone can be valid, file by file, but its id does not name a change.
	ContentAddressed bool       `json:"contentAddressed"`
	Signature        Signature  `json:"signature"`
	Statement        *Predicate `json:"statement,omitempty"`
}

// Bounds of what a hostile bundle can make a verifier say.
const (
	maxViolations = 10_000
	maxMessage    = 2000
)

// Verify checks the bundle in dir: every check of the wp-codebox contract in its order, deed's stricter ones, and the
// signature. It reports all violations. It reads nothing outside dir, follows no symlink below it, and uses bounded memory
// whatever the bundle holds. The error is for a directory that cannot be read at all, never for a bad bundle.
//
// Stricter than the contract: the content digest must cover the change list and the patch, or be the newer form over the
// list of files, which the report marks as not content-addressed; the id must bear the content digest; keys of the manifest must be unique; the hash of an entry has
// no members but algorithm and value; its redaction, if it has one, has a policy; paths must be in their shortest form; no directory of a listed file may be a
// symlink; a listed review or metadata must be readable and of this bundle, and what metadata points at with an object must be
// listed too, with the hash that is stated; tool calls have ids of their own and do not end before they
// start, a digest that one states must be well formed and, with one artifact, be that artifact's, and what it says of an
// artifact's kind and content type is what the manifest says; a
// payload schema must be affordable; an attestation file must be exactly what deed writes.
func Verify(dir string, o VerifyOptions) (Verification, error) {
	v := &verification{o: o, schemas: schema.NewBudget(schemaBudget)}
	v.out.Schema = evidence.SchemaVerification
	v.out.BundleDirectory = dir
	v.out.Violations = []evidence.Violation{}
	v.out.Signature.Status = SignatureUnsigned
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		v.add(evidence.CodeMissingManifest, evidence.PathManifest, evidence.PathManifest, "%s does not exist", dir)
		return v.out, nil
	}
	if err != nil {
		return v.out, fmt.Errorf("verify bundle: %w", err)
	}
	defer root.Close()
	v.root = root
	if v.readManifest() {
		v.checkAll()
	}
	v.out.Valid = len(v.out.Violations) == 0
	return v.out, nil
}

type verification struct {
	o    VerifyOptions
	root *os.Root
	out  Verification

	manifest map[string]any // the parsed text; exact key names, unknown fields kept
	id       string
	digest   string
	inputs   []string
	files    []listedFile
	byPath   map[string]int // listed path to its first entry
	schemas  *schema.Budget
}

// A listedFile is one manifest entry and what was found on disk for it.
type listedFile struct {
	path, kind string
	raw        map[string]any
	usable     bool   // a regular file inside the bundle that may be read
	actual     string // its hash; empty when it could not be read
	readErr    error
}

func (v *verification) add(code, path, file, format string, args ...any) {
	switch n := len(v.out.Violations); {
	case n < maxViolations:
		message := fmt.Sprintf(format, args...)
		if len(message) > maxMessage {
			message = strings.ToValidUTF8(message[:maxMessage], "") + "…" // an error can quote the text that it is about
		}
		v.out.Violations = append(v.out.Violations, evidence.Violation{Code: code, Path: path, File: file, Message: message})
	case n == maxViolations:
		v.out.Violations = append(v.out.Violations, evidence.Violation{Code: code, Path: path, Message: "there are more violations than are listed"})
	}
}

// readManifest does steps 1 and 2: without a readable manifest of the right shape nothing else can be checked.
func (v *verification) readManifest() bool {
	const name = evidence.PathManifest
	data, err := readJSON(v.root, name)
	if errors.Is(err, os.ErrNotExist) {
		v.add(evidence.CodeMissingManifest, name, name, "manifest.json does not exist")
		return false
	}
	if err == nil {
		// The canonical form refuses duplicate keys, which two readers would read differently.
		_, err = canonjson.Canonicalize(data)
	}
	var doc any
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		v.add(evidence.CodeMalformedManifest, name, name, "manifest.json cannot be read: %v", err)
		return false
	}
	if fault := v.parseManifest(doc); fault != "" {
		v.add(evidence.CodeInvalidManifestShape, name, name, "manifest.json has the wrong shape: %s", fault)
		return false
	}
	if v.out.Manifest, err = typedManifest(v.manifest); err != nil {
		v.add(evidence.CodeMalformedManifest, name, name, "manifest.json cannot be read: %v", err)
		return false
	}
	return true
}

func (v *verification) parseManifest(doc any) (fault string) {
	m, ok := doc.(map[string]any)
	if !ok {
		return "it is not an object"
	}
	v.manifest = m
	if v.id, ok = m["id"].(string); !ok {
		return "id is not a string"
	}
	if _, ok := m["createdAt"].(string); !ok {
		return "createdAt is not a string"
	}
	if _, ok := m["runtime"].(map[string]any); !ok {
		return "runtime is not an object"
	}
	cd, ok := m["contentDigest"].(map[string]any)
	if !ok {
		return "contentDigest is not an object"
	}
	if cd["algorithm"] != evidence.AlgorithmSHA256 {
		return "contentDigest.algorithm is not sha256"
	}
	if v.inputs, ok = stringList(cd["inputs"]); !ok {
		return "contentDigest.inputs is not a list of strings"
	}
	if v.digest, ok = cd["value"].(string); !ok {
		return "contentDigest.value is not a string"
	}
	files, ok := m["files"].([]any)
	if !ok {
		return "files is not a list"
	}
	for i, f := range files {
		entry, ok := f.(map[string]any)
		if !ok {
			return fmt.Sprintf("files[%d] is not an object", i)
		}
		lf := listedFile{raw: entry}
		_, typed := entry["contentType"].(string)
		lf.path, ok = entry["path"].(string)
		lf.kind, _ = entry["kind"].(string)
		if _, kinded := entry["kind"].(string); !ok || !kinded || !typed {
			return fmt.Sprintf("files[%d] lacks path, kind or contentType", i)
		}
		if !isRedaction(entry["redaction"]) {
			return fmt.Sprintf("files[%d].redaction is not an object with a policy", i)
		}
		v.files = append(v.files, lf)
	}
	return casesFault(m["cases"])
}

// isRedaction reports whether a redaction entry is usable: absent, or an object that names its policy. A redacted file is not
// applied, so the entry must leave no doubt.
func isRedaction(v any) bool {
	m, ok := v.(map[string]any)
	return v == nil || ok && hasStrings(m, "policy")
}

// checkAll runs the checks in the contract's order.
func (v *verification) checkAll() {
	v.checkFiles()
	if _, ok := v.byPath[evidence.PathManifest]; !ok {
		v.add(evidence.CodeInvalidManifestShape, "manifest.files", evidence.PathManifest, "manifest.json does not list itself")
	}
	v.checkOrphans()
	v.checkHashes()
	v.checkContentDigest()
	v.checkID()
	v.checkMetadata()
	v.checkReview()
	for i := range v.files {
		f := &v.files[i]
		switch f.kind {
		case evidence.KindRuntimeEpisode:
			v.checkEpisodeTrace(f)
		case evidence.KindRuntimeReference:
			v.checkReferenceManifest(f)
		case evidence.KindRuntimeReplayIndex:
			v.checkReplayIndex(f)
		case evidence.KindTypedArtifacts:
			v.checkTypedArtifacts(f)
		case evidence.KindToolCallTranscript:
			v.checkToolCalls(f)
		}
	}
	v.checkCases()
	v.checkAttestation()
}

// checkContentDigest is step 7.
func (v *verification) checkContentDigest() {
	const at = "manifest.contentDigest.inputs"
	fileList := len(v.inputs) == 1 && v.inputs[0] == fileListInput
	for i, p := range v.inputs {
		if fileList {
			break
		}
		where := fmt.Sprintf("%s[%d]", at, i)
		if fault := pathFault(p); fault != "" {
			v.add(evidence.CodeInvalidPath, where, p, "%s: %q", fault, p)
			return
		}
		if _, ok := v.byPath[p]; !ok {
			v.add(evidence.CodeMalformedReference, where, p, "digest input is not listed: %q", p)
			return
		}
	}
	if !hexDigest().MatchString(v.digest) {
		v.add(evidence.CodeInvalidManifestShape, "manifest.contentDigest.value", "", "the content digest is not 64 lower-case hexadecimal digits")
		return
	}
	for _, p := range contentInputs {
		if !fileList && !contains(v.inputs, p) {
			v.add(evidence.CodeDigestMismatch, at, p, "the bundle id does not depend on %s", p)
		}
	}
	var want string
	var err error
	if fileList {
		want, err = fileListDigest(v.manifest)
	} else {
		want, err = contentDigest(v.inputs, func(p string, w io.Writer) error {
			f := v.listed(p)
			if !f.usable {
				return fmt.Errorf("%s cannot be read", p)
			}
			return copyFile(v.root, p, w)
		})
	}
	if err != nil {
		v.add(evidence.CodeDigestMismatch, at, "", "the content digest cannot be computed: %v", err)
	} else if want != v.digest {
		v.add(evidence.CodeDigestMismatch, "manifest.contentDigest.value", "", "the inputs have the digest %s, not %s", want, v.digest)
	}
	v.out.ContentAddressed = !fileList
}

// checkID is step 8.
func (v *verification) checkID() {
	if v.id != evidence.BundleIDPrefix+v.digest {
		v.add(evidence.CodeBundleIDMismatch, "manifest.id", "", "the id must be %s%s, not %q", evidence.BundleIDPrefix, v.digest, v.id)
	}
}

// listed returns the entry of a path, or a blank one.
func (v *verification) listed(p string) *listedFile {
	if i, ok := v.byPath[p]; ok {
		return &v.files[i]
	}
	return &listedFile{}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func stringList(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}
