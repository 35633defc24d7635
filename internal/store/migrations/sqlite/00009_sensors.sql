-- +goose Up

-- One row for each sensor that ever brought an event, was switched, or had trouble.
--   cursor     what the sensor has seen, its own; version grows with every change of it
--   since      when its present row of failures began
CREATE TABLE sensors (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL,
    disabled   INTEGER NOT NULL DEFAULT 0,
    cursor     TEXT,
    version    INTEGER NOT NULL DEFAULT 0,
    accepted   INTEGER NOT NULL DEFAULT 0,
    deduped    INTEGER NOT NULL DEFAULT 0,
    late       INTEGER NOT NULL DEFAULT 0,
    malformed  INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0,
    since      INTEGER,
    ok_at      INTEGER,
    failed_at  INTEGER,
    event_at   INTEGER,
    last_error TEXT    NOT NULL DEFAULT '',
    action_id  TEXT
) STRICT;
CREATE UNIQUE INDEX sensors_id ON sensors (id);

-- What was taken in, and what came too late. A refused event leaves no row, so that its sender may mend it and send it again.
--   same    the digest of sensor, event id and source: the same event is never taken twice
--   held    the digest of sensor and dedupe key while the key is held; NULL afterwards, and for what came too late
CREATE TABLE sensor_events (
    seq         INTEGER PRIMARY KEY,
    sensor_id   TEXT    NOT NULL,
    event_id    TEXT    NOT NULL,
    source_ref  TEXT    NOT NULL,
    dedupe_key  TEXT    NOT NULL,
    same        TEXT    NOT NULL,
    held        TEXT,
    expires_at  INTEGER,
    state       TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    observed_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    deadline    INTEGER,
    payload     TEXT,
    task_id     TEXT,
    workflow_id TEXT,
    repeats     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX sensor_events_same ON sensor_events (same);
CREATE UNIQUE INDEX sensor_events_held ON sensor_events (held) WHERE held IS NOT NULL;
CREATE INDEX sensor_events_sensor ON sensor_events (sensor_id, seq);
