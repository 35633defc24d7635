-- +goose Up

-- Whose work an attempt is, and so a task that it ended: what an agent remembers of its recent tasks is read from the newest on, however
-- many there are.
--   agent   NULL: nobody's, or of the time before this
ALTER TABLE attempts ADD COLUMN agent TEXT;
ALTER TABLE tasks ADD COLUMN agent TEXT;
CREATE INDEX tasks_memory ON tasks (agent, finished_at, seq) WHERE agent IS NOT NULL AND finished_at IS NOT NULL;
