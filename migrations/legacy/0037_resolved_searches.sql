-- +goose Up

-- The query as alerts evaluate it, with misspelt words replaced; empty for the
-- searches from before, whose query is evaluated.
ALTER TABLE saved_searches ADD COLUMN resolved_query TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE saved_searches DROP COLUMN resolved_query;
