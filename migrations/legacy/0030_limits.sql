-- +goose Up

-- Mailboxes that take no invitations, by a hash of the address.
CREATE TABLE invitation_opt_outs (
    mailbox    TEXT        NOT NULL PRIMARY KEY,
    created_at TIMESTAMPTZ NOT NULL
);

-- The address of a guest, hashed with the listing and the day's salt: it limits
-- the visitors that one address can be.
ALTER TABLE listing_visits ADD COLUMN network TEXT NOT NULL DEFAULT '';
CREATE INDEX listing_visits_network ON listing_visits (network);

-- +goose Down
DROP INDEX listing_visits_network;
ALTER TABLE listing_visits DROP COLUMN network;
DROP TABLE invitation_opt_outs;
