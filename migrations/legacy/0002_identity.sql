-- +goose Up

-- An invited person without an account is a row too (status 'invited', no
-- password), so that the id which the team list shows is the one that the
-- account will have.
CREATE TABLE users (
    id                UUID NOT NULL PRIMARY KEY,
    email             TEXT NOT NULL,
    email_key         TEXT NOT NULL,
    name              TEXT NOT NULL,
    kind              TEXT NOT NULL CHECK (kind IN ('jobseeker', 'employer')),
    status            TEXT NOT NULL CHECK (status IN ('invited', 'active', 'deleted')),
    password_hash     TEXT NOT NULL,
    email_verified_at TIMESTAMPTZ,
    last_login_at     TIMESTAMPTZ,
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    version           BIGINT NOT NULL
);
-- email_key is the address in lower case: one account per address, whatever
-- its spelling, and the last word in a race of registrations. Who deletes an
-- account replaces both, so that the address is free again.
CREATE UNIQUE INDEX users_email_key ON users (email_key);

CREATE TABLE organizations (
    id          UUID NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    website     TEXT NOT NULL,
    logo        TEXT NOT NULL,
    industry    TEXT NOT NULL,
    size        TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    version     BIGINT NOT NULL
);

-- permissions are names with spaces between (jobs.create jobs.update …).
-- invited_name and invited_email are what the inviter typed and all that the
-- organization sees until the person accepts.
CREATE TABLE memberships (
    organization_id UUID NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id              UUID NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('admin', 'recruiter', 'viewer')),
    permissions     TEXT NOT NULL,
    founder         BOOLEAN NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('invited', 'active')),
    invited_name    TEXT NOT NULL,
    invited_email   TEXT NOT NULL,
    invited_until   TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL,
    updated_at      TIMESTAMPTZ NOT NULL,
    version         BIGINT NOT NULL,
    PRIMARY KEY (organization_id, user_id)
);
-- The team in the order in which people were added.
CREATE UNIQUE INDEX memberships_team ON memberships (organization_id, id);
-- A person works for one organization at a time; also how a request finds it.
CREATE UNIQUE INDEX memberships_active_user ON memberships (user_id) WHERE status = 'active';
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE sessions (
    id           UUID NOT NULL PRIMARY KEY,
    user_id      UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address      TEXT NOT NULL,
    user_agent   TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    ended_at     TIMESTAMPTZ
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Tokens are kept as the SHA-256 of what the client holds, in hex.
CREATE TABLE refresh_tokens (
    hash       TEXT NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    issued_at  TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

-- What is sent by mail. email is the address that it was sent to: it proves
-- that one and no other.
CREATE TABLE user_tokens (
    hash            TEXT NOT NULL PRIMARY KEY,
    user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose         TEXT NOT NULL CHECK (purpose IN ('verify_email', 'reset_password', 'invitation')),
    organization_id UUID REFERENCES organizations (id) ON DELETE CASCADE,
    email           TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL,
    used_at         TIMESTAMPTZ
);
CREATE INDEX user_tokens_user ON user_tokens (user_id, purpose);
CREATE INDEX user_tokens_organization ON user_tokens (organization_id);
CREATE INDEX user_tokens_expiry ON user_tokens (expires_at);

-- +goose Down
DROP TABLE user_tokens;
DROP TABLE refresh_tokens;
DROP TABLE sessions;
DROP TABLE memberships;
DROP TABLE organizations;
DROP TABLE users;
