// Package evidence holds the records that deed's evidence consists of: the documents of a bundle, the record of a run, and
// what is written when a bundle is applied. It owns their wire names, their vocabularies and the rules that a single record
// can break. It hashes and judges nothing and does no I/O. The wire names are those of WP Codebox, whose verifier reads the same
// bundles; its requests and answers are in contract/codebox.
package evidence

// Schema ids of the records in this package. An id never changes its meaning; a new meaning gets a new id. The
// manifest and metadata.json carry no schema field on the wire: their ids exist for validators only.
const (
	SchemaManifest                 = "wp-codebox/artifact-manifest/v1"
	SchemaMetadata                 = "wp-codebox/artifact-metadata/v1"
	SchemaChangedFiles             = "wp-codebox/changed-files/v1"
	SchemaTestResults              = "wp-codebox/test-results/v1"
	SchemaReview                   = "wp-codebox/artifact-review/v1"
	SchemaCompletionOutcome        = "wp-codebox/sandbox-completion-outcome/v1"
	SchemaAgentResult              = "wp-codebox/agent-result/v1"
	SchemaAgentTranscript          = "wp-codebox/agent-transcript/v1"
	SchemaToolCallTranscript       = "wp-codebox/tool-call-transcript/v1"
	SchemaRuntimeReferenceManifest = "wp-codebox/runtime-reference-manifest/v1"
	SchemaRuntimeReplayIndex       = "wp-codebox/runtime-replay-reference-index/v1"
	SchemaTypedArtifactsIndex      = "wp-codebox/typed-artifacts-index/v1"
	SchemaRedaction                = "wp-codebox/artifact-redaction/v1"
	SchemaVerification             = "wp-codebox/artifact-bundle-verification/v1"
	SchemaRunRegistryEntry         = "wp-codebox/run-registry-entry/v1"
	SchemaRunLifecycle             = "wp-codebox/run-lifecycle/v1"
	SchemaRunResourceEvidence      = "wp-codebox/run-resource-evidence/v1"
	SchemaRecipePhaseEvidence      = "wp-codebox/recipe-phase-evidence/v1"
	SchemaRunCancellationRequest   = "wp-codebox/run-cancellation-request/v1"
)

// Digest domains: the first line of what is hashed, so that two kinds of digest can never be mistaken for one another.
const (
	DomainContent           = "wp-codebox/artifact-content/v1"
	DomainManifestFileList  = "wp-codebox/artifact-manifest-file-list/v1"
	DomainManifestSelf      = "wp-codebox/artifact-manifest-self/v1"
	DomainRuntimeReference  = "wp-codebox/runtime-reference-manifest/v1"
	DomainRuntimeReplay     = "wp-codebox/runtime-replay-reference-index/v1"
	BundleIDPrefix          = "artifact-bundle-sha256-"
	RuntimeReferenceIDStart = "runtime-reference-manifest-sha256-"
	RuntimeReplayIDStart    = "runtime-replay-reference-index-sha256-"
)

// Stable paths inside a bundle.
const (
	PathManifest           = "manifest.json"
	PathMetadata           = "metadata.json"
	PathEvents             = "events.jsonl"
	PathCommands           = "commands.jsonl"
	PathObservations       = "observations.jsonl"
	PathRuntimeLog         = "logs/runtime.log"
	PathCommandsLog        = "logs/commands.log"
	PathChangedFiles       = "files/changed-files.json"
	PathPatch              = "files/patch.diff"
	PathTestResults        = "files/test-results.json"
	PathReview             = "files/review.json"
	PathCompletionOutcome  = "files/completion-outcome.json"
	PathAgentResult        = "files/agent-result.json"
	PathAgentTaskResult    = "files/agent-task-result.json"
	PathTranscript         = "files/transcript.json"
	PathToolCallTranscript = "files/runtime-evidence/tool-calls/transcript.json"
	PathRuntimeReference   = "files/runtime-reference-manifest.json"
)

// Kinds of manifest entries. The vocabulary is open; these are the ones with a meaning to a verifier or a reader.
const (
	KindManifest           = "manifest"
	KindMetadata           = "metadata"
	KindEvents             = "events"
	KindCommands           = "commands"
	KindObservations       = "observations"
	KindLog                = "log"
	KindChangedFiles       = "changed-files"
	KindPatch              = "patch"
	KindTestResults        = "test-results"
	KindReview             = "review"
	KindCompletionOutcome  = "completion-outcome"
	KindAgentResult        = "agent-result"
	KindAgentTaskResult    = "agent-task-result"
	KindAgentTranscript    = "agent-transcript"
	KindToolCallTranscript = "tool-call-transcript"
	KindToolCallInput      = "tool-call-input"
	KindToolCallOutput     = "tool-call-output"
	KindRuntimeReference   = "runtime-reference-manifest"
	KindRuntimeReplayIndex = "runtime-replay-index"
	KindRuntimeEpisode     = "runtime-episode-trace"
	KindTypedArtifacts     = "typed-artifacts-index"
)

// Content types of manifest entries.
const (
	TypeJSON   = "application/json"
	TypeNDJSON = "application/x-ndjson"
	TypeText   = "text/plain"
	TypeDiff   = "text/x-diff"
	TypeBytes  = "application/octet-stream"
)
