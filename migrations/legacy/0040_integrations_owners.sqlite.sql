-- +goose NO TRANSACTION
-- +goose Up

-- The module integrations does not read or reference the tables of identity, which
-- may be stored in another database. SQLite does not drop constraints: the tables
-- are rebuilt.
-- Dropping a table would delete the rows that reference it. The setting cannot be
-- changed in a transaction. The statements can be repeated after a crash.
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;

CREATE TABLE apps_next (
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

INSERT INTO apps_next (id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version)
    SELECT id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version FROM apps;
DROP TABLE apps;
ALTER TABLE apps_next RENAME TO apps;
CREATE INDEX apps_owner ON apps (owner_id, id);

CREATE TABLE oauth_consents_next (
    user_id  UUID        NOT NULL,
    app_id   UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    scopes   TEXT        NOT NULL,
    given_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, app_id)
);

INSERT INTO oauth_consents_next (user_id, app_id, scopes, given_at) SELECT user_id, app_id, scopes, given_at FROM oauth_consents;
DROP TABLE oauth_consents;
ALTER TABLE oauth_consents_next RENAME TO oauth_consents;
CREATE INDEX oauth_consents_app ON oauth_consents (app_id, user_id);

CREATE TABLE oauth_grants_next (
    id         UUID        NOT NULL PRIMARY KEY,
    app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    user_id    UUID        NOT NULL,
    scopes     TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);

INSERT INTO oauth_grants_next (id, app_id, user_id, scopes, created_at, expires_at, ended_at)
    SELECT id, app_id, user_id, scopes, created_at, expires_at, ended_at FROM oauth_grants;
DROP TABLE oauth_grants;
ALTER TABLE oauth_grants_next RENAME TO oauth_grants;
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, app_id);
CREATE INDEX oauth_grants_app ON oauth_grants (app_id);
CREATE INDEX oauth_grants_expires ON oauth_grants (expires_at);

COMMIT;
PRAGMA foreign_keys = ON;

-- +goose Down
DELETE FROM apps WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = apps.owner_id);
DELETE FROM oauth_consents WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = oauth_consents.user_id);
DELETE FROM oauth_grants WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = oauth_grants.user_id);

-- Dropping a table would delete the rows that reference it. The setting cannot be
-- changed in a transaction. The statements can be repeated after a crash.
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;

CREATE TABLE apps_next (
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

INSERT INTO apps_next (id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version)
    SELECT id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version FROM apps;
DROP TABLE apps;
ALTER TABLE apps_next RENAME TO apps;
CREATE INDEX apps_owner ON apps (owner_id, id);

CREATE TABLE oauth_consents_next (
    user_id  UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    app_id   UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    scopes   TEXT        NOT NULL,
    given_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, app_id)
);

INSERT INTO oauth_consents_next (user_id, app_id, scopes, given_at) SELECT user_id, app_id, scopes, given_at FROM oauth_consents;
DROP TABLE oauth_consents;
ALTER TABLE oauth_consents_next RENAME TO oauth_consents;
CREATE INDEX oauth_consents_app ON oauth_consents (app_id, user_id);

CREATE TABLE oauth_grants_next (
    id         UUID        NOT NULL PRIMARY KEY,
    app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    user_id    UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scopes     TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);

INSERT INTO oauth_grants_next (id, app_id, user_id, scopes, created_at, expires_at, ended_at)
    SELECT id, app_id, user_id, scopes, created_at, expires_at, ended_at FROM oauth_grants;
DROP TABLE oauth_grants;
ALTER TABLE oauth_grants_next RENAME TO oauth_grants;
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, app_id);
CREATE INDEX oauth_grants_app ON oauth_grants (app_id);
CREATE INDEX oauth_grants_expires ON oauth_grants (expires_at);

COMMIT;
PRAGMA foreign_keys = ON;
