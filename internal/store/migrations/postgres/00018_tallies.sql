-- +goose Up

-- What has ended is counted as it ends, so that a look at the home does not count a million tasks. Triggers keep the counters, in the
-- transaction of the change; nothing else writes them. A change is a row of tally_log, so that no transaction waits for the counter
-- of another; now and then one that finds nobody else at it adds the log up in tallies.
--   at      0: how many there are now; else the hour (its first microsecond) in which they ended
--   name    task:all, task:STATUS and workflow:completed at 0, of what has ended; ended:STATUS of tasks and attempt:CLASS by the hour
CREATE TABLE tallies (
    at   BIGINT NOT NULL,
    name TEXT   NOT NULL,
    n    BIGINT NOT NULL,
    PRIMARY KEY (at, name)
);
CREATE TABLE tally_log (
    at   BIGINT NOT NULL,
    name TEXT   NOT NULL,
    n    BIGINT NOT NULL
);
CREATE INDEX tally_log_at ON tally_log (at);
CREATE VIEW tally AS SELECT at, name, n FROM tallies UNION ALL SELECT at, name, n FROM tally_log;
-- The numbers of tasks have gaps here.
CREATE VIEW tasks_made AS SELECT coalesce(sum(n), 0)::bigint AS n FROM tally WHERE at = 0 AND name = 'task:all';

INSERT INTO tallies (at, name, n) SELECT 0, 'task:all', count(*) FROM tasks;
INSERT INTO tallies (at, name, n) SELECT 0, 'task:' || status, count(*) FROM tasks
    WHERE status IN ('completed', 'permanent_failure', 'operator_canceled') GROUP BY status;
INSERT INTO tallies (at, name, n) SELECT 0, 'workflow:completed', count(*) FROM workflows WHERE status = 'completed';
INSERT INTO tallies (at, name, n) SELECT finished_at / 3600000000 * 3600000000 AS hour, 'ended:' || status, count(*) FROM tasks
    WHERE finished_at IS NOT NULL AND status IN ('completed', 'permanent_failure', 'operator_canceled') GROUP BY hour, status;
INSERT INTO tallies (at, name, n) SELECT ended_at / 3600000000 * 3600000000 AS hour, 'attempt:' || class, count(*) FROM attempts
    WHERE live = 0 AND ended_at IS NOT NULL GROUP BY hour, class;

-- The lock is tried, never waited for: whoever folds holds no counter that another needs.
-- +goose StatementBegin
CREATE FUNCTION tally_fold() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.005 AND pg_try_advisory_xact_lock(1684366707) THEN
        WITH gone AS (DELETE FROM tally_log RETURNING at, name, n)
        INSERT INTO tallies (at, name, n) SELECT at, name, sum(n) FROM gone GROUP BY at, name HAVING sum(n) <> 0
            ON CONFLICT (at, name) DO UPDATE SET n = tallies.n + excluded.n;
    END IF;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tally_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) SELECT 0, 'task:all', count(*) FROM added;
    PERFORM tally_fold();
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tally_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'task:' || NEW.status, 1), (NEW.finished_at / 3600000000 * 3600000000, 'ended:' || NEW.status, 1);
    PERFORM tally_fold();
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tally_revived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'task:' || OLD.status, -1);
    PERFORM tally_fold();
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tally_workflow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'workflow:completed', CASE WHEN NEW.status = 'completed' THEN 1 ELSE -1 END);
    PERFORM tally_fold();
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION tally_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (NEW.ended_at / 3600000000 * 3600000000, 'attempt:' || NEW.class, 1);
    PERFORM tally_fold();
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tally_in AFTER INSERT ON tasks REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tally_in();
CREATE TRIGGER tally_ended AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'permanent_failure', 'operator_canceled') AND OLD.status <> NEW.status) EXECUTE FUNCTION tally_ended();
CREATE TRIGGER tally_revived AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (OLD.status IN ('completed', 'permanent_failure', 'operator_canceled') AND OLD.status <> NEW.status) EXECUTE FUNCTION tally_revived();
CREATE TRIGGER tally_workflow AFTER UPDATE ON workflows FOR EACH ROW
    WHEN ((OLD.status = 'completed') <> (NEW.status = 'completed')) EXECUTE FUNCTION tally_workflow();
CREATE TRIGGER tally_attempt AFTER UPDATE ON attempts FOR EACH ROW
    WHEN (OLD.live = 1 AND NEW.live = 0 AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION tally_attempt();
