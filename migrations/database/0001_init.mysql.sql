-- +goose Up

-- Domain events (transactional outbox). A relay claims an event until claimed_until
-- and sets sent_at when it has added the tasks of the subscribers.
CREATE TABLE IF NOT EXISTS outbox (
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
CREATE INDEX IF NOT EXISTS outbox_claimed ON outbox (sent_at, claimed_until);
CREATE INDEX IF NOT EXISTS outbox_sent ON outbox (sent_at);
CREATE INDEX IF NOT EXISTS outbox_unsent ON outbox (sent_at, id);

-- Background work. A task is due at due_at: to be enqueued while it waits, or because
-- its worker has stopped renewing the lease while it runs. It is not executed before
-- run_at. hand_outs counts how often it was enqueued. The key is unique.
CREATE TABLE IF NOT EXISTS tasks (
    id         UUID        NOT NULL PRIMARY KEY,
    `key`        VARCHAR(512) NOT NULL,
    kind       TEXT        NOT NULL,
    class      TEXT        NOT NULL,
    payload    TEXT        NOT NULL,
    trace      TEXT        NOT NULL,
    state      VARCHAR(20) NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'dead')),
    attempts   BIGINT      NOT NULL,
    hand_outs  BIGINT      NOT NULL,
    run_at     TIMESTAMPTZ NOT NULL,
    due_at     TIMESTAMPTZ NOT NULL,
    error      TEXT        NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS tasks_due ON tasks (ended_at, due_at);
CREATE INDEX IF NOT EXISTS tasks_ended ON tasks (state, ended_at);
CREATE UNIQUE INDEX IF NOT EXISTS tasks_key ON tasks (`key`);

-- One row, which readiness checks update.
CREATE TABLE IF NOT EXISTS storage_probe (
    id        BIGINT      NOT NULL PRIMARY KEY,
    probed_at TIMESTAMPTZ NOT NULL
);
INSERT IGNORE INTO storage_probe (id, probed_at) VALUES (1, '2026-11-23 00:00:00');

-- Transactions that take turns lock a row of their own until their end.
CREATE TABLE IF NOT EXISTS advisory_locks (
    id BIGINT NOT NULL PRIMARY KEY
);
-- +goose Down
DROP TABLE IF EXISTS advisory_locks;
DROP TABLE IF EXISTS storage_probe;
DROP TABLE IF EXISTS tasks;
DROP TABLE IF EXISTS outbox;
