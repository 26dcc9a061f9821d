-- +goose Up

-- btree_gin puts the week of posting into the text index; it comes with
-- Postgres and whoever owns the database may create it.
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Lists read many rows and show few columns of them: whatever is long lies
-- outside of the row, so that a page of it holds more listings, and what
-- filters look at stands first, because a row is taken apart from its start.
CREATE TABLE listings (
    id                   UUID NOT NULL PRIMARY KEY,
    organization_id      UUID NOT NULL,
    open                 BOOLEAN NOT NULL,
    remote               BOOLEAN NOT NULL,
    posted_at            TIMESTAMPTZ,
    application_deadline TIMESTAMPTZ,
    lat                  DOUBLE PRECISION,
    lon                  DOUBLE PRECISION,
    salary_year_min      BIGINT,
    salary_year_max      BIGINT,
    posted_week          BIGINT,
    salary_min           BIGINT,
    salary_max           BIGINT,
    archived_at          TIMESTAMPTZ,
    deleted_at           TIMESTAMPTZ,
    created_at           TIMESTAMPTZ NOT NULL,
    updated_at           TIMESTAMPTZ NOT NULL,
    version              BIGINT NOT NULL,
    contract_type        TEXT NOT NULL,
    employment_type      TEXT NOT NULL,
    specialty_key        TEXT NOT NULL,
    country              TEXT NOT NULL,
    nation               TEXT NOT NULL,
    region               TEXT NOT NULL,
    city                 TEXT NOT NULL,
    place_kind           TEXT NOT NULL,
    status               TEXT NOT NULL CHECK (status IN ('draft', 'active', 'inactive', 'closed', 'archived')),
    salary_currency      TEXT NOT NULL,
    salary_period        TEXT NOT NULL,
    specialty            TEXT NOT NULL,
    title                TEXT NOT NULL,
    company              TEXT NOT NULL,
    department           TEXT NOT NULL,
    location             TEXT NOT NULL,
    -- The stemmed words, made by the adapter so that every database has the
    -- same ones: those of the title, and those of everything.
    search_title         TSVECTOR NOT NULL,
    description          TEXT NOT NULL,
    requirements         JSONB NOT NULL,
    benefits             JSONB NOT NULL,
    questions            JSONB NOT NULL,
    meta                 JSONB NOT NULL,
    search_body          TSVECTOR NOT NULL
) WITH (toast_tuple_target = 256);
ALTER TABLE listings ALTER COLUMN search_title SET STORAGE MAIN;
-- What the planner knows of words decides how a search is run; a sixth of a
-- percent of the listings is common enough to be known.
ALTER TABLE listings ALTER COLUMN search_body SET STATISTICS 300;
ALTER TABLE listings ALTER COLUMN search_title SET STATISTICS 300;

CREATE INDEX listings_organization ON listings (organization_id, created_at DESC, id DESC);
CREATE INDEX listings_open_posted ON listings (posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_region ON listings (country, region, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_country ON listings (country, nation, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_specialty ON listings (specialty_key, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_salary ON listings (salary_year_max DESC, posted_at DESC, id DESC) WHERE open AND salary_year_max IS NOT NULL;
CREATE INDEX listings_open_remote ON listings (posted_at DESC, id DESC) WHERE open AND remote;
CREATE INDEX listings_open_place ON listings (lat, lon) WHERE open;
CREATE INDEX listings_open_deadline ON listings (application_deadline) WHERE open AND application_deadline IS NOT NULL;
CREATE INDEX listings_open_text ON listings USING gin (posted_week, search_body) WHERE open;
CREATE INDEX listings_open_title ON listings USING gin (search_title) WHERE open;

-- Every word of every listing, so that typos are known by not being in it.
CREATE TABLE search_words (
    word     TEXT NOT NULL PRIMARY KEY,
    added_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX search_words_added ON search_words (added_at);

-- +goose Down
DROP TABLE search_words;
DROP TABLE listings;
