-- +goose Up

-- What visitors and users report about listings.
CREATE TABLE listing_reports (
    id          UUID        NOT NULL PRIMARY KEY,
    listing_id  UUID        NOT NULL,
    reporter_id UUID,
    reason      TEXT        NOT NULL,
    text        TEXT        NOT NULL,
    email       TEXT        NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX listing_reports_created ON listing_reports (created_at);
CREATE INDEX listing_reports_listing ON listing_reports (listing_id, id);
CREATE INDEX listing_reports_reporter ON listing_reports (reporter_id);

-- The moderation of listings. The order of id is that of the queue.
CREATE TABLE listing_cases (
    listing_id      UUID        NOT NULL PRIMARY KEY,
    id              UUID        NOT NULL,
    organization_id UUID        NOT NULL,
    state           TEXT        NOT NULL CHECK (state IN ('open', 'kept', 'taken-down')),
    reports         BIGINT      NOT NULL,
    score           BIGINT      NOT NULL,
    held            BOOLEAN     NOT NULL,
    note            TEXT        NOT NULL,
    decided_by      UUID,
    decided_at      TIMESTAMPTZ,
    opened_at       TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX listing_cases_id ON listing_cases (id);
CREATE INDEX listing_cases_organization ON listing_cases (organization_id, id);
CREATE INDEX listing_cases_state ON listing_cases (state, id);

-- +goose Down
DROP TABLE listing_cases;
DROP TABLE listing_reports;
