-- +goose Up

-- What a person is asked, in whole: an answer holds for one context, a deadline decides when nobody does.
ALTER TABLE actions ADD COLUMN why            TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN rule           TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN context_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN subject        TEXT;
ALTER TABLE actions ADD COLUMN deadline       INTEGER;
ALTER TABLE actions ADD COLUMN default_answer TEXT;
ALTER TABLE actions ADD COLUMN may_answer     TEXT;
-- The deadline of an open action, for the index that is walked.
ALTER TABLE actions ADD COLUMN due_at         INTEGER;
CREATE INDEX actions_due ON actions (due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX actions_context ON actions (task_id, context_digest, seq) WHERE context_digest <> '';
