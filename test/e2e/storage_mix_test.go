package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestDatabases_MainJob checks the main use case, from posting a job to reviewing an
// application, on every supported database and with modules in separate databases. A module is a part of the product with
// its own tables, such as identity or hiring.
func TestDatabases_MainJob(t *testing.T) {
	t.Parallel()

	for name, settings := range map[string]func(t *testing.T, dir string) []string{
		"sqlite":   func(*testing.T, string) []string { return nil },
		"postgres": func(t *testing.T, _ string) []string { return []string{"LOCUM_DATABASE_URL=" + kit.PostgresURL(t)} },
		"mariadb":  func(t *testing.T, _ string) []string { return []string{"LOCUM_DATABASE_URL=" + kit.MariaDBURL(t)} },
		// Each module has its own database, so that use cases across modules
		// span databases.
		"mix": func(t *testing.T, dir string) []string {
			return []string{"LOCUM_DATABASE_URL=" + kit.PostgresURL(t),
				"LOCUM_DATABASE_IDENTITY_URL=sqlite:" + filepath.Join(dir, "identity.db"), "LOCUM_DATABASE_HIRING_URL=" + kit.PostgresURL(t),
				"LOCUM_DATABASE_BILLING_URL=sqlite:" + filepath.Join(dir, "billing.db"), "LOCUM_DATABASE_INTEGRATIONS_URL=" + kit.PostgresURL(t)}
		},
		"mix with mariadb": func(t *testing.T, dir string) []string {
			return []string{"LOCUM_DATABASE_URL=" + kit.MariaDBURL(t),
				"LOCUM_DATABASE_IDENTITY_URL=sqlite:" + filepath.Join(dir, "identity.db"), "LOCUM_DATABASE_HIRING_URL=" + kit.PostgresURL(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			server := start(t, dir, settings(t, dir)...)

			// The status names the setting of a module's own database.
			migrationStatus := "applied  identity/0001_init.sql"
			if strings.HasPrefix(name, "mix") {
				migrationStatus = "database.identity_url: applied  identity/0001_init.sql"
			}

			require.Contains(t, server.run(t, "migrate", "status"), migrationStatus)
			requireMainJob(t, server)
		})
	}
}

// requireMainJob posts a job, applies, reviews the application, exports, and deletes the
// applicant's account.
func requireMainJob(t *testing.T, server *testServer) {
	t.Helper()

	employer := server.employer(t)
	seeker := server.seeker(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})

	require.True(t, server.isListed(t, "Theatre Nurse"))

	// An application that is repeated with the same Idempotency-Key is stored once.
	applicant := seeker.fromNewAddress()
	applicant.key = "apply-once"
	first := applicant.post("/api/jobseekers/applications", object{"listingId": listing}).ok(201)
	second := applicant.post("/api/jobseekers/applications", object{"listingId": listing})
	require.Equal(t, string(first.raw), string(second.raw), "the second request gets the stored response of the first")

	application := first.text("data.id")

	// The employer gets an e-mail about the application, and the applicant a notification about its review.
	server.waitForMail(t, employer.email, "application")

	employer.put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
	server.waitForMail(t, seeker.email, "Your application: Theatre Nurse")
	require.NotEmpty(t, seeker.waitForNotifications(1))

	// A program of the employer reads the application, an app gets a plan, and the export contains the application.
	app := employer.app()
	program := employer.programOf(app)
	require.Len(t, program.get("/v1/applications").okDeveloper(200).list("data"), 1)
	employer.post("/api/developers/apps/"+app+"/plan", object{"plan": "professional", "paymentMethodId": "pm_card_visa"}).ok(200)
	require.Contains(t, string(server.guest(t).get(employer.exportLink("applications")).raw), application)
	require.Eventually(t, func() bool {
		log := employer.auditEntries("")
		return slices.ContainsFunc(log, func(e auditEntry) bool { return e.action == "app.created" && e.object == app }) &&
			slices.ContainsFunc(log, func(e auditEntry) bool { return e.action == "export.created" })
	}, waitTimeout, 20*time.Millisecond, "the audit log misses an entry of a module in another database")

	// The deletion of the account withdraws its application.
	seeker.delete("/api/jobseekers/profile").ok(200)
	require.Eventually(t, func() bool {
		resp := employer.fromNewAddress().get("/api/employers/applications/" + application).ok(200)
		return resp.text("data.application.status") == "withdrawn"
	}, waitTimeout, 50*time.Millisecond, "the deletion in the database of identity does not change that of hiring")

	// The data is still there after a restart.
	server.stop(t)
	server.serve(t)
	employer.fromNewAddress().get("/api/employers/jobs/" + listing).ok(200)
}
