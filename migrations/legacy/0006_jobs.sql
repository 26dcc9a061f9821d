-- +goose Up

-- Background work, one row for each piece. run_at is the moment before which
-- nobody may start it; due_at when somebody looks at it next: to hand it to the
-- queue while it waits, or because its worker gave no sign of life while it
-- runs. hand_outs counts the tickets given to queues.
CREATE TABLE jobs (
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

-- The same piece of work is one row, however often it is asked for.
CREATE UNIQUE INDEX jobs_key ON jobs (key);
CREATE INDEX jobs_due ON jobs (due_at) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (state, ended_at) WHERE ended_at IS NOT NULL;

ALTER TABLE outbox ADD COLUMN trace TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_claimed ON outbox (claimed_until) WHERE sent_at IS NULL AND claimed_until IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

-- +goose Down
DROP INDEX outbox_sent;
DROP INDEX outbox_claimed;
ALTER TABLE outbox DROP COLUMN trace;
DROP TABLE jobs;
