-- +goose Up

-- Search has an index of its own.
DROP TRIGGER listings_fts_insert;
DROP TRIGGER listings_fts_update;
DROP TRIGGER listings_fts_delete;
DROP TABLE listings_fts;
DROP INDEX listings_open_by_location;
DROP INDEX listings_open_by_title;
DROP INDEX listings_open_place;
DROP INDEX listings_open_remote;
DROP INDEX listings_open_salary;
DROP INDEX listings_open_specialty;
DROP INDEX listings_open_country;
DROP INDEX listings_open_region;
DROP INDEX listings_seq_facts;
DROP INDEX listings_seq;
DROP INDEX listings_open_posted;
CREATE INDEX listings_open_posted ON listings (posted_at DESC, id DESC) WHERE open;
ALTER TABLE listings DROP COLUMN search_title;
ALTER TABLE listings DROP COLUMN search_body;
ALTER TABLE listings DROP COLUMN specialty_key;
ALTER TABLE listings DROP COLUMN posted_week;
ALTER TABLE listings DROP COLUMN salary_year_min;
ALTER TABLE listings DROP COLUMN salary_year_max;
ALTER TABLE listings DROP COLUMN seq;
DROP TABLE search_words;

-- +goose Down
CREATE TABLE search_words (
    word     TEXT NOT NULL PRIMARY KEY,
    added_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX search_words_added ON search_words (added_at);
-- Earlier versions find a listing again once it is saved.
ALTER TABLE listings ADD COLUMN seq BIGINT;
ALTER TABLE listings ADD COLUMN salary_year_min BIGINT;
ALTER TABLE listings ADD COLUMN salary_year_max BIGINT;
ALTER TABLE listings ADD COLUMN posted_week BIGINT;
ALTER TABLE listings ADD COLUMN specialty_key TEXT NOT NULL DEFAULT '';
ALTER TABLE listings ADD COLUMN search_title TEXT NOT NULL DEFAULT '';
ALTER TABLE listings ADD COLUMN search_body TEXT NOT NULL DEFAULT '';
UPDATE listings SET seq = o.n FROM (SELECT id, row_number() OVER (ORDER BY posted_at, id) AS n FROM listings WHERE posted_at IS NOT NULL) o WHERE o.id = listings.id;
DROP INDEX listings_open_posted;
CREATE UNIQUE INDEX listings_seq ON listings (seq);
CREATE INDEX listings_open_posted ON listings (posted_at DESC, id DESC, open, application_deadline, contract_type, employment_type, specialty_key, remote, country, region, nation, lat, lon, salary_year_min, salary_year_max, seq) WHERE open;
CREATE INDEX listings_seq_facts ON listings (seq, posted_at, id, open, application_deadline, contract_type, employment_type, specialty_key, remote, country, region, nation, lat, lon, salary_year_min, salary_year_max) WHERE open;
CREATE INDEX listings_open_region ON listings (country, region, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_country ON listings (country, nation, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_specialty ON listings (specialty_key, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_salary ON listings (salary_year_max DESC, posted_at DESC, id DESC) WHERE open AND salary_year_max IS NOT NULL;
CREATE INDEX listings_open_remote ON listings (posted_at DESC, id DESC) WHERE open AND remote;
CREATE INDEX listings_open_place ON listings (lat, lon) WHERE open;
CREATE INDEX listings_open_by_title ON listings (lower(title) DESC, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_by_location ON listings (lower(location) DESC, posted_at DESC, id DESC) WHERE open AND location <> '';
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
