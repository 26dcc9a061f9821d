-- +goose Up

-- What the name of a stored file ends in: the extension of its type with the dot,
-- or nothing for the files from before.
ALTER TABLE document_files ADD COLUMN extension TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN file_extension TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE documents DROP COLUMN file_extension;
ALTER TABLE document_files DROP COLUMN extension;
