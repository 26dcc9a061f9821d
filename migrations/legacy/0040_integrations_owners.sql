-- +goose Up

-- The module integrations does not read or reference the tables of identity, which
-- may be stored in another database. The events of deleted accounts delete their
-- applications, consents and authorizations.
ALTER TABLE apps DROP CONSTRAINT apps_owner_id_fkey;
ALTER TABLE oauth_consents DROP CONSTRAINT oauth_consents_user_id_fkey;
ALTER TABLE oauth_grants DROP CONSTRAINT oauth_grants_user_id_fkey;

-- +goose Down
DELETE FROM apps WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = apps.owner_id);
DELETE FROM oauth_consents WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = oauth_consents.user_id);
DELETE FROM oauth_grants WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = oauth_grants.user_id);
ALTER TABLE apps ADD CONSTRAINT apps_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE oauth_consents ADD CONSTRAINT oauth_consents_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE oauth_grants ADD CONSTRAINT oauth_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
