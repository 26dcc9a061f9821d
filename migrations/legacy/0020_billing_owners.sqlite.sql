-- +goose Up

-- Third parties' applications subscribe to plans as well. SQLite changes no
-- constraint: the tables are made anew.
CREATE TABLE subscriptions_next (
    owner_kind          TEXT        NOT NULL CHECK (owner_kind IN ('user', 'application')),
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

INSERT INTO subscriptions_next SELECT * FROM subscriptions;
DROP TABLE subscriptions;
ALTER TABLE subscriptions_next RENAME TO subscriptions;

CREATE TABLE charges_next (
    id                  UUID        NOT NULL PRIMARY KEY,
    owner_kind          TEXT        NOT NULL CHECK (owner_kind IN ('user', 'application', 'nobody')),
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

INSERT INTO charges_next SELECT * FROM charges;
DROP TABLE charges;
ALTER TABLE charges_next RENAME TO charges;

CREATE INDEX subscriptions_due ON subscriptions (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX charges_owner ON charges (owner_kind, owner_id, id);
CREATE UNIQUE INDEX charges_pending ON charges (owner_kind, owner_id) WHERE status = 'pending';
CREATE UNIQUE INDEX charges_period ON charges (owner_kind, owner_id, period_start) WHERE status <> 'failed';
CREATE INDEX charges_waiting ON charges (next_at) WHERE status = 'pending';

-- +goose Down
DELETE FROM subscriptions WHERE owner_kind = 'application';
DELETE FROM charges WHERE owner_kind = 'application';

CREATE TABLE subscriptions_next (
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

INSERT INTO subscriptions_next SELECT * FROM subscriptions;
DROP TABLE subscriptions;
ALTER TABLE subscriptions_next RENAME TO subscriptions;

CREATE TABLE charges_next (
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

INSERT INTO charges_next SELECT * FROM charges;
DROP TABLE charges;
ALTER TABLE charges_next RENAME TO charges;

CREATE INDEX subscriptions_due ON subscriptions (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX charges_owner ON charges (owner_kind, owner_id, id);
CREATE UNIQUE INDEX charges_pending ON charges (owner_kind, owner_id) WHERE status = 'pending';
CREATE UNIQUE INDEX charges_period ON charges (owner_kind, owner_id, period_start) WHERE status <> 'failed';
CREATE INDEX charges_waiting ON charges (next_at) WHERE status = 'pending';
