-- +goose Up

-- Background work is called tasks; jobs are what clinicians apply for.
ALTER TABLE jobs RENAME TO tasks;
DROP INDEX jobs_key;
DROP INDEX jobs_due;
DROP INDEX jobs_ended;
CREATE UNIQUE INDEX tasks_key ON tasks (key);
CREATE INDEX tasks_due ON tasks (due_at) WHERE ended_at IS NULL;
CREATE INDEX tasks_ended ON tasks (state, ended_at) WHERE ended_at IS NOT NULL;

-- Reactions that are part of another one, and a period that has another name, have
-- no handlers any more.
UPDATE tasks SET kind = 'jobseeker.account-deleted' WHERE kind IN ('jobseeker.forget-onboarding', 'jobseeker.forget-dismissals') AND ended_at IS NULL;
DELETE FROM tasks WHERE kind = 'listings.forget-visits' AND ended_at IS NULL;

-- +goose Down
DROP INDEX tasks_ended;
DROP INDEX tasks_due;
DROP INDEX tasks_key;
ALTER TABLE tasks RENAME TO jobs;
CREATE UNIQUE INDEX jobs_key ON jobs (key);
CREATE INDEX jobs_due ON jobs (due_at) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (state, ended_at) WHERE ended_at IS NOT NULL;
