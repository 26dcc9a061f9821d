-- +goose Up

-- Since when an account is one of a moderator, NULL for the others.
ALTER TABLE users ADD COLUMN moderator_since TIMESTAMPTZ;

-- +goose Down
ALTER TABLE users DROP COLUMN moderator_since;
