package agentruntime

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/deed"
)

// A TaskIntent is the portable unit of work that operators, sensors, schedules and workflows create.
type TaskIntent struct {
	Schema               string                `json:"schema,omitempty"`
	TaskType             string                `json:"task_type"`
	Source               string                `json:"source"`
	Subject              string                `json:"subject,omitempty"`
	Description          string                `json:"description,omitempty"`
	Priority             *int64                `json:"priority,omitempty"` // any integer, higher first; never chooses a model
	RequestedProfileID   string                `json:"requested_profile_id,omitempty"`
	RequestedAdapterID   string                `json:"requested_adapter_id,omitempty"`
	RequestedModel       string                `json:"requested_model,omitempty"`
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
	WorkflowID  string `json:"workflow_id"`
	StateID     string `json:"state_id"`
	InstanceKey string `json:"instance_key"`
}

// A RelativeSchedule delays a task from the moment it is taken in.
type RelativeSchedule struct {
	DelayMinutes float64 `json:"delay_minutes"`
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

// A TaskRecord is engine state, never author input.
type TaskRecord struct {
	TaskID             string          `json:"task_id"`
	TaskType           string          `json:"task_type"`
	Source             string          `json:"source"`
	Subject            *string         `json:"subject"`
	Description        *string         `json:"description"`
	Priority           int64           `json:"priority"`
	Payload            json.RawMessage `json:"payload"`
	RequestedProfileID string          `json:"requested_profile_id"`
	RequestedAdapterID *string         `json:"requested_adapter_id"`
	RequestedModel     *string         `json:"requested_model"`
	Status             TaskStatus      `json:"status"`
	MaxAttempts        int             `json:"max_attempts"`
	AttemptCount       int             `json:"attempt_count"`
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

// RetryClass says whether an attempt's failure may be tried again.
type RetryClass string

// The retry classes.
const (
	RetryNone      RetryClass = "none"
	RetryRetryable RetryClass = "retryable"
	RetryPermanent RetryClass = "permanent"
)

// A TaskAttempt is the evidence of one execution. Its paths are relative to the attempt's bundle.
type TaskAttempt struct {
	AttemptID       string          `json:"attempt_id"`
	TaskID          string          `json:"task_id"`
	AdapterID       string          `json:"adapter_id"`
	AdapterKind     string          `json:"adapter_kind"`
	Model           *string         `json:"model"`
	RunnerID        string          `json:"runner_id"`
	StartedAt       Timestamp       `json:"started_at"`
	EndedAt         *Timestamp      `json:"ended_at"`
	ExitStatus      ExitStatus      `json:"exit_status"`
	RetryClass      RetryClass      `json:"retry_class"`
	PromptPath      string          `json:"prompt_path,omitempty"`
	StdoutPath      string          `json:"stdout_path,omitempty"`
	StderrPath      string          `json:"stderr_path,omitempty"`
	ResultPath      string          `json:"result_path,omitempty"`
	LastMessagePath string          `json:"last_message_path,omitempty"`
	Diagnostics     json.RawMessage `json:"diagnostics,omitempty"`
}

// A TaskOutcome is the canonical result after normalisation. Only the gate makes one that says completed.
type TaskOutcome struct {
	Status           TaskStatus        `json:"status"`
	MachineStatus    MachineStatus     `json:"machine_status"`
	OperatorSummary  string            `json:"operator_summary"`
	RawOutput        string            `json:"raw_output,omitempty"`
	FileChanges      []string          `json:"file_changes,omitempty"`
	ArtifactPaths    []string          `json:"artifact_paths,omitempty"`
	WorkflowSignal   string            `json:"workflow_signal,omitempty"`
	FollowUpTasks    []TaskIntent      `json:"follow_up_tasks,omitempty"`
	ExternalMessages []json.RawMessage `json:"external_messages,omitempty"`
}
