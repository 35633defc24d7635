-- +goose Up

-- Who may ask over the network: tokens, and sessions of browsers. What is secret is not here: hash is the SHA-256 of it.
--   used_at    roughly: it is not written for every request
CREATE TABLE credentials (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    used_at    INTEGER,
    revoked_at INTEGER,
    revoked_by TEXT NOT NULL DEFAULT ''
) STRICT;
-- A name means one token at a time.
CREATE UNIQUE INDEX credentials_name ON credentials (name) WHERE kind = 'token' AND revoked_at IS NULL;
CREATE INDEX credentials_kind ON credentials (kind, seq);
CREATE INDEX credentials_expiry ON credentials (kind, expires_at);

-- What was done, and what was refused.
--   status   as in HTTP; 0: begun, and its end is not known
--   times    how many alike one row stands for
--   refused  1: nobody was let in, or not that far
CREATE TABLE access_log (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    name    TEXT NOT NULL,
    role    TEXT NOT NULL,
    how     TEXT NOT NULL,
    remote  TEXT NOT NULL,
    action  TEXT NOT NULL,
    target  TEXT NOT NULL,
    status  INTEGER NOT NULL,
    note    TEXT NOT NULL,
    times   INTEGER NOT NULL DEFAULT 1,
    refused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX access_log_name ON access_log (name, seq);
CREATE INDEX access_log_refused ON access_log (seq) WHERE refused = 1;
