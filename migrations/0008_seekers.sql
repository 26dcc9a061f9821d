-- +goose Up

-- What a jobseeker is told. One cause makes one notification for one user:
-- usually an event's id, for a match of a saved search that search and the run
-- that found it. A deleted one stays as long as its cause may come again.
CREATE TABLE notifications (
    id         UUID        NOT NULL PRIMARY KEY,
    user_id    UUID        NOT NULL,
    cause      TEXT        NOT NULL,
    type       TEXT        NOT NULL CHECK (type IN ('application', 'interview', 'message', 'job-alert', 'deadline', 'billing')),
    message    TEXT        NOT NULL,
    read       BOOLEAN     NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ
);

CREATE UNIQUE INDEX notifications_cause ON notifications (cause, user_id);
CREATE INDEX notifications_user ON notifications (user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX notifications_created ON notifications (created_at);

-- What a jobseeker did, and what came of it. The ids of events rise with time,
-- so that they give the order.
CREATE TABLE activities (
    user_id     UUID        NOT NULL,
    event_id    UUID        NOT NULL,
    type        TEXT        NOT NULL,
    action      TEXT        NOT NULL,
    description TEXT        NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, event_id)
);

CREATE INDEX activities_at ON activities (at);

-- +goose Down
DROP TABLE activities;
DROP TABLE notifications;
