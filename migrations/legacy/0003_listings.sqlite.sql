-- +goose Up

CREATE TABLE listings (
    id                   UUID NOT NULL PRIMARY KEY,
    -- The place in the order of first publication. It is the row's number in
    -- the text index, which yields its matches in that order for nothing.
    seq                  BIGINT,
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
    search_title         TEXT NOT NULL,
    description          TEXT NOT NULL,
    requirements         JSONB NOT NULL,
    benefits             JSONB NOT NULL,
    questions            JSONB NOT NULL,
    meta                 JSONB NOT NULL,
    search_body          TEXT NOT NULL
);

CREATE INDEX listings_organization ON listings (organization_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX listings_seq ON listings (seq);
-- SQLite keeps long texts in the row, about one row to a page. Two indexes hold
-- all that filters ask for, by date and by text match, so that a row is read
-- only when it is shown.
CREATE INDEX listings_open_posted ON listings (posted_at DESC, id DESC, open, application_deadline, contract_type, employment_type, specialty_key, remote, country, region, nation, lat, lon, salary_year_min, salary_year_max, seq) WHERE open;
CREATE INDEX listings_seq_facts ON listings (seq, posted_at, id, open, application_deadline, contract_type, employment_type, specialty_key, remote, country, region, nation, lat, lon, salary_year_min, salary_year_max) WHERE open;
CREATE INDEX listings_open_region ON listings (country, region, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_country ON listings (country, nation, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_specialty ON listings (specialty_key, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_salary ON listings (salary_year_max DESC, posted_at DESC, id DESC) WHERE open AND salary_year_max IS NOT NULL;
CREATE INDEX listings_open_remote ON listings (posted_at DESC, id DESC) WHERE open AND remote;
CREATE INDEX listings_open_place ON listings (lat, lon) WHERE open;
CREATE INDEX listings_open_deadline ON listings (application_deadline) WHERE open AND application_deadline IS NOT NULL;

-- The text index of the open listings. It keeps no text of its own.
CREATE VIRTUAL TABLE listings_fts USING fts5(title, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');

-- +goose StatementBegin
CREATE TRIGGER listings_fts_insert AFTER INSERT ON listings WHEN NEW.open BEGIN
    UPDATE listings SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM listings) WHERE id = NEW.id AND seq IS NULL;
    INSERT INTO listings_fts (rowid, title, body) SELECT seq, search_title, search_body FROM listings WHERE id = NEW.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER listings_fts_update AFTER UPDATE OF open, search_title, search_body ON listings
WHEN OLD.open <> NEW.open OR NEW.open AND (OLD.search_title <> NEW.search_title OR OLD.search_body <> NEW.search_body) BEGIN
    DELETE FROM listings_fts WHERE OLD.open AND rowid = OLD.seq;
    UPDATE listings SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM listings) WHERE NEW.open AND id = NEW.id AND seq IS NULL;
    INSERT INTO listings_fts (rowid, title, body) SELECT seq, search_title, search_body FROM listings WHERE NEW.open AND id = NEW.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER listings_fts_delete AFTER DELETE ON listings WHEN OLD.open BEGIN
    DELETE FROM listings_fts WHERE rowid = OLD.seq;
END;
-- +goose StatementEnd

-- Every word of every listing, so that typos are known by not being in it.
CREATE TABLE search_words (
    word     TEXT NOT NULL PRIMARY KEY,
    added_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX search_words_added ON search_words (added_at);

-- +goose Down
DROP TABLE search_words;
DROP TABLE listings_fts;
DROP TABLE listings;
