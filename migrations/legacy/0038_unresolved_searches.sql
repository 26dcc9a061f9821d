-- +goose Up

-- Searches that were saved while no search index could correct their query.
CREATE INDEX saved_searches_unresolved ON saved_searches (id) WHERE resolved_query = '' AND query <> '';

-- +goose Down
DROP INDEX saved_searches_unresolved;
