-- +goose Up

-- One row for each fanout: a plan that is run as tasks of the queue. It is narrow, because it is written again with every
-- step; what the plan says apart from its tasks is in fanout_bodies. live is 1 until every item is done. owner is the runner
-- that runs it in the foreground, and NULL when dispatchers advance it.
CREATE TABLE fanouts (
    seq             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL,
    plan_hash       TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    live            INTEGER NOT NULL,
    owner           TEXT,
    task_count      INTEGER NOT NULL,
    pending_count   INTEGER NOT NULL,
    released_count  INTEGER NOT NULL DEFAULT 0,
    done_count      INTEGER NOT NULL DEFAULT 0,
    succeeded_count INTEGER NOT NULL DEFAULT 0,
    retry_count     INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    finished_at     INTEGER,
    cancel_at       INTEGER,
    cancel_reason   TEXT,
    cancel_by       TEXT
) STRICT;
CREATE UNIQUE INDEX fanouts_id ON fanouts (id);
CREATE INDEX fanouts_live ON fanouts (seq) WHERE live = 1;
CREATE INDEX fanouts_status ON fanouts (status, seq);

CREATE TABLE fanout_bodies (
    fanout_id TEXT PRIMARY KEY REFERENCES fanouts (id),
    settings  TEXT NOT NULL
) STRICT;

-- One row for each task of a plan.
--   state      pending, released (a task of the queue stands for it) or done (it has its record)
--   try        which try it is at; the tries before it are in tries
--   uses       the resources that a try holds from its release to its end, a JSON array
--   waits_for  what a pending item waits for: a resource, or another item; NULL: it may be tried
--   work       what is to be done, as package fanoutrun writes it
CREATE TABLE fanout_items (
    seq       INTEGER PRIMARY KEY,
    fanout_id TEXT    NOT NULL REFERENCES fanouts (id),
    ordinal   INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    group_key TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    try       INTEGER NOT NULL DEFAULT 1,
    uses      TEXT,
    waits_for TEXT,
    task_id   TEXT,
    succeeded INTEGER NOT NULL DEFAULT 0,
    tries     TEXT,
    record    TEXT,
    work      TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX fanout_items_ordinal ON fanout_items (fanout_id, ordinal);
CREATE INDEX fanout_items_pending ON fanout_items (fanout_id, ordinal) WHERE state = 'pending' AND waits_for IS NULL;
CREATE INDEX fanout_items_waiting ON fanout_items (fanout_id, waits_for, ordinal) WHERE waits_for IS NOT NULL;
CREATE INDEX fanout_items_released ON fanout_items (fanout_id, ordinal) WHERE state = 'released';
CREATE INDEX fanout_items_failed ON fanout_items (fanout_id, ordinal) WHERE state = 'done' AND succeeded = 0;
