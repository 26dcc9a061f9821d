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

CREATE TABLE exports (
    id              UUID        NOT NULL PRIMARY KEY,
    organization_id UUID        NOT NULL,
    user_id         UUID        NOT NULL,
    kind            TEXT        NOT NULL,
    filters         TEXT        NOT NULL,
    state           TEXT        NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed')),
    rows_done       BIGINT      NOT NULL,
    rows_total      BIGINT      NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    finished_at     TIMESTAMPTZ
);
CREATE INDEX exports_unfinished ON exports (organization_id) WHERE finished_at IS NULL;
CREATE INDEX exports_created ON exports (created_at);

-- +goose Down
DROP TABLE exports;
DROP TABLE application_letters;
DROP TABLE interviews;
