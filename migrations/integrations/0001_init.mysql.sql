-- +goose Up

-- OAuth apps of developers. The secret is stored as a hash.
CREATE TABLE IF NOT EXISTS apps (
    id            UUID        NOT NULL PRIMARY KEY,
    owner_id      UUID        NOT NULL,
    name          TEXT        NOT NULL,
    description   TEXT        NOT NULL,
    public        BOOLEAN     NOT NULL,
    secret_hash   TEXT        NOT NULL,
    plan          TEXT        NOT NULL,
    redirect_uris JSONB       NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    version       BIGINT      NOT NULL
);
CREATE INDEX IF NOT EXISTS apps_owner ON apps (owner_id, id);

-- API keys, as hashes.
CREATE TABLE IF NOT EXISTS api_keys (
    id           UUID        NOT NULL PRIMARY KEY,
    app_id       UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    name         TEXT        NOT NULL,
    prefix       TEXT        NOT NULL,
    hash         VARCHAR(255) NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS api_keys_app ON api_keys (app_id, id);
CREATE UNIQUE INDEX IF NOT EXISTS api_keys_hash ON api_keys (hash);

-- Calls of each app by day (UTC).
CREATE TABLE IF NOT EXISTS app_usage (
    app_id   UUID   NOT NULL,
    day      VARCHAR(10) NOT NULL,
    requests BIGINT NOT NULL,
    errors   BIGINT NOT NULL,
    PRIMARY KEY (app_id, day)
);
CREATE INDEX IF NOT EXISTS app_usage_day ON app_usage (day);

-- What users allow apps.
CREATE TABLE IF NOT EXISTS oauth_consents (
    user_id  UUID        NOT NULL,
    app_id   UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    scopes   TEXT        NOT NULL,
    given_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, app_id)
);
CREATE INDEX IF NOT EXISTS oauth_consents_app ON oauth_consents (app_id, user_id);

-- Authorizations: what was issued to an app in the name of a user.
CREATE TABLE IF NOT EXISTS oauth_grants (
    id         UUID        NOT NULL PRIMARY KEY,
    app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    user_id    UUID        NOT NULL,
    scopes     TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS oauth_grants_app ON oauth_grants (app_id);
CREATE INDEX IF NOT EXISTS oauth_grants_expires ON oauth_grants (expires_at);
CREATE INDEX IF NOT EXISTS oauth_grants_user ON oauth_grants (user_id, app_id);

-- Codes and tokens, as hashes.
CREATE TABLE IF NOT EXISTS oauth_tokens (
    hash         VARCHAR(255) NOT NULL PRIMARY KEY,
    grant_id     UUID        NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind         TEXT        NOT NULL,
    scopes       TEXT        NOT NULL,
    redirect_uri TEXT        NOT NULL,
    challenge    TEXT        NOT NULL,
    issued_at    TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    used_at      TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS oauth_tokens_expires ON oauth_tokens (expires_at);
CREATE INDEX IF NOT EXISTS oauth_tokens_grant ON oauth_tokens (grant_id);

-- Webhooks. The secrets are encrypted. A delivery worker has the endpoint until
-- leased_until.
CREATE TABLE IF NOT EXISTS webhook_endpoints (
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
    version         BIGINT      NOT NULL,
    listening_until TIMESTAMPTZ,
    lease           UUID,
    leased_until    TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS webhook_endpoints_app ON webhook_endpoints (app_id, id);
CREATE INDEX IF NOT EXISTS webhook_endpoints_listening ON webhook_endpoints (listening_until);
CREATE INDEX IF NOT EXISTS webhook_endpoints_owner ON webhook_endpoints (owner_id);

-- The event types that each webhook receives.
CREATE TABLE IF NOT EXISTS webhook_subscriptions (
    type        VARCHAR(255) NOT NULL,
    endpoint_id UUID NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    PRIMARY KEY (type, endpoint_id)
);
CREATE INDEX IF NOT EXISTS webhook_subscriptions_endpoint ON webhook_subscriptions (endpoint_id);

-- Events as they are sent, one for each event.
CREATE TABLE IF NOT EXISTS webhook_messages (
    event_id        UUID        NOT NULL PRIMARY KEY,
    type            TEXT        NOT NULL,
    body            TEXT        NOT NULL,
    organization_id UUID,
    applicant_id    UUID,
    created_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS webhook_messages_applicant ON webhook_messages (applicant_id);
CREATE INDEX IF NOT EXISTS webhook_messages_created ON webhook_messages (created_at);

-- Deliveries of messages to webhooks: the queue and the log.
CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id            UUID        NOT NULL PRIMARY KEY,
    endpoint_id   UUID        NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    owner_id      UUID        NOT NULL,
    event_id      UUID        NOT NULL REFERENCES webhook_messages (event_id) ON DELETE CASCADE,
    type          TEXT        NOT NULL,
    status        VARCHAR(20) NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    attempt       BIGINT      NOT NULL,
    tries         BIGINT      NOT NULL,
    attempts      TEXT        NOT NULL,
    next_at       TIMESTAMPTZ,
    claimed_until TIMESTAMPTZ,
    created_at    TIMESTAMPTZ NOT NULL,
    failed_at     TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS webhook_deliveries_claimed ON webhook_deliveries (endpoint_id, claimed_until);
CREATE INDEX IF NOT EXISTS webhook_deliveries_due ON webhook_deliveries (endpoint_id, status, next_at, id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE UNIQUE INDEX IF NOT EXISTS webhook_deliveries_event ON webhook_deliveries (event_id, endpoint_id);
CREATE INDEX IF NOT EXISTS webhook_deliveries_failed ON webhook_deliveries (endpoint_id, status, failed_at);
CREATE INDEX IF NOT EXISTS webhook_deliveries_status ON webhook_deliveries (endpoint_id, status, id);

-- +goose Down
DROP TABLE IF EXISTS webhook_deliveries;
DROP TABLE IF EXISTS webhook_messages;
DROP TABLE IF EXISTS webhook_subscriptions;
DROP TABLE IF EXISTS webhook_endpoints;
DROP TABLE IF EXISTS oauth_tokens;
DROP TABLE IF EXISTS oauth_grants;
DROP TABLE IF EXISTS oauth_consents;
DROP TABLE IF EXISTS app_usage;
DROP TABLE IF EXISTS api_keys;
DROP TABLE IF EXISTS apps;
