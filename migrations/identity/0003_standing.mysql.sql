-- +goose Up

-- The standing of organizations: whether they are verified, hold their jobs until a
-- moderator decides, or are suspended.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS verified_at TIMESTAMPTZ;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS verified_by TEXT NOT NULL DEFAULT '';
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS held_at TIMESTAMPTZ;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS suspended_at TIMESTAMPTZ;

-- Keys of the names of verified organizations. Similar names have a key in common.
CREATE TABLE IF NOT EXISTS verified_names (
    name_key        VARCHAR(255) NOT NULL,
    organization_id UUID NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    PRIMARY KEY (name_key, organization_id)
);
CREATE INDEX IF NOT EXISTS verified_names_organization ON verified_names (organization_id);

-- +goose Down
DROP TABLE IF EXISTS verified_names;
ALTER TABLE organizations DROP COLUMN IF EXISTS suspended_at;
ALTER TABLE organizations DROP COLUMN IF EXISTS held_at;
ALTER TABLE organizations DROP COLUMN IF EXISTS verified_by;
ALTER TABLE organizations DROP COLUMN IF EXISTS verified_at;
