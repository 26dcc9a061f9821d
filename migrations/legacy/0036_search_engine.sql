-- +goose Up

-- Search has an index of its own. VACUUM FULL listings returns the space of the
-- columns to the system.
DROP INDEX listings_open_by_location;
DROP INDEX listings_open_by_title;
DROP INDEX listings_open_title;
DROP INDEX listings_open_text;
DROP INDEX listings_open_place;
DROP INDEX listings_open_remote;
DROP INDEX listings_open_salary;
DROP INDEX listings_open_specialty;
DROP INDEX listings_open_country;
DROP INDEX listings_open_region;
ALTER TABLE listings
    DROP COLUMN search_title,
    DROP COLUMN search_body,
    DROP COLUMN specialty_key,
    DROP COLUMN posted_week,
    DROP COLUMN salary_year_min,
    DROP COLUMN salary_year_max;
DROP TABLE search_words;

-- +goose Down
CREATE TABLE search_words (
    word     TEXT NOT NULL PRIMARY KEY,
    added_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX search_words_added ON search_words (added_at);
-- Earlier versions find a listing again once it is saved.
ALTER TABLE listings
    ADD COLUMN salary_year_min BIGINT,
    ADD COLUMN salary_year_max BIGINT,
    ADD COLUMN posted_week     BIGINT,
    ADD COLUMN specialty_key   TEXT NOT NULL DEFAULT '',
    ADD COLUMN search_title    TSVECTOR NOT NULL DEFAULT '',
    ADD COLUMN search_body     TSVECTOR NOT NULL DEFAULT '';
CREATE INDEX listings_open_region ON listings (country, region, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_country ON listings (country, nation, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_specialty ON listings (specialty_key, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_salary ON listings (salary_year_max DESC, posted_at DESC, id DESC) WHERE open AND salary_year_max IS NOT NULL;
CREATE INDEX listings_open_remote ON listings (posted_at DESC, id DESC) WHERE open AND remote;
CREATE INDEX listings_open_place ON listings (lat, lon) WHERE open;
CREATE INDEX listings_open_text ON listings USING gin (posted_week, search_body) WHERE open;
CREATE INDEX listings_open_title ON listings USING gin (search_title) WHERE open;
CREATE INDEX listings_open_by_title ON listings (lower(title COLLATE "C") DESC, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_by_location ON listings (lower(location COLLATE "C") DESC, posted_at DESC, id DESC) WHERE open AND location <> '';
