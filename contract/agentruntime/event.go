package agentruntime

// A RuntimeEvent names something that the runtime did.
type RuntimeEvent string

// The runtime events.
const (
	EventTaskEnqueued           RuntimeEvent = "task_enqueued"
	EventTaskClaimed            RuntimeEvent = "task_claimed"
	EventBundleCompiled         RuntimeEvent = "bundle_compiled"
	EventTaskRetryScheduled     RuntimeEvent = "task_retry_scheduled"
	EventTaskAttemptFinished    RuntimeEvent = "task_attempt_finished"
	EventTaskStarted            RuntimeEvent = "task_started"
	EventTaskFinished           RuntimeEvent = "task_finished"
	EventScheduleUpserted       RuntimeEvent = "schedule_upserted"
	EventScheduleTaskCreated    RuntimeEvent = "schedule_task_created"
	EventSensorEventRecorded    RuntimeEvent = "sensor_event_recorded"
	EventSensorEventDeduped     RuntimeEvent = "sensor_event_deduped"
	EventSensorTaskCreated      RuntimeEvent = "sensor_task_created"
	EventSensorWorkflowCreated  RuntimeEvent = "sensor_workflow_created"
	EventSensorWorkflowDeduped  RuntimeEvent = "sensor_workflow_deduped"
	EventWorkflowTransitioned   RuntimeEvent = "workflow_transitioned"
	EventWorkflowCompleted      RuntimeEvent = "workflow_completed"
	EventWorkflowTaskCreated    RuntimeEvent = "workflow_task_created"
	EventDispatchIdle           RuntimeEvent = "dispatch_idle"
	EventDispatchLocked         RuntimeEvent = "dispatch_locked"
	EventBootSweepReclaimed     RuntimeEvent = "boot_sweep_reclaimed"
	EventDispatchLockStaleClear RuntimeEvent = "dispatch_lock_stale_cleared"
)
