-- +goose Up

-- Notes of members about applications.
CREATE TABLE IF NOT EXISTS application_notes (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    author_id       UUID        NOT NULL,
    text            TEXT        NOT NULL,
    written_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS application_notes_application ON application_notes (application_id, organization_id, id);

-- Ratings of applications, at most one of each member for an application.
CREATE TABLE IF NOT EXISTS application_ratings (
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    author_id       UUID        NOT NULL,
    stars           BIGINT      NOT NULL CHECK (stars BETWEEN 1 AND 5),
    rated_at        TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (application_id, author_id)
);

-- +goose Down
DROP TABLE IF EXISTS application_ratings;
DROP TABLE IF EXISTS application_notes;
