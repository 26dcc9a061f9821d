-- +goose Up

-- Addresses without an account that get alerts about new jobs. Their searches are in
-- saved_searches; mailbox is equal for all spellings of an address.
CREATE TABLE IF NOT EXISTS alert_subscribers (
    id         UUID        NOT NULL PRIMARY KEY,
    email      TEXT        NOT NULL,
    mailbox    VARCHAR(320) NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS alert_subscribers_mailbox ON alert_subscribers (mailbox);

-- +goose Down
DROP TABLE IF EXISTS alert_subscribers;
