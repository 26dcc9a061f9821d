-- +goose Up

-- The tasks of an endpoint are in one group, of which one runs at a time.
ALTER TABLE webhook_endpoints DROP COLUMN lease;
ALTER TABLE webhook_endpoints DROP COLUMN leased_until;

-- +goose Down
ALTER TABLE webhook_endpoints ADD COLUMN lease UUID;
ALTER TABLE webhook_endpoints ADD COLUMN leased_until TIMESTAMPTZ;
