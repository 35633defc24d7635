package evidence

// A Review is files/review.json: the summary for a reviewer, derived from the canonical files.
type Review struct {
	Schema       string            `json:"schema"`
	ArtifactID   string            `json:"artifactId"`
	CreatedAt    string            `json:"createdAt"`
	Provenance   *Provenance       `json:"provenance,omitempty"`
	Summary      string            `json:"summary"`
	Stats        ReviewStats       `json:"stats"`
	ChangedFiles []ReviewFile      `json:"changedFiles"`
	Preview      any               `json:"preview,omitempty"`
	Progress     []ReviewProgress  `json:"progress"`
	Actions      []ReviewAction    `json:"actions"`
	Evidence     ReviewEvidence    `json:"evidence"`
	Browser      any               `json:"browser,omitempty"`
	Redaction    *RedactionSummary `json:"redaction,omitempty"`
	RiskFlags    []string          `json:"riskFlags"`
}

// ReviewStats counts changed files by status.
type ReviewStats struct {
	Added    int `json:"added"`
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
	Total    int `json:"total"`
}

// A ReviewFile is one changed file as a reviewer sees it.
type ReviewFile struct {
	Path         string `json:"path"`
	Status       string `json:"status"`
	Label        string `json:"label"`
	MountTarget  string `json:"mountTarget"`
	RelativePath string `json:"relativePath"`
}

// A ReviewProgress is one step that the run took.
type ReviewProgress struct {
	Label  string `json:"label"`
	Status string `json:"status"`
	At     string `json:"at,omitempty"`
}

// A ReviewAction is something that a reviewer may do with the bundle.
type ReviewAction struct {
	Kind  string `json:"kind"` // approve, approve-files, discard or iterate
	Label string `json:"label"`
}

// ReviewEvidence ties a review to the files it was derived from.
type ReviewEvidence struct {
	WorkspacePatch              string                       `json:"workspacePatch,omitempty"`
	Patch                       string                       `json:"patch"`
	PatchSHA256                 string                       `json:"patchSha256"`
	ArtifactContentDigest       string                       `json:"artifactContentDigest"`
	ChangedFiles                string                       `json:"changedFiles"`
	Diagnostics                 string                       `json:"diagnostics,omitempty"`
	TestResults                 string                       `json:"testResults"`
	RuntimeEpisodeTrace         string                       `json:"runtimeEpisodeTrace,omitempty"`
	RuntimeReferenceManifest    string                       `json:"runtimeReferenceManifest,omitempty"`
	RuntimeReplayReferenceIndex string                       `json:"runtimeReplayReferenceIndex,omitempty"`
	RuntimeEvidence             map[string]EvidenceReference `json:"runtimeEvidence,omitempty"`
}

// An EvidenceReference names a file of the bundle with its hash.
type EvidenceReference struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Redaction states of a whole bundle.
const (
	RedactionClean    = "clean"
	RedactionRedacted = "redacted"
)

// RiskSecretsRedacted is the risk flag of a bundle in which a secret value was found and replaced.
const RiskSecretsRedacted = "secrets-redacted"

// A RedactionSummary counts what was replaced, by kind (for deed: the secret's name) and by file. It never holds a value.
type RedactionSummary struct {
	Schema    string             `json:"schema"`
	Status    string             `json:"status"`
	Total     int                `json:"total"`
	ByKind    map[string]int     `json:"byKind"`
	Artifacts []RedactedArtifact `json:"artifacts"`
}

// A RedactedArtifact is one file in which something was replaced.
type RedactedArtifact struct {
	Path  string   `json:"path"`
	Count int      `json:"count"`
	Kinds []string `json:"kinds"`
}
