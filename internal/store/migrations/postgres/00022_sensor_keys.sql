-- +goose Up

-- same and held begin with the end of what they are digests of, so that events which are numbered lie side by side.
UPDATE sensor_events SET same = right(event_id, 24) || ':' || left(same, 32);
UPDATE sensor_events SET held = right(dedupe_key, 24) || ':' || left(held, 32) WHERE held IS NOT NULL;
