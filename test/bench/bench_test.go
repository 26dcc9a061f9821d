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
	clients  = 8
	rounds   = 3
	roundFor = 2 * time.Second
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

type leastListing struct {
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

func serveLimit(url string) {
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		panic(err)
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	// Handwritten queries for the same questions, without counts, distances and
	// synonyms.
	const yearlyPay = "salary_max * CASE salary_period WHEN 'hour' THEN 1950 WHEN 'day' THEN 260 WHEN 'week' THEN 52 WHEN 'month' THEN 12 ELSE 1 END"
	for _, columns := range []string{"contract_type, posted_at DESC, id DESC", "lat, lon", "remote"} {
		if _, err := pool.Exec(context.Background(), "CREATE INDEX ON listings ("+columns+") WHERE open"); err != nil {
			panic(err)
		}
	}
	if _, err := pool.Exec(context.Background(), "ANALYZE listings"); err != nil {
		panic(err)
	}
	for path, where := range map[string]string{
		"/latest":   "",
		"/filtered": " AND contract_type = $1 AND " + yearlyPay + " >= 100 * $2 AND (lat BETWEEN $3 - 0.145 AND $3 + 0.145 AND lon BETWEEN $4 - 0.24 AND $4 + 0.24 OR remote)",
		"/search":   " AND to_tsvector('english', title) @@ 'nurs'::tsquery",
	} {
		app.Get(path, func(c *fiber.Ctx) error {
			var args []any
			if path == "/filtered" {
				args = []any{c.Query("contract"), c.QueryInt("pay"), c.QueryFloat("lat"), c.QueryFloat("lon")}
			}
			rows, err := pool.Query(
				c.Context(),
				`SELECT id::text, title, company, department, location, remote, specialty, contract_type, employment_type,
				salary_min, salary_max, salary_currency, salary_period, application_deadline, posted_at FROM listings
				WHERE open AND (application_deadline IS NULL OR application_deadline > now())`+where+` ORDER BY posted_at DESC, id DESC LIMIT 20`,
				args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			out := make([]leastListing, 0, 20)
			for rows.Next() {
				var l leastListing
				if err := rows.Scan(&l.ID, &l.Title, &l.Company, &l.Department, &l.Location, &l.Remote, &l.Specialty, &l.ContractType, &l.EmploymentType,
					&l.SalaryMin, &l.SalaryMax, &l.Currency, &l.Period, &l.Deadline, &l.PostedAt); err != nil {
					return err
				}
				out = append(out, l)
			}
			return c.JSON(fiber.Map{"success": true, "data": fiber.Map{"listings": out}})
		})
	}
	var page []byte
	app.Put("/bytes", func(c *fiber.Ctx) error {
		page = bytes.Clone(c.Body())
		return nil
	})
	app.Get("/bytes", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Send(page)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on %s)\n", l.Addr())
	if err := app.Listener(l); err != nil {
		panic(err)
	}
}

var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// spawn starts a server and returns its address.
func spawn(b *testing.B, cmd *exec.Cmd) string {
	b.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return "http://" + m[1]
		}
	}
	require.Fail(b, "the server did not start")
	return ""
}

// product is the program with its database.
type product struct {
	b             *testing.B
	dir, database string
	seeding       time.Duration
}

// newProduct returns the product with demo data on Postgres.
func newProduct(b *testing.B, n int) *product {
	b.Helper()
	built := &product{b: b, dir: b.TempDir(), database: kit.PostgresURL(b)}
	built.run("migrate", "up")
	start := time.Now()
	built.run("seed", "--listings", strconv.Itoa(n))
	built.seeding = time.Since(start)
	return built
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

func (p *product) run(args ...string) {
	p.b.Helper()
	out, err := p.command(args).CombinedOutput()
	require.NoError(p.b, err, "%s", out)
}

// limit starts the server that sets the limit, on the database of the product.
func (p *product) limit() (url string) {
	p.b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCUM_TEST_BENCH_LIMIT="+p.database)
	return spawn(p.b, cmd)
}

// rate returns the number of responses per second to concurrent clients.
func rate(b *testing.B, prepare func(r *fasthttp.Request, n int64)) float64 {
	b.Helper()
	var done, failed, n atomic.Int64
	client := &fasthttp.Client{MaxConnsPerHost: clients}
	end := time.Now().Add(roundFor)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			for time.Now().Before(end) {
				req.Reset()
				prepare(req, n.Add(1))
				if err := client.Do(req, resp); err != nil || resp.StatusCode() >= 300 {
					failed.Add(1)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(b, failed.Load())
	return float64(done.Load()) / roundFor.Seconds()
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

// compareRates measures both in turn, so that a machine that slows down slows both, and
// returns the share of the limit.
func compareRates(b *testing.B, ours, limit func(r *fasthttp.Request, n int64)) (share float64) {
	b.Helper()
	var o, l float64
	for range rounds {
		o += rate(b, ours)
		l += rate(b, limit)
	}
	b.ReportMetric(o/rounds, "req/s")
	b.ReportMetric(l/rounds, "limit-req/s")
	b.ReportMetric(o/l, "of-limit")
	b.ReportMetric(0, "ns/op")
	return o / l
}

// BenchmarkLatestListings is GET /api/listings beside Fiber and pgx with the
// same rows: without the cache, and with it.
func BenchmarkLatestListings(b *testing.B) {
	product := newProduct(b, 20_000)
	url, limit := product.serve().url, product.limit()
	byHand := func(path string) func(*fasthttp.Request, int64) {
		return func(r *fasthttp.Request, _ int64) { r.SetRequestURI(limit + path) }
	}
	latest := byHand("/latest")
	b.Run("uncached", func(b *testing.B) {
		ours := func(r *fasthttp.Request, n int64) { r.SetRequestURI(fmt.Sprintf("%s/api/listings?n=%d", url, n)) }
		require.GreaterOrEqual(b, compareRates(b, ours, latest), minOfLimit)
	})
	b.Run("cached", func(b *testing.B) {
		compareRates(b, func(r *fasthttp.Request, _ int64) { r.SetRequestURI(url + "/api/listings") }, latest)
	})
	b.Run("signed in", func(b *testing.B) {
		token := register(b, url)
		without := func(r *fasthttp.Request, n int64) { r.SetRequestURI(fmt.Sprintf("%s/api/listings?n=%d", url, n)) }
		with := func(r *fasthttp.Request, n int64) {
			without(r, n)
			r.Header.Set("Authorization", "Bearer "+token)
		}
		require.GreaterOrEqual(b, compareRates(b, with, without), minSignedIn)
	})
	b.Run("filtered", func(b *testing.B) {
		places := gazetteer.New()
		filters := func(n int64) (town, contract string, pay int64) {
			return searchTowns[n%int64(len(searchTowns))], listings.ContractTypes[n%int64(len(listings.ContractTypes))], 20_000 + n%20_000
		}
		ours := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			r.SetRequestURI(fmt.Sprintf("%s/api/listings?location=%s&contractType=%s&salary_min=%d", url, town, contract, pay))
		}
		least := func(r *fasthttp.Request, n int64) {
			town, contract, pay := filters(n)
			p, _ := places.Resolve(town)
			r.SetRequestURI(fmt.Sprintf("%s/filtered?lat=%v&lon=%v&contract=%s&pay=%d", limit, p.Lat, p.Lon, contract, pay))
		}
		require.GreaterOrEqual(b, compareRates(b, ours, least), minOfLimit)
	})
	b.Run("search", func(b *testing.B) {
		compareRates(b, func(r *fasthttp.Request, n int64) {
			r.SetRequestURI(url + "/api/listings/search")
			r.Header.SetMethod("POST")
			r.SetBodyString(fmt.Sprintf(`{"query":"nurse","n":%d}`, n))
		}, byHand("/search"))
	})
}

// BenchmarkBatch is 100 listings in one request beside 100 requests of one.
func BenchmarkBatch(b *testing.B) {
	server := newProduct(b, 1_000).serve()
	token := server.employer()
	job := `{"title":"Staff Nurse","description":"Days and nights on a ward.","location":"Leeds"}`
	jobs := `{"jobs":[` + job
	for range 99 {
		jobs += "," + job
	}
	jobs += "]}"
	var batch, single time.Duration
	for range rounds {
		begun := time.Now()
		server.post(token, "/api/employers/jobs/batch", jobs, 200)
		batch += time.Since(begun)
		begun = time.Now()
		for range 100 {
			server.post(token, "/api/employers/jobs", job, 201)
		}
		single += time.Since(begun)
	}
	b.ReportMetric(float64(batch.Milliseconds())/rounds, "ms/batch")
	b.ReportMetric(float64(single.Milliseconds())/rounds, "ms/100-requests")
	b.ReportMetric(float64(batch)/float64(single), "of-limit")
	b.ReportMetric(0, "ns/op")
}
