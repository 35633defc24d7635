-- +goose Up

-- What waits is listed by its age; when it is due changes with every try, and a page that goes on by that leaves out what was put off.
CREATE INDEX outbox_pending ON outbox (seq) WHERE state = 'pending';
