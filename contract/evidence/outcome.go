package evidence

// Statuses of an agent result.
const (
	AgentCompleted = "completed"
	AgentFailed    = "failed"
	AgentUnknown   = "unknown"
)

// Reasons for which an agent result has no change to act on.
const (
	NoOpNoFileChanges   = "no_file_changes"
	NoOpExecutionFailed = "execution_failed"
)

// An AgentResult is files/agent-result.json: what the agent's executions left behind.
type AgentResult struct {
	Schema         string             `json:"schema"`
	Status         string             `json:"status"`
	Actionable     bool               `json:"actionable"`
	Summary        string             `json:"summary"`
	ChangedFiles   ChangeSummary      `json:"changedFiles"`
	Patch          PatchSummary       `json:"patch"`
	Transcript     TranscriptSummary  `json:"transcript"`
	Artifacts      ResultArtifacts    `json:"artifacts"`
	Failures       []ExecutionFailure `json:"failures"`
	NoOpReason     string             `json:"noOpReason,omitempty"`
	WorkspaceTools *WorkspaceTools    `json:"workspaceTools,omitempty"`
}

// A ChangeSummary counts the changed files and points at their list.
type ChangeSummary struct {
	Count    int            `json:"count"`
	Paths    []string       `json:"paths"`
	Statuses map[string]int `json:"statuses"`
	Artifact string         `json:"artifact"`
}

// A PatchSummary is the size and hash of the patch.
type PatchSummary struct {
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Artifact string `json:"artifact"`
}

// A TranscriptSummary points at the transcript.
type TranscriptSummary struct {
	Artifact       string `json:"artifact"`
	ExecutionCount int    `json:"executionCount"`
}

// ResultArtifacts points at the files a reader starts from. Directory is "." in a bundle that can be moved.
type ResultArtifacts struct {
	Directory string `json:"directory"`
	Review    string `json:"review"`
	Manifest  string `json:"manifest"`
}

// An ExecutionFailure is one execution that failed.
type ExecutionFailure struct {
	ExecutionIndex int    `json:"executionIndex"`
	Command        string `json:"command"`
	ExitCode       int    `json:"exitCode"`
	Message        string `json:"message"`
}

// WorkspaceTools carries what the workspace tools had to say.
type WorkspaceTools struct {
	Diagnostics []any `json:"diagnostics"`
}

// Statuses of a completion outcome.
const (
	OutcomeSucceeded = "succeeded"
	OutcomeBlocked   = "blocked"
	OutcomeFailed    = "failed"
	OutcomePartial   = "partial"
)

// Confidence words of a completion outcome.
const (
	ConfidenceHigh   = "high"
	ConfidenceMedium = "medium"
	ConfidenceLow    = "low"
)

// Next actions of a completion outcome.
const (
	NextPromote    = "promote"
	NextRetry      = "retry"
	NextReview     = "review"
	NextFixBlocker = "fix-blocker"
)

// A CompletionOutcome is files/completion-outcome.json: how the run ended and what follows from that.
type CompletionOutcome struct {
	Schema       string              `json:"schema"`
	Status       string              `json:"status"`
	Summary      string              `json:"summary"`
	ChangedFiles ChangeSummary       `json:"changedFiles"`
	Patch        PatchSummary        `json:"patch"`
	Artifacts    ResultArtifacts     `json:"artifacts"`
	Verification OutcomeVerification `json:"verification"`
	Blockers     []Blocker           `json:"blockers"`
	RiskNotes    []string            `json:"riskNotes"`
	Confidence   string              `json:"confidence"`
	NextAction   string              `json:"nextAction"`
	Provenance   OutcomeProvenance   `json:"provenance"`
}

// An OutcomeVerification lists the commands whose exits the outcome rests on.
type OutcomeVerification struct {
	Transcript     string                `json:"transcript"`
	Commands       []VerificationCommand `json:"commands"`
	ArtifactBundle string                `json:"artifactBundle,omitempty"`
}

// A VerificationCommand is one command with its exit code.
type VerificationCommand struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
}

// A Blocker is one thing that stands in the way.
type Blocker struct {
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// OutcomeProvenance ties an outcome to its bundle.
type OutcomeProvenance struct {
	ArtifactBundleID  string   `json:"artifactBundleId"`
	ArtifactDirectory string   `json:"artifactDirectory"`
	Runtime           *Runtime `json:"runtime,omitempty"`
	Task              any      `json:"task,omitempty"`
}
