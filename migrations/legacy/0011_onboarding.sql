-- +goose Up

-- How far visitors have come in getting to know the service. A guest is known by
-- the hash of a secret in their browser, as hex.
CREATE TABLE onboardings (
    visitor_kind TEXT        NOT NULL CHECK (visitor_kind IN ('user', 'guest')),
    visitor      TEXT        NOT NULL,
    email        TEXT        NOT NULL,
    source       TEXT        NOT NULL,
    preferences  TEXT        NOT NULL,
    steps        TEXT        NOT NULL,
    touched_at   TIMESTAMPTZ NOT NULL,
    version      BIGINT      NOT NULL,
    PRIMARY KEY (visitor_kind, visitor)
);

CREATE INDEX onboardings_touched ON onboardings (visitor_kind, touched_at);

-- +goose Down
DROP TABLE onboardings;
