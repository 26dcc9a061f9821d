-- +goose Up

-- Applications to listings. Withdrawn ones stay without what the applicant wrote.
CREATE TABLE applications (
    id              UUID        NOT NULL PRIMARY KEY,
    listing_id      UUID        NOT NULL,
    organization_id UUID        NOT NULL,
    applicant_id    UUID        NOT NULL,
    status          TEXT        NOT NULL CHECK (status IN ('pending', 'review', 'interview', 'accepted', 'rejected', 'withdrawn')),
    tracker         TEXT        NOT NULL CHECK (tracker IN ('', 'pending', 'in-progress', 'completed', 'rejected')),
    tracker_color   TEXT        NOT NULL,
    cover_letter    TEXT        NOT NULL,
    answers         JSONB       NOT NULL,
    applied_at      TIMESTAMPTZ NOT NULL,
    changed_at      TIMESTAMPTZ NOT NULL,
    withdrawn_at    TIMESTAMPTZ,
    resume_url      TEXT        NOT NULL DEFAULT ''
);
CREATE INDEX applications_applicant ON applications (applicant_id, id) WHERE withdrawn_at IS NULL;
CREATE UNIQUE INDEX applications_once ON applications (listing_id, applicant_id);
CREATE INDEX applications_organization ON applications (organization_id, id);
CREATE INDEX applications_organization_applicant ON applications (organization_id, applicant_id);
CREATE INDEX applications_organization_applied ON applications (organization_id, applied_at);
CREATE INDEX applications_organization_status ON applications (organization_id, status, applied_at);
CREATE INDEX applications_withdrawn ON applications (applicant_id, id) WHERE withdrawn_at IS NOT NULL;

-- The timeline of each application.
CREATE TABLE application_changes (
    id             UUID        NOT NULL PRIMARY KEY,
    application_id UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    actor          TEXT        NOT NULL CHECK (actor IN ('jobseeker', 'employer')),
    actor_id       UUID        NOT NULL,
    from_status    TEXT        NOT NULL,
    to_status      TEXT        NOT NULL,
    at             TIMESTAMPTZ NOT NULL
);
CREATE INDEX application_changes_timeline ON application_changes (application_id, id);

-- Messages from employers to applicants.
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

-- Interviews, at most one for each application.
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

-- Exports of an organization's data.
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
CREATE INDEX exports_created ON exports (created_at);
CREATE INDEX exports_organization ON exports (organization_id, id);
CREATE INDEX exports_unfinished ON exports (organization_id) WHERE finished_at IS NULL;

-- +goose Down
DROP TABLE exports;
DROP TABLE interviews;
DROP TABLE application_letters;
DROP TABLE application_changes;
DROP TABLE applications;
