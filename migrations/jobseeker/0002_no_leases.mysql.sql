-- +goose Up

-- One task at a time processes the queue.
DROP INDEX IF EXISTS alert_listings_claim ON alert_listings;
ALTER TABLE alert_listings DROP COLUMN IF EXISTS claimed_until;

-- +goose Down
ALTER TABLE alert_listings ADD COLUMN IF NOT EXISTS claimed_until TIMESTAMPTZ NOT NULL DEFAULT '1970-01-01 00:00:00';
CREATE INDEX IF NOT EXISTS alert_listings_claim ON alert_listings (claimed_until, listing_id);
