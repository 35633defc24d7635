-- +goose Up

-- What a dispatcher did, one row for each stretch of time in which it did anything. The newest ones are kept.
CREATE TABLE cycles (
    seq       INTEGER PRIMARY KEY,
    runner_id TEXT NOT NULL,
    began_at  INTEGER NOT NULL,
    ended_at  INTEGER NOT NULL,
    did       TEXT NOT NULL
) STRICT;

-- Retention walks what sensors saw from its old end.
CREATE INDEX sensor_events_received ON sensor_events (received_at, seq);
