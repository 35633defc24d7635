-- +goose Up

-- Requests of clients that may be sent again under the same key.
--   status   NULL until it is known what became of it
CREATE TABLE requests (
    key        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    digest     TEXT COLLATE "C" NOT NULL,
    begun_at   BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    status     BIGINT,
    answer     BYTEA
);
CREATE INDEX requests_expire ON requests (expires_at);
