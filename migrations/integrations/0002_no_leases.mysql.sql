-- +goose Up

-- The tasks of an endpoint are in one group, of which one runs at a time.
ALTER TABLE webhook_endpoints DROP COLUMN IF EXISTS lease;
ALTER TABLE webhook_endpoints DROP COLUMN IF EXISTS leased_until;

-- +goose Down
ALTER TABLE webhook_endpoints ADD COLUMN IF NOT EXISTS lease UUID;
ALTER TABLE webhook_endpoints ADD COLUMN IF NOT EXISTS leased_until TIMESTAMPTZ;
