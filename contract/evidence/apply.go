package evidence

import "github.com/deedrun/deed/contract/fault"

// Schema ids of what happens to a bundle after its run.
const (
	SchemaApplyPreflight      = "wp-codebox/artifact-bundle-apply-preflight/v1"
	SchemaApplyResult         = "wp-codebox/apply-result/v1"
	SchemaApplyAudit          = "wp-codebox/apply-audit/v1"
	SchemaArtifactApply       = "wp-codebox/artifact-apply/v1"
	SchemaPendingApplyPreview = "wp-codebox/pending-apply-preview/v1"
	SchemaEvidenceEnvelope    = "wp-codebox/evidence-artifact-envelope/v1"
)

// An ApplyPreflight says whether the whole change of a bundle is approved and could be handed to whoever applies it.
type ApplyPreflight struct {
	Schema       string             `json:"schema"`
	Ready        bool               `json:"ready"`
	Verification BundleVerification `json:"verification"`
	Violations   []Violation        `json:"violations"`
	Payload      *ApplyPayload      `json:"payload,omitempty"` // when ready
}

// Validate demands that ready, violations and payload say the same.
func (p ApplyPreflight) Validate() error {
	var l fault.List
	switch {
	case p.Ready && len(p.Violations) > 0:
		l.Add("$.ready", fault.Conflict, "is true beside violations", "one violation is enough to refuse")
	case p.Ready && !p.Verification.Valid:
		l.Add("$.ready", fault.Conflict, "is true and the bundle is not valid", "verify the bundle first")
	case p.Ready && p.Payload == nil:
		l.Add("$.payload", fault.Conflict, "is missing and the preflight is ready", "add what is to be applied")
	case !p.Ready && p.Payload != nil:
		l.Add("$.payload", fault.Conflict, "is there and the preflight is not ready", "leave it out")
	case !p.Ready && len(p.Violations) == 0:
		l.Add("$.violations", fault.Conflict, "is empty and the preflight is not ready", "say why")
	}
	return l.Err()
}

// Encodings of a patch in a JSON document. A patch of files that are not UTF-8 is not UTF-8 itself.
const (
	PatchUTF8   = "utf-8"
	PatchBase64 = "base64"
)

// An ApplyPayload is what an applier gets: the patch of the approved files, and what ties it to its bundle.
type ApplyPayload struct {
	ArtifactID            string            `json:"artifact_id"`
	Artifact              ArtifactBundleRef `json:"artifact"`
	ApprovedFiles         []string          `json:"approved_files"`
	Approver              string            `json:"approver,omitempty"`
	ApplyTarget           *ApplyTarget      `json:"apply_target,omitempty"`
	Patch                 string            `json:"patch"`
	PatchEncoding         string            `json:"patch_encoding" jsonschema:"enum=utf-8,enum=base64"`
	PatchSHA256           string            `json:"patch_sha256"` // of the patch as it is given here
	ArtifactContentDigest string            `json:"artifact_content_digest"`
	ArtifactVerification  string            `json:"artifact_verification" jsonschema:"enum=valid"`
}

// An ApplyTarget is where a change goes: a directory, and for a bundle of several workspaces which of them.
type ApplyTarget struct {
	Directory string `json:"directory"`
	Workspace string `json:"workspace,omitempty"`
}

// Statuses of an apply.
const (
	ApplyApplied    = "applied"     // the directory has the change
	ApplyDryRun     = "dry_run"     // it could be applied; nothing was changed
	ApplyNoOp       = "no_op"       // the bundle changes nothing
	ApplyRefused    = "refused"     // something is not as it must be; nothing was changed
	ApplyFailed     = "failed"      // it broke off; what was changed is as it was, or the next apply makes it so
	ApplyUndone     = "undone"      // an earlier apply was taken back
	ApplyRolledBack = "rolled_back" // an apply that a crash cut short was taken back
	ApplyStaged     = "staged"      // it waits for a person
	ApplyRejected   = "rejected"    // a person said no
)

// An ApplyResult is what came of applying, or undoing, a change.
type ApplyResult struct {
	Schema         string      `json:"schema"`
	Adapter        string      `json:"adapter"` // who applied
	Status         string      `json:"status" jsonschema:"enum=applied,enum=dry_run,enum=no_op,enum=refused,enum=failed,enum=undone,enum=rolled_back,enum=staged,enum=rejected"`
	Target         ApplyTarget `json:"target"`
	AppliedFiles   []string    `json:"applied_files"`
	AuditReference string      `json:"audit_reference"` // of the line in the audit log; empty for a dry run
	ApplyID        string      `json:"apply_id,omitempty"`
	ArtifactID     string      `json:"artifact_id,omitempty"`
	Approver       string      `json:"approver,omitempty"`
	PatchSHA256    string      `json:"patch_sha256,omitempty"`
	Error          *ApplyError `json:"error,omitempty"`
	Recovered      []string    `json:"recovered,omitempty"` // applies that a crash cut short and that were taken back, or finished, first
	// RecoveredAs says for each of them which of the two: rolled_back, applied (it was whole), undone (an undo was cut short).
	RecoveredAs map[string]string `json:"recovered_as,omitempty"`
	Commit      string            `json:"commit,omitempty"`
	CommitURL   string            `json:"commit_url,omitempty"`
	PRURL       string            `json:"pr_url,omitempty"`
	Branch      string            `json:"branch,omitempty"`
}

// Validate demands that a refusal says why and that nothing else does.
func (r ApplyResult) Validate() error {
	var l fault.List
	l.Name("$.adapter", r.Adapter)
	bad := r.Status == ApplyRefused || r.Status == ApplyFailed
	if bad && r.Error == nil {
		l.Add("$.error", fault.Conflict, "is missing and the status is "+r.Status, "say why")
	}
	if !bad && r.Error != nil {
		l.Add("$.error", fault.Conflict, "is there and nothing failed", "leave it out")
	}
	if bad && len(r.AppliedFiles) > 0 {
		l.Add("$.applied_files", fault.Conflict, "names files and the status is "+r.Status, "leave it empty")
	}
	return l.Err()
}

// An ApplyError says why a change was not applied.
type ApplyError struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Reasons []ApplyReason `json:"reasons,omitempty"` // every one, not only the first
}

// An ApplyReason is one ground for refusing a change.
type ApplyReason struct {
	Code    string `json:"code"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Operations of an audit line.
const (
	AuditApply   = "apply"
	AuditUndo    = "undo"
	AuditRecover = "recover"
	AuditStage   = "stage"
	AuditReject  = "reject"
)

// An ApplyAudit is one line of the audit log: every attempt has one, also those that failed.
type ApplyAudit struct {
	Schema         string      `json:"schema"`
	AuditReference string      `json:"audit_reference"`
	At             string      `json:"at"`
	Operation      string      `json:"operation" jsonschema:"enum=apply,enum=undo,enum=recover,enum=stage,enum=reject"`
	Status         string      `json:"status"`
	ApplyID        string      `json:"apply_id,omitempty"`
	ArtifactID     string      `json:"artifact_id,omitempty"`
	Bundle         string      `json:"bundle,omitempty"` // the directory
	Target         ApplyTarget `json:"target"`
	ApprovedFiles  []string    `json:"approved_files"`
	FileCount      int         `json:"file_count" jsonschema:"minimum=0"` // the list is cut for very large changes
	Approver       string      `json:"approver,omitempty"`
	PatchSHA256    string      `json:"patch_sha256,omitempty"`
	Note           string      `json:"note,omitempty"` // what whoever decided on a staged apply said about it
	Error          *ApplyError `json:"error,omitempty"`
}

// Validate demands what every line needs.
func (a ApplyAudit) Validate() error {
	var l fault.List
	l.Name("$.audit_reference", a.AuditReference)
	l.Name("$.at", a.At)
	l.Name("$.status", a.Status)
	if a.FileCount < len(a.ApprovedFiles) {
		l.Add("$.file_count", fault.Conflict, "is lower than the number of files listed", "count all of them")
	}
	return l.Err()
}

// An ArtifactApply is the answer to a staged apply: what was approved, and what came of it.
type ArtifactApply struct {
	Schema                string      `json:"schema"`
	Success               bool        `json:"success"`
	ArtifactID            string      `json:"artifact_id"`
	ApprovedFiles         []string    `json:"approved_files"`
	Approver              string      `json:"approver"`
	ApplyTarget           ApplyTarget `json:"apply_target"`
	PatchSHA256           string      `json:"patch_sha256,omitempty"`
	ArtifactContentDigest string      `json:"artifact_content_digest,omitempty"`
	Result                ApplyResult `json:"result"`
}

// Validate demands that success and result agree.
func (a ArtifactApply) Validate() error {
	var l fault.List
	l.Name("$.artifact_id", a.ArtifactID)
	l.Within("$.result", a.Result.Validate())
	done := a.Result.Status == ApplyApplied || a.Result.Status == ApplyNoOp
	if a.Success != done {
		l.Add("$.success", fault.Conflict, "does not agree with the result's status "+a.Result.Status, "it is true for applied and no_op")
	}
	return l.Err()
}

// Statuses of a staged apply.
const (
	PendingOpen     = "pending"
	PendingApproved = "approved"
	PendingRejected = "rejected"
)

// A PendingApplyPreview shows a person what approving a staged apply would do. Approving runs the whole apply again.
type PendingApplyPreview struct {
	Schema     string             `json:"schema"`
	ActionID   string             `json:"action_id"`
	Status     string             `json:"status" jsonschema:"enum=pending,enum=approved,enum=rejected"`
	CreatedAt  string             `json:"created_at"`
	ArtifactID string             `json:"artifact_id"`
	Summary    string             `json:"summary"`
	Files      []PendingApplyFile `json:"files"`
	ApplyInput PendingApplyInput  `json:"apply_input"`
	ResolvedBy string             `json:"resolved_by,omitempty"`
	ResolvedAt string             `json:"resolved_at,omitempty"`
	Note       string             `json:"note,omitempty"` // what whoever decided said about it
}

// Validate demands a bundle and a directory.
func (p PendingApplyPreview) Validate() error {
	var l fault.List
	l.Name("$.action_id", p.ActionID)
	l.Name("$.artifact_id", p.ArtifactID)
	l.Path("$.apply_input.artifacts_path", p.ApplyInput.ArtifactsPath)
	l.Path("$.apply_input.apply_target.directory", p.ApplyInput.ApplyTarget.Directory)
	if p.Status != PendingOpen && p.ResolvedBy == "" {
		l.Add("$.resolved_by", fault.Conflict, "is missing and the status is "+p.Status, "say who decided")
	}
	return l.Err()
}

// A PendingApplyFile is one file that a staged apply would change.
type PendingApplyFile struct {
	Path   string `json:"path"`
	Status string `json:"status"`
}

// A PendingApplyInput is what the apply will be run with. The manifest's hash pins the bundle that was shown.
type PendingApplyInput struct {
	ArtifactID     string      `json:"artifact_id"`
	ArtifactsPath  string      `json:"artifacts_path"` // the bundle
	ManifestSHA256 string      `json:"manifest_sha256"`
	ApprovedFiles  []string    `json:"approved_files"`
	Approver       string      `json:"approver,omitempty"` // who staged it
	ApplyTarget    ApplyTarget `json:"apply_target"`
	Force          bool        `json:"force,omitempty"`
}

// EnvelopeVersion is the version of an EvidenceEnvelope.
const EnvelopeVersion = 1

// An EvidenceEnvelope hands a verified bundle across a trust boundary: its identity, what was found when checking it,
// and every file by path and hash. The bytes travel beside it.
type EvidenceEnvelope struct {
	Schema       string               `json:"schema"`
	Version      int                  `json:"version" jsonschema:"minimum=1,maximum=1"`
	CreatedAt    string               `json:"created_at"` // of the bundle
	Artifact     ArtifactBundleRef    `json:"artifact"`
	Runtime      Runtime              `json:"runtime"`
	Verification EnvelopeVerification `json:"verification"`
	Statement    *EnvelopeStatement   `json:"statement,omitempty"` // signed; when the signature is good
	Refs         []ReferenceFile      `json:"refs"`
}

// Validate demands an artifact, and no statement of a bundle that is not valid.
func (e EvidenceEnvelope) Validate() error {
	var l fault.List
	l.Name("$.artifact.id", e.Artifact.ID)
	if e.Verification.Valid != (len(e.Verification.Violations) == 0) {
		l.Add("$.verification.valid", fault.Conflict, "does not agree with the violations", "a bundle is valid when there is none")
	}
	for i, r := range e.Refs {
		l.RelativePath(fault.Index("$.refs", i)+".path", r.Path)
	}
	return l.Err()
}

// An EnvelopeVerification is what the sender found; a receiver checks for itself.
type EnvelopeVerification struct {
	Valid            bool        `json:"valid"`
	ContentAddressed bool        `json:"content_addressed"`
	Signature        string      `json:"signature"`
	KeyID            string      `json:"key_id,omitempty"`
	Violations       []Violation `json:"violations"`
}

// An EnvelopeStatement is what the bundle's signer said of the run.
type EnvelopeStatement struct {
	TaskID      string `json:"task_id"`
	AttemptID   string `json:"attempt_id"`
	Verdict     string `json:"verdict"`
	Status      string `json:"status"`
	Containment string `json:"containment"`
}
