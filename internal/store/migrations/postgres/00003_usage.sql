-- +goose Up

-- What an attempt used, by the day (UTC) and the model that it was used on: an attempt may last over midnight and ask
-- several models. The numbers are those of the whole attempt so far; a later write replaces them. Money is in millionths
-- of a dollar; told is what the agent itself says, NULL when it says nothing;
-- unpriced_tokens have no price, so that the cost does not include them.
CREATE TABLE usage (
    attempt_id         TEXT COLLATE "C" NOT NULL,
    day                TEXT COLLATE "C" NOT NULL,
    model              TEXT COLLATE "C" NOT NULL,
    task_id            TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    turns              BIGINT           NOT NULL,
    tool_calls         BIGINT           NOT NULL,
    input_tokens       BIGINT           NOT NULL,
    cached_tokens      BIGINT           NOT NULL,
    cache_write_tokens BIGINT           NOT NULL,
    output_tokens      BIGINT           NOT NULL,
    reasoning_tokens   BIGINT           NOT NULL,
    cost_micro_usd     BIGINT           NOT NULL,
    told_micro_usd     BIGINT,
    unpriced_tokens    BIGINT           NOT NULL,
    agent_ms           BIGINT           NOT NULL,
    PRIMARY KEY (attempt_id, day, model)
);
CREATE INDEX usage_task ON usage (task_id, attempt_id, day, model);
CREATE INDEX usage_day ON usage (day, attempt_id, model);
