-- +goose Up

-- What users do not want to be recommended.
CREATE TABLE dismissals (
    user_id      UUID        NOT NULL,
    listing_id   UUID        NOT NULL,
    dismissed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, listing_id)
);

CREATE INDEX dismissals_latest ON dismissals (user_id, dismissed_at, listing_id);

-- +goose Down
DROP TABLE dismissals;
