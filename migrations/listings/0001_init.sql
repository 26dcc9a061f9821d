-- +goose Up

-- Listings. Columns that filters use come first, because a row is decoded from its
-- start; long texts are stored outside of the row, so that a page holds more rows.
CREATE TABLE listings (
    id                   UUID             NOT NULL PRIMARY KEY,
    organization_id      UUID             NOT NULL,
    open                 BOOLEAN          NOT NULL,
    remote               BOOLEAN          NOT NULL,
    posted_at            TIMESTAMPTZ,
    application_deadline TIMESTAMPTZ,
    lat                  DOUBLE PRECISION,
    lon                  DOUBLE PRECISION,
    salary_min           BIGINT,
    salary_max           BIGINT,
    archived_at          TIMESTAMPTZ,
    deleted_at           TIMESTAMPTZ,
    created_at           TIMESTAMPTZ      NOT NULL,
    updated_at           TIMESTAMPTZ      NOT NULL,
    version              BIGINT           NOT NULL,
    contract_type        TEXT             NOT NULL,
    employment_type      TEXT             NOT NULL,
    country              TEXT             NOT NULL,
    nation               TEXT             NOT NULL,
    region               TEXT             NOT NULL,
    city                 TEXT             NOT NULL,
    place_kind           TEXT             NOT NULL,
    status               TEXT             NOT NULL CHECK (status IN ('draft', 'active', 'inactive', 'closed', 'archived')),
    salary_currency      TEXT             NOT NULL,
    salary_period        TEXT             NOT NULL,
    specialty            TEXT             NOT NULL,
    title                TEXT             NOT NULL,
    company              TEXT             NOT NULL,
    department           TEXT             NOT NULL,
    location             TEXT             NOT NULL,
    description          TEXT             NOT NULL,
    requirements         JSONB            NOT NULL,
    benefits             JSONB            NOT NULL,
    questions            JSONB            NOT NULL,
    meta                 JSONB            NOT NULL,
    hidden_at            TIMESTAMPTZ
);
CREATE INDEX listings_open_deadline ON listings (application_deadline, id) WHERE open AND application_deadline IS NOT NULL;
CREATE INDEX listings_open_posted ON listings (posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_organization ON listings (organization_id, created_at DESC, id DESC);
CREATE INDEX listings_organization_status ON listings (organization_id, status);

-- The listings that have changed, for search indexes. A transaction takes the numbers
-- from listing_feed and has its row until the commit, so that rows are committed in
-- the order of xid.
CREATE TABLE listing_changes (
    xid        BIGINT      NOT NULL PRIMARY KEY,
    listing_id UUID        NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL
);
-- One row. The epoch changes when listings are written without listing_changes;
-- changes up to and including purged_xid have been deleted.
CREATE TABLE listing_feed (
    id         BIGINT NOT NULL PRIMARY KEY,
    epoch      UUID   NOT NULL,
    purged_xid BIGINT NOT NULL,
    last_xid   BIGINT NOT NULL
);
INSERT INTO listing_feed (id, epoch, purged_xid, last_xid) VALUES (1, '00000000-0000-0000-0000-000000000000', 0, 0);
-- The number of views of each listing.
CREATE TABLE listing_views (
    listing_id UUID   NOT NULL PRIMARY KEY,
    views      BIGINT NOT NULL
);

-- The secrets with which visitors are hashed, by day. Without them the hashes cannot be
-- traced to visitors.
CREATE TABLE listing_visit_salts (
    day  TEXT NOT NULL PRIMARY KEY,
    salt TEXT NOT NULL
);

-- The visitors that were counted on a day, as hashes, so that each counts once.
CREATE TABLE listing_visits (
    day        TEXT NOT NULL,
    listing_id UUID NOT NULL,
    visitor    TEXT NOT NULL,
    network    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (day, listing_id, visitor)
);
CREATE INDEX listing_visits_network ON listing_visits (network);

-- +goose Down
DROP TABLE listing_visits;
DROP TABLE listing_visit_salts;
DROP TABLE listing_views;
DROP TABLE listing_feed;
DROP TABLE listing_changes;
DROP TABLE listings;
