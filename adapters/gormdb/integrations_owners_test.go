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

// TestMigrationOfOwners_UpAndDown_KeepsRows checks migration 40 of an earlier release. It removed the
// foreign keys from tables of modules/integrations to users, because the modules may be in different
// databases. On SQLite, it has to copy the tables. It must keep all rows and all other foreign keys.
// Reverting the migration must restore the removed foreign keys.
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

			// Before the migration, the owner of an app must be a user.
			user := fillIntegrations(t, db)
			rowsBefore := dumpIntegrations(t, db)
			notAUser := uuid.NewString()
			require.Error(t, insertApp(db, notAUser))

			// After the migration, the rows are the same, and the owner need not be a user.
			migrateLegacy(up)
			require.Equal(t, rowsBefore, dumpIntegrations(t, db))
			require.NoError(t, insertApp(db, notAUser))

			// Other foreign keys remain: the grant of a token must exist.
			require.NoError(t, db.writer.Exec("DELETE FROM oauth_tokens WHERE 1 = 1").Error)

			tokenOfUnknownGrant := oauthTokenRow{
				Hash:      "x",
				GrantID:   uuid.NewString(),
				Kind:      "code",
				IssuedAt:  time.Now(),
				ExpiresAt: time.Now(),
			}
			require.Error(t, db.writer.Create(&tokenOfUnknownGrant).Error)

			// Reverting the migration deletes apps whose owner is not a user.
			migrateLegacy(down)

			var owners []string
			require.NoError(t, db.reader.Raw("SELECT owner_id FROM apps").Scan(&owners).Error)
			require.Equal(t, []string{user}, owners)

			// The restored foreign keys delete the rows of a deleted user.
			require.NoError(t, db.writer.Exec("DELETE FROM users WHERE id = ?", user).Error)

			for _, table := range []string{
				"apps", "api_keys", "oauth_consents", "oauth_grants", "webhook_endpoints",
				"webhook_deliveries",
			} {
				var rows int
				require.NoError(t, db.reader.Raw("SELECT COUNT(*) FROM "+table).Scan(&rows).Error)
				require.Zero(t, rows, "rows of the deleted user in %s", table)
			}
		})
	}
}

// insertApp inserts an application. Its owner need not exist.
func insertApp(db *DB, ownerID string) error {
	app := appRow{
		ID:           uuid.NewString(),
		OwnerID:      ownerID,
		Name:         "Ward Finder",
		Plan:         "free",
		RedirectURIs: []string{},
		CreatedAt:    time.Now().UTC(),
		UpdatedAt:    time.Now().UTC(),
		Version:      1,
	}

	return db.writer.Create(&app).Error
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

// dumpIntegrations returns the rows of each of integrationTables. The test fails unless each table has
// exactly one row.
func dumpIntegrations(t *testing.T, db *DB) map[string][]map[string]any {
	t.Helper()

	rowsByTable := map[string][]map[string]any{}
	for _, table := range integrationTables {
		var rows []map[string]any
		require.NoError(t, db.reader.Table(table).Find(&rows).Error)
		require.Len(t, rows, 1, table)

		rowsByTable[table] = rows
	}

	return rowsByTable
}
