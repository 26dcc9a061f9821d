-- +goose Up

-- Which listings have changed, for search indexes to follow. SQLite has one writer
-- at a time, so that rows are committed in the order of xid.
CREATE TABLE listing_changes (
    xid        INTEGER     NOT NULL PRIMARY KEY AUTOINCREMENT,
    listing_id TEXT        NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL
);

-- One row. The epoch changes when listings are written without listing_changes;
-- changes up to and including purged_xid have been deleted.
CREATE TABLE listing_feed (
    epoch      TEXT    NOT NULL PRIMARY KEY,
    purged_xid INTEGER NOT NULL
);
INSERT INTO listing_feed (epoch, purged_xid) VALUES (lower(hex(randomblob(16))), 0);

-- +goose Down
DROP TABLE listing_feed;
DROP TABLE listing_changes;
