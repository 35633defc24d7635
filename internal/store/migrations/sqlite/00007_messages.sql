-- +goose Up

-- Messages are sent apart from follow-up tasks, so that a slow target holds nothing up; a person looks at those that were given up
-- or wait for an agreement.
CREATE INDEX outbox_kind_due ON outbox (kind, next_at, seq) WHERE state = 'pending';
CREATE INDEX outbox_state ON outbox (state, seq);
