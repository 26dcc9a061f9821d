-- +goose Up

-- Copies of applicants' documents. free_at is set for those that are not attached to their
-- application: it is the time after which the file is deleted.
CREATE TABLE IF NOT EXISTS application_documents (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL,
    organization_id UUID        NOT NULL,
    applicant_id    UUID        NOT NULL,
    type            TEXT        NOT NULL,
    title           TEXT        NOT NULL,
    file_name       TEXT        NOT NULL,
    media_type      TEXT        NOT NULL,
    extension       TEXT        NOT NULL,
    size            BIGINT      NOT NULL,
    attached_at     TIMESTAMPTZ NOT NULL,
    free_at         TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS application_documents_application ON application_documents (application_id, id);
CREATE INDEX IF NOT EXISTS application_documents_free ON application_documents (free_at, id);

-- +goose Down
DROP TABLE IF EXISTS application_documents;
