-- +goose Up

-- The row that a readiness check writes.
CREATE TABLE storage_probe (
    id        BIGINT      NOT NULL PRIMARY KEY,
    probed_at TIMESTAMPTZ NOT NULL
);
INSERT INTO storage_probe (id, probed_at) VALUES (1, '2026-11-22 00:00:00+00:00');

-- +goose Down
DROP TABLE storage_probe;
