-- +goose Up

-- Third parties' applications. An id is also the client's id of OAuth.
CREATE TABLE apps (
    id            UUID        NOT NULL PRIMARY KEY,
    owner_id      UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
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

CREATE INDEX apps_owner ON apps (owner_id, id);

-- Keys, by a hash: they have random bits enough to need no salt.
CREATE TABLE api_keys (
    id           UUID        NOT NULL PRIMARY KEY,
    app_id       UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    name         TEXT        NOT NULL,
    prefix       TEXT        NOT NULL,
    hash         TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);

CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_app ON api_keys (app_id, id);

-- How much applications called, by days in UTC. Calls are counted a little later
-- than they are made, so an application may be gone by then.
CREATE TABLE app_usage (
    app_id   UUID   NOT NULL,
    day      TEXT   NOT NULL,
    requests BIGINT NOT NULL,
    errors   BIGINT NOT NULL,
    PRIMARY KEY (app_id, day)
);

CREATE INDEX app_usage_day ON app_usage (day);

-- +goose Down
DROP TABLE app_usage;
DROP TABLE api_keys;
DROP TABLE apps;
