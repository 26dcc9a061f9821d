package heavy

import (
	"bufio"
	"encoding/csv"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// streamedListings is the number of listings in the export.
	streamedListings = 1_000_000
	// maxStreamMemory is the maximum additional memory of the server while it sends the export.
	maxStreamMemory = 32 << 20
	// minStreamRate is the minimum rate of the download relative to that of a bare loop.
	minStreamRate = 0.7
)

// TestExport_1000000Listings_BoundsTimeAndMemory checks that the server streams a million
// listings without holding them in memory, and nearly as fast as a loop that only reads and
// writes them: without HTTP, without pages, and without escaping.
func TestExport_1000000Listings_BoundsTimeAndMemory(t *testing.T) {
	skipUnlessBench(t)

	server := newLargeServer(t)
	server.up()
	t.Cleanup(server.kill)

	server.token = server.registerEmployer()
	server.insertStreamedListings()

	peakBefore := server.peak()

	// The best of three alternating runs counts, because of other load on the machine.
	var bareRate, downloadRate float64
	for range 3 {
		bareRate = max(bareRate, server.measureBareLoop())
		downloadRate = max(downloadRate, server.measureDownload())
	}

	additionalMemory := server.peak() - peakBefore
	t.Logf("%.0f rows/s, a bare loop %.0f: %.2f of it; %d MiB of memory",
		downloadRate, bareRate, downloadRate/bareRate, additionalMemory>>20)
	require.Less(t, additionalMemory, maxStreamMemory)
	require.GreaterOrEqual(t, downloadRate, minStreamRate*bareRate)
}

// insertStreamedListings stores the listings of the only organization. Half of them have views. Their ids are UUIDs of
// version 7, which begin with a timestamp in milliseconds and so have the order of the listings.
func (s *alertServer) insertStreamedListings() {
	s.t.Helper()
	s.exec(
		`INSERT INTO listings (id, organization_id, open, remote, posted_at, application_deadline, salary_min, salary_max,
			created_at, updated_at, version, contract_type, employment_type, country, nation, region, city, place_kind, status,
			salary_currency, salary_period, specialty, title, company, department, location, description, requirements,
			benefits, questions, meta)
		SELECT (lpad(to_hex(1790000000000 - n::bigint * 60000), 12, '0') || '7' || substr(md5(n::text), 1, 3) || 'a' ||
				substr(md5(n::text), 4, 15))::uuid,
			o.id, false, false, now() - n * interval '1 minute', now() + interval '30 days', 3100000 + n, 4200050 + n,
			now() - n * interval '1 minute', now(), 1, 'permanent', 'full-time', 'GB', 'ENG', 'West Yorkshire', 'Leeds', 'town',
			'inactive', 'GBP', 'year', 'Cardiology', 'Staff Nurse, Ward ' || n, 'St Brigid''s', 'Cardiology',
			'Leeds, West Yorkshire', repeat('Days and nights on a ward. ', 20), '[]', '[]', '[]', '{}'
		FROM generate_series(1, $1::int) n, organizations o`,
		streamedListings,
	)
	s.exec(`INSERT INTO listing_views SELECT id, 1 + (salary_min % 90) FROM listings WHERE salary_min % 2 = 0`)
	s.exec("VACUUM ANALYZE")
}

// measureBareLoop reads the columns of the export with one query, writes them as CSV and returns the rows per second.
func (s *alertServer) measureBareLoop() float64 {
	t := s.t
	t.Helper()

	start := time.Now()
	rows, err := s.db.Query(
		t.Context(),
		`SELECT l.id::text, l.title, l.department, l.company, l.location, l.contract_type, l.status, l.salary_min, l.salary_max,
			l.salary_currency, coalesce(v.views, 0), (SELECT count(*) FROM applications a WHERE a.listing_id = l.id),
			l.posted_at, l.application_deadline, l.updated_at
		FROM listings l LEFT JOIN listing_views v ON v.listing_id = l.id
		WHERE l.organization_id = (SELECT id FROM organizations) ORDER BY l.created_at DESC, l.id DESC`,
	)
	require.NoError(t, err)

	defer rows.Close()

	// Salaries are stored in hundredths of the currency.
	formatSalary := func(hundredths int64) string { return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) }
	output := csv.NewWriter(io.Discard)

	count := 0
	for ; rows.Next(); count++ {
		var id, title, department, company, location, contract, status, currency string
		var salaryMin, salaryMax, views, applications int64
		var posted, deadline, updated time.Time
		require.NoError(t, rows.Scan(&id, &title, &department, &company, &location, &contract, &status,
			&salaryMin, &salaryMax, &currency, &views, &applications, &posted, &deadline, &updated))
		require.NoError(t, output.Write([]string{
			id,
			title,
			department,
			company,
			location,
			contract,
			status,
			formatSalary(salaryMin),
			formatSalary(salaryMax),
			currency,
			strconv.FormatInt(views, 10),
			strconv.FormatInt(applications, 10),
			posted.Format(time.RFC3339),
			deadline.Format(time.RFC3339),
			updated.Format(time.RFC3339),
		}))
	}

	output.Flush()
	require.NoError(t, rows.Err())
	require.Equal(t, streamedListings, count)

	return float64(count) / time.Since(start).Seconds()
}

// measureDownload downloads the export from the server and returns the rows per second.
func (s *alertServer) measureDownload() float64 {
	t := s.t
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/employers/jobs/export", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.token)

	start := time.Now()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	require.Equal(t, 200, response.StatusCode)

	lines := bufio.NewScanner(response.Body)

	count := -1 // the header is not counted
	for lines.Scan() {
		count++
	}

	require.NoError(t, lines.Err())
	require.Equal(t, streamedListings, count)

	return float64(count) / time.Since(start).Seconds()
}
