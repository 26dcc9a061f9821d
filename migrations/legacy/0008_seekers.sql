-- +goose Up

-- What a jobseeker is told. One cause makes one notification for one user:
-- usually an event's id, for a match of a saved search that search and the run
-- that found it. A deleted one stays as long as its cause may come again.
CREATE TABLE notifications (
    id         UUID        NOT NULL PRIMARY KEY,
    user_id    UUID        NOT NULL,
    cause      TEXT        NOT NULL,
    type       TEXT        NOT NULL CHECK (type IN ('application', 'interview', 'message', 'job-alert', 'deadline', 'billing')),
    message    TEXT        NOT NULL,
    read       BOOLEAN     NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ
);

CREATE UNIQUE INDEX notifications_cause ON notifications (cause, user_id);
CREATE INDEX notifications_user ON notifications (user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX notifications_created ON notifications (created_at);

-- What a jobseeker did, and what came of it. The ids of events rise with time,
-- so that they give the order.
CREATE TABLE activities (
    user_id     UUID        NOT NULL,
    event_id    UUID        NOT NULL,
    type        TEXT        NOT NULL,
    action      TEXT        NOT NULL,
    description TEXT        NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, event_id)
);

CREATE INDEX activities_at ON activities (at);

-- What is kept of a user who searches. digest_after is the moment from which
-- another digest may be sent, digest_waiting says that there is something for it.
CREATE TABLE seekers (
    user_id            UUID        NOT NULL PRIMARY KEY,
    preferred_location TEXT        NOT NULL,
    employment_types   TEXT        NOT NULL,
    digest_after       TIMESTAMPTZ NOT NULL,
    digest_waiting     BOOLEAN     NOT NULL
);

CREATE INDEX seekers_digest ON seekers (digest_after) WHERE digest_waiting;

CREATE TABLE saved_searches (
    id            UUID        NOT NULL PRIMARY KEY,
    user_id       UUID        NOT NULL,
    name          TEXT        NOT NULL,
    query         TEXT        NOT NULL,
    location      TEXT        NOT NULL,
    contract_type TEXT        NOT NULL,
    email_alerts  BOOLEAN     NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL
);

CREATE INDEX saved_searches_user ON saved_searches (user_id, id);

-- New listings that have yet to be held against the searches. claimed_until is
-- when somebody else may take over from whoever does that.
CREATE TABLE alert_listings (
    listing_id    UUID        NOT NULL PRIMARY KEY,
    claimed_until TIMESTAMPTZ NOT NULL
);

CREATE INDEX alert_listings_claim ON alert_listings (claimed_until, listing_id);

-- A listing matches a search once. email says that the user wanted a mail of
-- it, digest_id in which it stands.
CREATE TABLE search_matches (
    search_id  UUID        NOT NULL,
    listing_id UUID        NOT NULL,
    user_id    UUID        NOT NULL,
    matched_at TIMESTAMPTZ NOT NULL,
    email      BOOLEAN     NOT NULL,
    digest_id  UUID,
    PRIMARY KEY (search_id, listing_id)
);

CREATE INDEX search_matches_waiting ON search_matches (user_id) WHERE email AND digest_id IS NULL;
CREATE INDEX search_matches_digest ON search_matches (digest_id, listing_id) WHERE digest_id IS NOT NULL;
CREATE INDEX search_matches_age ON search_matches (matched_at);

-- +goose Down
DROP TABLE search_matches;
DROP TABLE alert_listings;
DROP TABLE saved_searches;
DROP TABLE seekers;
DROP TABLE activities;
DROP TABLE notifications;
