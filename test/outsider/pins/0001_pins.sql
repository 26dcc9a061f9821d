-- +goose Up
CREATE TABLE pins (
    user_id    UUID        NOT NULL,
    listing_id UUID        NOT NULL,
    title      TEXT        NOT NULL,
    note       TEXT        NOT NULL,
    pinned_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, listing_id)
);
CREATE INDEX pins_listing ON pins (listing_id);
CREATE INDEX pins_pinned_at ON pins (pinned_at);

-- +goose Down
DROP TABLE pins;
