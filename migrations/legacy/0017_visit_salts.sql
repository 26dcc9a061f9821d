-- +goose Up

-- Visitors are told apart by a hash with a secret of the day in it. Once that is
-- gone, nobody can find out who they were by trying.
CREATE TABLE listing_visit_salts (
    day  TEXT NOT NULL PRIMARY KEY,
    salt TEXT NOT NULL
);

-- +goose Down
DROP TABLE listing_visit_salts;
