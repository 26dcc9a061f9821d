-- +goose Up

-- Where an applicant says that their CV is.
ALTER TABLE applications ADD COLUMN resume_url TEXT NOT NULL DEFAULT '';

-- An organization's applications by who applied and by when.
CREATE INDEX applications_organization_applicant ON applications (organization_id, applicant_id);
CREATE INDEX applications_organization_applied ON applications (organization_id, applied_at);

-- +goose Down
DROP INDEX applications_organization_applied;
DROP INDEX applications_organization_applicant;
ALTER TABLE applications DROP COLUMN resume_url;
