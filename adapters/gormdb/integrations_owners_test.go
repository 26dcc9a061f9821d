package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// integrationTables are the tables of modules/integrations, parents first.
var integrationTables = []string{"apps", "api_keys", "app_usage", "oauth_consents", "oauth_grants", "oauth_tokens",
	"webhook_endpoints", "webhook_subscriptions", "webhook_messages", "webhook_deliveries"}

// TestMigrationOfOwners_UpAndDown_KeepsRows checks the legacy migration 40, which removed the
// foreign keys from tables of integrations to users, because the modules may be in different
// databases. SQLite has to copy the tables for it. All rows and all other foreign keys must be
// kept, and the way down must restore the old ones.
func TestMigrationOfOwners_UpAndDown_KeepsRows(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return "sqlite:" + t.TempDir() + "/test.db" },
		"postgres": func(t *testing.T) string { t.Helper(); return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := legacy(t, open(t))
			migrate := func(to func(p *goose.Provider) error) {
				require.NoError(t, schemas{db}.withMigrator(func(m migrator) error {
					p, err := m.provider(legacyFolder)
					require.NoError(t, err)
					return to(p)
				}))
			}
			// 39 is the last version with the foreign keys to users.
			down := func() {
				migrate(func(p *goose.Provider) error { _, err := p.DownTo(t.Context(), 39); return err })
			}
			down()
			user := fillIntegrations(t, db)
			before := dumpIntegrations(t, db)
			require.Error(t, insertApp(db, uuid.NewString()), "the owner is not a user")

			migrate(func(p *goose.Provider) error { _, err := p.Up(t.Context()); return err })
			require.Equal(t, before, dumpIntegrations(t, db))
			require.NoError(t, insertApp(db, uuid.NewString()))
			require.NoError(t, db.writer.Exec("DELETE FROM oauth_tokens WHERE 1 = 1").Error)
			require.Error(
				t,
				db.writer.Exec(
					"INSERT INTO oauth_tokens (hash, grant_id, kind, scopes, redirect_uri, challenge, issued_at, expires_at) VALUES ('x', ?, 'code', '', '', '', ?, ?)",
					uuid.NewString(),
					time.Now(),
					time.Now(),
				).Error,
				"other foreign keys remain",
			)

			down()
			var owners []string
			require.NoError(t, db.reader.Raw("SELECT owner_id FROM apps").Scan(&owners).Error)
			require.Equal(t, []string{user}, owners, "owners without a row in users are deleted")
			require.NoError(t, db.writer.Exec("DELETE FROM users WHERE id = ?", user).Error)
			for _, table := range []string{
				"apps", "api_keys", "oauth_consents", "oauth_grants", "webhook_endpoints",
				"webhook_deliveries",
			} {
				var n int
				require.NoError(t, db.reader.Raw("SELECT COUNT(*) FROM "+table).Scan(&n).Error)
				require.Zero(t, n, table)
			}
		})
	}
}

// insertApp inserts an application of a user that need not exist.
func insertApp(db *DB, ownerID string) error {
	r := appRow{
		ID:           uuid.NewString(),
		OwnerID:      ownerID,
		Name:         "Ward Finder",
		Plan:         "free",
		RedirectURIs: []string{},
		CreatedAt:    time.Now().UTC(),
		UpdatedAt:    time.Now().UTC(),
		Version:      1,
	}
	return db.writer.Create(&r).Error
}

// fillIntegrations stores a row in each table, of an application of a user, and
// returns the id of the user.
func fillIntegrations(t *testing.T, db *DB) string {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	user := uuid.NewString()
	app := uuid.NewString()
	grant := uuid.NewString()
	endpoint := uuid.NewString()
	event := uuid.NewString()
	require.NoError(
		t,
		db.writer.Exec(
			`INSERT INTO users (id, email, email_key, name, kind, status, registered, password_hash, created_at, updated_at, version)
		VALUES (?, 'a@example.org', 'a@example.org', 'A', 'jobseeker', 'active', true, 'h', ?, ?, 1)`,
			user,
			now,
			now,
		).Error,
	)
	for _, row := range []any{
		// Characters that a copy of the table could damage.
		&appRow{ID: app, OwnerID: user, Name: "Zoë's", Plan: "free", RedirectURIs: []string{}, CreatedAt: now, UpdatedAt: now, Version: 1},
		&apiKeyRow{ID: uuid.NewString(), AppID: app, Name: "k", Prefix: "p", Hash: "h", CreatedAt: now},
		&usageRow{AppID: app, Day: "2026-11-20", Requests: 3, Errors: 1},
		&oauthConsentRow{UserID: user, AppID: app, Scopes: []integrations.Scope{integrations.JobsRead}, GivenAt: now},
		&oauthGrantRow{
			ID:        grant,
			AppID:     app,
			UserID:    user,
			Scopes:    []integrations.Scope{integrations.JobsRead},
			CreatedAt: now,
			ExpiresAt: now,
		},
		&oauthTokenRow{Hash: "t", GrantID: grant, Kind: "code", IssuedAt: now, ExpiresAt: now},
		&webhookEndpointRow{
			ID:        endpoint,
			AppID:     app,
			OwnerID:   user,
			URL:       "https://x.example/",
			Status:    "active",
			CreatedAt: now,
			UpdatedAt: now,
			Version:   1,
		},
		&webhookSubscriptionRow{Type: "job.created", EndpointID: endpoint},
		&webhookMessageRow{EventID: event, Type: "job.created", Body: "{}", CreatedAt: now},
		&webhookDeliveryRow{
			ID:         uuid.NewString(),
			EndpointID: endpoint,
			OwnerID:    user,
			EventID:    event,
			Type:       "job.created",
			Status:     "pending",
			NextAt:     &now,
			CreatedAt:  now,
		},
	} {
		require.NoError(t, db.writer.Create(row).Error)
	}
	return user
}

// dumpIntegrations returns the row of each table.
func dumpIntegrations(t *testing.T, db *DB) map[string][]map[string]any {
	t.Helper()
	out := map[string][]map[string]any{}
	for _, table := range integrationTables {
		var rows []map[string]any
		require.NoError(t, db.reader.Table(table).Find(&rows).Error)
		require.Len(t, rows, 1, table)
		out[table] = rows
	}
	return out
}
