-- +goose Up

-- One row for each run. The columns are the truth about state, times, cancellation and retention; record holds the
-- rest of the wire record. live is 1 until the owner of the run, or a sweep, has nothing left to do for it: a run that
-- has ended stays live until its clean-up is recorded and its file agrees with its row. No foreign key: a run need not
-- belong to a task.
CREATE TABLE runs (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL,
    task_id        TEXT,
    attempt_id     TEXT,
    session_id     TEXT,
    runner_id      TEXT    NOT NULL,
    status         TEXT    NOT NULL,
    live           INTEGER NOT NULL,
    dir            TEXT    NOT NULL DEFAULT '',
    bundle_dir     TEXT    NOT NULL DEFAULT '',
    artifact_bytes INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    heartbeat_at   INTEGER NOT NULL,
    ended_at       INTEGER,
    cancel_at      INTEGER,
    cancel_reason  TEXT,
    retained       INTEGER NOT NULL DEFAULT 0,
    retain_until   INTEGER,
    eligible_at    INTEGER,
    progress       TEXT,
    record         TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_id ON runs (id);
CREATE INDEX runs_status ON runs (status, seq);
CREATE INDEX runs_task ON runs (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX runs_attempt ON runs (attempt_id, seq) WHERE attempt_id IS NOT NULL;
CREATE INDEX runs_live ON runs (seq) WHERE live = 1;
CREATE INDEX runs_ended ON runs (ended_at, seq) WHERE live = 0;
CREATE INDEX runs_eligible ON runs (eligible_at, seq) WHERE live = 0 AND eligible_at IS NOT NULL;
