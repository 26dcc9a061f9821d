-- +goose Up

-- The address that an account is to have as soon as mail to it was answered.
-- There is one at a time: who asks for another gives up the first.
CREATE TABLE email_changes (
    user_id      UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    email        TEXT        NOT NULL,
    requested_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX email_changes_requested ON email_changes (requested_at);

-- What a person on the employers' side says of themselves and wishes to be told
-- of. Who has no row has the defaults.
CREATE TABLE employer_settings (
    user_id       UUID        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    job_title     TEXT        NOT NULL,
    contact_name  TEXT        NOT NULL,
    contact_email TEXT        NOT NULL,
    contact_phone TEXT        NOT NULL,
    email_alerts  BOOLEAN     NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    version       BIGINT      NOT NULL
);

-- What is left of those who deleted their account is found by these: with
-- applications_applicant, all of a person's applications.
CREATE INDEX applications_withdrawn ON applications (applicant_id, id) WHERE withdrawn_at IS NOT NULL;
CREATE INDEX exports_organization ON exports (organization_id, id);

-- +goose Down
DROP INDEX exports_organization;
DROP INDEX applications_withdrawn;
DROP TABLE employer_settings;
DROP TABLE email_changes;
