package e2e

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/jwttokens"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// releasedVersion is the schema version of the last release before the schema was
// divided by module.
const releasedVersion = 38

// releasedSchema creates the tables of that release.
func releasedSchema(t *testing.T, db *sql.DB, dialect gormdb.Dialect) {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "legacy/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		base := filepath.Base(name)
		version, err := strconv.Atoi(base[:4])
		require.NoError(t, err)
		stem, own := strings.CutSuffix(base, "."+dialect.Name()+".sql")
		target := strings.TrimSuffix(stem, ".sql") + ".sql"
		if version > releasedVersion || strings.Count(base, ".") == 2 && !own || files[target] != nil && !own {
			continue
		}
		body, err := fs.ReadFile(migrations.Files, name)
		require.NoError(t, err)
		files[target] = &fstest.MapFile{Data: dialect.Migration(body)}
	}
	p, err := goose.NewProvider(dialect.Migrations(), db, files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.Up(t.Context())
	require.NoError(t, err)
}

// releasedRows inserts into every table of the release. i counts from 1 to 10,000,
// ID(k, n) is the id of the nth row of a kind, UUID(k, n) is its text, and NOW and SOON
// are timestamps. User 1 is an employer, user 2 a developer, and the users from 11 to
// 1010 are jobseekers.
var releasedRows = []string{
	"users (id, email, email_key, name, kind, status, password_hash, email_verified_at, created_at, updated_at, version) SELECT ID(1, i), 'u' || i || '@example.org', 'u' || i || '@example.org', 'Ines Okafor ' || i, CASE i WHEN 1 THEN 'employer' ELSE 'jobseeker' END, 'active', 'PASSWORD', CASE WHEN i <> 4 THEN TIME(NOW) END, NOW, NOW, 1 FROM n WHERE i <= 1010",
	"organizations (id, name, description, website, logo, industry, size, created_at, updated_at, version) SELECT ID(2, i), 'St Brigid''s', '', '', '', '', '', NOW, NOW, 1 FROM n WHERE i = 1",
	"memberships (organization_id, user_id, id, role, permissions, founder, status, invited_name, invited_email, created_at, updated_at, version) SELECT ID(2, 1), ID(1, 1), ID(3, 1), 'admin', 'jobs.create jobs.update jobs.delete applications.view applications.update', true, 'active', '', '', NOW, NOW, 1 FROM n WHERE i = 1",
	"sessions (id, user_id, address, user_agent, created_at, last_used_at, expires_at) SELECT ID(4, i), ID(1, i), '10.0.0.0/24', 'x', NOW, NOW, SOON FROM n WHERE i <= 1010",
	"refresh_tokens (hash, session_id, issued_at, expires_at) SELECT 'r' || i, ID(4, i), NOW, SOON FROM n WHERE i <= 1010",
	"browser_sessions (hash, session_id) SELECT 'b' || i, ID(4, i) FROM n WHERE i <= 1010",
	"user_tokens (hash, user_id, purpose, email, created_at, expires_at) SELECT 't' || i, ID(1, i), 'reset_password', 'u' || i || '@example.org', NOW, SOON FROM n WHERE i <= 1010",
	"email_changes (user_id, email, requested_at) SELECT ID(1, i), 'new' || i || '@example.org', NOW FROM n WHERE i <= 10",
	"email_undos (user_id, changed_at, email, email_key, expires_at) SELECT ID(1, i), NOW, 'old' || i || '@example.org', 'old' || i || '@example.org', SOON FROM n WHERE i <= 10",
	"employer_settings (user_id, job_title, contact_name, contact_email, contact_phone, email_alerts, updated_at, version) SELECT ID(1, i), 'Matron', '', '', '', true, NOW, 1 FROM n WHERE i = 1",
	"invitation_opt_outs (mailbox, created_at) SELECT 'm' || i, NOW FROM n WHERE i <= 10",
	"second_factors (user_id, secret, created_at, last_step) SELECT ID(1, i), 's', NOW, 0 FROM n WHERE i = 3",
	"recovery_codes (user_id, hash) SELECT ID(1, 3), 'c' || i FROM n WHERE i <= 10",
	"audit_entries (id, at, action, actor, organization_id, network, object, detail) SELECT ID(5, i), NOW, 'listing.created', 'system', ID(2, 1), '', 'x', 'é' || i FROM n",
	"idempotency_keys (owner_id, operation, key_hash, fingerprint, status, answer, claimed_until, expires_at) SELECT ID(1, i), 'o', 'k' || i, 'f', 201, '{}', NOW, SOON FROM n WHERE i <= 1010",
	"listings (id, organization_id, open, remote, posted_at, lat, lon, salary_min, salary_max, created_at, updated_at, version, contract_type, employment_type, country, nation, region, city, place_kind, status, salary_currency, salary_period, specialty, title, company, department, location, description, requirements, benefits, questions, meta) SELECT ID(6, i), ID(2, 1), i % 10 <> 0, false, NOW, 53.796, -1.548, 3000000 + i, 4000000, NOW, NOW, 1, 'permanent', 'full-time', 'GB', 'ENG', 'West Yorkshire', 'Leeds', 'town', CASE i % 10 WHEN 0 THEN 'closed' ELSE 'active' END, 'GBP', 'year', 'Theatre', 'Theatre Nurse ' || i, 'St Brigid''s', '', 'Leeds', 'Days and nights.', '[\"NMC\"]', '[]', '[]', '{\"ref\": \"x\"}' FROM n",
	"listing_changes (listing_id, changed_at) SELECT ID(6, i), NOW FROM n",
	"listing_views (listing_id, views) SELECT ID(6, i), i FROM n",
	"listing_visits (day, listing_id, visitor) SELECT '2026-11-20', ID(6, i), 'v' FROM n",
	"listing_visit_salts (day, salt) SELECT '2026-11-20', 's' FROM n WHERE i = 1",
	"applications (id, listing_id, organization_id, applicant_id, status, tracker, tracker_color, cover_letter, answers, applied_at, changed_at) SELECT ID(7, i), ID(6, i), ID(2, 1), ID(1, i % 1000 + 11), 'review', '', '', 'Dear Matron ' || i, '[]', NOW, NOW FROM n",
	"application_changes (id, application_id, actor, actor_id, from_status, to_status, at) SELECT ID(8, i), ID(7, i), 'employer', ID(1, 1), 'pending', 'review', NOW FROM n",
	"application_letters (id, application_id, organization_id, sender_id, subject, text, sent_at) SELECT ID(9, i), ID(7, i), ID(2, 1), ID(1, 1), 'Hello', 'x', NOW FROM n",
	"interviews (id, application_id, organization_id, scheduled_at, location, interviewer, notes, status, outcome, sequence, created_at, changed_at) SELECT ID(10, i), ID(7, i), ID(2, 1), SOON, 'Ward 1', 'Dr X', '', 'scheduled', 'pending', 0, NOW, NOW FROM n",
	"exports (id, organization_id, user_id, kind, filters, state, rows_done, rows_total, created_at, finished_at) SELECT ID(11, i), ID(2, 1), ID(1, 1), 'jobs', '{}', 'failed', 0, 0, NOW, NOW FROM n WHERE i <= 10",
	"seekers (user_id, preferred_location, employment_types, digest_after, digest_waiting, bio, number) SELECT ID(1, i), 'Leeds', '[\"full-time\"]', NOW, false, 'Bio ' || i, i FROM n WHERE i BETWEEN 11 AND 1010",
	"activities (user_id, event_id, type, action, description, at) SELECT ID(1, i % 1000 + 11), ID(12, i), 'application', 'applied', 'Applied ' || i, NOW FROM n",
	"notifications (id, user_id, cause, type, message, read, created_at) SELECT ID(13, i), ID(1, i % 1000 + 11), 'c' || i, 'application', 'News ' || i, false, NOW FROM n",
	"bookmarks (id, user_id, listing_id, notes, saved_at, deadline_told) SELECT ID(14, i), ID(1, i % 1000 + 11), ID(6, i), 'Note ' || i, NOW, false FROM n",
	"dismissals (user_id, listing_id, dismissed_at) SELECT ID(1, i % 1000 + 11), ID(6, i), NOW FROM n",
	"saved_searches (id, user_id, name, query, location, contract_type, email_alerts, created_at, resolved_query) SELECT ID(15, i), ID(1, i % 1000 + 11), 'Search ' || i, 'midwife', '', '', false, NOW, '' FROM n",
	"search_matches (search_id, listing_id, user_id, matched_at, email) SELECT ID(15, i), ID(6, i), ID(1, i % 1000 + 11), NOW, false FROM n",
	"alert_listings (listing_id, claimed_until) SELECT ID(6, i), SOON FROM n WHERE i <= 10",
	"document_files (id, user_id) SELECT ID(16, i), ID(1, i) FROM n WHERE i BETWEEN 11 AND 1010",
	"documents (id, user_id, type, title, file_name, is_default, file_id, size, form, media_type, uploaded_at, updated_at) SELECT ID(17, i), ID(1, i), 'cv', 'CV ' || i, 'cv.txt', true, ID(16, i), 3, 'text', 'text/plain', NOW, NOW FROM n WHERE i BETWEEN 11 AND 1010",
	"onboardings (visitor_kind, visitor, email, source, preferences, steps, touched_at, version) SELECT 'guest', 'g' || i, '', '', '{}', '{}', NOW, 1 FROM n WHERE i <= 10",
	"subscriptions (owner_kind, owner_id, plan, status, auto_renew, anchor_at, expires_at, failures, method_id, method_brand, method_last4, method_expiry_month, method_expiry_year, version) SELECT 'user', ID(1, i), 'premium', 'active', false, NOW, SOON, 0, 'pm_card_visa', 'visa', '4242', 12, 2030, 1 FROM n WHERE i BETWEEN 11 AND 1010",
	"charges (id, owner_kind, owner_id, plan, amount_minor, currency, method_id, method_brand, method_last4, method_expiry_month, method_expiry_year, renewal, period_start, period_end, status, receipt, created_at, attempts, next_at) SELECT ID(18, i), 'user', ID(1, i), 'premium', 999, 'GBP', 'pm_card_visa', 'visa', '4242', 12, 2030, false, NOW, SOON, 'paid', 'x', NOW, 1, NOW FROM n WHERE i BETWEEN 11 AND 1010",
	"apps (id, owner_id, name, description, public, secret_hash, plan, redirect_uris, created_at, updated_at, version) SELECT ID(19, i), ID(1, CASE i WHEN 1 THEN 2 ELSE i + 10 END), 'App ' || i, '', false, 'h', 'free', '[]', NOW, NOW, 1 FROM n WHERE i <= 1000",
	"api_keys (id, app_id, name, prefix, hash, created_at) SELECT ID(20, i), ID(19, i), 'k', 'loc_live_x', 'h' || i, NOW FROM n WHERE i <= 1000",
	"app_usage (app_id, day, requests, errors) SELECT ID(19, i), '2026-11-20', i, 1 FROM n WHERE i <= 1000",
	"oauth_consents (user_id, app_id, scopes, given_at) SELECT ID(1, i % 1000 + 11), ID(19, 1), 'applications:read', NOW FROM n WHERE i <= 1000",
	"oauth_grants (id, app_id, user_id, scopes, created_at, expires_at) SELECT ID(21, i), ID(19, 1), ID(1, i % 1000 + 11), 'applications:read', NOW, SOON FROM n",
	"oauth_tokens (hash, grant_id, kind, scopes, redirect_uri, challenge, issued_at, expires_at) SELECT CASE i WHEN 1 THEN 'TOKEN' ELSE 'h' || i END, ID(21, i), 'access', 'applications:read', '', '', NOW, SOON FROM n",
	"webhook_endpoints (id, app_id, owner_id, url, events, status, secret, previous_secret, created_at, updated_at, version) SELECT ID(22, i), ID(19, (i + 9) / 10), ID(1, CASE WHEN i <= 10 THEN 2 ELSE (i + 9) / 10 + 10 END), CASE i WHEN 1 THEN 'RECEIVER' ELSE 'https://hooks.example/' || i END, '[\"job.created\"]', CASE i WHEN 1 THEN 'active' ELSE 'paused' END, CASE i WHEN 1 THEN 'SECRET' ELSE 'x' END, '', NOW, NOW, 1 FROM n",
	"webhook_subscriptions (type, endpoint_id) SELECT 'job.created', ID(22, i) FROM n",
	"webhook_messages (event_id, type, body, created_at) SELECT ID(23, i), 'job.created', '{\"type\":\"job.created\",\"timestamp\":\"2026-11-20T10:00:00Z\",\"data\":{\"job_id\":\"' || UUID(6, i) || '\"}}', NOW FROM n",
	"webhook_deliveries (id, endpoint_id, owner_id, event_id, type, status, attempt, tries, attempts, next_at, created_at) SELECT ID(24, i), ID(22, i), ID(1, CASE WHEN i <= 10 THEN 2 ELSE (i + 9) / 10 + 10 END), ID(23, i), 'job.created', CASE i WHEN 1 THEN 'pending' ELSE 'succeeded' END, CASE i WHEN 1 THEN 0 ELSE 1 END, CASE i WHEN 1 THEN 0 ELSE 1 END, CASE i WHEN 1 THEN '[]' ELSE '[{\"at\":\"2026-11-20T10:00:00Z\",\"status\":200,\"error\":\"\",\"ms\":3,\"answer\":\"thanks\"}]' END, CASE i WHEN 1 THEN TIME(NOW) END, NOW FROM n",
	"webhook_deliveries (id, endpoint_id, owner_id, event_id, type, status, attempt, tries, attempts, created_at) SELECT ID(25, i), ID(22, 1), ID(1, 2), ID(23, i), 'job.created', 'succeeded', 1, 1, '[{\"at\":\"2026-11-20T10:00:00Z\",\"status\":200,\"error\":\"\",\"ms\":3,\"answer\":\"thanks\"}]', NOW FROM n WHERE i BETWEEN 2 AND 50",
	"outbox (id, type, subject, payload, recorded_at, attempts, sent_at) SELECT ID(26, i), 'job.created', 'x', '{}', NOW, 1, NOW FROM n WHERE i > 1",
	"outbox (id, type, subject, payload, recorded_at) SELECT ID(26, 1), 'user.registered', UUID(1, 4), '{\"user_id\":\"' || UUID(1, 4) || '\"}', NOW FROM n WHERE i = 1",
	"jobs (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at, ended_at) SELECT ID(27, i), 'j' || i, 'identity.verify-email', 'mail', '{}', '', 'done', 1, 1, NOW, NOW, '', NOW, NOW FROM n",
	"jobs (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at) SELECT ID(28, 1), 'whd:1', 'integrations.deliver', 'webhooks', '{\"endpoint\":\"' || UUID(22, 1) || '\",\"at\":\"2026-11-20T10:00:00Z\"}', '', 'waiting', 0, 0, NOW, NOW, '', NOW FROM n WHERE i = 1",
}

// released is a database as created by the release.
type released struct {
	url, secret, token string
}

var (
	idPattern   = regexp.MustCompile(`\b(ID|UUID)\((\d+), ((?:[^()]|\([^()]*\))+)\)`)
	timePattern = regexp.MustCompile(`\bTIME\(([^)]+)\)`)
)

// statement returns an INSERT of releasedRows in the dialect's SQL.
func statement(d gormdb.Dialect, rows string) string {
	uuid, timestamp := "CAST(%s AS UUID)", "CAST(%s AS TIMESTAMPTZ)"
	if d.Name() == "sqlite" {
		uuid, timestamp = "%s", "%s"
	}
	rows = idPattern.ReplaceAllStringFunc(rows, func(id string) string {
		m := idPattern.FindStringSubmatch(id)
		kind, _ := strconv.Atoi(m[2])
		text := fmt.Sprintf("('0190%04d-0000-7000-8000-' || CAST(100000000000 + (%s) AS TEXT))", kind, m[3])
		if m[1] == "UUID" {
			return text
		}
		return fmt.Sprintf(uuid, text)
	})
	rows = timePattern.ReplaceAllString(rows, fmt.Sprintf(timestamp, "$1"))
	return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO " + rows
}

// idOf returns the id of the nth row of a kind.
func idOf(kind, n int) string {
	return fmt.Sprintf("0190%04d-0000-7000-8000-%012d", kind, 100_000_000_000+n)
}

// release creates a database of the release for a server in dir.
func release(t *testing.T, dir, address, receiver string) released {
	t.Helper()
	var dialect gormdb.Dialect = gormdb.Postgres{}
	driver, source := "pgx", address
	if path, isFile := strings.CutPrefix(address, "sqlite:"); isFile {
		dialect, driver, source = gormdb.SQLite{}, "sqlite3", "file:"+path+"?_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	releasedSchema(t, db, dialect)

	r := released{url: address, secret: "whsec_" + strings.Repeat("QUJD", 8), token: integrations.NewToken(integrations.Access)}
	keys := filepath.Join(dir, "data", "keys")
	require.NoError(t, jwttokens.Generate(keys))
	ring, err := jwttokens.Open([]string{keys}, "", clock.System{})
	require.NoError(t, err)
	secret, err := ring.Encrypt(r.secret, idOf(22, 1))
	require.NoError(t, err)
	verifier, err := argonhash.New().Hash(t.Context(), password)
	require.NoError(t, err)
	literal := func(at time.Time) string { return at.UTC().Format("'2006-01-02T15:04:05.000000Z'") }
	values := strings.NewReplacer("NOW", literal(time.Now().Add(-time.Hour)), "SOON",
		literal(time.Now().Add(24*time.Hour)), "PASSWORD", verifier, "SECRET", secret, "RECEIVER", receiver,
		"TOKEN", integrations.HashToken(integrations.Access, r.token))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for _, rows := range releasedRows {
		_, err := tx.ExecContext(t.Context(), values.Replace(statement(dialect, rows)))
		require.NoError(t, err, "%s", rows)
	}
	require.NoError(t, tx.Commit())
	return r
}

// changedColumns are columns that were added or dropped after the first version of the
// modules' schemas.
var changedColumns = []string{
	"charges.action_at",
	"tasks.task_group",
	"webhook_endpoints.lease",
	"webhook_endpoints.leased_until",
	"alert_listings.claimed_until",
	"users.moderator_since",
	"organizations.verified_at",
	"organizations.verified_by",
	"organizations.held_at",
	"organizations.suspended_at",
}

// fingerprints returns the number of rows of each table and a hash of them, which
// does not depend on the order of rows and columns and does not cover changed
// columns.
func fingerprints(t *testing.T, url string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for table, rows := range kit.RowsWith(t, url, changedColumns, "") {
		for i, row := range rows {
			columns := strings.Split(row, "\n")
			slices.Sort(columns)
			rows[i] = strings.Join(columns, "\n")
		}
		slices.Sort(rows)
		out[table] = fmt.Sprintf("%d rows, %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n\n"))))
	}
	maps.DeleteFunc(out, func(table, _ string) bool { return table == "goose_db_version" || strings.HasPrefix(table, "schema_") })
	return out
}

func TestUpgrade_DatabaseOfAnEarlierRelease_NothingIsLost(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(dir string) string{
		"sqlite":   func(dir string) string { return "sqlite:" + dir + "/locum.db" },
		"postgres": func(string) string { return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, receiver := t.TempDir(), newReceiver(t, nil)
			old := release(t, dir, address(dir), receiver.URL)
			before := fingerprints(t, old.url)
			require.Len(t, before, 53, "every table has rows")
			server := &testServer{
				dir:    dir,
				env:    append(serverEnv(dir), "LOCUM_DATABASE_URL="+old.url, "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true"),
				log:    &kit.Log{},
				exited: make(chan error, 1),
			}

			server.run(t, "migrate", "up")
			before["tasks"] = before["jobs"]
			delete(before, "jobs")
			require.Equal(t, before, fingerprints(t, old.url))

			server.serve(t)
			server.ready(t)
			old.requireServed(t, server, receiver)
		})
	}
}

// user signs in as the nth user.
func (s *testServer) user(t *testing.T, n int) *account {
	t.Helper()
	a := &account{client: s.guest(t), email: fmt.Sprintf("u%d@example.org", n)}
	return a.signIn(password)
}

// requireServed reads the rows of the release through the server.
func (old released) requireServed(t *testing.T, server *testServer, receiver *receiver) {
	t.Helper()
	guest, boss, developer, seeker := server.guest(t), server.user(t, 1), server.user(t, 2), server.user(t, 12)
	result := guest.get("/api/listings?query=" + url.QueryEscape("theatre nurse leeds")).ok(200)
	require.EqualValues(t, 9_000, result.number("data.pagination.total"))
	require.Equal(t, "Theatre Nurse 77", guest.get("/api/listings/"+idOf(6, 77)).ok(200).text("data.title"))

	list := boss.get("/api/employers/applications?limit=50").ok(200)
	require.EqualValues(t, 10_000, list.number("data.pagination.total"))
	application := boss.get("/api/employers/applications/" + idOf(7, 9_999)).ok(200)
	require.Equal(t, "Ines Okafor 1010", application.text("data.application.applicantName"))

	require.EqualValues(t, 10, seeker.get("/api/jobseekers/applications").ok(200).number("data.pagination.total"))
	require.Len(t, seeker.get("/api/jobseekers/bookmarks").ok(200).list("data.bookmarks.savedJobs"), 10)
	require.Len(t, seeker.get("/api/jobseekers/notifications").ok(200).list("data.notifications"), 10)
	require.Len(t, seeker.get("/api/jobseekers/documents").ok(200).list("data.documents"), 1)

	app := "/api/developers/apps/" + idOf(19, 1)
	require.Len(t, developer.get(app+"/keys").ok(200).list("data.keys"), 1)
	require.Len(t, developer.get(app+"/webhooks").ok(200).list("data.webhooks"), 10)
	require.EqualValues(t, 50, developer.get(app+"/webhooks/"+idOf(22, 1)+"/deliveries").ok(200).number("data.pagination.total"))
	program := server.guest(t)
	program.token = old.token
	require.Len(t, program.get("/v1/applications").okDeveloper(200).list("data"), 10, "an authorization of the release is valid")

	sent := receiver.waitForHits(1)[0]
	require.NoError(t, sent.verify(t, old.secret), "a pending delivery is sent with its secret")
	server.waitForMail(t, "u4@example.org", "Subject:")
}
