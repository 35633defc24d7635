-- +goose Up

-- What counts decides by itself whether to fold, and so calls nothing but once in two hundred times. A
-- statement that inserts no task, such as one that finds its event seen before, counts none.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_fold() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF pg_try_advisory_xact_lock(1684366707) THEN
        WITH gone AS (DELETE FROM tally_log RETURNING at, name, n)
        INSERT INTO tallies (at, name, n) SELECT at, name, sum(n) FROM gone GROUP BY at, name HAVING sum(n) <> 0
            ON CONFLICT (at, name) DO UPDATE SET n = tallies.n + excluded.n;
    END IF;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) SELECT 0, 'task:all', count(*) FROM added HAVING count(*) > 0;
    IF random() < 0.005 THEN
        PERFORM tally_fold();
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'task:' || NEW.status, 1), (NEW.finished_at / 3600000000 * 3600000000, 'ended:' || NEW.status, 1);
    IF random() < 0.005 THEN
        PERFORM tally_fold();
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_revived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'task:' || OLD.status, -1);
    IF random() < 0.005 THEN
        PERFORM tally_fold();
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_workflow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (0, 'workflow:completed', CASE WHEN NEW.status = 'completed' THEN 1 ELSE -1 END);
    IF random() < 0.005 THEN
        PERFORM tally_fold();
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tally_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tally_log (at, name, n) VALUES (NEW.ended_at / 3600000000 * 3600000000, 'attempt:' || NEW.class, 1);
    IF random() < 0.005 THEN
        PERFORM tally_fold();
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
