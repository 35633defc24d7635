package evidence

// Violation codes of a bundle verification.
const (
	CodeMissingManifest        = "missing-manifest"
	CodeMalformedManifest      = "malformed-manifest"
	CodeInvalidManifestShape   = "invalid-manifest-shape"
	CodeInvalidPath            = "invalid-path"
	CodeMissingFile            = "missing-file"
	CodeOrphanedFile           = "orphaned-file"
	CodeDigestMismatch         = "digest-mismatch"
	CodeMissingFileHash        = "missing-file-hash"
	CodeFileHashMismatch       = "file-hash-mismatch"
	CodeBundleIDMismatch       = "bundle-id-mismatch"
	CodeMalformedReference     = "malformed-reference"
	CodeReviewEvidenceMismatch = "review-evidence-mismatch"
	CodeUnsafeFile             = "unsafe-file"
	CodeHardlink               = "hardlink"
	CodePayloadSchemaViolation = "payload-schema-violation"
)

// A BundleVerification is the outcome of checking a bundle.
type BundleVerification struct {
	Schema          string      `json:"schema"`
	BundleDirectory string      `json:"bundleDirectory"`
	Valid           bool        `json:"valid"`
	Violations      []Violation `json:"violations"`
	Manifest        *Manifest   `json:"manifest,omitempty"`
}

// A Violation is one fault of a bundle: a code that programs read, the field that is wrong, and a sentence.
type Violation struct {
	Code    string         `json:"code"`
	Path    string         `json:"path"`
	Message string         `json:"message"`
	File    string         `json:"file,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}
