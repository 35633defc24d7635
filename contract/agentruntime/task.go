package agentruntime

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/deed"
)

// A TaskIntent is the portable unit of work that operators, sensors, schedules and workflows create.
type TaskIntent struct {
	Schema               string                `json:"schema,omitempty"`
	TaskType             string                `json:"task_type" jsonschema:"minLength=1,maxLength=512"`
	Source               string                `json:"source" jsonschema:"minLength=1,maxLength=512"`
	Subject              string                `json:"subject,omitempty"`
	Description          string                `json:"description,omitempty"`
	Priority             *int64                `json:"priority,omitempty"` // any integer, higher first; never chooses a model
	RequestedProfileID   string                `json:"requested_profile_id,omitempty" jsonschema:"maxLength=512"`
	RequestedAdapterID   string                `json:"requested_adapter_id,omitempty" jsonschema:"maxLength=512"`
	RequestedModel       string                `json:"requested_model,omitempty" jsonschema:"maxLength=512"`
	SkillIDs             []string              `json:"skill_ids,omitempty"`
	WorkflowRef          *WorkflowRef          `json:"workflow_ref,omitempty"`
	Schedule             *RelativeSchedule     `json:"schedule,omitempty"`
	AvailableAt          Timestamp             `json:"available_at,omitempty"`
	Payload              json.RawMessage       `json:"payload"` // a JSON object, kept as it was written
	EvidenceRequirements *EvidenceRequirements `json:"evidence_requirements,omitempty"`
	Deed                 *deed.TaskSpec        `json:"deed,omitempty"` // deed's own fields
}

// A WorkflowRef ties a task to the workflow state that asked for it.
type WorkflowRef struct {
	WorkflowID  string `json:"workflow_id" jsonschema:"minLength=1,maxLength=512"`
	StateID     string `json:"state_id" jsonschema:"minLength=1,maxLength=512"`
	InstanceKey string `json:"instance_key" jsonschema:"minLength=1,maxLength=512"`
}

// A RelativeSchedule delays a task from the moment it is taken in.
type RelativeSchedule struct {
	DelayMinutes float64 `json:"delay_minutes" jsonschema:"minimum=0,maximum=5256000"`
}

// EvidenceRequirements say what must be shown before the task counts as done.
type EvidenceRequirements struct {
	RequiredArtifacts             []string `json:"required_artifacts,omitempty"`
	RequireFileChangeVerification bool     `json:"require_file_change_verification,omitempty"`
	RequireAdapterAudit           bool     `json:"require_adapter_audit,omitempty"`
}

// TaskStatus is the state of a task.
type TaskStatus string

// The seven states of a task.
const (
	TaskPending          TaskStatus = "pending"
	TaskRunning          TaskStatus = "running"
	TaskCompleted        TaskStatus = "completed"
	TaskRetryableFailure TaskStatus = "retryable_failure"
	TaskPermanentFailure TaskStatus = "permanent_failure"
	TaskBlocked          TaskStatus = "blocked"
	TaskOperatorCanceled TaskStatus = "operator_canceled"
)

// TaskStatuses lists every state in the order of the contract.
var TaskStatuses = []TaskStatus{
	TaskPending, TaskRunning, TaskCompleted, TaskRetryableFailure, TaskPermanentFailure, TaskBlocked, TaskOperatorCanceled,
}

// MachineStatus is the one-word result beside a TaskStatus.
type MachineStatus string

// The machine statuses.
const (
	MachineOK         MachineStatus = "ok"
	MachineNeedsRetry MachineStatus = "needs_retry"
	MachineBlocked    MachineStatus = "blocked"
	MachineFailed     MachineStatus = "failed"
	MachineCanceled   MachineStatus = "canceled"
)

// MachineStatuses lists every machine status.
var MachineStatuses = []MachineStatus{MachineOK, MachineNeedsRetry, MachineBlocked, MachineFailed, MachineCanceled}

// A TaskRecord is engine state, never author input.
type TaskRecord struct {
	Schema             string          `json:"schema,omitempty"`
	TaskID             string          `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	TaskType           string          `json:"task_type" jsonschema:"minLength=1,maxLength=512"`
	Source             string          `json:"source" jsonschema:"minLength=1,maxLength=512"`
	Subject            *string         `json:"subject"`
	Description        *string         `json:"description"`
	Priority           int64           `json:"priority"`
	Payload            json.RawMessage `json:"payload"`
	RequestedProfileID string          `json:"requested_profile_id" jsonschema:"minLength=1,maxLength=512"`
	RequestedAdapterID *string         `json:"requested_adapter_id"`
	RequestedModel     *string         `json:"requested_model"`
	Status             TaskStatus      `json:"status"`
	MaxAttempts        int             `json:"max_attempts" jsonschema:"minimum=1"`
	AttemptCount       int             `json:"attempt_count" jsonschema:"minimum=0"`
	AvailableAt        Timestamp       `json:"available_at"`
	CreatedAt          Timestamp       `json:"created_at"`
	UpdatedAt          Timestamp       `json:"updated_at"`
	StartedAt          *Timestamp      `json:"started_at"`
	FinishedAt         *Timestamp      `json:"finished_at"`
	Outcome            *TaskOutcome    `json:"outcome"`
	LastError          *string         `json:"last_error"`
}

// ExitStatus is how an attempt's process ended.
type ExitStatus string

// The exit statuses.
const (
	ExitOK      ExitStatus = "ok"
	ExitError   ExitStatus = "error"
	ExitTimeout ExitStatus = "timeout"
)

// ExitStatuses lists every exit status.
var ExitStatuses = []ExitStatus{ExitOK, ExitError, ExitTimeout}

// RetryClass says whether an attempt's failure may be tried again.
type RetryClass string

// The retry classes.
const (
	RetryNone      RetryClass = "none"
	RetryRetryable RetryClass = "retryable"
	RetryPermanent RetryClass = "permanent"
)

// RetryClasses lists every retry class.
var RetryClasses = []RetryClass{RetryNone, RetryRetryable, RetryPermanent}

// A TaskAttempt is the evidence of one execution. Its paths are relative to the attempt's bundle.
type TaskAttempt struct {
	Schema          string          `json:"schema,omitempty"`
	AttemptID       string          `json:"attempt_id" jsonschema:"minLength=1,maxLength=512"`
	TaskID          string          `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	AdapterID       string          `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	AdapterKind     string          `json:"adapter_kind" jsonschema:"minLength=1,maxLength=512"`
	Model           *string         `json:"model"`
	RunnerID        string          `json:"runner_id" jsonschema:"minLength=1,maxLength=512"`
	StartedAt       Timestamp       `json:"started_at"`
	EndedAt         *Timestamp      `json:"ended_at"`
	ExitStatus      ExitStatus      `json:"exit_status"`
	RetryClass      RetryClass      `json:"retry_class"`
	PromptPath      string          `json:"prompt_path,omitempty" jsonschema:"maxLength=4096"`
	StdoutPath      string          `json:"stdout_path,omitempty" jsonschema:"maxLength=4096"`
	StderrPath      string          `json:"stderr_path,omitempty" jsonschema:"maxLength=4096"`
	ResultPath      string          `json:"result_path,omitempty" jsonschema:"maxLength=4096"`
	LastMessagePath string          `json:"last_message_path,omitempty" jsonschema:"maxLength=4096"`
	Diagnostics     json.RawMessage `json:"diagnostics,omitempty"`
}

// A TaskOutcome is the canonical result after normalisation. Only the gate makes one that says completed.
type TaskOutcome struct {
	Schema           string            `json:"schema,omitempty"`
	Status           TaskStatus        `json:"status" jsonschema:"enum=completed,enum=retryable_failure,enum=permanent_failure,enum=blocked,enum=operator_canceled"`
	MachineStatus    MachineStatus     `json:"machine_status"`
	OperatorSummary  string            `json:"operator_summary"`
	RawOutput        string            `json:"raw_output,omitempty"`
	FileChanges      []string          `json:"file_changes,omitempty"`
	ArtifactPaths    []string          `json:"artifact_paths,omitempty"`
	WorkflowSignal   string            `json:"workflow_signal,omitempty" jsonschema:"maxLength=512"`
	FollowUpTasks    []TaskIntent      `json:"follow_up_tasks,omitempty"`
	ExternalMessages []json.RawMessage `json:"external_messages,omitempty"`
}
