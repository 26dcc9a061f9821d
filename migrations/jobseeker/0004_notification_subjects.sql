-- +goose Up

-- The id of the application, listing or saved search that a notification is about, or empty.
ALTER TABLE notifications ADD COLUMN subject_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE notifications DROP COLUMN subject_id;
