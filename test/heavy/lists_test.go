package heavy

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/test/kit"
)

const (
	manyListings     = 100_000
	manyApplications = 50_000
)

// largeTableScan matches a sequential scan, in the plan of a statement, of a table that grows with the use of the
// service.
var largeTableScan = regexp.MustCompile(
	`Seq Scan on (listings|listing_views|listing_visits|applications|application_changes|application_letters|interviews|` +
		`exports|users|memberships|sessions|bookmarks|documents|dismissals|notifications|activities|saved_searches|` +
		`search_matches|seekers|charges|subscriptions|onboardings)\b`,
)

// TestPortalGet_EveryRoute_UsesIndexes calls every GET of the portal as an employer with 100,000
// listings and 50,000 applications, and as the jobseeker who sent these. It checks that no
// executed plan has a sequential scan of a large table. auto_explain writes the plans to the log
// of PostgreSQL.
func TestPortalGet_EveryRoute_UsesIndexes(t *testing.T) {
	server := newLargeServer(t)
	server.up()
	t.Cleanup(server.kill)

	employer := server.registerEmployer()
	seeker := server.call("POST", "/api/auth/register", map[string]any{
		"email":    "seeker@example.org",
		"password": "Corr3ct-horse",
		"name":     "Niamh Byrne",
		"userType": "jobseeker",
	})["accessToken"].(string)
	server.fillLists()
	server.kill()
	explainStatements(t, server.postgres.URL)

	logBefore, err := server.postgres.Log()
	require.NoError(t, err)
	server.up()

	// tokenFor returns the access token of the user who may call the path.
	tokenFor := func(path string, audience web.Audience) string {
		if audience == web.Employer || strings.HasPrefix(path, "/api/employers") {
			return employer
		}

		return seeker
	}

	// Every GET of the API but downloads of files, without a query and with pages of a hundred.
	listing, application := server.pickIDs()
	for _, route := range portal.API(adapters.Services{}).Routes {
		isFile := strings.HasSuffix(route.Path, "/file")
		if route.Method != "GET" || isFile || !strings.HasPrefix(route.Path, "/api/") {
			continue
		}

		id := listing
		if strings.Contains(route.Path, "/applications/") {
			id = application
		}

		server.token = tokenFor(route.Path, route.Audience)
		for _, query := range []string{"", "?limit=100", "?page=90&limit=100"} {
			status := server.status("GET", strings.ReplaceAll(route.Path, ":id", id)+query)
			require.Less(t, status, 500, "%s%s", route.Path, query)
		}
	}

	// Filters.
	for _, path := range []string{
		"/api/employers/applications/stats?status=accepted",
		"/api/employers/applications/stats?jobId=" + listing,
		"/api/employers/applications/stats?startDate=2026-01-01&endDate=2036-01-01",
		"/api/employers/jobs?status=active&limit=100",
		"/api/employers/interviews?status=scheduled",
		"/api/jobseekers/export/applications?format=csv",
		"/api/employers/applications/export?status=review",
	} {
		server.token = tokenFor(path, web.Anyone)
		require.Equal(t, 200, server.status("GET", path), path)
	}

	log, err := server.postgres.Log()
	require.NoError(t, err)

	plans := bytes.Split(log[len(logBefore):], []byte("LOG:  duration:"))
	require.Greater(t, len(plans), 100, "the log contains the plans")

	for _, plan := range plans {
		require.NotRegexp(t, largeTableScan, string(plan))
	}

	t.Logf("%d plans", len(plans))
}

// fillLists stores the listings of the only organization, of which three in four are open, and the applications of
// seeker@example.org with their interviews, notifications and activities.
func (s *alertServer) fillLists() {
	s.t.Helper()
	s.exec(
		`INSERT INTO listings (id, organization_id, open, remote, posted_at, created_at, updated_at, version, contract_type,
			employment_type, country, nation, region, city, place_kind, status, salary_currency, salary_period, specialty,
			title, company, department, location, description, requirements, benefits, questions, meta)
		SELECT md5('listing' || n)::uuid, o.id, n % 4 > 0, false, now() - n * interval '1 minute',
			now() - n * interval '1 minute', now(), 1, 'permanent', 'full-time', 'GB', 'ENG', 'West Yorkshire', 'Leeds', 'town',
			CASE WHEN n % 4 > 0 THEN 'active' ELSE 'inactive' END, 'GBP', 'year', 'Cardiology', 'Staff Nurse ' || n,
			'St Brigid''s', 'Cardiology', 'Leeds', 'Days and nights.', '[]', '[]', '[]', '{}'
		FROM generate_series(1, $1::int) n, organizations o`,
		manyListings,
	)
	s.exec(
		`INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker, tracker_color,
			cover_letter, answers, applied_at, changed_at)
		SELECT md5('application' || n)::uuid, md5('listing' || n)::uuid, o.id, u.id,
			(ARRAY['pending','review','interview','accepted','rejected'])[1 + n % 5], '', '', 'Dear all', '[]',
			now() - n * interval '1 minute', now()
		FROM generate_series(1, $1::int) n, organizations o, users u WHERE u.email = 'seeker@example.org'`,
		manyApplications,
	)
	s.exec(
		`INSERT INTO interviews (id, application_id, organization_id, scheduled_at, location, interviewer, notes, status,
			outcome, sequence, created_at, changed_at)
		SELECT id, id, organization_id, now(), 'Ward', 'Asha', '', 'scheduled', 'pending', 1, now(), now()
		FROM applications WHERE status = 'interview'`,
	)
	s.exec(
		`INSERT INTO notifications (id, user_id, cause, type, message, read, created_at)
		SELECT id, applicant_id, id::text, 'application', 'Something happened.', false, now() FROM applications`,
	)
	s.exec(
		`INSERT INTO activities (user_id, event_id, type, action, description, at)
		SELECT applicant_id, id, 'application', 'applied', 'Applied.', now() FROM applications`,
	)
	s.exec("UPDATE listing_feed SET epoch = gen_random_uuid()") // the search index is built again
	s.exec("VACUUM ANALYZE")
}

// explainStatements makes PostgreSQL write the plan of each statement to its log, for connections from now on. With
// enable_seqscan off, a table is scanned sequentially only if no index serves the query. With it on, it also is for
// users who own most of its rows.
func explainStatements(t *testing.T, databaseURL string) {
	t.Helper()
	kit.Exec(
		t,
		databaseURL,
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = ''auto_explain''', current_database());
		EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database());
		EXECUTE format('ALTER DATABASE %I SET auto_explain.log_min_duration = 0', current_database()); END $$`,
	)
}

// pickIDs returns the ids of an application with an interview and of its listing.
func (s *alertServer) pickIDs() (listing, application string) {
	s.t.Helper()

	row := s.db.QueryRow(s.t.Context(),
		"SELECT listing_id::text, id::text FROM applications WHERE status = 'interview' LIMIT 1")
	require.NoError(s.t, row.Scan(&listing, &application))

	return listing, application
}
