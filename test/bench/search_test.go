package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

const (
	// searchesPerRun is the number of searches of one measurement, no two of them the
	// same, so that no cache answers them.
	searchesPerRun = 2_000

	maxLatency1      = 20 * time.Millisecond // of 95 % at 1,000,000 listings and 1 client
	maxLatency8      = 50 * time.Millisecond // with 8 clients
	maxGrowth        = 3                     // of that from 10,000 listings to 1,000,000 at 1 client
	negligible       = 10 * time.Millisecond // from which on growth counts
	maxRestart       = 3 * time.Second
	maxRebuild       = 5 * time.Minute
	maxRebuildMemory = 1024                   // MB
	maxImageHeap     = 100.0                  // MB
	maxVisibility    = 100 * time.Millisecond // of 95 % of changes in another server
)

// BenchmarkSearch measures searches of all kinds over HTTP with 10,000, 100,000 and
// 1,000,000 listings on Postgres, and with 1,000,000 also how long the search index
// takes to be built and opened, and when another server shows a change. It fails
// beyond the limits above, but measures everything first.
func BenchmarkSearch(b *testing.B) {
	var small, large map[int]time.Duration // latency of 95 % by number of clients
	var smallHeap, largeHeap float64
	b.Run("10000", func(b *testing.B) {
		product := newProduct(b, 10_000)
		server := product.serve()
		small = measureSearches(b, server)
		server.stop()
		smallHeap = product.serve().heap()
	})
	b.Run("100000", func(b *testing.B) { measureSearches(b, newProduct(b, 100_000).serve()) })
	b.Run("1000000", func(b *testing.B) {
		product := newProduct(b, 1_000_000)
		b.Logf("seeded in %v", product.seeding.Round(time.Second))
		var built, restarted *server
		b.Run("rebuild", func(b *testing.B) {
			built = product.serve("GOMAXPROCS=2")
			built.report(b)
		})
		large = measureSearches(b, built)
		built.stop()
		require.NoError(b, os.CopyFS(filepath.Join(product.dir, "of-two"), os.DirFS(filepath.Join(product.dir, "data", "search"))))
		b.Run("restart", func(b *testing.B) {
			if restarted != nil {
				restarted.stop() // the benchmark is repeated
			}
			restarted = product.serve()
			largeHeap = restarted.heap()
			restarted.report(b)
			b.ReportMetric(largeHeap-smallHeap, "MB-heap-of-index")
		})
		b.Run("pages", func(b *testing.B) { measurePages(b, restarted) })
		var visible time.Duration
		b.Run("visibility", func(b *testing.B) {
			visible = measureVisibility(b, restarted, product.serve("LOCUM_SEARCH_URL=embedded:of-two"))
		})

		assert.LessOrEqual(b, large[1], maxLatency1, "95 %% of searches, 1 client")
		assert.LessOrEqual(b, large[8], maxLatency8, "95 %% of searches, 8 clients")
		if small != nil { // -bench may select this part alone
			assert.LessOrEqual(b, large[1], max(maxGrowth*small[1], negligible),
				"95 %% of searches, 1 client; %v with 10,000 listings", small[1])
		}
		assert.LessOrEqual(b, built.ready, maxRebuild, "start without a search index")
		assert.LessOrEqual(b, built.anonymous, maxRebuildMemory, "MB of anonymous memory while the search index is built")
		assert.LessOrEqual(b, restarted.ready, maxRestart, "start with a search index")
		assert.LessOrEqual(b, largeHeap-smallHeap, maxImageHeap, "MB of heap more than with 10,000 listings")
		assert.LessOrEqual(b, visible, maxVisibility, "95 %% of changes in another server")
	})
}

// measureSearches returns the 95th percentile of the latency by number of clients.
func measureSearches(b *testing.B, s *server) map[int]time.Duration {
	b.Helper()
	queries := newQueries(b)
	latencies(b, s, 1, queries.take(200)) // so that the measured ones do not read files first
	p95 := map[int]time.Duration{}
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d-clients", n), func(b *testing.B) {
			var rates []time.Duration
			byShape := map[string][]time.Duration{}
			cpu := s.cpu()
			for b.Loop() {
				requests := queries.take(searchesPerRun)
				for i, took := range latencies(b, s, n, requests) {
					rates = append(rates, took)
					byShape[requests[i].shape] = append(byShape[requests[i].shape], took)
				}
			}
			b.ReportMetric(float64(len(rates))/b.Elapsed().Seconds(), "req/s")
			b.ReportMetric(ms(s.cpu()-cpu)/float64(len(rates)), "cpu-ms/req")
			slices.Sort(rates)
			p95[n] = reportPercentiles(b, rates)
			b.Log(slowest(byShape))
		})
	}
	return p95
}

// slowest describes the five slowest shapes of searches.
func slowest(byShape map[string][]time.Duration) string {
	for _, list := range byShape {
		slices.Sort(list)
	}
	p95 := func(shape string) time.Duration { return percentile(byShape[shape], 95) }
	names := slices.SortedFunc(maps.Keys(byShape), func(x, y string) int { return cmp.Compare(p95(y), p95(x)) })[:5]
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.1f (p50 %.1f)", name, ms(p95(name)), ms(percentile(byShape[name], 50)))
	}
	return "highest p95 in ms: " + strings.Join(names, ", ")
}

// latencies sends the requests and returns how long each took.
func latencies(b *testing.B, s *server, clients int, requests []request) []time.Duration {
	b.Helper()
	took := make([]time.Duration, len(requests))
	var next atomic.Int64
	var running sync.WaitGroup
	client := &fasthttp.Client{MaxConnsPerHost: clients}
	for range clients {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(requests); i = int(next.Add(1)) - 1 {
				start := time.Now()
				status, body, err := client.Get(nil, s.url+requests[i].path)
				took[i] = time.Since(start)
				if err != nil || status != fasthttp.StatusOK {
					b.Errorf("%s: %d %s %v", requests[i].path, status, body, err)
				}
			}
		})
	}
	running.Wait()
	return took
}

// percentile returns a percentile of a sorted list.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reportPercentiles reports percentiles of the sorted list and returns the 95th.
func reportPercentiles(b *testing.B, sorted []time.Duration) time.Duration {
	b.Helper()
	for _, percent := range []int{50, 95, 99} {
		b.ReportMetric(ms(percentile(sorted, percent)), fmt.Sprintf("p%d-ms", percent))
	}
	b.ReportMetric(0, "ns/op")
	return percentile(sorted, 95)
}

// report reports how long the server took to start and how much memory it uses.
func (s *server) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(s.ready.Seconds(), "s")
	b.ReportMetric(float64(s.anonymous), "MB-anonymous")
	b.ReportMetric(float64(s.resident), "MB-resident")
	b.ReportMetric(0, "ns/op")
}

// measureVisibility posts 50 listings per second to one server and searches for each of them on
// another server until it is found. It returns the 95th percentile of the time between the
// response to the post and the first search that finds the listing.
func measureVisibility(b *testing.B, one, two *server) time.Duration {
	b.Helper()
	const changes = 500
	token := one.employer()
	took := make([]time.Duration, changes)
	var posting sync.WaitGroup
	tick := time.NewTicker(time.Second / 50)
	defer tick.Stop()
	for i := range changes {
		<-tick.C
		posting.Go(func() {
			word := fmt.Sprintf("vis%dible", i)
			one.post(token, "/api/employers/jobs",
				fmt.Sprintf(`{"title":"Staff Nurse %s","description":"Days and nights on a ward.","location":"Leeds"}`, word),
				201)
			start := time.Now()
			for time.Since(start) < 10*time.Second && bytes.Contains(two.post("", "/api/listings/search", fmt.Sprintf(`{"query":"\"%s\""}`, word), 200), []byte(`"total":0`)) {
				time.Sleep(5 * time.Millisecond)
			}
			took[i] = time.Since(start)
		})
	}
	posting.Wait()
	slices.Sort(took)
	assert.Less(b, took[changes-1], 10*time.Second, "a change was missed")
	return reportPercentiles(b, took)
}
