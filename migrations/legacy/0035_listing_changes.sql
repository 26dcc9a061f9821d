-- +goose Up

-- Which listings each transaction has changed, for search indexes to follow.
-- Transactions commit in another order than they begin: a reader also reads those
-- that were still running when it read last (see gormdb.Feed).
CREATE TABLE listing_changes (
    xid        BIGINT      NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    listing_id UUID        NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (xid, listing_id)
);

-- One row. The epoch changes when listings are written without listing_changes;
-- changes up to and including purged_xid have been deleted.
CREATE TABLE listing_feed (
    epoch      UUID   NOT NULL PRIMARY KEY,
    purged_xid BIGINT NOT NULL
);
INSERT INTO listing_feed (epoch, purged_xid) VALUES (gen_random_uuid(), 0);

-- +goose Down
DROP TABLE listing_feed;
DROP TABLE listing_changes;
