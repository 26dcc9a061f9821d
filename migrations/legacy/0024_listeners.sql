-- +goose Up

-- The endpoint of a developer's own process, which sends what is for it by itself,
-- is there for as long as the process says so.
ALTER TABLE webhook_endpoints ADD COLUMN listening_until TIMESTAMPTZ;

CREATE INDEX webhook_endpoints_listening ON webhook_endpoints (listening_until) WHERE listening_until IS NOT NULL;

-- +goose Down
DROP INDEX webhook_endpoints_listening;
ALTER TABLE webhook_endpoints DROP COLUMN listening_until;
