-- +goose Up

-- Who did what, for a year. Rows are only added. There are no foreign keys: an
-- entry outlives the account and the organization that it names.
CREATE TABLE audit_entries (
    id              UUID        NOT NULL PRIMARY KEY,
    at              TIMESTAMPTZ NOT NULL,
    action          TEXT        NOT NULL,
    actor           TEXT        NOT NULL,
    organization_id UUID,
    network         TEXT        NOT NULL,
    object          TEXT        NOT NULL,
    detail          TEXT        NOT NULL
);

CREATE INDEX audit_entries_organization ON audit_entries (organization_id, id);
CREATE INDEX audit_entries_actor ON audit_entries (actor, id);
CREATE INDEX audit_entries_object ON audit_entries (object, id);
CREATE INDEX audit_entries_at ON audit_entries (at);

-- +goose Down
DROP TABLE audit_entries;
