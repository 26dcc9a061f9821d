-- +goose Up

-- Domain events (transactional outbox). A relay claims an event until claimed_until
-- and sets sent_at when it has added the tasks of the subscribers.
CREATE TABLE outbox (
    id            UUID        NOT NULL PRIMARY KEY,
    type          TEXT        NOT NULL,
    subject       TEXT        NOT NULL,
    payload       TEXT        NOT NULL,
    recorded_at   TIMESTAMPTZ NOT NULL,
    claimed_until TIMESTAMPTZ,
    attempts      BIGINT      NOT NULL DEFAULT 0,
    sent_at       TIMESTAMPTZ,
    trace         TEXT        NOT NULL DEFAULT ''
);
CREATE INDEX outbox_claimed ON outbox (claimed_until) WHERE sent_at IS NULL AND claimed_until IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_at IS NULL;

-- Background work. A task is due at due_at: to be enqueued while it waits, or because
-- its worker has stopped renewing the lease while it runs. It is not executed before
-- run_at. hand_outs counts how often it was enqueued. The key is unique.
CREATE TABLE tasks (
    id         UUID        NOT NULL PRIMARY KEY,
    key        TEXT        NOT NULL,
    kind       TEXT        NOT NULL,
    class      TEXT        NOT NULL,
    payload    TEXT        NOT NULL,
    trace      TEXT        NOT NULL,
    state      TEXT        NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'dead')),
    attempts   BIGINT      NOT NULL,
    hand_outs  BIGINT      NOT NULL,
    run_at     TIMESTAMPTZ NOT NULL,
    due_at     TIMESTAMPTZ NOT NULL,
    error      TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);
CREATE INDEX tasks_due ON tasks (due_at) WHERE ended_at IS NULL;
CREATE INDEX tasks_ended ON tasks (state, ended_at) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX tasks_key ON tasks (key);

-- One row, which readiness checks update.
CREATE TABLE storage_probe (
    id        BIGINT      NOT NULL PRIMARY KEY,
    probed_at TIMESTAMPTZ NOT NULL
);
INSERT INTO storage_probe (id, probed_at) VALUES (1, '2026-11-23 00:00:00+00:00');

-- +goose Down
DROP TABLE storage_probe;
DROP TABLE tasks;
DROP TABLE outbox;
