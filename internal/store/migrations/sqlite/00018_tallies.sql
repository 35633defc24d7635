-- +goose Up

-- What has ended is counted as it ends, so that a look at the home does not count a million tasks. Triggers keep the counters, in the
-- transaction of the change; nothing else writes them.
--   at      0: how many there are now; else the hour (its first microsecond) in which they ended
--   name    task:STATUS and workflow:completed at 0, of what has ended; ended:STATUS of tasks and attempt:CLASS by the hour
CREATE TABLE tallies (
    at   INTEGER NOT NULL,
    name TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (at, name)
) STRICT, WITHOUT ROWID;
CREATE VIEW tally AS SELECT at, name, n FROM tallies;
-- Tasks are numbered without gaps and never removed, so that the newest number says how many there are.
CREATE VIEW tasks_made AS SELECT coalesce(max(seq), 0) AS n FROM tasks;

INSERT INTO tallies (at, name, n) SELECT 0, 'task:' || status, count(*) FROM tasks
    WHERE status IN ('completed', 'permanent_failure', 'operator_canceled') GROUP BY status;
INSERT INTO tallies (at, name, n) SELECT 0, 'workflow:completed', count(*) FROM workflows WHERE status = 'completed';
INSERT INTO tallies (at, name, n) SELECT finished_at / 3600000000 * 3600000000 AS hour, 'ended:' || status, count(*) FROM tasks
    WHERE finished_at IS NOT NULL AND status IN ('completed', 'permanent_failure', 'operator_canceled') GROUP BY hour, status;
INSERT INTO tallies (at, name, n) SELECT ended_at / 3600000000 * 3600000000 AS hour, 'attempt:' || class, count(*) FROM attempts
    WHERE live = 0 AND ended_at IS NOT NULL GROUP BY hour, class;

-- +goose StatementBegin
CREATE TRIGGER tally_ended AFTER UPDATE OF status ON tasks
WHEN NEW.status IN ('completed', 'permanent_failure', 'operator_canceled') AND OLD.status <> NEW.status BEGIN
    INSERT INTO tallies (at, name, n) VALUES (0, 'task:' || NEW.status, 1), (NEW.finished_at / 3600000000 * 3600000000, 'ended:' || NEW.status, 1)
        ON CONFLICT (at, name) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tally_revived AFTER UPDATE OF status ON tasks
WHEN OLD.status IN ('completed', 'permanent_failure', 'operator_canceled') AND OLD.status <> NEW.status BEGIN
    UPDATE tallies SET n = n - 1 WHERE at = 0 AND name = 'task:' || OLD.status;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tally_workflow AFTER UPDATE OF status ON workflows WHEN (OLD.status = 'completed') <> (NEW.status = 'completed') BEGIN
    UPDATE tallies SET n = n + (NEW.status = 'completed') - (OLD.status = 'completed') WHERE at = 0 AND name = 'workflow:completed';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tally_attempt AFTER UPDATE OF live ON attempts WHEN OLD.live = 1 AND NEW.live = 0 AND NEW.ended_at IS NOT NULL BEGIN
    INSERT INTO tallies (at, name, n) VALUES (NEW.ended_at / 3600000000 * 3600000000, 'attempt:' || NEW.class, 1)
        ON CONFLICT (at, name) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd
