package bench

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

const (
	minCachedPage   = 0.5                   // of Fiber that serves the same bytes from memory
	minUncachedPage = 0.5                   // of the same searches as JSON, with the same numbers of results
	maxPageLatency  = 50 * time.Millisecond // of 95 % of pages at 1,000,000 listings
)

// pageFacets are the facets whose counts a page of results shows.
const pageFacets = "role,specialty,band,contractType,employmentType,shift"

// pageParameters maps parameters of the JSON search to those of a page of results.
var pageParameters = map[string]string{
	"search":       "q",
	"location":     "where",
	"radius":       "radius",
	"contractType": "contract",
	"salary_min":   "pay",
	"sort":         "sort",
	"page":         "page",
}

// page returns the path of the page of results, and of the same search as JSON.
func (r request) page(tb testing.TB) (page, asJSON string) {
	tb.Helper()
	_, query, _ := strings.Cut(r.path, "?")
	sent, err := url.ParseQuery(query)
	require.NoError(tb, err)
	values := url.Values{}
	for name, value := range sent {
		if parameter, ok := pageParameters[name]; ok {
			values[parameter] = value
		} else {
			sent.Del(name)
		}
	}
	sent.Set("facets", pageFacets)
	return "/jobs?" + values.Encode(), "/api/listings?" + sent.Encode()
}

var jobPath = regexp.MustCompile(`"(/jobs/[0-9a-f-]{36}/[a-z0-9-]+)"`)

// jobPaths returns the paths of the jobs on pages of results.
func (s *server) jobPaths(n int) []string {
	s.b.Helper()
	var paths []string
	for number := 1; len(paths) < n; number++ {
		_, body, err := fasthttp.Get(nil, fmt.Sprintf("%s/jobs?page=%d", s.url, number))
		require.NoError(s.b, err)
		found := jobPath.FindAllSubmatch(body, -1)
		require.NotEmpty(s.b, found)
		for _, match := range found {
			paths = append(paths, string(match[1]))
		}
	}
	return paths
}

// BenchmarkSite measures the pages for guests with 100,000 listings. The limit of cached pages is
// Fiber serving the same bytes from memory, and that of other pages is the same search as JSON.
func BenchmarkSite(b *testing.B) {
	product := newProduct(b, 100_000)
	server, limit := product.serve(), product.limit()
	jobs := server.jobPaths(400)
	for name, path := range map[string]string{"cached search": "/jobs?q=nurse&where=Leeds", "cached job": jobs[0]} {
		b.Run(name, func(b *testing.B) {
			status, page, err := fasthttp.Get(nil, server.url+path)
			require.NoError(b, err)
			require.Equal(b, fasthttp.StatusOK, status)
			putBytes(b, limit, page)
			ours := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(server.url + path) }
			fromMemory := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(limit + "/bytes") }
			require.GreaterOrEqual(b, compareRates(b, ours, fromMemory), minCachedPage)
		})
	}
	b.Run("uncached search", func(b *testing.B) {
		requests := newQueries(b).take(searchesPerRun)
		page := func(r *fasthttp.Request, n int64) {
			path, _ := requests[n%searchesPerRun].page(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}
		asJSON := func(r *fasthttp.Request, n int64) {
			_, path := requests[n%searchesPerRun].page(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}
		require.GreaterOrEqual(b, compareRates(b, page, asJSON), minUncachedPage)
	})
}

// putBytes stores a page in the memory of the server that sets the limit.
func putBytes(b *testing.B, limit string, page []byte) {
	b.Helper()
	r, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	r.SetRequestURI(limit + "/bytes")
	r.Header.SetMethod(fasthttp.MethodPut)
	r.SetBody(page)
	require.NoError(b, fasthttp.Do(r, response))
	require.Equal(b, fasthttp.StatusOK, response.StatusCode())
}

// measurePages requires that the p95 of pages of results and of jobs is within its limit.
func measurePages(b *testing.B, s *server) {
	b.Helper()
	jobs := s.jobPaths(searchesPerRun / 10)
	requests := newQueries(b).take(searchesPerRun)
	for i := range requests {
		if i%10 == 0 {
			requests[i] = request{"job", jobs[i/10]}
		} else {
			requests[i].path, _ = requests[i].page(b)
		}
	}
	took := latencies(b, s, 1, requests)
	slices.Sort(took)
	assert.LessOrEqual(b, reportPercentiles(b, took), maxPageLatency, "95 %% of pages, 1 client")
}
