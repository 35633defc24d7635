package evidence

// AlgorithmSHA256 is the only digest algorithm of this vocabulary.
const AlgorithmSHA256 = "sha256"

// A Digest is a named hash value: lower-case hexadecimal, 64 digits.
type Digest struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
}

// A ContentDigest is the digest from which the bundle id is made, with the paths whose bytes went into it, in order.
type ContentDigest struct {
	Algorithm string   `json:"algorithm"`
	Inputs    []string `json:"inputs"`
	Value     string   `json:"value"`
}

// A Manifest is the content-addressed index of a bundle. It lists every file, itself included.
type Manifest struct {
	ID            string         `json:"id"`
	ContentDigest ContentDigest  `json:"contentDigest"`
	CreatedAt     string         `json:"createdAt"`
	Runtime       Runtime        `json:"runtime"`
	Files         []ManifestFile `json:"files"`
	Cases         []ManifestCase `json:"cases,omitempty"`
}

// A ManifestFile is one file of the bundle. SHA256 is absent only in bundles that others made wrongly.
type ManifestFile struct {
	Path        string          `json:"path"`
	Kind        string          `json:"kind"`
	ContentType string          `json:"contentType"`
	SHA256      *Digest         `json:"sha256,omitempty"`
	Redaction   *FileRedaction  `json:"redaction,omitempty"`
	Provenance  *FileProvenance `json:"provenance,omitempty"`
	Viewer      *Viewer         `json:"viewer,omitempty"`
}

// Redaction policies of a file or of a tool call.
const (
	RedactionNone     = "none"
	RedactionRequired = "required"
	RedactionApplied  = "applied"
)

// A FileRedaction says whether a file's content was or must be redacted.
type FileRedaction struct {
	Policy    string `json:"policy"`
	Reason    string `json:"reason,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// A FileProvenance says where a file's content came from.
type FileProvenance struct {
	Source    string         `json:"source"`
	Operation string         `json:"operation,omitempty"`
	ID        string         `json:"id,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// A Viewer tells how a web page shows a file.
type Viewer struct {
	Kind   string       `json:"kind"`
	Base   string       `json:"base"`
	Query  ViewerQuery  `json:"query"`
	Replay ViewerReplay `json:"replay"`
}

// A ViewerQuery is the query parameter that carries the file to a viewer.
type ViewerQuery struct {
	Parameter string         `json:"parameter"`
	Value     map[string]any `json:"value"`
	Encoding  string         `json:"encoding"`
}

// A ViewerReplay says how much of a run a viewer can show again.
type ViewerReplay struct {
	Status      string   `json:"status"`
	Limitations []string `json:"limitations"`
}

// Runtime states.
const (
	RuntimeCreated   = "created"
	RuntimeDestroyed = "destroyed"
)

// A Runtime names the execution environment that the bundle is evidence of.
type Runtime struct {
	ID          string      `json:"id"`
	Backend     string      `json:"backend"`
	Environment Environment `json:"environment"`
	CreatedAt   string      `json:"createdAt"`
	Status      string      `json:"status"`
	PreviewURL  string      `json:"previewUrl,omitempty"`
}

// An Environment describes what a runtime is: for deed, the containment kind and the platform.
type Environment struct {
	Kind       string `json:"kind"`
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`
	PHPVersion string `json:"phpVersion,omitempty"`
	Blueprint  any    `json:"blueprint,omitempty"`
	OS         string `json:"os,omitempty"`
	Arch       string `json:"arch,omitempty"`
}

// A ManifestCase groups files of the bundle under one case of a test matrix.
type ManifestCase struct {
	ID           string            `json:"id"`
	Hash         Value             `json:"hash,omitempty"` // a Digest, or text
	Digest       *Digest           `json:"digest,omitempty"`
	Artifacts    []CaseArtifact    `json:"artifacts"`
	Redaction    *FileRedaction    `json:"redaction,omitempty"`
	Verification *CaseVerification `json:"verification,omitempty"`
}

// A CaseArtifact is one file of a case.
type CaseArtifact struct {
	Path        string          `json:"path"`
	Kind        string          `json:"kind"`
	ContentType string          `json:"contentType,omitempty"`
	SHA256      *Digest         `json:"sha256,omitempty"`
	PublicURL   string          `json:"publicUrl,omitempty"`
	Redaction   *FileRedaction  `json:"redaction,omitempty"`
	Provenance  *FileProvenance `json:"provenance,omitempty"`
	Metadata    map[string]any  `json:"metadata,omitempty"`
}

// A CaseVerification is what somebody found when checking a case.
type CaseVerification struct {
	Status      string         `json:"status"`
	VerifiedAt  string         `json:"verifiedAt,omitempty"`
	Verifier    string         `json:"verifier,omitempty"`
	Diagnostics []any          `json:"diagnostics,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}
