-- +goose Up

-- Addresses without an account that get alerts about new jobs. Their searches are in
-- saved_searches; mailbox is equal for all spellings of an address.
CREATE TABLE alert_subscribers (
    id         UUID        NOT NULL PRIMARY KEY,
    email      TEXT        NOT NULL,
    mailbox    TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX alert_subscribers_mailbox ON alert_subscribers (mailbox);

-- +goose Down
DROP TABLE alert_subscribers;
