-- +goose Up

-- What an attempt used, by the day (UTC) and the model that it was used on: an attempt may last over midnight and ask
-- several models. The numbers are those of the whole attempt so far; a later write replaces them. Money is in millionths
-- of a dollar; told is what the agent itself says, NULL when it says nothing;
-- unpriced_tokens have no price, so that the cost does not include them.
CREATE TABLE usage (
    attempt_id         TEXT    NOT NULL,
    day                TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    task_id            TEXT    NOT NULL REFERENCES tasks (id),
    turns              INTEGER NOT NULL,
    tool_calls         INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    cached_tokens      INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    cost_micro_usd     INTEGER NOT NULL,
    told_micro_usd     INTEGER,
    unpriced_tokens    INTEGER NOT NULL,
    agent_ms           INTEGER NOT NULL,
    PRIMARY KEY (attempt_id, day, model)
) STRICT;
CREATE INDEX usage_task ON usage (task_id, attempt_id, day, model);
CREATE INDEX usage_day ON usage (day, attempt_id, model);
