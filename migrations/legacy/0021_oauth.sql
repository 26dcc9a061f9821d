-- +goose Up

-- What users allow third parties' applications. Scopes are words with spaces
-- between them.
CREATE TABLE oauth_consents (
    user_id  UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    app_id   UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    scopes   TEXT        NOT NULL,
    given_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, app_id)
);

CREATE INDEX oauth_consents_app ON oauth_consents (app_id, user_id);

-- One authorization, and what was issued in the course of it.
CREATE TABLE oauth_grants (
    id         UUID        NOT NULL PRIMARY KEY,
    app_id     UUID        NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    user_id    UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scopes     TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);

CREATE INDEX oauth_grants_user ON oauth_grants (user_id, app_id);
CREATE INDEX oauth_grants_app ON oauth_grants (app_id);
CREATE INDEX oauth_grants_expires ON oauth_grants (expires_at);

-- Codes, access tokens and refresh tokens, by a hash: they have random bits
-- enough to need no salt.
CREATE TABLE oauth_tokens (
    hash         TEXT        NOT NULL PRIMARY KEY,
    grant_id     UUID        NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
    kind         TEXT        NOT NULL,
    scopes       TEXT        NOT NULL,
    redirect_uri TEXT        NOT NULL,
    challenge    TEXT        NOT NULL,
    issued_at    TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    used_at      TIMESTAMPTZ
);

CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_expires ON oauth_tokens (expires_at);

-- Sign-ins of browsers, which hold a cookie in place of tokens.
CREATE TABLE browser_sessions (
    hash       TEXT NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX browser_sessions_session ON browser_sessions (session_id);

-- +goose Down
DROP TABLE browser_sessions;
DROP TABLE oauth_tokens;
DROP TABLE oauth_grants;
DROP TABLE oauth_consents;
