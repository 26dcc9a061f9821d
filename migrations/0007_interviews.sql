-- +goose Up

-- sequence counts what the applicant was told, as calendars count it.
CREATE TABLE interviews (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    scheduled_at    TIMESTAMPTZ NOT NULL,
    location        TEXT        NOT NULL,
    interviewer     TEXT        NOT NULL,
    notes           TEXT        NOT NULL,
    status          TEXT        NOT NULL CHECK (status IN ('scheduled', 'completed', 'cancelled')),
    outcome         TEXT        NOT NULL CHECK (outcome IN ('pass', 'fail', 'pending')),
    sequence        BIGINT      NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    changed_at      TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX interviews_application ON interviews (application_id);
CREATE INDEX interviews_organization ON interviews (organization_id, id);
CREATE INDEX interviews_status ON interviews (organization_id, status, id);

-- What employers wrote to applicants.
CREATE TABLE application_letters (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    sender_id       UUID        NOT NULL,
    subject         TEXT        NOT NULL,
    text            TEXT        NOT NULL,
    sent_at         TIMESTAMPTZ NOT NULL
);
CREATE INDEX application_letters_application ON application_letters (application_id);

-- +goose Down
DROP TABLE application_letters;
DROP TABLE interviews;
