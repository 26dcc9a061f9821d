-- +goose Up

-- Concurrency groups: task_groups contains the groups in which a task runs.
ALTER TABLE tasks ADD COLUMN task_group TEXT NOT NULL DEFAULT '';
CREATE INDEX tasks_group ON tasks (task_group) WHERE ended_at IS NULL AND task_group <> '';
CREATE TABLE task_groups (
    name    TEXT NOT NULL PRIMARY KEY,
    task_id UUID NOT NULL
);
CREATE INDEX task_groups_task ON task_groups (task_id);
-- The payload of these tasks begins with {"endpoint":" and the id.
UPDATE tasks SET task_group = substr(payload, 14, 36) WHERE kind = 'integrations.deliver' AND ended_at IS NULL;
UPDATE tasks SET task_group = kind WHERE kind = 'jobseeker.match' AND ended_at IS NULL;

-- +goose Down
DROP TABLE task_groups;
DROP INDEX tasks_group;
ALTER TABLE tasks DROP COLUMN task_group;
