// Package bench measures the hot paths. Most benchmarks compare the product with a reference: a
// program that does the same work with as little code as possible, such as Fiber with one SQL
// statement. Both are measured in the same run. Their ratio is comparable between machines; their
// rates are not.
//
//	make bench
package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

const (
	// clients is the number of concurrent clients of a measurement.
	clients = 8

	// rounds is the number of measurements of the product. A measurement of the reference follows
	// each of them.
	rounds = 3

	// roundTime is the duration of one measurement.
	roundTime = 2 * time.Second
)

// referenceVariable is the environment variable that makes the test program run the reference
// server. Its value is the URL of the database.
const referenceVariable = "LOCUM_TEST_BENCH_REFERENCE"

// TestMain runs the benchmarks, or the reference server: startReference starts this test program
// again with referenceVariable, so that the reference server has its own process like the product.
func TestMain(m *testing.M) {
	if databaseURL := os.Getenv(referenceVariable); databaseURL != "" {
		serveReference(databaseURL)
		return
	}

	kit.Main(m)
}

// referenceListing is a listing in the responses of the reference server.
type referenceListing struct {
	ID             string     `json:"id"`
	Title          string     `json:"title"`
	Company        string     `json:"company"`
	Department     string     `json:"department"`
	Location       string     `json:"location"`
	Remote         bool       `json:"remote"`
	Specialty      string     `json:"specialty"`
	ContractType   string     `json:"contractType"`
	EmploymentType string     `json:"employmentType"`
	SalaryMin      *int64     `json:"salaryMin"`
	SalaryMax      *int64     `json:"salaryMax"`
	Currency       string     `json:"currency"`
	Period         string     `json:"period"`
	Deadline       *time.Time `json:"applicationDeadline"`
	PostedAt       time.Time  `json:"postedAt"`
}

// serveReference runs the reference server, Fiber and pgx, on the database of the product. Each
// request runs one SQL statement, which is handwritten for the searches of the benchmarks. In
// contrast to the product, it counts no results, computes no distances and knows no synonyms.
func serveReference(databaseURL string) {
	pool, err := pgxpool.New(context.Background(), databaseURL)
	if err != nil {
		panic(err)
	}

	createReferenceIndexes(pool)

	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/latest", func(c *fiber.Ctx) error { return sendListings(c, pool, "") })
	app.Get("/search", func(c *fiber.Ctx) error {
		// "nurs" is the stem of "nurse", for which the benchmark searches.
		return sendListings(c, pool, " AND to_tsvector('english', title) @@ 'nurs'::tsquery")
	})

	app.Get("/filtered", func(c *fiber.Ctx) error {
		// Salaries are stored in hundredths of the currency. 0.145 degrees of latitude and 0.24 of
		// longitude are 10 miles in the middle of Britain, which is the default radius.
		const filter = ` AND contract_type = $1
			AND salary_max * CASE salary_period WHEN 'hour' THEN 1950 WHEN 'day' THEN 260 WHEN 'week' THEN 52
				WHEN 'month' THEN 12 ELSE 1 END >= 100 * $2
			AND (lat BETWEEN $3 - 0.145 AND $3 + 0.145 AND lon BETWEEN $4 - 0.24 AND $4 + 0.24 OR remote)`

		return sendListings(c, pool, filter,
			c.Query("contract"), c.QueryInt("pay"), c.QueryFloat("lat"), c.QueryFloat("lon"))
	})

	// GET /bytes sends the body of the last PUT /bytes.
	var page []byte
	app.Put("/bytes", func(c *fiber.Ctx) error {
		page = bytes.Clone(c.Body())
		return nil
	})

	app.Get("/bytes", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Send(page)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}

	fmt.Printf("(listening on %s)\n", listener.Addr()) // as the product prints its address

	if err := app.Listener(listener); err != nil {
		panic(err)
	}
}

// createReferenceIndexes creates indexes for the statements of the reference server in the
// database of the product.
func createReferenceIndexes(pool *pgxpool.Pool) {
	for _, columns := range []string{"contract_type, posted_at DESC, id DESC", "lat, lon", "remote"} {
		if _, err := pool.Exec(context.Background(), "CREATE INDEX ON listings ("+columns+") WHERE open"); err != nil {
			panic(err)
		}
	}

	if _, err := pool.Exec(context.Background(), "ANALYZE listings"); err != nil {
		panic(err)
	}
}

// sendListings responds with the twenty latest open listings that match the filter: SQL conditions
// that are appended to the WHERE clause, with args as values of their parameters.
func sendListings(c *fiber.Ctx, pool *pgxpool.Pool, filter string, args ...any) error {
	rows, err := pool.Query(c.Context(), `
		SELECT id::text, title, company, department, location, remote, specialty, contract_type, employment_type,
			salary_min, salary_max, salary_currency, salary_period, application_deadline, posted_at
		FROM listings
		WHERE open AND (application_deadline IS NULL OR application_deadline > now())`+filter+`
		ORDER BY posted_at DESC, id DESC LIMIT 20`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()

	found := make([]referenceListing, 0, 20)
	for rows.Next() {
		var l referenceListing
		if err := rows.Scan(
			&l.ID, &l.Title, &l.Company, &l.Department, &l.Location, &l.Remote, &l.Specialty, &l.ContractType, &l.EmploymentType,
			&l.SalaryMin, &l.SalaryMax, &l.Currency, &l.Period, &l.Deadline, &l.PostedAt,
		); err != nil {
			return err
		}

		found = append(found, l)
	}

	return c.JSON(fiber.Map{"success": true, "data": fiber.Map{"listings": found}})
}

// listening matches the line in which a server prints its address.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// spawn starts a server and returns its URL as soon as the server has printed its address.
func spawn(b *testing.B, cmd *exec.Cmd) string {
	b.Helper()

	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())

	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			// The server would block if nothing read its further output.
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return "http://" + match[1]
		}
	}

	require.Fail(b, "the server did not start")

	return ""
}

// product is the program with its database.
type product struct {
	b           *testing.B
	dir         string // the working directory of the program, which contains the search index
	databaseURL string
	seedTime    time.Duration // how long the creation of the demo listings took
}

// newProduct returns the product with demo listings on Postgres.
func newProduct(b *testing.B, demoListings int) *product {
	b.Helper()

	p := &product{b: b, dir: b.TempDir(), databaseURL: kit.PostgresURL(b)}
	p.run("migrate", "up")

	start := time.Now()

	p.run("seed", "--listings", strconv.Itoa(demoListings))

	p.seedTime = time.Since(start)

	return p
}

// command returns a command of the program. env has additional settings, which override those of
// command.
func (p *product) command(args []string, env ...string) *exec.Cmd {
	p.b.Helper()

	cmd := exec.Command(kit.Program(p.b), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LOCUM_DATABASE_URL="+p.databaseURL, "LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32", "LOCUM_HTTP_DRAIN=10ms", "LOCUM_LIMITS_SEARCH_CPU=0",
		"LOCUM_LOG_LEVEL=error")
	cmd.Env = append(cmd.Env, env...)

	return cmd
}

// run runs a command of the program, which must succeed.
func (p *product) run(args ...string) {
	p.b.Helper()

	output, err := p.command(args).CombinedOutput()
	require.NoError(p.b, err, "%s", output)
}

// startReference starts the reference server on the database of the product.
func (p *product) startReference() (url string) {
	p.b.Helper()

	thisProgram := os.Args[0] // see TestMain
	cmd := exec.Command(thisProgram)
	cmd.Env = append(os.Environ(), referenceVariable+"="+p.databaseURL)

	return spawn(p.b, cmd)
}

// prepareRequest fills in the nth request of a measurement. The first request has n = 1. Requests
// whose URLs contain n all differ, so that no cache answers them.
type prepareRequest func(r *fasthttp.Request, n int64)

// measureRate sends requests from concurrent clients for roundTime and returns the number of
// responses per second. No request may fail.
func measureRate(b *testing.B, prepare prepareRequest) float64 {
	b.Helper()
	var sent, responded, failed atomic.Int64
	var running sync.WaitGroup
	client := &fasthttp.Client{MaxConnsPerHost: clients}
	end := time.Now().Add(roundTime)

	for range clients {
		running.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			for time.Now().Before(end) {
				request.Reset()
				prepare(request, sent.Add(1))

				if err := client.Do(request, response); err != nil || response.StatusCode() >= fasthttp.StatusMultipleChoices {
					failed.Add(1)
				}

				responded.Add(1)
			}
		})
	}

	running.Wait()
	require.Zero(b, failed.Load(), "requests failed")

	return float64(responded.Load()) / roundTime.Seconds()
}

// register creates the account of a jobseeker and returns an access token.
func register(b *testing.B, url string) string {
	b.Helper()

	body := `{"email":"niamh@example.org","password":"Correct-horse-7","name":"Niamh Byrne","userType":"jobseeker"}`
	response, err := http.Post(url+"/api/auth/register", "application/json", strings.NewReader(body))
	require.NoError(b, err)

	defer func() { _ = response.Body.Close() }()
	var created struct {
		Data struct {
			AccessToken string `json:"accessToken"`
		} `json:"data"`
	}
	require.NoError(b, json.NewDecoder(response.Body).Decode(&created))
	require.NotEmpty(b, created.Data.AccessToken)

	return created.Data.AccessToken
}

// compareRates measures the rates of the product and of the reference alternately, so that a
// machine that slows down affects both. It returns the rate of the product divided by that of the
// reference.
func compareRates(b *testing.B, ours, reference prepareRequest) (ratio float64) {
	b.Helper()

	var ourRates, referenceRates float64 // sums over all rounds
	for range rounds {
		ourRates += measureRate(b, ours)
		referenceRates += measureRate(b, reference)
	}

	b.ReportMetric(ourRates/rounds, "req/s")
	b.ReportMetric(referenceRates/rounds, "reference-req/s")
	b.ReportMetric(ourRates/referenceRates, "of-reference")
	b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here

	return ourRates / referenceRates
}

const (
	// minUncachedListRatio is the least acceptable ratio of two rates: responses of the product per
	// second to uncached lists, and responses of the reference server per second to the same lists.
	minUncachedListRatio = 0.85

	// minSignedInRatio is the least acceptable ratio of two rates of the product: responses per
	// second to requests with an access token, and to the same requests without one.
	minSignedInRatio = 0.6
)

// BenchmarkListings compares the rates of lists and searches of 20,000 listings with those of the
// reference server on the same rows. The benchmark "signed in" compares requests with and without
// a token instead.
func BenchmarkListings(b *testing.B) {
	product := newProduct(b, 20_000)
	url := product.serve().url
	referenceURL := product.startReference()

	getUncached := func(r *fasthttp.Request, n int64) { r.SetRequestURI(fmt.Sprintf("%s/api/listings?n=%d", url, n)) }
	getReference := func(path string) prepareRequest {
		return func(r *fasthttp.Request, _ int64) { r.SetRequestURI(referenceURL + path) }
	}

	b.Run("uncached", func(b *testing.B) {
		ratio := compareRates(b, getUncached, getReference("/latest"))
		require.GreaterOrEqual(b, ratio, minUncachedListRatio)
	})

	b.Run("cached", func(b *testing.B) {
		getCached := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(url + "/api/listings") }
		compareRates(b, getCached, getReference("/latest"))
	})

	b.Run("signed in", func(b *testing.B) {
		token := register(b, url)
		getSignedIn := func(r *fasthttp.Request, n int64) {
			getUncached(r, n)
			r.Header.Set("Authorization", "Bearer "+token)
		}

		ratio := compareRates(b, getSignedIn, getUncached)
		require.GreaterOrEqual(b, ratio, minSignedInRatio)
	})

	b.Run("filtered", func(b *testing.B) {
		// The product and the reference get the same sequence of filters: n selects them.
		filters := func(n int64) (town, contract string, pay int64) {
			town = searchTowns[n%int64(len(searchTowns))]
			contract = listings.ContractTypes[n%int64(len(listings.ContractTypes))]
			pay = 20_000 + n%20_000

			return town, contract, pay
		}

		getFiltered := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			r.SetRequestURI(
				fmt.Sprintf("%s/api/listings?location=%s&contractType=%s&salary_min=%d", url, town, contract, pay))
		}

		// The reference server has no gazetteer: its filter is the coordinates of the town.
		places := gazetteer.New()
		getFilteredReference := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			place, _ := places.Resolve(town)
			r.SetRequestURI(fmt.Sprintf("%s/filtered?lat=%v&lon=%v&contract=%s&pay=%d",
				referenceURL, place.Lat, place.Lon, contract, pay))
		}

		ratio := compareRates(b, getFiltered, getFilteredReference)
		require.GreaterOrEqual(b, ratio, minUncachedListRatio)
	})

	b.Run("search", func(b *testing.B) {
		search := func(r *fasthttp.Request, n int64) {
			r.SetRequestURI(url + "/api/listings/search")
			r.Header.SetMethod("POST")
			r.SetBodyString(fmt.Sprintf(`{"query":"nurse","n":%d}`, n))
		}

		compareRates(b, search, getReference("/search"))
	})
}

// BenchmarkBatch compares one request that creates 100 listings with 100 requests that create one
// each.
func BenchmarkBatch(b *testing.B) {
	server := newProduct(b, 1_000).serve()
	token := server.registerEmployer()
	const batchSize = 100
	const job = `{"title":"Staff Nurse","description":"Days and nights on a ward.","location":"Leeds"}`
	batch := `{"jobs":[` + strings.Repeat(job+",", batchSize-1) + job + `]}`

	var batchTime, singlesTime time.Duration // sums over all rounds
	for range rounds {
		batchStart := time.Now()

		server.post(token, "/api/employers/jobs/batch", batch, http.StatusOK)

		batchTime += time.Since(batchStart)

		singlesStart := time.Now()

		for range batchSize {
			server.post(token, "/api/employers/jobs", job, http.StatusCreated)
		}

		singlesTime += time.Since(singlesStart)
	}

	b.ReportMetric(float64(batchTime.Milliseconds())/rounds, "ms/batch")
	b.ReportMetric(float64(singlesTime.Milliseconds())/rounds, "ms/100-requests")
	b.ReportMetric(float64(batchTime)/float64(singlesTime), "of-100-requests")
	b.ReportMetric(0, "ns/op")
}
