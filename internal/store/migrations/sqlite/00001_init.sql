-- +goose Up

-- One row for each task. The columns that change are narrow; an intent or payload that is not lives in task_bodies,
-- because SQLite writes the whole row again on every update.
--   lane  0 not in the queue, 1 ready, 2 waiting until available_at
--   rank  the claim order within lane 1, lowest first (then seq)
-- Instants are microseconds since 1970 in UTC, everywhere.
CREATE TABLE tasks (
    seq           INTEGER  PRIMARY KEY,
    id            TEXT     NOT NULL,
    task_type     TEXT     NOT NULL,
    status        TEXT     NOT NULL,
    lane          INTEGER  NOT NULL,
    rank          INTEGER  NOT NULL,
    priority      INTEGER  NOT NULL,
    available_at  INTEGER  NOT NULL,
    created_at    INTEGER  NOT NULL,
    updated_at    INTEGER  NOT NULL,
    started_at    INTEGER,
    finished_at   INTEGER,
    attempt_count INTEGER  NOT NULL DEFAULT 0,
    max_attempts  INTEGER  NOT NULL,
    fence         INTEGER  NOT NULL DEFAULT 0,
    attempt_id    TEXT,
    profile_id    TEXT     NOT NULL,
    adapter_id    TEXT,
    model         TEXT,
    dedupe_key    TEXT,
    cancel_at     INTEGER,
    cancel_reason TEXT,
    cancel_by     TEXT,
    last_error    TEXT,
    outcome       TEXT,
    intent        TEXT,
    payload       TEXT
) STRICT;
CREATE UNIQUE INDEX tasks_id ON tasks (id);
CREATE INDEX tasks_ready ON tasks (rank, seq) WHERE lane = 1;
CREATE INDEX tasks_waiting ON tasks (available_at, seq) WHERE lane = 2;
CREATE INDEX tasks_status ON tasks (status, seq);
CREATE INDEX tasks_type ON tasks (task_type, status, seq);

CREATE TABLE task_bodies (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id),
    intent  TEXT NOT NULL,
    payload TEXT NOT NULL
) STRICT;

-- A key is here while it is taken. expires_at is NULL when the key is held for as long as its task lives.
CREATE TABLE dedupe_keys (
    dedupe_key TEXT    PRIMARY KEY,
    task_id    TEXT    NOT NULL,
    expires_at INTEGER
) STRICT;
CREATE INDEX dedupe_keys_expiry ON dedupe_keys (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each claim. live is 1 until the attempt is settled; lease_until is its deadline.
CREATE TABLE attempts (
    seq          INTEGER  PRIMARY KEY,
    id           TEXT     NOT NULL,
    task_id      TEXT     NOT NULL REFERENCES tasks (id),
    runner_id    TEXT     NOT NULL,
    fence        INTEGER  NOT NULL,
    live         INTEGER  NOT NULL,
    lease_until  INTEGER  NOT NULL,
    state        TEXT     NOT NULL,
    class        TEXT     NOT NULL DEFAULT '',
    adapter_id   TEXT     NOT NULL DEFAULT '',
    adapter_kind TEXT     NOT NULL DEFAULT '',
    model        TEXT,
    started_at   INTEGER  NOT NULL,
    ended_at     INTEGER,
    brief_hash   TEXT     NOT NULL DEFAULT '',
    spec_hash    TEXT     NOT NULL DEFAULT '',
    bundle_dir   TEXT     NOT NULL DEFAULT '',
    bundle_id    TEXT     NOT NULL DEFAULT '',
    verdict      TEXT,
    evidence     TEXT
) STRICT;
CREATE UNIQUE INDEX attempts_id ON attempts (id);
CREATE INDEX attempts_task ON attempts (task_id, seq);
CREATE INDEX attempts_live ON attempts (lease_until) WHERE live = 1;

CREATE TABLE artifacts (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    task_id      TEXT    NOT NULL REFERENCES tasks (id),
    attempt_id   TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    content_type TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    verified_at  INTEGER
) STRICT;
CREATE INDEX artifacts_task ON artifacts (task_id, seq);

-- The log of what the engine did. No foreign key: an event may name what was never stored.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    type       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    task_id    TEXT,
    attempt_id TEXT,
    detail     TEXT
) STRICT;
CREATE INDEX events_task ON events (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX events_attempt ON events (attempt_id, seq) WHERE attempt_id IS NOT NULL;

CREATE TABLE outbox (
    seq        INTEGER  PRIMARY KEY,
    id         TEXT     NOT NULL UNIQUE,
    task_id    TEXT     NOT NULL REFERENCES tasks (id),
    attempt_id TEXT     NOT NULL,
    kind       TEXT     NOT NULL,
    ordinal    INTEGER  NOT NULL,
    body       TEXT     NOT NULL,
    state      TEXT     NOT NULL,
    attempts   INTEGER  NOT NULL DEFAULT 0,
    next_at    INTEGER  NOT NULL,
    created_at INTEGER  NOT NULL,
    settled_at INTEGER,
    result     TEXT,
    last_error TEXT     NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX outbox_once ON outbox (attempt_id, kind, ordinal);
CREATE INDEX outbox_due ON outbox (next_at, seq) WHERE state = 'pending';
CREATE INDEX outbox_task ON outbox (task_id, seq);

CREATE TABLE actions (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    task_id     TEXT    NOT NULL REFERENCES tasks (id),
    attempt_id  TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    prompt      TEXT    NOT NULL,
    detail      TEXT,
    state       TEXT    NOT NULL,
    answer      TEXT,
    answered_by TEXT    NOT NULL DEFAULT '',
    opened_at   INTEGER NOT NULL,
    closed_at   INTEGER
) STRICT;
CREATE INDEX actions_task ON actions (task_id, seq);
CREATE INDEX actions_state ON actions (state, seq);

CREATE TABLE runners (
    id         TEXT    PRIMARY KEY,
    host       TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    boot_id    TEXT    NOT NULL,
    proc_start INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    version    TEXT    NOT NULL
) STRICT;

-- Settings that belong to the queue and not to a process: the pause, the ageing step of the ranks.
CREATE TABLE controls (
    name       TEXT    PRIMARY KEY,
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
