-- +goose Up

-- same and held begin with the end of what they are digests of, so that events which are numbered lie side by side.
UPDATE sensor_events SET same = substr(event_id, -24) || ':' || substr(same, 1, 32);
UPDATE sensor_events SET held = substr(dedupe_key, -24) || ':' || substr(held, 1, 32) WHERE held IS NOT NULL;
