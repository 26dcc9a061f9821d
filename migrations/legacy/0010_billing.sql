-- +goose Up

-- What an owner is subscribed to. One without a row is on the basic plan.
-- next_at is when time alone changes something next. The payment method is as
-- its provider describes it; no number of a card is ever here.
CREATE TABLE subscriptions (
    owner_kind          TEXT        NOT NULL CHECK (owner_kind IN ('user')),
    owner_id            UUID        NOT NULL,
    plan                TEXT        NOT NULL,
    status              TEXT        NOT NULL CHECK (status IN ('active', 'past_due')),
    auto_renew          BOOLEAN     NOT NULL,
    anchor_at           TIMESTAMPTZ,
    expires_at          TIMESTAMPTZ,
    next_at             TIMESTAMPTZ,
    failures            INTEGER     NOT NULL,
    method_id           TEXT        NOT NULL,
    method_brand        TEXT        NOT NULL,
    method_last4        TEXT        NOT NULL,
    method_expiry_month INTEGER     NOT NULL,
    method_expiry_year  INTEGER     NOT NULL,
    version             BIGINT      NOT NULL,
    PRIMARY KEY (owner_kind, owner_id)
);

CREATE INDEX subscriptions_due ON subscriptions (next_at) WHERE next_at IS NOT NULL;

-- What was asked of owners. An owner has one pending charge at most, and one for
-- a period that is not declined: nobody pays twice.
CREATE TABLE charges (
    id                  UUID        NOT NULL PRIMARY KEY,
    owner_kind          TEXT        NOT NULL CHECK (owner_kind IN ('user', 'nobody')),
    owner_id            UUID        NOT NULL,
    plan                TEXT        NOT NULL,
    amount_minor        BIGINT      NOT NULL,
    currency            TEXT        NOT NULL,
    method_id           TEXT        NOT NULL,
    method_brand        TEXT        NOT NULL,
    method_last4        TEXT        NOT NULL,
    method_expiry_month INTEGER     NOT NULL,
    method_expiry_year  INTEGER     NOT NULL,
    renewal             BOOLEAN     NOT NULL,
    period_start        TIMESTAMPTZ NOT NULL,
    period_end          TIMESTAMPTZ NOT NULL,
    status              TEXT        NOT NULL CHECK (status IN ('pending', 'paid', 'failed')),
    receipt             TEXT        NOT NULL,
    created_at          TIMESTAMPTZ NOT NULL,
    attempts            INTEGER     NOT NULL,
    next_at             TIMESTAMPTZ NOT NULL
);

CREATE INDEX charges_owner ON charges (owner_kind, owner_id, id);
CREATE UNIQUE INDEX charges_pending ON charges (owner_kind, owner_id) WHERE status = 'pending';
CREATE UNIQUE INDEX charges_period ON charges (owner_kind, owner_id, period_start) WHERE status <> 'failed';
CREATE INDEX charges_waiting ON charges (next_at) WHERE status = 'pending';

-- +goose Down
DROP TABLE charges;
DROP TABLE subscriptions;
