-- +goose Up

-- The standing of organizations: whether they are verified, hold their jobs until a
-- moderator decides, or are suspended.
ALTER TABLE organizations ADD COLUMN verified_at TIMESTAMPTZ;
ALTER TABLE organizations ADD COLUMN verified_by TEXT NOT NULL DEFAULT '';
ALTER TABLE organizations ADD COLUMN held_at TIMESTAMPTZ;
ALTER TABLE organizations ADD COLUMN suspended_at TIMESTAMPTZ;

-- Keys of the names of verified organizations. Similar names have a key in common.
CREATE TABLE verified_names (
    name_key        TEXT NOT NULL,
    organization_id UUID NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    PRIMARY KEY (name_key, organization_id)
);
CREATE INDEX verified_names_organization ON verified_names (organization_id);

-- +goose Down
DROP TABLE verified_names;
ALTER TABLE organizations DROP COLUMN suspended_at;
ALTER TABLE organizations DROP COLUMN held_at;
ALTER TABLE organizations DROP COLUMN verified_by;
ALTER TABLE organizations DROP COLUMN verified_at;
