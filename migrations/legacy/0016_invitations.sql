-- +goose Up

-- Invitations that nobody accepted are found by when they ran out.
CREATE INDEX memberships_ran_out ON memberships (invited_until) WHERE status = 'invited';

-- +goose Down
DROP INDEX memberships_ran_out;
