-- +goose Up
CREATE TABLE outbox (
    id            UUID        NOT NULL PRIMARY KEY,
    type          TEXT        NOT NULL,
    subject       TEXT        NOT NULL,
    payload       TEXT        NOT NULL,
    recorded_at   TIMESTAMPTZ NOT NULL,
    claimed_until TIMESTAMPTZ,
    attempts      BIGINT      NOT NULL DEFAULT 0,
    sent_at       TIMESTAMPTZ
);

-- Ids sort by creation, so this is the queue in its order, without what is done.
CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_at IS NULL;

-- +goose Down
DROP TABLE outbox;
