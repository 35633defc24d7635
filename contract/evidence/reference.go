package evidence

// A RuntimeReferenceManifest is files/runtime-reference-manifest.json: a hashed index of the files that a runtime left,
// tied to the bundle's id. Its digest covers everything but id, digest and createdAt.
type RuntimeReferenceManifest struct {
	Schema         string              `json:"schema"`
	Version        int                 `json:"version"`
	ID             string              `json:"id"`
	CreatedAt      string              `json:"createdAt"`
	Digest         Digest              `json:"digest"`
	Runtime        Runtime             `json:"runtime"`
	ArtifactBundle ArtifactBundleRef   `json:"artifactBundle"`
	Files          []ReferenceFile     `json:"files"`
	Trace          *ReferenceFile      `json:"trace,omitempty"`
	Events         *ReferenceFile      `json:"events,omitempty"`
	Snapshots      []ReferenceSnapshot `json:"snapshots"`
}

// ReferenceVersion is the version of a RuntimeReferenceManifest.
const ReferenceVersion = 1

// KindArtifactBundle is the kind of an ArtifactBundleRef.
const KindArtifactBundle = "artifact-bundle"

// An ArtifactBundleRef names a bundle by id and content digest.
type ArtifactBundleRef struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Digest Digest `json:"digest"`
}

// A ReferenceFile names a file of the bundle with its hash.
type ReferenceFile struct {
	Path        string  `json:"path"`
	Kind        string  `json:"kind"`
	ContentType string  `json:"contentType"`
	SHA256      Digest  `json:"sha256"`
	Viewer      *Viewer `json:"viewer,omitempty"`
}

// A ReferenceSnapshot names a snapshot of a runtime and the files that hold it.
type ReferenceSnapshot struct {
	ID           string         `json:"id"`
	Semantics    string         `json:"semantics"`
	Digest       Digest         `json:"digest"`
	Replay       ViewerReplay   `json:"replay"`
	ArtifactRefs []ReferenceRef `json:"artifactRefs"`
}

// A ReferenceRef names one record of a runtime, and its file where it has one.
type ReferenceRef struct {
	Kind       string  `json:"kind"`
	ID         string  `json:"id"`
	Digest     *Digest `json:"digest,omitempty"`
	ArtifactID string  `json:"artifactId,omitempty"`
	Path       string  `json:"path,omitempty"`
}
