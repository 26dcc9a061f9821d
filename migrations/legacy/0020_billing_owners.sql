-- +goose Up

-- Third parties' applications subscribe to plans as well.
ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_owner_kind_check;
ALTER TABLE subscriptions ADD CONSTRAINT subscriptions_owner_kind_check CHECK (owner_kind IN ('user', 'application'));
ALTER TABLE charges DROP CONSTRAINT charges_owner_kind_check;
ALTER TABLE charges ADD CONSTRAINT charges_owner_kind_check CHECK (owner_kind IN ('user', 'application', 'nobody'));

-- +goose Down
DELETE FROM subscriptions WHERE owner_kind = 'application';
DELETE FROM charges WHERE owner_kind = 'application';
ALTER TABLE charges DROP CONSTRAINT charges_owner_kind_check;
ALTER TABLE charges ADD CONSTRAINT charges_owner_kind_check CHECK (owner_kind IN ('user', 'nobody'));
ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_owner_kind_check;
ALTER TABLE subscriptions ADD CONSTRAINT subscriptions_owner_kind_check CHECK (owner_kind IN ('user'));
