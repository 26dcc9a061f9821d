package e2e

import (
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// links returns the addresses of the links of a page whose content matches the regular
// expression.
func (p pageView) links(text string) (out []string) {
	for _, m := range regexp.MustCompile(`(?s)<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(p.text, -1) {
		if regexp.MustCompile(text).MatchString(m[2]) {
			out = append(out, html.UnescapeString(m[1]))
		}
	}
	return out
}

// TestSite_FindingJobs follows a guest through the site: home page, search with a typing error,
// filters with their numbers of results, unknown places, the job and its employer.
func TestSite_FindingJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		post := func(title, location string, more object) string {
			in := object{"title": title, "location": location, "description": "Days and nights.\n\n- Give medicines\n- Lead handovers"}
			for name, value := range more {
				in[name] = value
			}
			return boss.listing(in)
		}
		leeds := post(
			"Staff Nurse, ICU",
			"Leeds",
			object{
				"contractType":   "permanent",
				"employmentType": "full-time",
				"salary":         object{"min": 17.5, "max": 21.3, "period": "hour"},
				"specialty":      "Intensive Care",
			},
		)
		bradford := post("Staff Nurse, Theatres", "Bradford", object{"contractType": "temporary", "employmentType": "bank"})
		post("Hospital Porter", "Truro", nil)
		browser := server.browser(t)
		open := func(path string) pageView {
			page := browser.open("GET", path, nil)
			require.Equal(t, 200, page.status, page.text)
			return page
		}

		home := open("/")
		for _, want := range []string{"3 open jobs", "Hospital Porter", "/jobs?role=", "application/atom+xml"} {
			require.Contains(t, home.text, want)
		}
		for _, page := range []string{"Help", "Privacy"} {
			require.Contains(t, open(home.links(page)[0]).text, "<h1>"+page+"</h1>")
		}
		found := open("/jobs?q=nusre&where=Leeds&sort=distance")
		for _, want := range []string{
			"2 jobs", "Showing results for <strong>nurse</strong>", "£17.50 to £21.30 an hour",
			"less than a mile away", "Role: ",
		} {
			require.Contains(t, found.text, want)
		}
		require.Less(t, strings.Index(found.text, leeds), strings.Index(found.text, bradford), "the nearer one is first")
		filtered := open("/jobs?q=nurse&contract=temporary")
		require.Contains(t, filtered.text, "1 job<")
		require.Contains(t, filtered.text, bradford)
		require.Equal(t, []string{"/jobs?q=nurse"}, filtered.links("Contract: Temporary"))
		require.Equal(t, []string{"/jobs?contract=temporary"}, filtered.links("Role: "))
		none := open("/jobs?q=nurse&where=Truro")
		require.Contains(t, none.text, "No jobs found")
		require.Equal(t, 400, browser.open("GET", "/jobs?contract=eternal", nil).status)
		unknown := open("/jobs?q=nurse&where=Leexyzzy")
		for _, want := range []string{"We do not know the place “Leexyzzy”", `href="/jobs?q=nurse">search everywhere`, `value="Leexyzzy"`} {
			require.Contains(t, unknown.text, want)
		}
		require.Contains(t, open(unknown.links("Leeds")[0]).text, leeds)
		require.NotContains(t, none.text, "We do not know")
		require.Equal(t, 400, browser.open("GET", "/jobs?sort=sideways", nil).status)
		// £30,000 a year; 21.30 an hour are 41,535.
		require.Contains(t, open("/jobs?pay=%C2%A330,000").text, "1 job<")

		job := open("/jobs/" + leeds)
		canonical := "/jobs/" + leeds + "/staff-nurse-icu"
		require.Contains(t, job.text, `<link rel="canonical" href="`+issuer+canonical+`">`)
		for _, want := range []string{"<li>Give medicines</li>", "<dt>Working pattern</dt><dd>Full time</dd>", "Similar jobs", bradford} {
			require.Contains(t, open(canonical).text, want)
		}
		employer := open(job.links("St Brigid")[0])
		require.Contains(t, employer.text, "3 open jobs")
		for _, missing := range []string{"/jobs/nonsense", "/employers/nonsense", "/employers/st-brigids-" + leeds} {
			require.Equal(t, 404, browser.open("GET", missing, nil).status, missing)
		}

		post("Clinical Nurse Specialist", "Leeds", object{"specialty": "Cardiology"})
		post("Join our team", "Leeds", object{"description": "We are looking for a registered nurse, band 6, for nights."})
		for _, search := range []string{"", "q=nurse", "q=nurse&where=Leeds"} {
			values, err := url.ParseQuery(search)
			require.NoError(t, err)
			// The number beside a filter is that of the results with the filter.
			filters := filterCount.FindAllStringSubmatch(open("/jobs?"+search).text, -1)
			require.Greater(t, len(filters), 5)
			for _, filter := range filters {
				narrowed := maps.Clone(values)
				narrowed.Set(filter[1], filter[2])
				require.Contains(t, open("/jobs?"+narrowed.Encode()).text, `<h2 role="status">`+filter[3]+" job", "%s %s", search, filter[1:])
			}
		}
	})
}

// filterCount matches a filter with its parameter, its value and the number of its results.
var filterCount = regexp.MustCompile(`name="(\w+)" value="([^"]*)"> <span>[^<]*</span> <span class="soft">(\d+)<`)

// TestSite_PagesOfResults follows the links between pages of results: 45 jobs on three pages,
// each once.
func TestSite_PagesOfResults(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		for range 45 {
			boss.listing(object{"title": "Registered Nurse", "location": "York"})
		}
		browser := server.browser(t)
		seen := map[string]bool{}
		for path := "/jobs?q=nurse"; path != ""; {
			page := browser.open("GET", path, nil)
			for _, link := range page.links("Registered Nurse") {
				require.False(t, seen[link], "%s is on two pages", link)
				seen[link] = true
			}
			path = ""
			for _, next := range page.links("^<span class=\"unseen\">Page") {
				if target, err := url.Parse(next); err == nil && !seen[target.Query().Get("page")] && target.Query().Get("page") != "1" {
					seen[target.Query().Get("page")] = true
					path = next
					break
				}
			}
		}
		require.Len(t, seen, 45+2) // the jobs, and the numbers of pages 2 and 3
		require.Contains(t, browser.open("GET", "/jobs?q=nurse&page=3", nil).text, "Showing 41 to 45")
	})
}

// parseFeed parses a feed. It returns the number of elements by name, and the text.
func parseFeed(t *testing.T, feed string) (elements map[string]int, text string) {
	t.Helper()
	decoder, elements := xml.NewDecoder(strings.NewReader(feed)), map[string]int{}
	for {
		token, err := decoder.Token()
		if token == nil {
			require.ErrorContains(t, err, "EOF")
			return elements, text
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			text += string(token)
		}
	}
}

// TestSite_Feeds_CharactersInvalidInXML_AreReplaced checks that one listing with such
// characters does not make a feed unreadable.
func TestSite_Feeds_CharactersInvalidInXML_AreReplaced(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		title := "Nurse \x08 ]]> \ufffe \U0001F600"
		server.employer(t).listing(object{"title": title, "description": title})
		for _, path := range []string{"/feeds/jobs.atom", "/feeds/jobs.xml"} {
			elements, text := parseFeed(t, server.browser(t).open("GET", path, nil).text)
			require.Equal(t, 2, elements["title"]+elements["job"], path)
			require.Contains(t, text, "Nurse \ufffd ]]> \ufffd \U0001F600", path)
		}
	})
}

// TestSite_FeedsAndCaching checks that feeds are well-formed with hostile text, and that only
// the pages of guests are for shared caches.
func TestSite_FeedsAndCaching(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		const wicked = `Nurse ]]> & <script>alert(1)</script>`
		id := boss.listing(object{"title": wicked, "location": "Leeds", "description": wicked})
		boss.listing(object{"title": "Porter", "location": "Truro"})
		browser := server.browser(t)
		for path, want := range map[string]string{"/feeds/jobs.atom?where=Leeds": "entry", "/feeds/jobs.xml?where=Leeds": "job"} {
			feed := browser.open("GET", path, nil)
			require.Equal(t, 200, feed.status)
			elements, text := parseFeed(t, feed.text)
			require.Equal(t, 1, elements[want], path)
			require.Contains(t, text, wicked)
			require.Contains(t, feed.text, issuer+"/jobs/"+id)
		}
		require.Contains(t, browser.open("GET", "/robots.txt", nil).text, "Sitemap: "+issuer+"/sitemap.xml")
		require.Contains(t, browser.open("GET", "/site.webmanifest", nil).header.Get("Content-Type"), "application/manifest+json")

		page := browser.open("GET", "/jobs/"+id, nil)
		require.Contains(t, page.header.Get("Cache-Control"), "public")
		require.NotContains(t, page.text, "<script>alert")
		request, err := http.NewRequest(http.MethodGet, server.url+"/jobs/"+id, nil)
		require.NoError(t, err)
		request.Header.Set("If-None-Match", page.header.Get("ETag"))
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 304, response.StatusCode)
		private := server.signedIn(t, boss).open("GET", "/jobs/"+id, nil)
		require.NotContains(t, private.header.Get("Cache-Control"), "public")
		require.Contains(t, private.text, "Sign out")
	})
}

// TestSite_Disabled_ServesJobsAlone checks that LOCUM_SITE_ENABLED=false leaves the pages of
// single jobs, to which webhooks and the API link.
func TestSite_Disabled_ServesJobsAlone(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		id := server.employer(t).listing(nil)
		browser := server.browser(t)
		require.Equal(t, 200, browser.open("GET", "/jobs/"+id, nil).status)
		require.Equal(t, "/docs", browser.open("GET", "/", nil).header.Get("Location"))
		require.Equal(t, 404, browser.open("GET", "/jobs", nil).status)
	}, "LOCUM_SITE_ENABLED=false")
}

// TestSite_ClosedJob_KeepsItsPageForAWhile checks that a job that is not open has a page
// without an application form, or 410 Gone if it was archived or deleted, and that sitemaps
// have open jobs only.
func TestSite_ClosedJob_KeepsItsPageForAWhile(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		browser := server.browser(t)
		for name, c := range map[string]struct {
			change func(id string)
			status int
		}{
			"open":     {func(string) {}, 200},
			"closed":   {func(id string) { boss.put("/api/employers/jobs/"+id, object{"status": "closed"}).ok(200) }, 200},
			"inactive": {func(id string) { boss.put("/api/employers/jobs/"+id, object{"status": "inactive"}).ok(200) }, 200},
			"archived": {func(id string) { boss.post("/api/listings/"+id+"/archive", nil).ok(200) }, 410},
			"deleted":  {func(id string) { boss.delete("/api/employers/jobs/" + id).ok(200) }, 410},
		} {
			id := boss.listing(object{"title": "Porter " + name})
			c.change(id)
			page := browser.open("GET", "/jobs/"+id, nil)
			require.Equal(t, c.status, page.status, name)
			require.Equal(t, name == "open", strings.Contains(page.text, "/apply"), name)
			require.Equal(t, name == "open", strings.Contains(page.text, "JobPosting"), name)
		}
		index := browser.open("GET", "/sitemap.xml", nil)
		part := regexp.MustCompile(`<loc>` + issuer + `(/sitemaps/jobs-[^<]*)</loc>`).FindStringSubmatch(index.text)
		require.NotNil(t, part, index.text)
		jobs := browser.open("GET", part[1], nil)
		require.Equal(t, 1, strings.Count(jobs.text, "/porter-"), jobs.text)
		require.Contains(t, jobs.text, "/porter-open</loc>")
		for _, name := range []string{
			"jobs-x.xml", "jobs-1_x.xml", "jobs--1_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml",
			"jobs-99999999999999999999_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml",
		} {
			require.Equal(t, 404, browser.open("GET", "/sitemaps/"+name, nil).status, name)
		}
		require.Equal(t, 200, browser.open("GET", "/sitemaps/jobs-1_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml", nil).status)
	})
}

// TestSite_CachedPages_AreThoseOfGuests opens a job often enough that the server responds from
// its cache, and checks that users get their own pages and that views are still counted.
func TestSite_CachedPages_AreThoseOfGuests(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.listing(nil)
		const guests = 20
		for range guests {
			page := server.browser(t).open("GET", "/jobs/"+id, nil)
			require.Equal(t, 200, page.status)
			require.Contains(t, page.header.Get("Vary"), "Cookie")
			require.Equal(t, "public, max-age=60", page.header.Get("Cache-Control"))
			require.NotEmpty(t, page.header.Get("Link"))
			require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
			require.Contains(t, page.text, "Sign in")
		}
		own := server.signedIn(t, boss).open("GET", "/jobs/"+id, nil)
		require.Contains(t, own.text, "Sign out")
		require.NotContains(t, own.header.Get("Cache-Control"), "public")
		views := func() float64 {
			return boss.get("/api/employers/jobs/" + id + "/analytics").ok(200).number("data.views")
		}
		require.Eventually(t, func() bool { return views() >= guests }, waitTimeout, 20*time.Millisecond)
		require.InDelta(t, guests, views(), 0, "also the pages from the cache are counted, but not those of the organization")
	})
}

// TestSite_SitemapParts_AreLimited checks that a client can read 30 parts of the sitemap a
// minute, because each has up to 50,000 jobs.
func TestSite_SitemapParts_AreLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		part := func(n int) string {
			return fmt.Sprintf("/sitemaps/jobs-%d_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml", n)
		}
		crawler := server.browser(t)
		for n := range 30 {
			require.Equal(t, 200, crawler.open("GET", part(n), nil).status)
		}
		require.Equal(t, 429, crawler.open("GET", part(30), nil).status)
		require.Equal(t, 200, server.browser(t).open("GET", part(31), nil).status, "another client")
	})
}

// TestSite_Feeds_AreLimited checks that a client can read 60 feeds a minute in both formats
// together, because each is a search.
func TestSite_Feeds_AreLimited(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		reader := server.browser(t)
		for n := range 60 {
			path := []string{"/feeds/jobs.atom", "/feeds/jobs.xml"}[n%2] + fmt.Sprintf("?q=%d", n)
			require.Equal(t, 200, reader.open("GET", path, nil).status)
		}
		require.Equal(t, 429, reader.open("GET", "/feeds/jobs.xml?q=60", nil).status)
		require.Equal(t, 200, server.browser(t).open("GET", "/feeds/jobs.xml?q=61", nil).status, "another client")
	})
}

// TestSite_EmbeddedJobs_ForAllowedOriginsOnly checks that the configured origins can show an
// employer's jobs in a frame, and that no other page of the site can be framed (clickjacking).
func TestSite_EmbeddedJobs_ForAllowedOriginsOnly(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.listing(object{"title": `Nurse <script>alert(1)</script>`})
		guest := server.browser(t)
		employer := regexp.MustCompile(`/employers/[a-z0-9-]+`).FindString(guest.page("/jobs/" + id))
		for range 3 { // the first is rendered, the others come from the cache
			board := guest.open("GET", employer+"/embed", nil)
			require.Equal(t, 200, board.status)
			require.Contains(t, board.header.Get("Content-Security-Policy"),
				"frame-ancestors https://www.hospital.example https://careers.example;")
			require.Empty(t, board.header.Get("X-Frame-Options"))
			require.Contains(t, board.text, "/jobs/"+id)
			require.NotContains(t, board.text, "<script")
			require.NotContains(t, board.text, "<form")
		}
		require.Contains(
			t,
			server.signedIn(t, boss).page("/employer/organization"),
			html.EscapeString(
				`<script src="`+issuer+`/widget.js" data-employer="`+strings.TrimPrefix(employer, "/employers/")+`" async></script>`,
			),
		)
		require.Contains(t, guest.open("GET", "/widget.js", nil).header.Get("Content-Type"), "text/javascript")
		require.Equal(t, 404, guest.open("GET", "/employers/nobody/embed", nil).status)
		for _, path := range []string{"/", employer, "/jobs/" + id, "/sign-in"} {
			page := guest.open("GET", path, nil)
			require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
			require.Equal(t, "DENY", page.header.Get("X-Frame-Options"), path)
		}
	}, "LOCUM_SITE_EMBED_ORIGINS=https://www.hospital.example,https://careers.example")
}

// TestSite_NoEmbedOrigins_HasNoEmbeddedJobs checks that embedding is off by default, with its
// page, script and instructions.
func TestSite_NoEmbedOrigins_HasNoEmbeddedJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		guest := server.browser(t)
		employer := regexp.MustCompile(`/employers/[a-z0-9-]+`).FindString(guest.page("/jobs/" + boss.listing(nil)))
		for _, path := range []string{employer + "/embed", "/widget.js"} {
			require.Equal(t, 404, guest.open("GET", path, nil).status, path)
		}
		require.NotContains(t, server.signedIn(t, boss).page("/employer/organization"), "widget.js")
	})
}

// TestSite_UnknownPath_ShowsAPageToBrowsers checks that a 404 is a page for browsers and JSON
// for programs and below /api/.
func TestSite_UnknownPath_ShowsAPageToBrowsers(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for path, wantsPage := range map[string]bool{"/nope": true, "/account/nope": true, "/api/nope": false} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+path, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
			resp, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 404, resp.StatusCode, path)
			require.Equal(t, wantsPage, strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"), path)
			require.NotEmpty(t, resp.Header.Get("X-Request-Id"), path)
		}
		require.Equal(t, "Not found", server.guest(t).try(http.MethodGet, "/nope", nil).at("error"), "programs get JSON")
	})
}

// TestSite_AlertOfFilteredSearch_KeepsItsConditions checks that the link to a job alert carries
// over the filters of the search; a role becomes a search word.
func TestSite_AlertOfFilteredSearch_KeepsItsConditions(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		server.employer(t).listing(object{"title": "Staff Nurse", "location": "Leeds", "contractType": "permanent"})
		guest := server.browser(t)
		results := guest.page("/jobs?role=nurse&where=Leeds&contract=permanent")
		require.Contains(t, results, `href="/job-alerts?contract=permanent&amp;q=Nurse&amp;where=Leeds"`)
	})
}
