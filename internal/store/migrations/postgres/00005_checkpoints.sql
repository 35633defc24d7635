-- +goose Up

-- What the next attempt of the task needs to go on with the conversation of this one; NULL when it cannot. It is here and
-- not in the attempt's directory, because an agent may be able to write there.
ALTER TABLE attempts ADD COLUMN checkpoint TEXT;
