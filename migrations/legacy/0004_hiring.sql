-- +goose Up

-- status is what both sides know, tracker the applicant's own note (empty when
-- they made none since status last changed), withdrawn_at when the applicant
-- withdrew. The submission is not in application_changes: this row tells it.
CREATE TABLE applications (
    id              UUID NOT NULL PRIMARY KEY,
    listing_id      UUID NOT NULL,
    organization_id UUID NOT NULL,
    applicant_id    UUID NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'review', 'interview', 'accepted', 'rejected', 'withdrawn')),
    tracker         TEXT NOT NULL CHECK (tracker IN ('', 'pending', 'in-progress', 'completed', 'rejected')),
    tracker_color   TEXT NOT NULL,
    cover_letter    TEXT NOT NULL,
    answers         JSONB NOT NULL,
    applied_at      TIMESTAMPTZ NOT NULL,
    changed_at      TIMESTAMPTZ NOT NULL,
    withdrawn_at    TIMESTAMPTZ
);
-- A person applies to a listing once, whatever became of it.
CREATE UNIQUE INDEX applications_once ON applications (listing_id, applicant_id);
-- Ids sort by creation, so these are the lists of either side in their order.
CREATE INDEX applications_organization ON applications (organization_id, id);
CREATE INDEX applications_applicant ON applications (applicant_id, id) WHERE withdrawn_at IS NULL;

CREATE TABLE application_changes (
    id             UUID NOT NULL PRIMARY KEY,
    application_id UUID NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    actor          TEXT NOT NULL CHECK (actor IN ('jobseeker', 'employer')),
    actor_id       UUID NOT NULL,
    from_status    TEXT NOT NULL,
    to_status      TEXT NOT NULL,
    at             TIMESTAMPTZ NOT NULL
);
CREATE INDEX application_changes_timeline ON application_changes (application_id, id);

-- +goose Down
DROP TABLE application_changes;
DROP TABLE applications;
