-- +goose Up

-- Who looks after an endpoint, and until when they do without saying more. Nobody
-- else sends anything there, so that deliveries need no claims of their own: their
-- claimed_until stays for processes of the version before, and goes later.
ALTER TABLE webhook_endpoints ADD COLUMN lease UUID;
ALTER TABLE webhook_endpoints ADD COLUMN leased_until TIMESTAMPTZ;

-- What is due is read in this order, a batch after the other.
DROP INDEX webhook_deliveries_due;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_at, id) WHERE status = 'pending';

-- When something failed for good, to send again what did since then.
ALTER TABLE webhook_deliveries ADD COLUMN failed_at TIMESTAMPTZ;
UPDATE webhook_deliveries SET failed_at = created_at WHERE status = 'failed';
DROP INDEX webhook_deliveries_failed;
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (endpoint_id, failed_at) WHERE status = 'failed';

-- +goose Down
DROP INDEX webhook_deliveries_failed;
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (endpoint_id, created_at) WHERE status = 'failed';
ALTER TABLE webhook_deliveries DROP COLUMN failed_at;
DROP INDEX webhook_deliveries_due;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_at) WHERE status = 'pending';
ALTER TABLE webhook_endpoints DROP COLUMN leased_until;
ALTER TABLE webhook_endpoints DROP COLUMN lease;
