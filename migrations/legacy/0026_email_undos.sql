-- +goose Up

-- The address that an account had before it was changed. Until expires_at the
-- owner of that mailbox can restore it, and no other account can have it.
CREATE TABLE email_undos (
    user_id    UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    changed_at TIMESTAMPTZ NOT NULL,
    email      TEXT        NOT NULL,
    email_key  TEXT        NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, changed_at)
);
CREATE INDEX email_undos_key ON email_undos (email_key);
CREATE INDEX email_undos_expiry ON email_undos (expires_at);

-- +goose Down
DROP TABLE email_undos;
