-- +goose Up

-- One row for each agent_id that an agent or a wallet names. Whoever writes either locks it first, so that the two are compared
-- as they will be stored.
--   record         NULL until the agent itself is written, and when it was removed
--   constitution   the number of the version that holds; 0: none
CREATE TABLE agents (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    record       TEXT,
    constitution INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

-- An address on a chain belongs to one agent.
CREATE TABLE wallets (
    seq        INTEGER PRIMARY KEY,
    agent_id   TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    chain      TEXT    NOT NULL,
    network    TEXT    NOT NULL,
    record     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (address, chain, network)
) STRICT;
CREATE INDEX wallets_agent ON wallets (agent_id, seq);

-- Every version of a constitution that was accepted; rows are never changed. The documents are files in the home, by their hashes.
CREATE TABLE constitutions (
    seq          INTEGER PRIMARY KEY,
    agent_id     TEXT    NOT NULL,
    number       INTEGER NOT NULL,
    soul_hash    TEXT    NOT NULL,
    purpose_hash TEXT    NOT NULL,
    proposal_id  TEXT    NOT NULL,
    accepted_by  TEXT    NOT NULL,
    revised_at   INTEGER NOT NULL,
    UNIQUE (agent_id, number)
) STRICT;

-- A revision that somebody drafted.
--   base     the version that it was drafted from
--   number   the version that it became; 0: none
CREATE TABLE proposals (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    agent_id     TEXT    NOT NULL,
    base         INTEGER NOT NULL,
    number       INTEGER NOT NULL DEFAULT 0,
    soul_hash    TEXT    NOT NULL,
    purpose_hash TEXT    NOT NULL,
    note         TEXT    NOT NULL,
    proposed_by  TEXT    NOT NULL,
    task_id      TEXT    NOT NULL,
    action_id    TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    reason       TEXT    NOT NULL DEFAULT '',
    decided_by   TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    decided_at   INTEGER
) STRICT;
CREATE INDEX proposals_agent ON proposals (agent_id, seq);
CREATE INDEX proposals_open ON proposals (seq) WHERE state = 'open';
