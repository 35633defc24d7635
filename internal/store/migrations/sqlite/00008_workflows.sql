-- +goose Up

-- A definition as an instance was started with it: what changes in a file changes no instance that runs.
CREATE TABLE workflow_definitions (
    hash          TEXT    PRIMARY KEY,
    workflow_type TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;

-- One row for each instance.
--   version  grows with every change; whoever moves an instance names the one that it saw
--   visit    the number of the newest transition
--   due_at   set when something happened that the engine has yet to look at; NULL while it waits
CREATE TABLE workflows (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL,
    workflow_type TEXT    NOT NULL,
    instance_key  TEXT    NOT NULL,
    definition    TEXT    NOT NULL REFERENCES workflow_definitions (hash),
    state         TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    visit         INTEGER NOT NULL,
    iteration     INTEGER NOT NULL,
    progress      TEXT,
    context       TEXT,
    options       TEXT,
    task_id       TEXT,
    action_id     TEXT,
    reason        TEXT    NOT NULL DEFAULT '',
    ending        TEXT    NOT NULL DEFAULT '',
    started_by    TEXT    NOT NULL DEFAULT '',
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    completed_at  INTEGER,
    due_at        INTEGER
) STRICT;
CREATE UNIQUE INDEX workflows_id ON workflows (id);
CREATE UNIQUE INDEX workflows_live ON workflows (workflow_type, instance_key) WHERE status <> 'completed';
CREATE INDEX workflows_due ON workflows (due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX workflows_status ON workflows (status, seq);
CREATE INDEX workflows_type ON workflows (workflow_type, status, seq);

-- Every step, once. The primary key is what no second transition gets past.
CREATE TABLE workflow_transitions (
    workflow_id TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    from_state  TEXT    NOT NULL,
    to_state    TEXT    NOT NULL,
    signal      TEXT    NOT NULL,
    cause       TEXT    NOT NULL,
    caused_by   TEXT    NOT NULL,
    cause_task  TEXT,
    task_id     TEXT,
    iteration   INTEGER NOT NULL,
    note        TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, seq)
) STRICT;

-- The instance that made the task. NULL costs a task without one nothing.
ALTER TABLE tasks ADD COLUMN workflow_id TEXT;

-- An action may belong to something else than a task: owner is its kind and id, such as workflow/ID.
CREATE TABLE actions_owned (
    seq            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    task_id        TEXT    REFERENCES tasks (id),
    attempt_id     TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    prompt         TEXT    NOT NULL,
    detail         TEXT,
    state          TEXT    NOT NULL,
    answer         TEXT,
    answered_by    TEXT    NOT NULL DEFAULT '',
    opened_at      INTEGER NOT NULL,
    closed_at      INTEGER,
    why            TEXT    NOT NULL DEFAULT '',
    rule           TEXT    NOT NULL DEFAULT '',
    context_digest TEXT    NOT NULL DEFAULT '',
    subject        TEXT,
    deadline       INTEGER,
    default_answer TEXT,
    may_answer     TEXT,
    due_at         INTEGER,
    owner          TEXT    NOT NULL DEFAULT ''
) STRICT;
INSERT INTO actions_owned (seq, id, task_id, attempt_id, kind, prompt, detail, state, answer, answered_by, opened_at, closed_at,
    why, rule, context_digest, subject, deadline, default_answer, may_answer, due_at)
SELECT seq, id, task_id, attempt_id, kind, prompt, detail, state, answer, answered_by, opened_at, closed_at,
    why, rule, context_digest, subject, deadline, default_answer, may_answer, due_at FROM actions;
DROP TABLE actions;
ALTER TABLE actions_owned RENAME TO actions;
CREATE INDEX actions_task ON actions (task_id, seq);
CREATE INDEX actions_owner ON actions (owner, seq) WHERE owner <> '';
CREATE INDEX actions_state ON actions (state, seq);
CREATE INDEX actions_due ON actions (due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX actions_context ON actions (task_id, context_digest, seq) WHERE context_digest <> '';
