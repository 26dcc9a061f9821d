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

// anchor matches a link of a page, with its address and its content.
var anchor = regexp.MustCompile(`(?s)<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`)

// links returns the addresses of the links of a page whose content matches the regular
// expression.
func (p pageView) links(contentPattern string) (addresses []string) {
	content := regexp.MustCompile(contentPattern)
	for _, match := range anchor.FindAllStringSubmatch(p.text, -1) {
		if content.MatchString(match[2]) {
			addresses = append(addresses, html.UnescapeString(match[1]))
		}
	}

	return addresses
}

// TestSite_FindingJobs checks what a guest meets on the way to a job: home page, search with a
// typing error, filters with their numbers of results, unknown places, the job and its employer.
func TestSite_FindingJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		createListing := func(title, location string, more object) (id string) {
			listing := object{
				"title":       title,
				"location":    location,
				"description": "Days and nights.\n\n- Give medicines\n- Lead handovers",
			}
			maps.Copy(listing, more)

			return boss.listing(listing)
		}

		leeds := createListing("Staff Nurse, ICU", "Leeds", object{
			"contractType":   "permanent",
			"employmentType": "full-time",
			"salary":         object{"min": 17.5, "max": 21.3, "period": "hour"},
			"specialty":      "Intensive Care",
		})
		bradford := createListing("Staff Nurse, Theatres", "Bradford", object{
			"contractType":   "temporary",
			"employmentType": "bank",
		})
		createListing("Hospital Porter", "Truro", nil)

		browser := server.browser(t)
		open := func(path string) pageView {
			page := browser.open("GET", path, nil)
			require.Equal(t, 200, page.status, page.text)
			return page
		}

		t.Run("home page", func(t *testing.T) {
			home := open("/")
			for _, want := range []string{"3 open jobs", "Hospital Porter", "/jobs?role=", "application/atom+xml"} {
				require.Contains(t, home.text, want)
			}

			for _, page := range []string{"Help", "Privacy"} {
				require.Contains(t, open(home.links(page)[0]).text, "<h1>"+page+"</h1>")
			}
		})

		t.Run("search with a typing error", func(t *testing.T) {
			results := open("/jobs?q=nusre&where=Leeds&sort=distance")
			for _, want := range []string{
				"2 jobs", "Showing results for <strong>nurse</strong>", "£17.50 to £21.30 an hour",
				"less than a mile away", "Role: ",
			} {
				require.Contains(t, results.text, want)
			}

			require.Less(t, strings.Index(results.text, leeds), strings.Index(results.text, bradford), "the nearer one is first")
		})

		t.Run("filters", func(t *testing.T) {
			filtered := open("/jobs?q=nurse&contract=temporary")
			require.Contains(t, filtered.text, "1 job<")
			require.Contains(t, filtered.text, bradford)

			// A filter in use is a link to the results without it.
			require.Equal(t, []string{"/jobs?q=nurse"}, filtered.links("Contract: Temporary"))
			require.Equal(t, []string{"/jobs?contract=temporary"}, filtered.links("Role: "))

			// £30,000 a year: 21.30 an hour are 41,535.
			require.Contains(t, open("/jobs?pay=%C2%A330,000").text, "1 job<")
		})

		t.Run("no results", func(t *testing.T) {
			results := open("/jobs?q=nurse&where=Truro")
			require.Contains(t, results.text, "No jobs found")
			require.NotContains(t, results.text, "We do not know")
		})

		t.Run("unknown place", func(t *testing.T) {
			results := open("/jobs?q=nurse&where=Leexyzzy")
			for _, want := range []string{
				"We do not know the place “Leexyzzy”",
				`href="/jobs?q=nurse">search everywhere`,
				`value="Leexyzzy"`,
			} {
				require.Contains(t, results.text, want)
			}

			suggestedPlace := results.links("Leeds")[0]
			require.Contains(t, open(suggestedPlace).text, leeds)
		})

		t.Run("invalid parameters", func(t *testing.T) {
			require.Equal(t, 400, browser.open("GET", "/jobs?contract=eternal", nil).status)
			require.Equal(t, 400, browser.open("GET", "/jobs?sort=sideways", nil).status)
		})

		t.Run("job and its employer", func(t *testing.T) {
			job := open("/jobs/" + leeds)
			canonical := "/jobs/" + leeds + "/staff-nurse-icu"
			require.Contains(t, job.text, `<link rel="canonical" href="`+issuer+canonical+`">`)

			for _, want := range []string{
				"<li>Give medicines</li>",
				"<dt>Working pattern</dt><dd>Full time</dd>",
				"Similar jobs",
				bradford,
			} {
				require.Contains(t, open(canonical).text, want)
			}

			employer := open(job.links("St Brigid")[0])
			require.Contains(t, employer.text, "3 open jobs")

			for _, missing := range []string{"/jobs/nonsense", "/employers/nonsense", "/employers/st-brigids-" + leeds} {
				require.Equal(t, 404, browser.open("GET", missing, nil).status, missing)
			}
		})

		t.Run("numbers beside filters", func(t *testing.T) {
			createListing("Clinical Nurse Specialist", "Leeds", object{"specialty": "Cardiology"})
			createListing("Join our team", "Leeds", object{
				"description": "We are looking for a registered nurse, band 6, for nights.",
			})

			for _, search := range []string{"", "q=nurse", "q=nurse&where=Leeds"} {
				parameters, err := url.ParseQuery(search)
				require.NoError(t, err)

				filters := filterCount.FindAllStringSubmatch(open("/jobs?"+search).text, -1)
				require.Greater(t, len(filters), 5, "every search offers filters of several kinds")

				// The number beside a filter is that of the results with the filter.
				for _, match := range filters {
					parameter, value, count := match[1], match[2], match[3]
					narrowed := maps.Clone(parameters)
					narrowed.Set(parameter, value)
					require.Contains(t, open("/jobs?"+narrowed.Encode()).text, `<h2 role="status">`+count+" job",
						"%s with %s=%s", search, parameter, value)
				}
			}
		})
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
		seenJobs := map[string]bool{}

		seenPages := map[string]bool{"1": true}
		for path := "/jobs?q=nurse"; path != ""; {
			page := browser.open("GET", path, nil)
			for _, link := range page.links("Registered Nurse") {
				require.False(t, seenJobs[link], "%s is on two pages", link)

				seenJobs[link] = true
			}

			path = ""
			for _, link := range page.links("^<span class=\"unseen\">Page") {
				target, err := url.Parse(link)
				require.NoError(t, err)

				if number := target.Query().Get("page"); !seenPages[number] {
					seenPages[number] = true
					path = link
					break
				}
			}
		}

		require.Len(t, seenJobs, 45)
		require.Len(t, seenPages, 3)
		require.Contains(t, browser.open("GET", "/jobs?q=nurse&page=3", nil).text, "Showing 41 to 45")
	})
}

// parseFeed parses a feed and fails if it is not well-formed. It returns the number of elements by
// name, and the text.
func parseFeed(t *testing.T, feed string) (elements map[string]int, text string) {
	t.Helper()

	decoder := xml.NewDecoder(strings.NewReader(feed))

	elements = map[string]int{}
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
			if path == "/feeds/jobs.atom" {
				require.Equal(t, 2, elements["title"], "one of the feed and one of the listing")
			} else {
				require.Equal(t, 1, elements["title"])
				require.Equal(t, 1, elements["job"])
			}

			require.Contains(t, text, "Nurse \ufffd ]]> \ufffd \U0001F600", path)
		}
	})
}

// markupInText is the text of a listing that tries to break out of XML, HTML and CDATA.
const markupInText = `Nurse ]]> & <script>alert(1)</script>`

// TestSite_Feeds_TextWithMarkup_AreWellFormed checks that feeds contain the text of a listing
// unchanged, and only the listings of the search.
func TestSite_Feeds_TextWithMarkup_AreWellFormed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.listing(object{"title": markupInText, "location": "Leeds", "description": markupInText})
		boss.listing(object{"title": "Porter", "location": "Truro"})

		browser := server.browser(t)
		for path, elementOfJob := range map[string]string{
			"/feeds/jobs.atom?where=Leeds": "entry",
			"/feeds/jobs.xml?where=Leeds":  "job",
		} {
			feed := browser.open("GET", path, nil)
			require.Equal(t, 200, feed.status)

			elements, text := parseFeed(t, feed.text)
			require.Equal(t, 1, elements[elementOfJob], path)
			require.Contains(t, text, markupInText)
			require.Contains(t, feed.text, issuer+"/jobs/"+id)
		}
	})
}

// TestSite_FilesForProgramsOfTheWeb_AreServed checks the files for search engines and for
// browsers that install the site.
func TestSite_FilesForProgramsOfTheWeb_AreServed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.browser(t)
		require.Contains(t, browser.open("GET", "/robots.txt", nil).text, "Sitemap: "+issuer+"/sitemap.xml")
		require.Contains(t, browser.open("GET", "/site.webmanifest", nil).header.Get("Content-Type"), "application/manifest+json")
	})
}

// TestSite_SharedCaches_GetPagesOfGuestsOnly checks that the page of a job is public for a guest,
// with an ETag, and private for a user.
func TestSite_SharedCaches_GetPagesOfGuestsOnly(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		id := boss.listing(object{"title": markupInText, "location": "Leeds", "description": markupInText})
		page := server.browser(t).open("GET", "/jobs/"+id, nil)
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

// TestSite_JobInEveryState_PageAndSitemap checks that a job that is not open has a page without an
// application form, or 410 Gone if it was archived or deleted, and that sitemaps have open jobs
// only.
func TestSite_JobInEveryState_PageAndSitemap(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		browser := server.browser(t)

		setStatus := func(status string) func(id string) {
			return func(id string) { boss.put("/api/employers/jobs/"+id, object{"status": status}).ok(200) }
		}
		for state, test := range map[string]struct {
			change     func(id string)
			pageStatus int
		}{
			"open":     {change: func(string) {}, pageStatus: 200},
			"closed":   {change: setStatus("closed"), pageStatus: 200},
			"inactive": {change: setStatus("inactive"), pageStatus: 200},
			"archived": {
				change:     func(id string) { boss.post("/api/listings/"+id+"/archive", nil).ok(200) },
				pageStatus: 410,
			},
			"deleted": {
				change:     func(id string) { boss.delete("/api/employers/jobs/" + id).ok(200) },
				pageStatus: 410,
			},
		} {
			id := boss.listing(object{"title": "Porter " + state})
			test.change(id)

			page := browser.open("GET", "/jobs/"+id, nil)
			require.Equal(t, test.pageStatus, page.status, state)

			isOpen := state == "open"
			require.Equal(t, isOpen, strings.Contains(page.text, "/apply"), state)
			require.Equal(t, isOpen, strings.Contains(page.text, "JobPosting"), state)
		}

		index := browser.open("GET", "/sitemap.xml", nil)
		part := regexp.MustCompile(`<loc>` + issuer + `(/sitemaps/jobs-[^<]*)</loc>`).FindStringSubmatch(index.text)
		require.NotNil(t, part, index.text)

		jobs := browser.open("GET", part[1], nil)
		require.Equal(t, 1, strings.Count(jobs.text, "/porter-"), jobs.text)
		require.Contains(t, jobs.text, "/porter-open</loc>")
	})
}

// TestSite_SitemapParts_InvalidNames_NotFound checks the names of the parts of the sitemap: the
// number of the part and the id of its first job.
func TestSite_SitemapParts_InvalidNames_NotFound(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.browser(t)
		for _, name := range []string{
			"jobs-x.xml", "jobs-1_x.xml", "jobs--1_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml",
			"jobs-99999999999999999999_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml",
		} {
			require.Equal(t, 404, browser.open("GET", "/sitemaps/"+name, nil).status, name)
		}

		valid := "jobs-1_01935d3c-9c1e-7c1a-8f6e-2b7a12345678.xml"
		require.Equal(t, 200, browser.open("GET", "/sitemaps/"+valid, nil).status)
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

		pageOfUser := server.signedIn(t, boss).open("GET", "/jobs/"+id, nil)
		require.Contains(t, pageOfUser.text, "Sign out")
		require.NotContains(t, pageOfUser.header.Get("Cache-Control"), "public")

		views := func() float64 {
			return boss.get("/api/employers/jobs/" + id + "/analytics").ok(200).number("data.views")
		}
		require.Eventually(t, func() bool { return views() >= guests }, waitTimeout, 20*time.Millisecond)
		require.Equal(t, float64(guests), views(), "views of cached pages count, views by the organization do not")
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
		for n := range 30 {
			query := fmt.Sprintf("?q=%d", n) // another search each time, so that no cache has it
			require.Equal(t, 200, reader.open("GET", "/feeds/jobs.atom"+query, nil).status)
			require.Equal(t, 200, reader.open("GET", "/feeds/jobs.xml"+query, nil).status)
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
		for range 3 { // the first page is rendered, the second and third come from the cache
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

// TestSite_UnknownPath_IsAPageForBrowsersAndJSONForPrograms checks that the 404 of a browser is
// a page, except below /api/, and that of a program JSON.
func TestSite_UnknownPath_IsAPageForBrowsersAndJSONForPrograms(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for path, contentType := range map[string]string{
			"/nope":         "text/html",
			"/account/nope": "text/html",
			"/api/nope":     "application/json",
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+path, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")

			resp, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 404, resp.StatusCode, path)
			require.Contains(t, resp.Header.Get("Content-Type"), contentType, path)
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
