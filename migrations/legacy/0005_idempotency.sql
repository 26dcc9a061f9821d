-- +goose Up
CREATE TABLE idempotency_keys (
    owner_id      UUID        NOT NULL,
    operation     TEXT        NOT NULL,
    key_hash      TEXT        NOT NULL,
    fingerprint   TEXT        NOT NULL,
    status        BIGINT      NOT NULL, -- 0 while it runs
    answer        TEXT        NOT NULL, -- encrypted with the client's key
    claimed_until TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (owner_id, operation, key_hash)
);

CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys;
