package heavy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const (
	savedSearches = 100_000
	newListings   = 1_000
	// mailedUsers are users with one saved search and an address.
	mailedUsers = 1_000
	// maxAlertMemory is the maximum additional memory of the server during the matching.
	maxAlertMemory = 200 << 20
	// maxAlertCPU is the maximum CPU time of a new listing: ten times what make bench measures.
	maxAlertCPU = 60 * time.Millisecond
)

var (
	// The saved searches and the new listings combine these words and places, among them a
	// misspelled word, operators of the query language, and places that exist twice or not at
	// all.
	trades = []string{
		"nurse",
		"staff nurse",
		"icu nurse",
		"midwife",
		"physiotherapist",
		"occupational therapist",
		"radiographer",
		"gp",
		"cardiologist",
		"healthcare assistant",
		"pharmacist",
		"paramedic",
		"social worker",
		"ward manager",
		"phlebotomist",
		"dietitian",
		"porter",
		"theatre practitioner",
		"band 6 nurse",
		"nusre",
		"\"staff nurse\"",
		"nurse -icu",
		"midwife OR paramedic",
		"registered nurse",
		"physio",
		"consult",
		"dermatologist",
		"audiologist",
	}
	towns = []string{
		"",
		"Leeds",
		"London",
		"Manchester",
		"York",
		"Bristol",
		"Truro",
		"Dublin",
		"Cork",
		"Edinburgh",
		"Cardiff",
		"Scotland",
		"Yorkshire",
		"Boston",
		"Boston, Lincolnshire",
		"Sheffield",
		"Norwich",
		"Exeter",
		"Belfast",
		"Galway",
		"Hull",
		"Derby",
		"Plymouth",
		"Swansea",
		"Bradford",
		"Ireland",
		"Ward 7",
		"Springfield, IL",
	}
	contracts = []string{"", "", "", "permanent", "temporary", "contract"}
)

// alertServer is a server whose process can be killed, with a connection to its database.
type alertServer struct {
	*testServer
	db    *pgx.Conn
	cmd   *exec.Cmd // the process of the server
	token string    // the access token that call and status send; empty for a guest
}

// exec executes a statement on the database.
func (s *alertServer) exec(sql string, args ...any) {
	s.t.Helper()

	_, err := s.db.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err, sql)
}

// queryRows returns the rows of a query, whose columns are the fields of T in order.
func queryRows[T any](server *alertServer, sql string, args ...any) []T {
	server.t.Helper()

	rows, err := server.db.Query(server.t.Context(), sql, args...)
	require.NoError(server.t, err)

	collected, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	require.NoError(server.t, err)

	return collected
}

// count returns the number that the query selects.
func (s *alertServer) count(sql string) (n int) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRow(s.t.Context(), sql).Scan(&n), sql)
	return n
}

// up starts the server as a process that can be killed.
func (s *alertServer) up() {
	s.t.Helper()

	s.cmd = s.startServer()
}

// kill kills the process with SIGKILL, as an out-of-memory killer does: nothing can be finished.
func (s *alertServer) kill() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Kill())

	_ = s.cmd.Wait()
}

// peak returns the peak memory of the server in bytes.
func (s *alertServer) peak() int {
	s.t.Helper()

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s.t, err)

	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(s.t, peak)

	kibibytes, err := strconv.Atoi(string(peak[1]))
	require.NoError(s.t, err)

	return kibibytes << 10
}

// call sends a request to the API, which must succeed, from a random address, so that no rate limit applies. It
// returns the data of the response.
func (s *alertServer) call(method, path string, body any) map[string]any {
	s.t.Helper()

	encoded, err := json.Marshal(body)
	require.NoError(s.t, err)

	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, bytes.NewReader(encoded))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), rand.IntN(256)))

	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}

	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)

	defer func() { _ = response.Body.Close() }()
	var decoded map[string]any
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&decoded))
	require.Less(s.t, response.StatusCode, 300, "%s %s: %v", method, path, decoded)

	data, _ := decoded["data"].(map[string]any)

	return data
}

// status sends a request with the token, reads the whole response and returns its status.
func (s *alertServer) status(method, path string) int {
	s.t.Helper()

	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, http.NoBody)
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+s.token)

	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)

	defer func() { _ = response.Body.Close() }()

	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(s.t, err)

	return response.StatusCode
}

// random returns a random element.
func random[T any](items []T) T { return items[rand.IntN(len(items))] }

// post publishes n random listings, a hundred at a time. One in thirty is remote.
func (s *alertServer) post(n int) {
	s.t.Helper()

	titles := []string{
		"Staff Nurse",
		"ICU Nurse",
		"Midwife",
		"Physiotherapist",
		"Radiographer",
		"General Practitioner",
		"Consultant Cardiologist",
		"Healthcare Assistant",
		"Paramedic",
		"Social Worker",
		"Ward Manager",
		"Band 6 Nurse",
		"Porter",
		"Pharmacist",
		"Occupational Therapist",
	}
	const batchSize = 100
	text := strings.Repeat("The team looks after patients on an acute ward with care. ", 8)

	for range n / batchSize {
		jobs := make([]map[string]any, batchSize)
		for i := range jobs {
			jobs[i] = map[string]any{
				"title":       random(titles),
				"location":    random(towns),
				"description": text + random(trades),
				"remote":      rand.IntN(30) == 0,
			}
			if contract := random(contracts); contract != "" {
				jobs[i]["contractType"] = contract
			}
		}

		result := s.call("POST", "/api/employers/jobs/batch", map[string]any{"jobs": jobs})
		require.Len(s.t, result["created"], batchSize)
	}
}

// waitIdle waits until no matching and no mail is pending: every event is sent, every listing is matched, every task
// of the module for jobseekers has ended, and no digest (an e-mail with the matches of a user) is due.
func (s *alertServer) waitIdle() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.count(`SELECT (SELECT count(*) FROM outbox WHERE sent_at IS NULL) + (SELECT count(*) FROM alert_listings)
			+ (SELECT count(*) FROM tasks WHERE ended_at IS NULL AND kind LIKE 'jobseeker.%')
			+ (SELECT count(*) FROM seekers WHERE digest_waiting AND digest_after <= now())`) == 0
	}, 5*time.Minute, 200*time.Millisecond)
}

// find returns the sorted ids of the listings that the public search finds among those published since the time.
func (s *alertServer) find(query, location, contract string, since time.Time) (ids []string) {
	s.t.Helper()

	cursor := ""
	for {
		page := s.call("POST", "/api/listings/search", map[string]any{
			"limit":   100,
			"cursor":  cursor,
			"query":   query,
			"sort":    "date",
			"relaxed": false, // no listings that match only some of the words
			"filters": map[string]any{
				"location":     location,
				"contractType": contract,
				"postedAfter":  since.Format(time.RFC3339Nano),
			},
		})
		for _, item := range page["results"].([]any) {
			ids = append(ids, item.(map[string]any)["id"].(string))
		}

		cursor, _ = page["nextCursor"].(string)
		if cursor == "" {
			slices.Sort(ids)
			return ids
		}
	}
}

// newLargeServer returns a server whose database is filled by the test.
func newLargeServer(t *testing.T) *alertServer {
	t.Helper()
	skipUnlessHeavy(t)
	t.Setenv("LOCUM_HTTP_TRUSTED_PROXIES", "127.0.0.1/32")

	server := &alertServer{testServer: newTestServer(t)}
	var err error
	server.db, err = pgx.Connect(t.Context(), server.postgres.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.db.Close(t.Context()) })

	return server
}

// registerEmployer registers an employer and returns the access token.
func (s *alertServer) registerEmployer() string {
	s.t.Helper()

	created := s.call("POST", "/api/auth/register-employer", map[string]any{
		"email":       "boss@example.org",
		"password":    "Corr3ct-horse",
		"name":        "Boss",
		"companyName": "St Brigid's",
	})

	return created["accessToken"].(string)
}

// newServerWithSearches returns a running server with 2,000 listings and 100,000 saved searches, of
// which 1,000 send e-mail. It also makes PostgreSQL log every statement.
func newServerWithSearches(t *testing.T) *alertServer {
	t.Helper()

	server := newLargeServer(t)
	server.run("seed", "--listings", "2000")
	server.exec("SELECT setseed(0.5)")

	// pick returns an SQL expression for a random element of the array parameter.
	pick := func(parameter string) string {
		array := parameter + "::text[]"
		return "(" + array + ")[1 + floor(random() * cardinality(" + array + "))::int]"
	}

	// The first mailedUsers have one search each, whose alerts are sent by e-mail; the others have fifty.
	server.exec(`
		INSERT INTO saved_searches (id, user_id, name, query, location, contract_type, email_alerts, created_at)
		SELECT gen_random_uuid(), md5('user' || CASE WHEN n <= $4 THEN n ELSE $4 + n / 50 END)::uuid, 'Search ' || n,
			`+pick("$1")+`, `+pick("$2")+`, `+pick("$3")+`, n <= $4, now()
		FROM generate_series(1, $5::int) n`,
		trades, towns, contracts, mailedUsers, savedSearches)
	server.exec(`
		INSERT INTO users (id, email, email_key, name, kind, status, password_hash, created_at, updated_at, version)
		SELECT md5('user' || n)::uuid, 'seeker' || n || '@example.org', 'seeker' || n || '@example.org', 'Seeker',
			'jobseeker', 'active', 'none', now(), now(), 1
		FROM generate_series(1, $1::int) n`, mailedUsers)
	server.exec("ANALYZE")

	// Log every statement without its parameters, for connections from now on.
	server.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET log_statement = ''all''', current_database());
		EXECUTE format('ALTER DATABASE %I SET log_parameter_max_length = 0', current_database()); END $$`)
	server.up()

	t.Cleanup(func() {
		_ = server.cmd.Process.Kill()
		_ = server.cmd.Wait()
	})

	server.token = server.registerEmployer()

	return server
}

// TestAlerts_100000Searches_1000Listings checks that 1,000 new listings are matched with 100,000
// saved searches with bounded memory and few statements, that each search has the matches that
// the public search finds, and that neither a match nor an e-mail is lost or changed when the
// server is killed during the matching and during the sending.
func TestAlerts_100000Searches_1000Listings(t *testing.T) {
	server := newServerWithSearches(t)
	since := time.Now().UTC().Truncate(time.Microsecond) // the precision of PostgreSQL

	// The steps depend on each other: each one changes the database for the next.
	server.matchWithinBounds()
	server.requireSameAsSearch(since)
	server.killWhileMatching()
	server.requireSameAsSearch(since)
	server.killWhileMailing()
	server.requireDigests()
}

// matchWithinBounds posts the new listings, waits until they are matched, and checks the memory and
// the number of statements that this takes.
func (s *alertServer) matchWithinBounds() {
	t := s.t
	t.Helper()

	peakBefore := s.peak()
	logBefore, err := s.postgres.Log()
	require.NoError(t, err)

	start := time.Now()

	s.post(newListings)

	postedAfter := time.Since(start)

	s.waitIdle()

	matchedAfter := time.Since(start)
	log, err := s.postgres.Log()
	require.NoError(t, err)

	statements, pages := 0, 0 // pages are the statements that read a page of saved searches
	for line := range bytes.Lines(log[len(logBefore):]) {
		isStatement := bytes.Contains(line, []byte("LOG:  execute")) || bytes.Contains(line, []byte("LOG:  statement"))
		if isStatement {
			statements++

			if bytes.Contains(line, []byte(`FROM "saved_searches"`)) {
				pages++
			}
		}
	}

	matches := s.countMatches()
	additionalMemory := s.peak() - peakBefore
	t.Logf("%d listings posted in %s, matched with %d searches after %s: "+
		"%d matches, %d pages of searches, %d statements, %d MiB of additional memory",
		newListings, postedAfter.Round(time.Second/10), savedSearches, matchedAfter.Round(time.Second/10),
		matches, pages, statements, additionalMemory>>20)
	// With fewer matches, the bounds below would prove little.
	require.Greater(t, matches, 100_000)

	// Searches are read in pages, for many listings at a time. The other statements are those for
	// posting, events and blocks of matches, and a few for each mail.
	require.Less(t, pages, savedSearches/100)
	require.Less(t, statements, savedSearches/4)
	require.Less(t, additionalMemory, maxAlertMemory)
}

// killWhileMatching makes the next digests due, as if a day had passed, posts listings, and kills the
// server repeatedly while it matches them.
func (s *alertServer) killWhileMatching() {
	s.t.Helper()
	s.exec("UPDATE seekers SET digest_after = now()")

	for range 4 {
		s.post(100)

		before := s.countMatches()
		require.Eventually(s.t, func() bool { return s.countMatches() > before }, time.Minute, 5*time.Millisecond)
		s.kill()
		s.up()
	}

	s.waitIdle()
}

// killWhileMailing posts listings, makes the next digests due, as if a day had passed, and kills the server
// repeatedly while it sends e-mail. It waits for another mail before each kill, if one is still to be sent.
func (s *alertServer) killWhileMailing() {
	s.t.Helper()
	s.post(100)
	s.waitIdle()
	s.exec("UPDATE seekers SET digest_after = now()")

	for range 3 {
		before := s.countMails()
		require.Eventually(s.t, func() bool {
			return s.countMails() > before || s.count("SELECT count(*) FROM seekers WHERE digest_waiting") == 0
		}, 2*time.Minute, 2*time.Millisecond)
		s.kill()
		s.up()
	}

	s.waitIdle()
}

// countMatches returns the number of stored matches.
func (s *alertServer) countMatches() int { return s.count("SELECT count(*) FROM search_matches") }

// TestAlerts_NewListings_CPUTime checks the CPU time for posting, indexing and matching a new
// listing that few searches match. The first 100 listings fill caches.
func TestAlerts_NewListings_CPUTime(t *testing.T) {
	server := newServerWithSearches(t)
	server.post(100)
	server.waitIdle()

	cpuBefore := server.cpu()

	// The role and the place are in few saved searches, so that the time is not that of many matches.
	jobs := make([]map[string]any, 64)
	for i := range jobs {
		jobs[i] = map[string]any{"title": "Perfusionist", "location": "Carlisle", "description": "The team works in theatres."}
	}

	require.Len(t, server.call("POST", "/api/employers/jobs/batch", map[string]any{"jobs": jobs})["created"], len(jobs))
	server.waitIdle()

	perListing := (server.cpu() - cpuBefore) / time.Duration(len(jobs))
	t.Logf("%s for a new listing, posting and indexing it included", perListing.Round(time.Millisecond/10))
	require.Less(t, perListing, maxAlertCPU)
}

// cpu returns the CPU time that the server has used.
func (s *alertServer) cpu() time.Duration {
	s.t.Helper()

	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	require.NoError(s.t, err)

	// The name of the program, in parentheses, may contain spaces. See proc_pid_stat(5).
	afterName := stat[bytes.LastIndexByte(stat, ')')+1:]
	fields := strings.Fields(string(afterName))
	utime, stime := fields[11], fields[12]

	totalTicks := 0
	for _, field := range []string{utime, stime} {
		ticks, err := strconv.Atoi(field)
		require.NoError(s.t, err)

		totalTicks += ticks
	}

	const ticksPerSecond = 100

	return time.Duration(totalTicks) * time.Second / ticksPerSecond
}

// requireSameAsSearch compares the matches of up to 400 different saved searches with the results of
// the public search, and requires that each search with a match led to a notification.
func (s *alertServer) requireSameAsSearch(since time.Time) {
	s.t.Helper()

	type search struct{ ID, Query, Location, Contract string }
	type match struct{ ListingID string }

	for _, saved := range queryRows[search](s, `
		SELECT DISTINCT ON (query, location, contract_type) id::text, query, location, contract_type FROM saved_searches
		ORDER BY query, location, contract_type LIMIT 400 OFFSET 300`) {
		matched := []string{}
		for _, row := range queryRows[match](s,
			"SELECT listing_id::text FROM search_matches WHERE search_id = $1 ORDER BY listing_id::text", saved.ID) {
			matched = append(matched, row.ListingID)
		}

		found := append([]string{}, s.find(saved.Query, saved.Location, saved.Contract, since)...) // not nil
		require.Equal(s.t, found, matched, "%+v", saved)
	}

	// The cause of a notification begins with the id of the search.
	withoutNotification := s.count(`SELECT count(*) FROM (
		SELECT search_id::text FROM search_matches EXCEPT SELECT split_part(cause, '/', 1) FROM notifications) m`)
	require.Zero(s.t, withoutNotification, "searches with matches that were not sent")
}

// mails returns the files of the e-mails that were sent.
func (s *alertServer) mails() []string {
	names, _ := filepath.Glob(filepath.Join(s.dir, "data", "mail", "*.eml"))
	return names
}

// countMails returns the number of e-mails that were sent.
func (s *alertServer) countMails() int { return len(s.mails()) }

var (
	// messageID matches the id of a digest, and jobLink that of a listing in its text.
	messageID = regexp.MustCompile(`(?i)Message-ID: <job-alerts-([0-9a-f-]{36})`)
	jobLink   = regexp.MustCompile(`/jobs/([0-9a-f-]{36})`)
)

// requireDigests compares the mails with the matches: each match is in one
// digest, and each digest was mailed with exactly its matches.
func (s *alertServer) requireDigests() {
	s.t.Helper()
	require.Zero(s.t, s.count("SELECT count(*) FROM search_matches WHERE email AND digest_id IS NULL"))

	// The listings in the mails, by the id of the digest. After a kill, a digest may have been mailed twice.
	mailed := map[string]map[string]bool{}

	mails := 0
	for _, name := range s.mails() {
		raw, err := os.ReadFile(name)
		require.NoError(s.t, err)

		text := strings.NewReplacer("=\r\n", "", "=\n", "").Replace(string(raw)) // joins the lines of quoted-printable

		match := messageID.FindStringSubmatch(text)
		if match == nil {
			continue // another e-mail
		}

		mails++

		jobs := map[string]bool{}
		for _, link := range jobLink.FindAllStringSubmatch(text, -1) {
			jobs[link[1]] = true
		}

		digestID := match[1]
		if previous, isRepeated := mailed[digestID]; isRepeated {
			require.Equal(s.t, previous, jobs, "a repeated mail has the same jobs")
		}

		mailed[digestID] = jobs
	}

	// The listings in the database, by the id of the digest.
	type match struct{ Digest, Listing string }

	digests := map[string]map[string]bool{}
	for _, row := range queryRows[match](s, "SELECT digest_id::text, listing_id::text FROM search_matches WHERE email") {
		if digests[row.Digest] == nil {
			digests[row.Digest] = map[string]bool{}
		}

		digests[row.Digest][row.Listing] = true
	}

	require.Len(s.t, mailed, len(digests))

	const maxMailed = 50 // an e-mail lists at most 50 jobs
	for id, listings := range digests {
		if len(listings) <= maxMailed {
			require.Equal(s.t, listings, mailed[id], id)
		} else {
			require.Len(s.t, mailed[id], maxMailed)
		}
	}

	s.t.Logf("%d digests in %d mails", len(digests), mails)
}
