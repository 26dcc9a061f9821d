-- +goose Up

-- Where applications want to hear of events. The secrets are hidden by a key that
-- is not in the database.
CREATE TABLE webhook_endpoints (
    id              UUID        NOT NULL PRIMARY KEY,
    app_id          UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    owner_id        UUID        NOT NULL,
    url             TEXT        NOT NULL,
    events          TEXT        NOT NULL,
    status          TEXT        NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
    secret          TEXT        NOT NULL,
    previous_secret TEXT        NOT NULL,
    previous_until  TIMESTAMPTZ,
    failing_since   TIMESTAMPTZ,
    warned_at       TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL,
    updated_at      TIMESTAMPTZ NOT NULL,
    version         BIGINT      NOT NULL
);

CREATE INDEX webhook_endpoints_app ON webhook_endpoints (app_id, id);
CREATE INDEX webhook_endpoints_owner ON webhook_endpoints (owner_id);

-- What each endpoint subscribes to, for who looks for the endpoints of an event.
CREATE TABLE webhook_subscriptions (
    type        TEXT NOT NULL,
    endpoint_id UUID NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    PRIMARY KEY (type, endpoint_id)
);

CREATE INDEX webhook_subscriptions_endpoint ON webhook_subscriptions (endpoint_id);

-- What is sent, once for all endpoints, so that each gets the same bytes at each
-- attempt. organization_id and applicant_id are whose application it tells of.
CREATE TABLE webhook_messages (
    event_id        UUID        NOT NULL PRIMARY KEY,
    type            TEXT        NOT NULL,
    body            TEXT        NOT NULL,
    organization_id UUID,
    applicant_id    UUID,
    created_at      TIMESTAMPTZ NOT NULL
);

CREATE INDEX webhook_messages_created ON webhook_messages (created_at);
CREATE INDEX webhook_messages_applicant ON webhook_messages (applicant_id) WHERE applicant_id IS NOT NULL;

-- A message on its way to an endpoint. next_at is when somebody may attempt it
-- next, which while one does is when their claim ends.
CREATE TABLE webhook_deliveries (
    id            UUID        NOT NULL PRIMARY KEY,
    endpoint_id   UUID        NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    owner_id      UUID        NOT NULL,
    event_id      UUID        NOT NULL REFERENCES webhook_messages (event_id) ON DELETE CASCADE,
    type          TEXT        NOT NULL,
    status        TEXT        NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    attempt       BIGINT      NOT NULL,
    tries         BIGINT      NOT NULL,
    attempts      TEXT        NOT NULL,
    next_at       TIMESTAMPTZ,
    claimed_until TIMESTAMPTZ,
    created_at    TIMESTAMPTZ NOT NULL
);

-- An event goes to an endpoint once.
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (event_id, endpoint_id);
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (endpoint_id, status, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_claimed ON webhook_deliveries (endpoint_id, claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (endpoint_id, created_at) WHERE status = 'failed';

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhook_messages;
DROP TABLE webhook_subscriptions;
DROP TABLE webhook_endpoints;
