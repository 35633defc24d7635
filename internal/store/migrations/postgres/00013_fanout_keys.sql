-- +goose Up

-- Who holds each resource that is one for all fanouts: the item, and the task that stands for it. A row whose task has ended
-- holds nothing.
CREATE TABLE fanout_keys (
    resource  TEXT COLLATE "C" PRIMARY KEY,
    fanout_id TEXT COLLATE "C" NOT NULL REFERENCES fanouts (id),
    ordinal   BIGINT           NOT NULL,
    task_id   TEXT COLLATE "C" NOT NULL
);
CREATE INDEX fanout_keys_item ON fanout_keys (fanout_id, ordinal);
