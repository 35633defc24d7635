package homeboy

import "github.com/deedrun/deed/contract/agentruntime"

// An OutcomeStatus is how a provider says that a task ended.
type OutcomeStatus string

// The statuses of an outcome.
const (
	Succeeded         OutcomeStatus = "succeeded"
	NoOp              OutcomeStatus = "no_op"
	UnableToRemediate OutcomeStatus = "unable_to_remediate"
	ProviderError     OutcomeStatus = "provider_error"
	Timeout           OutcomeStatus = "timeout"
	Failed            OutcomeStatus = "failed"
	FollowUpIssue     OutcomeStatus = "follow_up_issue"
	Cancelled         OutcomeStatus = "cancelled"
	// CandidateRecoverable is the newest: there is work, and it does not meet all that was asked.
	CandidateRecoverable OutcomeStatus = "candidate_recoverable"
)

// OutcomeStatuses lists every status of an outcome.
var OutcomeStatuses = []OutcomeStatus{
	Succeeded, NoOp, UnableToRemediate, ProviderError, Timeout, CandidateRecoverable, Failed, FollowUpIssue, Cancelled,
}

// A Meaning is what a status of an outcome is in the other vocabularies.
type Meaning struct {
	Task    agentruntime.TaskStatus // of a task of deed's
	Cause   string                  // tells apart what one task status covers; empty: its plain case
	Sandbox string                  // terminal status of a sandbox run
	Record  RecordStatus            // of a fanout
}

// meanings has every status. The way back is lossy: two statuses read alike in a sandbox, seven in a fanout.
var meanings = map[OutcomeStatus]Meaning{
	Succeeded:            {agentruntime.TaskCompleted, "", "succeeded", RecordCompleted},
	NoOp:                 {agentruntime.TaskCompleted, "no_op", "no_op", RecordCompleted},
	UnableToRemediate:    {agentruntime.TaskPermanentFailure, "unable", "unable_to_remediate", RecordFailed},
	ProviderError:        {agentruntime.TaskRetryableFailure, "provider_error", "provider_error", RecordFailed},
	Timeout:              {agentruntime.TaskRetryableFailure, "timeout", "timeout", RecordFailed},
	Failed:               {agentruntime.TaskPermanentFailure, "", "failed", RecordFailed},
	FollowUpIssue:        {agentruntime.TaskBlocked, "", "failed", RecordFailed},
	CandidateRecoverable: {agentruntime.TaskBlocked, "candidate", "failed", RecordFailed},
	Cancelled:            {agentruntime.TaskOperatorCanceled, "", "failed", RecordFailed},
}

// Meaning returns what the status is elsewhere; false: it is not a status of an outcome.
func (s OutcomeStatus) Meaning() (Meaning, bool) {
	m, ok := meanings[s]
	return m, ok
}

// A FailureClass says of what kind a failure is.
type FailureClass string

// The failure classes.
const (
	ClassProvider                     FailureClass = "provider"
	ClassTransient                    FailureClass = "transient"
	ClassTimeout                      FailureClass = "timeout"
	ClassStalled                      FailureClass = "stalled"
	ClassRateLimited                  FailureClass = "rate_limited"
	ClassProviderAccountBlocked       FailureClass = "provider_account_blocked"
	ClassProviderQuotaExhausted       FailureClass = "provider_quota_exhausted"
	ClassProviderBillingBlocked       FailureClass = "provider_billing_blocked"
	ClassProviderCredentialsExhausted FailureClass = "provider_credentials_exhausted"
	ClassPolicyDenied                 FailureClass = "policy_denied"
	ClassCapabilityMissing            FailureClass = "capability_missing"
	ClassInvalidInput                 FailureClass = "invalid_input"
	ClassExecutionFailed              FailureClass = "execution_failed"
	ClassUnknown                      FailureClass = "unknown"
)

// FailureClasses lists every failure class.
var FailureClasses = []FailureClass{
	ClassProvider, ClassTransient, ClassTimeout, ClassStalled, ClassRateLimited, ClassProviderAccountBlocked,
	ClassProviderQuotaExhausted, ClassProviderBillingBlocked, ClassProviderCredentialsExhausted, ClassPolicyDenied,
	ClassCapabilityMissing, ClassInvalidInput, ClassExecutionFailed, ClassUnknown,
}

// classRequestValidation is declared by packages in the wild and is no class of the contract.
const classRequestValidation = "request_validation"

// classAliases are the words that mean a class of the contract.
var classAliases = map[string]FailureClass{
	"provider_quota": ClassRateLimited, "quota_exceeded": ClassRateLimited, "rate_limit": ClassRateLimited,
	"max_turns": ClassTimeout,
	"runtime":   ClassExecutionFailed, "task": ClassExecutionFailed, "incomplete": ClassExecutionFailed,
	classRequestValidation: ClassInvalidInput,
	"provider_setup":       ClassProvider,
}

// The vocabularies of hosts, as they stand in events and in records of runs.
var (
	RunStates       = []string{"queued", "running", "succeeded", "candidate_recoverable", "partial_recoverable", "partial_failure", "failed", "cancelled"}
	TaskStates      = []string{"queued", "blocked", "skipped", "running", "succeeded", "failed", "cancelled", "timed_out", "candidate_recoverable"}
	ExecutionStates = []string{"queued", "running", "waiting", "succeeded", "failed", "cancelled"}
	HandleKinds     = []string{"queued_record", "local_pid", "runner_job", "provider_run"}
)

// RequestRequiredFields are the paths that every request has, whatever a provider declares.
var RequestRequiredFields = []string{"schema", "task_id", "executor.backend", "instructions"}

// SchemaNames returns every schema id of this package by its name in the exported contract.
func SchemaNames() map[string]string {
	return map[string]string{
		"request":                         SchemaRequest,
		"outcome":                         SchemaOutcome,
		"aggregate":                       SchemaAggregate,
		"artifact":                        SchemaArtifact,
		"artifact_declaration":            SchemaArtifactDeclaration,
		"evidence_ref":                    SchemaEvidenceRef,
		"workflow":                        SchemaWorkflow,
		"runtime_tool":                    SchemaRuntimeTool,
		"resolved_runtime_tool":           SchemaResolvedRuntimeTool,
		"tool_policy":                     SchemaToolPolicy,
		"command_policy":                  SchemaCommandPolicy,
		"capability_requirements":         SchemaRequirements,
		"runtime_command_request":         SchemaRuntimeCommand,
		"runner_spec":                     SchemaRunnerSpec,
		"agent_runtime_manifest":          SchemaManifest,
		"provider":                        SchemaProvider,
		"command_invocation":              SchemaInvocation,
		"runtime_execution":               SchemaRuntimeExecution,
		"deprecated_runtime_alias":        SchemaDeprecatedAlias,
		"core_contract":                   SchemaCoreContract,
		"fanout_reconcile_config":         SchemaFanoutConfig,
		"fanout_reconcile_plan":           SchemaFanoutPlan,
		"fanout_reconcile_run":            SchemaFanoutRun,
		"fanout_reconcile_result":         SchemaFanoutResult,
		"fanout_reconcile_reconciliation": SchemaFanoutReconciliation,
		"fanout_reconcile_progress":       SchemaFanoutProgress,
		"finding_packet_fanout_config":    SchemaFindingFanoutConfig,
		"promotion_report":                SchemaPromotionReport,
		"agent_task_matrix_plan":          SchemaMatrixPlan,
		"agent_task_matrix_aggregate":     SchemaMatrixAggregate,
	}
}
