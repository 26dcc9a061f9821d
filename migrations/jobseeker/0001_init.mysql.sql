-- +goose Up

-- Profiles and preferences of jobseekers, and when the next digest may be sent.
CREATE TABLE IF NOT EXISTS seekers (
    user_id             UUID             NOT NULL PRIMARY KEY,
    preferred_location  TEXT             NOT NULL,
    employment_types    TEXT             NOT NULL,
    digest_after        TIMESTAMPTZ      NOT NULL,
    digest_waiting      BOOLEAN          NOT NULL,
    first_name          TEXT             NOT NULL DEFAULT '',
    last_name           TEXT             NOT NULL DEFAULT '',
    bio                 TEXT             NOT NULL DEFAULT '',
    phone               TEXT             NOT NULL DEFAULT '',
    location            TEXT             NOT NULL DEFAULT '',
    specialty           TEXT             NOT NULL DEFAULT '',
    job_role            TEXT             NOT NULL DEFAULT '',
    experience          TEXT             NOT NULL DEFAULT '',
    location_radius     INTEGER          NOT NULL DEFAULT 0,
    salary_min          DOUBLE PRECISION,
    salary_max          DOUBLE PRECISION,
    job_alerts          BOOLEAN          NOT NULL DEFAULT TRUE,
    email_notifications BOOLEAN          NOT NULL DEFAULT TRUE,
    show_profile        BOOLEAN          NOT NULL DEFAULT FALSE,
    number              BIGINT
);
CREATE INDEX IF NOT EXISTS seekers_digest ON seekers (digest_waiting, digest_after);
CREATE UNIQUE INDEX IF NOT EXISTS seekers_number ON seekers (number);

-- Counters by name.
CREATE TABLE IF NOT EXISTS numbers (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT IGNORE INTO numbers (name, last) VALUES ('seekers', 0);

-- Notifications of users. A cause leads to one notification for a user; deleted ones
-- stay, empty, as long as the cause may occur again.
CREATE TABLE IF NOT EXISTS notifications (
    id         UUID        NOT NULL PRIMARY KEY,
    user_id    UUID        NOT NULL,
    cause      VARCHAR(255) NOT NULL,
    type       TEXT        NOT NULL,
    message    TEXT        NOT NULL,
    `read`       BOOLEAN     NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ,
    CHECK (type IN ('application', 'interview', 'message', 'job-alert', 'deadline', 'billing'))
);
CREATE UNIQUE INDEX IF NOT EXISTS notifications_cause ON notifications (cause, user_id);
CREATE INDEX IF NOT EXISTS notifications_created ON notifications (created_at);
CREATE INDEX IF NOT EXISTS notifications_user ON notifications (user_id, deleted_at, id);

-- What users did. The ids of events are in the order of time.
CREATE TABLE IF NOT EXISTS activities (
    user_id     UUID        NOT NULL,
    event_id    UUID        NOT NULL,
    type        TEXT        NOT NULL,
    action      TEXT        NOT NULL,
    description TEXT        NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, event_id)
);
CREATE INDEX IF NOT EXISTS activities_at ON activities (at);

-- Saved jobs. deadline_told is set when the user was reminded of the deadline.
CREATE TABLE IF NOT EXISTS bookmarks (
    id            UUID        NOT NULL PRIMARY KEY,
    user_id       UUID        NOT NULL,
    listing_id    UUID        NOT NULL,
    notes         TEXT        NOT NULL,
    saved_at      TIMESTAMPTZ NOT NULL,
    deadline_told BOOLEAN     NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS bookmarks_listing ON bookmarks (user_id, listing_id);
CREATE INDEX IF NOT EXISTS bookmarks_untold ON bookmarks (listing_id, id, deadline_told);
CREATE INDEX IF NOT EXISTS bookmarks_user ON bookmarks (user_id, id);

-- Listings that users do not want to be recommended.
CREATE TABLE IF NOT EXISTS dismissals (
    user_id      UUID        NOT NULL,
    listing_id   UUID        NOT NULL,
    dismissed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, listing_id)
);
CREATE INDEX IF NOT EXISTS dismissals_latest ON dismissals (user_id, dismissed_at, listing_id);

-- The progress of visitors through onboarding. A guest is identified by the hash of a
-- secret in the browser.
CREATE TABLE IF NOT EXISTS onboardings (
    visitor_kind VARCHAR(20) NOT NULL CHECK (visitor_kind IN ('user', 'guest')),
    visitor      VARCHAR(255) NOT NULL,
    email        TEXT        NOT NULL,
    source       TEXT        NOT NULL,
    preferences  TEXT        NOT NULL,
    steps        TEXT        NOT NULL,
    touched_at   TIMESTAMPTZ NOT NULL,
    version      BIGINT      NOT NULL,
    PRIMARY KEY (visitor_kind, visitor)
);
CREATE INDEX IF NOT EXISTS onboardings_touched ON onboardings (visitor_kind, touched_at);

-- Documents of jobseekers. The content is the file file_id, of size bytes; form is the
-- encoding in which it was sent and media_type the type of the content.
CREATE TABLE IF NOT EXISTS documents (
    id             UUID        NOT NULL PRIMARY KEY,
    user_id        UUID        NOT NULL,
    type           VARCHAR(20) NOT NULL CHECK (type IN ('cv', 'cover-letter', 'certification', 'other')),
    title          TEXT        NOT NULL,
    file_name      TEXT        NOT NULL,
    is_default     BOOLEAN     NOT NULL,
    file_id        UUID        NOT NULL,
    size           BIGINT      NOT NULL,
    form           TEXT        NOT NULL CHECK (form IN ('text', 'base64', 'data')),
    media_type     TEXT        NOT NULL,
    uploaded_at    TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    file_extension TEXT        NOT NULL DEFAULT '',
    documents_default_if TINYINT AS (IF(is_default, 1, NULL)) VIRTUAL INVISIBLE
);
CREATE UNIQUE INDEX IF NOT EXISTS documents_default ON documents (user_id, type, documents_default_if);
CREATE INDEX IF NOT EXISTS documents_user ON documents (user_id, id);

-- Every file that a document uses, used or will use. Files that no document uses are
-- deleted after free_at.
CREATE TABLE IF NOT EXISTS document_files (
    id        UUID        NOT NULL PRIMARY KEY,
    user_id   UUID        NOT NULL,
    free_at   TIMESTAMPTZ,
    extension TEXT        NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS document_files_free ON document_files (free_at, id);
CREATE INDEX IF NOT EXISTS document_files_user ON document_files (user_id);

-- Saved searches. resolved_query is the query with misspelt words replaced.
CREATE TABLE IF NOT EXISTS saved_searches (
    id             UUID        NOT NULL PRIMARY KEY,
    user_id        UUID        NOT NULL,
    name           TEXT        NOT NULL,
    query          TEXT        NOT NULL,
    location       TEXT        NOT NULL,
    contract_type  TEXT        NOT NULL,
    email_alerts   BOOLEAN     NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    resolved_query VARCHAR(600) NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS saved_searches_unresolved ON saved_searches (resolved_query, id);
CREATE INDEX IF NOT EXISTS saved_searches_user ON saved_searches (user_id, id);

-- Listings that match saved searches, each once. email is set if the user wanted an
-- alert, digest_id is the digest that contains it.
CREATE TABLE IF NOT EXISTS search_matches (
    search_id  UUID        NOT NULL,
    listing_id UUID        NOT NULL,
    user_id    UUID        NOT NULL,
    matched_at TIMESTAMPTZ NOT NULL,
    email      BOOLEAN     NOT NULL,
    digest_id  UUID,
    PRIMARY KEY (search_id, listing_id)
);
CREATE INDEX IF NOT EXISTS search_matches_age ON search_matches (matched_at);
CREATE INDEX IF NOT EXISTS search_matches_digest ON search_matches (digest_id, listing_id);
CREATE INDEX IF NOT EXISTS search_matches_waiting ON search_matches (user_id, digest_id);

-- New listings that are not yet compared with the saved searches.
CREATE TABLE IF NOT EXISTS alert_listings (
    listing_id    UUID        NOT NULL PRIMARY KEY,
    claimed_until TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS alert_listings_claim ON alert_listings (claimed_until, listing_id);

-- +goose Down
DROP TABLE IF EXISTS alert_listings;
DROP TABLE IF EXISTS search_matches;
DROP TABLE IF EXISTS saved_searches;
DROP TABLE IF EXISTS document_files;
DROP TABLE IF EXISTS documents;
DROP TABLE IF EXISTS onboardings;
DROP TABLE IF EXISTS dismissals;
DROP TABLE IF EXISTS bookmarks;
DROP TABLE IF EXISTS activities;
DROP TABLE IF EXISTS notifications;
DROP TABLE IF EXISTS numbers;
DROP TABLE IF EXISTS seekers;
