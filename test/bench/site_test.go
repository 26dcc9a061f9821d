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
	minCachedPage   = 0.5                   // of the rate of Fiber, which serves the same bytes from memory
	minUncachedPage = 0.5                   // of the rate of the same searches as JSON, with the same facet counts
	maxPageLatency  = 50 * time.Millisecond // of 95 % of pages at 1,000,000 listings
)

// pageFacets are the facets whose counts a page of results shows.
const pageFacets = "role,specialty,band,contractType,employmentType,shift"

// pageParameters maps parameters of the JSON search to those of a page of results. A page has no
// other parameters.
var pageParameters = map[string]string{
	"search":       "q",
	"location":     "where",
	"radius":       "radius",
	"contractType": "contract",
	"salary_min":   "pay",
	"sort":         "sort",
	"page":         "page",
}

// pagePaths returns the path of the page of results for a search, and the path of the same
// search as JSON.
func (r request) pagePaths(tb testing.TB) (pagePath, jsonPath string) {
	tb.Helper()

	_, query, _ := strings.Cut(r.path, "?")
	parameters, err := url.ParseQuery(query)
	require.NoError(tb, err)

	ofPage := url.Values{}

	ofJSON := url.Values{"facets": {pageFacets}}
	for name, value := range parameters {
		if pageName, isKnown := pageParameters[name]; isKnown {
			ofPage[pageName] = value
			ofJSON[name] = value
		}
	}

	return "/jobs?" + ofPage.Encode(), "/api/listings?" + ofJSON.Encode()
}

// jobLink matches the link of a job on a page of results.
var jobLink = regexp.MustCompile(`"(/jobs/[0-9a-f-]{36}/[a-z0-9-]+)"`)

// jobPaths returns the paths of the first jobs on pages of results, at least n.
func (s *server) jobPaths(n int) []string {
	s.b.Helper()

	var paths []string
	for page := 1; len(paths) < n; page++ {
		_, body, err := fasthttp.Get(nil, fmt.Sprintf("%s/jobs?page=%d", s.url, page))
		require.NoError(s.b, err)

		links := jobLink.FindAllSubmatch(body, -1)
		require.NotEmpty(s.b, links)

		for _, link := range links {
			paths = append(paths, string(link[1]))
		}
	}

	return paths
}

// BenchmarkSite measures the pages for guests with 100,000 listings. The limit of cached pages is
// Fiber serving the same bytes from memory, and that of other pages is the same search as JSON.
func BenchmarkSite(b *testing.B) {
	product := newProduct(b, 100_000)
	server := product.serve()

	limitURL := product.startLimit()
	for name, path := range map[string]string{
		"cached search": "/jobs?q=nurse&where=Leeds",
		"cached job":    server.jobPaths(1)[0],
	} {
		b.Run(name, func(b *testing.B) {
			status, page, err := fasthttp.Get(nil, server.url+path)
			require.NoError(b, err)
			require.Equal(b, fasthttp.StatusOK, status)
			putBytes(b, limitURL, page)

			ours := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(server.url + path) }
			fromMemory := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(limitURL + "/bytes") }
			require.GreaterOrEqual(b, compareRates(b, ours, fromMemory), minCachedPage)
		})
	}

	b.Run("uncached search", func(b *testing.B) {
		requests := newQueries(b).take(searchesPerRun)
		getPage := func(r *fasthttp.Request, n int64) {
			path, _ := requests[n%searchesPerRun].pagePaths(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}

		getJSON := func(r *fasthttp.Request, n int64) {
			_, path := requests[n%searchesPerRun].pagePaths(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}

		require.GreaterOrEqual(b, compareRates(b, getPage, getJSON), minUncachedPage)
	})
}

// putBytes stores a page in the memory of the server that sets the limit.
func putBytes(b *testing.B, limitURL string, page []byte) {
	b.Helper()

	r, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	r.SetRequestURI(limitURL + "/bytes")
	r.Header.SetMethod(fasthttp.MethodPut)
	r.SetBody(page)
	require.NoError(b, fasthttp.Do(r, response))
	require.Equal(b, fasthttp.StatusOK, response.StatusCode())
}

// measurePages requires that the p95 of pages is within its limit. One page of ten shows a job,
// the others are pages of results.
func measurePages(b *testing.B, s *server) {
	b.Helper()

	jobs := s.jobPaths(searchesPerRun / 10)

	requests := newQueries(b).take(searchesPerRun)
	for i := range requests {
		if i%10 == 0 {
			requests[i] = request{shape: "job", path: jobs[i/10]}
		} else {
			requests[i].path, _ = requests[i].pagePaths(b)
		}
	}

	took := latencies(b, s, 1, requests)
	slices.Sort(took)
	assert.LessOrEqual(b, reportPercentiles(b, took), maxPageLatency, "95 %% of pages, 1 client")
}
