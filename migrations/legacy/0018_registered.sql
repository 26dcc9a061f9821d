-- +goose Up

-- Whether the account was registered, rather than made by accepting an
-- invitation. Of the accounts that are there already, those who work for an
-- organization that they did not found count as invited.
ALTER TABLE users ADD COLUMN registered BOOLEAN NOT NULL DEFAULT TRUE;
UPDATE users SET registered = FALSE
WHERE status = 'invited' OR kind = 'employer' AND EXISTS (
    SELECT 1 FROM memberships WHERE memberships.user_id = users.id AND memberships.status = 'active' AND NOT memberships.founder
);

-- +goose Down
ALTER TABLE users DROP COLUMN registered;
