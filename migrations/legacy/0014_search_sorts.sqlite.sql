-- +goose Up

-- Searches sorted by title and by location: by bytes, so that every database
-- has the same order, and without the case of ASCII letters.
CREATE INDEX listings_open_by_title ON listings (lower(title) DESC, posted_at DESC, id DESC) WHERE open;
CREATE INDEX listings_open_by_location ON listings (lower(location) DESC, posted_at DESC, id DESC) WHERE open AND location <> '';

-- +goose Down
DROP INDEX listings_open_by_location;
DROP INDEX listings_open_by_title;
