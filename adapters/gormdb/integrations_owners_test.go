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

	for name, newURL := range map[string]func(t *testing.T) string{
		"sqlite":   sqliteURL,
		"postgres": func(t *testing.T) string { t.Helper(); return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := openLegacy(t, newURL(t))
			migrateLegacy := func(migrate func(p *goose.Provider) error) {
				t.Helper()
				require.NoError(t, schemas{db}.withMigrator(func(m migrator) error {
					provider, err := m.provider(legacyFolder)
					require.NoError(t, err)
					return migrate(provider)
				}))
			}

			up := func(p *goose.Provider) error {
				_, err := p.Up(t.Context())
				return err
			}

			down := func(p *goose.Provider) error {
				const lastVersionWithForeignKeys = 39
				_, err := p.DownTo(t.Context(), lastVersionWithForeignKeys)
				return err
			}

			migrateLegacy(down)

			user := fillIntegrations(t, db)
			before := dumpIntegrations(t, db)
			notAUser := uuid.NewString()
			require.Error(t, insertApp(db, notAUser))

			migrateLegacy(up)
			require.Equal(t, before, dumpIntegrations(t, db))
			require.NoError(t, insertApp(db, notAUser))
			require.NoError(t, db.writer.Exec("DELETE FROM oauth_tokens WHERE 1 = 1").Error)

			tokenOfUnknownGrant := oauthTokenRow{
				Hash:      "x",
				GrantID:   uuid.NewString(),
				Kind:      "code",
				IssuedAt:  time.Now(),
				ExpiresAt: time.Now(),
			}
			require.Error(t, db.writer.Create(&tokenOfUnknownGrant).Error, "other foreign keys remain")

			migrateLegacy(down)
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

// fillIntegrations stores an application of a user, with a row in each of integrationTables, and
// returns the id of the user.
func fillIntegrations(t *testing.T, db *DB) string {
	t.Helper()

	now := time.Now().UTC().Truncate(time.Microsecond)
	user := uuid.NewString()
	app := uuid.NewString()
	grant := uuid.NewString()
	endpoint := uuid.NewString()
	event := uuid.NewString()

	require.NoError(t, db.writer.Exec(`
		INSERT INTO users (id, email, email_key, name, kind, status, registered, password_hash, created_at, updated_at, version)
		VALUES (?, 'a@example.org', 'a@example.org', 'A', 'jobseeker', 'active', true, 'h', ?, ?, 1)`,
		user, now, now).Error)

	for _, row := range []any{
		&appRow{
			ID:           app,
			OwnerID:      user,
			Name:         "Zoë's", // characters that a copy of the table could damage
			Plan:         "free",
			RedirectURIs: []string{},
			CreatedAt:    now,
			UpdatedAt:    now,
			Version:      1,
		},
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

// dumpIntegrations returns the row of each of integrationTables. It fails if a table has more or
// none.
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
