-- +goose Up

-- An operator has locked the account: it keeps everything and cannot be used.
ALTER TABLE users ADD COLUMN locked_at TIMESTAMPTZ;

-- An operator has hidden the listing: it is not public, whatever its status.
ALTER TABLE listings ADD COLUMN hidden_at TIMESTAMPTZ;

-- Members without a second factor have to enroll before they can do anything for
-- the organization.
ALTER TABLE organizations ADD COLUMN require_second_factor BOOLEAN NOT NULL DEFAULT FALSE;

-- The secret of a user's authenticator app, encrypted with a key of the key ring.
-- It counts from confirmed_at on. Codes of time steps up to last_step were used.
CREATE TABLE second_factors (
    user_id      UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    last_step    BIGINT      NOT NULL
);

-- Recovery codes, of which only a hash is stored. A used one is deleted.
CREATE TABLE recovery_codes (
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    TEXT NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- +goose Down
DROP TABLE recovery_codes;
DROP TABLE second_factors;
ALTER TABLE organizations DROP COLUMN require_second_factor;
ALTER TABLE listings DROP COLUMN hidden_at;
ALTER TABLE users DROP COLUMN locked_at;
