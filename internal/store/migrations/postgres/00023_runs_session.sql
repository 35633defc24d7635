-- +goose Up

-- A caller knows its runs by the session that it named.
CREATE INDEX runs_session ON runs (session_id, seq) WHERE session_id IS NOT NULL;
