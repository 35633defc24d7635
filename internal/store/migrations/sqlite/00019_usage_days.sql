-- +goose Up

-- What attempts used, added up by day as it is written, so that a look at the day does not read every attempt of it.
--   part   attempts are dealt out to a few rows for each day, so that they do not wait for each other
--   told   how many attempts tell a cost of their own, and told_micro_usd what they tell
-- An attempt whose numbers are too large to be added up without a thought is in usage_apart instead, and is read.
CREATE TABLE usage_days (
    day                TEXT    NOT NULL,
    part               INTEGER NOT NULL,
    turns              INTEGER NOT NULL,
    tool_calls         INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    cached_tokens      INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    cost_micro_usd     INTEGER NOT NULL,
    unpriced_tokens    INTEGER NOT NULL,
    agent_ms           INTEGER NOT NULL,
    told_micro_usd     INTEGER NOT NULL,
    told               INTEGER NOT NULL,
    counted_micro_usd  INTEGER NOT NULL,
    PRIMARY KEY (day, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_apart (
    day        TEXT    NOT NULL,
    attempt_id TEXT    NOT NULL,
    PRIMARY KEY (day, attempt_id)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_apart (day, attempt_id) SELECT day, attempt_id FROM usage GROUP BY day, attempt_id HAVING
    total(turns) > 1099511627776 OR total(tool_calls) > 1099511627776 OR total(input_tokens) > 1099511627776 OR
    total(cached_tokens) > 1099511627776 OR total(cache_write_tokens) > 1099511627776 OR total(output_tokens) >
    1099511627776 OR total(reasoning_tokens) > 1099511627776 OR total(cost_micro_usd) > 1099511627776 OR
    total(unpriced_tokens) > 1099511627776 OR total(agent_ms) > 1099511627776 OR total(told_micro_usd) > 1099511627776;
INSERT INTO usage_days (day, part,
    turns, tool_calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_micro_usd,
    unpriced_tokens, agent_ms, told_micro_usd, told, counted_micro_usd)
SELECT day, 0,
    sum(turns), sum(tool_calls), sum(input_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(output_tokens),
    sum(reasoning_tokens), sum(cost_micro_usd), sum(unpriced_tokens), sum(agent_ms), sum(told_micro_usd), sum(told),
    sum(counted_micro_usd)
FROM (
    SELECT attempt_id, day,
        sum(turns) AS turns, sum(tool_calls) AS tool_calls, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS
        cached_tokens, sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(cost_micro_usd) AS cost_micro_usd, sum(unpriced_tokens) AS
        unpriced_tokens, sum(agent_ms) AS agent_ms,
        coalesce(sum(told_micro_usd), 0) AS told_micro_usd, max(CASE WHEN told_micro_usd IS NULL THEN 0 ELSE 1 END) AS told,
        max(sum(cost_micro_usd), coalesce(sum(told_micro_usd), 0)) AS counted_micro_usd
    FROM usage u WHERE NOT EXISTS (SELECT 1 FROM usage_apart a WHERE a.day = u.day AND a.attempt_id = u.attempt_id)
    GROUP BY attempt_id, day
) AS attempts GROUP BY day;
