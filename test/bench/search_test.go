package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// searchesPerRun is the number of searches of one measurement. No two of them are the same, so
// that no cache answers them.
const searchesPerRun = 2_000

// Limits of the 95th percentile of the latency of searches.
const (
	maxP95With1Client  = 20 * time.Millisecond // with 1,000,000 listings
	maxP95With8Clients = 50 * time.Millisecond // with 1,000,000 listings

	// The latency with 1,000,000 listings may be maxP95Growth times the latency with 10,000. A
	// latency up to negligibleP95 is accepted in any case.
	maxP95Growth  = 3
	negligibleP95 = 10 * time.Millisecond
)

// Limits of a server with 1,000,000 listings.
const (
	maxRestartTime     = 3 * time.Second        // until a server with a search index is ready
	maxRebuildTime     = 5 * time.Minute        // until a server without a search index is ready
	maxRebuildMemoryMB = 1024                   // anonymous memory while the index is built
	maxIndexHeapMB     = 100.0                  // heap beyond that of a server with 10,000 listings
	maxVisibilityP95   = 100 * time.Millisecond // until a search on another server finds a new listing
)

// BenchmarkSearch measures searches of all shapes over HTTP, with 10,000, 100,000 and 1,000,000
// listings on Postgres. With 1,000,000 listings it also measures how long a server takes to build
// the search index and to open it, pages of results, and when another server finds a new listing.
// It compares the measurements with the limits above after all of them, so that a failure hides no
// other result.
func BenchmarkSearch(b *testing.B) {
	var smallP95, largeP95 map[int]time.Duration // with 10,000 and 1,000,000 listings, by number of clients
	var smallHeapMB, largeHeapMB float64         // with 10,000 and 1,000,000 listings, after a restart

	b.Run("10000", func(b *testing.B) {
		product := newProduct(b, 10_000)
		server := product.serve()
		smallP95 = measureSearches(b, server)
		server.stop()

		smallHeapMB = product.serve().heapMB()
	})

	b.Run("100000", func(b *testing.B) { measureSearches(b, newProduct(b, 100_000).serve()) })

	b.Run("1000000", func(b *testing.B) {
		product := newProduct(b, 1_000_000)
		b.Logf("seeded in %v", product.seedTime.Round(time.Second))

		var built, restarted *server // the server that builds the index, and one that opens it

		b.Run("rebuild", func(b *testing.B) {
			built = product.serve("GOMAXPROCS=2")
			built.report(b)
		})

		largeP95 = measureSearches(b, built)
		built.stop()

		// The second server of the visibility benchmark starts with a copy of the index.
		index := os.DirFS(filepath.Join(product.dir, "data", "search"))
		require.NoError(b, os.CopyFS(filepath.Join(product.dir, "second-index"), index))

		b.Run("restart", func(b *testing.B) {
			if restarted != nil {
				restarted.stop() // the benchmark is repeated
			}

			restarted = product.serve()
			largeHeapMB = restarted.heapMB()
			restarted.report(b)
			b.ReportMetric(largeHeapMB-smallHeapMB, "MB-heap-of-index")
		})

		b.Run("pages", func(b *testing.B) { measurePages(b, restarted) })

		var visibilityP95 time.Duration

		b.Run("visibility", func(b *testing.B) {
			second := product.serve("LOCUM_SEARCH_URL=embedded:second-index")
			visibilityP95 = measureVisibility(b, restarted, second)
		})

		assert.LessOrEqual(b, largeP95[1], maxP95With1Client, "95 %% of searches, 1 client")
		assert.LessOrEqual(b, largeP95[8], maxP95With8Clients, "95 %% of searches, 8 clients")

		if smallP95 != nil { // nil if the flag -bench selects only this benchmark
			maxGrownP95 := max(maxP95Growth*smallP95[1], negligibleP95)
			assert.LessOrEqual(b, largeP95[1], maxGrownP95, "95 %% of searches, 1 client; %v with 10,000 listings", smallP95[1])
		}

		assert.LessOrEqual(b, built.readyAfter, maxRebuildTime, "start without a search index")
		assert.LessOrEqual(b, built.anonymousMB, maxRebuildMemoryMB, "anonymous memory while the search index is built")
		assert.LessOrEqual(b, restarted.readyAfter, maxRestartTime, "start with a search index")
		assert.LessOrEqual(b, largeHeapMB-smallHeapMB, maxIndexHeapMB, "MB of heap more than with 10,000 listings")
		assert.LessOrEqual(b, visibilityP95, maxVisibilityP95, "95 %% of changes in another server")
	})
}

// measureSearches measures searches with 1 client and with 8 concurrent clients. It returns the 95th
// percentile of the latency by number of clients.
func measureSearches(b *testing.B, s *server) map[int]time.Duration {
	b.Helper()

	queries := newQueries(b)

	// The first searches load the files of the index into memory and are not measured.
	const warmUpSearches = 200

	measureLatencies(b, s, 1, queries.take(warmUpSearches))

	p95 := map[int]time.Duration{}
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d-clients", clients), func(b *testing.B) {
			var allLatencies []time.Duration
			byShape := map[string][]time.Duration{}

			cpuBefore := s.cpu()
			for b.Loop() {
				requests := queries.take(searchesPerRun)
				for i, latency := range measureLatencies(b, s, clients, requests) {
					allLatencies = append(allLatencies, latency)
					shape := requests[i].shape
					byShape[shape] = append(byShape[shape], latency)
				}
			}

			responses := float64(len(allLatencies))
			b.ReportMetric(responses/b.Elapsed().Seconds(), "req/s")
			b.ReportMetric(ms(s.cpu()-cpuBefore)/responses, "cpu-ms/req")
			slices.Sort(allLatencies)

			p95[clients] = reportPercentiles(b, allLatencies)
			b.Log(describeSlowest(byShape))
		})
	}

	return p95
}

// describeSlowest returns the five slowest shapes of searches, with their latencies. A shape is a kind of search, such as
// a role in a place (see shapes in queries_test.go).
func describeSlowest(byShape map[string][]time.Duration) string {
	const slowest = 5

	for _, latencies := range byShape {
		slices.Sort(latencies)
	}

	p95 := func(shape string) time.Duration { return percentile(byShape[shape], 95) }
	shapes := slices.SortedFunc(maps.Keys(byShape), func(x, y string) int { return cmp.Compare(p95(y), p95(x)) })

	var descriptions []string
	for _, shape := range shapes[:slowest] {
		p50 := percentile(byShape[shape], 50)
		descriptions = append(descriptions, fmt.Sprintf("%s %.1f (p50 %.1f)", shape, ms(p95(shape)), ms(p50)))
	}

	return "highest p95 in ms: " + strings.Join(descriptions, ", ")
}

// measureLatencies sends the requests from concurrent clients. It returns the latency of each
// request, in the order of the requests.
func measureLatencies(b *testing.B, s *server, clients int, requests []request) []time.Duration {
	b.Helper()

	latencies := make([]time.Duration, len(requests))

	// The channel contains the indexes of the requests that no client has sent yet.
	indexes := make(chan int, len(requests))
	for i := range requests {
		indexes <- i
	}

	close(indexes)

	var running sync.WaitGroup
	client := &fasthttp.Client{MaxConnsPerHost: clients}

	for range clients {
		running.Go(func() {
			for i := range indexes {
				start := time.Now()
				status, body, err := client.Get(nil, s.url+requests[i].path)

				latencies[i] = time.Since(start)
				if err != nil || status != fasthttp.StatusOK {
					b.Errorf("%s: %d %s %v", requests[i].path, status, body, err)
				}
			}
		})
	}

	running.Wait()

	return latencies
}

// percentile returns the value below which the given percentage of the sorted values lies.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reportPercentiles reports the 50th, 95th and 99th percentiles of the sorted latencies. It returns
// the 95th.
func reportPercentiles(b *testing.B, sorted []time.Duration) time.Duration {
	b.Helper()

	for _, percent := range []int{50, 95, 99} {
		b.ReportMetric(ms(percentile(sorted, percent)), fmt.Sprintf("p%d-ms", percent))
	}

	b.ReportMetric(0, "ns/op")

	return percentile(sorted, 95)
}

// report reports how long the server took to start and how much memory the start needed.
func (s *server) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(s.readyAfter.Seconds(), "s")
	b.ReportMetric(float64(s.anonymousMB), "MB-anonymous")
	b.ReportMetric(float64(s.residentMB), "MB-resident")
	b.ReportMetric(0, "ns/op")
}

// measureVisibility posts 50 listings per second to one server and searches for each of them on
// another server until it is found. It returns the 95th percentile of the time between the
// response to the post and the first search that finds the listing.
func measureVisibility(b *testing.B, writer, reader *server) time.Duration {
	b.Helper()
	const listings = 500
	const timeout = 10 * time.Second
	const listingsPerSecond = 50
	token := writer.registerEmployer()
	visibleAfter := make([]time.Duration, listings)
	var running sync.WaitGroup

	tick := time.NewTicker(time.Second / listingsPerSecond)
	defer tick.Stop()

	for i := range listings {
		<-tick.C
		running.Go(func() {
			word := fmt.Sprintf("vis%dible", i) // no other listing contains this word
			listing := fmt.Sprintf(
				`{"title":"Staff Nurse %s","description":"Days and nights on a ward.","location":"Leeds"}`, word)
			writer.post(token, "/api/employers/jobs", listing, http.StatusCreated)

			start := time.Now()
			for time.Since(start) < timeout {
				query := fmt.Sprintf(`{"query":"\"%s\""}`, word)
				result := reader.post(noToken, "/api/listings/search", query, http.StatusOK)

				isFound := !bytes.Contains(result, []byte(`"total":0`))
				if isFound {
					break
				}

				time.Sleep(5 * time.Millisecond)
			}

			visibleAfter[i] = time.Since(start)
		})
	}

	running.Wait()
	slices.Sort(visibleAfter)
	assert.Less(b, visibleAfter[listings-1], timeout, "a listing is not found")

	return reportPercentiles(b, visibleAfter)
}
