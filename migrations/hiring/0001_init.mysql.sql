-- +goose Up

-- Applications to listings. Withdrawn ones stay without what the applicant wrote.
CREATE TABLE IF NOT EXISTS applications (
    id              UUID        NOT NULL PRIMARY KEY,
    listing_id      UUID        NOT NULL,
    organization_id UUID        NOT NULL,
    applicant_id    UUID        NOT NULL,
    status          VARCHAR(20) NOT NULL CHECK (status IN ('pending', 'review', 'interview', 'accepted', 'rejected', 'withdrawn')),
    tracker         TEXT        NOT NULL CHECK (tracker IN ('', 'pending', 'in-progress', 'completed', 'rejected')),
    tracker_color   TEXT        NOT NULL,
    cover_letter    TEXT        NOT NULL,
    answers         JSONB       NOT NULL,
    applied_at      TIMESTAMPTZ NOT NULL,
    changed_at      TIMESTAMPTZ NOT NULL,
    withdrawn_at    TIMESTAMPTZ,
    resume_url      TEXT        NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS applications_applicant ON applications (applicant_id, withdrawn_at, id);
CREATE UNIQUE INDEX IF NOT EXISTS applications_once ON applications (listing_id, applicant_id);
CREATE INDEX IF NOT EXISTS applications_organization ON applications (organization_id, id);
CREATE INDEX IF NOT EXISTS applications_organization_applicant ON applications (organization_id, applicant_id);
CREATE INDEX IF NOT EXISTS applications_organization_applied ON applications (organization_id, applied_at);
CREATE INDEX IF NOT EXISTS applications_organization_status ON applications (organization_id, status, applied_at);
CREATE INDEX IF NOT EXISTS applications_withdrawn ON applications (applicant_id, id);

-- The timeline of each application.
CREATE TABLE IF NOT EXISTS application_changes (
    id             UUID        NOT NULL PRIMARY KEY,
    application_id UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    actor          TEXT        NOT NULL CHECK (actor IN ('jobseeker', 'employer')),
    actor_id       UUID        NOT NULL,
    from_status    TEXT        NOT NULL,
    to_status      TEXT        NOT NULL,
    at             TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS application_changes_timeline ON application_changes (application_id, id);

-- Messages from employers to applicants.
CREATE TABLE IF NOT EXISTS application_letters (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    sender_id       UUID        NOT NULL,
    subject         TEXT        NOT NULL,
    text            TEXT        NOT NULL,
    sent_at         TIMESTAMPTZ NOT NULL
);
CREATE INDEX IF NOT EXISTS application_letters_application ON application_letters (application_id);

-- Interviews, at most one for each application.
CREATE TABLE IF NOT EXISTS interviews (
    id              UUID        NOT NULL PRIMARY KEY,
    application_id  UUID        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    organization_id UUID        NOT NULL,
    scheduled_at    TIMESTAMPTZ NOT NULL,
    location        TEXT        NOT NULL,
    interviewer     TEXT        NOT NULL,
    notes           TEXT        NOT NULL,
    status          VARCHAR(20) NOT NULL CHECK (status IN ('scheduled', 'completed', 'cancelled')),
    outcome         TEXT        NOT NULL CHECK (outcome IN ('pass', 'fail', 'pending')),
    sequence        BIGINT      NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    changed_at      TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS interviews_application ON interviews (application_id);
CREATE INDEX IF NOT EXISTS interviews_organization ON interviews (organization_id, id);
CREATE INDEX IF NOT EXISTS interviews_status ON interviews (organization_id, status, id);

-- Exports of an organization's data.
CREATE TABLE IF NOT EXISTS exports (
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
CREATE INDEX IF NOT EXISTS exports_created ON exports (created_at);
CREATE INDEX IF NOT EXISTS exports_organization ON exports (organization_id, id);
CREATE INDEX IF NOT EXISTS exports_unfinished ON exports (organization_id, finished_at);

-- +goose Down
DROP TABLE IF EXISTS exports;
DROP TABLE IF EXISTS interviews;
DROP TABLE IF EXISTS application_letters;
DROP TABLE IF EXISTS application_changes;
DROP TABLE IF EXISTS applications;
