-- +goose Up

-- One task at a time processes the queue.
DROP INDEX alert_listings_claim;
ALTER TABLE alert_listings DROP COLUMN claimed_until;

-- +goose Down
ALTER TABLE alert_listings ADD COLUMN claimed_until TIMESTAMPTZ NOT NULL DEFAULT '1970-01-01 00:00:00+00:00';
CREATE INDEX alert_listings_claim ON alert_listings (claimed_until, listing_id);
