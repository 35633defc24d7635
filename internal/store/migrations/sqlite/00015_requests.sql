-- +goose Up

-- Requests of clients that may be sent again under the same key.
--   status   NULL until it is known what became of it
CREATE TABLE requests (
    key        TEXT    NOT NULL PRIMARY KEY,
    digest     TEXT    NOT NULL,
    begun_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    status     INTEGER,
    answer     BLOB
) STRICT;
CREATE INDEX requests_expire ON requests (expires_at);
