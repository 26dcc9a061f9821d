-- +goose Up

-- What a jobseeker says of themselves and prefers. salary_min and salary_max
-- are a year's pay as it was written, location_radius is miles and 0 if nothing
-- was said. number is what the settings show for an id, given out when somebody
-- first looks.
ALTER TABLE seekers ADD COLUMN first_name TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN last_name TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN bio TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN phone TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN location TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN specialty TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN job_role TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN experience TEXT NOT NULL DEFAULT '';
ALTER TABLE seekers ADD COLUMN location_radius INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seekers ADD COLUMN salary_min DOUBLE PRECISION;
ALTER TABLE seekers ADD COLUMN salary_max DOUBLE PRECISION;
ALTER TABLE seekers ADD COLUMN job_alerts BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE seekers ADD COLUMN email_notifications BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE seekers ADD COLUMN show_profile BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE seekers ADD COLUMN number BIGINT;

CREATE UNIQUE INDEX seekers_number ON seekers (number) WHERE number IS NOT NULL;

-- The last number that was given out, by what it counts.
CREATE TABLE numbers (
    name TEXT   NOT NULL PRIMARY KEY,
    last BIGINT NOT NULL
);

INSERT INTO numbers (name, last) VALUES ('seekers', 0);

-- A listing that somebody keeps, whatever becomes of it. deadline_told says
-- that they were told of its end.
CREATE TABLE bookmarks (
    id            UUID        NOT NULL PRIMARY KEY,
    user_id       UUID        NOT NULL,
    listing_id    UUID        NOT NULL,
    notes         TEXT        NOT NULL,
    saved_at      TIMESTAMPTZ NOT NULL,
    deadline_told BOOLEAN     NOT NULL
);

CREATE UNIQUE INDEX bookmarks_listing ON bookmarks (user_id, listing_id);
CREATE INDEX bookmarks_user ON bookmarks (user_id, id);
CREATE INDEX bookmarks_untold ON bookmarks (listing_id, id) WHERE NOT deadline_told;

-- What closes soon is read in the order of deadlines, a page at a time.
DROP INDEX listings_open_deadline;
CREATE INDEX listings_open_deadline ON listings (application_deadline, id) WHERE open AND application_deadline IS NOT NULL;

-- What is known of a document; its content is the file of file_id, size bytes
-- as they were sent. form says how to read them: as text, as base64 or as a
-- data URI; media_type is what is in them.
CREATE TABLE documents (
    id          UUID        NOT NULL PRIMARY KEY,
    user_id     UUID        NOT NULL,
    type        TEXT        NOT NULL CHECK (type IN ('cv', 'cover-letter', 'certification', 'other')),
    title       TEXT        NOT NULL,
    file_name   TEXT        NOT NULL,
    is_default  BOOLEAN     NOT NULL,
    file_id     UUID        NOT NULL,
    size        BIGINT      NOT NULL,
    form        TEXT        NOT NULL CHECK (form IN ('text', 'base64', 'data')),
    media_type  TEXT        NOT NULL,
    uploaded_at TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL
);

CREATE INDEX documents_user ON documents (user_id, id);
CREATE UNIQUE INDEX documents_default ON documents (user_id, type) WHERE is_default;

-- Every file that documents have or had, from before it is written until after
-- it is removed. free_at is null while a document has it: from that moment on
-- it belongs to nobody and goes.
CREATE TABLE document_files (
    id      UUID NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL,
    free_at TIMESTAMPTZ
);

CREATE INDEX document_files_free ON document_files (free_at, id) WHERE free_at IS NOT NULL;
CREATE INDEX document_files_user ON document_files (user_id);

-- +goose Down
DROP TABLE document_files;
DROP TABLE documents;
DROP INDEX listings_open_deadline;
CREATE INDEX listings_open_deadline ON listings (application_deadline) WHERE open AND application_deadline IS NOT NULL;
DROP TABLE bookmarks;
DROP TABLE numbers;
DROP INDEX seekers_number;
ALTER TABLE seekers DROP COLUMN number;
ALTER TABLE seekers DROP COLUMN show_profile;
ALTER TABLE seekers DROP COLUMN email_notifications;
ALTER TABLE seekers DROP COLUMN job_alerts;
ALTER TABLE seekers DROP COLUMN salary_max;
ALTER TABLE seekers DROP COLUMN salary_min;
ALTER TABLE seekers DROP COLUMN location_radius;
ALTER TABLE seekers DROP COLUMN experience;
ALTER TABLE seekers DROP COLUMN job_role;
ALTER TABLE seekers DROP COLUMN specialty;
ALTER TABLE seekers DROP COLUMN location;
ALTER TABLE seekers DROP COLUMN phone;
ALTER TABLE seekers DROP COLUMN bio;
ALTER TABLE seekers DROP COLUMN last_name;
ALTER TABLE seekers DROP COLUMN first_name;
