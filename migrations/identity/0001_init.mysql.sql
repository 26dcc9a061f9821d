-- +goose Up

-- Accounts. Invited people have a row without a password until they register.
-- email_key is the normalized address.
CREATE TABLE IF NOT EXISTS users (
    id                UUID        NOT NULL PRIMARY KEY,
    email             TEXT        NOT NULL,
    email_key         VARCHAR(320) NOT NULL,
    name              TEXT        NOT NULL,
    kind              TEXT        NOT NULL CHECK (kind IN ('jobseeker', 'employer')),
    status            TEXT        NOT NULL CHECK (status IN ('invited', 'active', 'deleted')),
    password_hash     TEXT        NOT NULL,
    email_verified_at TIMESTAMPTZ,
    last_login_at     TIMESTAMPTZ,
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    version           BIGINT      NOT NULL,
    registered        BOOLEAN     NOT NULL DEFAULT TRUE,
    locked_at         TIMESTAMPTZ
);
CREATE UNIQUE INDEX IF NOT EXISTS users_email_key ON users (email_key);

-- Employers.
CREATE TABLE IF NOT EXISTS organizations (
    id                    UUID        NOT NULL PRIMARY KEY,
    name                  TEXT        NOT NULL,
    description           TEXT        NOT NULL,
    website               TEXT        NOT NULL,
    logo                  TEXT        NOT NULL,
    industry              TEXT        NOT NULL,
    size                  TEXT        NOT NULL,
    created_at            TIMESTAMPTZ NOT NULL,
    updated_at            TIMESTAMPTZ NOT NULL,
    version               BIGINT      NOT NULL,
    require_second_factor BOOLEAN     NOT NULL DEFAULT FALSE
);

-- Who works for an organization, invitations included. permissions are names separated
-- by spaces. An invitation shows the name and address it was sent to.
CREATE TABLE IF NOT EXISTS memberships (
    organization_id UUID        NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id         UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id              UUID        NOT NULL,
    role            TEXT        NOT NULL CHECK (role IN ('admin', 'recruiter', 'viewer')),
    permissions     TEXT        NOT NULL,
    founder         BOOLEAN     NOT NULL,
    status          VARCHAR(20) NOT NULL CHECK (status IN ('invited', 'active')),
    invited_name    TEXT        NOT NULL,
    invited_email   TEXT        NOT NULL,
    invited_until   TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL,
    updated_at      TIMESTAMPTZ NOT NULL,
    version         BIGINT      NOT NULL,
    memberships_active_user_if TINYINT AS (IF(status = 'active', 1, NULL)) VIRTUAL INVISIBLE,
    PRIMARY KEY (organization_id, user_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS memberships_active_user ON memberships (user_id, memberships_active_user_if);
CREATE INDEX IF NOT EXISTS memberships_ran_out ON memberships (status, invited_until);
CREATE UNIQUE INDEX IF NOT EXISTS memberships_team ON memberships (organization_id, id);
CREATE INDEX IF NOT EXISTS memberships_user ON memberships (user_id);

-- Sign-ins. A session ends at ended_at, or without further use.
CREATE TABLE IF NOT EXISTS sessions (
    id           UUID        NOT NULL PRIMARY KEY,
    user_id      UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address      TEXT        NOT NULL,
    user_agent   TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    ended_at     TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);
CREATE INDEX IF NOT EXISTS sessions_user ON sessions (user_id);

-- Refresh tokens, as hashes. A used one stays, so that its reuse is detected.
CREATE TABLE IF NOT EXISTS refresh_tokens (
    hash       VARCHAR(255) NOT NULL PRIMARY KEY,
    session_id UUID        NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    issued_at  TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS refresh_tokens_expiry ON refresh_tokens (expires_at);
CREATE INDEX IF NOT EXISTS refresh_tokens_session ON refresh_tokens (session_id);

-- Cookies of sessions that were started on a page, as hashes.
CREATE TABLE IF NOT EXISTS browser_sessions (
    hash       VARCHAR(255) NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS browser_sessions_session ON browser_sessions (session_id);

-- Secrets that were sent by e-mail, as hashes.
CREATE TABLE IF NOT EXISTS user_tokens (
    hash            VARCHAR(255) NOT NULL PRIMARY KEY,
    user_id         UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose         VARCHAR(20) NOT NULL CHECK (purpose IN ('verify_email', 'reset_password', 'invitation')),
    organization_id UUID        REFERENCES organizations (id) ON DELETE CASCADE,
    email           TEXT        NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL,
    used_at         TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS user_tokens_expiry ON user_tokens (expires_at);
CREATE INDEX IF NOT EXISTS user_tokens_organization ON user_tokens (organization_id);
CREATE INDEX IF NOT EXISTS user_tokens_user ON user_tokens (user_id, purpose);

-- New addresses that are not confirmed, one for each account.
CREATE TABLE IF NOT EXISTS email_changes (
    user_id      UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    email        TEXT        NOT NULL,
    requested_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS email_changes_requested ON email_changes (requested_at);

-- Addresses that accounts have left and can restore until expires_at.
CREATE TABLE IF NOT EXISTS email_undos (
    user_id    UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    changed_at TIMESTAMPTZ NOT NULL,
    email      TEXT        NOT NULL,
    email_key  VARCHAR(320) NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, changed_at)
);
CREATE INDEX IF NOT EXISTS email_undos_expiry ON email_undos (expires_at);
CREATE INDEX IF NOT EXISTS email_undos_key ON email_undos (email_key);

-- Settings of members of organizations.
CREATE TABLE IF NOT EXISTS employer_settings (
    user_id       UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    job_title     TEXT        NOT NULL,
    contact_name  TEXT        NOT NULL,
    contact_email TEXT        NOT NULL,
    contact_phone TEXT        NOT NULL,
    email_alerts  BOOLEAN     NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    version       BIGINT      NOT NULL
);

-- Mailboxes that receive no invitations, as hashes.
CREATE TABLE IF NOT EXISTS invitation_opt_outs (
    mailbox    VARCHAR(255) NOT NULL PRIMARY KEY,
    created_at TIMESTAMPTZ NOT NULL
);

-- Authenticator apps. The secret is encrypted.
CREATE TABLE IF NOT EXISTS second_factors (
    user_id      UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret       TEXT        NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    confirmed_at TIMESTAMPTZ,
    last_step    BIGINT      NOT NULL
);

-- Unused recovery codes, as hashes.
CREATE TABLE IF NOT EXISTS recovery_codes (
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash    VARCHAR(255) NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- The audit log. Entries contain ids and no other personal data.
CREATE TABLE IF NOT EXISTS audit_entries (
    id              UUID        NOT NULL PRIMARY KEY,
    at              TIMESTAMPTZ NOT NULL,
    action          TEXT        NOT NULL,
    actor           VARCHAR(255) NOT NULL,
    organization_id UUID,
    network         TEXT        NOT NULL,
    object          VARCHAR(255) NOT NULL,
    detail          TEXT        NOT NULL
);
CREATE INDEX IF NOT EXISTS audit_entries_actor ON audit_entries (actor, id);
CREATE INDEX IF NOT EXISTS audit_entries_at ON audit_entries (at);
CREATE INDEX IF NOT EXISTS audit_entries_object ON audit_entries (object, id);
CREATE INDEX IF NOT EXISTS audit_entries_organization ON audit_entries (organization_id, id);

-- Requests with an Idempotency-Key. status is 0 until there is an answer, which is
-- encrypted with the key.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    owner_id      UUID        NOT NULL,
    operation     VARCHAR(255) NOT NULL,
    key_hash      VARCHAR(255) NOT NULL,
    fingerprint   TEXT        NOT NULL,
    status        BIGINT      NOT NULL,
    answer        TEXT        NOT NULL,
    claimed_until TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (owner_id, operation, key_hash)
);
CREATE INDEX IF NOT EXISTS idempotency_keys_expiry ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE IF EXISTS idempotency_keys;
DROP TABLE IF EXISTS audit_entries;
DROP TABLE IF EXISTS recovery_codes;
DROP TABLE IF EXISTS second_factors;
DROP TABLE IF EXISTS invitation_opt_outs;
DROP TABLE IF EXISTS employer_settings;
DROP TABLE IF EXISTS email_undos;
DROP TABLE IF EXISTS email_changes;
DROP TABLE IF EXISTS user_tokens;
DROP TABLE IF EXISTS browser_sessions;
DROP TABLE IF EXISTS refresh_tokens;
DROP TABLE IF EXISTS sessions;
DROP TABLE IF EXISTS memberships;
DROP TABLE IF EXISTS organizations;
DROP TABLE IF EXISTS users;
