-- +goose Up

-- What attempts used, added up by day as it is written, so that a look at the day does not read every attempt of it.
--   part   attempts are dealt out to a few rows for each day, so that they do not wait for each other
--   told   how many attempts tell a cost of their own, and told_micro_usd what they tell
-- An attempt whose numbers are too large to be added up without a thought is in usage_apart instead, and is read.
CREATE TABLE usage_days (
    day                TEXT COLLATE "C" NOT NULL,
    part               BIGINT NOT NULL,
    turns              BIGINT NOT NULL,
    tool_calls         BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    cached_tokens      BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    reasoning_tokens   BIGINT NOT NULL,
    cost_micro_usd     BIGINT NOT NULL,
    unpriced_tokens    BIGINT NOT NULL,
    agent_ms           BIGINT NOT NULL,
    told_micro_usd     BIGINT NOT NULL,
    told               BIGINT NOT NULL,
    counted_micro_usd  BIGINT NOT NULL,
    PRIMARY KEY (day, part)
);
CREATE TABLE usage_apart (
    day        TEXT COLLATE "C" NOT NULL,
    attempt_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (day, attempt_id)
);

INSERT INTO usage_apart (day, attempt_id) SELECT day, attempt_id FROM usage GROUP BY day, attempt_id HAVING
    sum(turns) > 1099511627776 OR sum(tool_calls) > 1099511627776 OR sum(input_tokens) > 1099511627776 OR
    sum(cached_tokens) > 1099511627776 OR sum(cache_write_tokens) > 1099511627776 OR sum(output_tokens) > 1099511627776 OR
    sum(reasoning_tokens) > 1099511627776 OR sum(cost_micro_usd) > 1099511627776 OR sum(unpriced_tokens) > 1099511627776
    OR sum(agent_ms) > 1099511627776 OR sum(told_micro_usd) > 1099511627776;
INSERT INTO usage_days (day, part,
    turns, tool_calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_micro_usd,
    unpriced_tokens, agent_ms, told_micro_usd, told, counted_micro_usd)
SELECT day, 0,
    sum(turns)::bigint, sum(tool_calls)::bigint, sum(input_tokens)::bigint, sum(cached_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(output_tokens)::bigint, sum(reasoning_tokens)::bigint,
    sum(cost_micro_usd)::bigint, sum(unpriced_tokens)::bigint, sum(agent_ms)::bigint, sum(told_micro_usd)::bigint,
    sum(told)::bigint, sum(counted_micro_usd)::bigint
FROM (
    SELECT attempt_id, day,
        sum(turns) AS turns, sum(tool_calls) AS tool_calls, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS
        cached_tokens, sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens,
        sum(reasoning_tokens) AS reasoning_tokens, sum(cost_micro_usd) AS cost_micro_usd, sum(unpriced_tokens) AS
        unpriced_tokens, sum(agent_ms) AS agent_ms,
        coalesce(sum(told_micro_usd), 0) AS told_micro_usd, max(CASE WHEN told_micro_usd IS NULL THEN 0 ELSE 1 END) AS told,
        greatest(sum(cost_micro_usd), coalesce(sum(told_micro_usd), 0)) AS counted_micro_usd
    FROM usage u WHERE NOT EXISTS (SELECT 1 FROM usage_apart a WHERE a.day = u.day AND a.attempt_id = u.attempt_id)
    GROUP BY attempt_id, day
) AS attempts GROUP BY day;
