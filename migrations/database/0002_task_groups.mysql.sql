-- +goose Up

-- Concurrency groups: task_groups contains the groups in which a task runs.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS task_group VARCHAR(255) NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS tasks_group ON tasks (task_group, ended_at);
CREATE TABLE IF NOT EXISTS task_groups (
    name    VARCHAR(255) NOT NULL PRIMARY KEY,
    task_id UUID         NOT NULL
);
CREATE INDEX IF NOT EXISTS task_groups_task ON task_groups (task_id);
-- The payload of these tasks begins with {"endpoint":" and the id.
UPDATE tasks SET task_group = substr(payload, 14, 36) WHERE kind = 'integrations.deliver' AND ended_at IS NULL;
UPDATE tasks SET task_group = kind WHERE kind = 'jobseeker.match' AND ended_at IS NULL;

-- +goose Down
DROP TABLE IF EXISTS task_groups;
ALTER TABLE tasks DROP COLUMN IF EXISTS task_group;
