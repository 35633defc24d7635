-- +goose Up

-- One row for each schedule.
--   next_run_at   NULL while it is disabled or suspended: the index that is walked holds nothing else
--   due_at        when the next run is due, also of one that does not run
--   suspended     why it makes no tasks until somebody looks at it
CREATE TABLE schedules (
    seq              INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    name             TEXT    NOT NULL UNIQUE,
    enabled          INTEGER NOT NULL,
    suspended        TEXT    NOT NULL DEFAULT '',
    interval_seconds INTEGER NOT NULL,
    overlap          TEXT    NOT NULL,
    due_at           INTEGER NOT NULL,
    next_run_at      INTEGER,
    last_run_at      INTEGER,
    last_slot_at     INTEGER,
    last_task_id     TEXT,
    runs             INTEGER NOT NULL DEFAULT 0,
    missed           INTEGER NOT NULL DEFAULT 0,
    skipped          INTEGER NOT NULL DEFAULT 0,
    task             TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX schedules_due ON schedules (next_run_at, seq) WHERE next_run_at IS NOT NULL;

-- The walk to the next item that is due must not be taken for one of its state.
DROP INDEX outbox_state;
CREATE INDEX outbox_ended ON outbox (state, seq) WHERE state <> 'pending';
