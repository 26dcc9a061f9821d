-- +goose Up

-- When the provider asked the payer to confirm the payment, with 3-D Secure for example.
ALTER TABLE charges ADD COLUMN IF NOT EXISTS action_at TIMESTAMPTZ;

-- +goose Down
ALTER TABLE charges DROP COLUMN IF EXISTS action_at;
