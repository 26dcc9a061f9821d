-- +goose Up

-- Plans of users and OAuth apps. Owners without a row have the basic plan.
CREATE TABLE IF NOT EXISTS subscriptions (
    owner_kind          VARCHAR(20) NOT NULL CHECK (owner_kind IN ('user', 'application')),
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
CREATE INDEX IF NOT EXISTS subscriptions_due ON subscriptions (next_at);

-- Payments. An owner has at most one pending charge, and one for each period that is
-- not declined.
CREATE TABLE IF NOT EXISTS charges (
    id                  UUID        NOT NULL PRIMARY KEY,
    owner_kind          VARCHAR(20) NOT NULL CHECK (owner_kind IN ('user', 'application', 'nobody')),
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
    status              VARCHAR(20) NOT NULL CHECK (status IN ('pending', 'paid', 'failed')),
    receipt             TEXT        NOT NULL,
    created_at          TIMESTAMPTZ NOT NULL,
    attempts            INTEGER     NOT NULL,
    next_at             TIMESTAMPTZ NOT NULL,
    charges_pending_if  TINYINT     AS (IF(status = 'pending', 1, NULL)) VIRTUAL INVISIBLE,
    charges_period_if   TINYINT     AS (IF(status <> 'failed', 1, NULL)) VIRTUAL INVISIBLE
);
CREATE INDEX IF NOT EXISTS charges_owner ON charges (owner_kind, owner_id, id);
CREATE UNIQUE INDEX IF NOT EXISTS charges_pending ON charges (owner_kind, owner_id, charges_pending_if);
CREATE UNIQUE INDEX IF NOT EXISTS charges_period ON charges (owner_kind, owner_id, period_start, charges_period_if);
CREATE INDEX IF NOT EXISTS charges_waiting ON charges (status, next_at);

-- +goose Down
DROP TABLE IF EXISTS charges;
DROP TABLE IF EXISTS subscriptions;
