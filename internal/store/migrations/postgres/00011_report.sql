-- +goose Up

-- What a report tells about, by its time: a morning is read without walking the log of all the years before. The types are those of
-- toldTypes in report.go, in the same words.
CREATE INDEX events_told ON events (at, seq) WHERE type IN ('task_attempt_finished', 'task_finished', 'task_operator_canceled',
    'schedule_task_created', 'schedule_skipped', 'workflow_started', 'workflow_transitioned', 'workflow_blocked', 'workflow_completed',
    'message_delivered', 'message_failed');
