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
	// minCachedPageRatio is the least acceptable ratio of two rates: cached pages of the product per
	// second, and responses per second of the reference server, which sends the same bytes from memory.
	minCachedPageRatio = 0.5

	// minUncachedPageRatio is the least acceptable ratio of two rates of the product: uncached pages
	// of results per second, and responses per second to the same searches as JSON with the same
	// facet counts.
	minUncachedPageRatio = 0.5

	// maxPageP95 is the highest acceptable 95th percentile of the latency of pages, with 1,000,000
	// listings.
	maxPageP95 = 50 * time.Millisecond

	// Of every pagesPerJob pages that are measured, one shows a job, and the others are pages of results.
	pagesPerJob = 10
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

	pageQuery := url.Values{}
	jsonQuery := url.Values{"facets": {pageFacets}}

	for name, value := range parameters {
		if pageName, isKnown := pageParameters[name]; isKnown {
			pageQuery[pageName] = value
			jsonQuery[name] = value
		}
	}

	return "/jobs?" + pageQuery.Encode(), "/api/listings?" + jsonQuery.Encode()
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

// BenchmarkSite measures how many pages per second guests get, with 100,000 listings. Cached pages
// are compared with the reference server, which sends the same bytes from memory. Pages that no
// cache has are compared with the same searches as JSON.
func BenchmarkSite(b *testing.B) {
	product := newProduct(b, 100_000)
	server := product.serve()

	referenceURL := product.startReference()

	for name, path := range map[string]string{
		"cached search": "/jobs?q=nurse&where=Leeds",
		"cached job":    server.jobPaths(1)[0],
	} {
		b.Run(name, func(b *testing.B) {
			status, page, err := fasthttp.Get(nil, server.url+path)
			require.NoError(b, err)
			require.Equal(b, fasthttp.StatusOK, status)
			putBytes(b, referenceURL, page)

			getCachedPage := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(server.url + path) }
			getBytes := func(r *fasthttp.Request, _ int64) { r.SetRequestURI(referenceURL + "/bytes") }
			ratio := compareRates(b, getCachedPage, getBytes)
			require.GreaterOrEqual(b, ratio, minCachedPageRatio)
		})
	}

	b.Run("uncached search", func(b *testing.B) {
		searches := newQueries(b).take(searchesPerRun)

		// The product ignores the parameter n. It makes the URLs differ, so that no cache answers.
		getPage := func(r *fasthttp.Request, n int64) {
			path, _ := searches[n%searchesPerRun].pagePaths(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}

		getJSON := func(r *fasthttp.Request, n int64) {
			_, path := searches[n%searchesPerRun].pagePaths(b)
			r.SetRequestURI(fmt.Sprintf("%s%s&n=%d", server.url, path, n))
		}

		ratio := compareRates(b, getPage, getJSON)
		require.GreaterOrEqual(b, ratio, minUncachedPageRatio)
	})
}

// putBytes stores a page in the memory of the reference server.
func putBytes(b *testing.B, referenceURL string, page []byte) {
	b.Helper()

	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	request.SetRequestURI(referenceURL + "/bytes")
	request.Header.SetMethod(fasthttp.MethodPut)
	request.SetBody(page)

	require.NoError(b, fasthttp.Do(request, response))
	require.Equal(b, fasthttp.StatusOK, response.StatusCode())
}

// measurePages requires that the 95th percentile of the latency of pages is at most maxPageP95. The benchmark of
// searches in a million listings calls it.
func measurePages(b *testing.B, s *server) {
	b.Helper()

	jobs := s.jobPaths(searchesPerRun / pagesPerJob)
	requests := newQueries(b).take(searchesPerRun)

	for i := range requests {
		if i%pagesPerJob == 0 {
			requests[i] = request{shape: "job", path: jobs[i/pagesPerJob]}
		} else {
			requests[i].path, _ = requests[i].pagePaths(b)
		}
	}

	const concurrentClients = 1
	pageLatencies := measureLatencies(b, s, concurrentClients, requests)

	slices.Sort(pageLatencies)

	p95 := reportPercentiles(b, pageLatencies)
	assert.LessOrEqual(b, p95, maxPageP95, "95 %% of pages, 1 client")
}
