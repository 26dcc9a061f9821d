-- +goose Up

-- Listings. Columns that filters use come first, because a row is decoded from its
-- start; long texts are stored outside of the row, so that a page holds more rows.
CREATE TABLE IF NOT EXISTS listings (
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
    status               VARCHAR(20)      NOT NULL CHECK (status IN ('draft', 'active', 'inactive', 'closed', 'archived')),
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
CREATE INDEX IF NOT EXISTS listings_open_deadline ON listings (open, application_deadline, id);
CREATE INDEX IF NOT EXISTS listings_open_posted ON listings (open, posted_at, id);
CREATE INDEX IF NOT EXISTS listings_organization ON listings (organization_id, created_at, id);
CREATE INDEX IF NOT EXISTS listings_organization_status ON listings (organization_id, status);

-- The listings that have changed, for search indexes. A transaction takes the numbers
-- from listing_feed and has its row until the commit, so that rows are committed in
-- the order of xid.
CREATE TABLE IF NOT EXISTS listing_changes (
    xid        BIGINT      NOT NULL PRIMARY KEY,
    listing_id UUID        NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL
);
-- One row. The epoch changes when listings are written without listing_changes;
-- changes up to and including purged_xid have been deleted.
CREATE TABLE IF NOT EXISTS listing_feed (
    id         BIGINT NOT NULL PRIMARY KEY,
    epoch      UUID   NOT NULL,
    purged_xid BIGINT NOT NULL,
    last_xid   BIGINT NOT NULL
);
INSERT IGNORE INTO listing_feed (id, epoch, purged_xid, last_xid) SELECT 1, uuid(), 0, 0 WHERE NOT EXISTS (SELECT 1 FROM listing_feed);
-- The number of views of each listing.
CREATE TABLE IF NOT EXISTS listing_views (
    listing_id UUID   NOT NULL PRIMARY KEY,
    views      BIGINT NOT NULL
);

-- The secrets with which visitors are hashed, by day. Without them the hashes cannot be
-- traced to visitors.
CREATE TABLE IF NOT EXISTS listing_visit_salts (
    day  VARCHAR(10) NOT NULL PRIMARY KEY,
    salt TEXT NOT NULL
);

-- The visitors that were counted on a day, as hashes, so that each counts once.
CREATE TABLE IF NOT EXISTS listing_visits (
    day        VARCHAR(10) NOT NULL,
    listing_id UUID NOT NULL,
    visitor    VARCHAR(255) NOT NULL,
    network    VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (day, listing_id, visitor)
);
CREATE INDEX IF NOT EXISTS listing_visits_network ON listing_visits (network);

-- +goose Down
DROP TABLE IF EXISTS listing_visits;
DROP TABLE IF EXISTS listing_visit_salts;
DROP TABLE IF EXISTS listing_views;
DROP TABLE IF EXISTS listing_feed;
DROP TABLE IF EXISTS listing_changes;
DROP TABLE IF EXISTS listings;
