-- +goose Up

-- The id of the application, listing or saved search that a notification is about, or empty.
ALTER TABLE notifications ADD COLUMN IF NOT EXISTS subject_id VARCHAR(64) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE notifications DROP COLUMN IF EXISTS subject_id;
