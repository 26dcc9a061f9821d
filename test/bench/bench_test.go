// Package bench measures the hot paths. Each benchmark compares the product with a limit that is
// measured in the same run: the ratios are comparable between machines, the rates are not.
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
	clients  = 8               // concurrent clients of each measurement
	rounds   = 3               // measurements of the product, each followed by one of the limit
	roundFor = 2 * time.Second // duration of a measurement
)

// TestMain runs the benchmarks, or the server that sets the limit: Fiber and pgx with one
// statement, in a process of its own like the product.
func TestMain(m *testing.M) {
	if url := os.Getenv("LOCUM_TEST_BENCH_LIMIT"); url != "" {
		serveLimit(url)
		return
	}

	kit.Main(m)
}

// limitListing is a listing in the responses of the server that sets the limit.
type limitListing struct {
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

// serveLimit runs the server that sets the limit, on the database of the product. Its queries
// are handwritten for the searches of the benchmarks, without counts, distances and synonyms.
func serveLimit(databaseURL string) {
	pool, err := pgxpool.New(context.Background(), databaseURL)
	if err != nil {
		panic(err)
	}

	for _, columns := range []string{"contract_type, posted_at DESC, id DESC", "lat, lon", "remote"} {
		if _, err := pool.Exec(context.Background(), "CREATE INDEX ON listings ("+columns+") WHERE open"); err != nil {
			panic(err)
		}
	}

	if _, err := pool.Exec(context.Background(), "ANALYZE listings"); err != nil {
		panic(err)
	}

	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/latest", func(c *fiber.Ctx) error { return sendListings(c, pool, "") })
	app.Get("/search", func(c *fiber.Ctx) error {
		return sendListings(c, pool, " AND to_tsvector('english', title) @@ 'nurs'::tsquery") // the stem of nurse
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

// sendListings responds with the twenty latest open listings that match the filter, which is
// added to the WHERE clause.
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

	found := make([]limitListing, 0, 20)
	for rows.Next() {
		var l limitListing
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
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())

	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			// The server would block if nothing read its further output.
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://" + match[1]
		}
	}

	require.Fail(b, "the server did not start")

	return ""
}

// product is the program with its database.
type product struct {
	b        *testing.B
	dir      string
	database string        // its URL
	seeding  time.Duration // how long the demo data took to create
}

// newProduct returns the product with demo listings on Postgres.
func newProduct(b *testing.B, demoListings int) *product {
	b.Helper()

	p := &product{b: b, dir: b.TempDir(), database: kit.PostgresURL(b)}
	p.run("migrate", "up")

	start := time.Now()

	p.run("seed", "--listings", strconv.Itoa(demoListings))

	p.seeding = time.Since(start)

	return p
}

// command returns a command of the program. env extends and overrides the settings.
func (p *product) command(args []string, env ...string) *exec.Cmd {
	p.b.Helper()

	cmd := exec.Command(kit.Program(p.b), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LOCUM_DATABASE_URL="+p.database, "LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32", "LOCUM_HTTP_DRAIN=10ms", "LOCUM_LIMITS_SEARCH_CPU=0",
		"LOCUM_LOG_LEVEL=error")
	cmd.Env = append(cmd.Env, env...)

	return cmd
}

// run runs a command of the program, which must succeed.
func (p *product) run(args ...string) {
	p.b.Helper()

	out, err := p.command(args).CombinedOutput()
	require.NoError(p.b, err, "%s", out)
}

// startLimit starts the server that sets the limit, on the database of the product.
func (p *product) startLimit() (url string) {
	p.b.Helper()

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCUM_TEST_BENCH_LIMIT="+p.database)

	return spawn(p.b, cmd)
}

// prepareRequest fills in a request. n counts the requests of a measurement from 1, so that they
// can differ.
type prepareRequest func(r *fasthttp.Request, n int64)

// rate returns the number of responses per second to concurrent clients. No request may fail.
func rate(b *testing.B, prepare prepareRequest) float64 {
	b.Helper()
	var sent, responded, failed atomic.Int64
	client := &fasthttp.Client{MaxConnsPerHost: clients}
	end := time.Now().Add(roundFor)

	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			for time.Now().Before(end) {
				request.Reset()
				prepare(request, sent.Add(1))

				if err := client.Do(request, response); err != nil || response.StatusCode() >= 300 {
					failed.Add(1)
				}

				responded.Add(1)
			}
		})
	}

	running.Wait()
	require.Zero(b, failed.Load())

	return float64(responded.Load()) / roundFor.Seconds()
}

// minSignedIn is the least share of the anonymous rate that requests with a token reach.
const minSignedIn = 0.6

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

// minOfLimit is the least share of the limit that uncached lists must reach.
const minOfLimit = 0.85

// compareRates measures the rates of the product and of the limit alternately, so that a machine
// that slows down affects both, and returns the share of the limit that the product reaches.
func compareRates(b *testing.B, ours, limit prepareRequest) (share float64) {
	b.Helper()

	var ourRate, limitRate float64
	for range rounds {
		ourRate += rate(b, ours)
		limitRate += rate(b, limit)
	}

	b.ReportMetric(ourRate/rounds, "req/s")
	b.ReportMetric(limitRate/rounds, "limit-req/s")
	b.ReportMetric(ourRate/limitRate, "of-limit")
	b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here

	return ourRate / limitRate
}

// BenchmarkListings compares lists and searches of 20,000 listings with Fiber and pgx on the same
// rows. Requests with a different n are different for the cache.
func BenchmarkListings(b *testing.B) {
	product := newProduct(b, 20_000)
	url := product.serve().url
	limitURL := product.startLimit()
	getLimit := func(path string) prepareRequest {
		return func(r *fasthttp.Request, _ int64) { r.SetRequestURI(limitURL + path) }
	}
	getUncached := func(r *fasthttp.Request, n int64) { r.SetRequestURI(fmt.Sprintf("%s/api/listings?n=%d", url, n)) }
	b.Run("uncached", func(b *testing.B) {
		require.GreaterOrEqual(b, compareRates(b, getUncached, getLimit("/latest")), minOfLimit)
	})

	b.Run("cached", func(b *testing.B) {
		getCached := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(url + "/api/listings") }
		compareRates(b, getCached, getLimit("/latest"))
	})

	b.Run("signed in", func(b *testing.B) {
		token := register(b, url)
		getSignedIn := func(r *fasthttp.Request, n int64) {
			getUncached(r, n)
			r.Header.Set("Authorization", "Bearer "+token)
		}

		require.GreaterOrEqual(b, compareRates(b, getSignedIn, getUncached), minSignedIn)
	})

	b.Run("filtered", func(b *testing.B) {
		places := gazetteer.New()
		filters := func(n int64) (town, contract string, pay int64) {
			town = searchTowns[n%int64(len(searchTowns))]
			contract = listings.ContractTypes[n%int64(len(listings.ContractTypes))]
			return town, contract, 20_000 + n%20_000
		}

		ours := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			r.SetRequestURI(
				fmt.Sprintf("%s/api/listings?location=%s&contractType=%s&salary_min=%d", url, town, contract, pay))
		}

		limit := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			place, _ := places.Resolve(town)
			r.SetRequestURI(fmt.Sprintf("%s/filtered?lat=%v&lon=%v&contract=%s&pay=%d",
				limitURL, place.Lat, place.Lon, contract, pay))
		}

		require.GreaterOrEqual(b, compareRates(b, ours, limit), minOfLimit)
	})

	b.Run("search", func(b *testing.B) {
		search := func(r *fasthttp.Request, n int64) {
			r.SetRequestURI(url + "/api/listings/search")
			r.Header.SetMethod("POST")
			r.SetBodyString(fmt.Sprintf(`{"query":"nurse","n":%d}`, n))
		}

		compareRates(b, search, getLimit("/search"))
	})
}

// BenchmarkBatch compares one request that creates 100 listings with 100 requests that create one
// each.
func BenchmarkBatch(b *testing.B) {
	server := newProduct(b, 1_000).serve()
	token := server.registerEmployer()
	const size = 100
	const job = `{"title":"Staff Nurse","description":"Days and nights on a ward.","location":"Leeds"}`
	batch := `{"jobs":[` + strings.Repeat(job+",", size-1) + job + `]}`

	var batchTime, singleTime time.Duration
	for range rounds {
		start := time.Now()

		server.post(token, "/api/employers/jobs/batch", batch, http.StatusOK)

		batchTime += time.Since(start)

		start = time.Now()

		for range size {
			server.post(token, "/api/employers/jobs", job, http.StatusCreated)
		}

		singleTime += time.Since(start)
	}

	b.ReportMetric(float64(batchTime.Milliseconds())/rounds, "ms/batch")
	b.ReportMetric(float64(singleTime.Milliseconds())/rounds, "ms/100-requests")
	b.ReportMetric(float64(batchTime)/float64(singleTime), "of-limit")
	b.ReportMetric(0, "ns/op")
}
